"""The page around a run: header, top row, settings, and the fixed parts on a phone."""

import pytest
from playwright.sync_api import expect
from serve import SHIPPED
from test_layout import resize

TOPS = """() => ['.sv-strip', '.sv-caption', '.sv-evidence', '.sv-panel', '.sv-time']
  .map((name) => Math.round(document.querySelector(name).getBoundingClientRect().top))
  .concat(document.querySelector('.sv-dock').offsetTop)
  .join(' ')"""


# The questions at every step of some rounds.
AT_EVERY_STEP = """(rounds) => {
  const player = window.specviz.players["sv-step"];
  const found = [];
  for (const round of rounds) {
    player.go(round, 0);
    while (player.cursor.round === round) {
      const { step } = player.cursor;
      found.push((ASKED)());
      player.go(round, step + 1);
      if (player.cursor.step === step) break;
    }
  }
  return found;
}"""


def at_every_step(visit, rounds, asked):
    """Return the answers at every step of some rounds, in order."""
    return visit.page.evaluate(AT_EVERY_STEP.replace("ASKED", asked), list(rounds))


def test_caption_and_guesses_do_not_move_on_a_phone(looker):
    page = looker.look()
    resize(page, 390, 844)
    top = "document.querySelector(name).getBoundingClientRect().top + scrollY"
    names = "['.sv-caption', '.sv-list', '.sv-panel']"
    seen = set()
    for step in range(6):
        looker.ask(f"go(2, {step})")
        seen.add(page.evaluate(f"{names}.map((name) => {top}).join(' ')"))
    assert len(seen) == 1
    dock = page.locator(".sv-buttons").bounding_box()
    assert round(dock["y"] + dock["height"]) == 844, "within reach of the thumb"
    heights = "[...document.querySelectorAll('.sv-buttons button')].map((b) => b.offsetHeight)"
    assert min(page.evaluate(heights)) >= 44


def test_larger_text_causes_no_overflow_and_guesses_stay_clickable(visit):
    page = visit.open()
    button = page.get_by_role("button", name="Larger text")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    visit.step_to("Recovered")
    for width in (1280, 1920):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".sv-table").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    page.locator(".sv-spot[data-node='1']").click()
    page.wait_for_function("window.specviz.players['sv-step'].frame.step.kind === 'judge'")


def test_dark_mode_is_kept_after_a_reload(visit):
    page = visit.open("?__theme=light")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("document.body.classList.contains('dark')")
    page.reload()
    page.wait_for_selector(".sv-verdict:not(:empty)")
    page.wait_for_function("document.body.classList.contains('dark')")
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"


def test_one_sentence_summarizes_the_settings_as_plain_text(visit):
    page = visit.open()
    said = page.locator("#sv-settings .sv-said")
    assert said.inner_text() == "Draft model drafts for House · T 0.8 · γ 5 · seed 1"
    page.click("#sv-settings button")
    assert page.locator("#sv-settings button").get_attribute("aria-expanded") == "true"
    page.get_by_label("Seed").fill("12")
    page.click("#sv-method input")
    page.get_by_role("option", name="N-gram").click()
    page.locator("#sv-target input").fill("/models/<i>mine")
    page.locator("#sv-target input").press("Tab")
    page.wait_for_function(
        "document.querySelector('#sv-settings .sv-said').textContent"
        " === 'N-gram drafts for <i>mine · T 0.8 · γ 10 · seed 12'"
    )
    assert page.locator("#sv-settings i").count() == 0


def test_prompt_field_grows_while_typing_without_moving_other_content(visit):
    page = visit.open()
    before = page.evaluate(TOPS)
    box = page.get_by_label("Prompt")
    folded = box.bounding_box()["height"]
    box.fill("a long prompt\n" * 6)
    assert box.bounding_box()["height"] > 3 * folded
    assert page.evaluate(TOPS) == before
    page.keyboard.press("Tab")
    page.wait_for_function("document.activeElement.closest('#sv-prompt') === null")
    assert box.bounding_box()["height"] == folded
    assert box.evaluate("e => e.scrollTop") == 0


def test_example_fills_the_prompt_and_can_be_chosen_again(visit):
    page = visit.open()
    box = page.get_by_label("Prompt")
    for _ in range(2):
        box.fill("something else")
        page.click("#sv-examples input")
        page.locator("#sv-examples [data-testid=dropdown-option]").nth(2).click()
        page.wait_for_function(
            "document.querySelector('#sv-prompt textarea').value.startsWith('Tom had a red kite')"
        )


def test_stop_button_appears_exactly_where_run_live_was(looker):
    page = looker.look()
    run = page.locator("#sv-go").bounding_box()
    assert page.locator("#sv-stop").is_hidden()
    page.evaluate("document.body.classList.add('sv-running')")
    assert page.locator("#sv-go").is_hidden()
    assert page.locator("#sv-stop").bounding_box() == pytest.approx(run, abs=0.1)
    page.evaluate("document.body.classList.remove('sv-running')")


def test_settings_drawer_shows_the_card_and_settings_of_the_drafter(visit):
    page = visit.open()
    page.click("#sv-settings button")
    page.locator(".sv-card").get_by_text("A small language model continues").wait_for()
    assert page.locator("#sv-siblings").is_visible()
    page.click("#sv-method input")
    page.get_by_role("option", name="N-gram").click()
    page.locator(".sv-card").get_by_text("copies what came next").wait_for()
    assert page.locator(".sv-card:visible").count() == 1
    assert page.locator("#sv-siblings").is_hidden()
    assert page.locator("#sv-gamma").is_visible()


def test_number_box_beside_a_slider_can_be_clicked(visit):
    page = visit.open()
    page.click("#sv-settings button")
    boxes = page.locator(".sv-group .tab-like-container input:visible")
    expect(boxes.nth(1)).to_be_visible()
    for box in boxes.all():
        box.click()
        expect(box).to_be_focused()


ROW = """() => ["prompt", "examples", "recorded", "settings", "go"]
  .map((name) => document.querySelector("#sv-" + name).getBoundingClientRect())
  .map(({ left, width }) => [left, width])"""


def test_escape_closes_the_settings_and_first_an_open_list(visit):
    page = visit.open()
    button = page.locator("#sv-settings button")
    button.click()
    page.locator("#sv-method input").click()
    page.locator("[role=option]:visible").first.wait_for()
    page.keyboard.press("Escape")
    expect(page.locator("[role=option]:visible")).to_have_count(0)
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(button).to_be_focused()


def test_top_row_does_not_move_and_marks_changed_settings_as_not_run_yet(visit):
    page = visit.open(f"?trace={next(iter(SHIPPED))}")
    told = page.get_by_text("not run yet")
    told.wait_for(state="hidden")
    before = page.evaluate(ROW)
    box = page.get_by_label("Prompt")
    prompt = box.input_value()
    box.fill("Something else.")
    told.wait_for()
    box.fill(prompt)
    told.wait_for(state="hidden")
    page.click("#sv-settings button")
    page.click("#sv-method input")
    page.get_by_role("option", name="Mixture of Attentions").click()
    told.wait_for()
    assert page.evaluate(ROW) == before


def test_closing_the_list_of_examples_keeps_the_prompt(visit):
    page = visit.open()
    page.get_by_label("Prompt").fill("a prompt of my own")
    page.click("#sv-examples input")
    page.wait_for_selector("[role=listbox]")
    page.keyboard.press("Escape")
    page.wait_for_selector("[role=listbox]", state="detached")
    page.click("#sv-recorded input")
    page.wait_for_timeout(300)
    assert page.input_value("#sv-prompt textarea") == "a prompt of my own"


def test_idle_page_requests_no_animation_frames(browser, url):
    page = browser.new_page(reduced_motion="reduce")
    page.add_init_script(
        """const ask = window.requestAnimationFrame.bind(window);
        window.requestAnimationFrame = (step) => {
          window.asked = performance.now();
          return ask(step);
        };"""
    )
    page.goto(url)
    page.wait_for_selector(".sv-tree svg", state="attached")
    assert page.evaluate("window.asked"), "frames are noticed"
    # the animation of the loading picture swings for some seconds
    page.wait_for_function("performance.now() - window.asked > 500", polling=100, timeout=30_000)
    page.close()
