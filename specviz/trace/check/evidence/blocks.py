"""Evidence of drafters that fill several positions in one pass.

DFlash, DSpark, DFlash2, P-EAGLE and PARD record the most probable tokens of every position, rounded
to six digits. A guess is one of them with its score, or is less probable than all of them. JetSpec
records all candidates of each depth, so its tree can be grown again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from specviz.trace.check.checked_round import Draft
from specviz.trace.check.evidence.rules import (
    NEAR,
    ROUNDED,
    EvidenceRules,
    evidence_of,
    expect_constant,
    expect_entries,
    expect_work,
    keys,
    read_count,
)
from specviz.trace.check.expectations import (
    TOLERANCE,
    expect,
    expect_close,
    expect_probabilities,
)
from specviz.trace.events import Guess
from specviz.trace.work import Work

SUM_SLACK: Final = 1e-4  # how much sums of logarithms of rounded probabilities may differ
TOP: Final = 3  # tokens that are listed per position, or fewer if the vocabulary is smaller


def read_tops(draft: Draft, found: Any, where: str, count: int = TOP) -> dict[int, float]:
    """Read a position's `count` most probable tokens and probabilities.

    Raises CheckFailed if they cannot be the most probable tokens of a distribution.
    """
    size = draft.header.vocab_size
    whole = isinstance(found, list) and len(found) == min(count, size)
    whole = whole and all(isinstance(each, dict) and set(each) == {"token", "p"} for each in found)
    expect(whole, where, "its top tokens are not listed with their probabilities")
    tops = {each["token"]: each["p"] for each in found}
    ids = len(tops) == len(found) and all(type(t) is int and 0 <= t < size for t in tops)
    expect(ids, where, "its top tokens are not different tokens of the vocabulary")
    numbers = all(type(p) in (int, float) for p in tops.values())
    expect(numbers, where, "the probability of a top token is not a number")
    expect_probabilities(tops.values(), where, "the list of top tokens")
    total = math.fsum(tops.values())
    expect(total <= 1.0 + count * ROUNDED, where, f"the total of its top tokens is {total!r}")
    falling = all(one >= other for one, other in pairwise(tops.values()))
    expect(falling, where, "its top tokens are not in falling order of probability")
    return tops


def check_listed(guess: Guess, tops: Mapping[int, float], point_mass: bool, where: str) -> None:
    """Check a guess's score against its position's top tokens, to which a point mass belongs."""
    score = math.nan if guess.score is None else guess.score
    if guess.token in tops:
        listed = tops[guess.token]
        problem = f"its score is {score!r}, but its position lists {listed!r}"
        expect(abs(score - listed) <= NEAR, where, problem)
    least = min(tops.values())
    likely = guess.token in tops or score <= least + NEAR
    expect(likely, where, "its score is higher than that of a listed token")
    top = score >= max(tops.values()) - NEAR
    expect(top or not point_mass, where, "it is not the top token of its position")


def read_places(draft: Draft, count: int, wide: int = TOP) -> list[dict[int, float]]:
    """Read the `wide` most probable tokens of each of `count` positions."""
    found = draft.remark.get("places")
    whole = isinstance(found, list) and len(found) == count
    expect(whole, draft.where, f"its places are not those of {count} positions")
    return [read_tops(draft, each, draft.where, wide) for each in found or []]


def check_places(draft: Draft, count: int) -> None:
    """Check each guess's position in the block, and its score there."""
    places = read_places(draft, count)
    for node, (guess, depth) in enumerate(zip(draft.guesses, draft.depths, strict=True), 1):
        here = draft.node(node)
        expect_entries(evidence_of(guess), {"place": depth}, here)
        first = draft.siblings(node)[0] == node
        top = first and draft.proposed.drawn == "point-mass"
        check_listed(guess, places[depth - 1], top, here)


def check_filled(draft: Draft, most: int) -> None:
    """Check that a chain has as many guesses as its pass gives, up to the end of the text."""
    guesses = draft.guesses
    ended = bool(guesses) and guesses[-1].token in draft.eos
    problem = f"{len(guesses)} guesses do not fill the {most} positions"
    expect(len(guesses) == most or (ended and len(guesses) < most), draft.where, problem)


def check_no_pass(draft: Draft) -> None:
    """Check that a draft without a pass has no guesses and no work."""
    expect_entries(draft.remark, {"passes": 0}, draft.where)
    expect(not draft.guesses, draft.where, "it has guesses, but no pass was made for them")
    expect_work(draft, Work())


def read_block(draft: Draft, anchor: int) -> tuple[int, int]:
    """Return a block's size and the most guesses that it may have; check what its pass read."""
    block = read_count(draft.remark, "block", draft.where)
    expect_constant(draft, "block", block)
    most = max(0, min(block - 1 + anchor, draft.depth))
    if most:
        read = {"passes": 1, "states": draft.length - 1, "masks": block - 1}
        expect_entries(draft.remark, read, draft.where)
    else:
        check_no_pass(draft)
    return block, most


def check_dflash(draft: Draft) -> None:
    """Check a DFlash block: its size, its states, and each position."""
    block, most = read_block(draft, anchor=0)
    if not most:
        return
    check_places(draft, block - 1)
    check_filled(draft, most)
    expect_work(draft, Work(body=block, head=block - 1, entry=draft.new_states))


def check_dspark(draft: Draft) -> None:
    """Check a DSpark block: its size, its states, each position, and where it was cut."""
    block, most = read_block(draft, anchor=1)
    if not most:
        return
    check_in_order(draft)
    check_cut(draft, most)
    considered = len(draft.guesses) + ("cut" in draft.remark)
    expect_work(draft, Work(block, most, draft.new_states, considered))


def check_dflash2(draft: Draft) -> None:
    """Check a DFlash2 block: its size, its states, and each position."""
    block, most = read_block(draft, anchor=0)
    if not most:
        return
    candidates = read_count(draft.remark, "candidates", draft.where)
    expect_constant(draft, "candidates", candidates)
    check_in_order(draft)
    check_filled(draft, most)
    expect_work(draft, Work(block, most, draft.new_states, len(draft.guesses)))


def check_in_order(draft: Draft) -> None:
    """Check the guesses of a block, which were chosen in order."""
    for node, guess in enumerate(draft.guesses, 1):
        here, evidence = draft.node(node), evidence_of(guess)
        expect_entries(evidence, {"place": node}, here)
        read_tops(draft, evidence["base"], here)
        tops = read_tops(draft, evidence["top"], here)
        check_listed(guess, tops, draft.proposed.drawn == "point-mass", here)


def check_jetspec(draft: Draft) -> None:
    """Check a JetSpec tree: its block, its candidates, its paths, and that it grew best first."""
    block, most = read_block(draft, anchor=0)
    if not most:
        return
    places = [list(one.items()) for one in read_places(draft, most, draft.settings.fan_out)]
    paths: list[tuple[int, ...]] = [()]
    totals = [0.0]
    for node, guess in enumerate(draft.guesses, 1):
        here, depth = draft.node(node), len(paths[guess.parent])
        rank = draft.siblings(node).index(node)
        expect(depth < most and rank < len(places[depth]), here, "its depth has no such candidate")
        token, p = places[depth][rank]
        expect(
            guess.token == token, here, f"it should be candidate {rank + 1} of its depth, {token}"
        )
        score = math.nan if guess.score is None else guess.score
        expect(abs(score - p) <= NEAR, here, f"its score is {score!r}, but its depth lists {p!r}")
        paths.append((*paths[guess.parent], rank))
        totals.append(totals[guess.parent] + math.log(p))
        expect_entries(evidence_of(guess), {"path": list(paths[node])}, here)
        expect_close(evidence_of(guess)["total"], totals[node], here, "its path's sum")
    check_best_first(draft, [len(path) < most for path in paths], totals)
    expect_work(draft, Work(body=block, head=block - 1, entry=draft.new_states))


def check_best_first(draft: Draft, open_nodes: Sequence[bool], totals: Sequence[float]) -> None:
    """Check that the nodes with the highest sums have children, the most they can have."""
    guesses, settings = draft.guesses, draft.settings
    able = [
        n
        for n, open_node in enumerate(open_nodes)
        if open_node and not (n and guesses[n - 1].token in draft.eos)
    ]
    parents = list(dict.fromkeys(guess.parent for guess in guesses))
    least = min((totals[n] for n in parents), default=0.0)
    left = [n for n in able if n not in parents]
    full = len(guesses) == settings.budget
    expect(full or not left, draft.where, f"it has {len(guesses)} guesses, but could have more")
    worse = all(totals[n] <= least + SUM_SLACK for n in left)
    expect(worse, draft.where, "a likelier path was not continued")
    wide = min(settings.fan_out, draft.header.vocab_size)
    for parent in parents[:-1]:
        found = sum(guess.parent == parent for guess in guesses)
        expect(found == wide, draft.where, f"node {parent} has {found} of {wide} candidates")


def check_cut(draft: Draft, most: int) -> None:
    """Check that a DSpark draft ends by predicted acceptance, or at the end of its block.

    The acceptance of a guess is predicted before the guess is drawn, and it is drawn only if the
    product of all predictions up to it reaches the setting. So if a draft is shorter, it must have
    recorded a smaller product.
    """
    where, least = draft.where, draft.settings.confidence
    predicted = [evidence_of(guess).get("confidence") for guess in draft.guesses]
    known = [each for each in predicted if isinstance(each, int | float) and each is not True]
    whole = len(known) == len(predicted) or not any(each is not None for each in predicted)
    expect(whole, where, "not every guess has a predicted acceptance")
    expect_probabilities(known, where, "the list of predictions")
    survival = math.prod(known)
    problem = f"a guess was drawn at a predicted survival of {survival!r}"
    expect(survival >= least - TOLERANCE, where, problem)
    if "cut" not in draft.remark:
        check_filled(draft, most)
        return
    cut = draft.remark["cut"]
    problem = f"the draft was cut at a predicted survival of {cut!r}"
    possible = type(cut) in (int, float) and 0.0 <= cut <= survival + len(known) * ROUNDED + NEAR
    expect(possible and cut < least + NEAR, where, problem)
    expect(len(draft.guesses) < most, where, "the draft was cut, but its block is full")


def check_p_eagle(draft: Draft) -> None:
    """Check a P-EAGLE pass: one position for the newest token, one per mask, always as many."""
    if draft.depth < 1:
        check_no_pass(draft)
        return
    count = read_count(draft.remark, "masks", draft.where) + 1
    expect(count <= draft.depth, draft.where, f"its pass gives {count} guesses, more than allowed")
    constants = draft.memory.constants
    trained = constants["positions"] = max(count, constants.get("positions", 0))
    fits = count == min(draft.depth, trained)
    expect(fits, draft.where, f"its pass gives {count} guesses, but its head predicts {trained}")
    expect_entries(draft.remark, {"passes": 1, "states": draft.length - 1}, draft.where)
    check_places(draft, count)
    check_filled(draft, count)
    new = draft.new_states
    expect_work(draft, Work(new + count - 1, count, new + (count > 1)))


def check_pard(draft: Draft) -> None:
    """Check a PARD pass: the rows of the text's new tokens, and one mask for each further depth."""
    if draft.depth < 1:
        check_no_pass(draft)
        return
    masks = draft.depth - 1
    rows = draft.new_tokens + masks
    expect_entries(draft.remark, {"passes": 1, "rows": rows, "masks": masks}, draft.where)
    check_places(draft, draft.depth)
    expect_work(draft, Work(rows, draft.depth))


def listed_in_guess(draft: Draft, node: int) -> Mapping[int, float]:
    """Return the top tokens that DSpark records for the guess under a node."""
    under = [evidence_of(guess) for guess in draft.guesses if guess.parent == node]
    return read_tops(draft, under[0]["top"], draft.where) if under else {}


def listed_by_depth(draft: Draft, node: int) -> Mapping[int, float]:
    """Return the top tokens that a pass gives for the depth under a node."""
    depth = draft.depths[node - 1] if node else 0
    found = draft.remark.get("places") or []
    return read_tops(draft, found[depth], draft.where) if depth < len(found) else {}


BLOCK_RULES: Final[Mapping[str, EvidenceRules]] = {
    "dflash": EvidenceRules(
        {"block": keys("block passes", "states masks places", "place")}, check_dflash
    ),
    "dspark": EvidenceRules(
        {"spark": keys("block passes", "states masks", "place base top", "cut confidence")},
        check_dspark,
        listed_in_guess,
    ),
    "dflash2": EvidenceRules(
        {"selector": keys("block passes", "states masks candidates", "place base top")},
        check_dflash2,
        listed_in_guess,
    ),
    "jetspec": EvidenceRules(
        {"best-first": keys("block passes", "states masks places", "path total")}, check_jetspec
    ),
    "p-eagle": EvidenceRules(
        {"parallel": keys("passes", "states masks places", "place")}, check_p_eagle
    ),
    "pard": EvidenceRules(
        {"masks": keys("passes", "rows masks places", "place")}, check_pard, listed_by_depth
    ),
}
