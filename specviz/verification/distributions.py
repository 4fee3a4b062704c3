"""From logits to laws, and what speculative sampling does with two of them.

One rule: a law is what a token is really drawn from, after temperature, top-k and top-p. Laws are
float64 where the device has it, since rounding in low precision passes for loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from specviz.settings.settings import Sampling
from specviz.verification.crossing import read

HEADS = (64, 1024)  # a draw looks at so many top tokens before it sorts the whole vocabulary


class BadScores(ValueError):
    """A model gave scores that are no distribution."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A drawn token, with the interval [lo, hi) of the walk that u fell into."""

    token: int
    u: float
    lo: float
    hi: float


def exact_dtype(device: torch.device) -> torch.dtype:
    """float64, or float32 on MPS, which has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def check_scores(logits: Tensor, who: str) -> None:
    """Raise BadScores unless every row of `logits` (..., V) can become a law.

    Minus infinity forbids a token; NaN, plus infinity and a row that forbids all are faults.
    """
    tops = logits.amax(dim=-1).reshape(-1).tolist()  # NaN travels through amax
    if all(map(isfinite, tops)):
        return
    row = next(i for i, top in enumerate(tops) if not isfinite(top))
    raise BadScores(
        f"{who} gave scores that are not numbers (NaN or infinity, in row {row}), so no token can "
        "be drawn. Half precision on a model made for another is the usual cause: try float32."
    )


def law(logits: Tensor, sampling: Sampling) -> Tensor:
    """Logits (..., V) as the law that tokens are drawn from (..., V).

    Temperature, then top-k, then top-p, as transformers orders and cuts them (ties at the k-th
    value are all kept; the top token always stays). Temperature 0 is one-hot at the top token.
    """
    if sampling.greedy:
        top = logits.argmax(dim=-1, keepdim=True)
        zeros = torch.zeros(logits.shape, dtype=exact_dtype(logits.device), device=logits.device)
        return zeros.scatter_(-1, top, 1.0)
    scores = logits.to(exact_dtype(logits.device)) / sampling.temperature
    if 0 < sampling.top_k < scores.shape[-1]:
        least = scores.topk(sampling.top_k, dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if sampling.top_p < 1.0:
        rising, order = scores.sort(dim=-1)
        below = rising.softmax(dim=-1).cumsum(dim=-1) <= 1.0 - sampling.top_p
        below[..., -1] = False
        scores = scores.masked_fill(below.scatter(-1, order, below), -torch.inf)
    return scores.softmax(dim=-1)


def overlap(p: Tensor, q: Tensor) -> Tensor:
    """Σ min(p, q) over the last axis: the chance α that a token drawn from q is kept."""
    return torch.minimum(p, q).sum(dim=-1)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """½ Σ |p − q| over the last axis; 1 − overlap."""
    return (p - q).abs().sum(dim=-1) / 2


def residual(p: Tensor, q: Tensor) -> Tensor:
    """(p − q)₊ scaled to 1, (V,): what p still has to give once q's part is covered.

    Where nothing is left (p = q, where a rejection has probability zero) it is p itself.
    """
    return scaled(torch.clamp(p - q, min=0.0), p)


def without(law: Tensor, token: int) -> Tensor:
    """`law` (V,) with `token` taken out, scaled to 1; `law` itself where nothing would be left."""
    rest = law.clone()
    rest[token] = 0.0
    return scaled(rest, law)


def scaled(weights: Tensor, otherwise: Tensor) -> Tensor:
    """Weights (V,) as a law; `otherwise` where they are all zero."""
    total = weights.sum()
    return torch.where(total > 0, weights / total, otherwise)


def draw(law: Tensor, u: float) -> Draw:
    """Draw from `law` (V,) with u in [0, 1): walk tokens by falling probability, ties by id.

    The order makes a draw readable: a person with the top rows can redo it. Tokens of probability
    zero are never drawn, whatever rounding leaves of the total.
    """
    for many in HEADS:
        if many < law.shape[-1] and (found := _walk(*_in_order(*read(*law.topk(many))), u)):
            return found
    values, ids = law.sort(descending=True, stable=True)
    likely = int((values > 0).sum())
    return _walk(values[:likely], ids, u) or _last(values[:likely], ids, u)


def draw_each(laws: Sequence[Tensor], coins: Sequence[float]) -> list[Draw]:
    """`draw` from each of some laws (V,) with its own u; the likeliest tokens are read at once."""
    pairs, many = list(zip(laws, coins, strict=True)), HEADS[0]
    if len(pairs) == 1 or laws[0].shape[-1] <= many:
        return [draw(law, u) for law, u in pairs]
    heads = zip(*read(*torch.stack(list(laws)).topk(many)), strict=True)
    found = [_walk(*_in_order(*head), u) for head, u in zip(heads, coins, strict=True)]
    return [one or draw(*pair) for one, pair in zip(found, pairs, strict=True)]


def _in_order(values: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The likeliest probabilities and their tokens, as a draw walks them: fewer than are given.

    Tokens as likely as the last of them are left out: one that did not fit may come before them.
    """
    several = values > values[-1]
    ids, by_id = ids[several].sort()
    values, falling = values[several][by_id].sort(descending=True, stable=True)
    return values, ids[falling]


def _walk(values: Tensor, ids: Tensor, u: float) -> Draw | None:
    """The first token whose running total passes u. values: falling, and their tokens."""
    totals = values.cpu().double().cumsum(-1)
    place = int(torch.searchsorted(totals, u, right=True))
    if place == len(totals):
        return None
    lo = totals[place - 1].item() if place else 0.0
    return Draw(int(ids[place]), u, lo, totals[place].item())


def _last(values: Tensor, ids: Tensor, u: float) -> Draw:
    """The last possible token, for a u between the rounded total and 1."""
    before = values[:-1].cpu().double().cumsum(-1)
    return Draw(int(ids[len(before)]), u, before[-1].item() if len(before) else 0.0, 1.0)
