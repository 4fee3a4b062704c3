"""Lessons in a browser: from the first step to the last by keyboard, at two widths."""

from __future__ import annotations

import signal

import pytest
from app_server import Server
from playwright.sync_api import expect

from specviz.ui.learn.lessons import lesson, titles

NAMES = [title["id"] for title in titles()]
SHOWN = "() => window.specviz?.lesson?.shown"
# Whether what is ringed begins inside the window and not below the card.
SEEN = """(selector) => {
  const ringed = document.querySelector(".sv-ringed");
  if (!ringed || !ringed.matches(selector)) return "not ringed";
  const box = ringed.getBoundingClientRect();
  const card = document.querySelector(".sv-lesson").getBoundingClientRect();
  if (box.top < card.bottom - 1 && box.bottom > card.top + 1) return "below the card";
  return box.top < innerHeight - 20 ? "seen" : "outside the window";
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app with its shipped recorded runs, which the lessons use."""
    server = Server(tmp_path_factory.mktemp("lessons"))
    yield server.address
    server.end(signal.SIGTERM)


@pytest.fixture(params=[(1280, 800), (390, 844)], ids=["wide", "narrow"])
def page(browser, request):
    width, height = request.param
    with browser.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce"
    ) as context:
        page = context.new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: said.type == "error" and problems.append(said.text))
        yield page
        assert problems == []


@pytest.mark.parametrize("name", NAMES)
def test_lesson_can_be_completed_by_keyboard(page, address, name):
    page.goto(f"{address}?lesson={name}")
    steps = lesson(name)["steps"]
    for number, step in enumerate(steps):
        page.wait_for_function(f"({SHOWN})()?.at === {number}")
        expect(page.locator(".sv-lesson h2")).to_have_text(step["title"])
        expect(page.get_by_role("tab", name=step["tab"], exact=True)).to_have_attribute(
            "aria-selected", "true"
        )
        if place := step.get("place"):
            wanted = [place["trace"], place["step"]]
            player = "window.specviz.players['sv-step']"
            page.wait_for_function(
                f"(at) => {player}.run?.id === at[0] && {player}.frame?.step.id === at[1]",
                arg=wanted,
            )
        if step["look"]:
            page.wait_for_function(f"(at) => ({SEEN})(at) === 'seen'", arg=step["look"])
        if predict := step.get("predict"):
            right = page.locator(".sv-lesson-option").nth(predict["answer"])
            for _ in range(8):
                if not right.evaluate("(option) => option === document.activeElement"):
                    page.keyboard.press("Shift+Tab")
            expect(right).to_be_focused()
            page.keyboard.press("Enter")
            expect(page.locator(".sv-lesson-why")).to_contain_text("Right.")
        expect(page.locator("[data-lesson=next]")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator(".sv-lesson")).to_be_hidden()
    expect(page.get_by_role("tab", name="Learn")).to_have_attribute("aria-selected", "true")
    expect(page.locator(f".sv-learn-one[data-lesson='{name}']")).to_contain_text("read")


def test_unfinished_lesson_resumes_where_it_was_left(page, address):
    page.goto(address)
    page.get_by_role("tab", name="Learn").click()
    page.locator(".sv-learn-one").nth(4).click()
    page.locator("[data-lesson=next]").click()
    page.wait_for_function(f"({SHOWN})()?.at === 1")
    assert "lesson=05-accept-with-p-over-q.2" in page.url
    page.reload()
    page.wait_for_function(f"({SHOWN})()?.at === 1")
    page.keyboard.press("Escape")
    expect(page.locator(".sv-lesson")).to_be_hidden()
    assert "lesson=" not in page.url
    page.get_by_role("tab", name="Learn").click()
    entry = page.locator(".sv-learn-one").nth(4)
    expect(entry).to_contain_text("begun: step 2")
    entry.click()
    page.wait_for_function(f"({SHOWN})()?.at === 1")


def test_wrong_prediction_shows_the_chosen_and_the_correct_answer(page, address):
    page.goto(f"{address}?lesson=05-accept-with-p-over-q.3")
    page.wait_for_function(f"({SHOWN})()?.at === 2")
    page.locator(".sv-lesson-option").first.click()
    expect(page.locator(".sv-lesson-why")).to_contain_text("Not this time.")
    expect(page.locator(".sv-lesson-option.sv-wrong")).to_have_count(1)
    expect(page.locator(".sv-lesson-option.sv-right")).to_have_count(1)
    expect(page.locator(".sv-verdict")).to_contain_text("Rejected")


def test_link_to_an_unknown_lesson_shows_an_error(page, address):
    page.goto(f"{address}?lesson=none.1")
    expect(page.locator(".sv-lesson [role=alert]")).to_have_text("There is no lesson of this name.")
    page.locator(".sv-lesson").get_by_role("button", name="Close").click()
    expect(page.locator(".sv-lesson")).to_be_hidden()


def test_article_shows_the_sentence_of_each_embedded_step(page, address):
    page.goto(f"{address}gradio_api/sv/article")
    frames = page.locator("iframe")
    for index in range(frames.count()):
        frames.nth(index).scroll_into_view_if_needed()
        inside = frames.nth(index).content_frame
        expect(inside.locator(".sv-verdict")).not_to_be_empty()
        page.wait_for_function(
            """(index) => {
              const frame = document.querySelectorAll("iframe")[index];
              const inside = frame.contentDocument.documentElement;
              return Math.abs(inside.scrollHeight - frame.clientHeight) <= 2;
            }""",
            arg=index,
        )
    decision = page.locator("#a-guess-with-two-probabilities iframe").content_frame
    expect(decision.locator(".sv-caption")).to_be_visible()
    expect(decision.locator(".sv-say")).to_contain_text("rejected")
    expect(decision.locator(".sv-tree-part")).to_be_hidden()
    expect(decision.locator(".sv-dock")).to_be_hidden()
    q = page.locator("#a-guess-with-two-probabilities .n-q").first
    q.hover()
    expect(decision.locator(".sv-n-q.sv-lit").first).to_be_attached()
