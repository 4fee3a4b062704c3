"""Sections of the page whose files are broken: a sentence replaces them, and the rest opens.

A section that can do without a file uses `spared`, and `lacking` says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Final, TypeVar

import gradio as gr

from specviz.adapters.gradio import removal_point
from specviz.shipped import BrokenFile
from specviz.ui.stream import log

TOLD: Final = '<p class="sv-broken" role="alert">{} {} Restore the file and restart the app.</p>'
Made = TypeVar("Made")


def section(build: Callable[..., Any], *given: Any) -> Any:
    """Build a section, or show a sentence instead if a file that it needs is broken."""
    remove = removal_point()
    try:
        return build(*given)
    except BrokenFile as problem:
        remove()
        tell("This part cannot be shown.", problem)
        return None


def spared(read: Callable[[], Made], instead: Made) -> Made:
    """Return what `read` returns, or `instead` if its file is broken."""
    try:
        return read()
    except BrokenFile:
        return instead


def lacking(what: str, read: Callable[[], object]) -> None:
    """Show here what the page lacks, if the file of `read` is broken."""
    try:
        read()
    except BrokenFile as problem:
        tell(what, problem)


def tell(what: str, problem: BrokenFile) -> None:
    """Report what is not shown and which file is broken, on the page and in the log."""
    log.warning("%s", problem)
    gr.HTML(TOLD.format(what, escape(str(problem))), elem_classes="sv-part")


def style(*makers: Callable[[], str]) -> str:
    """Join the style sheets that these return; skip sections whose files are broken."""
    made = []
    for make in makers:
        try:
            made.append(make())
        except BrokenFile:  # reported by the section itself
            continue
    return "".join(made)
