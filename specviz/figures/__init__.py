"""Turn frames into plotly figures: plain data in pixels. networkx lays the tree out.

A figure names its colours (`--p`, `--ink`) and its traces, and the page resolves the names. So one
figure serves light and dark, and a frame's figure can be a patch of another's.
"""
