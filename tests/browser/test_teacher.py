"""A teacher's visit: a race on an own prompt, its winner and reasons, and an H100 estimate."""

import pytest
from playwright.sync_api import expect

from specviz.compare.summary import plain_text

RACE = "window.specviz.races['sv-race']"
LAW = "window.specviz.law"
H100 = "8B on an H100, batch size 64"


def race_four_families(page):
    """Run a race of four families on a typed prompt, and return its results."""
    page.get_by_role("tab", name="Compare", exact=True).click()
    page.wait_for_function(f"{RACE.replace('races', 'races?.')}?.whole")
    page.locator("#sv-raceform-drawer[data-lanes]").wait_for(state="attached")
    page.click("#sv-raceform-settings button")
    page.get_by_role("button", name="Four families").click()
    page.locator("#sv-raceform-prompt textarea").fill("The dragon who could not fly lived")
    page.locator("#sv-raceform-shared").get_by_label("New tokens").first.fill("24")
    expect(page.locator("#sv-raceform-settings")).to_contain_text("24 tokens")
    page.click("#sv-race-go")
    page.wait_for_function(f"{RACE}.race?.source === 'live' && {RACE}.whole?.lanes.length === 5")
    expect(page.locator("#sv-race-go")).to_be_visible(timeout=60_000)  # short lanes run again
    return page.evaluate(f"{RACE}.whole")


def test_race_shows_the_winner_the_reason_and_an_estimate_for_an_h100(visit):
    page = visit.open()
    said = race_four_families(page)
    names = ["N-gram", "Medusa", "EAGLE-3", "Draft model", "plain"]
    assert [lane["name"] for lane in said["lanes"]] == names
    race = page.locator("#sv-race")
    whys = [plain_text(lane["sentence_parts"]) for lane in said["lanes"][:4]]
    for sentence in (said["headline"], *whys):
        expect(race).to_contain_text(sentence)
    head = next(lane for lane in said["lanes"] if lane["name"] == "EAGLE-3")
    race.get_by_role("button", name="See it on Cost: EAGLE-3").click()
    expect(page.get_by_role("tab", name="Cost", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    measured = f"measured: EAGLE-3, {head['speedup']:.2f}\u00a0×"
    law = page.locator("#sv-law")
    expect(law).to_contain_text(measured)
    expect(law.get_by_role("heading", name="When does drafting pay?")).to_be_in_viewport()
    expect(law.locator(".sv-law-from")).to_have_text("measured on this machine")
    assert page.evaluate(f"{LAW}.state.alpha") == pytest.approx(head["alpha"], abs=5e-4)
    roofline = page.locator("#sv-roofline")
    target = page.evaluate(f"{RACE}.race.where").split(" · ")[0]
    whose = f"measured: EAGLE-3 on {target}, a lane of Compare, on this machine"
    expect(page.locator(".sv-terms-said")).to_contain_text(whose)
    roofline.locator("summary").first.click()
    roofline.get_by_role("button", name=H100).click()
    expect(roofline.locator(".sv-roofline-with")).to_contain_text(whose)
    expect(roofline.locator(".sv-roofline-with")).to_contain_text("expect a different α")
    answer = page.locator(".sv-roofline-say")
    expect(answer).to_contain_text("H100 SXM at batch size 64")
    expect(answer).to_contain_text("simulated")
