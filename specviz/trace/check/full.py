"""That a drafter which can always guess did so: as deep and as wide as its settings say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.settings.settings import Settings
from specviz.trace.check.alpha import children
from specviz.trace.check.expectations import TOLERANCE, expect
from specviz.trace.events import Guess, Proposed


@dataclass(frozen=True, slots=True)
class DraftLimits:
    """What a draft has room for. text: before it. depth: how deep it may be. eos: end the text."""

    text: Sequence[int]
    depth: int
    eos: frozenset[int]


def check_complete(
    proposed: Proposed, family: str, settings: Settings, room: DraftLimits, where: str
) -> None:
    """Under every node that may go on there are as many guesses as the settings give it.

    Fewer only where q has no more tokens. A draft model with another vocabulary has a remark and
    may run out of tokens; it is left out.
    """
    if family == "draft-model" and proposed.remark:
        return
    guesses = proposed.guesses
    depths = [0, *proposed.depths]
    for node in range(len(guesses) + 1):
        under = children(guesses, node)
        wanted = expected_siblings(guesses, node, depths[node], family, settings)
        if depths[node] >= room.depth or is_leaf(guesses, node, settings, room.eos):
            wanted = 0
        exhausted = bool(under) and exhausts_q(guesses, under)
        fits = len(under) == wanted or (0 < len(under) < wanted and exhausted)
        problem = f"{len(under)} guesses under node {node}, but {wanted} follow from the settings"
        expect(fits, where, problem)


def expected_siblings(
    guesses: Sequence[Guess], node: int, depth: int, family: str, settings: Settings
) -> int:
    """How many guesses a family puts under a node."""
    if family == "mtp":
        return 1
    full = settings.width(depth)
    return full if family != "eagle" else max(0, full - sum(ranks(guesses, node)))


def ranks(guesses: Sequence[Guess], node: int) -> list[int]:
    """A node's place among its siblings, from 0, and that of every node above it."""
    found = []
    while node:
        parent = guesses[node - 1].parent
        found.append(children(guesses, parent).index(node))
        node = parent
    return found


def is_leaf(guesses: Sequence[Guess], node: int, settings: Settings, eos: frozenset[int]) -> bool:
    """Whether nothing follows a guess: it ends the text, or its score is too low to go on."""
    if not node:
        return False
    guess = guesses[node - 1]
    return guess.token in eos or (guess.score is not None and guess.score < settings.confidence)


def exhausts_q(guesses: Sequence[Guess], under: Sequence[int]) -> bool:
    """Whether the last of these siblings had all of q that was left, to be drawn without it."""
    q = guesses[under[-1] - 1].q
    return q is not None and q >= 1.0 - TOLERANCE
