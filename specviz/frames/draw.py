"""Sampling of a round's last token: a sentence, and a strip of probabilities with u marked.

The sentence claims that the target's distribution is kept only for lossless rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final, Literal, NotRequired, TypedDict

from specviz.frames.numbers import (
    Format,
    format_draw,
    parse_number,
    round_for_text,
    shortest_format,
)
from specviz.frames.scene import Scene, Word
from specviz.frames.table import MOST_DIGITS, residual_text
from specviz.texts import FEW, Part, number, say, word
from specviz.trace.events import Drew, Judged
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import AfterRejection


class TokenShare(TypedDict):
    """A token's share of the strip. hit: whether u selects this share."""

    w: Word
    m: float
    hit: NotRequired[Literal[True]]


class RestShare(TypedDict):
    """The combined share of several tokens that are not shown separately."""

    rest: Literal[True]
    m: float


Share = TokenShare | RestShare


class Draw(TypedDict):
    """A distribution as a strip of shares; after sampling, with u and the selected share."""

    shares: list[Share]
    u: NotRequired[float]
    text: NotRequired[Mapping[str, str]]


NARROW: Final = 0.02  # shares below this are combined
NOTHING: Final = 1e-6  # masses up to this are rounding errors


def draw_sentence(scene: Scene, drew: Drew) -> list[Part]:
    """Return the sentence about the last token of a round."""
    token = word(scene.word(drew.token))
    if drew.kind == "recovered":
        return _recovered(scene, drew, token)
    if drew.kind == "bonus":
        return _bonus(scene, drew, token)
    if scene.greedy:
        return say("step", "plain_zero", token=token)
    return say("step", "plain", u=_u(drew), token=token)


def _u(drew: Drew) -> Part:
    shown = format_draw(drew.drawn.u, drew.drawn.lo, drew.drawn.hi).text["u"]
    return number(shown, "u", "new coin")


def _recovered(scene: Scene, drew: Drew, token: Part) -> list[Part]:
    if scene.greedy:
        rejected = len(scene.rejected_before(scene.last_rejected)) + 1
        return say("step", "recovered_zero", token=token, n=rejected)
    match scene.after_rejection:
        case AfterRejection.ITSELF:
            return say("step", "recovered_from_p", u=_u(drew), token=token)
        case AfterRejection.TOP:
            return say("step", "recovered_top", token=token)
        case AfterRejection.BEYOND:
            return say("step", "recovered_beyond", u=_u(drew), token=token)
    source, mass = _residual(scene, scene.last_rejected, drew)
    return say(
        "step",
        "recovered",
        lossless=scene.header.lossless,
        source=source,
        mass=mass,
        u=_u(drew),
        token=token,
    )


def _residual(scene: Scene, last: Judged, drew: Drew) -> tuple[list[Part], list[Part]]:
    if last.rows.q is None:
        return _without_rejected(scene, last, drew)
    share = round_for_text(last.rows.share)
    source = say(
        "step",
        "residual_source",
        share="" if share in ("1", "about 1") else f"{share} × ",
        p="p′" if scene.uses_p_remainder(last) else "p",
        q="q′" if scene.uses_q_remainder(last) else "q",
    )
    mass = round_for_text(last.rows.residual, residual_text(scene, last, drew))
    return source, _in_total(mass)


def _without_rejected(scene: Scene, last: Judged, drew: Drew) -> tuple[list[Part], list[Part]]:
    # p without the rejected tokens.
    rejected = [*scene.rejected_before(last), last]
    shares = [judged.rows.residual / (judged.rows.share or 1.0) for judged in rejected]
    tokens = dict.fromkeys(scene.guesses[judged.node - 1].token for judged in rejected)
    source = say("step", "without_source", tokens=[word(scene.word(token)) for token in tokens])
    if len(rejected) > 1:
        return source, _product_of_shares(shares)
    text = residual_text(scene, last, drew) if last.rows.share == 1.0 else ""
    return source, _in_total(round_for_text(shares[0], text))


def _in_total(mass: str) -> list[Part]:
    return say("step", "in_total", mass=number(mass, "residual"))


def _product_of_shares(shares: Sequence[float]) -> list[Part]:
    # The shares shown multiply to the product shown; if that needs too much, only the product.
    whole = prod(shares)

    def multiplies(form: Format) -> bool:
        shown = [parse_number(form(share)) for share in shares]
        seen = all((s < 1) == (t < 1) for s, t in zip(shown, shares, strict=True))
        agrees = form(prod(shown)) == form(whole)
        return seen and agrees and (parse_number(form(whole)) > 0) == (whole > 0)

    digits, form = shortest_format(multiplies)
    text = round_for_text(whole)
    if len(shares) > FEW or digits > MOST_DIGITS or text.startswith("about"):
        return _in_total(text)
    factors: list[Part] = []
    for share in shares:
        factors += [" × " if factors else "", number(form(share), "residual")]
    product = [*factors, " = ", number(form(whole), "residual")]
    return say("step", "rejections_leave", product=product)


def _bonus(scene: Scene, drew: Drew, token: Part) -> list[Part]:
    accepted = len(accepted_path(scene.round))
    whole = accepted == len(scene.guesses)  # otherwise other branches were not judged
    if scene.greedy or scene.after_rejection is AfterRejection.TOP:
        return say("step", "bonus_top", kept=accepted, whole=whole, token=token)
    return say("step", "bonus", kept=accepted, whole=whole, u=_u(drew), token=token)


def draw_strip(scene: Scene, drew: Drew) -> Draw:
    """Return the strip after sampling, at the exact cumulative sums that the engine used."""
    shares: list[Share] = []
    at = 0.0
    for token, p in zip(drew.tokens, drew.p, strict=True):
        hit = token == drew.token
        if hit and drew.drawn.lo - at > NOTHING:
            shares.append(_others(drew.drawn.lo - at))  # tokens before it that are not listed
            at = drew.drawn.lo
        share: TokenShare = {"w": scene.word(token), "m": round(p, 6)}
        if hit:
            share["hit"] = True
        shares.append(share)
        at += p
    if 1 - at > NOTHING:
        shares.append(_others(1 - at))
    text = format_draw(drew.drawn.u, drew.drawn.lo, drew.drawn.hi).text
    return {"shares": _join_narrow(shares), "u": round(drew.drawn.u, 6), "text": text}


def pending_strip(scene: Scene, judged: Judged) -> Draw:
    """Return the strip at the rejection: the same shares, without u and the selected token."""
    rows = judged.rows
    candidate = scene.guesses[judged.node - 1].token
    q = rows.q or [1.0 if token == candidate else 0.0 for token in rows.tokens]
    above = [
        (token, (p - q_x) / rows.residual)
        for token, p, q_x in zip(rows.tokens, rows.p, q, strict=True)
        if p > q_x
    ]
    above.sort(key=lambda pair: (-pair[1], pair[0]))
    shares: list[Share] = [{"w": scene.word(token), "m": round(m, 6)} for token, m in above]
    rest = 1 - sum(m for _, m in above)
    return {"shares": _join_narrow([*shares, _others(rest)] if rest > NOTHING else shares)}


def _others(mass: float) -> RestShare:
    return {"rest": True, "m": round(mass, 6)}


def _join_narrow(shares: list[Share]) -> list[Share]:
    joined: list[Share] = []
    for share in shares:
        narrow = share["m"] < NARROW and not share.get("hit")
        new = _others(share["m"]) if narrow else share
        if new.get("rest") and joined and joined[-1].get("rest"):
            joined[-1] = _others(joined[-1]["m"] + new["m"])
        else:
            joined.append(new)
    return joined
