"""The sentence of a verdict under a rule whose chance is not p over q, nor p alone.

Its one rule: what is said of the test is what the trace's inputs and dials say of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from typing import Final

from specviz.frames.numbers import Form, first, numbers, read, spoken, visible
from specviz.frames.scene import Scene
from specviz.texts import Part, number
from specviz.trace.events import Judged

Said = Callable[[Mapping[str, float]], str]


def other_test(scene: Scene, judged: Judged, token: Part) -> list[Part] | None:
    """What the target gives, what the test makes of it, and the chance; None of the usual rules.

    Where no coin decides, the verdict too, and no chance.
    """
    test = TESTED.get(scene.header.rule)
    if test is None:
        return None
    text, inputs = numbers(scene, judged).text, judged.inputs
    left = "What is left of p" if scene.left_of_p(judged) else "The target"
    p = _apart(inputs)(inputs["p"]) if scene.header.rule == "typical" else text["p"]
    parts: list[Part] = [f"{left} gives ", token, " ", number(spoken(inputs["p"], p), "p")]
    if "q" in inputs:
        parts += [", the draft gave it ", number(spoken(inputs["q"], text["q"]), "q")]
    if scene.header.rule in NO_COIN:
        return [*parts, f". {test(inputs)}: {'kept' if judged.accepted else 'rejected'}."]
    chance = number(spoken(judged.threshold, text["threshold"]), "both")
    return [*parts, f". {test(inputs)}: keep with chance ", chance, ". "]


def _bar(inputs: Mapping[str, float]) -> float:
    return min(inputs["epsilon"], inputs["delta"] * exp(-inputs["entropy"]))


def _apart(inputs: Mapping[str, float]) -> Form:
    """How to write p and the bar so that they are seen on their sides of each other."""
    p, bar = inputs["p"], _bar(inputs)

    def seen(form: Form) -> bool:
        one, other = read(form(p)), read(form(bar))
        return (one > other) == (p > bar) and (one != other or p == bar)

    return first(seen)[1]


def _typical(inputs: Mapping[str, float]) -> str:
    bar, unsure = _bar(inputs), f"{inputs['delta']:g} e^−H, for the target is unsure"
    why = unsure if bar < inputs["epsilon"] else "as set"
    return f"What lies above {_apart(inputs)(bar)} ({why}) passes, and nothing else"


def _relaxed(inputs: Mapping[str, float]) -> str:
    near = f"within {inputs['margin']:g} of the top token's {inputs['top']:.2f}"
    at = f"it is number {inputs['rank']:g}"
    return f"Only the likeliest {inputs['among']:g} {near} pass, and {at}"


def _thresholds(inputs: Mapping[str, float]) -> str:
    bars = f"p of {inputs['single']:g} passes; less is divided by {inputs['together']:g}"
    return f"Under this rule a {bars}"


NO_COIN: Final = frozenset({"typical", "relaxed", "unverified"})
TESTED: Final[Mapping[str, Said]] = {
    "accept-reject": lambda inputs: (
        f"No token's q is less than {visible(inputs['least'])} times its p, and p/q is scaled by "
        "that to be a chance everywhere"
    ),
    "k-seq": lambda inputs: f"Every sibling is tested alike, with q times {inputs['rho']:.3g}",
    "lenience": lambda inputs: f"This rule counts q times {inputs['lenience']:g} only",
    "ensemble": lambda inputs: (
        f"This rule puts {inputs['weight']:g} p + {1 - inputs['weight']:.3g} q in the place of p"
    ),
    "typical": _typical,
    "relaxed": _relaxed,
    "thresholds": _thresholds,
    "unverified": lambda inputs: "This rule checks nothing",
}
