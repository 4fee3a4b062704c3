"""The first visit: the introduction, the tour, help, and the cards of terms."""

import json

import pytest

from specviz.glossary import GLOSSARY
from specviz.texts.languages import languages
from specviz.ui.step.tour import EXACT, INTRO, STOPS

TEXTS = [languages()["en"]["tour"][stop["place"]] for stop in STOPS]
OPEN = "[popover]:popover-open"


def stop(page):
    return page.inner_text(".sv-tour-title")


def test_introduction_explains_the_page_and_stays_hidden_once_closed(visit):
    page = visit.open()
    assert page.inner_text(".sv-intro p") == f"{INTRO} {EXACT}"
    page.click("[data-intro=away]")
    assert page.locator(".sv-intro").is_hidden()
    visit.open()
    assert page.locator(".sv-intro").is_hidden()


def test_each_tour_stop_moves_the_run_to_a_matching_step(visit):
    page = visit.open()
    page.click("[data-intro=tour]")
    page.wait_for_selector(".sv-tour:not([hidden])")
    kinds = []
    for number, (wanted, text) in enumerate(zip(STOPS, TEXTS, strict=True)):
        assert stop(page) == text["title"]
        assert page.inner_text(".sv-tour-say") == text["say"]
        assert page.inner_text(".sv-tour-at") == f"{number + 1} of {len(STOPS)}"
        ringed = "(at) => document.querySelector(at).matches('.sv-ringed')"
        assert page.evaluate(ringed, wanted["at"])
        assert page.locator(".sv-ringed").count() == 1
        kinds.append((visit.ask("frame.step.kind"), visit.ask("frame.caption.is")))
        page.click("[data-tour=next]")
    assert kinds[0] == ("commit", "commit")
    assert kinds[1] == ("propose", "propose")
    assert kinds[2] == ("score", "score")
    assert kinds[3] == ("judge", "rejected")
    assert page.locator(".sv-tour").is_hidden()
    assert page.locator(".sv-ringed").count() == 0
    assert page.locator(".sv-intro").is_hidden(), "who has been round knows what this is"


def test_tour_continues_when_the_visitor_steps_by_arrow_keys(visit):
    page = visit.open()
    page.click("[data-intro=tour]")
    for _ in range(3):
        page.click("[data-tour=next]")
    page.keyboard.press("ArrowRight")
    assert visit.ask("frame.step.kind") == "draw"
    assert page.locator(".sv-tour").is_visible(), "stepping on is part of it"


def test_tour_can_be_taken_by_keyboard_alone(visit):
    page = visit.open()
    page.keyboard.press("?")
    page.wait_for_selector(".sv-help[open]")
    tab_to(page, "[data-help=tour]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".sv-tour:not([hidden])")
    seen = []
    for _ in STOPS:
        seen.append(stop(page))
        assert page.evaluate("document.activeElement.matches('[data-tour=next]')")
        page.keyboard.press("Enter")
    assert seen == [text["title"] for text in TEXTS]
    assert page.locator(".sv-tour").is_hidden()


def test_escape_ends_the_tour_and_leaves_the_controls_usable(visit):
    page = visit.open()
    page.click("[data-intro=tour]")
    page.click("[data-do=next]")
    page.focus("[data-tour=next]")
    page.keyboard.press("Escape")
    assert page.locator(".sv-tour").is_hidden()


def tab_to(page, selector):
    for _ in range(12):
        if page.evaluate("(at) => document.activeElement.matches(at)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no way to {selector} by Tab")


@pytest.mark.parametrize(
    ("selector", "term"),
    [
        (".sv-key-residual", "residual"),
        (".sv-verdict", "rejected"),
        (".sv-n-u", "coin"),
        (".sv-say span:text-is('p ÷ q')", "threshold"),
        (".sv-say .sv-n-both", "threshold"),
        (".sv-ticks .sv-ink-both", "threshold"),
    ],
)
def test_clicking_a_term_opens_its_card_inside_the_window(looker, selector, term):
    page = looker.look()
    looker.step_to("Rejected")
    page.locator(selector).first.click()
    page.wait_for_selector(OPEN)
    assert page.inner_text(OPEN + " p") == GLOSSARY[term]
    box = page.locator(OPEN).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280
    page.keyboard.press("Escape")
    page.wait_for_selector(OPEN, state="detached")


def test_hovering_a_term_shows_its_card(looker):
    page = looker.look()
    page.hover(".sv-key-p")
    page.wait_for_selector(OPEN)
    page.hover(".sv-strip")
    page.wait_for_selector(OPEN, state="detached")


def test_clicking_a_button_that_names_a_term_opens_no_card(looker):
    page = looker.look()
    looker.step_to("Rejected")
    page.locator("button.sv-chip").first.click()
    assert page.locator(OPEN).count() == 0


def test_every_term_on_the_page_is_in_the_glossary(looker):
    page = looker.look()
    for _ in range(40):
        looker.ask("next()")
    named = page.evaluate(
        "[...document.querySelectorAll('[data-term]')].map((one) => one.dataset.term)"
    )
    known = json.loads(page.evaluate(KNOWN))
    assert set(named) <= set(known)
    titles = page.evaluate("[...document.querySelectorAll('[title]')].map((one) => one.title)")
    assert not set(titles) & set(known.values())


def test_help_lists_all_terms_with_those_of_the_open_tab_first(looker):
    page = looker.look()
    page.click("[data-help=open]")
    here = page.locator(".sv-words-here dd").all_inner_texts()
    page.click(".sv-help summary")
    others = page.locator(".sv-words-others dd").all_inner_texts()
    assert GLOSSARY["residual"] in here
    assert GLOSSARY["roofline"] in others
    assert set(GLOSSARY.values()) <= {*here, *others}
    page.click(".sv-help summary")
    page.click("[data-help=close]")
    assert not page.locator(".sv-help[open]").count()


KNOWN = """async () => {
  const { GLOSSARY } = await import(document.querySelector("link[href$='shared/given.js']").href);
  return JSON.stringify(GLOSSARY);
}"""
