"""Draft trees, dynamic trees of the most probable guesses, and siblings sampled on the device."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pretend import pretended

from specviz.drafters.common.candidates import _draw_one_by_one, distinct_draws
from specviz.drafters.common.dynamic_tree import DynamicTree
from specviz.verification.tree import DraftTree


@st.composite
def trees(draw):
    """Generate any tree of up to 12 nodes."""
    size = draw(st.integers(1, 12))
    parents = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
    return DraftTree(tuple(range(size)), tuple(parents))


@pytest.mark.slow
@given(trees())
def test_mask_depths_paths_children_and_parents_of_a_tree_agree(tree):
    mask = tree.mask()
    for node in range(len(tree)):
        assert mask[node].nonzero().flatten().tolist() == list(tree.path(node))
        assert tree.depths[node] == len(tree.path(node)) - 1
    assert [(p, c) for p, kids in enumerate(tree.children) for c in kids] == sorted(
        (parent, node) for node, parent in enumerate(tree.parents) if node
    )


@pytest.mark.slow
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


# Dynamic trees


def logs(*shares):
    return torch.tensor(shares, dtype=torch.float32).log().tolist()


def published(seed, levels, width, budget, scale):
    """Return the paths that EAGLE-2's code keeps, which drops nothing before the final ranking.

    A node's distribution depends on its path here, so both methods see the same distributions.
    """
    pool = {(): 0.0}
    level = [()]
    for _ in range(levels):
        made = {
            (*path, token): pool[path] + value
            for path in level
            for token, value in law_at(seed, path, width, scale)
        }
        pool |= made
        level = sorted(made, key=lambda p: -made[p])[:width]
    del pool[()]
    return set(sorted(pool, key=lambda p: -pool[p])[:budget])


def law_at(seed, path, width, scale):
    torch.manual_seed(hash((seed, *path)) % 2**31)
    values, ids = (torch.randn(30) * scale).log_softmax(-1).topk(width)
    return list(zip(ids.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize(("width", "budget"), [(2, 5), (4, 12), (6, 24), (3, 100)])
def test_kept_guesses_equal_those_of_the_published_eagle_2_algorithm(width, budget):
    """Dropping nodes early that cannot be kept changes only the amount of work."""
    for seed in range(8):
        growth, level = DynamicTree([0]), [0]
        for depth in range(5):
            level = growth.frontier(width, budget, ends=()) if depth else [0]
            for node in level:
                pairs = law_at(seed, path_of(growth, node), width, 2.0)
                growth.add([node], [[t for t, _ in pairs]], [[v for _, v in pairs]])
        tree, kept = growth.tree(budget)
        found = {path_of(growth, node) for node in kept if node}
        assert found == published(seed, 5, width, budget, 2.0)
        assert len(tree) == len(found) + 1


def path_of(growth, node):
    path = []
    while node:
        path.append(growth.tokens[node])
        node = growth.parents[node]
    return tuple(reversed(path))


@pytest.mark.slow
@given(
    st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 6), st.integers(1, 30), st.booleans()
)
def test_ancestors_of_kept_guesses_are_kept_even_if_scores_tie(seed, levels, width, budget, ties):
    torch.manual_seed(seed)
    growth = DynamicTree([0])
    for depth in range(levels):
        for node in growth.frontier(width, budget, ends=()) if depth else [0]:
            values, ids = (torch.randn(9) * 6).log_softmax(-1).topk(width)
            values = (values / 4).round() * 4 if ties else values
            growth.add([node], [ids.tolist()], [values.clamp(max=0).tolist()])
    tree, kept = growth.tree(budget)
    assert [growth.tokens[node] for node in sorted(kept)] == list(tree.tokens)
    assert all(growth.parents[node] in kept for node in kept if node)
    assert len(tree) <= budget + 1
    assert max(tree.depths) <= levels
    others = [total for node, total in enumerate(growth.totals) if node not in kept]
    assert min(growth.totals[n] for n in kept) >= max(others, default=-1e9)


def test_tied_scores_prefer_shallower_then_older_nodes():
    growth = DynamicTree([7])
    growth.add([0], [[1, 2, 3]], [logs(0.5, 0.25, 0.125)])
    growth.add([1], [[4, 5]], [logs(0.5, 0.25)])  # as likely as 2 and as 3
    growth.add([4], [[6]], [logs(1.0)])  # as likely as its parent
    assert growth.best(9) == [0, 1, 2, 4, 6, 3, 5]
    assert growth.frontier(9, 9, ends=()) == [6]
    assert growth.tree(4)[0].tokens == (7, 1, 2, 4, 6)
    assert growth.tree(2)[0].parents == (-1, 0, 0)


def test_frontier_contains_the_most_probable_nodes_except_end_tokens():
    growth = DynamicTree([7])
    growth.add([0], [[1, 2, 3, 4]], [logs(0.4, 0.3, 0.2, 0.1)])
    assert growth.frontier(2, 9, ends=()) == [1, 2]
    assert growth.frontier(2, 9, ends=(1,)) == [2, 3]
    assert growth.frontier(4, 3, ends=()) == [1, 2, 3]
    assert growth.frontier(4, 3, ends=(1, 2, 3)) == []


def test_scores_are_sums_in_float32():
    growth = DynamicTree([7])
    growth.add([0], [[1]], [logs(0.3)])
    growth.add([1], [[1]], [logs(0.295)])
    exact = torch.tensor(0.3).log() + torch.tensor(0.295).log()
    assert growth.totals[2] == exact.item()


def test_log_probabilities_above_zero_and_trees_without_an_ancestor_are_refused():
    for bad in (0.5, float("nan")):
        with pytest.raises(ValueError, match="at most 0"):
            DynamicTree([7]).add([0], [[1, 2]], [[-1.0, bad]])
    growth = DynamicTree([7], [-1, 0, 1], [0, 1, 2], [0.0, -2.0, -1.0])
    growth.tokens += [1, 2]
    with pytest.raises(ValueError, match="needs the parent of each"):
        growth.tree(1)


# Siblings

WIDTHS = [1, 4, 2, 4, 3]


def rows(kind, size=200):
    """Return distributions (5, V): peaked; flat, with draws beyond the top 64; with many ties."""
    made = torch.Generator().manual_seed(size)
    logits = torch.randn(5, size, generator=made, dtype=torch.float64)
    logits = {"sharp": logits * 6, "flat": logits / 9, "equals": logits.round()}[kind]
    return logits.softmax(-1)


def random_rows(salt):
    made = torch.Generator().manual_seed(salt)
    return [torch.rand(many, generator=made).tolist() for many in WIDTHS]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sharp", "flat", "equals"])
def test_siblings_sampled_in_a_batch_equal_sequential_draws(kind):
    for salt in range(20):
        size = (40, 200)[salt % 2]
        distributions, chances = rows(kind, size), rows("flat", size).float()
        coins = random_rows(salt)
        found = distinct_draws(distributions, coins, chances)
        assert found.draws == [
            _draw_one_by_one(*each) for each in zip(distributions, coins, strict=True)
        ]
        said = [chances[row, some].tolist() for row, some in enumerate(found.tokens)]
        assert found.probs == said


def test_last_token_is_repeated_if_a_distribution_has_too_few_tokens():
    distributions = torch.zeros(2, 100, dtype=torch.float64)
    distributions[0, 7], distributions[1, :3] = (
        1.0,
        torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64),
    )
    found = distinct_draws(distributions, [[0.2, 0.3], [0.1, 0.9]], distributions)
    assert found.tokens == [[7, 7], [0, 2]]


def test_siblings_of_a_level_need_one_device_read():
    distributions = rows("sharp")
    expected = distinct_draws(distributions, random_rows(1), distributions)
    with pretended() as device_log:
        there = distributions.to("cuda")
        device_log.counts.clear()
        assert distinct_draws(there, random_rows(1), there) == expected
    assert (device_log.counts["reads"], device_log.counts["uploads"]) == (1, 1)
