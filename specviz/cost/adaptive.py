"""Adaptive verification: which draft tokens to verify if many requests share a target pass.

A *slot* is one position in a request's draft. Its *survival* is the probability that its token is
accepted: the product of the acceptance probabilities up to it, so it decreases along a draft. A
pass that verifies n slots adds, on average, one token per request plus the sum of the survivals,
and its duration grows with n. The best n slots are therefore those with the highest survival, and
the best n gives the most tokens per second. vLLM's adaptive verification and DSpark choose in this
way, from estimates; here the survivals are known. All of it is simulated, from measured acceptance.

Here the survivals do not depend on the drafted tokens. If they did, n would depend on the same
tokens that it decides about, and the run would be lossy: see `published_rules.drafts`. To avoid
this, DSpark stops at the first slot that does not increase the speed, and vLLM computes n from
earlier estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Final

from specviz.cost.formula import check_not_negative, check_positive, check_probability
from specviz.shipped import measured

PassSeconds = Callable[[int, int], float]  # arguments: numbers of requests and of all their tokens
FEWEST_JUDGED: Final = 8  # minimum number of verdicts to use the acceptance at a position
# Drafters that propose chains by default; in a tree, a position has several tokens.
CHAINS: Final = ("dspark", "dflash", "mtp", "draft-model", "layerskip", "blockwise")


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """Requests with the same acceptance."""

    name: str
    requests: int
    acceptance: Sequence[float]

    def __post_init__(self) -> None:
        check_not_negative("The number of requests", self.requests)
        for chance in self.acceptance:
            check_probability("An acceptance", chance)

    @property
    def survival(self) -> list[float]:
        """For each position, the probability that its token is accepted."""
        return list(accumulate(self.acceptance, mul))


@dataclass(frozen=True, slots=True)
class Slot:
    """The same position in the drafts of all requests of a group."""

    group: int
    place: int
    survival: float
    requests: int


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Which slots a pass verifies, and the expected result.

    Attributes:
        checked: For each group and position, in how many requests the position is verified.
        tokens: Expected tokens from the pass, including one per request.
    """

    checked: tuple[tuple[int, ...], ...]
    slots: int
    tokens: float
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Expected tokens per second, of all requests together."""
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class Load:
    """Requests that are decoded together.

    Attributes:
        groups: The requests. A draft has as many positions as its group has acceptance
            probabilities.
        pass_seconds: Returns the seconds of a target pass, given the numbers of requests and
            tokens.
        drafting: Seconds for drafting all positions; plain decoding drafts nothing.
    """

    groups: tuple[RequestGroup, ...]
    pass_seconds: PassSeconds
    drafting: float

    def __post_init__(self) -> None:
        check_positive("The number of requests", self.requests)
        check_not_negative("The time of drafting", self.drafting)

    @property
    def requests(self) -> int:
        """Number of requests."""
        return sum(group.requests for group in self.groups)

    def slots(self) -> list[Slot]:
        """All slots in descending order of survival; of equal ones, earlier positions first."""
        found = [
            Slot(number, place, survival, group.requests)
            for number, group in enumerate(self.groups)
            for place, survival in enumerate(group.survival)
            if group.requests
        ]
        return sorted(found, key=lambda slot: (-slot.survival, slot.place))

    def plain(self) -> CheckPlan:
        """Return the plan for plain decoding."""
        return self._plan(0, {}, 0.0)

    def static(self, gamma: int) -> CheckPlan:
        """Return the plan that verifies the first γ positions of every request."""
        chosen = {
            (slot.group, slot.place): slot.requests for slot in self.slots() if slot.place < gamma
        }
        return self._plan(sum(chosen.values()), chosen, self.drafting)

    def budget(self, slots: int) -> CheckPlan:
        """Return the plan that verifies as many slots as given, choosing the highest survival."""
        chosen: dict[tuple[int, int], int] = {}
        left = slots
        for slot in self.slots():
            chosen[slot.group, slot.place] = min(left, slot.requests)
            left -= chosen[slot.group, slot.place]
        return self._plan(slots - left, chosen, self.drafting)

    def best(self) -> CheckPlan:
        """Return the fastest plan: plain decoding, or the best number of slots."""
        most = sum(slot.requests for slot in self.slots())
        gains, tokens = [0.0], float(self.requests)
        for slot in self.slots():
            gains += [slot.survival] * slot.requests
        speeds = []
        for slots, gain in zip(range(most + 1), gains, strict=True):
            tokens += gain
            seconds = self.drafting + self.pass_seconds(self.requests, self.requests + slots)
            speeds.append(tokens / seconds)
        found = self.budget(max(range(most + 1), key=speeds.__getitem__))
        return max(self.plain(), found, key=lambda plan: plan.tokens_per_second)

    def best_static(self) -> tuple[int, CheckPlan]:
        """Return the fastest plan with the same γ for all requests, and that γ (0: no draft)."""
        longest = max(len(group.acceptance) for group in self.groups)
        plans = [self.plain(), *(self.static(gamma) for gamma in range(1, longest + 1))]
        best = max(range(longest + 1), key=lambda gamma: plans[gamma].tokens_per_second)
        return best, plans[best]

    def _plan(
        self, slots: int, chosen: Mapping[tuple[int, int], int], drafting: float
    ) -> CheckPlan:
        checked = tuple(
            tuple(chosen.get((number, place), 0) for place in range(len(group.acceptance)))
            for number, group in enumerate(self.groups)
        )
        tokens = self.requests + sum(
            count * survival
            for group, counts in zip(self.groups, checked, strict=True)
            for count, survival in zip(counts, group.survival, strict=True)
        )
        seconds = drafting + self.pass_seconds(self.requests, self.requests + slots)
        return CheckPlan(checked, slots, tokens, seconds)


@dataclass(frozen=True, slots=True)
class MeasuredDrafter:
    """A drafter's acceptance by domain, and its time per round in plain passes, with House."""

    name: str
    domains: Mapping[str, Sequence[float]]
    drafting: float


def measured_drafters(temperature: float) -> dict[str, MeasuredDrafter]:
    """Return the drafters that were measured with chains at this temperature, by name."""
    rows = [
        row
        for row in (measured() or {"rows": []})["rows"]
        if row["temperature"] == temperature and row["name"] in CHAINS and row["kept_by_depth"]
    ]
    found = {}
    for name in CHAINS:
        own = [row for row in rows if row["name"] == name]
        if own:
            drafting = sum(row["round_draft_cost"] for row in own) / len(own)
            found[name] = MeasuredDrafter(
                name, {row["domain"]: _well_known(row) for row in own}, drafting
            )
    return found


def _well_known(row: Mapping[str, Sequence[float | None]]) -> list[float]:
    # Up to the first position with too few verdicts.
    found = []
    for kept, judged in zip(row["kept_by_depth"], row["judged_by_depth"], strict=True):
        if kept is None or judged is None or judged < FEWEST_JUDGED:
            break
        found.append(kept)
    return found


def deal(requests: int, domains: Mapping[str, Sequence[float]]) -> tuple[RequestGroup, ...]:
    """Distribute requests among domains as evenly as possible."""
    return tuple(
        RequestGroup(name, requests // len(domains) + (at < requests % len(domains)), acceptance)
        for at, (name, acceptance) in enumerate(domains.items())
    )
