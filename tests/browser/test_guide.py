"""The first visit: the introduction, the tour, help, and the cards of terms."""

from test_access import tab_to

from specviz.glossary import GLOSSARY
from specviz.settings.specs import SETTING_SPECS
from specviz.texts.languages import languages
from specviz.ui.step.tour import EXACT, INTRO, STOPS

TEXTS = [languages()["en"]["tour"][stop["place"]] for stop in STOPS]
OPEN = "[popover]:popover-open"


def check_stop(page, number):
    """Check what a stop of the tour says, and that only its part of the page is ringed."""
    assert page.inner_text(".sv-tour-title") == TEXTS[number]["title"]
    assert page.inner_text(".sv-tour-say") == TEXTS[number]["say"]
    assert page.inner_text(".sv-tour-at") == f"{number + 1} of {len(STOPS)}"
    ringed = page.locator(".sv-ringed")
    assert ringed.evaluate("(e, at) => e.matches(at)", STOPS[number]["at"]), number


def test_tour_from_the_introduction_moves_the_run_and_later_begins_from_the_help(visit):
    page = visit.open()
    assert page.inner_text(".sv-intro p") == f"{INTRO} {EXACT}"
    page.click("[data-intro=tour]")
    page.wait_for_selector(".sv-tour:not([hidden])")
    kinds = []
    for number in range(len(STOPS)):
        check_stop(page, number)
        assert page.evaluate("document.activeElement.matches('[data-tour=next]')")
        kinds.append((visit.ask("frame.step.kind"), visit.ask("frame.caption.is")))
        if number == 3:
            page.keyboard.press("ArrowRight")
            assert visit.ask("frame.step.kind") == "draw", "the visitor may step on meanwhile"
            assert page.locator(".sv-tour").is_visible()
        page.click("[data-tour=next]") if number == 1 else page.keyboard.press("Enter")
    assert kinds[:3] == [(kind, kind) for kind in ("commit", "propose", "score")]
    assert kinds[3] == ("judge", "rejected")
    assert page.locator(".sv-tour").is_hidden()
    assert page.locator(".sv-ringed").count() == 0
    visit.open()
    assert page.locator(".sv-intro").is_hidden(), "who has been round knows what this is"
    page.keyboard.press("?")
    page.wait_for_selector(".sv-help[open]")
    tab_to(page, "[data-help=tour]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".sv-tour:not([hidden])")
    check_stop(page, 0)
    page.keyboard.press("Escape")
    assert page.locator(".sv-tour").is_hidden()
    page.click("[data-do=next]")


# The selectors of texts that have a card, and its term.
CARDS = {
    ".sv-key-residual": "residual",
    ".sv-verdict": "rejected",
    ".sv-n-u": "coin",
    ".sv-say span:text-is('p ÷ q')": "threshold",
    ".sv-say .sv-n-both": "threshold",
    ".sv-trial .sv-toss-hint .sv-ink-both": "threshold",
}


def test_terms_open_their_cards_inside_the_window_and_help_lists_them(looker):
    page = looker.look()
    page.hover(".sv-key-p")
    page.wait_for_selector(OPEN)
    page.hover(".sv-strip")
    page.wait_for_selector(OPEN, state="detached")
    looker.step_to("Rejected")
    for selector, term in CARDS.items():
        page.locator(selector).first.click()
        page.wait_for_selector(OPEN)
        assert page.inner_text(OPEN + " p") == GLOSSARY[term], selector
        box = page.locator(OPEN).bounding_box()
        assert 0 <= box["x"] <= 1280 - box["width"], selector
        page.keyboard.press("Escape")
        page.wait_for_selector(OPEN, state="detached")
    page.locator("button.sv-chip").first.click()
    assert page.locator(OPEN).count() == 0, "a button that names a term opens no card"
    named = page.locator("[data-term]").evaluate_all("all => all.map((e) => e.dataset.term)")
    page.click("[data-help=open]")
    here = page.locator(".sv-words-here dd").all_inner_texts()
    page.click(".sv-help summary")
    others = page.locator(".sv-words-others dd").all_inner_texts()
    assert GLOSSARY["residual"] in here, "terms of the open tab come first"
    assert GLOSSARY["roofline"] in others
    said = [*here, *others]  # links may follow an explanation
    assert all(any(words.startswith(each) for words in said) for each in GLOSSARY.values())
    assert set(named) <= {*GLOSSARY, *(row.name for row in SETTING_SPECS)}
    page.click(".sv-help summary")
    page.click("[data-help=close]")
    assert page.locator(".sv-help[open]").count() == 0
