"""The sentence of a verdict: what both give the guess, its chance, and the coin beside it.

Its one rule: a number is said as a person can weigh it, and what is said holds of the exact ones.
"""

from __future__ import annotations

from typing import Final

from specviz.frames.evidence import thrown
from specviz.frames.leaf_first import from_the_root, kept_with, weighed, weighs_owed
from specviz.frames.numbers import LEAST, numbers, spoken, visible
from specviz.frames.other_rules import NO_COIN, other_test
from specviz.frames.scene import Scene
from specviz.frames.whatif import stuck
from specviz.texts import Part, listed, number
from specviz.trace.events import Judged

ROUNDING: Final = 1e-5  # of p, and of 1 − p: as near as two float32 passes come to each other


def verdict(scene: Scene, judged: Judged) -> list[Part]:
    """The sentence of a verdict."""
    token: Part = {"w": scene.word(scene.guesses[judged.node - 1].token)}
    if scene.leaf_first and (scene.greedy or not _as_ever(scene, judged)):
        fell = [] if scene.greedy else _fell(scene, judged)
        return [*weighed(scene, judged, token), *fell, *from_the_root(scene, judged)]
    usual = scene.greedy and judged.accepted == (judged.inputs["p"] >= 1.0)
    if not usual and (how := other_test(scene, judged, token)) is not None:
        coin = not scene.greedy and scene.header.rule not in NO_COIN
        return [*how, *(_fell(scene, judged) if coin else [])]
    if scene.greedy:
        is_it = " is it." if judged.accepted else " is not."
        return ["At temperature 0 the target keeps only its top token, and ", token, is_it]
    weighs = _over_q if "q" in judged.inputs else _alone
    said = [*weighs(scene, judged, token), *_fell(scene, judged)]
    return [*said, *from_the_root(scene, judged)] if scene.leaf_first else said


def _as_ever(scene: Scene, judged: Judged) -> bool:
    """Whether a guess that is judged from the leaf up has the chance that it has in any case."""
    return judged.rows.share == 1.0 and not weighs_owed(scene, judged)


def _over_q(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """p, q, and the chance, their ratio."""
    start: list[Part] = ["The target"]
    if scene.left_of_p(judged):
        start = _after(scene, judged)
    p = spoken(judged.inputs["p"], _shown(scene, judged)["p"])
    gives: list[Part] = [*start, " gives ", token, " ", number(p, "p"), ", "]
    return [*gives, *_beside(scene, judged), ": keep with chance ", _chance(scene, judged), ". "]


def _beside(scene: Scene, judged: Judged) -> list[Part]:
    """What the draft gave the guess, beside the p that was said."""
    p, q, chance = judged.inputs["p"], judged.inputs["q"], judged.threshold
    gave = "and what was left of q (q′) gave it" if scene.left_of_q(judged) else "the draft gave it"
    if same(p, q):
        return [f"{gave} {'the same' if p == q else 'the same but for rounding'}"]
    if 0 < p < LEAST <= chance < 1:  # too little to be divided by eye: its ratio alone
        times = f" times what {gave.removeprefix('and ')}"
        return ["only ", number(spoken(chance), "both"), times]
    shown = _shown(scene, judged)
    given = spoken(q, shown["q"])
    if given == spoken(p, shown["p"]):
        more = "more" if p >= LEAST else "far more"
        return [f"{gave} {'less' if q < p else more}"]
    return [f"{gave} only " if q < p else f"{gave} ", number(given, "q")]


def _shown(scene: Scene, judged: Judged) -> dict[str, str]:
    """The verdict's numbers as its bars show them; p in fewer digits where q has the same."""
    shown = dict(numbers(scene, judged).text)
    if "q" in judged.inputs and same(judged.inputs["p"], judged.inputs["q"]):
        shown["p"] = visible(judged.inputs["p"])
    return shown


def same(p: float, q: float) -> bool:
    """Whether p and q are one number, at most computed in two orders."""
    return p == q or abs(p - q) <= ROUNDING * min(p, q, 1 - p, 1 - q)


def _alone(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """p alone: of a guess that was not drawn by chance, or under a rule that does without q."""
    if scene.left_of_p(judged):
        after = [*_after(scene, judged), " counts. "]
        return [*after, *_why_alone(scene, token, True), "p′, ", _chance(scene, judged), ". "]
    return [*_why_alone(scene, token, False), "p, ", _chance(scene, judged), ". "]


def _why_alone(scene: Scene, token: Part, later: bool) -> list[Part]:
    """Why no q counts; on a later try in short, for it was said on the first."""
    keep = ": keep with chance "
    if not scene.point_mass:
        start = "Of " if later else "This rule does not divide by q. Of "
        return [start, token, f" it asks {'that' if later else 'p'} alone{keep}"]
    if later:
        fixed = "fixed before any coin too" if thrown(scene) else "not drawn by chance either"
        return [token, f" was {fixed}{keep}"]
    did, how = (" fixed ", "before any coin") if thrown(scene) else (" did not draw ", "by chance")
    return [f"{scene.who}{did}", token, f" {how}, so there is no q to divide by{keep}"]


def _after(scene: Scene, judged: Judged) -> list[Part]:
    """How the sentence starts for a second or later sibling: its target is what is left of p."""
    fell: list[Part] = [
        {"w": scene.word(scene.guesses[earlier.node - 1].token)} for earlier in scene.fallen(judged)
    ]
    return ["After ", *listed(fell), " fell, what is left of p (p′)"]


def _chance(scene: Scene, judged: Judged) -> Part:
    """The chance; in full where the coin lies so near to it that "about" would hide the verdict."""
    text = numbers(scene, judged).text["threshold"]
    near = not LEAST <= judged.u <= 1 - LEAST
    said = text if near else spoken(judged.threshold, text)
    return number(said, "both" if "q" in judged.inputs else "p")


def _fell(scene: Scene, judged: Judged) -> list[Part]:
    """The coin beside the chance, and what follows."""
    laid = " laid" if scene.laid(judged.node) else ""
    chance = _chance(scene, judged)
    assert isinstance(chance, dict)
    bar: Part = "that" if chance["n"].startswith("about") else chance
    side = " is below " if judged.accepted else " is not below "
    end = f": kept{kept_with(scene, judged)}." if judged.accepted else ": rejected."
    coin = number(numbers(scene, judged).text["u"], "u")
    vain = " No coin could do otherwise." if laid and stuck(judged) else ""
    return [f"The coin{laid} at ", coin, side, bar, end + vain]
