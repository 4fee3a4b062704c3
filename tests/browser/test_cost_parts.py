"""The sections of the Cost tab: what they show and request while they are closed or open."""

from time import sleep

import pytest
from test_access import faint, faults
from test_cost_law import slide

PARTS = [
    "formula", "trees", "roofline", "adaptive", "server", "sweep", "shapes", "published", "boards",
]  # fmt: skip
OPEN = "[...document.querySelectorAll('.sv-fold[open]')].map((part) => part.dataset.part)"
DRAWN = """[...document.querySelectorAll('.sv-fold:not([open]) .main-svg')]
  .map((figure) => figure.closest('.sv-fold').dataset.part)"""


@pytest.fixture
def asked(visit):
    """Collect the names of the sections that the page has requested."""
    found = []
    visit.page.on(
        "request", lambda each: "/ask/" in each.url and found.append(each.url.rsplit("/", 1)[1])
    )
    return found


def opened(visit, query=""):
    """Return the Cost tab as a visitor finds it."""
    page = visit.open(query)
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_selector(".sv-law-speed .main-svg")
    page.wait_for_selector("[data-part=boards]")
    page.wait_for_function(
        "window.specviz.shapes?.question.idle && window.specviz.law.question.idle"
    )
    return page


def part(page, name):
    return page.locator(f"[data-part={name}]")


def test_only_first_section_is_open_and_closed_sections_show_a_summary(visit, asked):
    page = opened(visit)
    assert page.locator(".sv-fold").evaluate_all("all => all.map((e) => e.dataset.part)") == PARTS
    assert page.evaluate(OPEN) == ["formula"]
    assert set(asked) == {"law"}, "closed parts ask nothing"
    assert page.evaluate(DRAWN) == []
    for name in PARTS[1:]:
        sentence = part(page, name).locator("> summary > .sv-fold-answer")
        assert sentence.is_visible()
        assert any(letter.isdigit() for letter in sentence.inner_text()), name
        assert sentence.inner_text().endswith(".")
    assert part(page, "formula").locator("> summary > .sv-fold-answer").is_hidden()
    for width, height in ((1280, 2600), (390, 5200)):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(f"document.documentElement.scrollHeight < {height}")
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert faults(page, "#sv-roofline") == []
    assert faint(page) == []


def test_section_opens_by_keyboard_requests_its_data_and_stays_open(visit, asked):
    page = opened(visit)
    slide(page, "alpha", 0.9)
    page.wait_for_function("window.specviz.law.question.idle")
    assert "roofline" not in asked
    heading = part(page, "roofline").locator("> summary")
    assert heading.evaluate("(e) => e.getAttribute('role') === null && e.tagName === 'SUMMARY'")
    heading.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#sv-roofline .main-svg >> nth=2", state="attached")
    assert asked.count("roofline") == 1
    assert "α = 0.90 (your own values)" in page.inner_text(".sv-roofline-with")
    page.get_by_role("tab", name="Step", exact=True).click()
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_selector(".sv-roofline-say", state="visible")
    heading.focus()
    page.keyboard.press("Space")
    page.wait_for_selector(".sv-roofline-say", state="hidden")
    assert "α = 0.90" in heading.inner_text(), "its last answer"
    before = asked.count("roofline")
    slide(page, "alpha", 0.6)
    page.wait_for_function("window.specviz.law.question.idle")
    assert asked.count("roofline") == before
    page.keyboard.press("Space")
    page.wait_for_function(
        "document.querySelector('.sv-roofline-with').textContent.includes('α = 0.60')"
    )
    assert asked.count("roofline") == before + 1


def test_closed_formula_section_sends_no_requests_while_the_trees_section_is_open(visit):
    page = opened(visit)
    part(page, "trees").locator("> summary").click()
    page.wait_for_selector(".sv-law-tree svg >> nth=2")
    part(page, "formula").locator("> summary").click()
    assert page.evaluate("window.specviz.law.request().parts") == ["trees"]
    page.fill("#sv-law-widths", "2, 2")
    page.wait_for_function(
        "document.querySelector('.sv-law-said').textContent.startsWith('With 6 draft tokens')"
    )


def test_link_opens_the_section_that_it_names(visit):
    for query, name in (
        ("?alpha=0.7&part=server", "server"),
        ("?alpha=0.7&batch=8", "roofline"),
        ("?alpha=0.7&widths=2,2", "trees"),
        ("?alpha=0.7#sv-headline-boards", "boards"),
    ):
        page = opened(visit, query)
        page.wait_for_selector(f"[data-part={name}][open]")
        assert name in page.evaluate(OPEN), query


def test_copied_link_reopens_the_open_sections(visit):
    page = opened(visit)
    part(page, "sweep").locator("> summary").click()
    page.wait_for_selector(".sv-sweep-plot .main-svg")
    page.evaluate("window.dispatchEvent(new CustomEvent('sv-link', { detail: { without: [] } }))")
    page.wait_for_function("location.search.includes('part=formula+sweep')")
    page = opened(visit, page.url[page.url.index("?") :])
    page.wait_for_selector("[data-part=sweep][open]")
    assert page.evaluate(OPEN) == ["formula", "sweep"]


def test_printing_includes_every_section_that_was_opened(visit):
    page = opened(visit)
    part(page, "sweep").locator("> summary").click()
    page.wait_for_selector(".sv-sweep-plot .main-svg")
    part(page, "sweep").locator("> summary").click()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(OPEN) == ["formula", "sweep"]
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(OPEN) == ["formula"]


def test_layout_does_not_shift_when_the_first_response_and_plotly_arrive(visit):
    def delay(route):
        sleep(1)
        route.continue_()

    visit.page.route("**/plotly-*", delay)
    visit.page.add_init_script(
        """window.shifted = 0; new PerformanceObserver((list) => {
             for (const { value, sources } of list.getEntries())
               if (sources.some(({ node }) => node?.closest?.("#sv-terms, #sv-law")))
                 window.shifted += value;
           }).observe({ type: "layout-shift" });"""
    )
    opened(visit)
    assert visit.page.evaluate("window.shifted") < 0.005
