"""Run one prompt many times with and without speculation, and compare the first tokens.

Each step of the generator adds one run of each kind and yields the counts of all runs so far, so it
can be stopped after any step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import pi, sqrt
from typing import Final

from specviz.engine.loop import Decoding, Stop, never, plain
from specviz.engine.protocol import Drafter
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.verification.exact.monte_carlo import GTest, g_test_of_two

TOKENS: Final = 3  # compared together: a bug may affect later tokens only
Text = tuple[int, ...]


@dataclass(frozen=True)
class Tally:
    """How often each sequence of first tokens occurred.

    Attributes:
        done: Number of runs of each kind so far.
        of: Number of runs of each kind in all.
        speculative: Counts with speculation, by first tokens. A text that ended early has fewer.
        plain: Counts with plain decoding.
    """

    done: int
    of: int
    speculative: Mapping[Text, int]
    plain: Mapping[Text, int]

    @cached_property
    def test(self) -> GTest:
        """Test whether both samples come from one distribution.

        Test once, after the last run: repeated tests produce small p-values by chance.
        """
        return g_test_of_two(self.speculative, self.plain)

    @property
    def tv(self) -> float:
        """Return the total variation distance between the two samples."""
        both = self.speculative.keys() | self.plain.keys()
        pairs = ((self.speculative.get(t, 0), self.plain.get(t, 0)) for t in both)
        return sum(abs(a - b) for a, b in pairs) / (2 * max(self.done, 1))

    @property
    def noise(self) -> float:
        """Return the distance to expect between two samples of one distribution.

        It is approximately ½ Σ √(4 p (1 − p) / (π N)) for N runs of each kind.
        """
        runs = max(self.done, 1)
        both = self.speculative.keys() | self.plain.keys()
        shares = [(self.speculative.get(t, 0) + self.plain.get(t, 0)) / (2 * runs) for t in both]
        return sum(sqrt(4 * p * (1 - p) / (pi * runs)) for p in shares) / 2


def repeat(
    target: Target,
    drafter: Drafter,
    ids: Sequence[int],
    settings: Settings,
    times: int,
    stop: Stop = never,
) -> Iterator[Tally]:
    """Yield a tally after every pair of runs; each pair uses another seed.

    Args:
        target: The target model.
        drafter: A drafter that fits it.
        ids: Token ids of the prompt.
        settings: The settings; the first pair uses their seed.
        times: Number of pairs to run.
        stop: Called before every pair; True ends the comparison.

    Raises:
        ValueError: See `Decoding`.
    """
    speculative: Counter[Text] = Counter()
    baseline: Counter[Text] = Counter()
    for number in range(times):
        if stop():
            return
        chosen = replace(settings, seed=_seed(settings.seed, number))
        speculative[first_tokens(target, drafter, ids, chosen)] += 1
        steps = islice(plain(target, ids, chosen), min(TOKENS, chosen.max_new_tokens))
        baseline[tuple(step.token for step in steps)] += 1
        yield Tally(number + 1, times, dict(speculative), dict(baseline))


def first_tokens(target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings) -> Text:
    """Return the first TOKENS tokens of one speculative run."""
    found: list[int] = []
    for result in Decoding(target, drafter, ids, settings).rounds():
        found += result.tokens
        if len(found) >= TOKENS:
            break
    return tuple(found[:TOKENS])


def _seed(first: int, number: int) -> int:
    """Return the seed of a pair; seeds wrap around at 64 bits."""
    return (first + number + 2**63) % 2**64 - 2**63
