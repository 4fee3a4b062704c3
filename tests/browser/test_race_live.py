"""Live races in a browser: from a preset, rejected, stopped, recorded, lane by lane."""

from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError as Late
from playwright.sync_api import expect
from serve import SLOW

from specviz.settings.specs import find_spec
from specviz.ui.compare.race.recorded import title
from specviz.ui.compare.race.request import suits

RACE = "window.specviz.races['sv-race']"
PROMPT = "Once upon a time, a small fox"


@pytest.fixture
def page(visit):
    """The Compare tab with its settings open."""
    return compare(visit)


def compare(visit, query=""):
    """Open the tab, and wait until its recorded race is shown."""
    page = visit.open(query)
    page.get_by_role("tab", name="Compare", exact=True).click()
    page.wait_for_function(f"{RACE.replace('races', 'races?.')}?.whole")
    page.locator("#sv-raceform-drawer[data-lanes]").wait_for(state="attached")
    page.click("#sv-raceform-settings button")
    return page


def fill_in(page, preset, tokens, seed=1):
    """Fill in a short race with the lanes of a preset."""
    page.get_by_role("button", name=preset).click()
    expect(page.get_by_role("button", name=preset)).to_have_attribute("aria-pressed", "true")
    page.locator("#sv-raceform-prompt textarea").fill(PROMPT)
    shared = page.locator("#sv-raceform-shared")
    shared.get_by_label("New tokens").first.fill(str(tokens))
    shared.get_by_label("Seed").fill(str(seed))
    expect(page.locator("#sv-raceform-settings")).to_contain_text(f"{tokens} tokens · seed {seed}")


def test_choosing_another_target_lists_only_drafters_that_fit_it(page, visit):
    lane = "#sv-raceform-lane-1 .sv-raceform-model input"
    assert "EAGLE-3" in visit.listed(lane)
    turns = page.locator("#sv-raceform-chat")
    expect(turns).to_contain_text("House has no chat template")
    expect(turns.get_by_label("System text")).to_be_hidden()
    visit.choose("#sv-raceform-target input", "SmolLM2")
    expect(turns.get_by_label("System text")).to_be_visible()
    expect(turns.get_by_label("Raw text")).to_be_visible()
    expect(turns.locator(".sv-base p")).to_be_hidden()
    expect(page.locator("#sv-raceform-settings")).to_contain_text("for SmolLM2 · ")
    shown = visit.listed(lane)
    expect(words(page, 2)).to_have_text("made for House: it cannot draft for SmolLM2")
    assert {"N-gram", "Draft model"} <= shown
    assert "EAGLE-3" not in shown


def race(page):
    """Press Run live, and wait until the page has requested the race."""
    stop = page.locator("#sv-race-stop")
    page.click("#sv-race-go")
    with suppress(Late):  # Gradio ignores a click while the form's last event is not over
        return stop.wait_for(timeout=4000)
    page.click("#sv-race-go")
    return stop.wait_for()


def wait_until_over(page):
    expect(page.locator("#sv-race-go")).to_be_visible(timeout=60_000)


def expect_lanes(page, *lanes):
    """Wait until these lanes are shown, each with a drafter's title and settings."""
    rows = page.locator(".sv-raceform-lane[data-there=true]")
    expect(rows).to_have_count(len(lanes))
    for row, (drafter, settings) in zip(rows.all(), lanes, strict=True):
        expect(row.get_by_role("combobox")).to_have_value(drafter)
        expect(row.locator(".sv-raceform-typed input")).to_have_value(settings)


def typed(page, place):
    """Return the hidden field with a lane's settings."""
    return page.locator(f"#sv-raceform-lane-{place} .sv-raceform-typed input")


def words(page, place):
    """Return the displayed summary of a lane's settings."""
    return page.locator(f"#sv-raceform-lane-{place} .sv-raceform-hint p")


def labels(page, box):
    """Return the labels of the visible fields in an element."""
    shown = page.locator(f"{box} [data-testid=block-info]:visible").all_inner_texts()
    return [label.strip() for label in shown if label.strip()]


def test_settings_of_a_lane_use_the_same_fields_as_step(page):
    page.get_by_role("button", name="Four families").click()
    expect(page.locator("#sv-raceform-fields")).to_be_hidden()
    expect(words(page, 3)).to_have_text("γ 5 · budget 10 (default)")
    editor = page.get_by_role("button", name="Settings of lane 3")
    expect(editor).to_have_attribute("aria-expanded", "false")
    editor.click()
    expect(editor).to_have_attribute("aria-expanded", "true")
    fields = page.locator("#sv-raceform-fields")
    expect(fields.get_by_role("heading")).to_have_text("Settings of lane 3: EAGLE-3")
    assert labels(page, "#sv-raceform-fields") == [
        find_spec(name).label for name in ("gamma", "schedule", "budget", "fan_out", "rule")
    ]
    fields.get_by_label("γ, guesses in a row").first.fill("7")
    expect(words(page, 3)).to_have_text("γ 7 · budget 10")
    expect(typed(page, 3)).to_have_value("gamma=7 budget=10 fan-out=2")
    fields.get_by_role("radio", name="Learning: +2 or −1").check()
    expect(typed(page, 3)).to_have_value("gamma=7 schedule=learning budget=10 fan-out=2")
    expect(page.get_by_role("button", name="Four families")).to_have_attribute(
        "aria-pressed", "false"
    )
    page.get_by_role("button", name="Settings of lane 4").click()
    expect(fields.get_by_role("heading")).to_have_text("Settings of lane 4: Draft model")
    expect(fields.get_by_label("γ, guesses in a row").first).to_have_value("5")
    page.get_by_role("combobox", name="Lane 4").click()
    page.get_by_role("option", name="Medusa").click()
    expect(fields.get_by_role("heading")).to_have_text("Settings of lane 4: Medusa")
    expect(fields.get_by_label("Tree as rank paths")).to_have_value(
        "0; 1; 2; 0,0; 0,1; 1,0; 0,0,0; 0,0,0,0"
    )
    expect(typed(page, 3)).to_have_value("gamma=7 schedule=learning budget=10 fan-out=2")
    page.get_by_role("button", name="Four families").click()
    expect(fields).to_be_hidden()
    expect(typed(page, 3)).to_have_value(suits("eagle3"))
    expect(words(page, 4)).to_have_text("γ 5 (default)")


def test_preset_race_runs_and_an_invalid_lane_is_rejected(page):
    fill_in(page, "γ 2 against γ 8", tokens=8)
    race(page)
    wait_until_over(page)
    page.wait_for_function(f"{RACE}.race.source === 'live'")
    run, whole = page.evaluate(f"{RACE}.race"), page.evaluate(f"{RACE}.whole")
    assert [lane["shape"] for lane in run["lanes"][:2]] == ["γ 2", "γ 8"]
    assert (run["prompt"], len(whole["lanes"])) == (PROMPT, 3)
    assert whole["texts"]["same"] is not None
    page.get_by_role("button", name="Settings of lane 2").click()
    page.locator("#sv-raceform-fields").get_by_label("Siblings at each depth").fill("many")
    page.keyboard.press("Tab")
    expect(typed(page, 2)).to_have_value("gamma=8 siblings=many")
    page.click("#sv-race-go")
    said = "Lane 2: Siblings at each depth must be whole numbers like 3, 2."
    page.get_by_role("alert").filter(has_text=said).wait_for()
    wait_until_over(page)
    assert page.evaluate(f"{RACE}.race.prompt") == PROMPT, "what was shown stays"


def test_stopped_live_race_keeps_its_finished_lanes(page):
    fill_in(page, "γ 2 against γ 8", tokens=40, seed=SLOW)
    race(page)
    page.wait_for_function(
        f"{RACE}.race.source === 'live' && {RACE}.race.prompt === '{PROMPT}'"
        f" && {RACE}.whole?.lanes.length"
    )
    page.click("#sv-race-stop")
    wait_until_over(page)
    expect(page.get_by_role("alert").filter(has_text="Stopped.")).to_be_visible()
    whole = page.evaluate(f"{RACE}.whole")
    assert whole["texts"]["same"] is None or len(whole["lanes"]) < 3
    assert whole["lanes"]


def test_added_lanes_have_default_settings(page):
    page.get_by_role("button", name="γ 2 against γ 8").click()
    short, long = ("Draft model", "gamma=2"), ("Draft model", "gamma=8")
    expect_lanes(page, short, long)
    expect(page.get_by_role("button", name="Remove lane 1")).to_be_hidden()
    page.click("#sv-raceform-add")
    expect_lanes(page, short, long, ("N-gram", suits("ngram")))
    expect(page.locator("#sv-raceform-settings")).to_contain_text("3 drafters for House")
    page.get_by_role("combobox", name="Lane 3").click()
    page.get_by_role("option", name="EAGLE-2").click()
    expect_lanes(page, short, long, ("EAGLE-2", suits("eagle2")))
    expect(words(page, 3)).to_have_text("γ 5 · budget 10 (default)")
    page.get_by_role("button", name="Remove lane 1").click()
    expect_lanes(page, long, ("EAGLE-2", suits("eagle2")))


def test_race_form_takes_the_settings_of_the_chosen_race(visit):
    page = compare(visit, "?race=2-repeat")
    expect(page.locator("#sv-raceform-recorded input")).to_have_value(title("2-repeat"))
    assert page.evaluate(f"{RACE}.race.id") == "2-repeat"
    expect(typed(page, 4)).to_have_value("gamma=8")
    page.locator("#sv-raceform-recorded input").click()
    page.get_by_role("option", name=title("1-story")).click()
    page.wait_for_function(f"{RACE}.race.id === '1-story'")
    pressed = page.get_by_role("button", name="Four families")
    expect(pressed).to_have_attribute("aria-pressed", "true")
    expect(typed(page, 2)).to_have_value(suits("medusa"))
    prompt = page.locator("#sv-raceform-prompt textarea")
    expect(prompt).to_have_value(page.evaluate(f"{RACE}.race.prompt"))
