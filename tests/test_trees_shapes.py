"""Shapes of draft trees: published, regular, optimised or from a file, and the formats and
parameter names of other engines."""

import argparse
import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.catalog.entry import settings_from_args
from specviz.commands.parser import add_tree_size
from specviz.cost import tree_formula
from specviz.settings.published_trees import PUBLISHED_TREES
from specviz.settings.settings import add_settings
from specviz.settings.specs import find_spec
from specviz.trees import shapes
from specviz.trees.shapes import PRESETS, BadTree, Parameters
from specviz.verification.tree import DraftTree


@st.composite
def parents(draw, most=12):
    size = draw(st.integers(2, most))
    return [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]


def linked_parents(first_child, next_sibling):
    """Return the parents of a linked list."""
    found = [-1] * len(first_child)
    for parent, first in enumerate(first_child):
        child = first
        while child != -1:
            found[child] = parent
            child = next_sibling[child]
    return found


def test_published_tree_shapes_have_their_known_sizes():
    sizes = {name: len(shape.paths) for name, shape in PUBLISHED_TREES.items()}
    assert sizes == {"eagle-25": 25, "medusa-63": 63}
    for name, shape in PUBLISHED_TREES.items():
        made = shapes.published_tree(name)
        assert shapes.paths_of(made) == list(shape.paths), "ranks must have no gap"
    assert len(find_spec("rank_paths").parse("medusa-63")) == 63
    assert find_spec("rank_paths").parse("0; 0,0") == [[0], [0, 0]]


def test_chain_equals_a_regular_tree_of_width_1():
    by_path = shapes.parents_of([[0] * depth for depth in range(1, 8)])
    assert shapes.chain(7) == shapes.regular_tree(1, 7) == by_path


@pytest.mark.slow
@given(parents())
def test_every_export_format_describes_the_same_tree(tree):
    assert linked_parents(*shapes.linked_list(tree)) == tree
    seen = DraftTree(tuple(range(len(tree))), tuple(tree))
    assert [row.nonzero().flatten().tolist() for row in seen.mask()] == shapes.mask(tree)
    assert shapes.positions(tree, 9) == [9 + depth for depth in seen.depths]
    rows = shapes.retrieve_indices(tree)
    assert {node for row in rows for node in row} - {-1} == set(range(len(tree)))
    for row in rows:
        real = [node for node in row if node != -1]
        assert real == list(seen.path(real[-1]))
        assert not seen.children[real[-1]]
        assert row[len(real) :] == [-1] * (len(row) - len(real))


@pytest.mark.slow
@given(parents(), st.randoms())
def test_nodes_of_a_tree_file_may_be_in_any_order(tree, random):
    order = list(range(len(tree)))
    random.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    mixed = [-1 if tree[old] < 0 else place[tree[old]] for old in order]
    read = shapes.from_text(json.dumps(mixed))
    assert sorted(shapes.positions(read)) == sorted(shapes.positions(tree))
    assert sorted(map(len, shapes.mask(read))) == sorted(map(len, shapes.mask(tree)))


@pytest.mark.slow
@pytest.mark.parametrize("depth", [None, 1, 2, 3])
def test_optimal_tree_beats_every_tree_of_its_size(depth):
    """Compare with every tree of five guesses whose ranks have no gap."""
    chances = [0.55, 0.25, 0.1]

    def tokens(tree):
        return sum(
            tree_formula.path_probabilities(
                tree, tree_formula.acceptance_by_position(tree, chances)
            )
        )

    found = shapes.optimal_tree(chances, 5, depth)
    trees = ([-1, *tail] for tail in product(*(range(node) for node in range(1, 6))))
    best = max(tokens(tree) for tree in trees if max(shapes.positions(tree)) <= (depth or 9))
    assert tokens(found) == pytest.approx(best)
    assert max(shapes.positions(found)) <= (depth or 9)
    assert len(shapes.optimal_tree([0.4, 0.1, 0.12], 9)) == 10, "measured ranks have noise"


@given(st.integers(1, 16), st.integers(1, 16), st.integers(1, 128))
def test_parameter_names_of_other_programs_give_the_same_tree(depth, width, budget):
    made = Parameters(depth, width, budget)
    for program in ("SGLang", "EAGLE", "JetSpec"):
        assert Parameters.of(made.names[program]) == made, program
    assert Parameters.of({"depth": depth, "width": width, "budget": budget}) == made


def test_presets_equal_the_defaults_of_sglang_and_eagle():
    six = dict(PRESETS)["SGLang 6, 10, 60"]
    assert (six.depth, six.width, six.budget, six.pool) == (6, 10, 59, 510)
    assert six == dict(PRESETS)["EAGLE-2: 60 tokens, depth 5, k 10"]
    assert Parameters.eagle(60, 7, 10).pool == 710


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: Parameters(5, 4, 0), "The budget must be an integer from 1 to 128, not 0"),
        (lambda: Parameters(0, 4, 8), "The depth must be an integer from 1"),
        (lambda: Parameters(5, 0, 8), "top-k"),
        (lambda: Parameters(5, 2.5, 8), "an integer"),
        (lambda: Parameters.sglang(5, 4, 1), "num_draft_tokens, which includes the root"),
        (lambda: Parameters.eagle(1, 4, 8), "total_tokens"),
        (lambda: Parameters.of({"steps": 5, "budget": 4}), "with the names of one engine"),
        (lambda: Parameters(5, 10, 8).check_vocabulary(9), "exceeds the 9 tokens"),
        (lambda: shapes.regular_tree(4, 5), "make 1,364 guesses; a tree can have at most 128"),
        (lambda: shapes.chain(0), "length of a chain"),
        (lambda: shapes.published_tree("eagle-26"), "there is eagle-25"),
        (lambda: shapes.parents_of([[0], [1, 0]]), "needs the path [1] in the tree"),
        (lambda: shapes.optimal_tree([], 4), "probabilities from 0 to 1"),
        (lambda: shapes.from_text("[-1, 2, 1]"), "Nodes 1, 2 do not lead to the root"),
        (lambda: shapes.from_text("[-1, 0, -1]"), "one root"),
        (lambda: shapes.from_text("[-1, 7]"), "Node 1 has parent 7"),
        (lambda: shapes.from_text("[-1, 0"), "not valid JSON"),
        (lambda: shapes.from_text('{"a": 1}'), "list of parents"),
        (lambda: shapes.from_text("[-1]"), "a root and 1 to 128 guesses, not 0"),
        (lambda: shapes.from_text("[" * 100_000), "20,000 characters"),
    ],
)
def test_invalid_tree_raises_readable_error(made, says):
    with pytest.raises(BadTree, match=says.replace("[", r"\[")):
        made()


def read(*words):
    """Return the settings of a command line with a tree's size."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_settings(parser)
    add_tree_size(parser)
    return settings_from_args(parser.parse_args(words), "eagle3")


@pytest.mark.parametrize(
    "said", ["steps=6,topk=10,num_draft_tokens=60", "total_tokens=60, depth=5, top_k=10"]
)
def test_run_command_accepts_the_parameter_names_of_sglang_and_eagle(said):
    ours = read("--gamma", "6", "--fan-out", "10", "--budget", "59")
    assert read("--tree-size", said) == ours
    assert read("--tree-size", said, "--budget", "20").budget == 20


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("60", "write the size of a tree as steps=6"),
        ("steps=six,topk=10,num_draft_tokens=60", "write the size of a tree as steps=6"),
        ("steps=6,topk=10", "with the names of one engine"),
        ("steps=0,topk=10,num_draft_tokens=60", "The depth must be an integer from 1"),
    ],
)
def test_invalid_tree_size_raises_readable_error(said, says):
    with pytest.raises(argparse.ArgumentError, match=says):
        read("--tree-size", said)
