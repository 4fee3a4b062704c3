"""Compare what Cost, Lossless?, the domain map and evidence say with a file that was proofread.

The numbers in `golden/sections.txt` are tested elsewhere; here it is what is said of them. After an
intended change of wording, write it again: python tests/test_golden_sections.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from asking import ask
from made import Recipe
from test_domains import heat_of
from test_evidence import BUSHY, CHAIN, block, scene_with, scored, sentence
from test_server_outlook import COUNTED, MEAN, SITE, fitted, report_of
from test_server_texts import INFO

from specviz.compare.domains.heatmap import caution, detail, headline, view
from specviz.cost.server.report import build_report
from specviz.ui.cost import law, roofline
from specviz.ui.cost.law.answer import answer as law_answer
from specviz.ui.lossless.sandbox import PRESETS, TITLES
from specviz.ui.lossless.sandbox.answer import answer as sandbox_answer

GOLDEN = Path(__file__).resolve().parent / "golden" / "sections.txt"
FIGURES = {"speed", "time", "map", "figures", "facts", "table", "cells", "rows"}
RUN = {
    "alpha": 0.746, "gamma": 4.952, "guesses": 4.952, "c": 0.218,
    "verify": 1.468, "tokens": 2.952, "speedup": 1.148,
}  # fmt: skip
AGREES = {"alpha": 0.6, "gamma": 4, "guesses": 4, "c": 0.1, "verify": 1.2, "tokens": 2.3056}
LAW: list[dict[str, Any]] = [
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
    assert list(golden_lines()) == GOLDEN.read_text(encoding="utf-8").splitlines()


def golden_lines() -> Iterator[str]:
    """The golden file: a heading per question, then the sentences of its answer."""
    for changes in LAW:
        yield from lines_of("law", changes, ask(law_answer, law.START | {"run": None} | changes))
    for changes in ROOFLINE:
        answer = ask(roofline.section_facts, roofline.USUAL | changes)
        yield from lines_of("roofline", changes, answer)
    first = {"p": PRESETS[0]["p"], "q": PRESETS[0]["q"], "drawn": "sampled"}
    for changes in SANDBOX:
        asked = first | {"candidates": 1, "rule": "auto"} | changes
        yield from lines_of("lossless", changes, ask(sandbox_answer, asked))
    for name, advice in server_advice():
        yield from lines_of("server", name, {"advice": list(advice)})
    yield from heat_lines()
    yield from evidence_lines()


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


def lines_of(section: str, question: Any, answer: dict[str, Any]) -> Iterator[str]:
    """Return a heading and the sentences of an answer."""
    yield f"== {section}: {question}"
    yield from texts(answer)


def texts(value: Any, where: str = "") -> Iterator[str]:
    """Return every text of more than a word, with its key."""
    if isinstance(value, str):
        if " " in value:
            yield f"{where}: {value}"
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in FIGURES:
                yield from texts(each, key)
    elif isinstance(value, list) and any(isinstance(each, dict) and "n" in each for each in value):
        joined = "".join(each if isinstance(each, str) else each["n"] for each in value)
        yield f"{where}: {joined}"
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each, where)


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(golden_lines()) + "\n", encoding="utf-8")
