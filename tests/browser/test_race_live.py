"""Races asked for in a real browser: from a preset, refused, stopped, made again, lane by lane."""

import pytest
from playwright.sync_api import expect
from serve import SLOW

from specviz.ui.compare.race.recorded import title
from specviz.ui.compare.race.request import suits

RACE = "window.specviz.races['sv-race']"
PROMPT = "Once upon a time, a small fox"


@pytest.fixture
def page(visit):
    """The Compare tab with its drawer open."""
    return compare(visit)


def compare(visit, query=""):
    """Open the tab, and wait until its recorded race is there."""
    page = visit.open(query)
    page.get_by_role("tab", name="Compare", exact=True).click()
    page.wait_for_function(f"{RACE.replace('races', 'races?.')}?.whole")
    page.locator("#sv-raceform-drawer[data-lanes]").wait_for(state="attached")
    page.click("#sv-raceform-settings button")
    return page


def fill_in(page, preset, tokens, seed=1):
    """A short race of a preset's lanes."""
    page.get_by_role("button", name=preset).click()
    expect(page.get_by_role("button", name=preset)).to_have_attribute("aria-pressed", "true")
    page.locator("#sv-raceform-prompt textarea").fill(PROMPT)
    shared = page.locator("#sv-raceform-shared")
    shared.get_by_label("New tokens").first.fill(str(tokens))
    shared.get_by_label("Seed").fill(str(seed))
    expect(page.locator("#sv-raceform-settings")).to_contain_text(f"{tokens} tokens · seed {seed}")


def race(page):
    """Run live, and wait until the page has asked for the race."""
    page.click("#sv-race-go")
    expect(page.locator("#sv-race-stop")).to_be_visible()


def wait_until_over(page):
    expect(page.locator("#sv-race-go")).to_be_visible(timeout=60_000)


def expect_lanes(page, *lanes):
    """Wait until these lanes are there, each a drafter's title and settings."""
    rows = page.locator(".sv-raceform-lane[data-there=true]")
    expect(rows).to_have_count(len(lanes))
    for row, (drafter, settings) in zip(rows.all(), lanes, strict=True):
        expect(row.get_by_role("combobox")).to_have_value(drafter)
        expect(row.get_by_role("textbox")).to_have_value(settings)


def test_a_preset_is_raced_and_a_bad_lane_is_one_sentence(page):
    fill_in(page, "γ 2 against γ 8", tokens=8)
    race(page)
    wait_until_over(page)
    page.wait_for_function(f"{RACE}.race.source === 'live'")
    whole = page.evaluate(f"{RACE}.whole")
    assert [lane["settings"]["gamma"] for lane in whole["lanes"][:2]] == [2, 8]
    assert (whole["prompt"], whole["complete"], len(whole["lanes"])) == (PROMPT, True, 3)
    assert {lane["tokens"] for lane in whole["lanes"]} == {8}
    page.get_by_label("Settings of lane 2").fill("gamma=many")
    page.click("#sv-race-go")
    alert = page.get_by_role("alert").filter(has_text="Lane 2: γ must be a number, not 'many'.")
    alert.wait_for()
    wait_until_over(page)
    assert page.evaluate(f"{RACE}.whole.prompt") == PROMPT, "what was shown stays"


def test_a_race_that_is_stopped_keeps_what_came(page):
    fill_in(page, "γ 2 against γ 8", tokens=40, seed=SLOW)
    race(page)
    page.wait_for_function(
        f"{RACE}.race.source === 'live' && {RACE}.whole?.prompt === '{PROMPT}'"
        f" && {RACE}.whole.lanes.length"
    )
    page.click("#sv-race-stop")
    wait_until_over(page)
    expect(page.get_by_role("alert").filter(has_text="Stopped.")).to_be_visible()
    whole = page.evaluate(f"{RACE}.whole")
    assert whole["complete"] is False
    assert whole["lanes"]


def test_lanes_come_and_go_and_each_has_what_suits_its_drafter(page):
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
    hint = page.locator("#sv-raceform-lane-3 .sv-raceform-hint p")
    expect(hint).to_contain_text("EAGLE-2 reads budget, fan-out, gamma, schedule")
    page.get_by_role("button", name="Remove lane 1").click()
    expect_lanes(page, long, ("EAGLE-2", suits("eagle2")))


def test_the_form_follows_the_recorded_race_that_is_chosen(visit):
    page = compare(visit, "?race=2-repeat")
    expect(page.locator("#sv-raceform-recorded input")).to_have_value(title("2-repeat"))
    assert page.evaluate(f"{RACE}.race.id") == "2-repeat"
    expect(page.get_by_label("Settings of lane 4")).to_have_value("gamma=8")
    page.locator("#sv-raceform-recorded input").click()
    page.get_by_role("option", name=title("1-story")).click()
    page.wait_for_function(f"{RACE}.race.id === '1-story'")
    pressed = page.get_by_role("button", name="Four families")
    expect(pressed).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Settings of lane 2")).to_have_value(suits("medusa"))
    prompt = page.locator("#sv-raceform-prompt textarea")
    expect(prompt).to_have_value(page.evaluate(f"{RACE}.race.prompt"))
