"""The machine sweep and the table of published numbers on the Cost tab, in a browser."""

import pytest
from costs import lent
from test_access import faint, faults

from specviz.cost.sources import boards, published_numbers

SWEEP = "window.specviz.sweeps['sv-sweep']"
SOURCES = """() => [...document.querySelectorAll(".sv-headline-table tbody tr")].map((row) => {
  const link = row.querySelector("a");
  return [link.href, link.rel, link.target, row.querySelector("abbr").title];
})"""


# Clears what a measurement has left.
RECORDED = """async () => {
  const names = performance.getEntriesByType("resource").map((each) => each.name);
  const { say, show } = await import(names.find((name) => name.endsWith("/cost/sweep/sweep.js")));
  say("notice", "");
  show(window.sweepAtFirst);
}"""


@pytest.fixture
def cost(looker):
    """The Cost tab in its initial state."""
    for page in lent(looker):
        page.wait_for_selector(".sv-sweep-plot .main-svg", state="attached")
        page.wait_for_selector(".sv-headline-table tr")
        page.evaluate(f"window.sweepAtFirst ??= {SWEEP}.sweep")
        yield page
        page.evaluate(RECORDED)


def test_recorded_sweep_is_shown_when_the_tab_opens(cost):
    assert cost.inner_text(".sv-sweep-badge") == "recorded"
    assert "plain pass" in cost.inner_text(".sv-sweep-answer")
    rows = cost.evaluate(f"{SWEEP}.sweep.rows.length")
    assert cost.locator(".sv-sweep-plot .scatterlayer .point").count() == rows > 10
    keys = cost.inner_text(".sv-sweep-keys")
    assert "measured" in keys
    assert keys.count("simulated") == 2
    cost.click(".sv-sweep-numbers summary")
    assert cost.locator(".sv-sweep-table tbody tr").count() == rows


def test_sweep_is_measured_on_request_and_stop_keeps_measurements(cost):
    cost.click(".sv-sweep-go")
    cost.wait_for_function("document.querySelector('.sv-sweep-done').textContent.includes('of')")
    cost.click(".sv-sweep-stop")
    cost.wait_for_selector(".sv-sweep-go", state="visible")
    assert cost.inner_text(".sv-sweep-notice") == "Stopped. Finished measurements are kept."
    assert cost.inner_text(".sv-sweep-badge") == "measured on this machine"
    assert cost.evaluate(f"{SWEEP}.sweep.source") == "live"
    assert not cost.evaluate(f"{SWEEP}.sweep.complete")
    assert cost.locator(".sv-sweep-progress").is_hidden()
    assert cost.locator(".sv-sweep-alert").is_hidden()


def test_headline_reports_a_busy_machine_instead_of_its_numbers(cost):
    busy = cost.evaluate(
        f"""() => {{ const busy = {{ ...{SWEEP}.sweep, restless: true, must: "",
          answer: "The machine was too busy to measure.", caution: "What came out: 2.01." }};
          return import(performance.getEntriesByType("resource").map((each) => each.name)
            .find((name) => name.endsWith("/cost/sweep/sweep.js")))
            .then(({{ show }}) => show(busy)).then(() => true); }}"""
    )
    assert busy
    head, after = cost.locator(".sv-sweep-answer"), cost.locator(".sv-sweep-caution")
    assert head.inner_text() == "The machine was too busy to measure."
    size = "(e) => parseFloat(getComputedStyle(e).fontSize)"
    assert head.evaluate(size) >= 20 > after.evaluate(size)
    assert head.evaluate("(e) => getComputedStyle(e).borderTopStyle") == "dashed"
    assert cost.locator(".sv-sweep-must").is_hidden()


def test_missing_facts_of_a_published_number_say_which_source_lacks_them(cost):
    text = cost.inner_text(".sv-headline-table")
    assert "not said" not in text
    for words in ("not in the abstract", "not in the quotation", "second-hand: quoted by others"):
        assert words in text
    assert "are second-hand" in cost.inner_text(".sv-headline-secondhand")


def test_every_published_number_links_to_its_source_in_a_new_tab(cost):
    found = cost.evaluate(SOURCES)
    assert sorted(link[0] for link in found) == sorted(
        each.source.url for each in published_numbers()
    )
    assert {(rel, target) for _, rel, target, _ in found} == {("noopener noreferrer", "_blank")}
    assert all(meaning for *_, meaning in found)
    assert cost.inner_text(".sv-headline-badge >> nth=0") == "published"


def test_table_of_published_numbers_can_be_filtered_and_sorted(cost):
    cost.select_option(".sv-headline-family", "EAGLE")
    assert set(cost.locator(".sv-headline-table tbody th b").all_inner_texts()) == {"EAGLE"}
    cost.select_option(".sv-headline-family", "")
    cost.select_option(".sv-headline-sort", "low")
    numbers = cost.locator(".sv-headline-table .sv-headline-number b").all_inner_texts()
    assert numbers[:2] == ["1.8 × slower", "1.4 × slower"]
    assert numbers[-1].endswith("%")


def test_our_own_numbers_are_shown_only_on_request_and_labelled(cost):
    assert cost.locator(".sv-headline-ours").is_hidden()
    cost.click(".sv-headline-toggle")
    assert cost.get_attribute(".sv-headline-toggle", "aria-expanded") == "true"
    head = cost.inner_text(".sv-headline-ours thead")
    assert "House models, measured on 2 CPU cores" in head
    cost.click(".sv-headline-toggle")
    assert cost.locator(".sv-headline-ours").is_hidden()


def test_selected_leaderboard_lists_all_its_methods(cost):
    for at, board in enumerate(boards()):
        cost.select_option(".sv-headline-device", str(at))
        names = cost.locator(".sv-headline-board tbody th b").all_inner_texts()
        assert sorted(names) == sorted(row.method for row in board.rows)
        assert board.model in cost.inner_text(".sv-headline-about")


def test_cost_tab_does_not_overflow_and_passes_axe(cost, looker):
    cost.click(".sv-headline-toggle")
    cost.click(".sv-sweep-numbers summary")
    cost.select_option(".sv-terms-from", "eagle3")
    for width, theme in ((1280, "light"), (390, "dark")):
        cost.set_viewport_size({"width": width, "height": 900})
        looker.dress(theme)
        assert cost.evaluate("document.documentElement.scrollWidth") <= width
        assert faults(cost) == [], theme
        assert faint(cost) == [], theme
    looker.dress("light")
    cost.click(".sv-headline-toggle")
