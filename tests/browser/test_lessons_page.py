"""Lessons, the tour and the article in a browser: from first to last step by keyboard."""

from __future__ import annotations

import re
import signal
from io import BytesIO
from itertools import product

import pytest
from app_server import Server
from PIL import Image
from playwright.sync_api import expect
from test_access import AXE, SCRIPT, WCAG
from test_pictures import check_picture

from specviz.texts.languages import languages
from specviz.ui.learn.lessons import lesson, titles
from specviz.ui.learn.plans import plans
from specviz.ui.step import recorded
from specviz.ui.step.tour import STOPS

NAMES = [title["id"] for title in titles()]
ONE_PASS, ACCEPT = "02-one-pass-checks-all", "03-accept-with-p-over-q"
WALKS = [  # the lessons in English, and those that are translated
    (title["lang"], title["id"])
    for code in languages()
    for title in titles(code)
    if title["lang"] == code
]
SHOWN = "() => window.specviz?.['sv-lesson']?.shown"
# Whether the highlighted element begins inside the window and is not hidden by the lesson's card.
SEEN = """(selector) => {
  const ringed = document.querySelector(".sv-ringed");
  if (!ringed || !ringed.matches(selector)) return "not ringed";
  const box = ringed.getBoundingClientRect();
  const card = document.querySelector(".sv-lesson").getBoundingClientRect();
  const { outlineOffset, outlineWidth } = getComputedStyle(ringed);
  const around = parseFloat(outlineOffset) + parseFloat(outlineWidth);
  if (box.top - around < card.bottom && box.bottom > card.top) return "below the card";
  const bars = [".sv-time", ".sv-dock", ".sv-buttons"].map((name) => document.querySelector(name))
    .filter((bar) => bar.offsetParent && !ringed.closest(".sv-time, .sv-dock"))
    .filter((bar) => getComputedStyle(bar).position === "sticky")
    .map((bar) => bar.getBoundingClientRect().top);
  const end = Math.min(innerHeight, ...bars);
  const whole = box.height + 2 * around <= end - card.bottom;
  if (whole && box.bottom + around > end + 0.5) return "its ring is cut at its end";
  return box.top < end - 20 ? "seen" : "outside the window";
}"""
# The parts of Step that the card covers, at widths at which Step makes room for the card.
COVERED = """() => [".sv-text", ".sv-caption", ".sv-tree-part", ".sv-panel"].filter((name) => {
  const { height, top } = document.querySelector(name).getBoundingClientRect();
  return height && top < document.querySelector(".sv-lesson").getBoundingClientRect().bottom - 1;
})"""
HIDDEN = {
    "both": ".sv-picture-keys",
    "caption": ".sv-say",
    "coin": ".sv-toss",
    "evidence": ".sv-why",
    "expected": ".sv-sand-found",
    "gallery": "#sv-gallery-rules",
    "speed": ".sv-time",
}
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
# By lesson and number of a step, what the page shows there, with its words.
OPENED = {
    ("05-von-neumann", 2): ("#sv-coins-darts .main-svg >> nth=0", ""),
    ("04-the-residual", 7): ("#sv-gallery-rule h3", "Resampling from p itself"),
    ("07-several-guesses", 2): ("#sv-grow-mask .main-svg", ""),
    ("08-drafting-for-free", 4): (".sv-why", "1 of 2 times"),
    ("10-heads", 1): (".sv-why", "hidden state read by all heads"),
    ("11-eagle", 5): ("#sv-part-rounding", "0.295"),
    ("12-blocks", 4): (".sv-why", "predicted"),
    ("12-blocks", 5): ("#sv-part-blocks .sv-instrument-fold > button.open", ""),
    ("12-blocks", 6): ("#sv-gallery-rule h3", "A draft without its improbable guess"),
    ("13-when-it-does-not-pay", 5): ("#sv-part-roofline .sv-instrument-fold > button.open", ""),
}
PLAYER = "window.specviz['sv-step']"
RUN = "window.specviz?.['sv-step']?.run?.id"
FORGET = "localStorage.clear(); sessionStorage.clear()"
FRAMES = """async () => {
  for (let frames = 0; frames < 6; frames += 1)
    await new Promise((done) => requestAnimationFrame(done));
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app with its shipped recorded runs, which the lessons use."""
    server = Server(tmp_path_factory.mktemp("lessons"))
    yield server.address
    server.end(signal.SIGTERM)


@pytest.fixture
def page(windows, address):
    """A page for a reader with reduced motion; errors in its console fail the test."""
    with windows.visitor(address) as reader:
        reader.page.set_viewport_size(WIDE)
        yield reader.page
    assert not reader.errors


def wait_for_step(page, number):
    """Wait until this step of the open lesson is shown, counted from 1."""
    page.wait_for_function(f"({SHOWN})()?.at === {number - 1}")
    page.wait_for_function(
        "!document.querySelector('.sv-lesson').textContent.includes('Opening this step')"
    )


def open_lesson(page, address, name, number, more=""):
    page.goto(f"{address}?lesson={name}.{number}{more}")
    wait_for_step(page, number)


def turn_to(page, name, number):
    """Open a step of a lesson in the open page."""
    page.evaluate("([id, at]) => window.specviz['sv-lesson'].open(id, at)", [name, number - 1])
    page.wait_for_function(f"({SHOWN})()?.id === '{name}'")
    wait_for_step(page, number)


def check_step(page, step, lang):
    """Check what a step has opened, and that its panel hides nothing of it."""
    expect(page.locator(".sv-lesson h2")).to_have_text(step["title"])
    expect(page.locator(".sv-lesson h2")).to_have_attribute("lang", lang)
    tab = page.get_by_role("tab", name=step["tab"], exact=True)
    expect(tab).to_have_attribute("aria-selected", "true")
    if place := step.get("place"):
        page.wait_for_function(
            f"(at) => {RUN} === at[0] && {PLAYER}.frame?.step.id === at[1]",
            arg=[place["trace"], place["step"]],
        )
    if step["look"]:
        page.wait_for_function(f"(at) => ({SEEN})(at) === 'seen'", arg=step["look"])
    if step["tab"] == "Step" and page.viewport_size == WIDE:
        assert page.evaluate(COVERED) == [], step["title"]


def answer_by_keyboard(page, step, right_word):
    """Answer a step's question, after which nothing of the page is hidden."""
    for part in step.get("hides", []):
        expect(page.locator(HIDDEN[part]).first).to_be_hidden()
    if "predict" not in step:
        return
    right = page.locator(".sv-lesson-option").nth(step["predict"]["answer"])
    for _ in range(8):
        if right.evaluate("(option) => option === document.activeElement"):
            break
        page.keyboard.press("Shift+Tab")
    expect(right).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".sv-lesson-why")).to_contain_text(right_word)
    for part in step.get("hides", []):
        expect(page.locator(HIDDEN[part]).first).to_be_visible()


def walk(page, name, lang="en"):
    words = languages()[lang]["words"]
    for number, step in enumerate(lesson(name, lang)["steps"], 1):
        page.wait_for_function(f"({SHOWN})()?.at === {number - 1}")
        check_step(page, step, lang)
        answer_by_keyboard(page, step, words["right"])
        if (name, number) in OPENED:
            place, words_there = OPENED[name, number]
            expect(page.locator(place).first).to_contain_text(words_there)
        expect(page.locator("[data-lesson=next]")).to_be_focused()
        if number < len(lesson(name, lang)["steps"]):
            page.keyboard.press("Enter")
    page.get_by_role("button", name=words["done"], exact=True).press("Enter")
    expect(page.locator(".sv-lesson")).to_be_hidden()
    expect(page.get_by_role("tab", name="Learn")).to_have_attribute("aria-selected", "true")
    expect(page.locator(f".sv-learn-one[data-lesson='{name}']")).to_contain_text(words["read"])
    if name != NAMES[-1]:
        following = page.locator(".sv-learn-next")
        expect(following).to_have_attribute("data-lesson", NAMES[NAMES.index(name) + 1])
        expect(following).to_contain_text(words["follows"] + " ·")


def test_every_lesson_can_be_completed_by_keyboard(page, address):
    page.goto(f"{address}?lesson={NAMES[0]}")
    for name in NAMES:
        page.wait_for_function(f"({SHOWN})()?.id === '{name}'")
        walk(page, name)
        if name != NAMES[-1]:
            page.locator(".sv-learn-next").click()


@pytest.mark.nightly
def test_lesson_of_each_language_can_be_completed_at_each_width(page, address):
    for size, (lang, name) in product((WIDE, NARROW), WALKS):
        page.set_viewport_size(size)
        page.goto(f"{address}?lesson={name}&lang={lang}")
        walk(page, name, lang)
        page.evaluate(FORGET)


def test_lesson_in_german_can_be_completed_on_a_phone(page, address):
    page.set_viewport_size(NARROW)
    lang, name = next(each for each in WALKS if each[0] == "de")
    page.goto(f"{address}?lesson={name}&lang={lang}")
    walk(page, name, lang)
    page.evaluate(FORGET)
    for size, share in ((NARROW, 1 / 3), (WIDE, 1)):
        page.set_viewport_size(size | {"height": 560})
        open_lesson(page, address, "01-one-token-per-pass", 2)
        page.locator(".sv-lesson-option").nth(1).click()
        why = page.locator(".sv-lesson-why b")
        expect(why).to_be_in_viewport()
        card, box = (each.bounding_box() for each in (page.locator(".sv-lesson"), why))
        assert card["y"] <= box["y"] <= card["y"] + card["height"] - box["height"], size
        assert box["y"] < card["y"] + card["height"] * share, size
    turn_to(page, "06-processors-guess-too", 4)
    check_picture(page, "pipeline", "drafts for")
    turn_to(page, ACCEPT, 2)
    for move, shown in (("pause()", False), ("next()", True), ("back()", False)):
        page.evaluate(f"{PLAYER}.{move}")
        expect(page.locator(".sv-say")).to_be_visible(visible=shown)  # the sentence of this step


def test_reader_leaves_a_lesson_and_resumes_it(page, address):
    page.goto(f"{address}?lesson=none.1")
    panel = page.locator(".sv-lesson")
    expect(panel.get_by_role("alert")).to_have_text("There is no lesson of this name.")
    panel.get_by_role("button", name="Close").click()
    page.get_by_role("tab", name="Learn").click()
    entry = page.locator(f".sv-learn-one[data-lesson='{ONE_PASS}']")
    entry.click()
    following = page.locator("[data-lesson=next]")
    for number in (2, 3, 4):
        following.click()
        wait_for_step(page, number)
    assert f"lesson={ONE_PASS}.4" in page.url
    page.reload()
    wait_for_step(page, 4)
    expect(following).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#sv-go")).to_be_visible()
    assert "lesson=" not in page.url
    page.get_by_role("tab", name="Learn").click()
    expect(entry).to_contain_text("begun: step 4")
    entry.click()
    wait_for_step(page, 4)
    expect(page.locator("#sv-run")).to_be_hidden()
    page.get_by_role("button", name="Fold").click()
    expect(page.locator(".sv-lesson-body")).to_be_hidden()
    assert panel.bounding_box()["height"] < 60, "a folded panel shows only its header"
    page.get_by_role("button", name="Show the text").click()
    expect(page.locator(".sv-lesson-body")).to_be_visible()
    following.click()
    expect(page.locator("#sv-go")).to_be_visible()  # this step needs the form


def test_lesson_has_one_way_on_and_a_clicker_turns_it(page, address):
    open_lesson(page, address, NAMES[0], 2, "&present=1")
    buttons = page.locator("#sv-step .sv-buttons")
    for key, number in (("PageDown", 3), ("PageUp", 2)):
        page.keyboard.press(key)
        wait_for_step(page, number)
        expect(buttons).to_be_hidden()
    expect(page.locator(".sv-lesson-why")).to_have_count(0)
    assert page.evaluate(f"{PLAYER}.frame.step.id") == "propose-5", "the run stays"
    turn_to(page, "06-processors-guess-too", 5)
    expect(buttons).to_be_visible()
    turn_to(page, ACCEPT, 5)
    expect(buttons).to_be_hidden()
    press(page, page.locator("#sv-step .sv-toss [role=slider]"), "Home")
    page.get_by_role("button", name="Next: what really happened").click()
    expect(buttons).to_be_hidden()
    page.get_by_role("button", name="Leave the lesson").click()
    expect(buttons).to_be_visible()


def test_last_step_leads_to_the_next_lesson_in_english_if_a_link_has_no_language(page, address):
    steps = len(lesson(NAMES[0])["steps"])
    open_lesson(page, address, NAMES[0], steps, "&lang=constructor")
    following = page.locator("[data-lesson=next]")
    expect(following).to_have_text("Next lesson")
    expect(following).to_have_class(re.compile("sv-lesson-main"))
    following.click()
    wait_for_step(page, 1)
    assert f"lesson={NAMES[1]}.1" in page.url
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Learn").click()
    words = languages()["en"]["words"]
    headings = [words[name] for name in ("start", "drafters", "limits")]
    teachers = "For teachers: classes with these lessons"
    expect(page.locator(".sv-learn h3")).to_have_text([*headings, teachers])
    expect(page.locator(".sv-learn section:first-child .sv-learn-one")).to_have_count(6)
    expect(page.locator(".sv-learn-one")).to_have_count(len(NAMES))
    expect(page.locator(".sv-learn .sv-languages")).to_have_attribute("lang", "en")


def take_the_tour(page, lang):
    language = languages()[lang]
    page.keyboard.press("?")
    page.locator("[data-help=tour]").press("Enter")
    expect(page.locator(".sv-tour")).to_have_attribute("lang", lang)
    for stop in STOPS:
        text = language["tour"][stop["place"]]
        expect(page.locator(".sv-tour-title")).to_have_text(text["title"])
        expect(page.locator(".sv-tour-say")).to_have_text(text["say"])
        expect(page.locator("[data-tour=next]")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator(".sv-tour")).to_be_hidden()


def test_reader_chooses_german_for_lessons_and_tour(page, address):
    german = languages()["de"]
    open_lesson(page, address, ACCEPT, 3)
    page.locator(".sv-lesson-option").first.click()
    why = page.locator(".sv-lesson-why")
    expect(why).to_contain_text("Not this time.")
    for mark in ("wrong", "right"):
        expect(page.locator(f".sv-lesson-option.sv-{mark}")).to_have_count(1)
    expect(page.locator(".sv-verdict")).to_contain_text("Kept")
    button = page.locator(".sv-lesson .sv-languages").get_by_role("button", name="Deutsch")
    button.press("Enter")
    expect(page.locator(".sv-lesson h2")).to_have_text(lesson(ACCEPT, "de")["steps"][2]["title"])
    expect(why).to_contain_text(german["words"]["wrong"])  # the answer is kept
    expect(button).to_be_focused()
    assert "lang=de" in page.url
    page.goto(address)  # the language is kept for the visit
    page.wait_for_function(RUN)
    take_the_tour(page, "de")
    page.get_by_role("tab", name="Learn").click()
    entries = page.locator(".sv-learn-one")
    entries.nth(6).click()
    head = page.locator(".sv-lesson-head")
    expect(head).to_contain_text(german["words"]["untranslated_lesson"])
    expect(page.locator(".sv-lesson h2")).to_have_attribute("lang", "en")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Learn").click()
    expect(entries.nth(6)).to_contain_text(german["words"]["untranslated"])
    translated = page.locator(f".sv-learn-one[data-lesson='{ACCEPT}']")
    expect(translated).not_to_contain_text(german["words"]["untranslated"])
    page.locator(".sv-learn .sv-languages").get_by_role("button", name="English").click()
    expect(entries.nth(6)).not_to_contain_text(german["words"]["untranslated"])


# Opens the steps of a lesson that show Step, and answers their questions. Returns what is covered
# or cut there, by step.
CROWDED = """async ([id, steps]) => {
  const found = {};
  const query = (name) => document.querySelector(name);
  const visible = (each) => each?.checkVisibility({ visibilityProperty: true });
  const until = async (holds) => {
    for (let seconds = 0; !holds(); seconds += 0.02) {
      if (seconds > 60) throw new Error("step does not open");
      await new Promise((done) => setTimeout(done, 20));
    }
    for (let frames = 0; frames < 4; frames += 1)
      await new Promise((done) => requestAnimationFrame(done));
  };
  // The end of an element, or of the box in which it can be scrolled.
  const end = (each) => Math.min(...[each, each.closest(".sv-list, .sv-scrolls, .sv-says-why")]
    .filter(Boolean).map((box) => box.getBoundingClientRect().bottom));
  const check = (name) => {
    const wrong = scrollY ? ["the page scrolls by " + scrollY] : [];
    const card = query(".sv-lesson").getBoundingClientRect().bottom;
    for (const part of [".sv-strip", ".sv-caption", ".sv-tree-part", ".sv-panel"])
      if (visible(query(part)) && query(part).getBoundingClientRect().top < card)
        wrong.push("the lesson covers " + part);
    const bars = [".sv-time", ".sv-dock"].map(query).filter(visible);
    const limit = Math.min(innerHeight, ...bars.map((bar) => bar.getBoundingClientRect().top));
    for (const part of [".sv-strip", ".sv-caption", ".sv-tree svg", ".sv-list", ".sv-pass-columns",
      ".sv-facts", ".sv-chart", ".sv-trial", ".sv-mx", ".sv-draw", ".sv-why"])
      if (visible(query(part)) && end(query(part)) > limit + 1) wrong.push("covered: " + part);
    const [chart, panel] = [query(".sv-chart"), query(".sv-panel")];
    if (visible(chart) && chart.getBoundingClientRect().bottom > end(panel) + 1)
      wrong.push("cut: .sv-chart");
    const words = query(".sv-time.sv-ringed .sv-lanes-sum");
    if (words && words.scrollWidth > words.clientWidth) wrong.push("cut: " + words.textContent);
    if (wrong.length) found[id + " " + name] = wrong;
  };
  for (const { at, answer, then } of steps) {
    const panel = specviz["sv-lesson"];
    panel.open(id, at);
    const isOpen = () => panel.shown?.id === id && panel.shown.at === at;
    await until(() => isOpen() && !query(".sv-lesson-head [role=status]").textContent);
    check(at + 1);
    if (answer === null) continue;
    document.querySelectorAll(".sv-lesson-option")[answer].click();
    const step = () => specviz["sv-step"].frame.step.id;
    await until(() => query(".sv-lesson-why") && (!then || step() === then));
    check(at + 1 + " answered");
  }
  return found;
}"""


# Lessons with much text, or with much to see on Step.
FULL = [name for name in NAMES if name[:2] in ("03", "04", "05", "06", "07", "12")]
LOW = list(product(((1280, 720), (1024, 768)), ("", "&present=1")))


def steps_on_step(name):
    """Return what CROWDED needs of the steps of a lesson that show Step."""
    return [
        {
            "at": at,
            "answer": step.get("predict", {}).get("answer"),
            "then": step.get("predict", {}).get("then", {}).get("step"),
        }
        for at, step in enumerate(lesson(name)["steps"])
        if step["tab"] == "Step"
    ]


@pytest.mark.parametrize(
    "opened",
    [
        {window: FULL[at::3] for at, window in enumerate(LOW[1:])},
        pytest.param(dict.fromkeys(LOW, NAMES), marks=pytest.mark.nightly),
    ],
)
def test_panel_of_a_lesson_covers_nothing_of_step_in_low_windows(page, address, opened):
    found = {}
    for ((width, height), present), names in opened.items():
        page.set_viewport_size({"width": width, "height": height})
        open_lesson(page, address, names[0], 1, present)
        for name in names:
            if wrong := page.evaluate(CROWDED, [name, steps_on_step(name)]):
                found[width, present, name] = wrong
        page.evaluate(FORGET)
    assert found == {}


def test_late_first_run_does_not_replace_the_run_of_a_lesson(page, address):
    held = []
    page.route("**/traces/01-chain", lambda route, _: held.append(route))
    with page.expect_event("requestfinished", lambda got: "/traces/01-chain" in got.url):
        page.goto(f"{address}?lesson=12-blocks.1", wait_until="commit")
        while not held:
            page.evaluate(FRAMES)
        wait_for_step(page, 1)
        page.wait_for_function(f"{RUN} === '19-dflash'")
        for route in held:
            route.continue_()
    page.wait_for_function(f"{RUN} === '19-dflash'")
    page.evaluate(FRAMES)
    assert page.evaluate(RUN) == "19-dflash"
    page.unroute("**/traces/01-chain")


def test_steps_are_drawn_once_with_their_runs_fetched_before(page, address):
    traces = set()
    page.on("requestfinished", lambda got: traces.add(got.url.split("/traces/")[-1]))
    open_lesson(page, address, "11-eagle", 1)
    steps = lesson("11-eagle")["steps"]
    while not {step["place"]["trace"] for step in steps if "place" in step} <= traces:
        page.wait_for_event("requestfinished")
    page.route("**/traces/*", lambda route: route.abort())
    page.evaluate("window.drawn = 0; specviz.store.moment.on(() => (drawn += 1))")
    wanted = 0
    for number, step in enumerate(steps[1:], 2):
        page.locator("[data-lesson=next]").click()
        wait_for_step(page, number)
        page.evaluate(FRAMES)
        wanted += step["tab"] == "Step"
        assert page.evaluate("window.drawn") == wanted, f"step {number} is drawn once"
    page.keyboard.press("Escape")
    expect(page.locator("#sv-recorded input")).to_have_value(recorded.title("05-eagle3"))


FITS = """(index) => {
  const frame = document.querySelectorAll("iframe")[index];
  const inside = frame.contentDocument.documentElement;
  return Math.abs(inside.scrollHeight - frame.clientHeight) <= 2;
}"""


# With contrast: this page has few colours, and its policy allows no picture to be read.
ALL_OF_AXE = AXE.replace("enabled: false", "enabled: true")
SUM = re.compile(r"α = (0\.\d\d) = ([\d. +]+):")


def press(page, place, *keys):
    place.focus()
    for key in keys:
        page.keyboard.press(key)


def numbers(place):
    return [float(text) for text in place.all_inner_texts()]


def bars_change_the_acceptance_and_never_the_output(page):
    bars = page.locator(".bars")
    target, draft = (bars.locator(f"[data-distribution={name}] [role=slider]") for name in "pq")
    output = bars.locator(".sv-sand-out .sv-sand-column b")
    before = bars.locator(".said").inner_text()
    press(page, draft.nth(1), *["PageUp"] * 4)
    after = bars.locator(".said").inner_text()
    assert after != before
    p, q = numbers(target.locator("b")), numbers(draft.locator("b"))
    assert (round(sum(p), 9), round(sum(q), 9)) == (1, 1)
    alpha, terms = SUM.search(after).groups()
    assert [float(term) for term in terms.split(" + ")] == list(map(min, p, q))
    assert float(alpha) == pytest.approx(sum(map(min, p, q)))
    assert numbers(output) == p
    press(page, target.nth(0), "Home")
    assert numbers(output) == numbers(target.locator("b"))
    assert numbers(output)[0] == 0
    press(page, bars.get_by_role("button", name="p (a mistake)"), "Enter")
    expect(bars.locator(".said")).to_contain_text("The output is not p")
    assert numbers(output) != numbers(target.locator("b"))
    bars.get_by_role("button", name="Back to the run").click()
    bars.get_by_role("button", name="the residual").click()
    assert bars.locator(".said").inner_text() == before


def gain_and_mask_work_by_keyboard(page):
    gain = page.locator(".gain")
    alpha, gamma, cost = gain.get_by_role("slider").all()
    press(page, alpha, "Home")
    press(page, cost, "End")
    expect(gain.locator(".said")).to_contain_text("No number of guesses pays")
    press(page, cost, "Home")
    press(page, alpha, "End")
    press(page, gamma, "Home", "ArrowRight", "ArrowRight")
    expect(gain.locator(".said")).to_contain_text("3.00 times the speed of plain decoding")
    expect(gain.locator(".sv-gain-lengths").first.locator("i")).to_have_count(3)
    gain.get_by_role("button").click()
    expect(gain.locator(".said")).to_contain_text("The run itself was measured at")
    mask = page.locator(".mask")
    press(page, mask.get_by_role("button").first, "Enter")
    expect(mask.locator(".chosen .reads")).to_have_count(2)
    expect(mask.locator(".said")).to_contain_text("reads the text, not the 5 guesses after it")


def it_is_accessible_and_fits_wide_and_narrow_windows(page):
    page.evaluate(SCRIPT)
    for width, theme in ((1280, "light"), (1024, "dark"), (390, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        contents = page.locator("nav a").first
        expect(contents).to_be_visible(visible=width == 1280)
        assert page.evaluate(ALL_OF_AXE, [WCAG, "html"]) == [], (width, theme)
    small = page.locator("main :is(button, [role=slider], input):visible, nav summary")
    boxes = [place.bounding_box() for place in small.all()]
    assert [box for box in boxes if min(box["width"], box["height"]) < 44] == []


def test_article_shows_each_step_in_a_frame_and_its_figures_work_by_keyboard(page, address):
    page.goto(f"{address}gradio_api/sv/article")
    frames = page.locator("iframe")
    for index in range(frames.count()):
        frames.nth(index).scroll_into_view_if_needed()
        expect(frames.nth(index).content_frame.locator(".sv-verdict")).not_to_be_empty()
        page.wait_for_function(FITS, arg=index)
    decision = page.locator("#a-guess-with-two-probabilities iframe").content_frame
    expect(decision.locator(".sv-caption")).to_be_visible()
    expect(decision.locator(".sv-say")).to_contain_text("rejected")
    expect(decision.locator(".sv-tree-part")).to_be_hidden()
    expect(decision.locator(".sv-dock")).to_be_hidden()
    page.locator("#a-guess-with-two-probabilities .n-q").first.hover()
    expect(decision.locator(".sv-n-q.sv-lit").first).to_be_attached()
    with page.expect_download() as download:
        decision.get_by_role("button", name="Save step of a run as PNG").click()
    file = download.value
    assert file.suggested_filename == "specviz-run-round-1-judge-5-step-of-a-run.png"
    assert Image.open(BytesIO(file.path().read_bytes())).width > 600
    frames.evaluate_all("frames => frames.forEach((frame) => frame.remove())")
    bars_change_the_acceptance_and_never_the_output(page)
    gain_and_mask_work_by_keyboard(page)
    it_is_accessible_and_fits_wide_and_narrow_windows(page)


def test_notes_window_shows_the_notes_of_a_lesson_and_leads_through_it(page, address):
    page.goto(f"{address}?lesson=06-the-residual.2&present=1")
    wait_for_step(page, 2)
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    expect(notes.locator(".title")).to_have_text("What is missing")
    expect(notes.locator(".notes")).to_contain_text("A mistake to expect:")
    expect(notes.locator(".following")).to_have_text("The replacement")
    title = page.locator(".sv-lesson h2")
    for button, shown in (("Next", "The replacement"), ("Back", "What is missing")):
        notes.get_by_role("button", name=f"{button} in the lesson").click()
        expect(title).to_have_text(shown)
        expect(notes.locator(".title")).to_have_text(shown)
    page.reload()
    wait_for_step(page, 2)
    for key, shown in (("PageDown", "The replacement"), ("PageUp", "What is missing")):
        notes.keyboard.press(key)
        expect(title).to_have_text(shown)
    notes.close()


def test_plan_opens_by_link_leads_through_its_parts_and_survives_a_reload(page, address):
    page.goto(f"{address}?plan=45.3")
    bar = page.get_by_role("navigation", name="Plan of the class")
    current = bar.locator("[aria-current=step]")
    expect(current).to_contain_text("22–30")
    expect(bar.get_by_role("timer")).to_have_count(0)
    bar.get_by_role("button", name="Start the clock").click()
    expect(bar.get_by_role("timer")).to_contain_text("0:0")
    bar.get_by_role("button", name="End the class").click()
    bar.get_by_role("button", name="End it now").click()
    page.get_by_role("tab", name="Learn").click()
    teachers = page.locator(".sv-learn-plans")
    expect(teachers).to_contain_text("start the server with specviz serve --host 0.0.0.0")
    card = page.get_by_role("article").filter(has_text="45 minutes: ")
    expect(card).to_contain_text("22–30students, in pairs: Lossless?")
    card.get_by_role("button", name="Start the class").click()
    expect(current).to_have_text("0–10 lessons 1 and 2")
    expect(page.locator(".sv-lesson-name")).to_have_text("1 · Why decoding waits")
    bar.get_by_role("button", name="Lesson 2").click()
    expect(page.locator(".sv-lesson-name")).to_have_text("2 · One pass checks a whole guess")
    expect(bar.get_by_role("timer")).to_have_text(re.compile(r"0:\d\d of 45:00"))
    bar.get_by_role("button", name="Next").press("Enter")
    expect(current).to_have_text("10–22 lessons 3 and 4")
    expect(page.locator(".sv-lesson-name")).to_contain_text("3 · ")  # which takes the focus
    bar.get_by_role("button", name="Next").press("Enter")
    expect(current).to_have_text("22–30 students, in pairs: Lossless?")
    page.wait_for_selector("[role=tab][aria-selected=true]:text-is('Lossless?')")
    expect(page.locator(".sv-lesson")).to_be_hidden()
    assert "plan=45.3" in page.url
    page.evaluate("sessionStorage.setItem('sv-plan-begun', '45 ' + (Date.now() - 32 * 60_000))")
    page.reload()
    expect(current).to_have_text("22–30 students, in pairs: Lossless?")
    expect(bar.get_by_role("timer")).to_contain_text("2 min late")
    page.set_viewport_size({"width": 390, "height": 800})
    expect(bar).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    the_bar_has_notes_and_asks_before_the_class_ends(page, bar)
    assert "plan" not in page.url
    page.goto(f"{address}?plan=20.4&lesson=04-the-residual.4")
    page.locator("[data-lesson=next]:text-is('Next part')").click()
    expect(bar.locator("[aria-current=step]")).to_contain_text("18–20")
    bar.get_by_role("button", name="Close the plan").click()
    page.set_viewport_size(WIDE)
    page.get_by_role("tab", name="Learn").click()
    worksheets_of_a_plan_have_each_verdict_of_its_lessons_once(page)


def the_bar_has_notes_and_asks_before_the_class_ends(page, bar):
    page.set_viewport_size(WIDE)
    page.evaluate("() => { window.open = (address) => { window.noted = address; }; }")
    bar.get_by_role("button", name="Speaker notes").click()
    assert page.evaluate("window.noted").endswith("notes")
    for answer in ("Keep it", "End it now"):
        bar.get_by_role("button", name="End the class").click()
        expect(bar).to_be_visible()
        bar.get_by_role("button", name=answer).click()
    expect(bar).to_be_hidden()


def test_phones_see_the_question_of_the_lesson_and_its_answer(page, address):
    page.set_viewport_size({"width": 1024, "height": 768})
    open_lesson(page, address, ACCEPT, 3)
    the_text_is_folded_by_a_second_click_in_the_same_place(page)
    page.locator(".sv-lesson").get_by_role("button", name="Ask the class").click()
    phone = page.context.new_page()
    for name, at in ((ACCEPT, 3), ("05-von-neumann", 2)):  # on two tabs
        turn_to(page, name, at)
        expect(page.locator(".sv-vote")).to_be_in_viewport(ratio=1)
        if at == 3:
            phone.goto(f"{address}vote/{page.locator('.sv-vote-code').inner_text()}")
        a_question_is_answered_on_the_phone(page, phone, name, at)
    phone.close()


def the_text_is_folded_by_a_second_click_in_the_same_place(page):
    for mode in ("Present", "Leave Present"):
        fold = page.locator(".sv-lesson-fold")
        before = fold.bounding_box()
        folded = fold.get_attribute("aria-expanded")
        for _ in range(2):
            page.mouse.click(before["x"] + 4, before["y"] + before["height"] / 2)
        expect(fold).to_have_attribute("aria-expanded", folded)
        expect(page.locator(".sv-vote")).to_have_count(0)
        page.get_by_role("button", name=mode, exact=True).first.click()


def test_task_of_a_class_names_the_address_at_which_phones_open_its_tab(page, address):
    page.goto(f"{address}?plan=45.3")
    task = page.locator(".sv-plan-task")
    expect(task).to_contain_text("at the address on the board: on the tab Lossless?")
    address = address.replace("127.0.0.1", "localhost.")  # not one of the machine's own names
    page.goto(f"{address}?plan=45.3")
    expect(task).to_contain_text(f"at {address}?tab=lossless: on the tab Lossless?")
    page.goto(f"{address}?tab=learn")
    expect(page.locator(".sv-learn-plans")).to_contain_text("Phones join at localhost.:")


def a_question_is_answered_on_the_phone(page, phone, name, at):
    right = lesson(name)["steps"][at - 1]["predict"]["answer"]
    options = page.locator(".sv-lesson-option")
    answers = phone.locator("#answers button")
    expect(answers).to_have_text(options.all_inner_texts())
    asked = page.locator(".sv-lesson-ask > p").first.inner_text()
    if name == ACCEPT:
        asked = asked.replace("?", "“?”", 1)  # a token, which has a frame on the page
    expect(phone.locator("#ask")).to_have_text(asked)
    expect(phone.locator("#decision")).to_be_hidden()
    answers.first.click()
    expect(page.locator("[data-count=all]")).to_have_text("1")
    text = options.nth(right).inner_text()
    page.get_by_role("button", name="Show the answer").click()
    expect(phone.locator("#status")).to_contain_text(f"The answer is “{text}”.")
    expect(phone.locator("#answers .right")).to_have_text(text)
    expect(page.locator(".sv-vote-right")).to_contain_text(text)
    expect(page.locator(".sv-vote")).to_be_in_viewport(ratio=1)
    page.locator("[data-lesson=next]").click()
    expect(page.locator(".sv-vote")).to_contain_text("The phones wait")


def test_phones_get_the_answer_to_a_question_that_the_teacher_leaves(page, address):
    open_lesson(page, address, ACCEPT, 3)
    page.locator(".sv-lesson").get_by_role("button", name="Ask the class").click()
    phone = page.context.new_page()
    phone.goto(f"{address}vote/{page.locator('.sv-vote-code').inner_text()}")
    phone.locator("#answers button").nth(1).click()
    page.locator(".sv-lesson").get_by_role("button", name="Back").click()
    expect(page.locator("[data-count=all]")).to_have_text("1")
    expect(phone.locator("#status")).to_have_text("Your answer is counted, and cannot be changed.")
    page.reload()  # returns to the room, and does not ask again
    expect(page.locator("[data-count=all]")).to_have_text("1")
    wait_for_step(page, 2)
    page.get_by_role("button", name="Leave the lesson").click()
    expect(phone.locator("#status")).to_contain_text("Right. The answer is “0.42”.")
    expect(page.locator(".sv-vote-right")).to_have_text(re.compile("0.42 ✓"))
    phone.close()


def worksheets_of_a_plan_have_each_verdict_of_its_lessons_once(page):
    card = page.get_by_role("article").filter(has_text="20 minutes: ")
    card.get_by_role("button", name="solutions").click()
    sheets = page.locator(".sv-sheet")
    expect(sheets.first).to_be_visible()
    parts = plans()[0]["parts"]
    names = [each["lesson"] for part in parts for each in part["opens"] if "lesson" in each]
    steps = [step for name in names for step in lesson(name)["steps"]]
    places = [step.get("place") for step in steps]
    places += [step.get("predict", {}).get("then") for step in steps]
    verdicts = {(place["trace"], place["round"], place["step"]) for place in filter(None, places)}
    judged = [step for _, _, step in verdicts if step.startswith("judge")]
    number = len(judged)
    assert sheets.count() == number
    headings = sheets.locator("h1").all_inner_texts()
    assert headings[-1].endswith(f"decision {number} of {number} (solutions)")
    page.keyboard.press("Escape")
    expect(sheets).to_have_count(0)
