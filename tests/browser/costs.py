"""Actions of a visitor of the Cost tab."""

from playwright.sync_api import Page, expect

FIGURE = "#sv-formula-speed .main-svg"
ANSWER, SAID = "#sv-part-formula .sv-instrument-answer", ".sv-pair-said"


def says(page: Page, selector: str, text: str, promise: str = "") -> None:
    """Wait until the first such element contains this text; all kinds of space count as equal."""
    expect(page.locator(selector).first, promise).to_contain_text(text)


def hand(page: Page, lane: dict) -> None:
    """Send a lane of Compare to the tab."""
    page.evaluate("(lane) => window.specviz.hand('sv-runs', lane)", lane)
