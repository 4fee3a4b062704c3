"""Adaptive verification on the Cost tab, in a browser."""

from test_access import faint, faults

ADAPTIVE = "window.specviz.adaptive"
CHECKED = """() => [...document.querySelectorAll(".sv-adaptive-table tbody tr")].map((row) =>
  row.querySelectorAll(".sv-adaptive-yes, .sv-adaptive-part").length)"""


def settled(page):
    page.wait_for_function(f"{ADAPTIVE}?.question.idle")


def test_load_and_budget_change_the_number_of_checked_guesses(visit):
    page = visit.open("?part=adaptive")
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_selector(".sv-adaptive-plot .main-svg", state="attached")
    settled(page)
    first = page.evaluate(CHECKED)
    assert len(first) == 5
    page.locator("[name=slots]").focus()
    page.keyboard.press("Home")
    page.wait_for_function(f"{ADAPTIVE}.last.slots === 0 && {ADAPTIVE}.question.idle")
    assert page.evaluate(CHECKED) == [0] * 5
    assert "plain decoding is fastest" in page.inner_text(".sv-adaptive-answer")
    page.get_by_role("button", name="Best budget").click()
    settled(page)
    assert page.evaluate(CHECKED) == first
    page.locator("[name=requests]").focus()
    page.keyboard.press("Home")
    page.wait_for_function(f"{ADAPTIVE}.question.idle && {ADAPTIVE}.last.rows[0].requests === 1")
    assert page.inner_text(".sv-adaptive-answer").startswith("With 5 requests,")
    assert sum(page.evaluate(CHECKED)) > sum(first)  # with few requests checking is free
    assert faults(page, ".sv-adaptive") == []
    assert faint(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert not visit.errors
