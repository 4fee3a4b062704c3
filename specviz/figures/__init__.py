"""Frames -> plotly figures as plain data, in pixels; networkx lays the tree out.

Its one rule: a figure names its colours (`--p`, `--ink`) and its traces; the page resolves the
names, so one figure serves light and dark, and a frame's figure can be a patch of another's.
"""
