"""One prompt, many times, with and without speculation: do the first tokens follow one law?

A generator that can be left at any time: each step is one run of either kind, and what it yields
holds for all so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import pi, sqrt
from typing import Final

from specviz.engine.loop import Decoding, plain
from specviz.engine.protocol import Drafter
from specviz.engine.round import Stop, never
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.verification.exact.statistics import GTest, g_test_of_two

TOKENS: Final = 3  # looked at together: a fault that leaves the first as it is shows in the next
Text = tuple[int, ...]


@dataclass(frozen=True)
class Tally:
    """How often each beginning came. done: runs of either kind so far; of: how many there will be.

    speculative, plain: counts by the first tokens; a text that ended before them is shorter.
    """

    done: int
    of: int
    speculative: Mapping[Text, int]
    plain: Mapping[Text, int]

    @cached_property
    def test(self) -> GTest:
        """Whether both are of one law. Look once, at the end: many looks find something."""
        return g_test_of_two(self.speculative, self.plain)

    @property
    def tv(self) -> float:
        """The distance between the two samples."""
        both = self.speculative.keys() | self.plain.keys()
        pairs = ((self.speculative.get(t, 0), self.plain.get(t, 0)) for t in both)
        return sum(abs(a - b) for a, b in pairs) / (2 * max(self.done, 1))

    @property
    def noise(self) -> float:
        """What two samples of one law would show, about: ½ Σ √(4 p (1 − p) / (π N))."""
        many = max(self.done, 1)
        both = self.speculative.keys() | self.plain.keys()
        shares = [(self.speculative.get(t, 0) + self.plain.get(t, 0)) / (2 * many) for t in both]
        return sum(sqrt(4 * p * (1 - p) / (pi * many)) for p in shares) / 2


def repeat(
    target: Target,
    drafter: Drafter,
    ids: Sequence[int],
    settings: Settings,
    times: int,
    stop: Stop = never,
) -> Iterator[Tally]:
    """A tally after every pair of runs, each pair with a seed of its own, from the settings' on.

    ids: the prompt's tokens. stop: asked before every pair. Raises what `Decoding` raises.
    """
    ours: Counter[Text] = Counter()
    theirs: Counter[Text] = Counter()
    for number in range(times):
        if stop():
            return
        chosen = replace(settings, seed=_seed(settings.seed, number))
        ours[first_tokens(target, drafter, ids, chosen)] += 1
        steps = islice(plain(target, ids, chosen), min(TOKENS, chosen.max_new_tokens))
        theirs[tuple(step.token for step in steps)] += 1
        yield Tally(number + 1, times, dict(ours), dict(theirs))


def first_tokens(target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings) -> Text:
    """The first tokens of one speculative run, cut where its last round goes on."""
    found: list[int] = []
    for played in Decoding(target, drafter, ids, settings).rounds():
        found += played.tokens
        if len(found) >= TOKENS:
            break
    return tuple(found[:TOKENS])


def _seed(first: int, number: int) -> int:
    """The seeds after the first; at the end of 64 bits they begin again."""
    return (first + number + 2**63) % 2**64 - 2**63
