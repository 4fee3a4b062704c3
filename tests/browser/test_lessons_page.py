"""Lessons and the tour in a browser: from first to last step by keyboard, at two widths."""

from __future__ import annotations

import signal
from io import BytesIO

import pytest
from app_server import Server
from PIL import Image
from playwright.sync_api import expect
from test_pictures import caption, image_of, saved

from specviz.texts.languages import languages
from specviz.ui.learn.lessons import lesson, titles
from specviz.ui.step import recorded
from specviz.ui.step.tour import STOPS

NAMES = [title["id"] for title in titles()]
WALKS = [  # the lessons in English, and those that are translated
    (title["lang"], title["id"])
    for code in languages()
    for title in titles(code)
    if title["lang"] == code
]
SHOWN = "() => window.specviz?.lesson?.shown"
# Whether the highlighted element begins inside the window and is not hidden by the lesson's card.
SEEN = """(selector) => {
  const ringed = document.querySelector(".sv-ringed");
  if (!ringed || !ringed.matches(selector)) return "not ringed";
  const box = ringed.getBoundingClientRect();
  const card = document.querySelector(".sv-lesson").getBoundingClientRect();
  const { outlineOffset, outlineWidth } = getComputedStyle(ringed);
  const around = parseFloat(outlineOffset) + parseFloat(outlineWidth);
  if (box.top - around < card.bottom && box.bottom > card.top) return "below the card";
  const bars = [".sv-time", ".sv-dock"].map((name) => document.querySelector(name))
    .filter((bar) => bar.offsetParent && !ringed.closest(".sv-time, .sv-dock"))
    .filter((bar) => getComputedStyle(bar).position === "sticky")
    .map((bar) => bar.getBoundingClientRect().top);
  const end = Math.min(innerHeight, ...bars);
  const whole = box.height + 2 * around <= end - card.bottom;
  if (whole && box.bottom + around > end + 0.5) return "its ring is cut at its end";
  return box.top < end - 20 ? "seen" : "outside the window";
}"""
# What a screen reader cannot announce in the highlighted element: pictures or parts without a name.
UNNAMED = """(selector) => {
  const ringed = document.querySelector(selector);
  const text = (id) => document.getElementById(id)?.textContent.trim();
  const named = (element) => Boolean(
    element.getAttribute("aria-label")?.trim()
    || element.getAttribute("aria-labelledby")?.split(" ").every(text));
  const lineage = (node) => (node === ringed ? [node] : [node, ...lineage(node.parentElement)]);
  const pictures = [...ringed.querySelectorAll("svg, canvas, .sv-bars:not(:empty), [role=img]")];
  const wrong = pictures
    .filter((each) => each.checkVisibility() && !each.closest("[aria-hidden=true]"))
    .filter((each) => !lineage(each).slice(0, -1).some(named))
    .map((each) => each.outerHTML.slice(0, 120));
  const around = ringed.closest("[aria-label], [aria-labelledby], body");
  const inside = [...ringed.querySelectorAll("section, [role=table], [role=group]")];
  if (![around, ...inside].some(named)) wrong.push(selector + " has no name");
  return wrong;
}"""
# Records the animations of the page, which still run.
MOVES = """
window.moves = [];
const { animate } = Element.prototype;
Element.prototype.animate = function (...given) {
  if (this.closest(".sv, .sv-part, .sv-lesson")) window.moves.push(this.outerHTML.slice(0, 80));
  return animate.apply(this, given);
};
"""
# The parts of Step that the card covers, at widths at which Step makes room for the card.
COVERED = """() => {
  const card = document.querySelector(".sv-lesson").getBoundingClientRect();
  return [".sv-text", ".sv-caption", ".sv-tree-part", ".sv-panel"].filter((name) => {
    const box = document.querySelector(name).getBoundingClientRect();
    return box.height && box.top < card.bottom - 1;
  });
}"""
HIDDEN = {
    "both": ".sv-ms-both",
    "caption": ".sv-say",
    "coin": ".sv-cr-coin",
    "evidence": ".sv-why",
    "expected": ".sv-sand-found",
    "gallery": ".sv-wild-list .sv-wild-badge",
    "speed": ".sv-time",
}
WIDE = 1280


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
        page.add_init_script(MOVES)
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: said.type == "error" and problems.append(said.text))
        yield page
        assert problems == []


def open_lesson(page, address, name, number):
    """Open a step of a lesson, and wait until the page has arrived at it."""
    page.goto(f"{address}?lesson={name}.{number}")
    page.wait_for_function(f"({SHOWN})()?.at === {number - 1}")
    page.wait_for_function(
        "!document.querySelector('.sv-lesson').textContent.includes('Opening this step')"
    )


def check_step(page, step, lang):
    """Check what a step has opened, and that its panel hides nothing of it."""
    expect(page.locator(".sv-lesson h2")).to_have_text(step["title"])
    expect(page.locator(".sv-lesson h2")).to_have_attribute("lang", lang)
    tab = page.get_by_role("tab", name=step["tab"], exact=True)
    expect(tab).to_have_attribute("aria-selected", "true")
    if place := step.get("place"):
        wanted = [place["trace"], place["step"]]
        player = "window.specviz.players['sv-step']"
        page.wait_for_function(
            f"(at) => {player}.run?.id === at[0] && {player}.frame?.step.id === at[1]",
            arg=wanted,
        )
    if step["look"]:
        page.wait_for_function(f"(at) => ({SEEN})(at) === 'seen'", arg=step["look"])
        assert page.evaluate(UNNAMED, step["look"]) == []
    if step["tab"] == "Step" and page.viewport_size["width"] == WIDE:
        assert page.evaluate(COVERED) == []


def answer_by_keyboard(page, step, right_word):
    """Answer a step's question, after which nothing of the page is hidden."""
    for part in step.get("hides", []):
        expect(page.locator(HIDDEN[part]).first).to_be_hidden()
    if "predict" not in step:
        return
    right = page.locator(".sv-lesson-option").nth(step["predict"]["answer"])
    for _ in range(8):
        if not right.evaluate("(option) => option === document.activeElement"):
            page.keyboard.press("Shift+Tab")
    expect(right).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".sv-lesson-why")).to_contain_text(right_word)
    for part in step.get("hides", []):
        expect(page.locator(HIDDEN[part]).first).to_be_visible()


@pytest.mark.parametrize(("lang", "name"), WALKS)
def test_lesson_can_be_completed_by_keyboard(page, address, lang, name):
    page.goto(f"{address}?lesson={name}&lang={lang}")
    words = languages()[lang]["words"]
    steps = lesson(name, lang)["steps"]
    for number, step in enumerate(steps):
        page.wait_for_function(f"({SHOWN})()?.at === {number}")
        check_step(page, step, lang)
        answer_by_keyboard(page, step, words["right"])
        expect(page.locator("[data-lesson=next]")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator(".sv-lesson")).to_be_hidden()
    expect(page.get_by_role("tab", name="Learn")).to_have_attribute("aria-selected", "true")
    expect(page.locator(f".sv-learn-one[data-lesson='{name}']")).to_contain_text(words["read"])
    following = page.locator(".sv-learn-next")
    if name != NAMES[-1]:
        expect(following).to_have_attribute("data-lesson", NAMES[NAMES.index(name) + 1])
        expect(following).to_contain_text(words["follows"] + " ·")
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate("window.moves") == []


@pytest.mark.parametrize("page", [(1280, 800)], ids=["wide"], indirect=True)
@pytest.mark.parametrize("late", ["**/traces/01-chain", "**/step/player.js*"])
def test_late_first_run_does_not_replace_the_run_of_a_lesson(page, address, late):
    delayed = []

    def delay(route):
        delayed.append(route.request.url)
        page.wait_for_timeout(6000)
        route.continue_()

    page.route(late, delay)
    open_lesson(page, address, "12-blocks", 1)
    shown = "window.specviz.players?.['sv-step']?.run?.id === '19-dflash'"
    page.wait_for_function(shown)
    page.wait_for_timeout(6000)  # a replaced run would be seen by now
    assert delayed
    assert page.evaluate(shown)


def tab_to(page, selector):
    for _ in range(12):
        if page.evaluate("(at) => document.activeElement.matches(at)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


@pytest.mark.parametrize("lang", [code for code in languages() if code != "en"])
def test_tour_can_be_taken_by_keyboard_in_another_language(page, address, lang):
    language = languages()[lang]
    page.goto(f"{address}?lang={lang}")
    page.wait_for_function("window.specviz?.players?.['sv-step']?.frame")
    page.keyboard.press("?")
    tab_to(page, "[data-help=tour]")
    page.keyboard.press("Enter")
    for number, stop in enumerate(STOPS, 1):
        text = language["tour"][stop["place"]]
        expect(page.locator(".sv-tour-title")).to_have_text(text["title"])
        expect(page.locator(".sv-tour-say")).to_have_text(text["say"])
        at = language["words"]["at"].format(at=number, all=len(STOPS))
        expect(page.locator(".sv-tour-at")).to_have_text(at)
        expect(page.locator(".sv-tour .sv-language-note")).to_have_text(language["note"])
        expect(page.locator(".sv-tour")).to_have_attribute("lang", lang)
        expect(page.locator("[data-tour=next]")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator(".sv-tour")).to_be_hidden()


def test_language_can_be_switched_in_a_lesson_and_is_kept_for_the_visit(page, address):
    english, german = (lesson(NAMES[4], code)["steps"] for code in ("en", "de"))
    page.goto(f"{address}?lesson={NAMES[4]}.3")
    page.wait_for_function(f"({SHOWN})()?.at === 2")
    right = page.locator(".sv-lesson-option").nth(english[2]["predict"]["answer"])
    right.click()
    switch = page.locator(".sv-lesson .sv-languages")
    switch.get_by_role("button", name="Deutsch").press("Enter")
    expect(page.locator(".sv-lesson h2")).to_have_text(german[2]["title"])
    expect(page.locator(".sv-lesson-why")).to_contain_text("Richtig.")
    expect(switch.get_by_role("button", name="Deutsch")).to_be_focused()
    assert "lang=de" in page.url
    page.goto(f"{address}?lesson={NAMES[5]}")
    page.wait_for_function(SHOWN)
    expect(page.locator(".sv-lesson-name")).to_have_text(lesson(NAMES[5], "de")["title"])
    switch.get_by_role("button", name="English").click()
    expect(page.locator(".sv-lesson-name")).to_have_text(lesson(NAMES[5])["title"])
    assert "lang=" not in page.url


def test_lesson_without_a_translation_says_so_and_is_in_english(page, address):
    words = languages()["de"]["words"]
    page.goto(f"{address}?lesson={NAMES[6]}&lang=de")
    page.wait_for_function(SHOWN)
    head = page.locator(".sv-lesson-head")
    expect(head).to_contain_text(words["untranslated_lesson"])
    expect(head.locator(".sv-languages")).to_have_count(0)
    expect(page.locator(".sv-lesson h2")).to_have_attribute("lang", "en")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Learn").click()
    entries = page.locator(".sv-learn-one")
    expect(entries.nth(6)).to_contain_text(words["untranslated"])
    expect(entries.nth(5)).not_to_contain_text(words["untranslated"])
    expect(page.locator(".sv-learn .sv-languages")).to_contain_text(languages()["de"]["note"])
    page.locator(".sv-learn .sv-languages").get_by_role("button", name="English").click()
    expect(entries.nth(6)).not_to_contain_text(words["untranslated"])
    expect(page.locator(".sv-learn .sv-languages")).to_contain_text(
        languages()["de"]["english_note"]
    )


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


def test_pipeline_of_a_lesson_can_be_saved(page, address):
    open_lesson(page, address, "02-processors-guess-too", 4)
    expect(page.locator(".sv-pipe-now").first).to_be_visible()
    file, svg = saved(page, "pipeline", "SVG")
    title, *facts = caption(svg)
    assert file.startswith("specviz-round-")
    assert title == "Pipeline"
    assert "drafts for" in " ".join(facts)
    assert "flush or commit" in svg.decode()
    assert image_of(page, "pipeline").width > 300


def test_figure_of_the_article_can_be_saved_as_one_picture(page, address):
    page.goto(f"{address}gradio_api/sv/article")
    frame = page.locator("#a-guess-with-two-probabilities iframe")
    frame.scroll_into_view_if_needed()
    inside = frame.content_frame
    with page.expect_download() as download:
        inside.get_by_role("button", name="Save step of a run as PNG").click()
    file = download.value
    assert file.suggested_filename == "specviz-run-round-1-judge-5-step-of-a-run.png"
    assert Image.open(BytesIO(file.path().read_bytes())).width > 600
    with page.expect_download() as download:
        inside.get_by_role("button", name="Save step of a run as SVG").click()
    svg = download.value.path().read_text()
    assert inside.locator(".sv-say").inner_text().split()[0] in svg
    assert "coin u" in svg
    assert "Draft tree" not in svg  # this figure does not show it


def test_lesson_opens_the_gallery_case_the_tree_or_the_section_it_discusses(page, address):
    open_lesson(page, address, "06-the-residual", 5)
    page.locator(".sv-lesson-option").first.click()
    expect(page.locator(".sv-wild-one h3")).to_contain_text("Resampling from p itself")
    open_lesson(page, address, "03-von-neumann", 2)
    expect(page.locator(".sv-coins-board .sv-sand-words > span")).to_have_count(5)
    open_lesson(page, address, "12-blocks", 5)
    page.locator(".sv-lesson-option").first.click()
    expect(page.locator(".sv-wild-one h3")).to_contain_text("A draft without its improbable guess")
    open_lesson(page, address, "07-several-guesses", 2)
    expect(page.locator(".sv-grow-matrix")).to_be_visible()
    open_lesson(page, address, "11-eagle", 3)
    expect(page.locator(".sv-rank-says")).to_contain_text("0.295")
    open_lesson(page, address, "13-when-it-does-not-pay", 4)
    expect(page.locator("#sv-roofline details.sv-fold")).to_have_attribute("open", "")


def press_next(page):
    """Go to the next step; return how often Step's run was drawn until the step was open."""
    return page.evaluate(
        """async () => {
          let drawn = 0;
          const count = () => (drawn += 1);
          window.addEventListener("sv-moment", count);
          document.querySelector("[data-lesson=next]").click();
          const opening = () => document.querySelector(".sv-lesson-head [role=status]").textContent;
          for (let tries = 0; opening() && tries < 500; tries += 1)
            await new Promise((done) => setTimeout(done, 20));
          await new Promise((done) => setTimeout(done, 300)); // a second drawing would come by now
          window.removeEventListener("sv-moment", count);
          return drawn;
        }"""
    )


def test_lesson_step_is_drawn_once_with_its_run_fetched_before(page, address):
    traces = []
    page.on("response", lambda got: "/traces/" in got.url and traces.append(got.url.split("/")[-1]))
    open_lesson(page, address, "11-eagle", 1)
    steps = lesson("11-eagle")["steps"]
    runs = {step["place"]["trace"] for step in steps if "place" in step}
    for _ in range(200):
        if not runs <= set(traces):
            page.wait_for_timeout(50)
    assert runs <= set(traces)
    modules = "() => [...document.querySelectorAll('link[rel=modulepreload]')].map((l) => l.href)"
    assert any("/trees/ranking/" in address for address in page.evaluate(modules))
    page.wait_for_timeout(300)  # the last run's text has arrived
    page.route("**/traces/*", lambda route: route.abort())
    tabs = [step["tab"] for step in steps]
    assert [press_next(page) for _ in steps[1:]] == [int(tab == "Step") for tab in tabs[1:]]
    assert page.evaluate("window.specviz.players['sv-step'].run.id") == "05-eagle3"
    # The form has been filled in for it, too.
    page.keyboard.press("Escape")
    expect(page.locator("#sv-recorded input")).to_have_value(recorded.title("05-eagle3"))


@pytest.mark.parametrize("page", [(1280, 800)], ids=["wide"], indirect=True)
def test_old_run_is_dimmed_while_another_one_is_opened(page, address):
    held = []

    def hold(route):
        held.append(route)

    page.route("**/traces/21-ngram-dialogue", hold)
    open_lesson(page, address, "08-drafting-for-free", 2)
    page.locator("[data-lesson=next]").click()
    expect(page.locator("body.sv-lesson-waits")).to_have_count(1)
    expect(page.locator(".sv-lesson-head [role=status]")).to_be_visible()
    assert float(page.locator(".sv").evaluate("(sv) => getComputedStyle(sv).opacity")) < 0.5
    for route in held:
        route.continue_()
    expect(page.locator("body.sv-lesson-waits")).to_have_count(0)
    assert page.locator(".sv").evaluate("(sv) => getComputedStyle(sv).opacity") == "1"
    assert page.evaluate("window.specviz.players['sv-step'].run.id") == "21-ngram-dialogue"


@pytest.mark.parametrize("page", [(1280, 800)], ids=["wide"], indirect=True)
@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("08-drafting-for-free", 4, "1 of 2 times"),
        ("10-heads", 1, "hidden state read by all heads"),
        ("12-blocks", 4, "predicted"),
    ],
)
def test_lesson_shows_the_evidence_that_it_mentions(page, address, name, number, words):
    open_lesson(page, address, name, number)
    found = page.locator(".sv-why").get_by_text(words, exact=False).last
    expect(found).to_be_in_viewport(ratio=0.9)
    inside = "(each) => each.getBoundingClientRect().bottom <= %s.getBoundingClientRect().bottom"
    assert found.evaluate(inside % "document.querySelector('.sv-panel')")


def test_form_is_hidden_in_a_lesson_until_a_step_needs_it(page, address):
    open_lesson(page, address, "04-one-pass-checks-all", 4)
    expect(page.locator("[data-lesson=next]")).to_be_focused()
    expect(page.locator("#sv-run")).to_be_hidden()
    page.locator("[data-lesson=next]").click()
    expect(page.locator("#sv-go")).to_be_visible()
    page.get_by_role("button", name="Back", exact=True).last.click()
    page.keyboard.press("Escape")
    expect(page.locator("#sv-go")).to_be_visible()


def test_sentence_hidden_by_a_lesson_step_is_shown_at_the_next_step(page, address):
    open_lesson(page, address, "05-accept-with-p-over-q", 2)
    expect(page.locator(".sv-say")).to_be_hidden()
    page.evaluate("window.specviz.players['sv-step'].next()")
    expect(page.locator(".sv-say")).to_be_visible()
    page.evaluate("window.specviz.players['sv-step'].back()")
    expect(page.locator(".sv-say")).to_be_hidden()


def test_folded_lesson_panel_shows_only_its_header(page, address):
    open_lesson(page, address, "05-accept-with-p-over-q", 3)
    expect(page.locator(".sv-lesson-option")).to_have_count(3)
    page.get_by_role("button", name="Fold").click()
    expect(page.locator(".sv-lesson-body")).to_be_hidden()
    assert page.locator(".sv-lesson").bounding_box()["height"] < 60
    page.get_by_role("button", name="Show the text").click()
    expect(page.locator(".sv-lesson-option").first).to_be_visible()


def test_explanation_is_visible_after_an_answer(page, address):
    page.set_viewport_size({"width": page.viewport_size["width"], "height": 560})
    open_lesson(page, address, "01-one-token-per-pass", 2)
    page.locator(".sv-lesson-option").nth(1).click()
    why = page.locator(".sv-lesson-why b")
    expect(why).to_be_in_viewport()
    card = page.locator(".sv-lesson").bounding_box()
    box = why.bounding_box()
    assert card["y"] <= box["y"] <= card["y"] + card["height"] - box["height"]
    if page.viewport_size["width"] < WIDE:
        assert box["y"] < card["y"] + card["height"] / 3


def test_notes_window_shows_the_notes_of_a_lesson_and_leads_through_it(page, address):
    page.goto(f"{address}?lesson=06-the-residual.2&present=1")
    page.wait_for_function(f"({SHOWN})()?.at === 1")
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    notes.wait_for_selector(".title")
    expect(notes.locator(".title")).to_have_text("What is missing")
    expect(notes.locator(".notes")).to_contain_text("what the residual adds")
    expect(notes.locator(".notes")).to_contain_text("A mistake to expect:")
    expect(notes.locator(".following")).to_have_text("The replacement")
    expect(notes.get_by_text("0.2184 as well")).to_be_visible()
    notes.get_by_role("button", name="Next in the lesson").click()
    expect(page.locator(".sv-lesson h2")).to_have_text("The replacement")
    expect(notes.locator(".title")).to_have_text("The replacement")
    notes.get_by_role("button", name="Back in the lesson").click()
    expect(page.locator(".sv-lesson h2")).to_have_text("What is missing")
    page.reload()
    page.wait_for_function(f"({SHOWN})()?.at === 1")
    notes.get_by_role("button", name="Next in the lesson").click()
    expect(page.locator(".sv-lesson h2")).to_have_text("The replacement")
    notes.close()
