"""A frame with its figures: what a browser needs beside the plain data."""

from __future__ import annotations

from specviz.figures.charts import guesses_figure, law_figure
from specviz.figures.tree import tree_figure
from specviz.frames import Frame


def drawn(frame: Frame) -> Frame:
    """The frame with a figure in its tree and, where it has a chart, in its panel."""
    # What the target would say next is in the figure's hover text; the page needs it once.
    nodes = {
        n: {k: v for k, v in node.items() if k != "top"}
        for n, node in frame["tree"]["nodes"].items()
    }
    tree = {k: v for k, v in frame["tree"].items() if k != "shape"} | {
        "nodes": nodes,
        "figure": tree_figure(frame["tree"]),
    }
    panel = frame["panel"]
    if panel["kind"] == "guesses":
        panel = {k: v for k, v in panel.items() if k != "rows"} | {"figure": guesses_figure(panel)}
    elif panel["kind"] in ("law", "empty"):
        panel = {k: v for k, v in panel.items() if k != "rows"} | {"figure": law_figure(panel)}
    return frame | {"tree": tree, "panel": panel}
