"""Help for newcomers on Step: links, history and highlights."""

import json

from playwright.sync_api import expect
from serve import SHIPPED

OPENING = next(name for name in SHIPPED if name.endswith("01-chain"))
TREE = next(name for name in SHIPPED if name.endswith("03-tree"))
LIT = (
    "[...document.querySelectorAll('.sv-lit')].map((one) => one.getAttribute('class')).join(' | ')"
)
PLAYER = "window.specviz['sv-step']"
STEP = f"{PLAYER}.frame.step.id"
OPEN_TAB = "[role=tab][aria-selected=true]:text('{}')"


def test_back_button_returns_to_earlier_steps_runs_and_tabs(visit):
    page = visit.open()
    assert visit.ask("frame.caption.is") == "rejected", "reduced motion opens at a rejection"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.sv-skip')")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.do") == "next", "the skip link"
    visit.open(f"?trace={OPENING}&round=1&step=propose-1")
    page.wait_for_function("history.state?.moment")
    visit.step_to("Rejected")  # many steps in a row are one moment
    page.wait_for_url("**step=judge-*")
    page.evaluate(f"{PLAYER}.load('{TREE}')")
    page.wait_for_url(f"**trace={TREE}**")
    page.get_by_role("tab", name="Cost").click()
    page.wait_for_selector(OPEN_TAB.format("Cost"))
    page.go_back()
    page.wait_for_selector(OPEN_TAB.format("Step"))
    assert visit.ask("run.id") == TREE
    held = []

    def hold(route):
        held.append(route)

    page.route(f"**/{OPENING}", hold)
    page.go_back()
    page.set_viewport_size({"width": 1200, "height": 800})  # draws the run that is still on screen
    page.wait_for_timeout(500)
    held[0].continue_()
    page.wait_for_function(f"{PLAYER}.run.id === '{OPENING}'")
    page.wait_for_function(f"{STEP}.startsWith('judge-')")
    expect(page.locator("#sv-recorded input")).to_have_value("chain")
    page.go_back()
    page.wait_for_function(f"{STEP} === 'propose-1'")


def test_link_to_a_live_run_fills_in_the_form_without_starting_it(visit):
    page = visit.page
    for text in ("{", '{"prompt": "a", "target": "x"}'):
        visit.open(f"?run={text}")
        page.get_by_text("This link to a live run cannot be read").wait_for()
    wanted = {"prompt": "Once", "target": "house", "drafter": "ngram", "settings": {"seed": 77}}
    visit.open(f"?run={json.dumps(wanted)}")
    page.get_by_text("This link asks for a live run.").wait_for()
    expect(page.locator("#sv-prompt textarea")).to_have_value("Once")
    expect(page.locator(".sv-said")).to_contain_text("N-gram")
    expect(page.locator(".sv-said")).to_contain_text("seed 77")
    assert visit.ask("run.source") == "recorded"


def test_each_step_adds_what_is_known_and_shows_what_belongs_together(looker):
    page = looker.look(OPENING)
    columns = page.locator(".sv-pass-column")
    assert columns.count() == 0, "the target has not answered"
    looker.step_until("frame.step.kind === 'score'")
    guesses = len(looker.ask("frame.tree.nodes"))
    for judged in (0, 1, 2):
        lit = page.locator(".sv-pass-column[data-use=used]")
        assert (columns.count(), lit.count()) == (guesses + 1, judged)
        looker.ask("next()")
    looker.step_to("Rejected")
    page.hover(".sv-say .sv-n-q")
    assert "sv-cr" in page.evaluate(LIT)
    page.hover(".sv-mr.sv-on-trial .sv-tk")
    lit = page.evaluate(LIT)
    assert all(name in lit for name in ("sv-chip", "sv-token", "sv-spot", "sv-pass-column"))
    page.hover(".sv-trial .sv-cr >> nth=1")
    assert "sv-n-q" in page.evaluate(LIT)
    box = page.locator(".sv-spot").nth(1).bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 15)
    page.wait_for_selector(".sv-felt:not([hidden])")
    spots = [spot.bounding_box() for spot in page.locator(".sv-spot").all()]
    lowest = max(spot["y"] + spot["height"] for spot in spots)
    assert page.locator(".sv-felt").bounding_box()["y"] >= lowest, "facts are below the tree"
    page.mouse.move(0, 0)
    page.wait_for_selector(".sv-felt", state="hidden")
    assert page.evaluate(LIT) == ""
    looker.step_to("Recovered")
    for width, height in ((1280, 800), (1024, 700), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        numbers = page.locator(".sv-panel .sv-num:visible").all_inner_texts()
        shown = [int(each.split()[0]) for each in numbers]
        assert shown in ([1, 2, 3, 4], [1, 2, 3, 4, 5]), f"columns of the table at {width}"
