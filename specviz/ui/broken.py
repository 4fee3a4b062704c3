"""Handle broken files: the affected part of the page names the file, and the rest works.

A part that can do without a file leaves out only what depends on it: `spared`, with `lacking` to
say so.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Final, TypeVar

import gradio as gr

from specviz.adapters.gradio import removal_point
from specviz.shipped import BrokenFile
from specviz.ui.stream import log

MESSAGE: Final = '<p class="sv-error" role="alert">{} {} Restore the file and restart the app.</p>'
Made = TypeVar("Made")


def section(build: Callable[..., Any], *given: Any) -> Any:
    """Return what `build` returns; if it needs a broken file, show a message instead."""
    remove = removal_point()
    try:
        return build(*given)
    except BrokenFile as problem:
        remove()
        report("This part cannot be shown.", problem)
        return None


def spared(read: Callable[[], Made], instead: Made) -> Made:
    """Return what `read` returns, or `instead` if its file is broken; see `lacking`."""
    try:
        return read()
    except BrokenFile:
        return instead


def lacking(what: str, read: Callable[[], object]) -> None:
    """Show a message here if the file that `read` needs is broken."""
    try:
        read()
    except BrokenFile as problem:
        report(what, problem)


def report(what: str, problem: BrokenFile) -> None:
    """Report a hidden part and its broken file, on the page and in the log."""
    log.warning("%s", problem)
    gr.HTML(MESSAGE.format(what, escape(str(problem))), elem_classes="sv-part")


def style(*makers: Callable[[], str]) -> str:
    """Join the style sheets that these functions return, skipping parts with broken files."""
    built = []
    for make in makers:
        try:
            built.append(make())
        except BrokenFile:  # reported by the section itself
            continue
    return "".join(built)
