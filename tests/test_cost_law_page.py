"""The speed-up formula on the page, and the published presets that all sections share."""

import json
from itertools import pairwise
from math import log10

import pytest
from asking import ask
from made import Recipe, made
from specviz.ui.cost.law import START
from specviz.ui.cost.law.answer import LIMITS, answer, compared, number, times
from specviz.ui.cost.terms import START as TERMS_START
from specviz.ui.cost.terms import config

from specviz.compare import storage
from specviz.compare.report import report
from specviz.cost import formula, tree_formula
from specviz.cost.formula import (
    MeasuredPoint,
    SpeedupModel,
    contour_alpha,
    contour_cost,
    measured_point,
)
from specviz.cost.sources import acceptances
from specviz.shipped import ASSETS
from specviz.trace import metrics
from specviz.ui.cost.pair import START as PAIR
from specviz.ui.step.lines import lines, point_data

RUN = {
    "alpha": 0.746, "gamma": 4.952, "guesses": 4.952, "c": 0.218,
    "verify": 1.468, "tokens": 2.952, "speedup": 1.148,
}  # fmt: skip


def told(**changed):
    """Return the answer to the page's initial request with some changes."""
    found = ask(answer, START | {"run": None} | changed)
    if "problem" in found:
        return found
    return found["formula"] | {"trees": found["trees"]}


def test_verification_cost_changes_the_best_gamma_and_the_speedup():
    terms = SpeedupModel(0.8, 0.1, 1.5)
    every = {gamma: formula.speedup(0.8, gamma, 0.1, 1.5) for gamma in range(1, 60)}
    best = max(every, key=every.get)
    assert terms.best() == formula.Optimum(best, every[best])
    assert f"γ = {best}: {every[best]:.2f} ×" in told(alpha=0.8, c=0.1, verify=1.5)["best"]
    dear, cheap = SpeedupModel(0.8, 0.1, 4.0), SpeedupModel(0.5, 0.5, 0.9)
    assert dear.best() == formula.Optimum(0, 1.0), "plain decoding has no such pass"
    assert cheap.best().gamma == 1, "a first guess pays where checking is cheap"


def test_displayed_tokens_and_cost_of_a_round_equal_the_formulas():
    told_round = told(alpha=0.8, gamma=5, c=0.1, verify=1.2, c_hat=0.05)["round"]
    tokens = formula.expected_tokens(0.8, 5)
    assert told_round["numbers"] == {
        "tokens": f"{tokens:.2f}", "cost": "1.70", "draft": "0.50", "check": "1.20",
        "speedup": f"{tokens / 1.7:.2f} ×", "work": "1.69 ×",
    }  # fmt: skip
    assert told(gamma=0, verify=2)["round"]["numbers"]["cost"] == "1.00", "nothing is checked"


def test_curve_points_follow_the_formula():
    shown = told(alpha=0.65, c=0.05, c_hat=0.05, gamma=3)
    speed = shown["speed"]["data"]["20-chosen"]
    assert speed["x"] == list(range(17))
    assert speed["y"] == [formula.speedup(0.65, gamma, 0.05) for gamma in range(17)]
    work = shown["time"]["data"]["20-work"]["y"]
    assert work == [formula.relative_operations(0.65, gamma, 0.05) for gamma in range(17)]
    assert shown["time"]["data"]["30-time"]["y"] == [1 / value for value in speed["y"]]
    best = shown["speed"]["data"]["40-best"]
    assert (best["x"], best["y"]) == ([5], [formula.speedup(0.65, 5, 0.05)])
    long = told(alpha=0.9, c=0.01)["speed"]["data"]
    assert long["40-best"]["x"] == [24]
    assert len(long["20-chosen"]["x"]) == 27, "the chart extends beyond the best γ"


@pytest.mark.parametrize("verify", [1.0, 1.6])
def test_speedup_along_each_contour_line_is_constant(verify):
    for gamma in (1, 4.5, 16):
        alpha = contour_alpha(1.5, gamma, 0.05, verify)
        if alpha is not None:
            assert formula.speedup(alpha, gamma, 0.05, verify) == pytest.approx(1.5, abs=1e-4)
    for alpha in (0.6, 0.9):
        c = contour_cost(1.1, alpha, verify)
        if c is not None:
            assert SpeedupModel(alpha, c, verify).best().speedup == pytest.approx(1.1, abs=1e-9)
    assert contour_alpha(2.0, 1, 0.5) is None, "two tokens for one and a half passes at most"
    assert contour_cost(3.0, 0.5) is None, "half of the guesses never bring three tokens"


@pytest.mark.slow
def test_curves_stay_inside_the_chart():
    for changed in ({}, {"c": 0}, {"alpha": 1, "c": 0}, {"c": 2, "map": "c"}, {"run": RUN}):
        shown = told(**changed)
        for name in ("speed", "time", "map"):
            layout = shown[name]["layout"]
            for order, trace in shown[name]["data"].items():
                if trace.get("mode") != "text":
                    assert inside(layout["xaxis"], trace["x"]), (changed, name, order)
                    assert inside(layout["yaxis"], trace["y"]), (changed, name, order)


def inside(axis, values):
    """Return whether all values are on an axis."""
    found = [value for value in values if value is not None]
    if axis.get("type") == "log":
        found = [log10(value) for value in found]
    least, most = axis["range"]
    return all(least - 1e-9 <= value <= most + 1e-9 for value in found)


def test_displayed_expected_tokens_of_trees_equal_the_formula():
    cards = told(widths="2,2", places="0.65 0.10636")["trees"]["cards"]
    tree, chain, best = (card["numbers"]["tokens"] for card in cards)
    assert tree == "2.328", "1.32845 are accepted"
    assert chain == f"{formula.expected_tokens(0.65, 6):.3f}"
    chances = [0.65, 0.10636]
    parents = tree_formula.best_tree(chances, 6)
    expected = tree_formula.expected_tokens(
        parents, tree_formula.acceptance_by_position(parents, chances)
    )
    assert best == f"{expected:.3f}"
    assert [card["numbers"]["levels"] for card in cards][:2] == ["2", "6"]
    levels = 2 * START["c"] + START["verify"]
    assert cards[0]["numbers"]["speedup"] == f"{2.328449 / levels:.2f} ×", "a level costs c"


@pytest.mark.parametrize(
    ("changed", "field", "part"),
    [
        ({"widths": "3, x"}, "widths", "“x” is not an integer."),
        ({"widths": ""}, "widths", "Type 1 to 12 numbers"),
        ({"widths": "2,0"}, "widths", "at least 1 child"),
        ({"widths": "1.5"}, "widths", "not an integer"),
        ({"widths": "9,9"}, "widths", "more than 64 draft tokens"),
        ({"widths": "9" * 90}, "widths", "more than 64 draft tokens"),
        ({"widths": "1," * 60}, "widths", "longer than 100"),
        ({"places": "0.2, 0.5"}, "places", "cannot have a higher probability"),
        ({"places": "0.9, 0.8"}, "places", "sum to 1.7"),
        ({"places": "nan"}, "places", "not a number"),
        ({"places": "2"}, "places", "between 0 and 1"),
        ({"places": "<b>"}, "places", "“<b>” is not a number."),
    ],
)
def test_invalid_tree_returns_readable_error_with_its_field(changed, field, part):
    shown = told(**changed)
    assert shown["trees"]["field"] == field
    assert part in shown["trees"]["problem"]
    assert shown["best"], "the other results stay"


@pytest.mark.parametrize("name", LIMITS)
def test_invalid_number_returns_readable_error_with_its_field(name):
    for value in (None, "0.5", True, -1, 1e9, [], {}):
        found = told(**{name: value})
        assert found["field"] == name
        assert found["problem"].startswith(LIMITS[name][0])


def test_malformed_request_returns_readable_error():
    for text in (
        "", "{", "[]", "null", "3", "[" * 100_000, '{"alpha": NaN}', "{}", "x" * 9999,
    ):  # fmt: skip
        found = ask(answer, text)
        assert found["problem"].endswith("."), text[:20]
        assert "Traceback" not in found["problem"]


def test_impossible_measured_run_returns_readable_error():
    for wrong in ({"gamma": 0}, {"alpha": 2}, {"c": None}, {"verify": -1}, {"speedup": 1e300}):
        assert "run" in told(run=RUN | wrong)["problem"].lower(), wrong
    assert "run" in told(run="a run")["problem"]


def test_measured_run_is_compared_with_the_formula_at_its_own_values():
    found = compared(MeasuredPoint(**RUN))
    assert found["law"] == times(formula.speedup(0.746, 4.952, 0.218, 1.468))
    assert found["measured"] == "1.15 ×"
    assert f"(2.95, not {formula.expected_tokens(0.746, 4.952):.2f})" in found["why"]
    assert "tokens per pass" not in dict(row[:2] for row in found["rows"]), "an older page's point"
    marks = told(run=RUN)["speed"]["data"]
    assert (marks["80-run"]["x"], marks["80-run"]["y"]) == ([4.952], [1.148])
    assert marks["71-law"]["y"] == [MeasuredPoint(**RUN).predicted]
    assert told(run=RUN, map="c")["map"]["data"]["80-run"]["y"] == [0.218]


def test_tokens_per_pass_of_a_run_are_those_that_step_and_compare_show():
    results = storage.read(ASSETS / "races" / "1-story")
    for name in ("Draft model", "EAGLE-3"):
        trace = results.with_baseline(name)
        step, compare = metrics.summary(trace)["tokens_per_pass"], report(results, name).brings
        point = point_data(measured_point(trace))
        assert step == compare == pytest.approx(point["tokens_per_pass"], abs=1e-6)
        assert f"{point['tokens']:.2f}" != f"{step:.2f}", "rounds that drafted give more"
        rows = [row[:2] for row in told(run=point)["run"]["rows"]]
        assert ["tokens per pass", f"{step:.2f}"] in rows


def test_numbers_are_shown_with_all_their_significant_digits():
    numbers = {0.7: "0.70", 0.125: "0.125", 1: "1.00", 0.00049: "0.0005"}
    assert {value: number(value) for value in numbers} == numbers
    assert (number(6, 0), number(4.952, 0)) == ("6", "4.952")
    speeds = {1: "1.00 ×", 1.003: "1.003 ×", 1.98: "1.98 ×", 0.9999: "0.9999 ×"}
    assert {value: times(value) for value in speeds} == speeds


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [Recipe(), Recipe(shape=(2, 2, 1))])
def test_stream_of_a_run_includes_its_measured_point(recipe):
    trace = made(recipe)
    shown = [json.loads(x) for x in lines([trace.header, *trace.events], "recorded")]
    point = next(line["point"] for line in shown if line["kind"] == "baseline")
    found = measured_point(trace)
    assert point["predicted"] == pytest.approx(found.predicted, abs=1e-6)
    for name in RUN:
        assert point[name] == pytest.approx(getattr(found, name), abs=1e-6)
    assert told(run=point)["run"]["measured"] == times(found.speedup)
    plain = made(Recipe(drafts=False))
    shown = [json.loads(x) for x in lines([plain.header, *plain.events], "recorded")]
    assert (shown[-1]["kind"], shown[-1]["point"]) == ("baseline", None)


def test_best_gamma_on_the_map_rises_with_alpha():
    ridge = told()["map"]["data"]["30-best"]["y"]
    found = [value for value in ridge if value is not None]
    assert len(set(found)) > 5
    assert all(before <= after for before, after in pairwise(found))


def test_all_sections_start_with_the_same_alpha_and_gamma():
    for name in ("alpha", "gamma"):
        assert START[name] == PAIR[name] == TERMS_START[name] == config()["terms"][name]


def test_every_preset_states_drafter_target_and_source():
    for shown, each in zip(config()["presets"], acceptances(), strict=True):
        assert shown["alpha"] == pytest.approx(each.effective_alpha, abs=5e-4)
        assert shown["source"] == (each.source.title, each.source.url)
        assert each.conditions in shown["how"]
        assert ("the source itself states no α" in shown["how"]) is each.derived
        assert shown["title"].endswith(f"γ {each.gamma}") is (each.gamma is not None)
