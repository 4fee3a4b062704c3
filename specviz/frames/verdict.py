"""The numbers of one verdict, as the sentence, the coin and the table all show them."""

from __future__ import annotations

from specviz.frames.numbers import Shown, mass_test, ratio_test
from specviz.frames.scene import Scene
from specviz.trace import Judged


def numbers(scene: Scene, judged: Judged) -> Shown:
    """p, q (if there is one), the threshold and the coin, in digits that agree."""
    p = judged.inputs["p"]
    if "q" in judged.inputs:
        return ratio_test(p, judged.inputs["q"], judged.threshold, judged.u)
    return mass_test(p, judged.threshold, judged.u)
