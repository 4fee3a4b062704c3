"""The two ends of α: the target itself as drafter, and a blind guess."""

from __future__ import annotations

from specviz.frames.evidence.forms import Block, Remark, facts, rows
from specviz.frames.numbers import count
from specviz.frames.numbers import visible as digits
from specviz.frames.scene import Scene, Step


def oracle(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """Every guess is the target's own, at its full price."""
    passes = count(remark["passes"], "full pass").replace("passs", "passes")
    whose = "its own top tokens" if scene.point_mass else "draws of p itself"
    say = f"The target guesses for itself, {whose}: no draft fits better, and it costs {passes}."
    price = facts(("full target passes spent on guessing", remark["passes"]))
    return {"say": [say], "blocks": [_scale(scene, "oracle"), price]}


def uniform(scene: Scene, step: Step, remark: Remark) -> Block | None:
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
