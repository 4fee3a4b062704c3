"""The Lossless? tab in a browser: draggable bars, coins, the gallery and a recorded run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from test_access import check_readable

SAND = "window.specviz['sv-sand']"
RULE, PRESET = "#sv-sand-rule", "#sv-sand-preset"
VERDICT, FROM = ".sv-sand-verdict", ".sv-sand-from"
# Reset the sandbox.
AGAIN = """() => {
  window.specviz['sv-sand'].go(window.sandAtFirst);
}"""


@pytest.fixture
def sand(looker):
    """The tab in its initial state, with a result shown."""
    looker.arrive(lambda: opened(looker), "Lossless?")
    page = looker.page
    yield page
    page.get_by_role("tab", name="Lossless?").click()
    looker.put_back()
    page.evaluate(AGAIN)
    settled(page)


def opened(visit):
    page = visit.open()
    page.get_by_role("tab", name="Lossless?").click()
    page.wait_for_selector(".sv-sand-column")
    page.evaluate(f"window.sandAtFirst = {SAND}.state")
    return page


def settled(page):
    """Return the result once the server has answered for the current bars."""
    page.wait_for_function(f"{SAND}.idle")
    return page.evaluate(f"{SAND}.last")


def button(page, name):
    return page.get_by_role("button", name=name)


def test_sandbox_compares_bars_and_rules_and_draws_their_rounds(sand):
    button(sand, "Run 1,000 rounds").click()
    columns, darts = sand.locator("#sv-coins-columns"), sand.locator("#sv-coins-darts")
    expect(columns.locator(".main-svg").get_by_text("replacements")).to_be_visible()
    expect(sand.locator("#sv-part-coins .sv-listing").first).to_contain_text("1,000 rounds")
    sand.locator(RULE).select_option("unverified")
    expect(columns, "they belong to another rule").to_be_hidden()
    sand.evaluate(f"{SAND}.go(window.sandAtFirst); scrollTo(0, 0)")
    a_dragged_bar_leaves_the_output_at_p(sand)
    bar = sand.get_by_role("slider", name="Target: ␣cat")
    bar.focus()
    for key, value in (("Home", "0"), ("ArrowUp", "0.01"), ("PageUp", "0.11")):
        sand.keyboard.press(key)
        expect(bar).to_have_attribute("aria-valuenow", value)
    assert settled(sand)["verdict"] == "exact"
    sand.evaluate(f"{SAND}.go(window.sandAtFirst)")
    button(sand, "the top tokens of q").click()
    sand.locator(RULE).select_option("speculative")
    assert settled(sand)["numbers"]["tv"] == "0.3056"
    expect(sand.locator(VERDICT)).to_contain_text("dog appears too often: with probability 0.556")
    expect(sand.locator(".sv-sand-why")).to_contain_text("accept x with probability p(x)")
    assert sand.locator(".sv-sand-off").count() == 5
    sand.get_by_text("All numbers, token by token").click()
    assert sand.locator(".sv-sand-table tbody tr").count() == 6
    sand.locator("[data-choice=candidates] button").last.click()
    sand.locator(PRESET).select_option("darts")
    expect(sand.get_by_role("heading", name="Von Neumann’s dartboard")).to_be_visible()
    expect(darts.locator(".scatterlayer path.point")).to_have_count(600)  # before any round
    expect(columns).to_be_hidden()
    sand.locator(RULE).select_option("speculative")
    expect(darts).to_be_hidden()


def a_dragged_bar_leaves_the_output_at_p(sand):
    box = sand.locator("[data-distribution=p] .sv-sand-bar").first.bounding_box()
    x, top, low = box["x"] + box["width"] / 2, box["y"] + 8, box["y"] + box["height"] - 4
    sand.mouse.move(x, low)
    sand.mouse.down()
    sand.mouse.move(x, top, steps=4)
    sand.mouse.up()
    found, p = settled(sand), sand.evaluate(f"{SAND}.state.p")
    assert p[0] > 0.45, "it was dragged above where it stood"
    assert sum(p) == pytest.approx(1)
    assert [a + b for a, b in zip(found["kept"], found["filled"], strict=True)] == pytest.approx(p)
    expect(sand.locator(VERDICT)).to_contain_text("exact The output follows p")
    assert sand.locator(PRESET).input_value() == "", "no preset any more"
    assert sand.locator(".sv-sand-off").count() == 0


def test_link_to_a_published_rule_scrolls_to_it(visit):
    rule = visit.open("?case=suggested-fix").locator("#sv-gallery-rule h3")
    expect(rule).to_have_text("The textbook test, used on top-k guesses")
    expect(rule).to_be_in_viewport()


def test_gallery_finds_a_rule_by_a_line_and_can_hide_what_is_wrong(sand):
    part = sand.locator("#sv-part-gallery")
    rules, one = part.locator("#sv-gallery-rules"), part.locator("#sv-gallery-rule")
    rules.get_by_text("The textbook test, used on top-k guesses").click()
    expect(part).to_contain_text("the distance of the output from p is 0.3500")
    assert "case=suggested-fix" in sand.url
    expect(one.get_by_role("link").first).to_have_attribute("href", re.compile("issues/329$"))
    find = part.get_by_label("Find a rule")
    find.fill("qx pull request 1820")
    expect(one.locator("h3")).to_have_text("Dropping low-confidence guesses, ignoring q")
    find.fill("")
    rules.get_by_text("Resampling from p itself").click()
    expect(part).to_contain_text("Resampling from p itself is lossy")
    sand.locator(PRESET).select_option("same")
    settled(sand)
    part.get_by_label("Test all with the sandbox").press("Space")
    expect(part).to_contain_text("Resampling from p itself is exact")
    part.get_by_label("Test all with the sandbox").press("Space")
    expect(part).to_contain_text("Resampling from p itself is lossy")
    fault = sand.locator("#sv-part-fault")
    button(fault, "Show details and controls").click()
    sound = button(fault, "No fault: the output follows p")
    expect(sound).to_be_visible()
    assert fault.get_by_role("link").count() == 0, "a source would tell"
    button(fault, "What these rules do").click()
    sound.click()
    expect(fault).to_contain_text(" of 1.")
    expect(fault.get_by_role("link")).to_have_count(2)
    button(fault, "Another case").click()
    expect(sound).to_be_visible()
    button(fault, "Show details and controls").click()


def test_verdicts_of_runs_open_in_the_sandbox_and_can_be_undone(sand, looker):
    part = sand.locator("#sv-part-proof")
    button(part, "Show details and controls").click()
    run, cases = part.get_by_role("combobox").first, part.get_by_role("gridcell")
    expect(part).to_contain_text("12 guesses judged by the rule “speculative”")
    run.click()
    sand.get_by_role("option").last.click()
    expect(part).not_to_contain_text("12 guesses judged")
    cases.nth(1).click()
    expect(sand.locator(FROM)).to_contain_text("the likeliest tokens")
    assert settled(sand)["verdict"] == "exact"
    run.click()
    part.get_by_role("option").first.click()
    expect(part).to_contain_text("12 guesses judged")
    button(part, "times with and without a draft").click()
    expect(part.get_by_role("status")).to_contain_text("cannot be repeated")
    repeats_are_counted_and_shown(sand, part)
    sand.locator(PRESET).select_option("near")
    sand.locator(RULE).select_option("ensemble")
    sand.locator(".sv-sand-dial input").fill("0.5")
    before = sand.evaluate(f"{SAND}.state")
    assert settled(sand)["verdict"] == "lossy"
    assert sand.evaluate(f"{SAND}.request().rule") == "ensemble:0.5"
    for at in (6, 11):
        cases.nth(at).click()
        expect(sand.locator(FROM)).to_contain_text("Round ")
    button(sand, "Undo").click()
    expect(sand.locator(FROM)).to_be_hidden()
    assert sand.evaluate(f"{SAND}.state") == before
    sand.get_by_role("tab", name="Step", exact=True).click()
    looker.show("01-chain")
    looker.step_to("Recovered")
    button(sand, "try rules").click()
    expect(sand.locator(FROM), "a rejection on Step").to_contain_text("Round ")
    assert sum(sand.evaluate(f"{SAND}.state.q")) == pytest.approx(1)
    assert sand.evaluate(f"{SAND}.state.drawn") == "sampled"


def repeats_are_counted_and_shown(sand, part):
    rows = [["␣she␣was", 7, 5], ["<b>", 5, 7]]
    result = {"title": "A run", "sentence": "Among 12 runs", "rows": rows}
    tally = {"kind": "progress", "done": 12, "of": 12, "sentence": "12 of 12 pairs of runs"}
    sand.evaluate("(line) => window.specviz['sv-proof-repeats'].take(line)", tally)
    expect(part.locator("#sv-proof-counts")).to_have_count(0)
    final = {**tally, "result": result}
    sand.evaluate("(line) => window.specviz['sv-proof-repeats'].take(line)", final)
    expect(part).to_contain_text("A run Among 12 runs")
    expect(part.locator("#sv-proof-counts .main-svg").get_by_text("<b>")).to_have_count(1)


def test_lossless_tab_is_readable_at_every_size(sand, looker):
    sand.wait_for_selector("#sv-gallery-rule h3")
    fold = button(sand.locator("#sv-part-proof"), "Show details and controls")
    if fold.get_attribute("aria-expanded") != "true":
        fold.click()
    sand.wait_for_selector("#sv-proof-distances .main-svg")
    button(sand, "Run 1,000 rounds").click()
    sand.wait_for_selector("#sv-coins-columns .main-svg")
    check_readable(looker)
    looker.dress("light")
    larger = button(sand, "Larger text")
    sand.set_viewport_size({"width": 1024, "height": 768})
    larger.click()
    sand.evaluate("scrollTo(0, 0)")
    for part in (VERDICT, ".sv-sand-out", RULE):
        box = sand.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= 768, f"{part} is not on the first screen"
    cut = "(row) => [...row.children].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert sand.locator(".sv-sand-words").first.evaluate(cut) == 0, "a word is cut"
    larger.click()
    sand.set_viewport_size({"width": 390, "height": 844})
    for name in (PRESET, "[data-choice=candidates]", RULE):
        control = sand.locator(name)
        control.evaluate("(e) => e.scrollIntoView({ block: 'center' })")
        verdict = sand.locator(VERDICT).bounding_box()
        assert 0 <= verdict["y"] < control.bounding_box()["y"] < 844, name
    output = sand.locator(".sv-sand-out")
    assert output.bounding_box()["y"] < 0, "it is above the window"
    sand.locator(RULE).select_option(index=3)
    settled(sand)
    box = output.bounding_box()
    assert 0 <= box["y"] < box["y"] + box["height"] <= 844, "a chosen rule brings it into view"
    assert sand.evaluate("document.documentElement.scrollWidth") <= 390


def test_lossy_run_is_labelled_not_lossless(visit, pair):
    page = visit.open()
    visit.fill_in(pair, "The cat")
    page.get_by_label("Verification rule").click()
    page.get_by_role("option", name="Lossy: no verification").click()
    visit.run()
    expect(page.locator(".sv-lossy")).to_have_text("not lossless")
    visit.wait_until_over()
    expect(page.locator(".sv-if-exact")).to_be_hidden()
    expect(page.locator(".sv-if-lossy")).to_be_visible()
    visit.ask("load('01-chain')")
    expect(page.locator(".sv-if-exact")).to_be_visible()
    assert page.locator(".sv-lossy").inner_text() == ""
