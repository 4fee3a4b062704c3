"""The two ends of α: the target itself as drafter, and a uniformly random guess."""

from __future__ import annotations

from specviz.frames.evidence.forms import Block, Remark, facts, rows
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Scene, Step
from specviz.texts import say


def upper_bound(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The target drafts for itself, at its full price."""
    passes, fixed = remark["passes"], scene.point_mass
    # Away from temperature 0, a sample of p is always accepted, a fixed guess with probability p.
    best = "no other fixed guess" if fixed and not scene.greedy else "no other draft"
    why = say("evidence", "upper_why", best=best, passes=passes)
    price = facts(("full target passes spent on guessing", passes))
    return {"say": why, "blocks": [_scale(scene, "oracle"), price]}


def lower_bound(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """Every token of the vocabulary is equally likely to be guessed."""
    size = remark["vocabulary"]
    random = facts(
        ("tokens to choose from", size), ("probability of each", format_nonzero(1 / size))
    )
    why = say("evidence", "lower_why", lossless=scene.header.lossless)
    return {"say": why, "blocks": [_scale(scene, "uniform"), random]}


def _scale(scene: Scene, which: str) -> Block:
    """Both ends, the one in use marked. Fixed guesses at a temperature have no fixed α."""
    loose = scene.point_mass and not scene.greedy
    guesses = ("one random token", "its top token") if scene.point_mass else ("q = 1/V", "q = p")
    ends = (
        ("uniform", guesses[0], "near 0", 0.0),
        ("oracle", guesses[1], "its p" if loose else "1", 1.0),
    )
    found = [
        {"at": "", "words": [[f"{name}: {guess}"]], "text": [alpha]}
        | ({} if loose else {"bar": bar})
        | ({"here": True} if name == which else {})
        for name, guess, alpha, bar in ends
    ]
    return rows(["", "the two ends", "α"], found)
