"""The two ends of α: the target itself as drafter, and a blind guess."""

from __future__ import annotations

from specviz.frames.evidence.forms import Block, Remark, facts, rows
from specviz.frames.numbers import visible as digits
from specviz.frames.scene import Scene, Step
from specviz.texts import count


def upper_bound(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """Every guess is the target's own, at its full price."""
    passes = count(remark["passes"], "full pass", "full passes")
    whose = "its own top tokens" if scene.point_mass else "draws of p itself"
    # At a temperature a draw of p is always kept, a fixed guess with chance p alone.
    best = "no fixed guess" if scene.point_mass and not scene.greedy else "no draft"
    say = f"The target guesses for itself, {whose}: {best} fits better, and it costs {passes}."
    price = facts(("full target passes spent on guessing", remark["passes"]))
    return {"say": [say], "blocks": [_scale(scene, "oracle"), price]}


def lower_bound(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """Every token of the vocabulary is as likely as any other."""
    many = remark["vocabulary"]
    say = (
        "Every token is as likely to be guessed. Few are kept, and the text stays the target's own."
    )
    blind = facts(("tokens to choose from", many), ("chance of each", digits(1 / many)))
    return {"say": [say], "blocks": [_scale(scene, "uniform"), blind]}


def _scale(scene: Scene, which: str) -> Block:
    """Both ends, the one at work marked. As top tokens at a temperature they have no fixed α."""
    loose = scene.point_mass and not scene.greedy
    laws = ("one blind pick", "its top token") if scene.point_mass else ("q = 1/V", "q = p")
    ends = (
        ("uniform", laws[0], "near 0", 0.0),
        ("oracle", laws[1], "its p" if loose else "1", 1.0),
    )
    found = [
        {"at": "", "words": [[f"{name}: {law}"]], "text": [alpha]}
        | ({} if loose else {"bar": bar})
        | ({"here": True} if name == which else {})
        for name, law, alpha, bar in ends
    ]
    return rows(["", "the two ends", "α"], found)
