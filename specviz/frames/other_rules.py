"""The sentence of a verdict under a rule whose chance is not p over q, nor p alone.

Its one rule: what is said of the test is what the trace's inputs and dials say of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from typing import Final

from specviz.frames.numbers import numbers, spoken, visible
from specviz.frames.parts import Part, number
from specviz.frames.scene import Scene
from specviz.trace.events import Judged

Said = Callable[[Mapping[str, float]], str]


def other_test(scene: Scene, judged: Judged, token: Part) -> list[Part] | None:
    """What the target gives, what the test makes of it, and the chance; None of the usual rules."""
    test = TESTED.get(scene.header.rule)
    if test is None:
        return None
    text, inputs = numbers(scene, judged).text, judged.inputs
    left = "What is left of p" if scene.left_of_p(judged) else "The target"
    parts: list[Part] = [f"{left} gives ", token, " ", number(spoken(inputs["p"], text["p"]), "p")]
    if "q" in inputs:
        parts += [", the draft gave it ", number(spoken(inputs["q"], text["q"]), "q")]
    chance = number(spoken(judged.threshold, text["threshold"]), "both")
    return [*parts, f". {test(inputs)}: keep with chance ", chance, ". "]


def _typical(inputs: Mapping[str, float]) -> str:
    unsure = inputs["delta"] * exp(-inputs["entropy"])
    bar, why = inputs["epsilon"], "as set"
    if unsure < bar:
        bar, why = unsure, f"{inputs['delta']:g} e^−H, for the target is unsure"
    return f"Whatever lies above {visible(bar)} ({why}) passes, and nothing else"


def _relaxed(inputs: Mapping[str, float]) -> str:
    near = f"the likeliest {inputs['among']:g}, at most {inputs['margin']:g} below the top token"
    at = f"it is number {inputs['rank']:g}, and the top token has {visible(inputs['top'])}"
    return f"Whatever is among {near}, passes, and nothing else; {at}"


def _thresholds(inputs: Mapping[str, float]) -> str:
    bars = f"p of {inputs['single']:g} passes; less is divided by {inputs['together']:g}"
    return f"Under this rule a {bars}"


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
