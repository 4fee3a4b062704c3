"""Help for newcomers on Step: links, history, lists, highlights and explanations."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect
from serve import SHIPPED

OPENING = next(name for name in SHIPPED if name.endswith("01-chain"))
TREE = next(name for name in SHIPPED if name.endswith("03-tree"))
LIT = (
    "[...document.querySelectorAll('.sv-lit')].map((one) => one.getAttribute('class')).join(' | ')"
)
STEP = "window.specviz.players['sv-step'].frame.step.id"


def test_reduced_motion_opens_the_page_at_the_first_rejection(visit):
    visit.open()
    assert visit.ask("frame.caption.is") == "rejected"


def test_page_with_motion_opens_at_the_first_guesses(lively):
    page = lively.open()
    assert lively.ask("frame.step.kind") == "propose"
    page.keyboard.press("ArrowLeft")  # it stops playing


def test_skip_link_focuses_the_next_button(visit):
    page = visit.open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.sv-skip')")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.do") == "next"


def test_target_outputs_appear_together_and_are_highlighted_one_by_one(looker):
    page = looker.look(OPENING)
    columns = page.locator(".sv-pass-column")
    lit = page.locator(".sv-pass-column[data-use=used]")
    assert columns.count() == 0, "the target has not answered"
    guesses = len(looker.ask("frame.tree.nodes"))
    looker.step_until("frame.step.kind === 'score'")
    guesses = len(looker.ask("frame.tree.nodes"))
    assert (columns.count(), lit.count()) == (guesses + 1, 0)
    for judged in (1, 2):
        looker.ask("next()")
        assert (columns.count(), lit.count()) == (guesses + 1, judged)
    top = looker.ask("frame.pass.columns")[0]["top"]
    assert columns.first.locator("b").all_inner_texts()[: len(top)] == [each[2] for each in top]


def test_copied_link_names_the_step_on_screen_when_clicked(visit):
    page = visit.open(f"?trace={OPENING}&round=1&step=propose-1")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copied = """() => new Promise((done) => {
      const button = document.querySelector(".sv-copy");
      new MutationObserver(() => button.classList.contains("sv-said-so") && done())
        .observe(button, { attributes: true });
      window.specviz.players["sv-step"].next();
      button.click();
    })"""
    page.evaluate(copied)
    link = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(link).query)["step"] == [visit.ask("frame.step.id")]


def test_browser_back_button_returns_to_earlier_steps_runs_and_tabs(visit):
    page = visit.open(f"?trace={OPENING}&round=1&step=propose-1")
    page.wait_for_function("history.state?.moment")
    visit.step_to("Rejected")  # many steps in a row are one moment
    page.wait_for_url("**step=judge-*")
    page.evaluate(f"window.specviz.players['sv-step'].load('{TREE}')")
    page.wait_for_url(f"**trace={TREE}**")
    page.get_by_role("tab", name="Cost").click()
    page.wait_for_selector("[role=tab][aria-selected=true]:text('Cost')")
    page.go_back()
    page.wait_for_selector("[role=tab][aria-selected=true]:text('Step')")
    assert visit.ask("run.id") == TREE
    page.go_back()
    page.wait_for_function(f"window.specviz.players['sv-step'].run.id === '{OPENING}'")
    page.wait_for_function(f"{STEP}.startsWith('judge-')")
    expect(page.locator("#sv-recorded input")).to_have_value("chain")
    page.go_back()
    page.wait_for_function(f"{STEP} === 'propose-1'")


def test_link_to_a_live_run_fills_the_form_without_starting_it(visit):
    wanted = {"prompt": "Once", "target": "house", "drafter": "ngram", "settings": {"seed": 77}}
    page = visit.open(f"?run={json.dumps(wanted)}")
    page.get_by_text("This link asks for a live run.").wait_for()
    expect(page.locator("#sv-prompt textarea")).to_have_value("Once")
    expect(page.locator(".sv-said")).to_contain_text("N-gram")
    expect(page.locator(".sv-said")).to_contain_text("seed 77")
    assert visit.ask("run.source") == "recorded"
    assert page.locator(".sv-notice .sv-answer").inner_text() == "Run live"


@pytest.mark.parametrize("text", ["{", '{"prompt": 3}', '{"prompt": "a", "target": "x"}'])
def test_unreadable_link_to_a_live_run_is_reported(visit, text):
    page = visit.open(f"?run={text}")
    page.get_by_text("This link to a live run cannot be read").wait_for()


def test_run_live_closes_the_settings_drawer_and_scrolls_to_the_run(visit):
    page = visit.open()
    page.click("#sv-settings button")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    visit.ask("begin()")  # as Run live does
    assert page.locator("#sv-settings button").get_attribute("aria-expanded") == "false"
    top = page.evaluate("document.querySelector('.sv').getBoundingClientRect().top")
    assert 0 <= top <= 400
    visit.ask("ended()")


def test_choosing_the_same_drafter_again_keeps_its_settings(visit):
    page = visit.open(f"?trace={OPENING}")
    page.click("#sv-settings button")
    gamma = page.locator("#sv-gamma input[type=number]")
    gamma.fill("7")
    gamma.press("Enter")
    expect(page.locator(".sv-said")).to_contain_text("γ 7")
    visit.choose("#sv-method input", "Draft model")
    visit.choose("#sv-method input", "Draft model")
    expect(page.locator(".sv-said")).to_contain_text("γ 7")
    visit.choose("#sv-method input", "N-gram")
    expect(page.locator(".sv-said")).not_to_contain_text("γ 7")


def test_open_dropdown_list_is_not_covered_by_labels(visit):
    page = visit.open()
    page.click("#sv-settings button")
    page.click("#sv-recorded input")
    page.locator("[role=option]:visible").nth(4).wait_for()
    covered = """() => [...document.querySelectorAll("[role=option]")]
      .filter((one) => one.checkVisibility())
      .filter((one) => { // not those that the list itself cuts off
        const list = one.closest("[role=listbox]")?.getBoundingClientRect();
        return list && one.getBoundingClientRect().bottom <= Math.min(list.bottom, innerHeight);
      })
      .filter((one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        const list = one.closest("[role=listbox]");
        return [left + 14, (left + right) / 2, right - 20].some((x) =>
          list && !list.contains(document.elementFromPoint(x, (top + bottom) / 2)));
      }).map((one) => one.textContent)"""
    page.wait_for_function(f"({covered})().length === 0")


def test_hovering_a_number_or_row_highlights_its_bar_or_token(looker):
    page = looker.look(OPENING)
    looker.step_to("Rejected")
    page.hover(".sv-say .sv-n-q")
    assert "sv-cr" in page.evaluate(LIT)
    page.hover(".sv-mr.sv-on-trial .sv-tk")
    lit = page.evaluate(LIT)
    assert all(name in lit for name in ("sv-chip", "sv-token", "sv-spot", "sv-pass-column"))
    page.hover(".sv-trial .sv-cr >> nth=1")
    assert "sv-n-q" in page.evaluate(LIT)
    page.mouse.move(0, 0)
    assert page.evaluate(LIT) == ""


def test_facts_of_a_hovered_guess_appear_below_the_tree(looker):
    page = looker.look(OPENING)
    looker.step_to("Rejected")
    box = page.locator(".sv-spot").nth(1).bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 15)
    page.wait_for_selector(".sv-felt:not([hidden])")
    spots = [spot.bounding_box() for spot in page.locator(".sv-spot").all()]
    lowest = max(spot["y"] + spot["height"] for spot in spots)
    assert page.locator(".sv-felt").bounding_box()["y"] >= lowest
    page.mouse.move(0, 0)
    page.wait_for_selector(".sv-felt", state="hidden")


def test_clicking_a_rejected_token_in_text_or_tree_opens_its_verdict(looker):
    page = looker.look(OPENING)
    seen = set()
    for chip in (True, False):
        looker.step_to("Recovered")
        if chip:
            page.locator(".sv-now .sv-chip.sv-rejected").click()
        else:
            spot = page.locator(".sv-spot[aria-label$=rejected]").bounding_box()
            page.mouse.click(spot["x"] + 25, spot["y"] + 15)
        page.wait_for_function(f"{STEP}.startsWith('judge-')")
        seen.add((looker.ask("frame.step.id"), looker.ask("frame.caption.is")))
    assert len(seen) == 1
    assert seen.pop()[1] == "rejected"


@pytest.mark.parametrize("size", [(1280, 800), (1024, 700), (390, 844)])
def test_visible_table_columns_are_numbered_from_one(looker, size):
    page = looker.look(OPENING)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    looker.step_to("Recovered")
    numbers = page.locator(".sv-panel .sv-num:visible").all_inner_texts()
    assert len(numbers) in (4, 5)
    assert [int(each.split()[0]) for each in numbers] == list(range(1, len(numbers) + 1))


def test_focused_button_keeps_focus_while_stepping(looker):
    page = looker.look(OPENING)
    looker.step_to("Rejected")
    page.locator(".sv-to-sandbox").focus()
    for key, kind in (("ArrowRight", "draw"), ("ArrowLeft", "judge")):
        page.keyboard.press(key)
        assert looker.ask("frame.step.kind") == kind
        assert page.evaluate("document.activeElement.matches('.sv-to-sandbox')")


def test_what_if_hint_is_visible_at_a_rejection(looker):
    page = looker.look(OPENING)
    looker.step_to("Rejected")
    assert page.locator(".sv-hint-drag").is_visible()


def test_end_card_says_how_the_time_was_spent(looker):
    page = looker.look(OPENING)
    looker.ask("last()")
    assert "The time went to drafting (" in page.inner_text(".sv-times-said")
