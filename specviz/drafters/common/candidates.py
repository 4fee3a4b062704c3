"""Candidate tokens under the nodes of a level, chosen or sampled on the device.

Siblings are sampled one after another without replacement. A sampled token is removed from its
distribution on the device, so the host need not wait after each draw; it reads the draws of one or
many levels later, in one transfer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from math import inf
from typing import Protocol

import torch
from torch import Tensor

from specviz.verification.distributions import (
    TOP_SIZES,
    Draw,
    WalkEnd,
    check_finite,
    draw,
    remove_token,
    top_tokens,
    walk_to,
)
from specviz.verification.transfer import UploadBatch, to_device, to_host


class Coins:
    """The random numbers u for sampling from several distributions, at least once from each.

    Args:
        rows: For each distribution, one u per draw.
        uploads: The batch that uploads them to the device; None to upload them at each use.

    Attributes:
        order: Indices of the distributions, most draws first. The distributions with at least k
            draws are then the first ones in this order.
    """

    def __init__(self, rows: Sequence[Sequence[float]], uploads: UploadBatch | None = None) -> None:
        self.rows = rows
        self.order = sorted(range(len(rows)), key=lambda row: -len(rows[row]))
        self._uploaded = None if uploads is None else uploads.put(self._flat())

    @property
    def counts(self) -> list[int]:
        """For each rank (first draw, second, …), the number of distributions with such a draw."""
        most = max(map(len, self.rows))
        return [sum(len(row) > rank for row in self.rows) for rank in range(most)]

    def by_rank(self, device: torch.device) -> Sequence[float | Tensor]:
        """The u of each rank in `order`, (m, 1) float64 on the device; or one float."""
        if self._uploaded is None and len(self.rows) == 1:
            return self.rows[0]
        flat = to_device(self._flat(), device) if self._uploaded is None else self._uploaded()
        return list(flat.split(self.counts))

    def _flat(self) -> Tensor:
        # Rank by rank, on the host: (draws, 1).
        ranks = enumerate(self.counts)
        flat = [self.rows[at][rank] for rank, size in ranks for at in self.order[:size]]
        return torch.tensor(flat, dtype=torch.float64)[:, None]


@dataclass(frozen=True, slots=True)
class _Rank:
    # The draws of one rank from distributions (m, V), with the tokens' probabilities (m, 1).
    distributions: Tensor
    walked: WalkEnd
    probs: Tensor


def _draw_ranks(distributions: Tensor, probs: Tensor, coins: Coins) -> list[_Rank]:
    # A draw is searched among the top tokens only: among more of them on CUDA, where a repeated
    # search makes the host wait. Distributions and probs, (n, V), are in the order of `coins`.
    size = TOP_SIZES[1] if distributions.device.type == "cuda" else TOP_SIZES[0]
    values, ids = top_tokens(distributions, size)
    found: list[_Rank] = []
    for us, rows in zip(coins.by_rank(values.device), coins.counts, strict=True):
        if found:
            before = found[-1].walked
            token, place = before.token[:rows].to(distributions.device), before.rank[:rows]
            rest = distributions[:rows].scatter(-1, token, 0.0)
            total = rest.sum(-1, keepdim=True)
            distributions = torch.where(total > 0, rest / total, distributions[:rows])
            values = values[:rows].scatter(-1, place, 0.0) / total.to(values.device)
        walked = walk_to(values, ids[:rows], us)
        reported = probs[:rows].gather(-1, walked.token.to(distributions.device))
        found.append(_Rank(distributions, walked, reported))
    return found


@dataclass(frozen=True, slots=True)
class CandidateValues:
    """Candidates on the host, by parent node.

    Attributes:
        probs: Their probabilities at temperature 1.
        draws: How each was drawn; empty if nothing was sampled.
        confirmed: Whether the tokens equal `Candidates.token_ids`.
    """

    tokens: Sequence[list[int]]
    probs: Sequence[Sequence[float]]
    draws: Sequence[Sequence[Draw]] = ()
    confirmed: bool = True


class Candidates(Protocol):
    """Candidates under each node of a level, on the device."""

    @property
    def distributions(self) -> Sequence[Tensor] | Tensor:
        """For each node, the distribution (V,) that was sampled from; empty if none was."""
        ...

    @property
    def token_ids(self) -> Tensor:
        """The tokens (guesses,), node by node; wrong where `resolve` corrects them."""
        ...

    @property
    def pending(self) -> list[Tensor]:
        """The tensors whose values `resolve` needs."""
        ...

    def repeated(self, coins: Coins | None) -> Candidates:
        """Return them after a replay of their recording, with the random numbers of this round."""
        ...

    def resolve(self, pending: Sequence[Tensor], name: str) -> CandidateValues:
        """Return the candidates from the values of `pending`.

        pending: the tensors of `pending`, on the host. Raises BadScores if the logits are not
        finite.
        """
        ...


class TopCandidates:
    """The most probable tokens of logits (n, V), a point mass; none of probability 0."""

    distributions: Sequence[Tensor] | Tensor = ()

    def __init__(self, logits: Tensor, widths: Sequence[int]) -> None:
        self.widths = widths
        self.values, self.ids = logits.topk(min(max(widths), logits.shape[-1]))
        self.probs = logits.float().softmax(-1).gather(-1, self.ids)

    @property
    def token_ids(self) -> Tensor:
        """Implement `Candidates.token_ids`."""
        return torch.cat([row[:width] for row, width in zip(self.ids, self.widths, strict=True)])

    @property
    def pending(self) -> list[Tensor]:
        """Implement `Candidates.pending`."""
        return [self.values, self.ids, self.probs]

    def repeated(self, coins: Coins | None) -> TopCandidates:
        """Implement `Candidates.repeated`."""
        return self

    def resolve(self, pending: Sequence[Tensor], name: str) -> CandidateValues:
        """Implement `Candidates.resolve`."""
        values, ids, probs = (each.tolist() for each in pending)
        check_finite([row[0] for row in values], name)
        possible = [sum(value > -inf for value in row) for row in values]
        sizes = list(map(min, possible, self.widths))
        tokens = [row[:size] for row, size in zip(ids, sizes, strict=True)]
        reported = [row[:size] for row, size in zip(probs, sizes, strict=True)]
        return CandidateValues(tokens, reported, confirmed=sizes == list(self.widths))


@dataclass(frozen=True, slots=True)
class SampledCandidates:
    """Tokens sampled on the device, siblings without replacement.

    There is one draw per u. A draw never repeats an earlier one from the same distribution, unless
    there are more draws than possible tokens. probs: probabilities to report for the drawn tokens,
    (n, V).
    """

    distributions: Tensor
    coins: Coins
    probs: Tensor
    ranks: Sequence[_Rank]

    @classmethod
    def draw(cls, distributions: Tensor, coins: Coins, probs: Tensor) -> SampledCandidates:
        """Sample from distributions (n, V)."""
        ordered = [distributions, probs]
        if coins.order != sorted(coins.order):
            ordered = [torch.stack([each[at] for at in coins.order]) for each in ordered]
        return cls(distributions, coins, probs, _draw_ranks(ordered[0], ordered[1], coins))

    @property
    def token_ids(self) -> Tensor:
        """Implement `Candidates.token_ids`; wrong after a draw whose search failed."""
        positions = {row: at for at, row in enumerate(self.coins.order)}
        return torch.stack(
            [
                self.ranks[rank].walked.token[positions[row], 0]
                for row, coins in enumerate(self.coins.rows)
                for rank in range(len(coins))
            ]
        )

    @property
    def pending(self) -> list[Tensor]:
        """Implement `Candidates.pending`."""
        return [each for rank in self.ranks for each in (*rank.walked[:3], rank.probs)]

    def repeated(self, coins: Coins | None) -> SampledCandidates:
        """Implement `Candidates.repeated`; copies the distributions, which outlive the round."""
        # The other tensors are needed until the draft is complete.
        assert coins is not None
        return replace(self, distributions=self.distributions.clone(), coins=coins)

    def resolve(self, pending: Sequence[Tensor], name: str) -> CandidateValues:
        """Implement `Candidates.resolve`."""
        # If a distribution has fewer possible tokens than draws, all sampling is repeated with
        # fewer draws.
        found = self.read(pending)
        check_finite([each for of_node in found.probs for each in of_node], name)
        if not all(map(_are_distinct, found.tokens)):
            sizes = limit_widths(self.distributions, [len(of_node) for of_node in found.draws])
            numbers = chain.from_iterable(self.coins.rows)
            coins = [list(islice(numbers, size)) for size in sizes]
            again = distinct_draws(self.distributions, coins, self.probs)
            return replace(again, confirmed=found.confirmed)
        return found

    def read(self, pending: Sequence[Tensor]) -> CandidateValues:
        """Return the draws, given the values of `pending`; failed searches are repeated."""
        values = iter(each.flatten().tolist() for each in pending)
        rows = [list(zip(*four, strict=True)) for four in zip(*[values] * 4, strict=True)]
        draws: list[list[Draw]] = [[] for _ in self.coins.rows]
        probs: list[list[float]] = [[] for _ in self.coins.rows]
        confirmed = True
        for at, row in enumerate(self.coins.order):
            own = [of_rank[at] for of_rank in rows if len(of_rank) > at]
            draws[row], probs[row], found = self._read_row(row, own, at)
            confirmed &= found and _are_distinct([draw.token for draw in draws[row]])
        tokens = [[draw.token for draw in own] for own in draws]
        return CandidateValues(tokens, probs, draws, confirmed)

    def _read_row(
        self, row: int, values: Sequence[Sequence[float]], at: int
    ) -> tuple[list[Draw], list[float], bool]:
        # values: what was read from the device, for each rank; at: index in `Coins.order`. Also
        # returns whether no search failed.
        draws, probs, coins = list[Draw](), list[float](), self.coins.rows[row]
        for rank, (u, (token, lo, hi, prob)) in enumerate(zip(coins, values, strict=True)):
            if not lo <= u < hi:
                draws += _draw_one_by_one(self.ranks[rank].distributions[at], coins[rank:])
                probs += [self.probs[row, draw.token].item() for draw in draws[rank:]]
                return draws, probs, False
            draws.append(Draw(int(token), u, lo, hi))
            probs.append(prob)
        return draws, probs, True


def _are_distinct(tokens: Sequence[int]) -> bool:
    return len(set(tokens)) == len(tokens)


def distinct_draws(
    distributions: Tensor, coins: Sequence[Sequence[float]], probs: Tensor
) -> CandidateValues:
    """Sample siblings and copy the draws to the host at once; see `SampledCandidates`."""
    draws = SampledCandidates.draw(distributions, Coins(coins), probs)
    return draws.read(to_host(*draws.pending))


def _draw_one_by_one(distribution: Tensor, coins: Sequence[float]) -> list[Draw]:
    found: list[Draw] = []
    for u in coins:
        found.append(draw(distribution, u))
        distribution = remove_token(distribution, found[-1].token)
    return found


def coins_by_node(counts: Sequence[int], uniform: Callable[[int], float]) -> list[list[float]]:
    """Return the u of guesses numbered from 0, `counts` of them per node."""
    numbers = count()
    return [[uniform(next(numbers)) for _ in range(width)] for width in counts]


def limit_widths(distributions: Tensor, widths: Sequence[int]) -> list[int]:
    """Limit the draws from each row (n, V) to its possible tokens, at least to 1."""
    left = (distributions > 0).sum(-1).tolist()
    return [min(width, max(1, possible)) for width, possible in zip(widths, left, strict=True)]
