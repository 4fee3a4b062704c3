"""Tables: those that can be sorted and searched, and plain ones in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from specviz.ui.instrument import verbatim

# A text, which is shown as it is; or a value, by which its column is sorted and searched, and how
# it is shown, in Markdown.
Cell = str | tuple[str | float, str]


def data_table(name: str, label: str, search: bool = True) -> gr.Dataframe:
    """Return a table; its value is made by `filled`.

    Args:
        name: Its id on the page.
        label: What it lists, for people who cannot see it.
        search: Whether it has Gradio's search, which finds only what is spelled alike.
    """
    return gr.Dataframe(
        interactive=False, wrap=True, datatype="markdown",
        show_search="search" if search else "none",
        label=label, show_label=False, buttons=[], elem_id=name, elem_classes="sv-data",
    )  # fmt: skip


def filled(
    columns: Mapping[str, int], rows: Sequence[Sequence[Cell]], unit: str = "px"
) -> dict[str, Any]:
    """Return a table's update with these rows. unit: of the widths, such as "%" of the table."""
    pairs = [[(cell, verbatim(cell)) if isinstance(cell, str) else cell for cell in row]
             for row in rows]  # fmt: skip
    value = {
        "headers": list(columns),
        "data": [[value for value, _ in row] for row in pairs],
        "metadata": {
            "display_value": [[shown for _, shown in row] for row in pairs],
            "styling": [["" for _ in row] for row in pairs],
        },
    }
    # Not gr.Dataframe(…), which would add a table to the page if it is called while that is built.
    widths = [f"{width}{unit}" for width in columns.values()]
    return gr.update(value=value, column_widths=widths)


def listing(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; all columns but the first are numbers."""
    lines = [heads, [":--"] + ["--:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
