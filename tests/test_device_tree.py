"""The nodes that the device selects for expansion equal those that `DynamicTree` selects."""

from __future__ import annotations

import pytest
import torch

from specviz.drafters.common.dynamic_tree import (
    DeviceTree,
    DynamicTree,
    LevelMasks,
    read_top_tokens,
    replay,
)
from specviz.verification.distributions import BadScores
from specviz.verification.transfer import UploadBatch

TOKENS, WIDTH, DEEPEST = 7, 3, 4
HOST = torch.device("cpu")


def logits_after(path, seed):
    """Return logits after a path: integers, so that scores tie, with some tokens forbidden."""
    made = torch.Generator().manual_seed(hash((seed, *path)) % 2**31)
    logits = torch.randint(0, 4, (TOKENS,), generator=made).float()
    return logits.masked_fill(torch.rand(TOKENS, generator=made) < 0.2, -torch.inf)


def seen(seed, budget, ends):
    """Build a tree with a read after every level."""
    growth, paths = DynamicTree([0]), {0: ()}
    for level in growth.levels(DEEPEST, WIDTH, budget, ends):
        first = len(growth.tokens)
        growth.add_children(
            level,
            read_top_tokens(
                torch.stack([logits_after(paths[n], seed) for n in level]), WIDTH, "it"
            ),
        )
        for node in range(first, len(growth.tokens)):
            paths[node] = (*paths[growth.parents[node]], growth.tokens[node])
    return growth


def unseen(seed, budget, ends, spoiled=None):
    """Build the same tree with one read at the end. spoiled: a level whose scores are NaN."""
    growth, picking, paths = DynamicTree([0]), DeviceTree(WIDTH, torch.tensor(ends)), [()]
    for depth in range(DEEPEST):
        if depth:
            words, above = (each.tolist() for each in picking.pick())
            paths = [(*paths[row], word) for word, row in zip(words, above, strict=True)]
        logits = torch.stack([logits_after(path, seed) for path in paths])
        picking.guess(logits * torch.nan if depth == spoiled else logits)
    replay(growth, picking, growth.levels(DEEPEST, WIDTH, budget, ends), "it")
    return growth


@pytest.mark.slow
@pytest.mark.parametrize("ends", [(), (1,), (1, 2, 4), (0, 1, 2, 3, 5)])
def test_device_tree_equals_host_tree(ends):
    for seed in range(40):
        for budget in (2, 5, 9, 60):
            one, other = unseen(seed, budget, ends), seen(seed, budget, ends)
            assert (one.tokens, one.parents) == (other.tokens, other.parents)
            assert one.totals == other.totals


def test_nan_scores_raise_only_when_their_level_is_used():
    for spoiled in range(DEEPEST):
        with pytest.raises(BadScores, match="it returned logits"):
            unseen(3, 60, (), spoiled)
    lone = [seed for seed in range(40) if len(seen(seed, 60, range(TOKENS)).tokens) <= WIDTH + 1]
    assert lone, "all end at once"
    assert (
        unseen(lone[0], 60, range(TOKENS), spoiled=2).tokens
        == seen(lone[0], 60, range(TOKENS)).tokens
    )


def test_attention_mask_of_a_node_covers_the_text_and_its_own_path():
    uploads = UploadBatch(HOST)
    sight = LevelMasks(5, 2, 3, uploads)
    for above in ([0, 0], [1, 0], [0, 0]):
        where, sees = sight.under(torch.tensor(above))
    assert where.tolist() == [7, 7]
    assert sees[:, :5].all()
    # parents of the last level: node 0 of the second, whose parent is node 1 of the first
    assert sees[:, 5:].tolist() == [
        [False, True, True, False, True, False],
        [False, True, True, False, False, True],
    ]
