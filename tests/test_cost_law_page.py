"""The speed-up formula on the page, and the published presets that all sections share."""

from __future__ import annotations

import json
from itertools import pairwise
from math import log10

import pytest
from asking import ask
from made import Recipe, made

from specviz.cost import formula, tree_formula
from specviz.cost.formula import (
    MeasuredPoint,
    SpeedupModel,
    contour_alpha,
    contour_cost,
    measured_point,
)
from specviz.cost.sources import acceptances
from specviz.trace.events import Baseline
from specviz.ui.cost.law import START
from specviz.ui.cost.law.answer import LIMITS, answer, best_sentence, compared, number, times
from specviz.ui.cost.roofline import USUAL
from specviz.ui.cost.terms import START as TERMS_START
from specviz.ui.cost.terms import config, preset
from specviz.ui.step.lines import lines

ALPHAS = (0.5, 0.7, 0.8, 0.9)
COSTS = (0.01, 0.05, 0.1, 0.2, 0.5)
BEST = (  # γ and speed-up by theorem 3.8 of Leviathan et al. (2211.17192), section 3.5
    ((5, 1.88), (3, 1.63), (2, 1.46), (1, 1.25), (0, 1.00)),
    ((9, 2.97), (6, 2.35), (4, 1.98), (3, 1.58), (1, 1.13)),
    ((14, 4.23), (8, 3.09), (6, 2.47), (4, 1.87), (2, 1.22)),
    ((24, 7.49), (13, 4.67), (10, 3.43), (7, 2.37), (3, 1.38)),
)
TABLE = [
    (alpha, c, *best)
    for alpha, row in zip(ALPHAS, BEST, strict=True)
    for c, best in zip(COSTS, row, strict=True)
]
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


@pytest.mark.parametrize(("alpha", "c", "gamma", "speedup"), TABLE)
def test_best_gamma_and_speedup_equal_those_of_the_paper(alpha, c, gamma, speedup):
    said = told(alpha=alpha, c=c)["best"]
    assert said.startswith(f"At α = {alpha:.2f} and c = {c:.2f}, ")
    end = f"γ = {gamma}: {speedup:.2f} × plain decoding." if gamma else "α must be greater than c"
    assert end in said


@pytest.mark.slow
def test_extreme_values_have_their_own_sentences():
    assert told(alpha=0.7, c=0)["best"] == (
        "At α = 0.70 and c = 0, longer drafts are always faster, approaching 3.33 × plain decoding."
    )
    assert told(alpha=1, c=0)["best"].endswith("always faster, without limit.")
    assert told(alpha=1, c=0.25)["best"].endswith("approaching 4.00 × plain decoding.")
    assert told(alpha=0.3, c=0.5)["best"].endswith(
        "no draft length pays: α must be greater than c."
    )
    assert told(alpha=0, c=0)["best"].endswith("α must be greater than c.")
    assert told(verify=3)["best"].endswith("no draft length pays: verification costs too much.")
    assert told(gamma=0)["chosen"] == "With γ = 0 nothing is drafted: this is plain decoding."
    assert told(alpha=0.5, c=0.5, gamma=1)["chosen"] == "Your γ = 1 is as fast as plain decoding."
    assert told(c=0.9, gamma=16)["chosen"].endswith("drafting is slower here.")


def test_verification_cost_changes_the_best_gamma_and_the_speedup():
    terms = SpeedupModel(0.8, 0.1, 1.5)
    every = {gamma: formula.speedup(0.8, gamma, 0.1, 1.5) for gamma in range(1, 60)}
    best = max(every, key=every.get)
    assert terms.best() == formula.Optimum(best, every[best])
    assert f"v = 1.50, the best draft length is γ = {best}: {every[best]:.2f} ×" in (
        best_sentence(terms)
    )
    assert SpeedupModel(0.8, 0.1, 4.0).best() == formula.Optimum(0, 1.0), (
        "plain decoding has no such pass"
    )
    assert SpeedupModel(0.5, 0.5, 0.9).best().gamma == 1, (
        "a first guess pays where checking is cheap"
    )


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


@pytest.mark.parametrize("changed", [{}, {"c": 0}, {"alpha": 1, "c": 0}, {"c": 2}, {"run": RUN}])
@pytest.mark.parametrize("which", ["gamma", "c"])
def test_curves_stay_inside_the_chart(changed, which):
    shown = told(map=which, **changed)
    for name in ("speed", "time", "map"):
        figure = shown[name]
        low = {key: figure["layout"][key]["range"] for key in ("xaxis", "yaxis")}
        for order, trace in figure["data"].items():
            if trace.get("mode") == "text":
                continue
            for axis, values in (("xaxis", trace["x"]), ("yaxis", trace["y"])):
                found = [value for value in values if value is not None]
                if figure["layout"][axis].get("type") == "log":
                    found = [log10(value) for value in found]
                least, most = low[axis]
                assert all(least - 1e-9 <= value <= most + 1e-9 for value in found), (name, order)


def test_chart_extends_beyond_the_best_gamma():
    shown = told(alpha=0.9, c=0.01)
    assert shown["speed"]["data"]["40-best"]["x"] == [24]
    assert len(shown["speed"]["data"]["20-chosen"]["x"]) == 27


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


def test_invalid_tree_leaves_the_other_results_intact():
    shown = told(widths="3, x")
    assert shown["trees"] == {"problem": "“x” is not an integer.", "field": "widths"}
    assert shown["best"]


@pytest.mark.parametrize(
    ("changed", "field", "part"),
    [
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
    found = told(**changed)["trees"]
    assert found["field"] == field
    assert part in found["problem"]


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [None, "0.5", True, -1, 1e9, [], {}])
def test_invalid_number_returns_readable_error_with_its_field(name, value):
    found = told(**{name: value})
    assert found["field"] == name
    assert found["problem"].startswith(LIMITS[name][0])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        "[" * 100_000,
        '{"alpha": NaN}',
        "{}",
        "x" * 9999,
    ],
)
def test_invalid_request_returns_readable_error(text):
    found = ask(answer, text)
    assert found["problem"].endswith(".")
    assert "Traceback" not in found["problem"]


@pytest.mark.parametrize(
    "wrong", [{"gamma": 0}, {"alpha": 2}, {"c": None}, {"verify": -1}, {"speedup": 1e300}]
)
def test_impossible_measured_run_returns_readable_error(wrong):
    assert "run" in told(run=RUN | wrong)["problem"].lower()
    assert "run" in told(run="a run")["problem"]


def test_measured_run_is_compared_with_the_formula_at_its_own_values():
    found = compared(MeasuredPoint(**RUN))
    assert found["law"] == times(formula.speedup(0.746, 4.952, 0.218, 1.468))
    assert found["measured"] == "1.15 ×"
    expected = formula.expected_tokens(0.746, 4.952)
    assert f"fewer tokens than the formula predicts (2.95, not {expected:.2f})" in found["why"]
    marks = told(run=RUN)["speed"]["data"]
    assert (marks["80-run"]["x"], marks["80-run"]["y"]) == ([4.952], [1.148])
    assert marks["71-law"]["y"] == [MeasuredPoint(**RUN).predicted]
    assert told(run=RUN, map="c")["map"]["data"]["80-run"]["y"] == [0.218]


def test_label_of_the_measured_run_is_not_on_the_curve():
    curve = told(run=RUN)["speed"]["data"]["20-chosen"]["y"]
    beside = min(curve[5:11])
    for speedup, place in ((beside - 0.01, "bottom"), (max(curve[5:11]) + 0.01, "top")):
        marks = told(run=RUN | {"speedup": speedup})["speed"]["data"]
        assert marks["81-run"]["textposition"] == f"{place} right"
    far = told(run=RUN | {"speedup": 2 * max(curve)})["speed"]["data"]
    assert far["81-run"]["textposition"] == "middle right"


def test_difference_from_the_formula_is_explained_by_its_larger_cause():
    expected = formula.expected_tokens(0.6, 4)
    fits = MeasuredPoint(0.6, 4, 4, 0.1, 1.2, expected, expected / 1.6)
    assert "agree" in compared(fits)["why"]
    idle = MeasuredPoint(0.6, 4, 4, 0.1, 1.2, expected, 0.5 * expected / 1.6)
    assert "rounds without a draft" in compared(idle)["why"]
    lucky = MeasuredPoint(0.6, 4, 4, 0.1, 1.2, 1.5 * expected, 1.5 * expected / 1.6)
    assert "more tokens than the formula predicts" in compared(lucky)["why"]
    assert "trees" in compared(MeasuredPoint(0.6, 4, 9, 0.1, 1.2, expected, expected / 1.6))["why"]
    assert "trees" not in compared(lucky)["why"]


def test_numbers_are_shown_with_all_their_significant_digits():
    assert [number(value) for value in (0.7, 0.125, 1, 0.00049)] == [
        "0.70",
        "0.125",
        "1.00",
        "0.0005",
    ]
    assert number(6, 0) == "6"
    assert number(4.952, 0) == "4.952"
    assert [times(value) for value in (1, 1.003, 1.98, 0.9999)] == [
        "1.00 ×", "1.003 ×", "1.98 ×", "0.9999 ×",
    ]  # fmt: skip


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


def test_stream_of_a_run_without_drafts_has_no_measured_point():
    trace = made(Recipe(drafts=False))
    shown = [json.loads(x) for x in lines([trace.header, *trace.events], "recorded")]
    assert any(isinstance(event, Baseline) for event in trace.events)
    assert shown[-1]["kind"] == "baseline"
    assert shown[-1]["point"] is None


def test_best_gamma_on_the_map_rises_with_alpha():
    ridge = told()["map"]["data"]["30-best"]["y"]
    found = [value for value in ridge if value is not None]
    assert len(set(found)) > 5
    assert all(before <= after for before, after in pairwise(found))


def test_all_sections_start_with_the_same_alpha_and_gamma():
    for name in ("alpha", "gamma"):
        assert START[name] == USUAL[name] == TERMS_START[name] == config()["terms"][name]


def test_every_preset_states_drafter_target_and_source():
    for shown, each in zip(config()["presets"], acceptances(), strict=True):
        assert shown["alpha"] == pytest.approx(each.effective_alpha, abs=5e-4)
        assert shown["said"] == f"published: {each.title} on {each.on}"
        assert shown["source"] == (each.source.title, each.source.url)
        assert each.conditions in shown["how"]
        assert ("the source itself states no α" in shown["how"]) is each.derived
        assert shown["title"].endswith(f"γ {each.gamma}") is (each.gamma is not None)


def test_derived_alpha_states_its_derivation():
    shown = preset(next(each for each in acceptances() if each.name == "eagle3"))
    assert (
        "5.71 tokens per pass. With γ = 6, the speed-up formula turns that into α = 0.931"
        in shown["how"]
    )
    assert formula.expected_tokens(shown["alpha"], 6) == pytest.approx(5.71, abs=0.01)
    quoted = preset(next(each for each in acceptances() if each.name == "t5-small"))
    assert "quoted by others" in quoted["how"]
