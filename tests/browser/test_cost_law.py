"""The speed-up formula on the Cost tab: sliders, results, the measured run and error messages."""

import json

import pytest
from costs import ANSWERED, lent, opened
from made import RUNS, made

from specviz.cost import formula
from specviz.cost.formula import SpeedupModel, measured_point
from specviz.ui.cost.law import START
from specviz.ui.cost.law.answer import best_sentence, times

LANE = {
    "alpha": 0.8, "gamma": 5, "guesses": 5, "c": 0.05, "verify": 1, "tokens": 3.7,
    "speedup": 2.9, "predicted": 2.95, "source": "live",
    "name": "<img src=x onerror=window.hacked=1><b>Lane</b>",
}  # fmt: skip


@pytest.fixture
def cost(looker):
    """The tab in its initial state."""
    yield from lent(looker)


def says(page, selector, sentence):
    """Wait until the element has this text; non-breaking spaces count as spaces."""
    page.wait_for_function(
        """([selector, sentence]) => document.querySelector(selector).textContent
             .replaceAll('\\u00a0', ' ') === sentence""",
        arg=[selector, sentence],
    )


def gap_of(point):
    """The sentence that compares a run with the formula."""
    return (
        "For this run’s own values, not those of the sliders, the formula predicts "
        f"{times(point.predicted)}; the run measured {times(point.speedup)}."
    )


def slide(page, name, value):
    """Set a slider as dragging would."""
    page.locator(f"#sv-law-{name}").evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')); }", str(value)
    )


def hand(page, lane):
    """Send a lane of Compare to the Cost tab."""
    page.evaluate(
        """(lane) => { (window.specviz.handed = window.specviz.handed || {})['sv-law'] = lane;
           window.dispatchEvent(new CustomEvent('sv-handed', { detail: 'sv-law' })); }""",
        lane,
    )


def test_sliders_and_fields_update_the_answer(cost):
    page = cost
    says(page, ".sv-law-best", best_sentence(SpeedupModel(START["alpha"], START["c"])))
    for alpha in (0.1, 0.3, 0.9, 0.5, 0.8):  # faster than responses arrive
        slide(page, "alpha", alpha)
    says(page, ".sv-law-best", best_sentence(SpeedupModel(0.8, START["c"])))
    assert "γ = 6: 2.47 ×" in best_sentence(SpeedupModel(0.8, START["c"]))
    page.get_by_label("draft tokens in a chain, as a number").fill("3")
    gain = times(formula.speedup(0.8, 3, 0.1))
    says(page, ".sv-law-chosen", f"Your γ = 3 gives {gain} plain decoding.")
    assert page.input_value("#sv-law-gamma") == "3"
    tokens = page.locator(".sv-law-round [data-number=tokens]").inner_text()
    assert tokens == f"{formula.expected_tokens(0.8, 3):.2f}"
    page.focus("#sv-law-c")
    page.keyboard.press("Home")
    says(page, ".sv-law-best", best_sentence(SpeedupModel(0.8, 0.0)))


def test_invalid_number_shows_an_error_until_it_is_corrected(cost):
    page = cost
    box = page.get_by_label("acceptance probability, as a number")
    for wrong, sentence in (("7", "α must be between 0 and 1."), ("", "α must be a number.")):
        box.fill(wrong)
        says(page, ".sv-law-notice", sentence)
        assert box.get_attribute("aria-invalid") == "true"
    box.fill("0.9")
    page.wait_for_selector(".sv-law-notice", state="hidden")
    assert box.get_attribute("aria-invalid") == "false"
    says(page, ".sv-law-best", best_sentence(SpeedupModel(0.9, START["c"])))
    page.fill("#sv-law-widths", "<b>2</b>")
    says(page, ".sv-law-fault", "“<b>2</b>” is not an integer.")
    page.fill("#sv-law-widths", "2 2")
    page.fill("#sv-law-places", "0.65, 0.10636")
    page.wait_for_selector(".sv-law-fault", state="hidden")
    page.wait_for_function("document.querySelector('[data-card=tokens]').textContent === '2.328'")


def test_run_on_the_step_tab_is_a_selectable_point_of_the_chart(cost):
    page = cost
    found = measured_point(made(RUNS["01-chain"]))
    gap = gap_of(found)
    says(page, ".sv-law-gap", gap)
    assert page.locator(".sv-law-from").inner_text() == "recorded"
    page.get_by_role("button", name="Use the run’s α, γ, c and v").click()
    page.wait_for_function(ANSWERED)
    taken = SpeedupModel(round(found.alpha, 3), round(found.c, 3), round(found.verify, 3))
    says(page, ".sv-law-best", best_sentence(taken))
    assert page.input_value("#sv-law-verify") == "1.25"
    page.evaluate("window.specviz.players['sv-step'].load('02-siblings')")
    other = measured_point(made(RUNS["02-siblings"]))
    says(page, ".sv-law-gap", gap_of(other))
    assert "γ is their depth" in page.inner_text(".sv-law-why")


def test_lane_of_compare_sets_the_sliders_and_its_name_is_escaped(cost):
    page = cost
    hand(page, LANE)
    says(page, ".sv-law-best", best_sentence(SpeedupModel(0.8, 0.05)))
    says(page, ".sv-law-name b", f"measured: {LANE['name']}, 2.90 ×")
    assert page.locator(".sv-law-from").inner_text() == "measured on this machine"
    assert page.evaluate("window.hacked") is None
    assert page.locator(".sv-law img").count() == 0
    assert "Lane" not in json.dumps(page.evaluate("window.specviz.law.request()"))
    page.get_by_role("button", name="Last run on Step").click()
    found = measured_point(made(RUNS["01-chain"]))
    gap = gap_of(found)
    says(page, ".sv-law-gap", gap)


def test_missing_measurement_is_explained_with_a_link_to_step(cost):
    page = cost
    page.evaluate(
        "window.specviz.measured = null; window.dispatchEvent(new CustomEvent('sv-measured'))"
    )
    page.wait_for_selector(".sv-law-none")
    assert page.locator(".sv-law-point").is_hidden()
    page.get_by_role("button", name="Run one on Step").click()
    page.wait_for_selector(".sv-caption")
    assert page.get_by_role("tab", name="Step").get_attribute("aria-selected") == "true"


def test_phone_shows_the_answer_above_every_slider(visit):
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 844})
    opened(visit)
    for name in ("alpha", "gamma", "c", "verify", "c_hat"):
        box = page.locator(f"#sv-law-{name}")
        box.evaluate("(e) => e.scrollIntoView({ block: 'center' })")
        answer = page.locator(".sv-law-chosen").bounding_box()
        assert 0 <= answer["y"] < box.bounding_box()["y"] < 844, name


def test_link_sets_the_sliders_without_overflow_on_a_phone(visit):
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = opened(visit, "?__theme=light&alpha=0.9&gamma=7&c=0.2")
    says(page, ".sv-law-best", best_sentence(SpeedupModel(0.9, 0.2)))
    assert "γ = 7: 2.37 ×" in page.inner_text(".sv-law-best").replace("\u00a0", " ")
    page.get_by_role("button", name="α and c").click()
    page.wait_for_function(ANSWERED)
    page.wait_for_function("window.specviz.law.state.map === 'c'")
    within(page)
    light = page.evaluate(INK)
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function(f"{INK} !== {json.dumps(light)}")  # the figures are drawn again
    within(page)


INK = "getComputedStyle(document.querySelector('.sv-law-speed .ytick text')).fill"


def within(page):
    """Assert that nothing is wider than the window of a phone."""
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    figures = [f".sv-law-{name} .main-svg" for name in ("speed", "time", "map")]
    for selector in [*figures, ".sv-law-tree svg"]:
        assert page.locator(selector).first.bounding_box()["width"] <= 358
