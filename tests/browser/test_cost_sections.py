"""Sections of the Cost tab: adaptive verification, measured costs, published numbers."""

import pytest
from costs import SETTLED, done, lent, opened, says
from made_costs import made
from test_access import check_readable

from specviz.cost.measured_costs import shipped_paths
from specviz.cost.sources import boards, published_numbers

ADAPTIVE = "window.specviz.adaptive"
SHAPES = "window.specviz.shapes"
SWEEP = "window.specviz.sweeps['sv-sweep']"
HOSTILE = "<img src=x onerror=window.hacked=1>"
CHECKED = """() => [...document.querySelectorAll(".sv-adaptive-table tbody tr")].map((row) =>
  row.querySelectorAll(".sv-adaptive-yes, .sv-adaptive-part").length)"""
SPEEDS = """() => [...document.querySelectorAll(".sv-shapes-drafters tbody tr")]
  .map((row) => row.lastElementChild.textContent)"""


@pytest.fixture
def cost(looker):
    """The tab in its initial state, with all sections open and their figures drawn."""
    for page in lent(looker):
        page.wait_for_selector(".sv-adaptive-plot .main-svg", state="attached")
        page.wait_for_selector(".sv-headline-table tr")
        yield page


def test_published_numbers_can_be_filtered_and_sorted(cost):
    published_numbers_are_filtered_sorted_and_linked(cost)


def test_load_and_budget_change_the_number_of_checked_guesses(cost):
    page = cost
    page.wait_for_function(f"{ADAPTIVE}.question.idle")
    first = page.evaluate(CHECKED)
    assert len(first) == 5
    page.locator("[name=slots]").focus()
    page.keyboard.press("Home")
    page.wait_for_function(f"{ADAPTIVE}.last.slots === 0 && {ADAPTIVE}.question.idle")
    assert page.evaluate(CHECKED) == [0] * 5, "without a budget nothing is checked"
    says(page, ".sv-adaptive-answer", "plain decoding is fastest")
    done(page, ADAPTIVE, page.get_by_role("button", name="Best budget").click)
    assert page.evaluate(CHECKED) == first
    page.locator("[name=requests]").focus()
    page.keyboard.press("Home")
    page.wait_for_function(f"{ADAPTIVE}.question.idle && {ADAPTIVE}.last.rows[0].requests === 1")
    says(page, ".sv-adaptive-answer", "With 5 requests,")
    assert sum(page.evaluate(CHECKED)) > sum(first), "with few requests checking is free"


def published_numbers_are_filtered_sorted_and_linked(cost):
    table = cost.locator(".sv-headline-table tbody")
    links = table.locator("tr").evaluate_all(
        "all => all.map((row) => row.querySelector('a')).map((a) => [a.href, a.rel, a.target])"
    )
    assert sorted(links) == sorted(
        [each.source.url, "noopener noreferrer", "_blank"] for each in published_numbers()
    )
    text = cost.inner_text(".sv-headline-table")
    for words in ("not in the abstract", "not in the quotation", "second-hand: quoted by others"):
        assert words in text, "it says which source lacks a fact"
    cost.select_option(".sv-headline-family", "EAGLE")
    assert set(table.locator("th b").all_inner_texts()) == {"EAGLE"}
    cost.select_option(".sv-headline-family", "")
    cost.select_option(".sv-headline-sort", "low")
    numbers = table.locator(".sv-headline-number b").all_inner_texts()
    assert numbers[:2] == ["1.8 × slower", "1.4 × slower"], "slowdowns come first"
    assert numbers[-1].endswith("%")
    ours = cost.locator(".sv-headline-ours")
    assert ours.is_hidden(), "our own numbers only on request"
    cost.click(".sv-headline-toggle")
    assert "House models, measured on 2 CPU cores" in ours.locator("thead").inner_text()
    cost.click(".sv-headline-toggle")
    assert ours.is_hidden()
    for at, board in enumerate(boards()):
        cost.select_option(".sv-headline-device", str(at))
        names = cost.locator(".sv-headline-board tbody th b").all_inner_texts()
        assert sorted(names) == sorted(row.method for row in board.rows)
        assert board.model in cost.inner_text(".sv-headline-about")


def test_measured_costs_are_recorded_measured_here_or_from_a_file(visit, tmp_path):
    page = opened(visit)
    page.wait_for_selector(".sv-sweep-plot .main-svg", state="attached")
    page.wait_for_selector(".sv-shapes-plot .main-svg", state="attached")
    assert page.inner_text(".sv-sweep-badge") == "recorded"
    rows = page.evaluate(f"{SWEEP}.sweep.rows.length")
    assert page.locator(".sv-sweep-plot .scatterlayer .point").count() == rows > 10
    page.click(".sv-sweep-go")
    says(page, ".sv-sweep-done", "of")
    page.click(".sv-sweep-stop")
    page.wait_for_selector(".sv-sweep-go", state="visible")
    says(page, ".sv-sweep-notice", "Stopped. Finished measurements are kept.")
    assert page.inner_text(".sv-sweep-badge") == "measured on this machine"
    assert page.evaluate(f"[{SWEEP}.sweep.source, !{SWEEP}.sweep.complete]") == ["live", True]
    assert page.locator("[name=file] option").count() == len(shipped_paths())
    page.locator("#sv-shapes-alpha").focus()
    page.keyboard.press("End")
    says(page, ".sv-terms-said", "α = 1.00 (your own values)", "the tab has one α")
    page.wait_for_function(f"{SETTLED} && {SHAPES}.question.idle")
    a_file_is_shown_as_text(page, tmp_path / "mine.json")
    page.evaluate(f"text => {SHAPES}.bring('pasted', text)", made().to_text())
    says(page, ".sv-shapes-where", "A machine", "a pasted file")
    page.wait_for_selector(".sv-shapes-wrong", state="hidden")


def a_file_is_shown_as_text(page, mine):
    """Show texts of a file without HTML; an invalid file leaves the page unchanged."""
    mine.write_text(made(machine=HOSTILE).to_text(), encoding="utf-8")
    page.set_input_files(".sv-shapes-file", mine)
    page.wait_for_function(f"({SPEEDS})().length === 2")
    assert page.evaluate(SPEEDS) == ["2.50 ×", "0.75 ×"]  # 5 tokens for 2 passes, 3 for 4
    assert HOSTILE in page.inner_text(".sv-shapes-where")
    assert not page.evaluate("window.hacked")
    mine.write_text("{}", encoding="utf-8")
    page.set_input_files(".sv-shapes-file", mine)
    says(page, ".sv-shapes-wrong", "not a file of measured costs")
    assert page.evaluate(SPEEDS) == ["2.50 ×", "0.75 ×"]


def test_cost_tab_does_not_overflow_and_passes_axe(cost, looker):
    cost.click(".sv-headline-toggle")
    for table in (".sv-sweep-numbers", ".sv-shapes-numbers"):
        cost.click(f"{table} summary")
    cost.select_option(".sv-terms-from", "eagle3")
    check_readable(looker)
    cost.wait_for_function("document.querySelector('[data-figure=pass] svg').clientWidth < 390")
    looker.dress("light")
    cost.click(".sv-headline-toggle")
