"""The Lossless? tab in a browser: draggable bars, coins, the gallery and a recorded run."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from test_access import faint, faults
from windows import SIZE

SAND = "window.specviz.sandbox"
P = "[data-law=p] .sv-sand-bar"


# Reset the sandbox, and the gallery to its own p and q with the first rule open.
AGAIN = """() => {
  const press = (selector) => document.querySelector(selector).click();
  window.specviz.sandbox.go(window.sandAtFirst);
  for (const mode of ["detective", "gallery"]) press(`[data-mode=${mode}]`);
  document.querySelector(".sv-wild-list button")?.click();
}"""


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


def settled(page):
    """Return the result once the server has answered for the current bars."""
    page.wait_for_function(f"{SAND}.question.idle")
    return page.evaluate(f"{SAND}.last")


def test_output_still_equals_p_after_a_bar_is_dragged(sand):
    box = sand.locator(P).first.bounding_box()
    x, top, low = box["x"] + box["width"] / 2, box["y"] + 8, box["y"] + box["height"] - 4
    sand.mouse.move(x, low)
    sand.mouse.down()
    sand.mouse.move(x, top, steps=4)
    sand.mouse.up()
    found, p = settled(sand), sand.evaluate(f"{SAND}.state.p")
    assert p[0] > 0.45, "it was dragged above where it stood"
    assert sum(p) == pytest.approx(1)
    assert [a + b for a, b in zip(found["kept"], found["filled"], strict=True)] == pytest.approx(p)
    expect(sand.locator(".sv-sand-verdict")).to_contain_text("exact The output follows p")
    assert sand.locator("#sv-sand-preset").input_value() == "", "no preset any more"
    assert sand.locator(".sv-sand-off").count() == 0


def test_bars_can_be_moved_with_the_keyboard(sand):
    bar = sand.get_by_role("slider", name="Target: ␣cat")
    bar.focus()
    sand.keyboard.press("PageUp")
    expect(bar).to_have_attribute("aria-valuenow", "0.5")
    sand.keyboard.press("ArrowDown")
    expect(bar).to_have_attribute("aria-valuenow", "0.49")
    sand.keyboard.press("Home")
    expect(bar).to_have_attribute("aria-valuenow", "0")
    assert settled(sand)["verdict"] == "exact"


def test_mismatched_rule_is_called_lossy_with_the_word_and_the_reason(sand):
    sand.get_by_role("button", name="the top tokens of q").click()
    sand.locator("#sv-sand-rule").select_option("speculative")
    assert settled(sand)["numbers"]["tv"] == "0.3056"
    words = sand.locator(".sv-sand-verdict").inner_text()
    assert words.replace("\n", " ").startswith(
        "Lossy dog appears too often: with probability 0.556"
    )
    expect(sand.locator(".sv-sand-why")).to_contain_text("accept x with probability p(x)")
    assert sand.locator(".sv-sand-off").count() == 5
    sand.get_by_text("All numbers, token by token").click()
    assert sand.locator(".sv-sand-table tbody tr").count() == 6
    sand.locator("#sv-sand-rule").select_option("ensemble")
    sand.locator(".sv-sand-dial input").fill("0.5")
    expect(sand.locator(".sv-sand-verdict")).to_contain_text("lossy")
    assert sand.evaluate(f"{SAND}.request().rule") == "ensemble:0.5"


def test_simulated_rounds_are_cleared_when_the_sandbox_changes(sand):
    sand.get_by_role("button", name="Run 1,000 rounds").click()
    expect(sand.locator(".sv-coins-count")).to_have_text("1,000 rounds")
    assert sand.locator(".sv-coins-columns .sv-coins-whisker").count() == 5
    assert float(sand.locator("[data-number=seen]").inner_text()) < 0.1
    sand.locator("#sv-sand-rule").select_option("unverified")
    expect(sand.locator(".sv-coins-body")).to_be_hidden()


def test_gallery_links_its_sources_and_can_use_the_p_and_q_of_the_sandbox(sand):
    sand.wait_for_selector(".sv-wild-one h3")
    assert sand.locator(".sv-wild-list li").count() >= 12
    sand.get_by_role("button", name="The textbook test, used on top-k guesses").click()
    one = sand.locator(".sv-wild-one")
    expect(one).to_contain_text("Distance of the output from p: 0.3500")
    link = one.get_by_role("link")
    assert link.get_attribute("href").endswith("SafeAILab/EAGLE/issues/329")
    assert link.get_attribute("rel") == "noopener noreferrer"
    sand.locator("#sv-sand-preset").select_option("same")
    settled(sand)
    sand.get_by_role("button", name="Test all with the sandbox’s p and q").click()
    expect(sand.get_by_role("button", name="Resampling from p itself")).to_contain_text("exact")


def test_gallery_case_with_three_words_shows_three_columns(sand):
    sand.locator("[data-key=remaining-mass] , [data-key=remaining-mass] button").last.click()
    expect(sand.locator(".sv-wild-one h3")).to_contain_text("remaining draft mass")
    assert sand.locator(".sv-wild-columns > *").count() == 3
    assert sand.locator(".sv-wild-one .sv-sand-words:not(.sv-wild-both) > *").count() == 3
    both = sand.locator(".sv-wild-both > *").all_inner_texts()
    assert [text.split()[::2] for text in both] == [["p", "q"]] * 3
    for name in ("sv-sand-p-ink", "sv-sand-q-ink"):
        found = sand.locator(f".sv-wild-both .{name}").all_inner_texts()
        assert sum(float(text.split()[1]) for text in found) == pytest.approx(1, abs=0.02)


def test_find_the_fault_reveals_the_case_only_after_an_answer(sand):
    sand.wait_for_selector(".sv-wild-one h3")
    sand.get_by_role("button", name="Find the fault").click()
    options = sand.locator(".sv-wild-options button")
    expect(options.last).to_have_text("No fault: the output follows p")
    assert sand.locator(".sv-wild-one a").count() == 0, "a source would tell"
    sand.locator(".sv-wild-names summary").press("Enter")
    explained = sand.locator(".sv-wild-names dt")
    expect(explained.last).to_be_visible()
    assert explained.all_inner_texts() == options.all_inner_texts()[:-1]
    assert all(sand.locator(".sv-wild-names dd").all_inner_texts())
    assert sand.locator(".sv-wild-options .sv-wild-badge").count() == 0, "verdicts would tell"
    options.last.click()
    expect(sand.locator(".sv-wild-score")).to_contain_text(" of 1")
    assert sand.locator(".sv-wild-one a").count() == 1
    sand.get_by_role("button", name="Another case").click()
    expect(options.last).to_have_text("No fault: the output follows p")


def test_verdict_of_a_recorded_run_opens_in_the_sandbox(sand):
    name = sand.evaluate("[...document.querySelector('#sv-proof-run').options].at(-1).value")
    sand.locator("#sv-proof-run").select_option(name)
    expect(sand.locator(".sv-proof-said")).to_contain_text("guesses judged by the rule")
    sand.locator(".sv-proof-list button:enabled").first.click()
    expect(sand.locator(".sv-sand-from")).to_contain_text("the likeliest tokens")
    assert settled(sand)["verdict"] == "exact"


def test_undo_restores_the_sandbox_that_a_recorded_verdict_replaced(sand):
    sand.locator("#sv-sand-preset").select_option("near")
    sand.locator("#sv-sand-rule").select_option("ensemble")
    sand.locator(".sv-sand-dial input").fill("0.5")
    before = sand.evaluate(f"{SAND}.state")
    for at in (0, 1):
        sand.locator(".sv-proof-list button:enabled").nth(at).click()
    expect(sand.locator(".sv-sand-from")).to_contain_text("Round ")
    sand.get_by_role("button", name="Undo").click()
    expect(sand.locator(".sv-sand-from")).to_be_hidden()
    assert sand.evaluate(f"{SAND}.state") == before


def test_dartboard_preset_draws_the_dartboard_under_its_heading(sand):
    sand.locator("[data-choice=candidates] button").last.click()
    sand.locator("#sv-sand-preset").select_option("darts")
    expect(sand.get_by_role("heading", name="Von Neumann’s dartboard")).to_be_visible()
    expect(sand.locator(".sv-coins-dart")).to_have_count(600)  # before any round
    expect(sand.locator(".sv-coins-body")).to_be_hidden()
    sand.locator("#sv-sand-rule").select_option("speculative")
    expect(sand.locator(".sv-coins-dart")).to_have_count(0)


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


def test_verdict_of_simulated_rounds_appears_after_the_last_round(lively):
    page = lively.open()
    page.get_by_role("tab", name="Lossless?").click()
    page.wait_for_function(f"{SAND}?.question.idle")
    page.get_by_role("button", name="Run 1,000 rounds").click()
    seen = page.evaluate(COUNTED)
    assert len(seen) > 3
    assert all(visible == (count == "1,000 rounds") for count, visible, _ in seen)
    assert len({top for *_, top in seen}) == 1


def test_p_q_and_output_are_all_visible_with_larger_text(sand):
    sand.set_viewport_size({"width": 1280, "height": 800})
    larger = sand.get_by_role("button", name="Larger text")
    larger.click()
    sand.evaluate("scrollTo(0, 0)")
    words = sand.locator(".sv-sand-words").first
    box = words.bounding_box()
    assert box["y"] + box["height"] <= 800
    cut = "(row) => [...row.children].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert words.evaluate(cut) == 0, "no word is cut"
    larger.click()


def test_phone_shows_the_verdict_above_every_control(visit):
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 844})
    opened(visit)
    for name in ("#sv-sand-preset", "[data-choice=candidates]", "#sv-sand-rule"):
        control = page.locator(name)
        control.evaluate("(e) => e.scrollIntoView({ block: 'center' })")
        verdict = page.locator(".sv-sand-verdict").bounding_box()
        assert 0 <= verdict["y"] < control.bounding_box()["y"] < 844, name


def test_verdict_and_controls_are_beside_the_bars_with_larger_text(visit):
    page = visit.page
    page.set_viewport_size({"width": 1024, "height": 768})
    page.add_init_script("sessionStorage.setItem('sv-large', 'true')")
    opened(visit)
    for name in (".sv-sand-verdict", ".sv-sand-out", "#sv-sand-rule"):
        box = page.locator(name).first.bounding_box()
        assert box["y"] + box["height"] <= 768, name


def test_choosing_a_rule_on_a_phone_scrolls_the_output_into_view(sand):
    sand.set_viewport_size({"width": 390, "height": 844})
    rule = sand.locator("#sv-sand-rule")
    rule.scroll_into_view_if_needed()
    output = sand.locator(".sv-sand-out")
    assert output.bounding_box()["y"] < 0, "it is above the window"
    rule.select_option(index=3)
    settled(sand)
    box = output.bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 844


# The job of the repeated runs, in the module that the page has loaded.
REPEATS = """(steps) => import(
  performance.getEntriesByType("resource")
    .find(({ name }) => name.endsWith("proof/repeats.js")).name
).then(({ job, takeLine }) => steps.forEach(([verb, value]) =>
  verb === "line" ? takeLine(value) : job.face[verb](value, true)))"""


def test_stopping_repeated_runs_keeps_their_counts(sand):
    counted = sand.locator(".sv-proof-counted")
    tally = {"kind": "tally", "done": 12, "of": 200, "sentence": "Among 12 runs"}
    sand.evaluate(REPEATS, [["turn", True], ["line", tally]])
    expect(sand.locator(".sv-proof-count")).to_have_text("12 of 200 pairs of runs")
    assert sand.locator(".sv-proof-bar").evaluate("(bar) => bar.value / bar.max") == 0.06
    sand.evaluate(REPEATS, [["end", "Stopped."], ["turn", False]])
    expect(counted).to_have_text("Stopped. Among 12 runs")
    sand.evaluate(REPEATS, [["turn", True], ["turn", False]])
    expect(counted).to_have_text("")


def test_focus_stays_on_a_gallery_case_when_the_list_is_updated(sand):
    sand.locator("#sv-sand-preset").select_option("same")
    settled(sand)
    rule = sand.get_by_role("button", name="Resampling from p itself")
    expect(rule).to_contain_text("lossy")
    rule.focus()
    sand.locator("[data-do=laws]").evaluate("(button) => button.click()")
    expect(rule).to_contain_text("exact")
    expect(rule).to_be_focused()


def test_run_without_recipe_cannot_be_repeated(sand):
    sand.locator("#sv-proof-run").select_option("01-chain")  # made up, so it has no recipe
    sand.get_by_role("button", name="times with and without a draft").click()
    expect(sand.locator(".sv-proof-counted")).to_contain_text("cannot be repeated")
    expect(sand.get_by_role("button", name="times with and without a draft")).to_be_visible()


def test_rejection_on_step_opens_in_the_sandbox(sand, looker):
    sand.get_by_role("tab", name="Step", exact=True).click()
    looker.look()
    looker.step_to("Recovered")
    sand.get_by_role("button", name="try rules").click()
    expect(sand.locator(".sv-sand-from")).to_contain_text("Round ")
    assert sum(sand.evaluate(f"{SAND}.state.q")) == pytest.approx(1)
    assert sand.evaluate(f"{SAND}.state.drawn") == "sampled"


def test_lossless_tab_is_accessible_and_responsive(sand, looker):
    sand.wait_for_selector(".sv-wild-one h3")
    sand.get_by_role("button", name="Run 1,000 rounds").click()
    expect(sand.locator(".sv-coins-count")).to_have_text("1,000 rounds")
    assert faults(sand) == []  # none of it changes with the theme
    for theme in ("light", "dark"):
        sand.set_viewport_size(SIZE)
        looker.dress(theme)
        assert faint(sand) == [], theme
        sand.set_viewport_size({"width": 390, "height": 844})
        sand.locator(".sv-wild-list button").nth(3).click()
        expect(sand.locator(".sv-wild-one h3")).to_be_in_viewport()
        assert sand.evaluate("document.documentElement.scrollWidth") <= 390, theme
    looker.dress("light")


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
    expect(page.locator(".sv-where")).to_contain_text("unverified")
    visit.ask("load('01-chain')")
    expect(page.locator(".sv-if-exact")).to_be_visible()
    assert page.locator(".sv-lossy").inner_text() == ""
