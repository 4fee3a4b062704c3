"""Distributions from logits or from numbers that a user typed, and operations on them.

A distribution here is what a token is sampled from, after temperature, top-k and top-p. It is
float64 where the device supports it, so that rounding is not mistaken for a lossy rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, NamedTuple

import torch
from torch import Tensor

from specviz.settings.settings import Sampling
from specviz.verification.transfer import to_device, to_host, to_host_async

TOP_SIZES: Final = (64, 1024)  # how many top tokens a draw searches before it sorts all tokens


class BadScores(ValueError):
    """Raised if a model's logits do not give a distribution."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A sampled token, with the interval [lo, hi) of cumulative probability that contains u."""

    token: int
    u: float
    lo: float
    hi: float


def exact_dtype(device: torch.device) -> torch.dtype:
    """Return float64, or float32 on MPS, which has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def deferred_nan_check(logits: Tensor, who: str) -> Callable[[], None]:
    """Start to check, without waiting, that all rows of `logits` (..., V) give distributions.

    A logit of minus infinity excludes a token. NaN, plus infinity and a row that excludes all
    tokens are errors. Returns a function that raises BadScores if the check failed. Call it after
    another tensor was copied from the device: the result is then available without waiting.
    """
    tops = to_host_async(logits.amax(dim=-1).reshape(-1))  # amax propagates NaN
    return lambda: check_finite(tops.tolist(), who)


def check_finite(tops: Sequence[float], who: str) -> None:
    """Raise BadScores unless every number is finite.

    Args:
        tops: The top logit of each row, or numbers computed from it.
        who: Name of the model in the message.
    """
    if all(map(isfinite, tops)):
        return
    row = next(i for i, top in enumerate(tops) if not isfinite(top))
    raise BadScores(
        f"{who} returned logits that are not numbers (NaN or infinity, in row {row}), so no token "
        "can be sampled. The usual cause is half precision with a model not made for it: try "
        "float32."
    )


def logits_to_probs(logits: Tensor, sampling: Sampling) -> Tensor:
    """Convert logits (..., V) to the distribution (..., V) that tokens are sampled from.

    Applies temperature, top-k and top-p in this order, as transformers does: all tokens tied with
    the k-th are kept, and the top token is always kept. Temperature 0 gives a one-hot vector.
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
    """Return Σ min(p, q) over the last axis: the probability α of accepting a token from q."""
    return torch.minimum(p, q).sum(dim=-1)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Return ½ Σ |p − q| over the last axis, which is 1 − overlap."""
    return (p - q).abs().sum(dim=-1) / 2


def residual(p: Tensor, q: Tensor) -> Tensor:
    """Return (p − q)₊ scaled to sum to 1, (..., V); p itself if nothing is left, as for p = q."""
    return normalize(torch.clamp(p - q, min=0.0), p)


def remove_token(probs: Tensor, token: int | Tensor) -> Tensor:
    """Return `probs` (V,) without `token`, scaled to sum to 1; unchanged if nothing is left.

    From each row of `probs` (n, V), remove the token in the same row of a tensor (n, 1).
    """
    rest = probs.clone()
    if isinstance(token, int):
        rest[token] = 0.0
    else:
        rest.scatter_(-1, token, 0.0)
    return normalize(rest, probs)


def normalize(weights: Tensor, otherwise: Tensor) -> Tensor:
    """Scale weights (..., V) to sum to 1; return `otherwise` if they are all zero."""
    total = weights.sum(-1, keepdim=True)
    return torch.where(total > 0, weights / total, otherwise)


def draw(probs: Tensor, u: float) -> Draw:
    """Sample from `probs` (V,) with u in [0, 1), by cumulative probability over sorted tokens.

    Tokens are sorted by descending probability, ties by id, so a reader who sees the top rows can
    repeat the draw. Tokens of probability zero are never drawn, even if rounding leaves the sum
    below 1.
    """
    return draw_and_read(probs, u)[0]


def draw_and_read(probs: Tensor, u: float, *others: Tensor) -> tuple[Draw, list[float]]:
    """Sample like `draw`; in the same transfer, also copy the numbers `others` to the host."""
    values_read = [each.item() for each in to_host(*walk_to(*top_tokens(probs), u), *others)]
    token, lo, hi, _, *values = values_read
    return finish_draw(probs, u, token, lo, hi), values


def draw_each(distributions: Sequence[Tensor], us: Sequence[float]) -> list[Draw]:
    """Sample from several distributions (V,), each with its own u, in one transfer."""
    values, ids = top_tokens(torch.stack(list(distributions)))
    us_tensor = to_device(torch.tensor(us, dtype=torch.float64)[:, None], values.device)
    ends = to_host(*walk_to(values, ids, us_tensor))
    rows = zip(*(each.flatten().tolist() for each in ends), strict=True)
    draws = zip(distributions, us, rows, strict=True)
    return [finish_draw(probs, u, *row) for probs, u, row in draws]


class WalkEnd(NamedTuple):
    """Results of searches among the top tokens: (..., 1) each, on the distributions' device.

    Attributes:
        lo: The lower end of the token's interval of cumulative probability.
        hi: The upper end. If u is not in [lo, hi), the search ended before it reached u and must be
            continued with more tokens.
        rank: The token's rank among those searched, from 0.
    """

    token: Tensor
    lo: Tensor
    hi: Tensor
    rank: Tensor


def top_tokens(probs: Tensor, count: int = TOP_SIZES[0]) -> tuple[Tensor, Tensor]:
    """Return the top probabilities of (..., V), in the order of `draw`, and their ids: (..., k).

    The probabilities of tokens tied with the last one are set to zero, because a tied token that
    was cut off may have a lower id. The tensors are on the distributions' device, or on the host if
    that device has no float64 for the cumulative sums.
    """
    size = probs.shape[-1]
    values, ids = probs.topk(min(count, size), dim=-1)
    if probs.device.type == "mps":
        values, ids = values.cpu(), ids.cpu()
    ids, by_id = ids.sort(dim=-1)
    values, falling = values.gather(-1, by_id).sort(dim=-1, descending=True, stable=True)
    ids = ids.gather(-1, falling)
    return values * (values > values[..., -1:]) if count < size else values, ids


def walk_to(values: Tensor, ids: Tensor, u: float | Tensor) -> WalkEnd:
    """Return the first token of each row (..., k) whose cumulative probability exceeds its u."""
    totals = values.double().cumsum(-1)
    place = (totals <= u).sum(-1, keepdim=True)
    bounds = torch.nn.functional.pad(totals, (1, 1))
    here = place.clamp(max=ids.shape[-1] - 1)
    lo, hi = bounds.gather(-1, place), bounds.gather(-1, place + 1)
    return WalkEnd(ids.gather(-1, here), lo, hi, here)


def finish_draw(
    probs: Tensor, u: float, token: float, lo: float, hi: float, _: float = 0.0
) -> Draw:
    """Return the draw that a search in `probs` (V,) found; search further if it did not reach u."""
    return Draw(int(token), u, lo, hi) if lo <= u < hi else _farther(probs, u)


def _farther(probs: Tensor, u: float) -> Draw:
    if probs.shape[-1] > TOP_SIZES[0]:
        token, lo, hi, _ = (
            each.item() for each in to_host(*walk_to(*top_tokens(probs, TOP_SIZES[1]), u))
        )
        if lo <= u < hi:
            return Draw(int(token), u, lo, hi)
    values, ids = to_host(*probs.sort(descending=True, stable=True))
    token, lo, hi, _ = (each.item() for each in walk_to(values, ids, u))
    likely = int((values > 0).sum())
    return Draw(int(token), u, lo, hi) if lo <= u < hi else _last(values[:likely], ids, u)


def _last(values: Tensor, ids: Tensor, u: float) -> Draw:
    # The last token with probability above 0, for a u above their rounded sum.
    before = values[:-1].cpu().double().cumsum(-1)
    return Draw(int(ids[len(before)]), u, before[-1].item() if len(before) else 0.0, 1.0)


ROUNDING: Final = 1e-2  # largest rounding error of a sum, as of a softmax in bfloat16


class NotADistribution(ValueError):
    """Raised if the given numbers are not a distribution; the message is shown to the user."""


def as_distribution(values: Sequence[float] | Tensor, who: str = "The distribution") -> Tensor:
    """Convert probabilities to a distribution (V,) in float64 on the host that sums to exactly 1.

    Convert distributions before comparing them: rounding in low precision would look like the error
    of a lossy rule. Raises NotADistribution if there are no numbers, one is negative or not finite,
    or the sum is not near 1.
    """
    probs = torch.as_tensor(values).detach().cpu().to(torch.float64)
    if probs.dim() != 1 or not len(probs):
        raise NotADistribution(
            f"{who} needs one probability for each token, and at least one token."
        )
    if not bool(probs.isfinite().all()) or bool((probs < 0).any()):
        raise NotADistribution(f"{who} must have only probabilities between 0 and 1.")
    total = probs.sum().item()
    if not math.isclose(total, 1.0, abs_tol=ROUNDING):
        raise NotADistribution(f"{who} sums to {total:.4g}, not 1.")
    return probs / total


def normalize_weights(weights: Sequence[float] | Tensor, who: str = "The distribution") -> Tensor:
    """Scale weights, such as heights of bars, to a distribution.

    Raises NotADistribution if the sum is not positive and finite.
    """
    probs = torch.as_tensor(weights).detach().cpu().to(torch.float64)
    total = probs.sum().item()
    if not math.isfinite(total) or total <= 0:
        raise NotADistribution(f"{who} has no weight: at least one bar must be above 0.")
    return as_distribution(probs / total, who)


def as_pair(p: Sequence[float] | Tensor, q: Sequence[float] | Tensor) -> tuple[Tensor, Tensor]:
    """Convert p and q to distributions over the same tokens.

    Raises NotADistribution if one is not a distribution, or their lengths differ.
    """
    target = as_distribution(p, "The target's distribution p")
    draft = as_distribution(q, "The draft's distribution q")
    if len(target) != len(draft):
        raise NotADistribution(f"p has {len(target):,} tokens, but q has {len(draft):,}.")
    return target, draft
