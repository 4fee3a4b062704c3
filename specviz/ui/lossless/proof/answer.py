"""How far the rule's law lies from the target's at every verdict of a recorded run.

Needs no model: a trace keeps what it takes. See `verification.exact.of_run`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from specviz.frames import Scene
from specviz.frames.numbers import significant
from specviz.texts import count
from specviz.trace.events import Judged, Rows
from specviz.trace.file import Trace
from specviz.ui.lossless.sandbox.question import FEWEST_WORDS, MOST_WORDS, whole
from specviz.ui.question import Unasked, number_of, packed, read
from specviz.ui.step import recorded
from specviz.verification.exact.of_run import Step, steps, worst

SHOWN: Final = MOST_WORDS - 1  # words of a verdict that the sandbox can hold
ROUNDING: Final = 1e-9


def answer(text: Any) -> str:
    """JSON for the page: the verdicts of the run asked for; or what is wrong with the question."""
    try:
        data = read(text)
        number = whole(data.get("id"), "The number of a question", -(2**53), 2**53)
        if data.get("run") not in recorded.names():
            raise Unasked("There is no recorded run of this name here.")
        return packed({"id": number, **proof(str(data["run"]))})
    except ValueError as problem:  # no question, or no trace: a sentence either way
        return packed({"id": number_of(text), "problem": str(problem)})


@cache
def proof(name: str) -> dict[str, Any]:
    """Every verdict of a recorded run, and the largest distance in a sentence."""
    trace = recorded.trace(name)
    judged = {(r.number, j.node): j for r in trace.rounds for j in r.judged}
    verdicts = [told(trace, step, judged[step.round, step.node]) for step in steps(trace)]
    return {"run": name, "title": recorded.title(name), "said": said(trace), "verdicts": verdicts}


def said(trace: Trace) -> str:
    """What all verdicts come to."""
    least, most = worst(trace)
    many = count(sum(1 for _ in steps(trace)), "verdict")
    start = f"{many} by the rule “{trace.header.rule}”. The largest distance from the target’s law"
    if most < ROUNDING:
        shown = "0" if most == 0.0 else f"{significant(1)(most)}, which is rounding"
        return f"{start} is {shown}: nothing is lost."
    found = f"{least:.4f}" if most - least < ROUNDING else f"between {least:.4f} and {most:.4f}"
    return f"{start} is {found}."


def told(trace: Trace, step: Step, judged: Judged) -> dict[str, Any]:
    """One verdict: where, of what, kept or not, how far off, and its laws for the sandbox."""
    scene = Scene.of(trace, step.round)
    proposed = scene.round.proposed
    assert proposed is not None  # something was judged
    token = proposed.guesses[step.node - 1].token
    laws = few(judged.rows, token)
    return {
        "round": step.round,
        "w": scene.word(token),
        "kept": judged.accepted,
        "tv": "0" if step.most < ROUNDING else f"{step.most:.4f}",
        "laws": laws and {**laws, "words": [scene.word(each) for each in laws["words"]]},
    }


def few(rows: Rows, token: int) -> dict[str, Any] | None:
    """The likeliest words of a verdict, the one on trial among them, p and q each scaled to 1.

    words: as tokens. None where the sandbox could show nothing of it. Cut and scaled, not lumped:
    one bucket for all others would have another overlap than they have.
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
        "words": tokens,
        "p": [each / sum(p) for each in p],
        "q": [each / sum(q) for each in q],
        "drawn": "top" if rows.q is None else "sampled",
    }
