"""The Models tab in a browser."""

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
def models(visit):
    """The Models tab of a new visitor."""
    return opened(visit)


@pytest.fixture
def seen(looker):
    """The tab for tests that change only their own row."""
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


def test_models_tab_lists_every_model_in_its_group(seen):
    here = group(seen, "On this machine")
    assert here.locator("[data-model=house], [data-model=smollm2]").count() == 2
    assert group(seen, "Not supported").get_by_role("button").count() == 0
    four = row(seen, "Qwen/Qwen3-4B").inner_text()
    assert "8.05 GB" in four
    links = row(seen, "Qwen/Qwen3-4B").get_by_role("link")
    assert all(link.get_attribute("rel") == "noopener noreferrer" for link in links.all())
    assert links.nth(1).get_attribute("href").startswith("https://huggingface.co/Qwen/Qwen3-4B/")
    assert "layout only, with a tiny checkpoint" in four
    assert "gated" in row(seen, "meta-llama/Llama-3.2-1B-Instruct").inner_text()
    expect(seen.locator(".sv-models-loaded")).to_contain_text("House")
    assert re.search(
        r"House [\d.]+ MB \([\d.]+ MB in its file", seen.inner_text(".sv-models-loaded")
    )
    assert "Drafters without weights: N-gram" in seen.inner_text(".sv-models-bare")


def test_reliability_diagram_shows_every_interval_at_its_place(seen):
    """Predicted from left to right, accepted upwards, and equal on the diagonal."""
    dspark = row(seen, "dspark")
    dspark.locator("summary").click()
    first = dspark.locator(".sv-models-diagrams svg").first
    said = re.findall(
        r"predicted (\d+)%, accepted (\d+)% of (\d+)", first.get_attribute("aria-label")
    )
    circles = first.locator("circle").all()
    assert len(circles) == len(said) > 4
    start, end = (
        [float(first.locator(".sv-rely-diagonal").get_attribute(name)) for name in ends]
        for ends in (("x1", "y1"), ("x2", "y2"))
    )
    for circle, (predicted, accepted, _) in zip(circles, said, strict=True):
        place = [float(circle.get_attribute(name)) for name in ("cx", "cy")]
        for at, share in enumerate((predicted, accepted)):
            part = (place[at] - start[at]) / (end[at] - start[at])
            assert abs(part - int(share) / 100) <= 0.0051
    dspark.locator("summary").click()


def test_download_shows_progress_and_can_be_cancelled_by_keyboard(seen):
    slow = row(seen, SLOW)
    slow.get_by_role("button", name="Download").focus()
    seen.keyboard.press("Enter")
    expect(slow.locator(".sv-models-told")).to_contain_text("of 20.0 MB")
    bar = slow.locator("progress")
    assert 0 < bar.evaluate("(bar) => bar.value / bar.max") < 1
    assert row(seen, OTHER).get_by_role("button", name="Download").is_disabled()
    expect(slow.get_by_role("button", name="Cancel")).to_be_focused()
    seen.keyboard.press("Enter")
    expect(slow.locator(".sv-models-told")).to_have_text(
        "Cancelled. The downloaded part is kept for the next attempt."
    )
    expect(slow.get_by_role("button", name="Download")).to_be_focused()
    assert seen.inner_text(".sv-models-status").startswith("Cancelled.")
    assert bar.is_hidden()
    expect(row(seen, OTHER).get_by_role("button", name="Download")).to_be_enabled()


def test_failed_download_shows_one_sentence_with_html_escaped(seen):
    broken = row(seen, BROKEN)
    broken.get_by_role("button", name="Download").click()
    told = broken.locator(".sv-models-told.sv-models-failed")
    expect(told).to_have_text(f"'{BROKEN}' could not be had: the cable <b>is</b> cut.")
    expect(broken.get_by_role("button", name="Download")).to_be_enabled()
    expect(told).to_be_visible()


def test_models_tab_does_not_overflow_and_passes_axe(seen, looker):
    larger = seen.get_by_role("button", name="Larger text")
    for width, theme in ((1280, "light"), (390, "dark")):
        seen.set_viewport_size({"width": width, "height": 900})
        looker.dress(theme)
        assert seen.evaluate(OUTSIDE) == [], width
        assert faults(seen) == [], width
        assert faint(seen) == [], width
        larger.click()
        assert seen.evaluate(OUTSIDE) == [], width
        larger.click()


def test_downloaded_model_can_be_used_on_step_by_keyboard(models):
    row(models, OTHER).get_by_role("button", name="Download").focus()
    models.keyboard.press("Enter")
    here = group(models, "On this machine").locator(f'[data-model="{OTHER}"]')
    here.wait_for()
    expect(here.get_by_role("button", name="Use on Step")).to_be_focused()
    models.keyboard.press("Enter")
    tab = models.get_by_role("tab", name="Step", exact=True)
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(models.locator("#sv-target input")).to_have_value(OTHER)


def in_bytes(text):
    """Return the bytes of a text such as "16.00 GB"; 0 for a size that was not checked."""
    found = re.search(r"([\d.]+) (MB|GB)", text)
    return float(found[1]) * {"MB": 1e6, "GB": 1e9}[found[2]] if found else 0


def test_filter_hides_targets_too_large_for_the_memory(seen):
    def targets():
        rows = seen.locator(".sv-models-row", has_text="target").all()
        kinds = [row.locator(".sv-models-kind").inner_text() for row in rows]
        said = [row.locator("dt:text('memory') + dd").inner_text() for row in rows]
        return [in_bytes(text) for kind, text in zip(kinds, said, strict=True) if kind == "target"]

    box = seen.get_by_role("checkbox", name="Hide models that do not fit")
    free, before = in_bytes(seen.locator(".sv-models-filter").inner_text()), targets()
    box.check()
    assert targets() == [needed for needed in before if needed <= free]
    box.uncheck()
    assert targets() == before


def test_copied_link_opens_the_filtered_list(visit):
    page = opened(visit)
    box = page.get_by_role("checkbox", name="Hide models that do not fit")
    box.check()
    page.locator(".sv-copy").click()
    assert "models=fitting" in page.url
    page.goto(f"{visit.url}?models=fitting")
    page.wait_for_selector(".sv-models-row")
    expect(box).to_be_checked()
    box.uncheck()
    page.wait_for_url(lambda url: "models=fitting" not in url)


def test_choosing_a_target_for_step_also_selects_a_drafter_that_fits(models):
    models.get_by_role("tab", name="Step").click()
    models.click("#sv-settings")
    models.click("#sv-method input")
    models.get_by_role("option", name="Medusa", exact=True).click()
    expect(models.locator("#sv-method input")).to_have_value("Medusa")
    models.get_by_role("tab", name="Models").click()
    row(models, "smollm2").get_by_role("button", name="Use on Step").click()
    expect(models.locator("#sv-target input")).to_have_value("SmolLM2")
    expect(models.locator("#sv-method input")).to_have_value("EAGLE-3 for SmolLM2")
