"""The time limit of a job, in words."""

from __future__ import annotations

from specviz.adapters.spaces import ZEROGPU


def format_duration(seconds: float) -> str:
    """Seconds in words: "5 minutes", "90 seconds"."""
    whole = round(seconds)
    number, unit = (whole // 60, "minute") if whole % 60 == 0 else (whole, "second")
    return f"{number:,} {unit}{'s' if number != 1 else ''}"


def too_long(limit: float) -> str:
    """Return the sentence for a job without any output. limit: its seconds of computing."""
    most = format_duration(limit)
    return f"The run ended before its first result: a job may compute for {most} at most here."


def limit_text(limit: float) -> str:
    """Return the note on the time limit before a job. limit: its seconds of computing."""
    turns = "" if ZEROGPU else ", in short turns while others wait"
    most = f"A job may compute for {format_duration(limit)} at most here"
    return f"{most}{turns}. What is finished by then is kept."
