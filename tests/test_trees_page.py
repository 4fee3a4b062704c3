"""The answers of the Trees tab: complete for every recorded position, errors of one sentence.

Every family on which trees grow also walks through a text.
"""

import json
import re
from collections import Counter
from dataclasses import replace

import families
import pytest
import torch
from asking import ask

from specviz.drafters.common.dynamic_tree import SUMS
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trees import judging, ranking, rounding
from specviz.trees.grown_tree import grow_tree, static_tree
from specviz.trees.ranking import Tally
from specviz.trees.recorded_position import (
    RecordedPosition,
    is_position_file,
    recipes,
    shipped_position,
)
from specviz.trees.recording import TEMPERATURE_ONE, Walk
from specviz.trees.shapes import BadTree, Parameters
from specviz.ui.lossless.rounding import Lab, off_by_one
from specviz.ui.lossless.rounding import respond as rank
from specviz.ui.trees.drawing import HELD, LIVE, MOST
from specviz.ui.trees.grow import wanted
from specviz.ui.trees.grow.answer import answer as grow
from specviz.ui.trees.judging import TITLES
from specviz.ui.trees.judging import respond as judge
from specviz.ui.trees.ranking import respond as order
from specviz.verification.distributions import logits_to_probs
from specviz.verification.tree import DraftTree

SIZE = {"depth": 4, "width": 3, "budget": 10}
PLACE = recipes()[0].name
GROWS = ("eagle", "eagle2", "eagle3", "medusa", "moa", "lmtp", "layerskip", "oracle")


def asked(of, **changes):
    """Return the answer to the usual request with some changes."""
    usual = {"place": PLACE, "kind": "dynamic", "tree": SIZE, "seed": 1, "cold": False}
    return ask(of, usual | changes)


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_steps_of_tree_growth_end_with_the_verdict(recipe):
    found = asked(grow, place=recipe.name)
    steps = found["steps"]
    kinds = [step["kind"] for step in steps]
    assert [kinds[0], *kinds[-3:]] == ["start", "rerank", "mask", "verify"]
    born = [step["born"] for step in steps]
    assert born == sorted(born)
    assert born[-1] == len(found["nodes"])
    kept = [node for node, one in enumerate(found["nodes"]) if one["row"] is not None]
    assert found["kept"] == kept
    assert [found["nodes"][node]["row"] for node in kept] == list(range(len(kept)))
    assert len(found["mask"]) == len(found["positions"]) == len(kept) == 11
    drawn = found["layouts"]
    assert (len(drawn["all"]["places"]), len(drawn["kept"]["places"])) == (born[-1], len(kept))
    thrown = next(one for one in found["lengths"] if one["name"] == "thrown")
    assert thrown["value"] == len(found["verdict"]["path"])


def test_static_tree_shapes_can_be_shown_at_the_same_position():
    for kind in ("chain", "regular", "eagle-25", "medusa-63", "optimised"):
        found = asked(grow, kind=kind)
        assert found["steps"][-2]["kind"] == "mask"
        assert all(node["row"] is not None for node in found["nodes"]), "nothing is dropped"
    own = asked(grow, kind="own", own="[-1, 0, 0, 1]")
    assert own["views"]["parents"] == [-1, 0, 0, 1]
    assert own["views"]["rank_paths"] == "0;1;0,0"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tree": SIZE | {"budget": 0}}, "The budget must be an integer from 1"),
        ({"tree": SIZE | {"depth": 0}}, "The depth must be an integer from 1"),
        ({"tree": SIZE | {"width": 99}}, "branching (top-k)"),
        ({"tree": {"depth": 4}}, "three numbers"),
        ({"kind": "own", "own": "[-1, 2, 1]"}, "form a cycle"),
        ({"kind": "bush"}, "The shape must be one of"),
        ({"place": "nowhere"}, "no recorded position"),
        ({"place": "live:gone"}, "has expired"),
        ({"seed": -1}, "The seed"),
    ],
)
def test_invalid_tree_request_returns_readable_error(changes, says):
    found = asked(grow, **changes)
    assert says in found["problem"]


RANKED = {"tree": PLACE, "how": "sum", "dtype": "bfloat16", "seen": PLACE, "study": 0}
JUDGED = {"place": PLACE, "shape": 0, "drawn": "sampled", "seed": 1, "average": False}


def test_malformed_request_returns_readable_error():
    assert "not valid JSON" in ask(grow, "{")["problem"]
    for of, values, says in (
        (rank, RANKED | {"tree": "example:none"}, "no recorded position"),
        (rank, RANKED | {"tree": "live:gone"}, "has expired"),
        (judge, JUDGED | {"drawn": "top"}, "The sampling must be one of"),
        (judge, JUDGED | {"shape": 77}, "The shape"),
        (judge, JUDGED | {"seed": 0.5}, "The number of the tree"),
    ):
        with pytest.raises(ValueError, match=says):
            of(values)


def points_of(figure):
    """Return the hover texts of a tree's guesses."""
    return json.loads(figure)["data"][-1]["hovertext"]


def test_ranking_compares_eight_methods_and_shows_a_case_study():
    found = rank(RANKED)
    assert found["ways"].count("\n") == 9
    assert "**sums of logs, bfloat16** | **1** | **2** | **0** | **2.200**" in found["ways"]
    hints = Counter(text.split("<br>")[-1] for text in points_of(found["ranked"]))
    assert hints["kept only here"] == hints["kept only in exact ranking"] == 1
    assert hints["kept, as in exact ranking"] == 58
    assert found["said"].startswith("1 guess is kept here that exact ranking drops (‘␣this ␣was’)")
    assert found["answer"].startswith("In float32, products and sums of logs give exactly the same")
    assert "975,748 rounds" in found["claim"]


def test_exact_ranking_by_products_and_by_sums_of_logs_is_the_same():
    for recipe in recipes():
        for how in ("product", "sum"):
            found = order({"tree": recipe.name, "how": how})
            assert "in the same order" in found["answer"], (recipe.name, how)
            assert "kept, as in exact ranking" in points_of(found["ranked"])[1]


def test_wrong_parents_shorten_the_accepted_text():
    found = off_by_one({"tree": PLACE})
    assert "falls from 1.46 to 0.70" in found["answer"]
    assert "expected accepted length 1.46" in found["right_said"]
    assert "expected accepted length 0.70" in found["wrong_said"]


def test_example_chosen_anew_is_ranked_in_the_way_that_shows_it_best():
    found = rank(RANKED | {"tree": "example:other-tree"})
    assert (found["how"], found["dtype"]) == ("product", "bfloat16")
    assert "accepted length" not in found["ways"]
    again = rank(RANKED | {"tree": "example:other-tree", "seen": "example:other-tree"})
    assert (again["how"], again["dtype"]) == ("sum", "bfloat16"), "then the visitor's choice"


def test_trees_of_the_ranking_have_every_guess_that_some_way_keeps():
    lab = Lab.of(PLACE)
    paths = lab.paths()
    assert paths[0] == ()
    assert all(path[:-1] in paths for path in paths[1:])
    for way, one in lab.trees.items():
        assert set(paths) >= one.grown.paths
        assert len(one.gained) == len(one.lost), way


@pytest.mark.slow
def test_case_study_verdicts_accept_the_stated_number_of_tokens_on_average():
    field = shipped_position(recipes()[0].name)
    tree = grow_tree(field, judging.SIZE).tree
    parents, p = judging.shift_parents(tree.parents), field.p_off_by_one
    kept = [len(judging.accepted_nodes(parents, tree.tokens, p, Chance(s, 1))) for s in range(600)]
    expected = judging.expected_length(parents, tree.tokens, p)
    assert sum(kept) / 600 == pytest.approx(expected, abs=0.12)


def test_two_rules_judge_the_same_sampled_tree():
    found = judge(JUDGED | {"shape": 2, "drawn": "without-replacement"})
    words = [re.findall(r"<b>(.*?)</b>", "".join(points_of(found[way]))) for way in TITLES]
    assert words[0] == words[1], "one tree"
    for way in TITLES:
        kept = sum(", accepted<br>" in text for text in points_of(found[way]))
        rows = found[f"{way}_coins"].count("\n") - 1
        assert f"After {rows} coin" in found[f"{way}_said"]
        assert rows >= kept or way == "traversal"
    first = judge(JUDGED)
    assert first["answer"] != judge(JUDGED | {"seed": 2})["answer"]
    assert first["average"] == ""


@pytest.mark.slow
def test_average_over_trees_says_that_traversal_accepts_no_fewer():
    said = judge(JUDGED | {"average": True})["average"]
    assert said.startswith("Over 600 sampled trees")
    assert "a difference of +" in said


def test_recorded_position_round_trips_for_any_prompt():
    field = replace(shipped_position(PLACE), prompt="one\u2028two\x85three\nfour")
    assert is_position_file(field.to_text())
    assert RecordedPosition.from_text(field.to_text()) == field


def test_live_positions_are_cached_for_a_limited_time():
    for number in range(MOST + 1):
        HELD.keep(f"test-{number}", shipped_position(PLACE))
    assert HELD.find(LIVE + "test-0") is None
    assert "nodes" in asked(grow, place=f"{LIVE}test-{MOST}")


def test_invalid_live_request_returns_readable_error():
    for changes, says in (
        ({"prompt": ""}, "Enter a prompt"),
        ({"skip": 65}, "0 to 64"),
        ({"drafter": "/etc"}, "No drafter is called"),
    ):
        wish = {"prompt": "a", "drafter": "eagle3", "skip": 0} | changes
        with pytest.raises(ValueError, match=says):
            wanted(None, json.dumps(wish))


@pytest.mark.parametrize("name", GROWS)
def test_recorded_position_has_predictions_for_every_path(name):
    """Compute each path again in a separate walk, and the target's part by one plain pass."""
    target = families.target_of(name)
    drafter = families.KNOWING_NOTHING[name](target)
    ids = target.encode("The cat saw the", 9)
    chosen = Settings(Sampling(1.0), seed=2)
    walk = Walk(target, drafter, ids, chosen)
    walk.step()
    deep = min(3, walk.predictor.max_depth)
    shape = [(0,), (1,), (0, 0), (1, 0)]
    field, _ = walk.record([(Parameters(deep, 2, 9), SUMS)], [shape])
    one = grow_tree(field, Parameters(deep, 2, 9))
    assert not one.missing
    assert len(one.tree) > deep
    for path, row in list(field.rows.items())[:4]:
        again = Walk(target, drafter, ids, chosen)
        again.step()
        assert again.text == walk.text
        tree = DraftTree.chain(again.text[-1], path)
        for node in range(len(tree)):
            tokens, parents = tree.tokens[: node + 1], tree.parents[: node + 1]
            with torch.inference_mode():
                logits = again.predictor.logits_after(again.text, tokens, parents, [node])
        logs = logits.float().log_softmax(-1)[0, row.tokens]
        assert torch.allclose(logs, torch.tensor(row.logs), atol=2e-4)
        with torch.inference_mode():
            plain = target.model(torch.tensor([[*again.text, *path]])).logits[0, -1]
        p = logits_to_probs(plain, TEMPERATURE_ONE)
        assert torch.allclose(p[row.tokens], torch.tensor(row.p).double(), atol=1e-4)
    assert static_tree(field, shape).paths >= {(token,) for token in field.rows[()].tokens[:2]}


def test_tree_cannot_grow_on_a_drafter_that_predicts_only_after_the_text():
    case = families.CASES["ngram"]
    target = case.target()
    with pytest.raises(BadTree, match="Trees cannot grow on this drafter"):
        Walk(target, case.drafter(target), [1, 2, 3], Settings())


def test_acceptance_by_rank_is_measured_on_text_that_the_target_wrote():
    """The oracle knows the target's distribution, so mean p falls by rank and not by depth."""
    case = families.CASES["oracle"]
    target = case.target()
    found = ranking.measure_rank_acceptance(
        target, case.drafter(target), [[1, 2, 3]], Settings(Sampling(1.0), max_new_tokens=8)
    )
    assert found.positions == 7
    for row in found.by_depth:
        assert row == sorted(row, reverse=True)
        assert sum(row) <= 1.0 + 1e-6


def test_rounding_study_is_shown_as_stored():
    data = rounding.load_study()
    assert set(ranking.shipped_tables()) >= set(data["drafters"])
    for ways in data["drafters"].values():
        for size, rows in ways.items():
            assert rows["sum float64"]["gain"] == 0.0, size
            share = f"{100 * rows['sum bfloat16']['differ']:.0f}%"
            assert share in rounding.verdict(rows, 240, 59)
            low, high = rows["sum bfloat16"]["gain_interval"]
            assert low <= rows["sum bfloat16"]["gain"] <= high


def test_rounds_needed_and_bootstrap_interval_distinguish_a_gain_from_noise():
    rounds = rounding.rounds_needed(0.006, 2.0)
    assert rounds > 800_000
    assert rounding.noise_bound(2.0, rounds) == pytest.approx(0.006, rel=1e-3)
    tally = Tally([{"places": 2.0, "gain": value} for value in (0.0, 0.2, 0.4, -0.1)])
    low, high = tally.interval("gain", draws=400)
    assert tally.mean("gain") == pytest.approx(0.0625)
    assert low < 0.0625 < high
