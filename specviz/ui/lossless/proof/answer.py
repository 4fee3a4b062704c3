"""The distance of a rule's output from the target's distribution, at each verdict of a run.

No model is needed, since the trace contains everything. See `verification.exact.recorded_run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypedDict

from specviz import texts
from specviz.frames import Scene
from specviz.frames.numbers import significant
from specviz.frames.scene import Word
from specviz.trace.events import Judged, Rows
from specviz.trace.file import Trace
from specviz.ui.lossless.sandbox import FEWEST_WORDS, MOST_WORDS, DrawnName
from specviz.ui.questions import BadRequest
from specviz.ui.step import recorded
from specviz.verification.exact.recorded_run import VerdictBounds, verdict_bounds, worst_bounds

SHOWN: Final = MOST_WORDS - 1  # number of words of one verdict that fit into the sandbox
ROUNDING: Final = 1e-9


class Experiment(TypedDict):
    """p and q for the sandbox, cut to a few words and normalized."""

    words: list[Word]
    p: list[float]
    q: list[float]
    drawn: DrawnName


class Verdict(TypedDict):
    """A verdict.

    Attributes:
        experiment: Its p and q for the sandbox; None if the sandbox could not show them.
    """

    round: int
    w: Word
    kept: bool
    tv: str
    experiment: Experiment | None


class Answer(TypedDict):
    """All verdicts of a recorded run, and a sentence with the largest distance."""

    title: str
    sentence: str
    verdicts: list[Verdict]


def answer(data: Mapping[str, Any]) -> Answer:
    """Return the verdicts of a run. Raises ValueError if it is unknown or its trace is invalid."""
    if data.get("run") not in recorded.names():
        raise BadRequest("There is no recorded run with this name.")
    return proof(str(data["run"]))


@cache
def proof(name: str) -> Answer:
    """Return all verdicts of the recorded run `name`, and a sentence with the largest distance."""
    trace = recorded.trace(name)
    judged = {(r.number, j.node): j for r in trace.rounds for j in r.judged}
    verdicts = [
        describe_verdict(trace, step, judged[step.round, step.node])
        for step in verdict_bounds(trace)
    ]
    return {
        "title": recorded.title(name),
        "sentence": sentence(trace),
        "verdicts": verdicts,
    }


def sentence(trace: Trace) -> str:
    """Return the sentence on all verdicts together."""
    least, most = worst_bounds(trace)
    shown = {"checks": sum(1 for _ in verdict_bounds(trace)), "rule": trace.header.rule}
    if most < ROUNDING:
        rounded = texts.text("lossless", "rounding", tv=significant(1)(most)) if most else "0"
        return texts.text("lossless", "run_lossless", tv=rounded, **shown)
    return texts.text("lossless", "run_lossy", least=f"{least:.4f}", most=f"{most:.4f}", **shown)


def describe_verdict(trace: Trace, step: VerdictBounds, judged: Judged) -> Verdict:
    """Describe a verdict: round, token, accepted or not, distance, p and q for the sandbox."""
    scene = Scene.of(trace, step.round)
    proposed = scene.round.proposed
    assert proposed is not None  # this verdict is about a guess
    token = proposed.guesses[step.node - 1].token
    return {
        "round": step.round,
        "w": scene.word(token),
        "kept": judged.accepted,
        "tv": "0" if step.most < ROUNDING else f"{step.most:.4f}",
        "experiment": few(scene, judged.rows, token),
    }


def few(scene: Scene, rows: Rows, token: int) -> Experiment | None:
    """Return the most probable tokens of a verdict, including the guess, with normalized p and q.

    None if the sandbox could not show it. All other tokens are left out, not merged into one,
    because this would increase the overlap of p and q.
    """
    drafted = rows.q or [float(each == token) for each in rows.tokens]
    by_weight = sorted(
        zip(rows.tokens, rows.p, drafted, strict=True),
        key=lambda row: (row[0] != token, -row[1] - row[2]),
    )[:SHOWN]
    tokens, p, q = (list(column) for column in zip(*by_weight, strict=True))
    if len(tokens) < FEWEST_WORDS or not sum(p) or not sum(q):
        return None
    return {
        "words": [scene.word(each) for each in tokens],
        "p": [each / sum(p) for each in p],
        "q": [each / sum(q) for each in q],
        "drawn": "top" if rows.q is None else "sampled",
    }
