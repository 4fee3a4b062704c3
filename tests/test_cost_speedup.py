"""α and γ of the Cost tab, the speed-up formula and draft trees: sentences and figures."""

import json
import re
from itertools import pairwise
from math import log2

import pytest
from made import Recipe, made

from specviz.compare import storage
from specviz.compare.report import report
from specviz.cost import formula, tree_formula
from specviz.cost.formatting import format_decimals, format_speedup
from specviz.cost.formula import SpeedupModel, measured_point
from specviz.cost.sources import acceptances
from specviz.shipped import ASSETS
from specviz.trace import metrics
from specviz.ui.cost import pair, speedup, trees
from specviz.ui.cost.pair import Run, offered, origin, pair_of, read_runs
from specviz.ui.instrument import verbatim
from specviz.ui.step.lines import lines, point_data

RUN = {
    "alpha": 0.746, "gamma": 4.952, "guesses": 4.952, "c": 0.218,
    "verify": 1.468, "tokens": 2.952, "speedup": 1.148, "name": "EAGLE-3", "source": "recorded",
    "where": "House · here", "run": "05-eagle3",
}  # fmt: skip
HOSTILE = "<img src=x> [a](b) *c*"


def told(**changed):
    """Return the answer to the initial values with some changes; figures as data."""
    run = changed.pop("run", None)
    runs = json.dumps({"step": run, "compare": None})
    found = speedup.respond(speedup.START | {"runs": runs} | changed)
    figures = ("round", "speed", "time", "surface")
    return found | {name: json.loads(found[name]) for name in figures}


def trace(figure, name):
    """Return the trace of a figure that has this name."""
    return next(each for each in figure["data"] if each.get("name") == name)


def test_verification_cost_changes_the_best_gamma_and_the_speedup():
    terms = SpeedupModel(0.8, 0.1, 1.5)
    every = {gamma: formula.speedup(0.8, gamma, 0.1, 1.5) for gamma in range(1, 60)}
    best = max(every, key=every.get)
    assert terms.best() == formula.Optimum(best, every[best])
    assert f"γ = {best}: {every[best]:.2f} ×" in told(alpha=0.8, c=0.1, verify=1.5)["answer"]
    dear, cheap = SpeedupModel(0.8, 0.1, 4.0), SpeedupModel(0.5, 0.5, 0.9)
    assert dear.best() == formula.Optimum(0, 1.0), "plain decoding has no such pass"
    assert cheap.best().gamma == 1, "a first guess pays where checking is cheap"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"gamma": 0}, "With γ = 0 nothing is drafted"),
        ({"alpha": 0.1, "c": 0.5}, "no draft length pays: α must be greater than c."),
        ({"alpha": 0.9, "c": 0}, "longer drafts are always faster, approaching 10.00 ×"),
        ({"alpha": 0.2, "gamma": 8}, "drafting is slower here."),
    ],
)
def test_answer_says_when_drafting_does_not_pay(values, sentence):
    assert sentence in told(**values)["answer"]


def test_displayed_tokens_and_cost_of_a_round_equal_the_formulas():
    found = told(alpha=0.8, gamma=5, c=0.1, verify=1.2, c_hat=0.05)
    tokens = formula.expected_tokens(0.8, 5)
    bars = {each["name"]: each["x"] for each in found["round"]["data"]}
    assert bars == {
        f"tokens {tokens:.2f}": [tokens], "drafting 0.50": [0.5], "verification 1.20": [1.2],
    }  # fmt: skip
    for number in (f"{tokens:.2f}", f"{tokens / 1.7:.2f} ×", "1.69 ×"):
        assert f"**{number}**" in found["numbers"]
    plain_round = told(gamma=0, verify=2)["round"]["data"]
    assert [each["x"] for each in plain_round] == [[1], [0], [1]], "nothing is checked"


def test_curve_points_follow_the_formula():
    found = told(alpha=0.65, c=0.05, c_hat=0.05, gamma=3)
    curve = next(each for each in found["speed"]["data"] if each["line"]["width"] == 2.5)
    assert curve["x"] == list(range(17))
    assert curve["y"] == [formula.speedup(0.65, gamma, 0.05) for gamma in range(17)]
    work = trace(found["time"], "arithmetic")["y"]
    assert work == [formula.relative_operations(0.65, gamma, 0.05) for gamma in range(17)]
    assert trace(found["time"], "time")["y"] == [1 / value for value in curve["y"]]
    best = trace(found["speed"], "the best γ")
    assert (best["x"], best["y"]) == ([5], [formula.speedup(0.65, 5, 0.05)])
    assert trace(found["speed"], "your γ")["x"] == [3]
    long = told(alpha=0.9, c=0.01)["speed"]
    assert trace(long, "the best γ")["x"] == [24]
    assert long["layout"]["xaxis"]["range"][1] > 26, "the chart extends beyond the best γ"


@pytest.mark.parametrize("values", [{}, {"c": 0}, {"alpha": 1, "c": 0}, {"c": 2}, {"run": RUN}])
def test_curves_stay_inside_the_chart(values):
    layout, data = (told(**values)["speed"][name] for name in ("layout", "data"))
    for each in data:
        for axis in ("x", "y"):
            least, most = layout[f"{axis}axis"]["range"]
            assert all(least <= value <= most for value in each[axis] if value is not None)


def test_maps_show_the_speedup_at_each_point_and_the_best_gamma():
    found = told(alpha=0.6, gamma=3, c=0.2)["surface"]
    area = found["data"][0]
    at = area["x"].index(0.5), area["y"].index(4)
    assert area["z"][at[1]][at[0]] == pytest.approx(log2(formula.speedup(0.5, 4, 0.2)), abs=1e-3)
    ridge = [value for value in trace(found, "the best γ for each α")["y"] if value is not None]
    assert len(set(ridge)) > 5
    assert all(before <= after for before, after in pairwise(ridge))
    assert trace(found, "your α and γ")["y"] == [3]
    found = told(alpha=0.6, c=0.2, map="c")["surface"]
    area = found["data"][0]
    at = area["x"].index(0.8), area["y"].index(0.3)
    best = SpeedupModel(0.8, 0.3).best().speedup
    assert area["text"][at[1]][at[0]] == f"{best:.2f} ×"
    assert trace(found, "your α and c")["y"] == [0.2]


@pytest.mark.parametrize("name", speedup.LIMITS)
def test_invalid_number_raises_a_readable_error(name):
    for value in (None, "0.5", True, -1, 10**400, [], float("nan")):
        with pytest.raises(ValueError, match=rf"^{speedup.LIMITS[name][0]} must be .*\.$"):
            told(**{name: value})


def test_measured_run_is_compared_with_the_formula_at_its_own_values():
    found = told(run=RUN)
    point = Run.from_data(RUN).point
    assert point.predicted == formula.speedup(0.746, 4.952, 0.218, 1.468)
    assert f"predicts {format_speedup(point.predicted)}; the run measured 1.15 ×" in found["run"]
    assert f"(2.95, not {formula.expected_tokens(0.746, 4.952):.2f})" in found["run"]
    assert "tokens per pass" not in found["run"], "an older page's point"
    assert found["take"].interactive
    mark = trace(found["speed"], "measured")
    assert (mark["x"], mark["y"]) == ([4.952], [1.148])
    assert trace(found["speed"], "formula at the run’s values")["y"] == [point.predicted]
    assert trace(told(run=RUN, map="c")["surface"], "measured")["y"] == [0.218]
    missing = told(run=RUN, which="compare")
    assert "See it on Cost" in missing["run"]
    assert not missing["take"].interactive


def test_tokens_per_pass_of_a_run_are_those_that_step_and_compare_show():
    results = storage.read(ASSETS / "races" / "1-story")
    for name in ("Draft model", "EAGLE-3"):
        run = results.with_baseline(name)
        step, compare = metrics.summary(run)["tokens_per_pass"], report(results, name).brings
        point = point_data(measured_point(run))
        assert step == compare == pytest.approx(point["tokens_per_pass"], abs=1e-6)
        assert f"{point['tokens']:.2f}" != f"{step:.2f}", "rounds that drafted give more"
        assert f"| tokens per pass | {step:.2f} |" in told(run=point)["run"]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [Recipe(), Recipe(shape=(2, 2, 1))])
def test_stream_of_a_run_includes_its_measured_point(recipe):
    run = made(recipe)
    shown = [json.loads(x) for x in lines([run.header, *run.events], "recorded")]
    point = next(line["point"] for line in shown if line["kind"] == "baseline")
    found = measured_point(run)
    assert point["predicted"] == pytest.approx(found.predicted, abs=1e-6)
    for name in ("alpha", "gamma", "guesses", "c", "verify", "tokens", "speedup"):
        assert point[name] == pytest.approx(getattr(found, name), abs=1e-6)
    assert f"measured {format_speedup(found.speedup)}" in told(run=point)["run"]
    plain_run = made(Recipe(drafts=False))
    shown = [json.loads(x) for x in lines([plain_run.header, *plain_run.events], "recorded")]
    assert (shown[-1]["kind"], shown[-1]["point"]) == ("baseline", None)


def test_impossible_measured_run_raises_a_readable_error():
    for wrong in ({"gamma": 0}, {"alpha": 2}, {"c": None}, {"verify": -1}, {"speedup": 1e300}):
        with pytest.raises(ValueError, match="run"):
            told(run=RUN | wrong)
    for sent in ("a run", "[]", "[" * 3000, '{"step": 3}', '{"step": NaN}', " " * 9999):
        with pytest.raises(ValueError, match=r"run.*\.$"):
            read_runs(sent)
    assert read_runs(None) == {}


def test_charts_can_show_an_extremely_fast_run():
    run = RUN | dict.fromkeys(("gamma", "c", "verify", "tokens", "speedup"), 1e6)
    for name in ("gamma", "c"):
        assert trace(told(run=run, map=name)["surface"], "measured")


def test_names_of_runs_stay_text():
    run = RUN | {"name": HOSTILE, "source": "live"}
    assert (
        f"**Measured: {verbatim(HOSTILE)}, 1.15 ×** (measured on this machine)"
        in told(run=run)["run"]
    )
    runs = {"compare": Run.from_data(run)}
    sentence = origin(0.746, 4.95, "compare", runs)[1]
    assert sentence.startswith(f"α = 0.746, γ = 4.95 (measured: {verbatim(HOSTILE)} on House")


def test_origin_of_alpha_and_gamma_is_named():
    example, own = "α = 0.70, γ = 4 (an example).", "α = 0.50, γ = 4 (your own values)."
    assert origin(0.7, 4, "", {}) == ("", example)
    assert origin(0.5, 4, "", {}) == ("", own)
    eagle = next(each for each in acceptances() if each.name == "eagle3")
    source, sentence = origin(0.931, 6, "eagle3", {})
    assert source == "eagle3"
    assert sentence.startswith("α = 0.931, γ = 6 (published: EAGLE-3 on ")
    assert "the source itself states no α" in sentence, "it was derived"
    assert sentence.endswith(f"({eagle.source.url}).")
    other = origin(0.931, 3, "eagle3", {})[1]
    assert "γ = 3 (your own values)" in other
    assert origin(0.5, 4, "eagle3", {}) == ("", own), "the source has another α"
    runs = {"step": Run.from_data(RUN)}
    run = f"(measured: {verbatim('EAGLE-3 on House, recorded 05-eagle3')})."
    assert origin(*pair_of("step", runs), "step", runs)[1].endswith(run)
    with pytest.raises(ValueError, match="No run has been measured yet"):
        pair_of("step", {})


def test_every_published_source_is_offered_with_its_numbers():
    titles = {name: title for title, name in offered({"step": Run.from_data(RUN)})}
    assert titles["step"] == "last run on Step: EAGLE-3, α 0.75, γ 5.0"
    assert titles["compare"] == "lane of Compare"
    for each in acceptances():
        alpha, gamma = pair_of(each.name, {})
        assert (alpha, gamma) == (pytest.approx(each.effective_alpha, abs=5e-4), each.gamma)
        sentence = pair.how(each)
        assert verbatim(each.conditions) in sentence
        assert f"[{verbatim(each.source.title)}]({each.source.url})" in sentence
        assert ("the source itself states no α" in sentence) is each.derived
        assert (f"γ {each.gamma}" in titles[each.name]) is (each.gamma is not None)


def test_numbers_are_shown_with_all_their_significant_digits():
    numbers = {0.7: "0.70", 0.125: "0.125", 1: "1.00", 0.00049: "0.0005"}
    assert {value: format_decimals(value) for value in numbers} == numbers
    assert (format_decimals(6, 0), format_decimals(4.952, 0)) == ("6", "4.952")
    speeds = {1: "1.00 ×", 1.003: "1.003 ×", 1.98: "1.98 ×", 0.9999: "0.9999 ×"}
    assert {value: format_speedup(value) for value in speeds} == speeds


def test_displayed_expected_tokens_of_trees_equal_the_formula():
    found = trees.respond(trees.START | {"widths": "2,2", "places": "0.65 0.10636"})
    chances = [0.65, 0.10636]
    parents = tree_formula.best_tree(chances, 6)
    keep = tree_formula.acceptance_by_position(parents, chances)
    best = sum(tree_formula.path_probabilities(parents, keep))
    chain = formula.expected_tokens(0.65, 6)
    faster = f"{2.328449 / 1.2:.2f} ×"  # a level costs c
    assert f"| Your tree | 2.328 | 2 | {faster} |" in found["table"]
    assert f"| A chain | {chain:.3f} | 6 |" in found["table"]
    assert f"| Most tokens | {best:.3f} |" in found["table"]
    assert found["answer"].startswith(
        f"With 6 draft tokens per round, this tree yields 2.328 tokens, a chain {chain:.3f}, and "
        f"the best possible tree {best:.3f}."
    )
    nodes = json.loads(found["figure"])["data"][1]
    assert nodes["x"] == [0, 1, 1, 2, 2, 2, 2]
    assert nodes["text"] == ["", "1", "2", "1", "2", "1", "2"]
    assert nodes["y"] == [1.5, 0.5, 2.5, 0, 1, 2, 3], "a parent is in the middle of its children"
    assert nodes["hovertext"][4] == "rank 2, accepted in 6.9% of rounds"


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"widths": "3, x"}, "“x” is not an integer."),
        ({"widths": ""}, "Type 1 to 12 numbers"),
        ({"widths": "2,0"}, "at least 1 child"),
        ({"widths": "1.5"}, "not an integer"),
        ({"widths": "9,9"}, "more than 64 draft tokens"),
        ({"widths": "9" * 90}, "more than 64 draft tokens"),
        ({"widths": "1," * 60}, "longer than 100"),
        ({"places": "0.2, 0.5"}, "cannot have a higher probability"),
        ({"places": "0.9, 0.8"}, "sum to 1.7"),
        ({"places": "nan"}, "not a number"),
        ({"places": "2"}, "between 0 and 1"),
        ({"places": "<b>"}, "“<b>” is not a number."),
        ({"c": None}, "c must be a number."),
    ],
)
def test_invalid_tree_raises_a_readable_error(changed, part):
    with pytest.raises(ValueError, match=re.escape(part)):
        trees.respond(trees.START | changed)
