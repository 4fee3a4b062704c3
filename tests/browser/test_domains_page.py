"""The map by domain in a browser: the recorded one, its saved numbers, a small live measurement."""

from __future__ import annotations

import json

from playwright.sync_api import expect
from test_access import faults
from windows import SIZE

from specviz.shipped import MEASURED


def numbers(part):
    """Return a locator of the words in the cells of the map."""
    return part.locator("#sv-domains-map .hm text, #sv-domains-map .heatmap-label text")


def test_recorded_map_is_chosen_by_keyboard_saved_and_compared_with_a_live_one(visit):
    page = visit.page
    page.goto(visit.url + "?tab=compare&part=domains")
    domains = page.locator("#sv-part-domains")
    expect(domains.locator("#sv-domains-map .main-svg").first).to_be_visible()
    expect(domains).to_contain_text("recorded · 2 CPU cores")
    rows = json.loads(MEASURED.read_text("utf-8"))["rows"]
    highest = max(row["ratio_to_plain"] for row in rows if row["temperature"] == 0)
    expect(numbers(domains).get_by_text(f"{highest:.2f}", exact=True).first).to_be_visible()
    domains.get_by_role("radio", name="Accepted length").press("Space")
    expect(domains).to_contain_text("draft tokens accepted per round")
    domains.get_by_role("radio", name="Recorded, temperature 1").press("Space")
    expect(domains).to_contain_text("T 1")
    with page.expect_download() as download:
        domains.get_by_role("button", name="Save as CSV").click()
    assert download.value.suggested_filename == "specviz-map-of-domains-temperature-1.csv"
    assert download.value.path().read_text().startswith("\ufeffdrafter,title,is_reference,domain,")
    assert faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    expect(domains.locator(".sv-figure-plot")).to_have_attribute("tabindex", "0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size(SIZE)
    a_live_map_is_added_and_can_be_stopped(domains)


def choose(part, drafter, tokens):
    """Choose only this drafter, and this many new tokens."""
    for box in part.get_by_role("checkbox", checked=True).all()[::-1]:
        box.uncheck()
    if drafter:
        part.get_by_role("checkbox", name=drafter, exact=True).check()
    field = part.get_by_label("number input for New tokens per run")
    field.fill(str(tokens))
    field.press("Tab")


def a_live_map_is_added_and_can_be_stopped(domains):
    choose(domains, None, 8)
    expect(domains).to_contain_text("Choose at least one drafter.")
    go = domains.get_by_role("button", name="Run on this machine")
    go.click()
    said = domains.get_by_role("status")
    expect(said.last).to_have_text("Choose at least one drafter.")
    choose(domains, "N-gram", 8)
    expect(domains).to_contain_text("= 5 pairs of runs")
    go.click()
    expect(domains.get_by_role("radio", name="Live")).to_be_checked()
    expect(go).to_be_visible()
    expect(domains).to_contain_text("8 new tokens · T 0 · order seed 1")
    expect(numbers(domains)).to_have_count(6)
    expect(numbers(domains).get_by_text("–")).to_have_count(0)
    choose(domains, "N-gram", 64)
    go.click()
    expect(said.last).to_contain_text("Turn ")
    domains.get_by_role("button", name="Stop").click()
    expect(said.last).to_have_text("Stopped. What was finished is kept.")
    expect(domains).to_contain_text("live, stopped after")
    domains.get_by_role("radio", name="Recorded, temperature 0").press("Space")
    expect(domains).to_contain_text("recorded · 2 CPU cores")
