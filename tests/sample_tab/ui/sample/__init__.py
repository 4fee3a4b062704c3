"""A sample tab, from outside the package: how many tokens a pass yields.

This folder and a row of `specviz/ui/tabs.py` are all of it.
"""
