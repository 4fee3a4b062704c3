"""Parts of the page whose files are broken: each says which, in its place, and the rest opens."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Final

import gradio as gr
from gradio.context import Context

from specviz.shipped import BrokenFile
from specviz.ui.stream import log

TOLD: Final = (
    '<p class="sv-broken" role="alert">This part cannot be shown. {} '
    "Put the file back and start the app again.</p>"
)


def section(build: Callable[..., Any], *given: Any) -> Any:
    """What `build` returns; where a file that it needs is broken, a sentence in its place."""
    place = Context.block
    before = len(place.children) if place is not None else 0
    try:
        return build(*given)
    except BrokenFile as problem:
        log.warning("%s", problem)
        for begun in place.children[before:] if place is not None else []:
            begun.unrender()
        gr.HTML(TOLD.format(escape(str(problem))), elem_classes="sv-part")
        return None


def style(*makers: Callable[[], str]) -> str:
    """The style sheets that these make; nothing for a part whose files are broken."""
    made = []
    for make in makers:
        try:
            made.append(make())
        except BrokenFile:  # said where the part would be
            continue
    return "".join(made)
