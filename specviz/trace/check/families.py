"""The settings that each drafter family reads, and the checks that follow from them.

Families that are not listed are checked only for what the engine guarantees.
"""

from __future__ import annotations

from typing import Final

from specviz.trace.check.checked_round import CheckedRound, Draft
from specviz.trace.check.expectations import TOLERANCE, expect
from specviz.trace.events import Guess, Proposed
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


def check_complete(draft: Draft) -> None:
    """Check that every node has as many children as the settings say.

    A node may have fewer only if q has no more tokens, or if it ends its path. A draft model with
    another vocabulary is not checked, since it may run out of tokens; it is recognized by its
    recorded data.
    """
    if draft.family == "draft-model" and draft.remark:
        return
    for node, depth in enumerate([0, *draft.depths]):
        found = draft.children(node)
        wanted = expected_siblings(draft, node, depth)
        if depth >= draft.depth or is_leaf(draft, node):
            wanted = 0
        exhausted = bool(found) and exhausts_q(draft.guesses[found[-1] - 1])
        fits = len(found) == wanted or (0 < len(found) < wanted and exhausted)
        problem = f"{len(found)} guesses come after node {node}, but the settings give {wanted}"
        expect(fits, draft.where, problem)


def expected_siblings(draft: Draft, node: int, depth: int) -> int:
    """Return how many guesses a drafter proposes under a node."""
    if draft.family == "mtp":
        return 1
    full = draft.settings.width(depth)
    return full if draft.family != "eagle" else max(0, full - sum(ranks(draft, node)))


def ranks(draft: Draft, node: int) -> list[int]:
    """Return the rank among siblings, from 0, of a node and of each of its ancestors."""
    found = []
    while node:
        found.append(draft.siblings(node).index(node))
        node = draft.guesses[node - 1].parent
    return found


def is_leaf(draft: Draft, node: int) -> bool:
    """Return whether a guess ends its path: it ends the text, or its score is too low."""
    if not node:
        return False
    guess, least = draft.guesses[node - 1], draft.settings.confidence
    return guess.token in draft.eos or (guess.score is not None and guess.score < least)


def exhausts_q(last: Guess) -> bool:
    """Return whether the last of several siblings had all the remaining mass of q."""
    return last.q is not None and last.q >= 1.0 - TOLERANCE


MOST_EXTRA_ROWS: Final = 4096  # maximum rows in one pass, in addition to the text and its guesses


def check_counts(checked: CheckedRound) -> None:
    """Check the rows of a round's pass and of its draft."""
    proposed, where = checked.played.proposed, checked.where
    rows, least = checked.scored.rows_in_pass, len(checked.guesses) + 1
    extra = extra_rows(proposed, checked.family)
    fits = rows == least + extra if extra is not None else rows >= least
    expect(fits, where, f"its pass has {rows!r} rows instead of {least + (extra or 0)}")
    possible = rows <= len(checked.text) + MOST_EXTRA_ROWS
    expect(possible, where, f"a pass cannot have {rows!r} rows")
    if proposed and proposed.work:
        check_work(proposed.work, checked)


def extra_rows(proposed: Proposed | None, family: str) -> int | None:
    """Return how many rows of the pass are not tree nodes; None if the file does not say."""
    if proposed is None:
        return 0
    if family != LOOKAHEAD:
        return 0 if family in BUILT_IN else None
    found = (proposed.remark or {}).get("rows_window")
    return found if type(found) is int and found >= 0 else None


def check_work(work: Work, checked: CheckedRound) -> None:
    """Check the rows that the drafter's networks read: none if the drafter has no network."""
    family, guesses, where = checked.family, len(checked.guesses), checked.where
    counts = (work.body, work.head, work.entry, work.correction or 0)
    expect(min(counts) >= 0, where, f"the drafter read {min(counts)!r} rows")
    # all rows again for every guess
    most = (len(checked.text) + guesses + 64) * (guesses + 64)
    expect(max(counts) <= most, where, f"the drafter cannot have read {max(counts)!r} rows")
    if family in WITHOUT_NETWORK:
        expect(not any(counts), where, f"{family} has no network, but it read rows")
    if family in WITH_NETWORK and guesses:
        expect(any(counts), where, f"{family} guessed, but its network read no rows")
