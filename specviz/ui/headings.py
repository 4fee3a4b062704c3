"""Group headings in a dropdown, which Gradio does not support, drawn by the page's style sheet.

A heading is above its group's first choice and cannot be selected; the order and the names of the
choices do not change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from specviz.adapters.gradio import LIST_ENTRY

ROOM = 30  # pixels above a group's first choice


def headings(lists: Sequence[str], groups: Sequence[str]) -> str:
    """Return the style sheet that draws them.

    Args:
        lists: Selectors of dropdowns with the same choices.
        groups: The group's title for each choice, in order; "" for none.
    """
    first = [0, *(at for at, (a, b) in enumerate(pairwise(groups), 1) if a != b)]
    return "\n".join(_heading(lists, at, groups[at]) for at in first if groups and groups[at])


def _heading(lists: Sequence[str], at: int, title: str) -> str:
    items = [f"{one} {LIST_ENTRY.format(at)}" for one in lists]
    words = json.dumps(title, ensure_ascii=False).replace("<", "\\3c ")
    return (
        f"{', '.join(items)} {{ position: relative; margin-top: {ROOM}px;"
        f" scroll-snap-align: start; scroll-margin-top: {ROOM}px; }}\n"
        f"{', '.join(f'{one}::before' for one in items)} {{ content: {words}; }}"
    )
