"""The Cost tab, opened once for all tests of a file and reset after each; its visitor's actions."""

from collections.abc import Callable, Iterator

from playwright.sync_api import Page, expect
from visit import Looker, Visit

from specviz.ui.cost.pair import START

ROOFLINE = "window.specviz.roofline"
SETTLED = f"{ROOFLINE}?.question.idle && {ROOFLINE}.question.number"
SLOWLY = 20_000  # milliseconds that an answer of the server may take
UNFOLD = "document.querySelectorAll('.sv-fold').forEach((part) => { part.open = true; })"
FIGURE = "#sv-formula-speed .main-svg"
ANSWER, SAID = "#sv-part-formula .sv-instrument-answer", ".sv-pair-said"
# The origin of α and γ, which no field restores.
FORGET = """async (first) => {
  const names = performance.getEntriesByType("resource").map((each) => each.name);
  const { setTerms } = await import(names.find((name) => name.endsWith("/page.js")));
  setTerms(first, { kind: "start", said: "an example" });
}"""


def opened(visit: Visit, query: str = "") -> Page:
    """Return the page with the Cost tab and all its sections open, and the first results shown."""
    page = visit.open(query)
    page.wait_for_function("window.specviz.measured !== undefined")
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_selector(FIGURE)
    page.evaluate(UNFOLD)
    page.wait_for_function(SETTLED)
    return page


def lent(looker: Looker) -> Iterator[Page]:
    """Yield the tab in its initial state, and reset it afterwards."""
    looker.arrive(lambda: opened(looker))
    page = looker.page
    yield page
    page.get_by_role("tab", name="Cost", exact=True).click()
    looker.put_back()
    page.evaluate(FORGET, START)
    page.wait_for_function(SETTLED)


def says(page: Page, selector: str, text: str, promise: str = "") -> None:
    """Wait until the first such element contains this text; all kinds of space count as equal."""
    expect(page.locator(selector).first, promise).to_contain_text(text, timeout=SLOWLY)


def hand(page: Page, lane: dict) -> None:
    """Send a lane of Compare to the tab."""
    page.evaluate(
        """(lane) => { (window.specviz.handed = window.specviz.handed || {})['sv-runs'] = lane;
           window.dispatchEvent(new CustomEvent('sv-handed', { detail: 'sv-runs' })); }""",
        lane,
    )


def done(page: Page, section: str, change: Callable[[], object]) -> None:
    """Perform an action, and wait until the section's newest request is answered and shown."""
    before = page.evaluate(f"{section}.question.number")
    change()
    page.wait_for_function(f"{section}.question.number > {before} && {section}.question.idle")
