"""Compare the frames of made-up runs with a file that was proofread.

`golden/frames.txt` holds every sentence, table and chip of those frames, so a change of wording can
be reviewed as a diff of it. After an intended change, write it again: python tests/test_golden.py
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest
from made import Recipe, made

from specviz.frames import Frame, Scene, frames
from specviz.frames.scene import Word, flat
from specviz.frames.tree import turns

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

# Keys of a frame whose values are wording, and keys inside these whose values are not.
WORDING = {"label", "next", "parts", "facts", "laws", "heads", "kept", "rejected", "stuck"}
STYLES = {"as", "term", "of", "left"}


def test_frames_match_the_golden_file():
    assert list(golden_lines()) == GOLDEN.read_text(encoding="utf-8").splitlines()


def golden_lines() -> Iterator[str]:
    """The golden file: a heading per round, then the wording of each step that is new there."""
    for name, recipe in RECIPES.items():
        trace = made(recipe)
        for block in turns(trace.header.chat) if trace.header.chat else ():
            yield f"{name}, {block['role']}:"
            yield from (f"    {part['is']} {part['t']!r}" for part in block["parts"])
        for index in range(ROUNDS):
            yield from round_lines(f"{name}, round {index}", sent(Scene.of(trace, index)))


def sent(scene: Scene) -> list[Frame]:
    """Return a round's frames as JSON has them, without tuples."""
    return json.loads(json.dumps(frames(scene)))


def round_lines(heading: str, shots: list[Frame]) -> Iterator[str]:
    """Return the lines of one round; the hash in its heading covers all that is not wording."""
    yield f"== {heading} [{digest([structure(shot) for shot in shots])}]"
    before: list[str] = []
    for shot in shots:
        caption = shot["caption"]
        yield f"{shot['step']['id']} [{caption['label']}] {joined(caption['parts'])}"
        details = list(detail_lines(shot))
        yield from (f"    {line}" for line in details if line not in before)
        before = details


def detail_lines(shot: Frame) -> Iterator[str]:
    """Return a frame's other wording: step names, chips, the inspector's texts and its table."""
    step, panel = shot["step"], shot["panel"]
    if {step["label"], step["next"]} != {step["id"].replace("-", " +")}:
        yield f"step: {step['next']!r}, then {step['label']!r}"
    if shot["chips"]:
        yield "chips: " + " ".join(f"{flat(chip['w'])}:{chip['is']}" for chip in shot["chips"])
    answers = shot.get("pass", {})
    if answers:
        yield f"pass: {joined(answers['say'])}"
    yield from (f"column: {column['label']}" for column in answers.get("columns", ()))
    yield from (f"fact: {': '.join(fact)}" for fact in panel.get("facts", ()))
    yield from (f"distribution: {key} = {text}" for key, text in panel.get("laws", {}).items())
    yield from (f"if {k}: {joined(v)}" for k, v in panel.get("whatif", {}).items() if k in WORDING)
    table = panel.get("table", {})
    if table:
        yield "table: " + " | ".join(head_text(head) for head in table["heads"])
    yield from ("row: " + " ".join(row["t"]) for row in table.get("rows", ()))


def head_text(head: dict[str, str]) -> str:
    """Return a column's heading, with its narrow form if it has one."""
    full = head["t"].replace("\n", " ")
    return f"{full} ({head['in']})" if "in" in head else full


def joined(parts: list[Any]) -> str:
    """Return a sentence on one line, with tokens in ‹› since they may contain a full stop."""
    return "".join(
        p if isinstance(p, str) else p.get("n") or p.get("t") or token(p["w"]) for p in parts
    )


def token(word: Word) -> str:
    """Return a token in a sentence, marked as on the page."""
    return f"‹{flat(word)}›"


def structure(value: Any) -> Any:
    """Return a frame without its wording: states, numbers, shapes, and colours of numbers."""
    if isinstance(value, dict):
        return {k: styles(v) if k in WORDING else structure(v) for k, v in value.items()}
    return [structure(each) for each in value] if isinstance(value, list) else value


def styles(value: Any) -> list[Any]:
    """Yield the values of STYLES inside wording, in order."""
    if isinstance(value, dict):
        own = [each for key, each in value.items() if key in STYLES]
        return [
            *own,
            *(s for key, each in value.items() if key not in STYLES for s in styles(each)),
        ]
    return [s for each in value for s in styles(each)] if isinstance(value, list) else []


def digest(value: Any) -> str:
    """Return twelve digits that change with any value inside."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every string, number and boolean in a frame."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from leaves(each, (*path, key))
    else:
        yield path


def changed(shot: Frame, path: tuple[Any, ...]) -> Frame:
    """Return a copy of a frame in which one value differs."""
    copy = deepcopy(shot)
    inner: Any = copy
    for key in path[:-1]:
        inner = inner[key]
    old = inner[path[-1]]
    if isinstance(old, bool):
        inner[path[-1]] = not old
    else:
        inner[path[-1]] = old + 1 if isinstance(old, int | float) else old + "x"
    return copy


@pytest.mark.parametrize("name", ["chain", "temperature 0"])
def test_every_word_and_number_of_a_frame_is_in_the_golden_file(name):
    shots = sent(Scene.of(made(RECIPES[name]), 1))
    lines = list(round_lines("", shots))
    for number in (0, len(shots) // 2, len(shots) - 2, len(shots) - 1):
        for path in leaves(shots[number]):
            glyph = path[-1] == "g"  # of a token: only a few names are drawn
            other = shots[number] if glyph else changed(shots[number], path)
            edited = [*shots[:number], other, *shots[number + 1 :]]
            assert glyph or list(round_lines("", edited)) != lines, path


def test_changed_sentence_changes_only_one_line_of_the_golden_file():
    shots = sent(Scene.of(made(RECIPES["chain"]), 1))
    lines = list(round_lines("", shots))
    other = changed(shots[6], ("caption", "parts", len(shots[6]["caption"]["parts"]) - 1))
    edited = list(round_lines("", [*shots[:6], other, *shots[7:]]))
    assert len([line for line, new in zip(lines, edited, strict=True) if line != new]) == 1


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(golden_lines()) + "\n", encoding="utf-8")
