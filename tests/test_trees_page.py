"""The answers of the Trees tab: complete for every recorded position, errors of one sentence.

Every family on which trees grow also walks through a text.
"""

import json
import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import families
import numpy as np
import pytest
import torch

from specviz.drafters.common.dynamic_tree import SUMS
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import BrokenFile
from specviz.trace.rule_specs import Drawn
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
from specviz.ui.instrument import verbatim
from specviz.ui.lossless.rounding import Lab, off_by_one, studied
from specviz.ui.lossless.rounding import respond as rank
from specviz.ui.trees import ranking as ranking_page
from specviz.ui.trees.drawing import HELD, LIVE, MOST
from specviz.ui.trees.grow import (
    GrowQuestion,
    first_prompt,
    moved,
    picked_guess,
    preset_size,
    wanted,
)
from specviz.ui.trees.grow import respond as grow
from specviz.ui.trees.grown import GrownView
from specviz.ui.trees.judging import TITLES
from specviz.ui.trees.judging import respond as judge
from specviz.ui.trees.ranking import respond as order
from specviz.verification import make_rule
from specviz.verification.distributions import logits_to_probs
from specviz.verification.tree import DraftTree

PLACE = recipes()[0].name
GROWS = (
    "eagle", "eagle2", "eagle3", "medusa", "moa", "lmtp", "layerskip", "dflash", "jetspec",
    "oracle",
)  # fmt: skip
GROWN = {
    "place": PLACE, "kind": "dynamic", "depth": 4, "width": 3, "budget": 10, "own": "", "seed": 1,
    "cold": "warm", "step": 500, "last": 0, "shown": "all", "zoom": 1, "picked": 0,
    "prompt": first_prompt(),
}  # fmt: skip


def view_of(**changes):
    return GrownView.of(GrowQuestion.of(GROWN | changes))


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_steps_of_tree_growth_end_with_the_verdict(recipe):
    view = view_of(place=recipe.name)
    kinds = [step.kind for step in view.steps]
    assert [kinds[0], *kinds[-3:]] == ["start", "rerank", "mask", "verify"]
    born = [step.born for step in view.steps]
    assert born == sorted(born)
    drawn = grow(GROWN | {"place": recipe.name})
    hints = points_of(drawn["tree"])
    assert len(hints) == born[-1] - 1
    assert sum(text.endswith("dropped") for text in hints) == born[-1] - 11
    assert len(points_of(grow(GROWN | {"place": recipe.name, "shown": "kept"})["tree"])) == 10
    assert np.array(json.loads(drawn["mask"].value)["data"][0]["z"]).shape == (11, 11)
    bars = json.loads(drawn["lengths"])["data"][0]
    assert bars["text"][-1] == str(len(view.accepted))


def test_growing_tree_shows_only_what_is_known_at_its_step():
    view = view_of()
    for number, step in enumerate(view.steps, 1):
        found = grow(GROWN | {"step": number, "picked": 1})
        assert len(points_of(found["tree"])) == step.born - 1, step.kind
        assert found["mask"].visible == (step.kind in ("rerank", "mask", "verify"))
        judged = step.kind == "verify"
        assert ("?" in json.loads(found["lengths"])["data"][0]["text"]) == (not judged)
        assert ("coin u" in found["selected"]) == judged
    places = [json.loads(grow(GROWN | {"step": n})["tree"])["data"][-1] for n in (3, 4)]
    assert places[1]["x"][: len(places[0]["x"])] == places[0]["x"], "guesses do not move sideways"


def test_contradicting_guesses_are_marked_listed_and_counted_after_the_verdict():
    for name, number in (("5-moa-maths", 0), ("7-dflash-maths", 2), ("8-jetspec-maths", 4)):
        view = view_of(place=name)
        found = grow(GROWN | {"place": name})
        assert len(view.kept_contradictions) == number
        assert sum("contradicts" in hint for hint in points_of(found["tree"])) == len(
            view.contradictions
        )
        drawn = json.loads(grow(GROWN | {"place": name, "shown": "kept"})["tree"])["data"]
        signs = [text for trace in drawn for text in trace.get("text", ()) if text == "≠"]
        assert len(signs) == number
        assert found["misfits"].count("\n- ") == number
        rows = re.findall(r"\| (\*\*)?[^|]+?\1? \| 10 \| (\d+) \| [\d.]+ \|", found["misfits"])
        assert [count for _, count in rows] == ["0", "2", "4"]
        before = grow(GROWN | {"place": name, "step": len(view.steps) - 1})
        assert "≠" not in before["tree"]
        assert "10" not in before["misfits"]
    view = view_of(place="7-dflash-maths")
    node = next(iter(view.kept_contradictions))
    picked = grow(GROWN | {"place": "7-dflash-maths", "picked": view.one.order.index(node) + 1})
    assert "≠ contradicts its branch | yes" in picked["selected"]
    assert "| Drafter |" not in grow(GROWN)["misfits"], "the only drafter at its position"


def test_last_step_stays_the_last_one_if_the_tree_gets_another_size():
    last = grow(GROWN)["last"]
    deeper = grow(GROWN | {"step": last, "last": last, "depth": 6})
    assert deeper["step"].value == deeper["last"] > last
    assert moved({"step": last, "last": last}, 1) == {"step": 1}
    assert moved({"step": 1, "last": last}, -1) == {"step": last}


def test_selected_guess_is_lit_with_its_path_and_described():
    view = view_of()
    deep = view.accepted[-1]
    event = SimpleNamespace(customdata=deep)
    rank = picked_guess(event, GROWN)["picked"]
    assert view.one.order[rank - 1] == deep
    found = grow(GROWN | {"picked": rank})
    words = [verbatim(view.word(node)) for node in view.path(deep)]
    assert found["text"].endswith(" → ".join(words))
    assert f"rank among candidates | {rank} of 30" in found["selected"]
    assert len(json.loads(found["mask"].value)["layout"]["shapes"]) == 2, "its row and column"
    assert picked_guess(SimpleNamespace(customdata=0), GROWN) == {"picked": 0}


def test_static_tree_shapes_can_be_shown_at_the_same_position():
    for kind in ("chain", "regular", "eagle-25", "medusa-63", "optimised"):
        found = grow(GROWN | {"kind": kind})
        assert not any(text.endswith("dropped") for text in points_of(found["tree"])), kind
        assert found["budget"]["visible"] == (kind == "optimised")
    own = grow(GROWN | {"kind": "own", "own": "[-1, 0, 0, 1]"})
    assert "\n```\n[-1,0,0,1]\n```" in own["formats"]
    assert "\n```\n0;1;0,0\n```" in own["formats"]


def test_preset_is_a_dynamic_tree_of_its_size():
    kind, depth, width, budget = preset_size(1)
    size = {"kind": kind, "depth": depth, "width": width, "budget": budget}
    assert size == {"kind": "dynamic", "depth": 6, "width": 10, "budget": 59}
    assert grow(GROWN | size)["preset"] == 1
    assert grow(GROWN)["preset"] == -1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"budget": 0}, "The budget must be an integer from 1"),
        ({"depth": 0}, "The depth must be an integer from 1"),
        ({"width": 99}, r"branching \(top-k\)"),
        ({"depth": 1e9}, "The depth must be an integer"),
        ({"kind": "own", "own": "[-1, 2, 1]"}, "form a cycle"),
        ({"kind": "bush"}, "The shape must be one of"),
        ({"place": "nowhere"}, "no recorded position"),
        ({"place": "live:gone"}, "has expired"),
        ({"seed": None}, "The number of the coins"),
    ],
)
def test_invalid_tree_request_returns_readable_error(changes, says):
    with pytest.raises(ValueError, match=says):
        grow(GROWN | changes)


RANKED = {"tree": PLACE, "how": "sum", "dtype": "bfloat16", "seen": PLACE, "study": 0}
JUDGED = {"place": PLACE, "shape": 0, "drawn": "sampled", "seed": 1, "average": False}


def test_malformed_request_returns_readable_error():
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
    assert "In float32, products and sums of logs give exactly the same" in found["answer"]
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
def test_average_over_chains_names_block_verification():
    """It is traversal, whose verdicts on a chain are the same."""
    chain = judge(JUDGED | {"shape": 5, "drawn": "sampled", "average": True})["average"]
    assert chain.startswith("Over 600 sampled chains")
    assert "traversal (here block verification)" in chain
    assert "block" not in judge(JUDGED | {"shape": 0, "average": True})["average"]
    draft = judging.PositionModels(shipped_position(PLACE)).draft(
        (1, 1, 1), Drawn.SAMPLED, Chance(3, 1)
    )
    for seed in range(40):
        both = [
            make_rule(name).judge(draft.tree, draft.drawn, draft.p, draft.q, Chance(seed, 1))
            for name in ("traversal", "block")
        ]
        assert (both[0].path, both[0].final) == (both[1].path, both[1].final)


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
    assert "**live**" in grow(GROWN | {"place": f"{LIVE}test-{MOST}"})["source"]


def test_invalid_live_request_returns_readable_error():
    for changes, says in (
        ({"prompt": ""}, "Enter a prompt"),
        ({"skip": 65}, "0 to 64"),
        ({"drafter": "/etc"}, "No drafter is called"),
    ):
        wish = {"prompt": "a", "drafter": "eagle3", "skip": 0} | changes
        with pytest.raises(ValueError, match=says):
            wanted(**wish)


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


def test_advice_on_ranking_is_that_of_the_study():
    study = rounding.load_study()
    ways = [each for sizes in study["drafters"].values() for each in sizes.values()]
    products, sums = (
        max(each[f"{how} bfloat16"]["differ"] for each in ways) for how in ("product", "sum")
    )
    said = rounding.advice(study)
    assert f"sums of logs changed up to {100 * sums:.0f}% of the trees" in said
    assert f"products up to {100 * products:.0f}%" in said
    assert all(each["sum float32"]["differ"] == 0 for each in ways)
    assert "keep the totals in float32, and use either" in said
    assert said in order({"tree": recipes()[0].name, "how": "sum"})["answer"]


def test_both_answers_on_rounding_say_what_they_cover_and_link_each_other():
    study = rounding.load_study()
    many = sum(map(len, study["drafters"].values()))
    one = rank(RANKED | {"study": 1})["answer"]
    title = studied()[1].title
    assert one.startswith(f"{title} (one of {many} combinations of drafter and tree size): ")
    assert "(?tab=trees&part=ranking)" in one
    most = order({"tree": recipes()[0].name, "how": "sum"})["answer"]
    assert most.startswith("**Advice:**"), "it is the first line, also before it is opened"
    assert most.startswith(ranking_page.advised())
    assert f"the largest of {many} combinations of drafter and tree size" in most
    assert "(?tab=lossless&part=rounding)" in most


def test_damaged_study_removes_only_the_advice_on_ranking(monkeypatch):
    def damaged():
        raise BrokenFile(rounding.FILE, "is damaged")

    monkeypatch.setattr(ranking_page, "load_study", damaged)
    found = order({"tree": recipes()[0].name, "how": "sum"})["answer"]
    assert "in the same order" in found
    assert "Advice" not in found
