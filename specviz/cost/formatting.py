"""How the tab and the command line say a speed-up, and a machine inside a sentence."""

from __future__ import annotations


def format_speedup(gain: float) -> str:
    """A speed-up with as many digits as it takes to see whether it is above 1."""
    for digits in range(2, 7):
        text = f"{gain:.{digits}f}"
        if float(text) != 1 or gain == 1:
            return f"{text} ×"
    return "1 ×"


def describe_machines(title: str, cards: int) -> str:
    """Machines inside a sentence, without their memory: one H100, 2 × H100, a laptop."""
    name = title.partition(",")[0].partition(" (")[0]
    thing = name.removeprefix("A ")
    if cards > 1:
        return f"{cards} × {thing}"
    return f"one {name}" if thing == name else f"a {thing}"
