"""Compare the frames of made-up runs with a file that was proofread.

`golden/frames.txt` holds every sentence, table and chip of those frames, so a change of wording can
be reviewed as a diff of it. After an intended change, write it again: python tests/test_golden.py
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from made import Recipe, made

from specviz.frames import Frame, Scene, frames
from specviz.frames.scene import Word, flat
from specviz.frames.tree import turns
from specviz.trace.rule_specs import speculative_threshold

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

# Numbers of a verdict that the runs above do not have: p, q and u.
VERDICTS = [
    (0.12, 0.4, 0.71), (0.93, 0.9, 0.24), (0.000357, 0.000575, 0.75), (2.4e-8, 0.00024, 0.26),
    (0.0000003, 0.45, 0.0000002), (0.4463155, 0.4463161, 0.36), (1.0, 1.0, 0.004),
    (0.9996, 0.9971, 0.5), (0.0, 0.19, 0.07),
]  # fmt: skip
MATCH = {"form": "match", "min": 1, "max": 3}

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
    yield from variant_lines()


def variant_lines() -> Iterator[str]:
    """Return sentences for numbers, shapes and reasons of a drafter that the runs do not have."""
    for p, q, u in VERDICTS:
        yield f"verdict, p {p}, q {q}, u {u}: {sentences(judged_so(p, q, u), 'judge')[0]}"
    for shape in ((1,), (1, 1, 1), (3,), (2, 2)):
        yield f"shape {shape}: {sentences(scene_of(Recipe(shape=shape, odd=False), 2), 'score')[0]}"
    fixed, none = RECIPES["point mass"], RECIPES["nothing drafted"]
    last = len(made(none).rounds) - 1
    guesses = scene_of(fixed, 1).guesses
    copied = [replace(guess, evidence={"from": at}) for at, guess in enumerate(guesses)]
    found = MATCH | {"start": 4, "length": 2}
    yield from sentences(proposed(scene_of(fixed, 1), remark=found, guesses=copied), "propose")[:2]
    yield from sentences(proposed(scene_of(fixed, 1), remark=None), "propose")[:2]
    yield from sentences(proposed(scene_of(none, 1), remark=MATCH), "propose")
    yield from sentences(proposed(scene_of(none, last), remark=MATCH), "propose")
    lossy = scene_of(RECIPES["chain"], 1)
    yield from sentences(replace(lossy, header=replace(lossy.header, lossless=False)), "draw")


def scene_of(recipe: Recipe, index: int) -> Scene:
    """Return a round of a made-up run."""
    return Scene.of(made(recipe), index)


def sentences(scene: Scene, kind: str) -> list[str]:
    """Return the sentences of a round's steps of a kind."""
    shown = zip(scene.steps, frames(scene), strict=True)
    return [joined(shot["caption"]["parts"]) for step, shot in shown if step.kind == kind]


def proposed(scene: Scene, **changes: Any) -> Scene:
    """Return a round after a change of its guesses or their reason."""
    scene.round.proposed = replace(scene.round.proposed, **changes)
    return scene


def judged_so(p: float, q: float, u: float) -> Scene:
    """Return a chain's round whose first guess, ␣cat, was judged with these numbers."""
    scene = scene_of(RECIPES["chain"], 1)
    cat = next(token for token, data in scene.vocabulary.items() if data == b" cat")
    scene.round.proposed.guesses[0] = replace(scene.guesses[0], token=cat)
    inputs = {"p": p, "q": q}
    chance = speculative_threshold(inputs)
    first = replace(scene.round.judged[0], inputs=inputs, u=u, threshold=chance)
    scene.round.judged[0] = first
    return scene


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


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(golden_lines()) + "\n", encoding="utf-8")
