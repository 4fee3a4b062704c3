"""The Lossless? tab in a browser: draggable bars, coins, the gallery and a recorded run."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from test_access import check_readable

SAND = "window.specviz['sv-sand']"
RULE, PRESET = "#sv-sand-rule", "#sv-sand-preset"
VERDICT, FROM = ".sv-sand-verdict", ".sv-sand-from"
# Reset the sandbox, and the gallery to its own p and q with the first rule open.
AGAIN = """() => {
  const press = (selector) => document.querySelector(selector).click();
  window.specviz['sv-sand'].go(window.sandAtFirst);
  for (const mode of ["detective", "gallery"]) press(`[data-mode=${mode}]`);
  document.querySelector(".sv-wild-list button")?.click();
}"""
# The counts on screen, whether the verdict is visible, and where the next section begins.
COUNTED = """() => new Promise((done) => {
  const seen = [];
  const look = () => {
    const count = document.querySelector(".sv-coins-count").textContent;
    const said = getComputedStyle(document.querySelector(".sv-coins-said")).visibility;
    const top = document.querySelector(".sv-wild").getBoundingClientRect().top + scrollY;
    if (count) seen.push([count, said === "visible", top]);
    if (count === "1,000 rounds") done(seen);
    else requestAnimationFrame(look);
  };
  look();
})"""


@pytest.fixture
def sand(looker):
    """The tab in its initial state, with a result shown."""
    looker.arrive(lambda: opened(looker))
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
    page.wait_for_function(f"{SAND}.question.idle")
    return page.evaluate(f"{SAND}.last")


def button(page, name):
    return page.get_by_role("button", name=name)


def test_sandbox_compares_bars_and_rules_and_draws_their_rounds(sand):
    button(sand, "Run 1,000 rounds").click()
    expect(sand.locator(".sv-coins-count")).to_have_text("1,000 rounds")
    assert sand.locator(".sv-coins-columns .sv-coins-whisker").count() == 5
    assert float(sand.locator("[data-number=seen]").inner_text()) < 0.1
    sand.locator(RULE).select_option("unverified")
    expect(sand.locator(".sv-coins-body"), "they belong to another rule").to_be_hidden()
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
    expect(sand.locator(".sv-coins-dart")).to_have_count(600)  # before any round
    expect(sand.locator(".sv-coins-body")).to_be_hidden()
    sand.locator(RULE).select_option("speculative")
    expect(sand.locator(".sv-coins-dart")).to_have_count(0)


def a_dragged_bar_leaves_the_output_at_p(sand):
    box = sand.locator("[data-law=p] .sv-sand-bar").first.bounding_box()
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


def test_gallery_shows_cases_with_sources_and_can_hide_what_is_wrong(sand):
    sand.wait_for_selector(".sv-wild-one h3")
    button(sand, "The textbook test, used on top-k guesses").click()
    one = sand.locator(".sv-wild-one")
    expect(one).to_contain_text("Distance of the output from p: 0.3500")
    assert one.get_by_role("link").get_attribute("href").endswith("SafeAILab/EAGLE/issues/329")
    sand.locator("[data-key=remaining-mass] , [data-key=remaining-mass] button").last.click()
    expect(one.locator("h3")).to_contain_text("remaining draft mass")
    assert sand.locator(".sv-wild-columns > *").count() == 3, "a case with three words"
    sand.locator(PRESET).select_option("same")
    settled(sand)
    rule = button(sand, "Resampling from p itself")
    expect(rule).to_contain_text("lossy")
    rule.focus()
    sand.locator("[data-do=laws]").evaluate("(button) => button.click()")
    expect(rule, "with p and q of the sandbox").to_contain_text("exact")
    expect(rule, "the focus stays where it was").to_be_focused()
    button(sand, "Find the fault").click()
    options = sand.locator(".sv-wild-options button")
    expect(options.last).to_have_text("No fault: the output follows p")
    assert sand.locator(".sv-wild-one a").count() == 0, "a source would tell"
    sand.locator(".sv-wild-names summary").press("Enter")
    expect(sand.locator(".sv-wild-names dd").last, "the names are explained").to_be_visible()
    options.last.click()
    expect(sand.locator(".sv-wild-score")).to_contain_text(" of 1")
    assert sand.locator(".sv-wild-one a").count() == 1
    button(sand, "Another case").click()
    expect(options.last).to_have_text("No fault: the output follows p")


def test_verdicts_of_runs_open_in_the_sandbox_and_can_be_undone(sand, looker):
    part = sand.locator("#sv-part-proof")
    button(part, "Try it").click()
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
    looker.look()
    looker.step_to("Recovered")
    button(sand, "try rules").click()
    expect(sand.locator(FROM), "a rejection on Step").to_contain_text("Round ")
    assert sum(sand.evaluate(f"{SAND}.state.q")) == pytest.approx(1)
    assert sand.evaluate(f"{SAND}.state.drawn") == "sampled"


def repeats_are_counted_and_shown(sand, part):
    rows = [["␣she␣was", 7, 5], ["<b>", 5, 7]]
    result = {"title": "A run", "sentence": "Among 12 runs", "rows": rows}
    tally = {"kind": "tally", "done": 12, "of": 12, "sentence": "12 of 12 pairs of runs"}
    sand.evaluate("(line) => window.specviz['sv-proof-repeats'].take(line)", tally)
    expect(part.locator("#sv-proof-counts")).to_have_count(0)
    final = {**tally, "result": result}
    sand.evaluate("(line) => window.specviz['sv-proof-repeats'].take(line)", final)
    expect(part).to_contain_text("A run Among 12 runs")
    expect(part.locator("#sv-proof-counts .main-svg").get_by_text("<b>")).to_have_count(1)


def test_verdict_of_simulated_rounds_appears_after_the_last_round(lively):
    page = lively.open()
    page.get_by_role("tab", name="Lossless?").click()
    page.wait_for_function(f"{SAND}?.question.idle")
    button(page, "Run 1,000 rounds").click()
    seen = page.evaluate(COUNTED)
    assert len(seen) > 3
    assert all(visible == (count == "1,000 rounds") for count, visible, _ in seen)
    assert len({top for *_, top in seen}) == 1, "nothing moves below"


def test_lossless_tab_is_readable_at_every_size(sand, looker):
    sand.wait_for_selector(".sv-wild-one h3")
    fold = button(sand.locator("#sv-part-proof"), "Try it")
    if fold.get_attribute("aria-expanded") != "true":
        fold.click()
    sand.wait_for_selector("#sv-proof-distances .main-svg")
    button(sand, "Run 1,000 rounds").click()
    expect(sand.locator(".sv-coins-count")).to_have_text("1,000 rounds")
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
    sand.locator(".sv-wild-list button").nth(3).click()
    expect(sand.locator(".sv-wild-one h3")).to_be_in_viewport()
    assert sand.evaluate("document.documentElement.scrollWidth") <= 390


def test_lossy_run_is_labelled_not_lossless(visit, pair):
    page = visit.open()
    visit.fill_in(pair, "The cat")
    page.get_by_label("Verification rule").click()
    page.get_by_role("option", name="Lossy: no verification").click()
    visit.run()
    expect(page.locator(".sv-lossy")).to_have_text("not lossless", timeout=60_000)
    visit.wait_until_over()
    expect(page.locator(".sv-if-exact")).to_be_hidden()
    expect(page.locator(".sv-if-lossy")).to_be_visible()
    visit.ask("load('01-chain')")
    expect(page.locator(".sv-if-exact")).to_be_visible()
    assert page.locator(".sv-lossy").inner_text() == ""
