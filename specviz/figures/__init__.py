"""Figures as plain data in pixels, and draft trees as the page draws them.

Colours are names such as `--p`, which the page resolves, so a figure serves the light and the dark
theme. Traces have names, too, so a frame's figure can be sent as a patch of the one before.
"""
