"""The Simple mode of Step: a first visit, what it shows, its switch, and its pictures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from serve import SHIPPED
from test_access import faint, faults
from visit import Looker, Visit

from specviz.ui.step.tour import STOPS

OPENING = next(name for name in SHIPPED if name.endswith("01-chain"))
TREE = next(name for name in SHIPPED if name.endswith("03-tree"))
DIALOGUE = next(name for name in SHIPPED if name.endswith("06-dialogue"))
EAGLE = next(name for name in SHIPPED if name.endswith("13-eagle2"))
SIMPLE = "document.body.classList.contains('sv-in-simple')"
# Words, words with digits and small words of all visible text in the window, and its controls.
COUNT = r"""() => {
  // Gradio measures copies of its tabs, which are hidden in boxes without a size.
  const clipped = (element) => {
    if (element === document.body) return false;
    const { width, height } = element.getBoundingClientRect();
    return width <= 1 || height <= 1 || clipped(element.parentElement);
  };
  const seen = (element, { width, height, top, bottom, left, right }) =>
    !clipped(element) &&
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    width > 1 && height > 1 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth &&
    getComputedStyle(element).clipPath === "none";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = { words: [], digits: [], small: [] };
  while (texts.nextNode()) {
    const { currentNode: node } = texts;
    const range = document.createRange();
    range.selectNodeContents(node);
    const words = node.textContent.trim().split(/\s+/).filter(Boolean);
    if (!words.length || !seen(node.parentElement, range.getBoundingClientRect())) continue;
    found.words.push(...words);
    found.digits.push(...words.filter((word) => /\d/.test(word)));
    if (parseFloat(getComputedStyle(node.parentElement).fontSize) < 13) found.small.push(...words);
  }
  const kinds = "button, a[href], input, select, textarea, summary, [role=button], [role=slider]";
  const controls = [...document.querySelectorAll(kinds)].filter((each) =>
    seen(each, each.getBoundingClientRect()));
  return { ...found, controls: controls.map((each) => each.textContent || each.title) };
}"""


SIZE = {"width": 1280, "height": 800}


@pytest.fixture
def newcomer(windows, url: str) -> Iterator[Visit]:
    """A first visit: a window without anything stored, with reduced motion."""
    with windows.visitor(url, newcomer=True) as visitor:
        visitor.page.set_viewport_size(SIZE)
        yield visitor
    assert not visitor.errors
    assert not visitor.foreign


@pytest.fixture
def simple(looker) -> Looker:
    """A visitor for read-only tests of Simple, at the first guesses of the opening."""
    looker.arrive(lambda: arrive(looker, f"?details=0&trace={OPENING}"), "Simple")
    looker.page.set_viewport_size(SIZE)
    looker.show(OPENING)
    return looker


def arrive(visitor: Visit, query: str = "") -> Page:
    """Open the page and wait for its sentence."""
    visitor.page.goto(visitor.url + query)
    visitor.page.wait_for_selector(".sv-verdict:not(:empty)")
    visitor.page.wait_for_function("document.querySelector('#sv-prompt textarea')")
    return visitor.page


def check_mode(page: Page, simple: bool) -> None:
    assert page.evaluate(SIMPLE) == simple


def test_first_visit_shows_little_and_the_mode_is_switched_by_key_button_and_link(newcomer):
    page = arrive(newcomer, f"?trace={OPENING}")
    check_mode(page, simple=True)
    newcomer.step_until("frame.caption.is === 'rejected'")
    expect(page.locator(".sv-picture .sv-col").first).to_be_visible()
    found = page.evaluate(COUNT)
    assert len(found["words"]) <= 180, found["words"]
    assert len(found["digits"]) <= 25, found["digits"]
    assert len(found["controls"]) <= 20, found["controls"]
    assert found["small"] == []
    other_tabs_keep_all_their_controls(page)
    page.keyboard.press("d")
    check_mode(page, simple=False)
    expect(page.locator(".sv-notice")).to_contain_text("small model = drafter")
    expect(page.locator(".sv-tree-part")).to_be_visible()
    for _ in range(2):
        page.keyboard.press("d")
        expect(page.locator(".sv-notice")).to_be_hidden()  # it is said once
    expect(page.locator(".sv-picture")).to_be_hidden()
    page = arrive(newcomer)
    check_mode(page, simple=False)  # it is remembered
    assert newcomer.ask("frame.caption.is") == "rejected", "where it opens by itself"
    page = arrive(newcomer, "?details=0")
    check_mode(page, simple=True)
    the_tour_explains_simple(page)
    for simple in (False, True):
        page.get_by_role("switch", name="Details").click()
        check_mode(page, simple=simple)
    expect(page.locator(".sv-lanes")).to_be_visible()
    page = arrive(newcomer, "?details=1")
    check_mode(page, simple=False)
    the_switch_is_shown_only_where_it_works(page)


def other_tabs_keep_all_their_controls(page: Page) -> None:
    expect(page.locator(".sv-copy")).to_be_hidden()
    page.get_by_role("tab", name="Compare").click()
    page.wait_for_function(f"!{SIMPLE}")
    expect(page.locator(".sv-copy")).to_be_visible()
    page.get_by_role("tab", name="Step").click()
    page.wait_for_function(SIMPLE)
    expect(page.locator(".sv-picture .sv-col").first).to_be_visible()


def the_tour_explains_simple(page: Page) -> None:
    page.evaluate("window.specviz.store.tour.set(true)")
    for stop in STOPS:
        expect(page.locator(".sv-tour-title")).to_be_visible()
        expect(page.locator(".sv-ringed")).to_be_visible()
        assert page.locator(".sv-ringed").evaluate("(e, at) => e.matches(at)", stop["at"])
        page.locator("[data-tour=next]").click()
    check_mode(page, simple=True)


def the_switch_is_shown_only_where_it_works(page: Page) -> None:
    switch = page.get_by_role("switch", name="Details")
    expect(switch).to_be_visible()
    page.get_by_role("button", name="Present", exact=False).first.click()
    switch.click()
    expect(page.locator(".sv-picture")).to_be_visible()
    page.evaluate("window.specviz['sv-lesson'].open('04-the-residual', 0)")
    expect(switch).to_be_hidden()


# Let autoplay make one move, then press Next; return where both ended.
AFTER_A_MOVE = """async (wait) => {
  const player = window.specviz["sv-step"];
  const before = JSON.stringify(player.cursor);
  player.play();
  while (JSON.stringify(player.cursor) === before) await new Promise((go) => setTimeout(go, 20));
  const moved = player.cursor;
  player.pause();
  await new Promise((go) => setTimeout(go, wait));
  document.querySelector(".sv-next").click();
  return [moved, player.cursor];
}"""


def test_opening_races_until_a_key_and_runs_play_to_the_first_rejection(newcomer):
    newcomer.prefer("no-preference")
    page = arrive(newcomer)
    page.wait_for_selector("body.sv-in-race .sv-lanes-text")
    page.wait_for_selector(".sv-races .sv-raced-recovered")
    page.wait_for_selector("body:not(.sv-in-race) .sv-picture-propose", timeout=90_000)
    expect(page.locator(".sv-halted")).to_be_visible()
    assert newcomer.ask("frame.caption.is") == "rejected"
    page = arrive(newcomer)
    page.wait_for_selector("body.sv-in-race .sv-lanes-text")
    page.keyboard.press("x")
    page.wait_for_selector("body:not(.sv-in-race) .sv-picture .sv-col")
    assert newcomer.ask("frame.caption.is") == "rejected"
    for press in (
        lambda page: page.locator(".sv-next").click(),
        lambda page: page.locator(".sv-next").press("Enter"),
        lambda page: page.keyboard.press("ArrowRight"),
    ):
        page = arrive(newcomer)
        expect(page.locator("body.sv-in-race .sv-next")).to_have_text("Next: the result")
        press(page)
        expect(page.locator("body.sv-in-race .sv-race-said")).to_contain_text("Result")
        press(page)
        page.wait_for_selector("body:not(.sv-in-race) .sv-picture-propose")
        assert newcomer.ask("frame.caption.is") == "propose"
    newcomer.show(OPENING)
    page.keyboard.press("Home")
    awaited = {"propose", "score", "accepted", "rejected", "recovered", "commit"}
    for _ in range(40):  # nothing of Details was drawn yet
        awaited.discard(newcomer.ask("frame.caption.is"))
        page.keyboard.press("ArrowRight")
    assert not awaited
    for wait, further in ((0, 0), (1100, 1)):
        newcomer.ask("go(1, 6)")
        ends = page.evaluate(AFTER_A_MOVE, wait)
        assert ends[1]["step"] - ends[0]["step"] == further, "a late click means the step before"
    newcomer.hurry(20)
    newcomer.show(DIALOGUE)
    expect(page.locator(".sv-halted")).to_have_text("Paused at the first rejection")
    lost = page.locator(".sv-picture-keys").get_by_text("no longer fits the text")
    expect(lost).to_have_count(1)
    assert page.locator(".sv-now .sv-unreached").count() > 0
    page.keyboard.press("ArrowRight")
    expect(page.locator(".sv-halted")).to_have_count(0)


def test_form_says_what_is_wrong_and_what_was_not_run_and_enter_runs_the_prompt(newcomer):
    page = arrive(newcomer, f"?trace={OPENING}")
    unrun, prompt = page.locator(".sv-unrun"), page.locator("#sv-prompt textarea")
    expect(unrun).to_be_hidden()
    prompt.fill("")
    prompt.press("Enter")
    expect(page.locator(".sv-notice")).to_contain_text("The prompt is empty")
    expect(unrun).to_be_hidden()  # one sentence at a time
    page.click("#sv-examples input")
    examples = page.locator("#sv-examples .options")
    expect(examples).to_be_visible()
    box = examples.bounding_box()
    assert box["x"] + box["width"] < 1280, "the list leaves the window"
    examples.locator("li").last.click()
    expect(page.locator(".sv-notice")).to_be_hidden()
    expect(unrun).to_have_text("These settings have not been run yet. Press Run live.")
    expect(page.locator(".sv-lanes")).to_have_css("opacity", "0.3")
    about = page.locator(".sv-about-target:visible")
    prompt.fill("x" * 5000)
    expect(about).to_contain_text("after these 4000 characters")
    prompt.fill("Once upon a time")
    expect(about).to_contain_text("House: 10.7 million weights")
    prompt.press("Shift+Enter")
    page.keyboard.type("there")
    before = newcomer.ask("asked")
    page.keyboard.press("Enter")
    page.wait_for_function(f"window.specviz['sv-step'].asked !== {before}")
    newcomer.wait_until_over()
    assert newcomer.ask("run.prompt") == "Once upon a time\nthere"
    assert not page.evaluate("document.body.classList.contains('sv-awaits')")
    expect(unrun).to_be_hidden()


COLUMNS = (".sv-cols-q .sv-col-word", ".sv-cols-q .sv-col-value")


def test_each_step_has_a_picture_and_the_discarded_part_is_the_missing_part(simple):
    page = simple.page
    simple.ask("first()")
    simple.step_until("frame.step.kind === 'propose'")
    simple.step_until("frame.step.id === 'propose-5'")
    guessed = dict(zip(*(page.locator(name).all_inner_texts() for name in COLUMNS), strict=True))
    assert guessed["you"] == "almost 100 %", "as it is called when it is judged"
    simple.step_until("frame.step.kind === 'score'")
    expect(page.locator(".sv-two-times p")).to_have_count(2)
    expect(page.locator(".sv-cheap")).to_contain_text("6 words take only")
    expect(page.locator(".sv-mask-grid")).to_be_visible()
    simple.step_until("frame.caption.is === 'rejected'")
    shown = page.locator(".sv-col:not(.sv-col-trial) .sv-col-value, .sv-col-trial .sv-col-value-p")
    shares = [float(text.strip("< %")) for text in shown.all_inner_texts()]
    assert sum(share for share in shares) == pytest.approx(100, abs=3)  # each "< 1 %" counts 1
    assert page.locator(".sv-part-over").count() > 1, "what is guessed too often, of every word"
    sentence = page.locator(".sv-say").inner_text()
    said = page.locator(".sv-say .sv-n-p, .sv-say .sv-n-q").all_inner_texts()
    numbers = sorted({int(text.strip(" %")) for text in said})
    simple.step_until("frame.caption.is === 'recovered'")
    discarded, missing = page.locator(".sv-balance b").all_inner_texts()
    assert discarded == missing
    expect(page.locator(".sv-part-outline").first).to_be_visible()
    expect(page.locator(".sv-part-both").first).to_be_visible()
    for kind, sign, total in (("r", "+", missing), ("q", "−", discarded)):
        parts = page.locator(f".sv-cols-missing .sv-col-value-{kind}").all_inner_texts()
        assert all(sign in text or "<" in text for text in parts), kind
        terms = [text.split(sign)[1].strip(" %") for text in parts if "<" not in text]
        assert sum(map(int, terms)) == int(total.strip(" %")), kind
    balance = f"guessed too often {total} ({' + '.join(terms)})"
    expect(page.locator(".sv-balance")).to_contain_text(balance)
    p, q = numbers
    assert parts[0] == f"{q} − {q - p} %", "the numbers shown before"
    assert f"discards the {q - p} too many" in sentence


def test_both_coins_can_be_moved_by_keys(simple):
    page = simple.page
    simple.step_until("frame.caption.is === 'rejected'")
    page.locator(".sv-pin").focus()
    page.keyboard.press("Home")
    expect(page.locator(".sv-verdict")).to_have_text("What if?")
    expect(page.locator(".sv-say")).to_contain_text("would be kept")
    expect(page.locator(".sv-toss-hint")).to_contain_text("what if it said no?")
    place = simple.ask("cursor")
    page.get_by_role("button", name="Next: what really happened").click()
    assert simple.ask("cursor") == place
    expect(page.locator(".sv-verdict")).to_have_text("Rejected")
    simple.step_until("frame.caption.is === 'recovered'")
    page.locator(".sv-pin").focus()
    page.keyboard.press("Home")
    expect(page.locator(".sv-say")).to_contain_text("the draw would give")
    first = page.locator(".sv-say .sv-token").inner_text()
    for _ in range(100):
        if page.locator(".sv-say .sv-token").all_inner_texts() != [first]:
            break
        page.keyboard.press("ArrowRight")
    word = page.locator(".sv-say .sv-token").inner_text()
    assert word != first
    assert page.locator(".sv-chip.sv-recovered").inner_text() == word, "the text has it, too"
    assert page.locator(".sv-col-drawn .sv-col-word").all_inner_texts() == [word]


def test_a_tree_shows_its_branches_and_each_word_sees_only_its_own(simple):
    page = simple.page
    simple.show(TREE)
    simple.step_until("Object.keys(frame.tree.nodes).length > 8")
    assert page.locator(".sv-drafted .sv-ahead-word").count() == 10
    last = page.locator(".sv-branches > li").last.inner_text()
    simple.step_until("frame.step.kind === 'score'")
    rows = page.evaluate(
        """() => [...document.querySelectorAll(".sv-mask-grid > div")].map((row) =>
          [row.textContent, [...row.querySelectorAll("i")].map((i) => i.className && 1 || 0)])"""
    )
    assert len(rows) == 11
    parents = simple.ask("frame.tree.nodes")
    for at, (word, seen) in enumerate(rows):
        wanted, node = {at}, at
        while node:
            node = parents[str(node)]["parent"]
            wanted.add(node)
        assert [place for place, sees in enumerate(seen) if sees] == sorted(wanted), word
    assert rows[-1][0] in last


def test_guesses_for_the_same_place_are_alternatives_in_the_text(simple):
    page = simple.page
    simple.show(EAGLE)
    simple.ask("first()")
    simple.step_until("frame.chips.filter(({ is }) => is === 'rejected').length > 1")
    expect(page.locator(".sv-either .sv-rejected").nth(1)).to_be_visible()
    expect(page.locator(".sv-either").first).to_contain_text(" or ")
    expect(page.locator(".sv-lanes-who").nth(1)).to_contain_text("A small head guesses")
    page.get_by_text("Real run, recorded · EAGLE-2 · T 0.7").click()
    page.get_by_role("button", name="Change drafter or temperature").click()
    expect(page.get_by_label("Drafter", exact=True).first).to_be_visible()
    page.locator("#sv-settings button").click()


def test_result_and_end_count_the_words_of_the_passes(simple):
    page = simple.page
    simple.ask("first()")
    simple.step_until("frame.step.kind === 'score'")
    expect(page.locator(".sv-two-times p").first).to_contain_text("whole prompt")
    simple.step_until("player.cursor.round === 1 && frame.step.kind === 'commit'")
    expect(page.locator(".sv-now .sv-chip")).to_have_text(["time", "do", "you", "want", "me"])
    expect(page.locator(".sv-two-times p")).to_have_count(2)
    simple.ask("last()")
    yields = [int(text) for text in page.locator(".sv-yield b").all_inner_texts()]
    assert sum(yields) == 40
    assert len(yields) == 8
    page.get_by_role("button", name="Choose another drafter").click()
    expect(page.get_by_label("Drafter", exact=True).first).to_be_visible()
    assert page.evaluate(SIMPLE)
    page.locator("#sv-settings button").click()
    expect(page.get_by_label("Drafter", exact=True).first).to_be_hidden()
    expect(page.locator("#sv-settings")).to_be_hidden()


def test_the_time_rows_move_with_the_steps_of_a_round(simple):
    page = simple.page
    simple.ask("go(1, 0)")
    line = "parseFloat(document.querySelector('.sv-lanes-line').style.left)"
    places = [page.evaluate(line)]
    for until in ("propose-5", "score"):
        simple.step_until(f"frame.step.id === '{until}'")
        places.append(page.evaluate(line))
    simple.step_until("frame.step.kind === 'draw'")
    places.append(page.evaluate(line))
    assert places == sorted(set(places)), places


COIN = ".sv-toss-bar"
# Which texts of buttons are cut, and which parts the buttons cover when the page is scrolled down.
HIDDEN = """() => {
  const button = document.querySelector(".sv-next");
  const wrong = button.scrollWidth > button.clientWidth ? ["cut: " + button.textContent] : [];
  scrollTo(0, document.documentElement.scrollHeight);
  const bar = document.querySelector(".sv-buttons").getBoundingClientRect();
  for (const name of [".sv-picture-in", ".sv-mode"]) {
    const { top, bottom, left, right } = document.querySelector(name).getBoundingClientRect();
    const beside = left >= bar.right || right <= bar.left;
    if (bottom > innerHeight || (!beside && top < bar.bottom && bottom > bar.top))
      wrong.push("covered: " + name);
  }
  scrollTo(0, 0);
  return wrong;
}"""


def test_narrow_windows_and_larger_text_cover_and_cut_nothing(simple):
    page = simple.page
    for width, height in ((390, 844), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        for large in (False, True):
            simple.ask("first()")
            for state in ("rejected", "recovered", "bonus")[: 2 if large else 3]:
                simple.step_until(f"frame.caption.is === '{state}'")
                where = width, state, large
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
                assert page.evaluate(HIDDEN) == [], where
                if large:
                    assert page.locator(".sv-phases:visible").count() == 0, "it has no space"
                elif width == 390 and state != "bonus":
                    coin, bar = (page.locator(n).bounding_box() for n in (COIN, ".sv-buttons"))
                    assert coin["y"] + coin["height"] <= bar["y"], state
                    page.locator(".sv-pin").press("Home")
                    expect(page.locator(".sv-verdict")).to_have_text("What if?")
                    page.keyboard.press("Escape")
            page.evaluate("document.querySelector('[data-toggle=sv-large]').click()")


# What is not whole above the buttons, or the buttons if they are not whole in the window.
CROWDED = """() => {
  const bottom = (name) => document.querySelector(name).getBoundingClientRect().bottom;
  const { top } = document.querySelector(".sv-dock").getBoundingClientRect();
  const parts = [".sv-strip", ".sv-caption", ".sv-picture-in"];
  const covered = parts.filter((name) => bottom(name) > top + 1);
  return bottom(".sv-dock") > innerHeight ? [...covered, ".sv-dock"] : covered;
}"""


BANNERS = """() => {
  for (const name of [".sv-strange", ".sv-again"]) {
    const line = document.querySelector("#sv-step " + name);
    line.textContent = "These times are unreliable, and the machine was busy. ".repeat(4);
    line.hidden = false;
  }
}"""


def test_every_step_of_a_round_fits_a_projector_and_the_picture_makes_room_for_messages(newcomer):
    page = arrive(newcomer, f"?trace={OPENING}&present=1")
    newcomer.ask("pause()")
    found = {}
    for width, height in ((1280, 720), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        newcomer.ask("first()")
        while newcomer.ask("cursor.round") < 3:
            if crowded := page.evaluate(CROWDED):
                found[width, newcomer.ask("frame.step.id")] = crowded
            newcomer.ask("next()")
    assert found == {}
    page.get_by_role("button", name="Leave Present").click()
    page.set_viewport_size(SIZE)
    newcomer.ask("first()")
    page.evaluate(BANNERS)
    for state in ("'score'", "'judge'", "'draw'", "'commit'"):
        newcomer.step_until(f"frame.step.kind === {state}")
        picture = page.locator(".sv-picture-in").bounding_box()
        dock = page.locator(".sv-dock").bounding_box()
        assert picture["y"] + picture["height"] <= dock["y"], state


PICTURES = {
    OPENING: [
        "frame.step.kind === 'score'",
        "frame.step.id === 'propose-5'",
        "player.cursor.round === 1 && frame.step.kind === 'score'",
        "frame.caption.is === 'rejected'",
        "frame.caption.is === 'recovered'",
        "frame.step.kind === 'commit'",
        "frame.step.kind === 'end'",
    ],
    TREE: ["Object.keys(frame.tree.nodes).length > 8", "frame.step.kind === 'score'"],
}


# Without it the page is always higher than its window, of which a picture is taken; and the form is
# that of the opening.
NO_HIGHER = """.sv-simple { min-height: 0 !important; }
:is(.sv-lanes, .sv-strip, .sv-caption, .sv-picture) { opacity: 1 !important; }"""


def check_picture(page: Page, width: int, theme: str) -> list:
    """Return the faults of what is on screen; the theme changes only colours."""
    wrong = faults(page, ".sv") if theme == "light" or width == 390 else []
    # A narrow page is always higher than its window.
    return wrong + (faint(page, 30) if width > 390 else [])


def test_every_picture_passes_axe_and_contrast_checks(simple):
    page, wrong = simple.page, {}
    style = page.add_style_tag(content=NO_HIGHER)
    for width, theme in ((1280, "light"), (1280, "dark"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 1400})
        simple.dress(theme)
        for name, states in PICTURES.items():
            simple.show(name)
            simple.ask("first()")
            for state in states:
                simple.step_until(state)
                wrong[width, theme, name, state] = check_picture(page, width, theme)
    simple.dress("light")
    style.evaluate("(tag) => tag.remove()")
    assert {where: found for where, found in wrong.items() if found} == {}


def test_bars_can_be_dragged_and_moved_by_keys(simple):
    page = simple.page
    simple.step_until("frame.caption.is === 'rejected'")
    shown = page.locator(".sv-col:not(.sv-col-trial) .sv-col-value, .sv-col-trial .sv-col-value-p")
    before = shown.all_inner_texts()
    box = page.locator(".sv-col-plot").nth(1).bounding_box()
    middle, bottom = box["x"] + box["width"] / 2, box["y"] + box["height"]
    page.mouse.move(middle, bottom - 10)
    page.mouse.down()
    page.mouse.move(middle, bottom - 70, steps=4)
    page.mouse.up()
    expect(page.locator(".sv-verdict")).to_have_text("What if?")
    expect(page.locator(".sv-say")).to_contain_text("this coin would say no")
    after = [float(text.strip("< %")) for text in shown.all_inner_texts()]
    assert after[1] > 30, "the bar has followed the pointer"
    assert sum(after) == pytest.approx(100, abs=3)  # each "< 1 %" counts 1
    keeps = page.locator(".sv-toss-name-keep").inner_text().split()[1]
    q = float(page.locator(".sv-col-value-q").inner_text().strip(" %"))
    assert float(keeps) == float(f"{100 * after[0] / q:.0f}"), "the shown division is right"
    page.keyboard.press("Escape")
    assert shown.all_inner_texts() == before
    page.locator(".sv-cols").focus()
    for _ in range(30):
        page.keyboard.press("ArrowUp")
    expect(page.locator(".sv-say")).to_contain_text("this coin would say yes")
    expect(page.locator(".sv-chip .sv-mark-rejected")).to_have_count(0)
