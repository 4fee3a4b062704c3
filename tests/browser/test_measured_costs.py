"""Measured costs on the Cost tab: a sweep of this machine, and costs from files."""

from made_costs import made
from playwright.sync_api import expect
from test_access import faint, faults

HOSTILE = "<img src=x onerror=window.hacked=1>"
SWEEP, SHAPES = "#sv-part-sweep", "#sv-part-shapes"
ANSWER = ".sv-instrument-answer >> nth=0"


def speeds(page):
    """Return the speed-ups of the drafters."""
    cells = page.locator("#sv-shapes-drafters [role=gridcell][aria-colindex='10']")
    return [text.strip() for text in cells.all_inner_texts()]


def test_sweep_is_recorded_then_measured_and_stopped(visit):
    page = visit.open("?tab=cost&part=sweep")
    expect(page.locator("#sv-sweep-where")).to_contain_text("Recorded earlier:")
    page.wait_for_selector("#sv-sweep-passes .main-svg")
    assert page.locator("#sv-sweep-passes .scatterlayer .point").count() > 10
    button, status = (page.locator(f"#sv-sweep-job {each}") for each in ("button", "[role=status]"))
    button.press("Enter")
    expect(status).to_contain_text("measurements")
    expect(button).to_have_text("Stop")
    button.press("Enter")
    expect(status).to_contain_text("Stopped. What was finished is kept.")
    expect(page.locator("#sv-sweep-where")).to_contain_text("Measured just now, on this machine")
    expect(button).to_be_focused()
    expect(button).to_have_text("Measure this machine")
    fold = page.locator(f"{SWEEP} .sv-instrument-fold > .label-wrap")
    fold.click()
    fold.click()
    expect(page.locator("#sv-sweep-where"), "it is kept").to_contain_text("Measured just now")


def test_costs_of_public_sizes_are_read_from_files_as_text(visit, tmp_path):
    page = visit.open("?tab=cost&part=shapes&alpha=1")
    page.wait_for_selector("#sv-shapes-passes .main-svg")
    assert len(speeds(page)) > 3
    part, mine = page.locator(SHAPES), tmp_path / "mine.json"
    part.get_by_role("button", name="Measure your own machine").click()
    for text in (made(machine=HOSTILE).to_text(), "{}"):
        mine.write_text(text, encoding="utf-8")
        with page.expect_file_chooser() as chosen:
            part.get_by_role("button", name="Open your own file").click()
        chosen.value.set_files(mine)
        if text != "{}":
            expect(page.locator("#sv-shapes-how")).to_contain_text(HOSTILE)
    notice = part.locator(".sv-notice", has_text="not a file of measured costs")
    expect(notice.first).to_be_visible()
    assert speeds(page) == ["2.50 ×", "0.75 ×"], "5 tokens for 2 passes, 3 for 4; the last stays"
    assert not page.evaluate("window.hacked")
    part.get_by_label("Or paste its content here").fill(made().to_text())
    expect(page.locator("#sv-shapes-how")).to_contain_text("A machine")
    expect(notice).to_have_count(0)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert faint(page) == [], width
    assert faults(page) == []
