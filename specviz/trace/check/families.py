"""The settings that each drafter family reads, and the checks that follow from them.

Families that are not listed are checked only for what the engine guarantees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specviz.settings.settings import Settings
from specviz.trace.check.expectations import TOLERANCE, expect
from specviz.trace.check.position import children
from specviz.trace.events import Guess, Proposed, Round
from specviz.trace.work import Work

# Families that sample a tree from a model's q, with the settings' number of siblings per depth.
GROWING: Final = frozenset({"draft-model", "pard", "oracle", "layerskip", "eagle", "mtp"})
UNIFORM: Final = "uniform"  # the same from q = 1/V
SAMPLING: Final = GROWING | {UNIFORM}  # sample guesses, unless set to take the top tokens
RANKED: Final = frozenset({"medusa", "mtp-parallel", "lmtp"})  # read siblings or rank paths
# Families that read the settings of budget and fan-out.
DYNAMIC: Final = frozenset({"eagle2", "eagle3", "moa", "jetspec"})
SUFFIX: Final = "suffix"
NGRAM: Final = "ngram"
LOOKAHEAD: Final = "lookahead"  # adds rows to the target's pass
IN_ORDER: Final = frozenset({"dspark", "dflash2"})  # sample the guesses of a block in order
# Families with at most one guess under each node.
CHAINS: Final = frozenset({NGRAM, "mtp", "blockwise", "dflash", "p-eagle"}) | IN_ORDER
WITHOUT_NETWORK: Final = frozenset({NGRAM, SUFFIX, LOOKAHEAD, UNIFORM})  # have no network
WITH_NETWORK: Final = GROWING | RANKED | DYNAMIC | IN_ORDER | {"blockwise", "dflash", "p-eagle"}
SHARING: Final = frozenset({"oracle", "layerskip"})  # their weights are the target's
BUILT_IN: Final = WITHOUT_NETWORK | WITH_NETWORK


@dataclass(frozen=True, slots=True)
class DraftLimits:
    """The limits of a draft. text: the tokens before the draft."""

    text: Sequence[int]
    depth: int
    eos: frozenset[int]


def check_complete(
    proposed: Proposed, family: str, settings: Settings, limits: DraftLimits, where: str
) -> None:
    """Check that every node has as many children as the settings say.

    A node may have fewer only if q has no more tokens, or if it ends its path. A draft model with
    another vocabulary is not checked, since it may run out of tokens; it is recognized by its
    recorded data.
    """
    if family == "draft-model" and proposed.remark:
        return
    guesses = proposed.guesses
    depths = [0, *proposed.depths]
    for node in range(len(guesses) + 1):
        found = children(guesses, node)
        wanted = expected_siblings(guesses, node, depths[node], family, settings)
        if depths[node] >= limits.depth or is_leaf(guesses, node, settings, limits.eos):
            wanted = 0
        exhausted = bool(found) and exhausts_q(guesses, found)
        fits = len(found) == wanted or (0 < len(found) < wanted and exhausted)
        problem = f"{len(found)} guesses come after node {node}, but the settings give {wanted}"
        expect(fits, where, problem)


def expected_siblings(
    guesses: Sequence[Guess], node: int, depth: int, family: str, settings: Settings
) -> int:
    """Return how many guesses a drafter proposes under a node."""
    if family == "mtp":
        return 1
    full = settings.width(depth)
    return full if family != "eagle" else max(0, full - sum(ranks(guesses, node)))


def ranks(guesses: Sequence[Guess], node: int) -> list[int]:
    """Return the rank among siblings, from 0, of a node and of each of its ancestors."""
    found = []
    while node:
        parent = guesses[node - 1].parent
        found.append(children(guesses, parent).index(node))
        node = parent
    return found


def is_leaf(guesses: Sequence[Guess], node: int, settings: Settings, eos: frozenset[int]) -> bool:
    """Return whether a guess ends its path: it ends the text, or its score is too low."""
    if not node:
        return False
    guess = guesses[node - 1]
    return guess.token in eos or (guess.score is not None and guess.score < settings.confidence)


def exhausts_q(guesses: Sequence[Guess], siblings: Sequence[int]) -> bool:
    """Return whether the last of these siblings had all the remaining mass of q."""
    q = guesses[siblings[-1] - 1].q
    return q is not None and q >= 1.0 - TOLERANCE


MOST_EXTRA_ROWS: Final = 4096  # maximum rows in one pass, in addition to the text and its guesses


def check_counts(played: Round, family: str, length: int, where: str) -> None:
    """Check the rows of a round's pass and of its draft.

    Args:
        played: The round.
        family: The drafter's family.
        length: The number of tokens before the round.
        where: The round, for messages.
    """
    guesses = len(played.proposed.guesses) if played.proposed else 0
    if played.scored:
        rows, least = played.scored.rows_in_pass, guesses + 1
        extra = extra_rows(played.proposed, family)
        fits = rows == least + extra if extra is not None else rows >= least
        expect(fits, where, f"its pass has {rows!r} rows instead of {least + (extra or 0)}")
        expect(rows <= length + MOST_EXTRA_ROWS, where, f"a pass cannot have {rows!r} rows")
    if played.proposed and played.proposed.work:
        check_work(played.proposed.work, guesses, family, length, where)


def extra_rows(proposed: Proposed | None, family: str) -> int | None:
    """Return how many rows of the pass are not tree nodes; None if the file does not say."""
    if proposed is None:
        return 0
    if family != LOOKAHEAD:
        return 0 if family in WITH_NETWORK or family in WITHOUT_NETWORK else None
    found = (proposed.remark or {}).get("rows_window")
    return found if type(found) is int and found >= 0 else None


def check_work(work: Work, guesses: int, family: str, length: int, where: str) -> None:
    """Check the rows that the drafter's networks read: none if the drafter has no network."""
    counts = (work.body, work.head, work.entry, work.correction or 0)
    expect(min(counts) >= 0, where, f"the drafter read {min(counts)!r} rows")
    most = (length + guesses + 64) * (guesses + 64)  # all rows again for every guess
    expect(max(counts) <= most, where, f"the drafter cannot have read {max(counts)!r} rows")
    if family in WITHOUT_NETWORK:
        expect(not any(counts), where, f"{family} has no network, but it read rows")
    if family in WITH_NETWORK and guesses:
        expect(any(counts), where, f"{family} guessed, but its network read no rows")
