"""Handle broken files: only the affected part of the page is replaced, by a message.

The message names the file. A part that works without the file only leaves out what depends on it
(`read_unless_broken`) and shows a message (`report_if_broken`).
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
    """Return the result of `build`; if `build` needs a broken file, show a message instead."""
    remove = removal_point()
    try:
        return build(*given)
    except BrokenFile as problem:
        remove()
        report("This part cannot be shown.", problem)
        return None


def read_unless_broken(read: Callable[[], Made], instead: Made) -> Made:
    """Return the result of `read`, or `instead` if a file is broken; see `report_if_broken`."""
    try:
        return read()
    except BrokenFile:
        return instead


def report_if_broken(what: str, read: Callable[[], object]) -> None:
    """Show a message here if `read` needs a broken file."""
    try:
        read()
    except BrokenFile as problem:
        report(what, problem)


def report(what: str, problem: BrokenFile) -> None:
    """Report that a part is hidden because of a broken file, on the page and in the log."""
    log.warning("%s", problem)
    gr.HTML(MESSAGE.format(what, escape(str(problem))), elem_classes="sv-part")


def style(*makers: Callable[[], str]) -> str:
    """Join the style sheets that these functions return, skipping functions with broken files."""
    built = []
    for make in makers:
        try:
            built.append(make())
        except BrokenFile:  # the section reports the problem itself
            continue
    return "".join(built)
