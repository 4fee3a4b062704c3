"""Figures as plain data in pixels, and draft trees as the page draws them.

Colours are names of CSS variables such as `--p`, so a figure works in the light and the dark theme.
"""
