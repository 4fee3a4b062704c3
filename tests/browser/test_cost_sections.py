"""Adaptive verification and published numbers on the Cost tab."""

from costs import says
from playwright.sync_api import expect
from test_access import faint, faults


def test_published_numbers_are_searched_opened_by_link_and_fit_a_phone(visit):
    page = visit.open("?tab=cost&part=boards&board=2")
    answer = "#sv-part-published .sv-instrument-answer"
    says(page, answer, "EAGLE3 is fastest, 3.02 ×", "from the link")
    part = page.locator("#sv-part-published")
    part.get_by_label("Measured in").click()
    page.get_by_role("option", name="Papers").click()
    says(page, answer, "25 published speed-ups")
    page.wait_for_url(lambda url: "board=papers" in url)
    cells = part.locator("[role=gridcell][aria-colindex='2']")
    part.get_by_role("textbox", name="Enter text to search").fill("Chinchilla")
    expect(cells).to_have_text(["2 to 2.5 ×"])
    link = part.locator("[role=gridcell] a")
    assert link.get_attribute("href") == "https://arxiv.org/abs/2302.01318"
    assert "noopener" in link.get_attribute("rel")
    assert part.locator("#sv-published-ours").is_hidden(), "our own numbers only on request"
    part.get_by_role("button", name="Ours beside them").click()
    says(page, "#sv-published-ours", "the House models of this page on 2 CPU cores")
    for width, theme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        visit.dress(theme)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert faint(page) == [], width
    assert faults(page) == []


def test_adaptive_verification_answers_its_controls_and_its_link(visit):
    page = visit.open("?tab=cost&requests=320")
    part = page.locator("#sv-part-adaptive")
    says(page, "#sv-part-adaptive .sv-instrument-answer", "With 320 requests,", "from the link")
    page.wait_for_selector("#sv-adaptive-grid .main-svg")
    expect(part.get_by_role("radio", name="320")).to_be_checked()
    part.get_by_role("radio", name="160").focus()
    page.keyboard.press("Space")
    says(page, "#sv-part-adaptive .sv-instrument-answer", "With 160 requests,")
    page.wait_for_function("!location.search.includes('requests')")
    part.get_by_label("Check the best number of draft tokens").uncheck()
    slots = part.get_by_role("slider", name="Draft tokens to check")
    expect(slots).to_be_enabled()
    slots.focus()
    page.keyboard.press("Home")
    says(page, "#sv-part-adaptive .sv-instrument-answer", "plain decoding is fastest")
