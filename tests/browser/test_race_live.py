"""Live races in a browser: their form, from a preset, rejected, stopped, and as recorded."""

from contextlib import suppress

from playwright.sync_api import TimeoutError as Late
from playwright.sync_api import expect
from serve import SLOW

from specviz.settings.specs import find_spec
from specviz.ui.compare.race.recorded import title

RACE = "window.specviz['sv-race']"
PROMPT = "Once upon a time, a small fox"
SETTINGS = "#sv-raceform-settings"


def compare(visit, query=""):
    """Open the tab, and wait until its recorded race is shown."""
    page = visit.open(query)
    tab = page.get_by_role("tab", name="Compare", exact=True)
    expect(tab).to_have_attribute("aria-selected", "true") if query else tab.click()
    page.wait_for_function(f"{RACE.replace('races', 'races?.')}?.whole")
    page.locator("#sv-raceform-lane-4").wait_for(state="attached")
    page.click(f"{SETTINGS} button")
    return page


def open_settings(page):
    """Open the settings, which a race has folded."""
    if page.locator(f"{SETTINGS} button").get_attribute("aria-expanded") == "false":
        page.click(f"{SETTINGS} button")


def fill_in(page, preset, tokens, seed=1):
    """Fill in a short race with the lanes of a preset."""
    open_settings(page)
    page.get_by_role("radio", name=preset).check()
    expect(words(page, 1)).to_have_text("Settings of lane 1: γ 2")
    page.locator("#sv-raceform-prompt textarea").fill(PROMPT)
    shared = page.locator("#sv-raceform-shared")
    shared.get_by_label("New tokens").first.fill(str(tokens))
    shared.get_by_label("Seed").fill(str(seed))
    expect(page.locator(SETTINGS)).to_contain_text(f"{tokens} tokens · seed {seed}")


def race(page):
    """Press Run live, and wait until the page has requested the race."""
    stop = page.locator("#sv-race-stop")
    page.click("#sv-race-go")
    with suppress(Late):  # Gradio ignores a click while the form's last event is not over
        return stop.wait_for(timeout=4000)
    page.click("#sv-race-go")
    return stop.wait_for()


def wait_until_over(page):
    expect(page.locator("#sv-race-go")).to_be_visible()


def expect_lanes(page, *lanes):
    """Wait until these lanes are shown, each with a drafter's title and the shape of its draft."""
    rows = page.locator(".sv-raceform-lane:visible")
    expect(rows).to_have_count(len(lanes))
    for place, (drafter, shape) in enumerate(lanes, start=1):
        expect(rows.nth(place - 1).get_by_role("combobox").first).to_have_value(drafter)
        expect(words(page, place)).to_have_text(shape and f"Settings of lane {place}: {shape}")


def words(page, place):
    return page.locator(f"#sv-raceform-lane-{place} .sv-raceform-fold .label-wrap > span").first


def fields(page, place):
    """Open the settings of a lane, and return their fields."""
    words(page, place).click()
    return page.locator(f"#sv-raceform-lane-{place} .sv-group")


def choose_drafter(page, place, drafter):
    page.get_by_role("combobox", name=f"Lane {place}").click()
    page.get_by_role("option", name=drafter).click()


def test_form_of_a_race_is_edited_and_a_race_runs_and_can_be_rejected_or_stopped(visit):
    page = compare(visit)
    lanes_are_added_removed_and_edited_with_the_fields_of_step(page)
    fill_in(page, "γ 2 against γ 8", tokens=8)
    race(page)
    wait_until_over(page)
    page.wait_for_function(f"{RACE}.race.source === 'live'")
    expect(page.locator("#sv-raceform-shared"), "the race is in view").to_be_hidden()
    run, whole = page.evaluate(f"{RACE}.race"), page.evaluate(f"{RACE}.whole")
    assert [lane["shape"] for lane in run["lanes"][:2]] == ["γ 2", "γ 8"]
    assert (run["prompt"], len(whole["lanes"])) == (PROMPT, 3)
    assert whole["texts"]["same"] is not None
    open_settings(page)
    fields(page, 2).get_by_label("Siblings at each depth").fill("many")
    wrong = "Siblings at each depth must be whole numbers like 3, 2."
    expect(words(page, 2)).to_have_text(f"Settings of lane 2: {wrong}")
    page.click("#sv-race-go")
    said = f"Lane 2: {wrong}"
    page.get_by_role("alert").filter(has_text=said).wait_for()
    wait_until_over(page)
    assert page.evaluate(f"{RACE}.race.id") == run["id"], "what was shown stays"
    fill_in(page, "γ 2 against γ 8", tokens=40, seed=SLOW)
    race(page)
    page.wait_for_function(f"{RACE}.race.id !== '{run['id']}' && {RACE}.whole?.lanes.length")
    page.click("#sv-race-stop")
    wait_until_over(page)
    expect(page.get_by_role("alert").filter(has_text="Stopped.")).to_be_visible()
    whole = page.evaluate(f"{RACE}.whole")
    assert whole["texts"]["same"] is None or len(whole["lanes"]) < 3
    assert whole["lanes"], "finished lanes are kept"


def lanes_are_added_removed_and_edited_with_the_fields_of_step(page):
    page.get_by_role("radio", name="γ 2 against γ 8").check()
    short, long = ("Draft model", "γ 2"), ("Draft model", "γ 8")
    expect_lanes(page, short, long)
    expect(page.get_by_role("button", name="Remove lane 1")).to_be_hidden()
    page.click("#sv-raceform-add")
    expect_lanes(page, short, long, ("N-gram", "γ 10 (default)"))
    choose_drafter(page, 3, "EAGLE-2")
    eagle = ("EAGLE-2", "γ 5 · budget 10 (default)")
    expect_lanes(page, short, long, eagle)
    page.get_by_role("button", name="Remove lane 1").click()
    expect_lanes(page, long, eagle)
    preset = page.get_by_role("radio", name="Four families")
    preset.check()
    expect_lanes(
        page,
        ("N-gram", "γ 10 (default)"),
        ("Medusa", "8 paths · γ 4 (default)"),
        ("EAGLE-3", "γ 5 · budget 10 (default)"),
        ("Draft model", "γ 5 (default)"),
    )
    expect(page.locator("#sv-raceform-add")).to_be_hidden()
    third = fields(page, 3)
    for name in ("gamma", "schedule", "budget", "fan_out", "rule"):
        label = third.locator("[data-testid=block-info]:visible", has_text=find_spec(name).label)
        expect(label.first).to_be_visible()
    expect(third.get_by_label("Siblings at each depth")).to_be_hidden()
    third.get_by_label("γ, guesses in a row").first.fill("7")
    third.get_by_role("radio", name="Learning: +2 or −1").check()
    expect(words(page, 3)).to_have_text("Settings of lane 3: γ 7 · budget 10")
    expect(preset).not_to_be_checked()
    choose_drafter(page, 4, "Medusa")
    paths = "0; 1; 2; 0,0; 0,1; 1,0; 0,0,0; 0,0,0,0"
    expect(fields(page, 4).get_by_label("Tree as rank paths")).to_have_value(paths)
    preset.check()
    expect(words(page, 3)).to_have_text("Settings of lane 3: γ 5 · budget 10 (default)")


def test_recorded_race_fills_in_the_form_and_another_target_lists_its_drafters(visit):
    page = compare(visit, "?race=2-repeat")
    expect(page.locator("#sv-raceform-recorded input")).to_have_value(title("2-repeat"))
    assert page.evaluate(f"{RACE}.race.id") == "2-repeat"
    assert page.locator(".sv-race .sv-badge").inner_text() == "recorded"
    shown = page.evaluate(f"{RACE}.tokens")
    assert len(shown) >= 3
    assert len(set(shown.values())) == 1, "lanes of one length at temperature 0"
    assert not page.evaluate(f"{RACE}.playing")
    headline = page.locator(".sv-race-headline")
    expect(headline).to_have_text(page.evaluate(f"{RACE}.whole.headline"))
    expect(words(page, 4)).to_have_text("Settings of lane 4: γ 8")
    visit.choose("#sv-raceform-recorded input", title("1-story"))
    page.wait_for_function(f"{RACE}.race.id === '1-story'")
    expect(page.get_by_role("radio", name="Four families")).to_be_checked()
    expect(words(page, 2)).to_have_text("Settings of lane 2: 8 paths · γ 4 (default)")
    prompt = page.locator("#sv-raceform-prompt textarea")
    expect(prompt).to_have_value(page.evaluate(f"{RACE}.race.prompt"))
    lane = "#sv-raceform-lane-1 .sv-drafters input"
    assert "EAGLE-3" in visit.listed(lane)
    system = page.locator("#sv-raceform-chat").get_by_label("System text")
    expect(system, "House has no chat template").to_be_hidden()
    visit.choose("#sv-raceform-target input", "SmolLM2")
    expect(system).to_be_visible()
    expect(page.locator(SETTINGS)).to_contain_text("for SmolLM2 · ")
    shown = visit.listed(lane)
    unfit = "made for House: it cannot draft for SmolLM2"
    expect(words(page, 2)).to_have_text(f"Settings of lane 2: {unfit}")
    assert {"N-gram", "Draft model"} <= shown
    assert "EAGLE-3" not in shown
