"""The draw as a strip of shares: the law walked by falling probability, and where u fell.

A token's share lies where the walk passed it, so the strip can be read with a ruler.
"""

from __future__ import annotations

from typing import Any, Final

from specviz.frames.numbers import interval
from specviz.frames.scene import Scene
from specviz.trace.events import Drew, Judged

Share = dict[str, Any]


NARROW: Final = 0.02
NOTHING: Final = 1e-6


def drawn(scene: Scene, drew: Drew) -> dict[str, Any]:
    """The strip after the draw: shares in the order walked, u, and the share that it hit."""
    shares: list[Share] = []
    at = 0.0
    for token, p in zip(drew.tokens, drew.p, strict=True):
        hit = token == drew.token
        if hit and drew.drawn.lo - at > NOTHING:
            shares.append(others(drew.drawn.lo - at))  # tokens walked past, with no row
            at = drew.drawn.lo
        share = {"w": scene.word(token), "m": round(p, 6)}
        shares.append(share | {"hit": True} if hit else share)
        at += p
    if 1 - at > NOTHING:
        shares.append(others(1 - at))
    text = interval(drew.drawn.u, drew.drawn.lo, drew.drawn.hi).text
    return {"shares": folded(shares), "u": round(drew.drawn.u, 6), "text": dict(text)}


def awaited(scene: Scene, judged: Judged) -> dict[str, Any]:
    """The strip at the rejection, before the draw: the same law, no coin, no token singled out."""
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
    return {"shares": folded([*shares, others(rest)] if rest > NOTHING else shares)}


def others(mass: float) -> Share:
    """A share that several tokens without a row hold together."""
    return {"rest": True, "m": round(mass, 6)}


def folded(shares: list[Share]) -> list[Share]:
    """Shares too narrow to be seen are joined with their neighbours of the same kind."""
    joined: list[Share] = []
    for share in shares:
        narrow = share["m"] < NARROW and not share.get("hit")
        new = others(share["m"]) if narrow else share
        if new.get("rest") and joined and joined[-1].get("rest"):
            joined[-1] = others(joined[-1]["m"] + new["m"])
        else:
            joined.append(new)
    return joined
