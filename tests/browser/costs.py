"""The Cost tab, opened once for all tests of a file and reset after each; its visitor's actions."""

from collections.abc import Callable, Iterator

from playwright.sync_api import Page, expect
from specviz.ui.cost.law import START
from visit import Looker, Visit

LAW = "window.specviz.law"
ROOFLINE = "window.specviz.roofline"
ANSWERED = f"{LAW}?.last && {LAW}.question.idle"
SETTLED = f"{ANSWERED} && {ROOFLINE}?.question.idle && {ROOFLINE}.question.number"
SLOWLY = 20_000  # milliseconds that an answer of the server may take
UNFOLD = "document.querySelectorAll('.sv-fold').forEach((part) => { part.open = true; })"
# The runs that the tab knows and the origin of α and γ, which no field restores.
FORGET = """async (first) => {
  const names = performance.getEntriesByType("resource").map((each) => each.name);
  const { runs, setTerms } = await import(names.find((name) => name.endsWith("/page.js")));
  const player = window.specviz.players["sv-step"];
  if (player.run.id !== "01-chain") await player.load("01-chain");
  window.specviz.measured = window.measuredAtFirst;
  runs.compare = null;
  window.dispatchEvent(new CustomEvent("sv-measured"));
  setTerms(first, { kind: "start", said: "an example" });
}"""


def opened(visit: Visit, query: str = "") -> Page:
    """Return the page with the Cost tab and all its sections open, and the first results shown."""
    page = visit.open(query)
    page.wait_for_function("window.specviz.measured !== undefined")
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_selector(".sv-law-speed .main-svg")
    page.evaluate(UNFOLD)
    page.wait_for_function(SETTLED)
    page.evaluate("window.measuredAtFirst = window.specviz.measured")
    return page


def lent(looker: Looker) -> Iterator[Page]:
    """Yield the tab in its initial state, and reset it afterwards."""
    looker.arrive(lambda: opened(looker))
    page = looker.page
    yield page
    page.get_by_role("tab", name="Cost", exact=True).click()
    looker.put_back()
    page.evaluate(FORGET, {name: START[name] for name in ("alpha", "gamma")})
    page.wait_for_function(SETTLED)


def says(page: Page, selector: str, text: str, promise: str = "") -> None:
    """Wait until the first such element contains this text; all kinds of space count as equal."""
    expect(page.locator(selector).first, promise).to_contain_text(text, timeout=SLOWLY)


def slide(page: Page, name: str, value: float) -> None:
    """Set a slider of the formula as dragging would."""
    page.locator(f"#sv-law-{name}").evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')); }", str(value)
    )


def hand(page: Page, lane: dict) -> None:
    """Send a lane of Compare to the tab."""
    page.evaluate(
        """(lane) => { (window.specviz.handed = window.specviz.handed || {})['sv-law'] = lane;
           window.dispatchEvent(new CustomEvent('sv-handed', { detail: 'sv-law' })); }""",
        lane,
    )


def done(page: Page, section: str, change: Callable[[], object]) -> None:
    """Perform an action, and wait until the section's newest request is answered and shown."""
    before = page.evaluate(f"{section}.question.number")
    change()
    page.wait_for_function(f"{section}.question.number > {before} && {section}.question.idle")
