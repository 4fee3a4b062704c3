"""Evidence of heads that predict positions side by side: Medusa, blockwise, MTP and leaps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from specviz.settings.settings import Settings
from specviz.trace.check.checked_round import Draft
from specviz.trace.check.evidence.rules import (
    EvidenceRules,
    evidence_of,
    expect_constant,
    expect_entries,
    expect_work,
    keys,
    read_count,
)
from specviz.trace.check.expectations import TOLERANCE, expect
from specviz.trace.work import Work

Path = tuple[int, ...]


def check_medusa(draft: Draft) -> None:
    """Check heads that all read the newest state; the work of each is one row."""
    heads = read_count(draft.remark, "heads", draft.where)
    most = check_heads(draft, heads, "heads")
    expect_work(draft, Work(body=most, head=most))


def check_blockwise(draft: Draft) -> None:
    """Check the heads of a block, which share one layer and draft one chain."""
    heads = read_count(draft.remark, "block", draft.where) - 1
    most = check_heads(draft, heads, "block", chain=True)
    expect_work(draft, Work(body=int(most > 0), head=most))


def check_mtp_parallel(draft: Draft) -> None:
    """Check heads that read all new states of one layer."""
    expect_constant(draft, "layer", read_count(draft.remark, "layer", draft.where))
    heads = read_count(draft.remark, "heads", draft.where)
    most = check_heads(draft, heads, "heads")
    if most:
        expect_work(draft, Work(body=draft.new_states, head=most))


def check_heads(draft: Draft, heads: int, name: str, chain: bool = False) -> int:
    """Check which head made each guess, from the newest state; return how many heads were run."""
    expect_constant(draft, name, draft.remark[name])
    state = draft.length - 2
    for node, (guess, depth) in enumerate(zip(draft.guesses, draft.depths, strict=True), 1):
        expected = {"head": depth, "state": state}
        expect_entries(evidence_of(guess), expected, draft.node(node))
    most = max(0, min(heads, draft.depth))
    check_rank_paths(draft, most, chain)
    return most


def check_lmtp(draft: Draft) -> None:
    """Check which head made each guess, and from which state; none before a whole leap."""
    where, remark = draft.where, draft.remark
    heads, leap = (read_count(remark, name, where) for name in ("heads", "leap"))
    for name in ("heads", "leap"):
        expect_constant(draft, name, remark[name])
    expect(leap > 0, where, "its leap is 0")
    for node, (guess, depth) in enumerate(zip(draft.guesses, draft.depths, strict=True), 1):
        head = math.ceil(depth / leap)
        back = leap * head - depth
        expected = {"head": head, "state": draft.length - 2 - back, "back": back}
        expect_entries(evidence_of(guess), expected, draft.node(node))
    most = max(0, min(heads * leap, draft.depth)) if draft.length > leap else 0
    check_rank_paths(draft, most)
    rows = math.ceil(most / leap) * leap
    expect_work(draft, Work(rows, rows))


def check_rank_paths(draft: Draft, most: int, chain: bool = False) -> None:
    """Check that the tree has the rank paths of the settings, and the heads' top tokens.

    A rank is the same token with the same score under every parent of one depth. A head may have
    fewer tokens than ranks, if the others are excluded.
    """
    nodes: dict[Path, int] = {(): 0}
    tokens: dict[tuple[int, int], tuple[int, float]] = {}
    for node, (guess, depth) in enumerate(zip(draft.guesses, draft.depths, strict=True), 1):
        here, found = draft.node(node), evidence_of(guess)["path"]
        whole = isinstance(found, list) and all(type(rank) is int for rank in found)
        path = tuple(found) if whole else ()
        own = bool(path) and nodes.get(path[:-1]) == guess.parent and path not in nodes
        expect(own, here, f"its path is {found!r:.80}, which does not continue its parent's")
        nodes[path] = node
        made = (guess.token, math.nan if guess.score is None else guess.score)
        first = tokens.setdefault((depth, path[-1]), made)
        same = first[0] == made[0] and abs(first[1] - made[1]) <= TOLERANCE
        expect(same, here, "its rank is another token under another parent")
    check_chosen(
        draft,
        nodes,
        tokens,
        [(0,) * at for at in range(1, most + 1)] if chain else rank_paths(draft.settings, most),
    )
    for (depth, rank), (_, score) in tokens.items():
        above = tokens.get((depth, rank - 1))
        falling = above is None or above[1] >= score - TOLERANCE
        expect(falling, draft.where, f"rank {rank} has a higher score than rank {rank - 1}")


def rank_paths(settings: Settings, depth: int) -> list[Path]:
    """Return the rank paths of the settings, level by level, at most `depth` deep."""
    if settings.rank_paths:
        chosen = {tuple(path) for path in settings.rank_paths if len(path) <= depth}
        return sorted(chosen, key=lambda path: (len(path), path))
    level: list[Path] = [()]
    found: list[Path] = []
    for at in range(depth):
        level = [(*path, rank) for path in level for rank in range(settings.width(at))]
        found += level
    return found


def check_chosen(
    draft: Draft,
    nodes: Mapping[Path, int],
    tokens: Mapping[tuple[int, int], tuple[int, float]],
    chosen: Sequence[Path],
) -> None:
    """Check that a draft has the chosen rank paths, in order, up to ends of the text."""
    possible = [
        path
        for path in chosen
        if path[:-1] in nodes
        and not (len(path) > 1 and draft.guesses[nodes[path[:-1]] - 1].token in draft.eos)
        and (path[-1] == 0 or (len(path), path[-1]) in tokens)
    ]
    problem = f"its rank paths are {list(nodes)[1:]!r:.80} but should be {possible!r:.80}"
    expect(list(nodes)[1:] == possible, draft.where, problem)


HEAD_RULES: Final[Mapping[str, EvidenceRules]] = {
    "medusa": EvidenceRules({"heads": keys("heads", each="head state path")}, check_medusa),
    "blockwise": EvidenceRules({"heads": keys("block", each="head state path")}, check_blockwise),
    "mtp-parallel": EvidenceRules(
        {"heads": keys("heads layer", each="head state path")}, check_mtp_parallel
    ),
    "lmtp": EvidenceRules({"leaps": keys("heads leap", each="head state back path")}, check_lmtp),
}
