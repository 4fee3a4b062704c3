"""The Models tab in a browser: its table, its filter, and a download from start to use."""

import re

import pytest
from playwright.sync_api import expect
from serve import BROKEN
from test_access import faint, faults

SLOW, OTHER = "Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B"
STATUS, DETAILS = "#sv-models-job [role=status]", "#sv-models-details"


@pytest.fixture
def seen(looker):
    """The tab for tests that restore what they change."""
    looker.arrive(lambda: opened(looker), "Models")
    return looker.page


def opened(visit, query=""):
    page = visit.open(query)
    page.get_by_role("tab", name="Models", exact=True).click()
    expect(page.locator(DETAILS)).to_contain_text("The target that ships")
    return page


def show(page, title):
    """Choose a model by its title."""
    page.get_by_label("Details of").fill(title)
    page.get_by_role("option", name=title, exact=True).click()
    expect(page.locator(DETAILS).get_by_role("heading")).to_contain_text(title)


def rows(page):
    return page.locator("#sv-models [role=gridcell][aria-colindex='1']")


def test_models_tab_lists_every_model_with_its_facts_and_diagram(seen, looker):
    expect(seen.locator("#sv-models-loaded")).to_contain_text(
        re.compile(r"House [\d.]+ MB \([\d.]+ MB in its file")
    )
    rows(seen).get_by_text("EAGLE-3", exact=True).click()
    expect(seen.locator(DETAILS)).to_contain_text("drafter for House, ready")
    assert seen.locator("#sv-models-reliability").count() == 0, "it predicts nothing"
    show(seen, "Qwen/Qwen3-4B")
    assert "8.05 GB" in seen.inner_text(DETAILS)
    links = seen.locator(DETAILS).get_by_role("link")
    assert all("noopener" in link.get_attribute("rel") for link in links.all())
    assert links.nth(1).get_attribute("href").startswith("https://huggingface.co/Qwen/Qwen3-4B/")
    show(seen, "DSpark")
    seen.wait_for_selector("#sv-models-reliability .main-svg")
    assert seen.locator("#sv-models-reliability .scatterlayer .point").count() > 8
    for width, theme in ((1280, "light"), (390, "dark")):
        seen.set_viewport_size({"width": width, "height": 900})
        looker.dress(theme)
        assert seen.evaluate("document.documentElement.scrollWidth") == width
        assert faint(seen) == [], width
    assert faults(seen) == []
    show(seen, "House")


def test_models_are_filtered_by_memory_downloaded_and_used_on_step(visit):
    page = opened(visit, "?models=fitting")
    answer = page.locator("#sv-part-models .sv-instrument-answer").first
    box = page.get_by_role("radio", name="Those that fit in memory")
    expect(box).to_be_checked()
    fewer = re.search(r"\d+ models", answer.inner_text())[0]
    page.get_by_role("radio", name="All").first.press("Space")
    page.wait_for_url(lambda url: "models=fitting" not in url)
    expect(answer).not_to_contain_text(fewer)
    a_model_is_used_on_step(visit, page, "SmolLM2")
    expect(page.locator("#sv-method input"), "it fits").to_have_value("EAGLE-3 for SmolLM2")
    visit.open_more()
    page.get_by_role("button", name="All models").click()
    expect(page.get_by_role("tab", name="Models")).to_have_attribute("aria-selected", "true")
    show(page, SLOW)
    page.get_by_role("button", name="Download").press("Enter")
    expect(page.locator(STATUS)).to_contain_text("of 20.0 MB")
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(page.locator(STATUS)).to_contain_text("Stopped. What was finished is kept.")
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.get_by_role("button", name="Download")).to_be_focused()
    show(page, BROKEN)
    page.get_by_role("button", name="Download").click()
    told = f"'{BROKEN}' could not be had: the cable <b>is</b> cut."
    expect(page.locator(STATUS)).to_have_text(told)
    show(page, OTHER)
    page.get_by_role("button", name="Download").click()
    expect(page.locator(STATUS)).to_contain_text("is on this machine now.")
    expect(page.get_by_role("button", name="Download")).to_be_hidden()
    a_model_is_used_on_step(visit, page, OTHER)


def a_model_is_used_on_step(visit, page, title):
    page.get_by_role("tab", name="Models", exact=True).click()
    show(page, title)
    page.get_by_role("button", name="Use on Step").press("Enter")
    step = page.get_by_role("tab", name="Step", exact=True)
    expect(step).to_have_attribute("aria-selected", "true")
    expect(page.locator("#sv-target input")).to_have_value(title)
