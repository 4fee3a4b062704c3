"""The page around a run: the top row, the settings drawer, dark mode, and a page at rest."""

import pytest
from costs import ANSWER, says
from playwright.sync_api import expect
from serve import SHIPPED

TOPS = """() => ['.sv-strip', '.sv-caption', '.sv-evidence', '.sv-panel', '.sv-time']
  .map((name) => Math.round(document.querySelector(name).getBoundingClientRect().top))
  .concat(document.querySelector('.sv-dock').offsetTop)
  .join(' ')"""
ROW = """() => ["prompt", "examples", "recorded", "settings", "go"]
  .map((name) => document.querySelector("#sv-" + name).getBoundingClientRect())
  .map(({ left, width }) => [left, width])"""


def headings_cannot_be_selected_and_escape_closes_the_list_then_the_settings(page, button):
    method = page.locator("#sv-method input")
    method.click()
    first = page.get_by_role("option", name="EAGLE-1", exact=True)
    assert page.locator("#sv-method .option-list").evaluate("e => e.scrollTop") == 0
    box = first.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] - 14)
    expect(method).to_have_value("Draft model")
    first.click()
    expect(method).to_have_value("EAGLE-1")
    method.click()
    page.locator("[role=option]:visible").first.wait_for()
    page.keyboard.press("Escape")
    expect(page.locator("[role=option]:visible")).to_have_count(0)
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(button).to_be_focused()


def test_settings_are_summarized_as_text_follow_the_drafter_and_close_by_keyboard(visit):
    page = visit.open()
    said, button = page.locator("#sv-settings .sv-said"), page.locator("#sv-settings button")
    expect(said).to_have_text("Draft model drafts for House · T 0.8 · γ 5 · seed 1")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    page.locator(".sv-card").get_by_text("A small language model continues").wait_for()
    assert page.locator("#sv-siblings").is_hidden(), "folded"
    headings_cannot_be_selected_and_escape_closes_the_list_then_the_settings(page, button)
    visit.open_more()
    assert page.locator("#sv-siblings").is_visible()
    boxes = page.locator(".sv-group .tab-like-container input:visible")
    expect(boxes.nth(1)).to_be_visible()
    for box in boxes.all():
        box.click()
        expect(box, "the number beside a slider can be clicked").to_be_focused()
    page.get_by_label("Seed").fill("12")
    visit.choose("#sv-method input", "N-gram")
    page.locator(".sv-card").get_by_text("copies what came next").wait_for()
    assert page.locator(".sv-card:visible").count() == 1
    assert page.locator("#sv-siblings").is_hidden(), "not a setting of this drafter"
    assert page.locator("#sv-gamma").is_visible()
    page.locator("#sv-target input").fill("/models/<i>mine")
    page.locator("#sv-target input").press("Tab")
    expect(said).to_have_text("N-gram drafts for <i>mine · T 0.8 · γ 10 · seed 12")
    assert page.locator("#sv-settings i").count() == 0


def test_prompt_grows_and_keeps_its_text_while_the_rest_stays_in_place(visit):
    page = visit.open(f"?trace={next(iter(SHIPPED))}")
    told, box = page.get_by_text("not run yet"), page.get_by_label("Prompt")
    told.wait_for(state="hidden")
    row, tops, folded = page.evaluate(ROW), page.evaluate(TOPS), box.bounding_box()["height"]
    prompt = box.input_value()
    box.fill("a prompt of my own\n" * 6)
    told.wait_for()
    assert box.bounding_box()["height"] == 3 * folded
    assert page.evaluate(TOPS) == tops, "a growing prompt moves nothing"
    page.keyboard.press("Tab")
    page.wait_for_function("document.activeElement.closest('#sv-prompt') === null")
    assert box.bounding_box()["height"] == folded
    for name in ("examples", "recorded"):
        page.click(f"#sv-{name} input")
        page.wait_for_selector("[role=listbox]")
        page.keyboard.press("Escape")
        page.wait_for_selector("[role=listbox]", state="detached")
    expect(box, "closing a list keeps the prompt").to_have_value("a prompt of my own\n" * 6)
    for _ in range(2):  # an example can be chosen again
        page.click("#sv-examples input")
        page.locator("#sv-examples [data-testid=dropdown-option]").nth(2).click()
        page.wait_for_function(
            "document.querySelector('#sv-prompt textarea').value.startsWith('Tom had a red kite')"
        )
        box.fill(prompt)
    told.wait_for(state="hidden")
    assert page.evaluate(ROW) == row, "the top row has not moved"


def test_stop_replaces_run_live_in_place_and_dark_mode_survives_a_reload(visit):
    page = visit.open("?__theme=light")
    run = page.locator("#sv-go").bounding_box()
    assert page.locator("#sv-stop").is_hidden()
    page.evaluate("document.body.classList.add('sv-running')")
    assert page.locator("#sv-go").is_hidden()
    assert page.locator("#sv-stop").bounding_box() == pytest.approx(run, abs=0.1)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("document.body.classList.contains('dark')")
    page.reload()
    page.wait_for_selector(".sv-verdict:not(:empty)")
    page.wait_for_function("document.body.classList.contains('dark')")
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"


# Notes when a frame is requested last; and one request whose source cannot be read.
ASKED = """const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (step) => {
  window.asked = performance.now();
  return ask(step);
};"""
UNREADABLE = """() => new Promise((done) => {
  const step = () => done("drawn");
  step.toString = () => { throw new Error("no source"); };
  requestAnimationFrame(step);
})"""


# Notes everything that Svelte's proxies wrap, and each listing of the progress of components.
TRACKED = """window.tracked = [];
window.Proxy = new Proxy(Proxy, { construct(made, given) {
  window.tracked.push(given[0]);
  return Reflect.construct(made, given);
} });
window.listed = 0;
const entries = Object.entries;
Object.entries = (each) => {
  const found = entries(each);
  const progress = found.filter(([, one]) => one?.cache_event_id !== undefined);
  window.listed += progress.length;
  return found;
};"""
EVENTS = "window.tracked.filter((each) => 'backend_fn' in each).length"


def test_events_with_their_hidden_progress_and_an_idle_page_cost_no_time(visit):
    """Each component reads all events while the page opens; each event lists all progress."""
    visit.page.add_init_script(TRACKED + ASKED)
    page = visit.open("?tab=cost&part=formula&alpha=0.8")
    says(page, ANSWER, "At α = 0.80")
    page.get_by_role("slider", name="α, acceptance").press("ArrowRight")
    says(page, ANSWER, "At α = 0.81")
    assert page.evaluate("window.tracked.length"), "proxies are noticed"
    assert page.evaluate(EVENTS) == 0
    assert page.evaluate("window.listed") == 0
    page.get_by_role("tab", name="Step", exact=True).click()
    assert page.evaluate("window.asked"), "frames are noticed"
    # the animation of the loading picture swings for some seconds
    page.wait_for_function("performance.now() - window.asked > 500", polling=100, timeout=30_000)
    assert page.evaluate(UNREADABLE) == "drawn", "a callback without readable source runs, too"
