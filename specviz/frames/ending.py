"""The sentence of a round's last token: what it is drawn from, why from that, and the coin.

Its one rule: that the text stays the target's own is said of rules alone that keep it so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from specviz.frames.numbers import Form, first, interval, read, spoken
from specviz.frames.scene import Scene
from specviz.frames.table import MOST_DIGITS, left_text
from specviz.texts import FEW, Part, listed, number
from specviz.trace.events import Drew, Judged
from specviz.trace.metrics import path
from specviz.trace.promises import Leaves


def ending(scene: Scene, drew: Drew) -> list[Part]:
    """The sentence of a draw."""
    token: Part = {"w": scene.word(drew.token)}
    if scene.greedy:
        return _top(scene, drew, token)
    at = number(interval(drew.drawn.u, drew.drawn.lo, drew.drawn.hi).text["u"], "u")
    if drew.kind == "recovered" and scene.leaves is not Leaves.RESIDUAL:
        return [ELSEWHERE[scene.leaves], *_picked(scene, token, at)]
    if drew.kind == "recovered":
        left = _left(scene, scene.last_fallen, drew)
        again: list[Part] = [" in all). Another coin, ", at, ", picks "]
        return [_why(scene), *left, *again, token, " there."]
    picks: list[Part] = [": a coin, ", at, ", picks ", token]
    if drew.kind == "bonus":
        kept = f"{_all_kept(scene)}, and the same pass has scored what follows"
        if scene.leaves is Leaves.TOP:
            return [f"{kept}: ", token, ", the top token, is said."]
        return [kept, *picks, " from p."]
    return ["Nothing was drafted", *picks, " from p itself."]


ELSEWHERE: Final = {
    Leaves.ITSELF: "That a guess fell says nothing of the next draw: the new one is drawn from p",
    Leaves.TOP: "Nothing is drawn: this rule says the target's top token, ",
    Leaves.BEYOND: "What all siblings together may claim is ρ q, so the new one is drawn from what "
    "p has beyond it",
}


def _picked(scene: Scene, token: Part, at: Part) -> list[Part]:
    """The end of the sentence: the token that the coin picks, or that stands there without one."""
    if scene.leaves is Leaves.TOP:
        return [token, "."]
    return [": a coin, ", at, ", picks ", token, "."]


def _why(scene: Scene) -> str:
    """Why a rejection does not simply draw from p again."""
    if not scene.header.lossless:
        return "The new one is drawn from "
    return "So that every token keeps the target's own chance, the new one is drawn from "


def _left(scene: Scene, last: Judged, drew: Drew) -> list[Part]:
    """What the rejections at the last place have left to draw from."""
    if last.rows.q is None:
        return _without(scene, last, drew)
    p = "p′" if scene.left_of_p(last) else "p"
    q = "q′" if scene.left_of_q(last) else "q"
    left = spoken(last.rows.residual, left_text(scene, last, drew))
    share = spoken(last.rows.share)
    if share not in ("1", "about 1"):
        p = f"{share} of {p}"
    return [f"what {p} has above {q} (", number(left, "residual")]


def _without(scene: Scene, last: Judged, drew: Drew) -> list[Part]:
    """Of a point mass: the mass of p outside of all siblings that fell. Each rejection leaves its
    share of what was left before, so that is the product."""
    fell = [*scene.fallen(last), last]
    shares = [judged.rows.residual / (judged.rows.share or 1.0) for judged in fell]
    tokens = list(dict.fromkeys(scene.guesses[judged.node - 1].token for judged in fell))
    if len(fell) == 1:
        claimed = last.rows.share == 1.0
        shown = spoken(shares[0], left_text(scene, last, drew) if claimed else "")
        left: list[Part] = [number(shown, "residual")]
    else:
        left = _product(shares)
    named: list[Part] = [{"w": scene.word(token)} for token in tokens]
    return ["p without ", *listed(named), " (", *left]


def _product(shares: Sequence[float]) -> list[Part]:
    """Shares and their product, in digits that multiply; the product alone where they are many, or
    would take more digits than anyone reads."""
    whole = prod(shares)

    def multiplies(form: Form) -> bool:
        shown = [read(form(share)) for share in shares]
        seen = all((s < 1) == (t < 1) for s, t in zip(shown, shares, strict=True))
        agrees = form(prod(shown)) == form(whole)
        return seen and agrees and (read(form(whole)) > 0) == (whole > 0)

    digits, form = first(multiplies)
    if len(shares) > FEW or digits > MOST_DIGITS or spoken(whole).startswith("about"):
        return [number(spoken(whole), "residual")]
    product = number(form(whole), "residual")
    factors: list[Part] = []
    for share in shares:
        factors += [" × " if factors else "", number(form(share), "residual")]
    return [*factors, " = ", product]


def _all_kept(scene: Scene) -> str:
    """That nothing fell at the branch's end; of the whole try only where it was that branch."""
    kept = len(path(scene.round))
    whole = kept == len(scene.guesses)
    if kept == 1:
        return "The guess was kept" if whole else "The one guess on this branch was kept"
    return f"All {kept} guesses{'' if whole else ' on this branch'} were kept"


def _top(scene: Scene, drew: Drew, token: Part) -> list[Part]:
    """At temperature 0, where nothing is drawn."""
    if drew.kind == "recovered":
        fell = len(scene.fallen(scene.last_fallen)) + 1
        place = "its" if fell == 1 else "their"
        return ["The target's top token, ", token, f", stands in {place} place."]
    if drew.kind == "bonus":
        after = "it" if len(path(scene.round)) == 1 else "them"
        same = f"{_all_kept(scene)}, and the same pass gives "
        return [same, token, f", the top token after {after}."]
    return ["Nothing was drafted: the target gives ", token, ", its top token."]
