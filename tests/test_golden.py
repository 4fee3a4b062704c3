"""Compare frames of made-up runs, and what sections of the page say, with proofread files.

`golden/frames.txt` holds every sentence, table and chip of those frames, so a change of wording can
be reviewed as a diff of it; `golden/sections.txt` what Cost, Lossless?, the domain map and evidence
say of numbers that are tested elsewhere. After an intended change, write them again:
python tests/test_golden.py
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest
from made import Recipe, made
from test_domains import heat_of
from test_evidence import BUSHY, CHAIN, LATE, at, block, scene_with, scored, sentence
from test_server_outlook import COUNTED, MEAN, SITE, fitted, report_of
from test_server_texts import INFO

from specviz.compare.domains.heatmap import caution, detail, headline, view
from specviz.cost.server.report import build_report
from specviz.frames import Frame, Scene, frames
from specviz.frames.scene import flat
from specviz.frames.tree import turns
from specviz.trace.rule_specs import speculative_threshold
from specviz.ui.cost import roofline, speedup, trees
from specviz.ui.lossless.sandbox import PRESETS, TITLES
from specviz.ui.lossless.sandbox import answer as sandbox

pytestmark = pytest.mark.slow
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
WORDING = {
    "label", "next", "parts", "simple", "facts", "labels", "heads", "kept", "rejected", "stuck",
}  # fmt: skip
STYLES = {"as", "term", "of", "left"}


def test_frames_match_the_golden_file():
    assert list(golden_lines()) == GOLDEN.read_text(encoding="utf-8").splitlines()


def golden_lines() -> Iterator[str]:
    """The golden file: a heading per round, then the wording of each step that is new there."""
    for name, recipe in RECIPES.items():
        trace = made(recipe)
        for turn in turns(trace.header.chat) if trace.header.chat else ():
            yield f"{name}, {turn['role']}:"
            yield from (f"    {part['is']} {part['t']!r}" for part in turn["parts"])
        for index in range(ROUNDS):
            shots = json.loads(json.dumps(frames(Scene.of(trace, index))))  # without tuples
            yield from round_lines(f"{name}, round {index}", shots)
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
    judged, inputs = scene.round.judged, {"p": p, "q": q}
    judged[0] = replace(judged[0], inputs=inputs, u=u, threshold=speculative_threshold(inputs))
    return scene


def round_lines(heading: str, shots: list[Frame]) -> Iterator[str]:
    """Return the lines of one round; the hash in its heading covers all that is not wording."""
    rest = json.dumps([structure(shot) for shot in shots], sort_keys=True)
    yield f"== {heading} [{hashlib.sha256(rest.encode()).hexdigest()[:12]}]"
    before: list[str] = []
    for shot in shots:
        caption = shot["caption"]
        yield f"{shot['step']['id']} [{caption['label']}] {joined(caption['parts'])}"
        yield f"    simple: {joined(caption['simple'])}"
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
    yield from (f"distribution: {key} = {text}" for key, text in panel.get("labels", {}).items())
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
        p if isinstance(p, str) else p.get("n") or p.get("t") or f"‹{flat(p['w'])}›" for p in parts
    )


def structure(value: Any) -> Any:
    """Return a frame without its wording: states, numbers, shapes, and colours of numbers."""
    if isinstance(value, dict):
        return {k: styles(v) if k in WORDING else structure(v) for k, v in value.items()}
    return [structure(each) for each in value] if isinstance(value, list) else value


def styles(value: Any) -> list[Any]:
    """Return the values of STYLES inside wording, in order."""
    if isinstance(value, dict):
        own = [each for key, each in value.items() if key in STYLES]
        return own + styles([each for key, each in value.items() if key not in STYLES])
    return [s for each in value for s in styles(each)] if isinstance(value, list) else []


SECTIONS = GOLDEN.with_name("sections.txt")
FIGURES = {"speed", "time", "map", "figures", "facts", "table", "cells", "rows"}
RUN = {
    "alpha": 0.746, "gamma": 4.952, "guesses": 4.952, "c": 0.218,
    "verify": 1.468, "tokens": 2.952, "speedup": 1.148,
}  # fmt: skip
AGREES = {"alpha": 0.6, "gamma": 4, "guesses": 4, "c": 0.1, "verify": 1.2, "tokens": 2.3056}
FORMULA: list[dict[str, Any]] = [
    {}, {"alpha": 0.7, "c": 0}, {"alpha": 1, "c": 0}, {"alpha": 1, "c": 0.25},
    {"alpha": 0.3, "c": 0.5}, {"alpha": 0, "c": 0}, {"verify": 3}, {"gamma": 0},
    {"alpha": 0.5, "c": 0.5, "gamma": 1}, {"c": 0.9, "gamma": 16}, {"verify": 1.5},
    {"widths": "2,2", "places": "0.65 0.10636"}, {"run": RUN},
    {"run": AGREES | {"speedup": 1.441}}, {"run": AGREES | {"speedup": 0.7205}},
    {"run": AGREES | {"tokens": 3.4584, "speedup": 2.1615}},
    {"run": AGREES | {"guesses": 9, "speedup": 1.441}},
]  # fmt: skip
ROOFLINE: list[dict[str, Any]] = [
    {}, {"batch": 1}, {"batch": 512}, {"gamma": 5}, {"batch": 1, "alpha": 0.9},
    {"alpha": 0, "drafter": "llama-3.2-1b"}, {"alpha": 0, "batch": 512}, {"alpha": 1},
    {"alpha": 1, "batch": 1}, {"batch": 128}, {"siblings": "3, 2"}, {"gamma": 0}, {"cards": 4},
    {"overhead": 1.5}, {"context": 4096, "batch": 512}, {"model": "llama-3.1-70b"},
    {"model": "llama-3.1-70b", "cards": 2}, {"hardware": "laptop-cpu", "dtype": "fp32"},
    {"model": "house", "drafter": "house-draft", "hardware": "laptop-cpu", "dtype": "fp32"},
]  # fmt: skip
SANDBOX: list[dict[str, Any]] = [
    *({"rule": name} for name in TITLES if name != "auto"),
    {}, {"candidates": 2}, {"drawn": "without-replacement"}, {"drawn": "top"},
    {"candidates": 2, "drawn": "without-replacement"}, {"candidates": 2, "rule": "k-seq"},
    {"drawn": "top", "rule": "speculative"}, {"rule": "lenience:0.5"}, {"rule": "ensemble:0.9"},
]  # fmt: skip
HEATS: list[dict[str, list[float | None]]] = [
    {"ngram": [1.1, 2.4, 3.9], "eagle": [1.5, 1.8, 1.7]},
    {"ngram": [1.1, 2.4, None], "eagle": [1.5, 1.8, 1.7]},
    {"ngram": [1.6, 2.4, 3.9], "eagle": [1.5, 1.8, 1.7]},
    {"mtp": [1.6, 1.4, 1.9], "eagle": [1.5, 1.8, 1.7]},
    {"ngram": [0.9, 0.8, 1.0], "eagle": [0.8, 1.02, 0.7]},
    {"ngram": [0.9, 1.2, None]},
    {"ngram": [1.1, None, None], "eagle": [None, 1.2, None]},
    {"ngram": [None, None, None]},
    {"oracle": [9, 9, 9], "eagle": [1.5, 1.8, 0.7], "ngram": [1.1, 1.1, 0.9]},
    {"ngram": [1.0, 1.0, 8.0], "eagle": [2.0, 2.0, 2.0]},
]


def test_sentences_of_the_sections_match_the_golden_file():
    assert list(section_lines()) == SECTIONS.read_text(encoding="utf-8").splitlines()


def sandbox_reply(asked: Any) -> Mapping[str, Any]:
    """Return what the sandbox shows, or why it shows nothing."""
    reply = sandbox.reply(json.loads(json.dumps(asked | {"number": 1})))
    return reply.get("answer") or {"problem": reply["problem"]}


def section_lines() -> Iterator[str]:
    """The golden file: a heading per question, then the sentences of its answer."""
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        for changes in FORMULA:
            yield from lines_of("formula", changes, formula_sentences(changes))
        for changes in ROOFLINE:
            answer = roofline.respond(roofline.start() | changes)
            said = {name: answer[name].replace("\n\n", " ") for name in ("answer", "said")}
            yield from lines_of("roofline", changes, said | {"alert": answer["alert"].value})
    first = {"p": PRESETS[0]["p"], "q": PRESETS[0]["q"], "drawn": "sampled"}
    for changes in SANDBOX:
        asked = first | {"candidates": 1, "rule": "auto"} | changes
        yield from lines_of("lossless", changes, sandbox_reply(asked))
    for name, advice in server_advice():
        yield from lines_of("server", name, {"advice": list(advice)})
    yield from heat_lines()
    yield from evidence_lines()
    yield from form_lines()


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Leave out the figures beside the sentences."""
    patch.setattr(roofline, "answer", roofline.answer.__wrapped__)  # which would cache this
    for module in (roofline, speedup):
        for name in [*vars(module)]:
            if name == "shown" or name.endswith(("_figure", "_map")):
                patch.setattr(module, name, lambda *_: "")


def server_advice() -> Iterator[tuple[str, Any]]:
    """What is advised to servers that differ in what they report and how fast they are."""
    large = replace(SITE, model="llama-3.1-70b")
    bad = replace(COUNTED, accepted_by_position=(10, 1), accepted=11)
    good = replace(COUNTED, accepted_by_position=(95, 90), accepted=185)
    yield "counted", report_of(COUNTED).advice
    yield "batch 256", report_of(COUNTED, replace(SITE, batch=256)).advice
    yield "37.6 running", report_of(replace(COUNTED, running=37.6)).advice
    yield "only a mean", report_of(MEAN).advice
    yield "longest", report_of(replace(MEAN, mean=3.9)).advice
    busy = replace(SITE, batch=512, drafter="llama-3.2-1b")
    yield "never pays", report_of(bad, busy).advice
    yield "too large", report_of(COUNTED, large).advice
    yield "two cards", report_of(COUNTED, replace(large, cards=2)).advice
    yield "40 ms", fitted(40.0).advice
    yield "40 ms, n-gram", fitted(40.0, "n-gram").advice
    yield "200 ms", fitted(200.0, told=good).advice
    yield "4 ms, n-gram", fitted(4.0, "n-gram").advice
    yield "1 ms, n-gram", fitted(1.0, "n-gram").advice
    yield "what SGLang leaves out", build_report(json.dumps(INFO)).limitations


def heat_lines() -> Iterator[str]:
    """Return what is said of maps of drafters by domain."""
    for speeds in HEATS:
        heat = heat_of(speeds)
        said = {"headline": headline(heat), "detail": detail(heat)}
        yield from lines_of("domains", speeds, said)
    heat = heat_of({"ngram": [1.1, 2.4, 2.0]}, plain_slowest=60.0, plain_fastest=140.0)
    yield caution(heat)
    measured = {"lowest": 1.0, "highest": 2.5, "tokens": 24, "seconds": 0.5}
    for prompts in (1, 2):
        heat = heat_of({"ngram": [1.1, 2.4, 2.0]}, prompts=prompts, **measured)
        yield from view(heat)["cells"]["ngram stories"]["said"]
    yield from view(heat)["cells"]["ngram mean"]["said"]


def evidence_lines() -> Iterator[str]:
    """Return what is said of guesses whose drafter gave these reasons."""
    none = Recipe(drafts=False)
    counts = {"form": "counts", "factor": 1.0, "least": 0.1, "start": 0, "length": 2}
    scene = scene_with(counts, lambda node, _: {"count": 3, "total": 4, "from": 1 + node})
    yield from ("== evidence", sentence(scene, 1), sentence(scene, 2))
    for remark in ({"form": "counts", "factor": 1.0, "least": 0.1}, {"form": "heads", "heads": 4}):
        yield sentence(scene_with(remark, lambda *_: None, none, 3), 1)
    ranked = {"head": 1, "state": 4, "path": [2]}
    yield sentence(scene_with({"form": "heads"}, lambda *_: ranked), 1)
    pool = {"form": "lookahead", "pool": 7, "ngrams": [[1, 2]], "window": [[5, 6], [7, 8, 9]]}
    for rows in (5, 0):
        counted = pool | {"rows_verified": 5, "rows_window": rows}
        scene = scene_with(counted, lambda *_: {"ngram": 0, "round": 2, "column": 1})
        yield from (sentence(scene, 1), *scored(scene)["say"])
    empty = pool | {"pool": 0, "ngrams": [], "rows_verified": 0, "rows_window": 5}
    for filling in (True, False):
        scene = scene_with(empty | {"filling": filling}, lambda *_: None, none, 3)
        yield f"note: {block(scored(scene), 'grid')['note']}"
    for passes, recipe in ((1, CHAIN), (4, Recipe(rounds=14))):
        remark = {"form": "upper-bound", "passes": passes}
        yield from scored(scene_with(remark, lambda *_: None, recipe))["say"]
    yield from (candidates(left_out) for left_out in (0, 1, 2))


def form_lines() -> Iterator[str]:
    """Return what the inspector shows of every form of evidence with numbers of its own."""
    for scene in forms():
        yield f"== evidence of {scene.round.proposed.remark['form']}"
        for place in (("propose", 1), ("score", 0)):
            section = at(scene, place)
            yield from map(str, section["say"])
            yield from (json.dumps(each, ensure_ascii=False) for each in section["blocks"])


def forms() -> Iterator[Scene]:
    """Return rounds with the reasons of drafters that are neither copied nor read from states."""
    kept = {1: (3, 4), 2: (2, 3), 3: (1, 1), 4: (1, 2), 5: (1, 1)}
    counts = {"form": "counts", "factor": 1.0, "least": 0.1, "start": 0, "length": 8}
    seen = {node: {"count": n, "total": of, "from": 7 + node} for node, (n, of) in kept.items()}
    yield scene_with(counts | {"expected": 2.0}, lambda node, _: seen[node])
    before = {"verified": {"1": [2, 3, 4], "2": []}, "final": [4]}
    layers = {"form": "layers", "exit": 2, "layers": 4, "before": before}
    yield scene_with(layers, lambda node, _: {"exit": 2, "ran": 2 * (node < 5), "agree": [2]})
    root = scene_of(CHAIN, LATE).round.proposed.root
    pool = {"form": "lookahead", "pool": 7, "ngrams": [[root, 2, 3, 4]], "filling": False}
    pool |= {"window": [[5, 6], [7, 8, 9]], "rows_verified": 5, "rows_window": 5}
    yield scene_with(pool, lambda *_: {"ngram": 0, "round": 2, "column": 1})
    ranked = {1: [0], 2: [1], 3: [0], 4: [1], 5: [0], 6: [1]}
    heads = {"form": "heads", "heads": 2}
    yield scene_with(heads, lambda n, d: {"head": d, "state": 4, "path": ranked[n]}, BUSHY)
    leaps = {"form": "leaps", "heads": 3, "leap": 2}
    backs = {depth: 2 * -(-depth // 2) - depth for depth in range(1, 6)}
    leap = {d: {"head": -(-d // 2), "state": 9 - b, "back": b} for d, b in backs.items()}
    yield scene_with(leaps, lambda _, depth: leap[depth] | {"path": [0]})
    dynamic = {"form": "dynamic", "weighed": 84, "kept": 5, "passes": 5}
    dynamic |= {"tap_layers": [2, 6, 9], "draft_vocabulary": 20}
    yield scene_with(dynamic, lambda node, _: {"path": 0.5**node, "place": node})
    sampled = Recipe(odd=False, rounds=14)
    yield scene_with({"form": "upper-bound", "passes": 5}, lambda *_: None, sampled)
    yield scene_with({"form": "upper-bound", "passes": 5}, lambda *_: None)
    yield scene_with({"form": "lower-bound", "vocabulary": 4096}, lambda *_: None, sampled)


def candidates(left_out: int) -> str:
    """Return what is said of a tree of all candidates of two heads, without some of the last."""
    paths = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    scene = scene_with({"form": "heads"}, lambda node, _: {"path": paths[node - 1]}, BUSHY)
    every = [
        replace(guess, token=10 * len(path) + path[-1], evidence=facts)
        for guess, path in zip(scene.guesses, paths, strict=True)
        for facts in [{"head": len(path), "state": 4, "path": path}]
    ]
    scene.round.proposed = replace(scene.round.proposed, guesses=every[: len(every) - left_out])
    return scored(replace(scene))["say"][0]  # a new scene: it caches its tree


def formula_sentences(changes: Mapping[str, Any]) -> dict[str, str]:
    """Return the sentences on the formula, a measured run and draft trees for some values."""
    runs = json.dumps({"step": changes.get("run")})
    values = trees.START | {"runs": runs} | changes
    found = speedup.respond(values)
    run = found["run"].split("\n")[0]
    return {"answer": found["answer"], "run": run, "trees": trees.respond(values)["answer"]}


def lines_of(section: str, question: Any, answer: dict[str, Any]) -> Iterator[str]:
    """Return a heading and the sentences of an answer."""
    yield f"== {section}: {question}"
    yield from texts(answer)


def texts(value: Any, where: str = "") -> Iterator[str]:
    """Return every text of more than two words, with its key."""
    if isinstance(value, str):
        if len(value.split()) > 2:
            yield f"{where}: {value}"
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in FIGURES:
                yield from texts(each, key)
    elif isinstance(value, list | tuple):
        sentence = any(isinstance(each, dict) and "n" in each for each in value)
        for each in [joined(value)] if sentence else value:
            yield from texts(each, where)


if __name__ == "__main__":
    for path, found in ((GOLDEN, golden_lines()), (SECTIONS, section_lines())):
        path.write_text("\n".join(found) + "\n", encoding="utf-8")
