"""Measured costs of public model shapes on the Cost tab, in a browser."""

from made_costs import made
from test_access import faint, faults

from specviz.cost.measured_costs import shipped_paths

SHAPES = "window.specviz.shapes"
SPEEDS = """() => [...document.querySelectorAll(".sv-shapes-drafters tbody tr")]
  .map((row) => row.lastElementChild.textContent)"""
HIGH = "() => document.querySelector('#sv-shapes').offsetHeight"


def answered(page):
    page.wait_for_function(
        f"{SHAPES}?.question.idle && document.querySelector('.sv-shapes-drafters tr')"
    )


def test_costs_are_shown_for_shipped_and_uploaded_files(visit, tmp_path):
    page = visit.open()
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.locator("#sv-shapes-title").click()
    page.wait_for_selector(".sv-shapes-plot .main-svg", state="attached")
    answered(page)
    assert page.locator("[name=file] option").count() == len(shipped_paths())
    an_alpha_is_the_tabs(page)
    a_file_is_shown_as_text(page, tmp_path / "mine.json")
    page.evaluate(f"text => {SHAPES}.bring('pasted', text)", made().to_text())
    page.wait_for_selector(".sv-shapes-wrong", state="hidden")
    answered(page)
    assert "A machine" in page.inner_text(".sv-shapes-where")
    page.click(".sv-shapes-numbers summary")
    assert page.locator(".sv-shapes-passes tbody tr").count() == 2
    assert faults(page, ".sv-shapes") == []
    assert faint(page) == []
    assert not visit.errors
    assert not visit.foreign


def an_alpha_is_the_tabs(page):
    """Set α by keyboard; nothing on the page moves."""
    before, high = page.evaluate(SPEEDS), page.evaluate(HIGH)
    page.locator("#sv-shapes-alpha").focus()
    page.keyboard.press("End")
    page.wait_for_function(f"(before) => ({SPEEDS})()[0] !== before", arg=before[0])
    answered(page)
    assert page.inner_text(".sv-shapes-alpha") == "1.00"
    assert "α = 1.00 (your own values)" in page.inner_text(".sv-terms-said")
    assert page.evaluate(HIGH) == high


def a_file_is_shown_as_text(page, mine):
    """Show texts of a file without HTML; an invalid file leaves the page unchanged."""
    hostile = made(machine="<img src=x onerror=window.hacked=1>")
    mine.write_text(hostile.to_text(), encoding="utf-8")
    page.set_input_files(".sv-shapes-file", mine)
    page.wait_for_function(f"({SPEEDS})().length === 2")
    assert page.evaluate(SPEEDS) == ["2.50 ×", "0.75 ×"]  # 5 tokens for 2 passes, 3 for 4
    assert "<img src=x" in page.inner_text(".sv-shapes-where")
    assert not page.evaluate("window.hacked")
    mine.write_text("{}", encoding="utf-8")
    page.set_input_files(".sv-shapes-file", mine)
    page.wait_for_selector(".sv-shapes-wrong:not([hidden])")
    assert "not a file of measured costs" in page.inner_text(".sv-shapes-wrong")
    assert page.evaluate(SPEEDS) == ["2.50 ×", "0.75 ×"]
