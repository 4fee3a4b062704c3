"""Trees grown at a recorded position: they contain all ancestors and are best-first.

Their verdicts, expected gains and layout are tested here too.
"""

import json
import math
from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specviz.cost.sweep import Sweep
from specviz.figures.layout import GAP, tree_layout
from specviz.settings.chance import Chance
from specviz.trace.rule_specs import Drawn
from specviz.trees import judging, shapes
from specviz.trees.grown_tree import (
    contradictions,
    estimate_acceptance,
    fitted_pass_cost,
    grow_tree,
    marginal_prices,
    static_tree,
    target_probabilities,
)
from specviz.trees.judging import (
    SAMPLING_MODES,
    SHAPES,
    TOP_Q,
    PositionModels,
    average,
)
from specviz.trees.ranking import WAYS as KINDS
from specviz.trees.ranking import rank_all_ways
from specviz.trees.recorded_position import (
    FOLDER,
    PositionError,
    RecordedPosition,
    Row,
    recipes,
    shipped_position,
)
from specviz.trees.rounding import EXAMPLES, as_position
from specviz.trees.shapes import Parameters
from specviz.verification import make_rule
from specviz.verification.exact import verdicts
from specviz.verification.tree import DraftTree

WORDS = 4


def made_field(seed, depth, scale=2.0, round_to=0.0, words=WORDS):
    """Return every path over this many tokens to this depth, with random distributions.

    round_to: makes many ties.
    """
    dice = torch.Generator().manual_seed(seed)
    rows = {}
    for length in range(depth + 1):
        for path in product(range(1, words + 1), repeat=length):
            logits = torch.randn(2, words, generator=dice) * scale
            logs, order = logits[0].log_softmax(-1).sort(descending=True)
            if round_to:
                logs = ((logs / round_to).round() * round_to).clamp(max=0)
            p = (logits[1].softmax(-1) * 0.9).tolist()  # the rest is on tokens never guessed
            tokens = (order + 1).tolist()
            chance = [p[token - 1] for token in tokens]
            top = tokens[chance.index(max(chance))]
            rows[path] = Row(tokens, logs.tolist(), chance, top, max(chance))
    return replace(as_position(EXAMPLES[0]), rows=rows, deepest=depth, width=words, vocabulary=50)


def by_hand(field, depth):
    """Return every path with its total, by float32 sums."""
    totals = {(): torch.tensor(0.0)}
    for path, row in sorted(field.rows.items(), key=lambda one: len(one[0])):
        for token, log in zip(row.tokens, row.logs, strict=True):
            if len(path) < depth:
                totals[*path, token] = totals[path] + torch.tensor(log)
    return {path: total.item() for path, total in totals.items() if path}


@pytest.mark.parametrize("seed", range(3))
def test_tree_growth_equals_best_first_search_if_all_nodes_are_expanded(seed):
    field = made_field(seed, 3)
    for depth, budget in ((1, 3), (2, 7), (3, 20), (3, 84)):
        one = grow_tree(field, Parameters(depth, 16, budget))
        totals = by_hand(field, depth)
        assert one.paths == set(sorted(totals, key=lambda path: -totals[path])[:budget])
    chain = static_tree(field, shapes.paths_of(shapes.chain(3)))
    assert grow_tree(field, Parameters(3, 1, 3)).paths == chain.paths, "width 1 is a chain"
    assert chain.tree.is_chain


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 40),
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([0.0, 0.02, 2.0]),
    st.sampled_from([0.3, 3.0, 30.0]),
)
def test_no_guess_is_kept_without_its_parent(seed, width, budget, way, round_to, scale):
    """With a probability near 1, a child's rounded total equals its parent's; both must be kept."""
    field = made_field(seed, 3, scale, round_to)
    one = grow_tree(field, Parameters(3, width, budget), KINDS[way])
    kept = set(one.kept)
    assert all(one.growth.parents[node] in kept for node in one.kept if node)
    assert len(one.kept) == 1 + min(budget, len(one.order))
    mask = one.tree.mask()
    for node in range(len(one.tree)):
        assert mask[node].nonzero().flatten().tolist() == list(one.tree.path(node))
        assert one.tree.depths[node] == int(mask[node].sum()) - 1
    totals = [one.growth.totals[node] for node in one.order]
    assert all(a >= b for a, b in pairwise(totals))


def test_static_tree_uses_the_top_ranks_and_stops_at_end_tokens():
    field = made_field(3, 3)
    one = static_tree(field, shapes.paths_of(shapes.regular_tree(2, 2)))
    first = field.rows[()].tokens[:2]
    assert one.paths == {
        *((token,) for token in first),
        *((token, after) for token in first for after in field.rows[token,].tokens[:2]),
    }
    over = static_tree(replace(field, eos=[first[0]]), shapes.paths_of(shapes.regular_tree(2, 2)))
    assert {path for path in one.paths if path[0] != first[0] or len(path) == 1} == over.paths


def test_path_missing_in_a_recording_is_reported_and_not_expanded():
    field = made_field(1, 2)
    best = field.rows[()].tokens[0]
    cut = replace(field, rows={path: row for path, row in field.rows.items() if path != (best,)})
    one = grow_tree(cut, Parameters(2, 4, 30))
    assert [one.path(node) for node in one.missing] == [(best,)]
    assert not any(len(path) == 2 and path[0] == best for path in one.paths)


def test_invalid_position_file_raises_readable_error():
    for text in ("", "{}", "[1]", '{"format": "specviz-field", "version": 2}'):
        with pytest.raises(PositionError, match="position"):
            RecordedPosition.from_text(text)
    lines = made_field(5, 1).to_text().splitlines()
    row = json.loads(lines[1])
    with pytest.raises(PositionError, match="incomplete row"):
        RecordedPosition.from_text("\n".join([lines[0], json.dumps(row | {"p": [0.5]})]))


@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_expected_accepted_length_is_the_mean_over_all_verdicts(seed, cold):
    """Enumerate the point-mass rule and compare with a sum of products of p."""
    field = made_field(seed, 3)
    one = grow_tree(field, Parameters(2, 3, 7))
    world = PositionModels(field)
    say = world.greedy if cold else world.p
    p = torch.stack([say(one.path(node)) for node in one.kept])
    tokens = (0, *(world.index_of[token] for token in one.tree.tokens[1:]))
    tree = DraftTree(tokens, one.tree.parents)
    found = sum(
        mass * len(verdict.path)
        for mass, verdict in verdicts(make_rule("point-mass"), tree, Drawn.POINT_MASS, p, {})
    )
    if cold:
        path = world.verify(one, Chance(1, 1), cold=True).path
        assert found == pytest.approx(len(path))
    else:
        assert found == pytest.approx(estimate_acceptance(field, one, []).length(one.kept)["exact"])


def blind_field(rows, logs):
    """Return a position whose drafter gives every path of a depth the same guesses 1, 2, ….

    Args:
        rows: The target's p of these guesses, by path.
        logs: The drafter's log-probabilities by depth.
    """
    found = {}
    for path, p in rows.items():
        tokens = list(range(1, len(p) + 1))
        top = max(tokens, key=lambda token: p[token - 1])
        found[path] = Row(tokens, list(logs[len(path)]), p, top, max(p))
    return replace(as_position(EXAMPLES[0]), rows=found, deepest=len(logs), width=len(logs[0]))


def test_guess_contradicts_its_branch_if_it_fits_only_after_another_guess():
    """‘New York’ and ‘San Francisco’; the drafter knows the words, not which follows which."""
    new, san = 1, 2
    york, francisco = 1, 2
    logs = [[math.log(0.6), math.log(0.4)]] * 2
    p = {(): [0.6, 0.4], (new,): [0.9, 0.001], (san,): [0.001, 0.9]}
    one = grow_tree(blind_field(p, logs), Parameters(2, 2, 6))
    found = contradictions(blind_field(p, logs), one)
    named = {one.path(node): one.path(other) for node, other in found.items()}
    assert named == {(new, francisco): (san, francisco), (san, york): (new, york)}
    unsure = p | {(san,): [0.059, 0.3]}  # p of 0.3 is less than q, so this word fits nowhere
    assert set(contradictions(blind_field(unsure, logs), one)) == {
        node for node, path in enumerate(map(one.path, range(7))) if path == (san, york)
    }
    near = p | {(san,): [0.061, 0.9]}  # more than a tenth of q
    assert len(contradictions(blind_field(near, logs), one)) == 1
    knows = blind_field(p, logs)
    knows.rows[san,].logs[:] = [math.log(0.59), math.log(0.41)]
    assert not contradictions(knows, one), "a drafter that reads the guess before"


@pytest.mark.parametrize("seed", range(3))
def test_contradictions_are_those_of_all_pairs_of_branches(seed):
    made = made_field(seed, 3, scale=4.0)
    logs = [made.rows[(1,) * depth].logs for depth in range(4)]
    field = blind_field({path: row.p for path, row in made.rows.items()}, logs)
    one = grow_tree(field, Parameters(3, WORDS, 84))
    p, q = {}, {}
    for path, row in field.rows.items():
        for token, chance, log in zip(row.tokens, row.p, row.logs, strict=True):
            p[*path, token], q[*path, token] = chance, math.exp(log)
    inside = {one.path(node) for node in range(1, len(one.growth.tokens))}
    expected = {
        path
        for path, other in product(inside, repeat=2)
        if len(path) == len(other) and path[-1] == other[-1]
        and p[path] < 0.1 * q[path] and p[other] >= q[other]
    }  # fmt: skip
    found = contradictions(field, one)
    assert {one.path(node) for node in found} == expected
    assert expected, "the test is about some"
    for node, other in found.items():
        alike = [path for path in inside if len(path) == len(one.path(node))]
        best = max((path for path in alike if path[-1] == one.path(node)[-1]), key=p.get)
        assert p[one.path(other)] == p[best]


class ByPath:
    """Random numbers by path, which do not change when nodes are renumbered."""

    def __init__(self, paths):
        self.paths = paths

    def judge(self, node):
        return Chance(7, 1).judge(hash(self.paths[node]) % 10**6)

    def final(self):
        return 0.5


@pytest.mark.parametrize("seed", range(3))
def test_verdict_does_not_depend_on_the_numbering_of_nodes(seed):
    """Compare numbering by level, as trees grow, with numbering by branch."""
    field = made_field(seed, 3)
    one = grow_tree(field, Parameters(3, 3, 12))
    world = PositionModels(field)
    paths = [one.path(node) for node in one.kept]
    order = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(one.tree.children[node])
    found = []
    for numbering in (list(range(len(paths))), order):
        new = {old: at for at, old in enumerate(numbering)}
        parents = tuple(new[one.tree.parents[old]] if old else -1 for old in numbering)
        mine = [paths[old] for old in numbering]
        tokens = (0, *(world.index_of[path[-1]] for path in mine[1:]))
        p = torch.stack([world.p(path) for path in mine])
        rule = make_rule("point-mass")
        verdict = rule.judge(DraftTree(tokens, parents), Drawn.POINT_MASS, p, {}, ByPath(mine))
        found.append([mine[node] for node in verdict.path])
    assert found[0] == found[1]


def test_rounding_examples_equal_their_known_values():
    """Ties are counted at the cut between kept and dropped guesses."""
    ranked = {each.name: rank_all_ways(as_position(each), each.parameters) for each in EXAMPLES}
    found = {name: {one.way: one for one in ways} for name, ways in ranked.items()}
    deep = {way: one.grown.growth.totals[-2:] for way, one in found["deep-sum"].items()}
    assert deep["sum bfloat16"] == [-5.8125, -5.8125]
    assert deep["product bfloat16"] == pytest.approx([0.0030060, 0.0029449], abs=5e-8)
    assert deep["sum float16"] == pytest.approx([-5.8086, -5.8281], abs=5e-5)
    near = {way: one.grown.growth.totals[-2:] for way, one in found["near-one"].items()}
    assert near["product bfloat16"] == [1.0, 1.0]
    assert near["sum bfloat16"][0] > near["sum bfloat16"][1]
    assert found["underflow"]["product float16"].zeros == 2
    assert not found["underflow"]["product float32"].zeros
    other = found["other-tree"]
    assert {way for way, one in other.items() if one.gained} == {"product bfloat16", "sum bfloat16"}
    ends = {way: len(set(one.grown.growth.totals[-4:])) for way, one in found["orders"].items()}
    assert (ends["product float32"], ends["sum float32"]) == (3, 2) or ends["product float32"] > 1
    child = found["orphan"]["sum bfloat16"].grown.growth
    assert child.totals[-1] == child.totals[child.parents[-1]], "no tie with the parent"


def test_ranking_without_a_tie_rule_can_omit_a_parent():
    field = as_position(next(one for one in EXAMPLES if one.name == "orphan"))
    for one in rank_all_ways(field, Parameters(2, 4, 6)):
        assert all(one.grown.growth.parents[node] for node in one.orphans)
        assert one.way == "sum bfloat16" or not one.orphans


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_tree_with_parents_shifted_by_one_is_judged_on_its_actual_paths(recipe):
    """If the recorded position contains such a wrong path, p comes from the pass over that path."""
    field = shipped_position(recipe.name)
    one = grow_tree(field, judging.SIZE)
    wrong = DraftTree(one.tree.tokens, tuple(judging.shift_parents(one.tree.parents)))
    for node, parent in enumerate(one.tree.parents[1:], 1):
        assert wrong.parents[node] == max(0, parent - 1)
    known = 0
    for node in range(1, len(wrong)):
        *above, token = (wrong.tokens[each] for each in wrong.path(node)[1:])
        row = field.rows.get(tuple(above))
        if row is not None and token in row.tokens:
            p = row.p[row.tokens.index(token)]
            assert field.p_off_by_one[node] == pytest.approx(p, abs=1e-4)
            known += 1
    assert known
    p = [target_probabilities(field, one)[node] for node in one.kept]
    right = judging.expected_length(one.tree.parents, one.tree.tokens, p)
    assert right == pytest.approx(estimate_acceptance(field, one, []).length(one.kept)["exact"])


def test_repeated_sibling_adds_no_expected_tokens():
    assert judging.expected_length([-1, 0, 0, 0], [9, 4, 4, 5], [1.0, 0.5, 0.5, 0.25]) == 0.75


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_recorded_positions_support_every_setting_of_the_controls(recipe):
    field = shipped_position(recipe.name)
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == {one.name for one in recipes()}
    assert (field.drafter, field.target, field.title) == (recipe.drafter, "house", recipe.title)
    for width, depth in ((1, 7), (2, 3), (4, 7), (7, 1), (10, 3), (10, 7)):
        one = grow_tree(field, Parameters(depth, width, 63))
        assert not one.missing
        assert len(one.kept) > min(depth, field.deepest)
    for place, row in field.rows.items():
        assert sum(row.p) <= 1.0 + 1e-4, place
        assert row.top_p >= max(row.p, default=0.0) - 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("drawn", sorted(SAMPLING_MODES))
def test_traversal_accepts_at_least_as_many_tokens_as_the_root_first_rule(drawn):
    world = PositionModels(made_field(4, 3))
    found = average(world, (2, 2), SAMPLING_MODES[drawn], 60, 1)
    assert found.lengths["traversal"] >= found.lengths["top-down"] - 3 * found.error
    draft = world.draft((2, 2), SAMPLING_MODES[drawn], Chance(3, 1))
    kept = {"top-down": 0, "traversal": 0}
    for number in range(300):
        for way, verdict in draft.verdicts(Chance(11, number)).items():
            kept[way] += len(verdict.path)
    for way, expected in draft.expected().items():
        assert kept[way] / 300 == pytest.approx(expected, abs=0.25)


def test_trees_sampled_without_replacement_have_their_shape_and_no_repeats():
    world = PositionModels(made_field(4, 4))
    for widths in SHAPES:
        draft = world.draft(widths, Drawn.WITHOUT_REPLACEMENT, Chance(5, 2))
        assert len(draft.tree) == 1 + sum(math.prod(widths[: d + 1]) for d in range(len(widths)))
        for kids in draft.tree.children:
            assert len({draft.tree.tokens[kid] for kid in kids}) == len(kids)
        for law in draft.q.values():
            assert int((law > 0).sum()) == TOP_Q
            assert law[-1] == 0, "q has nothing in the lump"


def test_cost_of_a_guess_is_the_time_that_it_adds_to_the_pass():
    sweep = Sweep.shipped()
    costs = [fitted_pass_cost(sweep, 1 + guesses) for guesses in range(4)]
    assert costs[0] == 1.0
    assert None not in costs
    assert fitted_pass_cost(sweep, 65) is None
    found = marginal_prices([1.0, 1.5, 1.8, 1.9], costs)
    step = costs[1] - 1.0
    assert found == pytest.approx([step, 1.5 / costs[1] * step, 1.8 / costs[2] * step])


@pytest.mark.slow
@settings(max_examples=30)
@given(st.randoms(use_true_random=False), st.lists(st.floats(30, 110), min_size=60, max_size=60))
def test_drawing_of_sixty_guesses_has_no_overlaps_or_crossing_edges(random, widths):
    parents = [-1] + [random.randrange(max(0, node - 12), node) for node in range(1, 60)]
    places = tree_layout(parents, widths).places
    boxes = sorted((y, x, x + widths[node]) for node, (x, y) in places.items())
    for (y, _, right), (below, left, _) in pairwise(boxes):
        assert below > y or left >= right + GAP - 1e-6, "in one row, a gap apart"
    for node, (x, y) in places.items():
        if not node or y == places[parents[node]][1]:
            continue
        from_x, top = places[parents[node]]
        turn = from_x + 14  # an edge goes down below its parent's pill, then right
        for other, (left, middle) in places.items():
            right = left + widths[other]
            assert not (left < turn < right and top < middle < y), "passes a pill on the way down"
            assert not (turn < right and left < x and middle == y), "passes a pill on the way right"
