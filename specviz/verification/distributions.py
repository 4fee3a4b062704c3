"""From logits to laws, and what speculative sampling does with two of them.

One rule: a law is what a token is really drawn from, after temperature, top-k and top-p. Laws are
float64 where the device has it, since rounding in low precision passes for loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, NamedTuple

import torch
from torch import Tensor

from specviz.settings.settings import Sampling
from specviz.verification.transfer import to_device, to_host, to_host_async

TOP_SIZES: Final = (64, 1024)  # a draw looks at so many top tokens before it sorts all of them


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


def deferred_nan_check(logits: Tensor, who: str) -> Callable[[], None]:
    """What raises BadScores unless every row of `logits` (..., V) can become a law.

    Minus infinity forbids a token; NaN, plus infinity and a row that forbids all are faults. To be
    called once anything else was read: then nobody waits for it.
    """
    tops = to_host_async(logits.amax(dim=-1).reshape(-1))  # NaN travels through amax
    return lambda: check_finite(tops.tolist(), who)


def check_finite(tops: Sequence[float], who: str) -> None:
    """Raise BadScores unless the top of every row is a number: its score, or what came of it."""
    if all(map(isfinite, tops)):
        return
    row = next(i for i, top in enumerate(tops) if not isfinite(top))
    raise BadScores(
        f"{who} gave scores that are not numbers (NaN or infinity, in row {row}), so no token can "
        "be drawn. Half precision on a model made for another is the usual cause: try float32."
    )


def logits_to_probs(logits: Tensor, sampling: Sampling) -> Tensor:
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
    return normalize(torch.clamp(p - q, min=0.0), p)


def remove_token(law: Tensor, token: int) -> Tensor:
    """`logits_to_probs` (V,) with `token` taken out, scaled to 1; `logits_to_probs` itself where nothing would be left."""
    rest = law.clone()
    rest[token] = 0.0
    return normalize(rest, law)


def normalize(weights: Tensor, otherwise: Tensor) -> Tensor:
    """Weights (V,) as a law; `otherwise` where they are all zero."""
    total = weights.sum()
    return torch.where(total > 0, weights / total, otherwise)


def draw(law: Tensor, u: float) -> Draw:
    """Draw from `logits_to_probs` (V,) with u in [0, 1): walk tokens by falling probability, ties by id.

    The order makes a draw readable: a person with the top rows can redo it. Tokens of probability
    zero are never drawn, whatever rounding leaves of the total.
    """
    return draw_and_read(law, u)[0]


def draw_and_read(law: Tensor, u: float, *others: Tensor) -> tuple[Draw, list[float]]:
    """`draw`, and in the same read the values of other tensors, of one element each."""
    told = [each.item() for each in to_host(*walk_to(*top_tokens(law), u), *others)]
    token, lo, hi, _, *values = told
    return finish_draw(law, u, token, lo, hi), values


def draw_each(laws: Sequence[Tensor], coins: Sequence[float]) -> list[Draw]:
    """`draw` from each of some laws (V,) with its own u; what it takes is read at once."""
    values, ids = top_tokens(torch.stack(list(laws)))
    thrown = to_device(torch.tensor(coins, dtype=torch.float64)[:, None], values.device)
    told = to_host(*walk_to(values, ids, thrown))
    rows = zip(*(each.flatten().tolist() for each in told), strict=True)
    return [finish_draw(law, u, *row) for law, u, row in zip(laws, coins, rows, strict=True)]


class WalkEnd(NamedTuple):
    """Where walks over the likeliest tokens ended, where the laws are: (..., 1) each.

    place: among those tokens. Where u is not in [lo, hi) it lies behind all of them: that draw is
    still to be made.
    """

    token: Tensor
    lo: Tensor
    hi: Tensor
    place: Tensor


def top_tokens(laws: Tensor, many: int = TOP_SIZES[0]) -> tuple[Tensor, Tensor]:
    """The top probabilities of laws (..., V) as a draw walks them, and their tokens: (..., k).

    Those as likely as the last are set to zero: one that did not fit may come before them. They lie
    where the laws do, but on the host where the laws' device has no float64 to add them up in.
    """
    size = laws.shape[-1]
    values, ids = laws.topk(min(many, size), dim=-1)
    if laws.device.type == "mps":
        values, ids = values.cpu(), ids.cpu()
    ids, by_id = ids.sort(dim=-1)
    values, falling = values.gather(-1, by_id).sort(dim=-1, descending=True, stable=True)
    ids = ids.gather(-1, falling)
    return values * (values > values[..., -1:]) if many < size else values, ids


def walk_to(values: Tensor, ids: Tensor, u: float | Tensor) -> WalkEnd:
    """The first token of each row (..., k) whose running total passes its u, (..., 1) or one."""
    totals = values.double().cumsum(-1)
    place = (totals <= u).sum(-1, keepdim=True)
    bounds = torch.nn.functional.pad(totals, (1, 1))
    here = place.clamp(max=ids.shape[-1] - 1)
    lo, hi = bounds.gather(-1, place), bounds.gather(-1, place + 1)
    return WalkEnd(ids.gather(-1, here), lo, hi, here)


def finish_draw(law: Tensor, u: float, token: float, lo: float, hi: float, _: float = 0.0) -> Draw:
    """The draw from `logits_to_probs` (V,) that a walk found; where it found none, the search goes on."""
    return Draw(int(token), u, lo, hi) if lo <= u < hi else _farther(law, u)


def _farther(law: Tensor, u: float) -> Draw:
    """`draw` among more tokens, and at last among all."""
    if law.shape[-1] > TOP_SIZES[0]:
        token, lo, hi, _ = (
            each.item() for each in to_host(*walk_to(*top_tokens(law, TOP_SIZES[1]), u))
        )
        if lo <= u < hi:
            return Draw(int(token), u, lo, hi)
    values, ids = to_host(*law.sort(descending=True, stable=True))
    token, lo, hi, _ = (each.item() for each in walk_to(values, ids, u))
    likely = int((values > 0).sum())
    return Draw(int(token), u, lo, hi) if lo <= u < hi else _last(values[:likely], ids, u)


def _last(values: Tensor, ids: Tensor, u: float) -> Draw:
    """The last possible token, for a u between the rounded total and 1."""
    before = values[:-1].cpu().double().cumsum(-1)
    return Draw(int(ids[len(before)]), u, before[-1].item() if len(before) else 0.0, 1.0)
