"""Frames of made-up runs against a file that a person has read: any change of a word shows.

Run as a program it writes the file anew: python tests/test_golden.py; then read the difference.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from made import Recipe, made

from specviz.frames import Frame, Scene, frames
from specviz.frames.turns import turns
from specviz.frames.words import Word, flat

GOLDEN = Path(__file__).resolve().parent / "golden" / "frames.txt"
ROUNDS = 4
RECIPES = {
    "chain": Recipe(odd=False, seed=3),
    "siblings": Recipe(shape=(3, 2, 1), odd=False, bushy=True),
    "without replacement": Recipe(shape=(3, 2), odd=False, replaced=True, seed=3),
    "point-mass siblings": Recipe(shape=(3, 2), point_mass=True, odd=False, seed=2),
    "point mass": Recipe(point_mass=True, odd=False),
    "temperature 0": Recipe(greedy=True, odd=False),
    "nothing drafted": Recipe(drafts=False),
    "odd tokens": Recipe(seed=2),
    "chat": Recipe(odd=False, seed=18, chat=True),
}


def test_every_frame_is_as_it_was_read():
    assert list(told()) == GOLDEN.read_text(encoding="utf-8").splitlines()


def told() -> Iterator[str]:
    """A line for every step: its name, badge, sentence, chips, numbers, and the frame's hash."""
    for name, recipe in RECIPES.items():
        trace = made(recipe)
        for block in turns(trace.header.chat) if trace.header.chat else ():
            parts = (f"{part['is']} {part['t']!r}" for part in block["parts"])
            yield f"{name}, {block['role']}: {' | '.join(parts)}"
        for index in range(ROUNDS):
            for shot in frames(Scene.of(trace, index)):
                yield f"{name}, round {index}: {line(shot)}"


def line(shot: Frame) -> str:
    """One frame in words. The hash covers what the words leave out."""
    caption, panel = shot["caption"], shot["panel"]
    parts = (p if isinstance(p, str) else p.get("n") or chip(p["w"]) for p in caption["parts"])
    chips = " ".join(f"{flat(chip['w'])}:{chip['is']}" for chip in shot["chips"])
    rows = [" ".join(row["t"]) for row in panel.get("table", {}).get("rows", [])]
    whole = hashlib.sha256(json.dumps(shot, sort_keys=True).encode()).hexdigest()[:12]
    said = f"{shot['step']['id']} [{caption['label']}] {''.join(parts)}"
    return " | ".join([said, chips, panel["kind"], "; ".join(rows), whole])


def chip(word: Word) -> str:
    """A token in a sentence, in a chip as the page has it: its full stop is not the sentence's."""
    return f"‹{flat(word)}›"


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(told()) + "\n", encoding="utf-8")
