"""Figures as plain data in pixels, and draft trees as the page draws them.

Colours are names of CSS variables such as `--p`, so a figure works in the light and the dark theme.
Plotly traces have names, too, so a frame's figure can be sent as a patch of the previous one.
"""
