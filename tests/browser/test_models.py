"""The Models tab in a browser: its list, its filter, and a download from start to use."""

import re

import pytest
from playwright.sync_api import expect
from serve import BROKEN
from test_access import faint, faults

SLOW, OTHER = "Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B"
# Elements wider than the window; the page clips them, so its own width would not show it.
OUTSIDE = """() => [...document.querySelectorAll(".sv-models, .sv-models *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".sv-unseen"))
  .map((one) => one.className)"""


@pytest.fixture
def seen(looker):
    """The tab for tests that restore what they change."""
    looker.arrive(lambda: opened(looker))
    return looker.page


def opened(visit):
    page = visit.open()
    page.get_by_role("tab", name="Models", exact=True).click()
    page.wait_for_selector(".sv-models-row")
    return page


def row(page, name):
    return page.locator(f'.sv-models-row[data-model="{name}"]')


def group(page, title):
    return page.locator(".sv-models-group", has=page.get_by_role("heading", name=title))


def test_models_tab_lists_every_model_with_its_facts_and_diagram(seen, looker):
    here = group(seen, "On this machine")
    assert here.locator("[data-model=house], [data-model=smollm2]").count() == 2
    assert group(seen, "Not supported").get_by_role("button").count() == 0
    four = row(seen, "Qwen/Qwen3-4B")
    assert "8.05 GB" in four.inner_text()
    links = four.get_by_role("link")
    assert all(link.get_attribute("rel") == "noopener noreferrer" for link in links.all())
    assert links.nth(1).get_attribute("href").startswith("https://huggingface.co/Qwen/Qwen3-4B/")
    assert "gated" in row(seen, "meta-llama/Llama-3.2-1B-Instruct").inner_text()
    loaded = seen.locator(".sv-models-loaded")
    expect(loaded).to_contain_text(re.compile(r"House [\d.]+ MB \([\d.]+ MB in its file"))
    assert "Drafters without weights: N-gram" in seen.inner_text(".sv-models-bare")
    dspark = row(seen, "dspark")
    dspark.locator("summary").click()
    diagram = dspark.locator(".sv-models-diagrams svg").first
    told = re.findall(r"predicted (\d+)%, accepted (\d+)%", diagram.get_attribute("aria-label"))
    assert diagram.locator("circle").count() == len(told) > 4
    dspark.locator("summary").click()
    larger = seen.get_by_role("button", name="Larger text")
    for width, theme in ((1280, "light"), (390, "dark")):
        seen.set_viewport_size({"width": width, "height": 900})
        looker.dress(theme)
        assert seen.evaluate(OUTSIDE) == [], width
        assert faint(seen) == [], width
        larger.click()
        assert seen.evaluate(OUTSIDE) == [], width
        larger.click()
    assert faults(seen) == []


def in_bytes(text):
    """Return the bytes of a text such as "16.00 GB"; 0 for a size that was not checked."""
    found = re.search(r"([\d.]+) (MB|GB)", text)
    return float(found[1]) * {"MB": 1e6, "GB": 1e9}[found[2]] if found else 0


def targets(page):
    """Return the memory that each listed target needs, in bytes."""
    rows = page.locator(".sv-models-row", has_text="target").all()
    kinds = [row.locator(".sv-models-kind").inner_text() for row in rows]
    said = [row.locator("dt:text('memory') + dd").inner_text() for row in rows]
    return [in_bytes(text) for kind, text in zip(kinds, said, strict=True) if kind == "target"]


def test_models_are_filtered_by_memory_downloaded_and_used_on_step(visit):
    page = opened(visit)
    the_filter_hides_large_targets_and_is_in_the_link(page, visit.url)
    step = page.get_by_role("tab", name="Step", exact=True)
    step.click()
    page.click("#sv-settings")
    visit.choose("#sv-method input", "Medusa")
    page.get_by_role("tab", name="Models").click()
    row(page, "smollm2").get_by_role("button", name="Use on Step").click()
    expect(page.locator("#sv-target input")).to_have_value("SmolLM2")
    expect(page.locator("#sv-method input"), "it fits").to_have_value("EAGLE-3 for SmolLM2")
    page.get_by_role("tab", name="Models").click()
    a_download_can_be_cancelled(page)
    broken = row(page, BROKEN)
    broken.get_by_role("button", name="Download").click()
    told = broken.locator(".sv-models-told.sv-models-failed")
    expect(told).to_have_text(f"'{BROKEN}' could not be had: the cable <b>is</b> cut.")
    expect(broken.get_by_role("button", name="Download")).to_be_enabled()
    row(page, OTHER).get_by_role("button", name="Download").focus()
    page.keyboard.press("Enter")
    here = group(page, "On this machine").locator(f'[data-model="{OTHER}"]')
    expect(here.get_by_role("button", name="Use on Step")).to_be_focused(timeout=60_000)
    page.keyboard.press("Enter")
    expect(step).to_have_attribute("aria-selected", "true")
    expect(page.locator("#sv-target input")).to_have_value(OTHER)


def the_filter_hides_large_targets_and_is_in_the_link(page, url):
    box = page.get_by_role("checkbox", name="Hide models that do not fit")
    free = in_bytes(page.locator(".sv-models-filter").inner_text())
    before = targets(page)
    box.check()
    assert targets(page) == [needed for needed in before if needed <= free]
    page.locator(".sv-copy").click()
    assert "models=fitting" in page.url
    page.goto(f"{url}?models=fitting")
    page.wait_for_selector(".sv-models-row")
    expect(box).to_be_checked()
    box.uncheck()
    page.wait_for_url(lambda url: "models=fitting" not in url)
    assert targets(page) == before


def a_download_can_be_cancelled(page):
    slow, other = row(page, SLOW), row(page, OTHER).get_by_role("button", name="Download")
    slow.get_by_role("button", name="Download").focus()
    page.keyboard.press("Enter")
    expect(slow.locator(".sv-models-told")).to_contain_text("of 20.0 MB")
    bar = slow.locator("progress")
    assert 0 < bar.evaluate("(bar) => bar.value / bar.max") < 1
    assert other.is_disabled(), "one download at a time"
    expect(slow.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    told = "Cancelled. The downloaded part is kept for the next attempt."
    expect(slow.locator(".sv-models-told")).to_have_text(told)
    expect(slow.get_by_role("button", name="Download")).to_be_focused()
    assert page.inner_text(".sv-models-status").startswith("Cancelled.")
    assert bar.is_hidden()
    expect(other).to_be_enabled()
