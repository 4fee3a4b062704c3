"""Parts of the page whose files are broken: each says which, in its place, and the rest opens.

A part that can do without a file lacks only what stands in that: `spared`, and `lacking` says it.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Final, TypeVar

import gradio as gr

from specviz.adapters.gradio import removal_point
from specviz.shipped import BrokenFile
from specviz.ui.stream import log

TOLD: Final = (
    '<p class="sv-broken" role="alert">{} {} Put the file back and start the app again.</p>'
)
Made = TypeVar("Made")


def section(build: Callable[..., Any], *given: Any) -> Any:
    """What `build` returns; where a file that it needs is broken, a sentence in its place."""
    remove = removal_point()
    try:
        return build(*given)
    except BrokenFile as problem:
        remove()
        tell("This part cannot be shown.", problem)
        return None


def spared(read: Callable[[], Made], instead: Made) -> Made:
    """What `read` returns; `instead` where its file is broken. `lacking` says that, once."""
    try:
        return read()
    except BrokenFile:
        return instead


def lacking(what: str, read: Callable[[], object]) -> None:
    """Say in this place what the page lacks, in a sentence, where the file of `read` is broken."""
    try:
        read()
    except BrokenFile as problem:
        tell(what, problem)


def tell(what: str, problem: BrokenFile) -> None:
    """What is not shown, and which file is to blame: on the page and in the log."""
    log.warning("%s", problem)
    gr.HTML(TOLD.format(what, escape(str(problem))), elem_classes="sv-part")


def style(*makers: Callable[[], str]) -> str:
    """The style sheets that these make; nothing for a part whose files are broken."""
    made = []
    for make in makers:
        try:
            made.append(make())
        except BrokenFile:  # said where the part would be
            continue
    return "".join(made)
