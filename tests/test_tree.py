"""The draft tree: mask, depths, paths; a chain is a tree with one child per node."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specviz.verification.tree import DraftTree

pytestmark = pytest.mark.slow


@st.composite
def trees(draw):
    """Generate any tree of up to 12 nodes."""
    size = draw(st.integers(1, 12))
    parents = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
    return DraftTree(tuple(range(size)), tuple(parents))


@given(trees())
def test_mask_depths_paths_children_and_parents_of_a_tree_agree(tree):
    mask = tree.mask()
    for node in range(len(tree)):
        assert mask[node].nonzero().flatten().tolist() == list(tree.path(node))
        assert tree.depths[node] == len(tree.path(node)) - 1
    assert [(p, c) for p, kids in enumerate(tree.children) for c in kids] == sorted(
        (parent, node) for node, parent in enumerate(tree.parents) if node
    )


@given(st.lists(st.integers(0, 9), max_size=8))
def test_chain_is_a_tree_with_one_child_per_node(guesses):
    tree = DraftTree.chain(5, guesses)
    assert tree.is_chain
    assert tree.path(len(guesses)) == tuple(range(len(guesses) + 1))
    assert torch.equal(tree.mask(), torch.ones(len(tree), len(tree)).tril().bool())


def test_subtree_keeps_tokens_and_parents():
    tree = DraftTree((0, 1, 2, 3, 4), (-1, 0, 0, 1, 3))
    part = tree.subtree([0, 1, 3, 4])
    assert part == DraftTree((0, 1, 3, 4), (-1, 0, 1, 2))
    with pytest.raises(ValueError, match="the parent of each"):
        tree.subtree([0, 4])


def test_invalid_tree_is_refused():
    for parents in ((0, 0), (-1, 1), (-1,), (-1, -1)):
        with pytest.raises(ValueError, match=r"parent"):
            DraftTree((0, 1), parents)
