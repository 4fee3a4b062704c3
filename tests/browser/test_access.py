"""Accessibility: axe-core's checks, a whole run by keyboard, and the contrast of every text."""

import base64
from itertools import pairwise
from pathlib import Path

import axe_playwright_python
import pytest
from made import RUNS, made
from playwright.sync_api import expect
from test_layout import resize

from specviz.frames import Scene, frames

SIZES = {1280: 900, 390: 844}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
SCRIPT = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
# `faint` checks contrast: it sees what is really behind a text, in a fifth of the time.
AXE = """([tags, within]) => axe
  .run({ include: [[within]] },
       { runOnly: tags, rules: { "color-contrast": { enabled: false } },
         resultTypes: ["violations"], preload: false })
  .then(({ violations }) => violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ target, html }) => [id, target.join(" "), html])))
"""
# The floating dock placed in the text flow.
FLOWING = ":is(.sv-dock, .sv-time, .sv-buttons) { position: static !important; }"
ENOUGH = 4.5
# Every piece of text that shows: what it says, its box, its colour with all opacity. Text that
# something else covers, that is clipped away, or that belongs to a disabled control is left out.
TEXTS = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const lineage = (node) => (node ? [node, ...lineage(node.parentElement)] : []);
  const clip = (box, around) => {
    const style = getComputedStyle(around);
    if (style.display === "contents") return box;
    if (style.clipPath !== "none") return { left: 0, right: 0, top: 0, bottom: 0 };
    if (style.overflowX === "visible" && style.overflowY === "visible") return box;
    const outer = around.getBoundingClientRect();
    const border = (side) => parseFloat(style[`border${side}Width`]) || 0; // no text is below it
    return { left: Math.max(box.left, outer.left + border("Left")),
             right: Math.min(box.right, outer.right - border("Right")),
             top: Math.max(box.top, outer.top + border("Top")),
             bottom: Math.min(box.bottom, outer.bottom - border("Bottom")) };
  };
  const covered = (element, { left, right, top, bottom }) => {
    const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    if (!over || over.contains(element) || element.contains(over)) return false;
    const apart = lineage(over).filter((node) => !node.contains(element));
    return apart.some((node) => rgba(getComputedStyle(node).backgroundColor)[3] === 1);
  };
  const told = [];
  const tell = (element, text, boxes) => {
    const all = lineage(element);
    const style = getComputedStyle(element);
    const colour = rgba(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const fades = [style.fillOpacity, ...all.map((node) => getComputedStyle(node).opacity)];
    colour[3] *= fades.reduce((product, opacity) => product * opacity, 1);
    for (const whole of boxes) {
      const box = all.slice(0, -1).filter((node) => node.tagName !== "BODY").reduce(clip, whole);
      const { left, right, top, bottom } = box;
      if (right - left < 3 || bottom - top < 3 || covered(element, box)) continue;
      told.push({ text, colour, box: [left, top, right, bottom] });
    }
  };
  const seen = { visibilityProperty: true, opacityProperty: true };
  const shows = (element) => element.checkVisibility(seen)
    && !element.closest("[aria-hidden=true], :disabled, script, style");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.data.trim() || !shows(node.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    tell(node.parentElement, node.data.trim(), [...range.getClientRects()]);
  }
  for (const box of document.querySelectorAll("input, textarea")) {
    const typed = !["range", "checkbox", "radio"].includes(box.type) && box.value.trim();
    if (typed && shows(box)) tell(box, typed, [box.getBoundingClientRect()]);
  }
  return told;
}"""
# Hides all letters, so that a picture of the page shows their background.
BLANK = """* { -webkit-text-fill-color: transparent !important; text-decoration: none !important;
  text-shadow: none !important; caret-color: transparent !important; }
  svg text, svg text * { fill: transparent !important; stroke: transparent !important; }"""
# The contrast of each text with every colour that takes a good part of its box, the lowest first.
CONTRASTS = """async ([texts, picture, part]) => {
  const image = new Image();
  image.src = picture;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"),
                               { width: image.width, height: image.height });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.drawImage(image, 0, 0);
  const light = (rgb) => rgb
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const over = ([r, g, b, a], under) =>
    [r, g, b].map((value, at) => Math.round(value * a + under[at] * (1 - a)));
  const lowest = ({ colour, box }) => {
    const [left, top] = box.slice(0, 2).map(Math.ceil);
    const [right, bottom] = box.slice(2).map(Math.floor);
    const { data } = pen.getImageData(left, top, right - left, bottom - top);
    const pixels = new Uint32Array(data.buffer), counts = new Map();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
    const most = Math.max(...counts.values());
    const grounds = [...counts].filter(([, n]) => n >= Math.min(part * pixels.length, most));
    const told = grounds.map(([pixel]) => [0, 8, 16].map((bits) => (pixel >> bits) & 255))
      .map((ground) => [contrast(over(colour, ground), ground), ground]);
    return told.sort((a, b) => a[0] - b[0])[0];
  };
  return texts.map((each) => [...lowest(each), each.colour, each.text]);
}"""
PART = 0.2  # of a text's box; a smaller part is an edge, or a mark across it


def what_if(visit):
    """Select a guess that was not reached."""
    visit.page.click(".sv-now .sv-unreached >> nth=0")
    visit.page.wait_for_selector(".sv-is-if")


def drawer(visit):
    """Open the settings by a click on their summary, unless they are open."""
    if not visit.page.evaluate("document.body.classList.contains('sv-drawer-open')"):
        visit.page.click("#sv-settings button")
    visit.page.wait_for_function("document.body.classList.contains('sv-drawer-open')")


def question(visit):
    """Close the settings and step to a verdict that is to be predicted."""
    visit.page.click("#sv-settings button")
    visit.page.get_by_label("Predict first").check()
    visit.step_to("Your prediction?")


def siblings(visit):
    """Open a recorded run with siblings, at its first rejection."""
    visit.page.get_by_label("Predict first").uncheck()
    visit.show("02-siblings")
    visit.step_to("Rejected")


# What a visitor may look at, and how to get there from the entry before.
MOMENTS = {
    "opening": lambda visit: visit.ask("go(1, 0)"),
    "rejected": lambda visit: visit.step_to("Rejected"),
    "what if": what_if,
    "recovered": lambda visit: visit.step_to("Recovered"),
    "settings": drawer,
    "question": question,
    "siblings": siblings,
}
READ = ("rejected", "recovered", "settings")
WHOLE = ("opening", "settings")  # the others change nothing outside the player


def faults(page, within="html"):
    """Return axe-core's serious findings except contrast: the rule, the element and its markup."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(SCRIPT)
    return page.evaluate(AXE, [WCAG, within])


def look_at(visit, width, theme, names, axe=True):
    """Return what is wrong at these moments at a width in a theme."""
    wrong = {}
    visit.page.set_viewport_size({"width": width, "height": SIZES[width]})
    visit.dress(theme)
    for name in names:
        MOMENTS[name](visit)
        where = f"{name}, {width}, {theme}"
        if axe:
            flowing = visit.page.add_style_tag(content=FLOWING)
            wrong[where, "axe"] = faults(visit.page, "html" if name in WHOLE else ".sv")
            flowing.evaluate("tag => tag.remove()")
        wrong[where, "contrast"] = faint(visit.page)
    return {where: found for where, found in wrong.items() if found}


@pytest.mark.parametrize(
    ("width", "theme", "others"),
    [
        (1280, "light", [(390, "dark")]),  # in the other theme, the steps with the most text
        pytest.param(390, "dark", [(390, "light"), (1280, "dark")], marks=pytest.mark.nightly),
    ],
)
def test_every_step_of_a_run_passes_axe_and_contrast_checks(visit, width, theme, others):
    visit.open(f"?__theme={theme}")
    assert look_at(visit, width, theme, MOMENTS) == {}
    for other in others:
        assert look_at(visit, *other, READ, axe=False) == {}, other


EDGE = """<main style="height: 40px; overflow: auto; border: 4px solid black">
  <p style="margin: 30px 0; font-size: 20px; line-height: 20px">Text at the edge</p></main>"""


def test_border_of_a_box_is_no_background_of_a_text_that_it_clips(browser):
    page = browser.new_page()
    page.set_content(EDGE)
    (text,) = page.evaluate(TEXTS)
    inner = "(box) => box.getBoundingClientRect().bottom - 4"
    assert text["box"][3] == page.locator("main").evaluate(inner)
    page.close()


def faint(page, least=60):
    """Return each visible text of too low contrast: contrast, background, colour and content."""
    size = page.viewport_size
    for _ in range(2):  # a higher window has more spacing
        tall = page.evaluate("document.documentElement.scrollHeight")
        resize(page, size["width"], tall)
    texts = page.evaluate(TEXTS)
    blank = page.add_style_tag(content=BLANK)
    picture = base64.b64encode(page.screenshot()).decode()
    blank.evaluate("tag => tag.remove()")
    told = page.evaluate(CONTRASTS, [texts, f"data:image/png;base64,{picture}", PART])
    page.set_viewport_size(size)
    assert len(told) > least, "a page has more words than that"
    return [each for each in told if each[0] < ENOUGH - 0.005]


def check_readable(looker):
    """Check contrast, width and axe-core's findings of a tab in a wide and in a narrow window."""
    for width, theme in ((1280, "light"), (390, "dark")):
        looker.page.set_viewport_size({"width": width, "height": 900})
        looker.dress(theme)
        assert faint(looker.page) == [], theme
        assert looker.page.evaluate("document.documentElement.scrollWidth") <= width
    assert faults(looker.page) == []


# By keyboard alone: the elements that Tab must reach at a rejection, in page order.
STOPS = {
    "prompt": "#sv-prompt textarea",
    "examples": "#sv-examples input",
    "settings": "#sv-settings button",
    "run": "#sv-go",
    "predict first": ".sv-guess input",
    "tree": ".sv-spot",
    "coin": ".sv-pin[role=slider]",
    "back": "[data-do=back]",
    "next": "[data-do=next]",
    "rounds": ".sv-rounds *",
}
# How an element and its surroundings look; focus must change something there.
LOOK = """
const look = (node, up = 7) => node && up ? [node, ...look(node.parentElement, up - 1)] : [];
const styled = (node) => look(node).map(getComputedStyle).map((style) =>
  [style.outlineStyle === "none" ? "" : style.outlineWidth + style.outlineColor,
   style.borderColor, style.boxShadow].join()).join(";");
"""
REMEMBER = f"""() => {{ {LOOK}
  const all = [...document.querySelectorAll("a, button, input, textarea, [tabindex]")];
  window.looks = new Map(all.map((node) => [node, styled(node)])); }}"""
MARKED = f"""async () => {{ {LOOK} const now = document.activeElement;
  for (const until = performance.now() + 1000; performance.now() < until;) {{
    if (now.matches(":focus-visible") && styled(now) !== window.looks.get(now)) return true;
    await new Promise(requestAnimationFrame); // colours may take a moment to change
  }}
  return false; }}"""
MANY = 100  # tab stops; more of them would be tiring


def tab_to(page, selector, key="Tab"):
    """Press Tab until the element has the focus."""
    for _ in range(MANY):
        if at(page, selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never comes to {selector}")


def at(page, selector):
    return page.evaluate("(selector) => document.activeElement.matches(selector)", selector)


def test_tab_key_reaches_every_control_in_order_with_visible_focus(looker):
    page = looker.look()
    looker.step_to("Rejected")
    page.evaluate(REMEMBER)
    stops, unseen = [], []
    for _ in range(MANY):
        page.keyboard.press("Tab")
        if at(page, "body") and "rounds" in stops:
            break
        stops += [name for name, selector in STOPS.items() if at(page, selector)]
        if not at(page, "body") and not page.evaluate(MARKED):
            unseen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 120)"))
    else:
        raise AssertionError("Tab never comes out at the end of the page")
    assert list(dict.fromkeys(stops)) == list(STOPS)
    assert stops.count("tree") == 1
    assert stops.count("rounds") == 1
    assert not unseen


TWO_FRAMES = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""


def test_settings_and_lists_open_by_keyboard_and_tab_passes_them_while_closed(looker):
    page = looker.look()
    name, settings = "#sv-recorded input", page.locator("#sv-settings button")
    page.focus("#sv-prompt textarea")
    tab_to(page, name)
    page.evaluate(TWO_FRAMES)
    assert page.get_attribute(name, "aria-expanded") == "false", "focus opens no list"
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(f"{name}[aria-expanded=true]")
    page.keyboard.press("Escape")
    page.wait_for_selector(f"{name}[aria-expanded=false]")
    assert at(page, name)
    tab_to(page, "#sv-settings button")
    page.keyboard.press("Tab")
    assert not at(page, "#sv-drawer *"), "closed settings are skipped"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(settings).to_have_attribute("aria-expanded", "true")
    page.locator("#sv-drawer input[type=range]").first.wait_for()
    tab_to(page, "#sv-drawer input[type=range]")
    tab_to(page, ".sv-guess input")
    tab_to(page, "#sv-settings button", "Shift+Tab")
    page.keyboard.press(" ")
    expect(settings).to_have_attribute("aria-expanded", "false")


HERE = """() => {
  const { round, step } = window.specviz["sv-step"].cursor;
  return [round, step, document.querySelector(".sv-say").innerText];
}"""


def test_right_arrow_visits_and_announces_every_step_of_a_run(looker):
    page = looker.look("02-siblings")
    trace = made(RUNS["02-siblings"])
    steps = [sum(1 for _ in frames(Scene.of(trace, i))) for i in range(len(trace.rounds))]
    steps[-1] += 1  # the end
    wanted = [[index, step] for index, many in enumerate(steps) for step in range(many)]
    page.keyboard.press("Home")
    visited, said = [[0, 0]], [looker.caption()]
    for _ in wanted[1:]:
        page.keyboard.press("ArrowRight")
        *cursor, sentence = page.evaluate(HERE)
        visited.append(cursor)
        said.append(sentence)
    assert page.is_disabled("[data-do=next]")
    assert visited == wanted
    assert all(one != other for one, other in pairwise(said))
    assert page.locator(".sv-caption[aria-live=polite] .sv-say").count() == 1


def test_coin_button_and_timeline_work_by_keyboard_and_keep_the_focus(looker):
    page = looker.look("02-siblings")
    looker.step_to("Rejected")
    before, cursor = looker.caption(), looker.ask("cursor")
    tab_to(page, ".sv-pin")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".sv-verdict") == "What if?"
    assert looker.ask("cursor") == cursor, "the arrow moves the coin and not the step"
    page.keyboard.press("Escape")
    assert looker.caption() == before
    assert at(page, ".sv-pin"), "the focus stays on the coin"
    tab_to(page, "[data-do=next]")
    page.keyboard.press("Enter")
    assert at(page, "[data-do=next]"), "the focus stays on the button"
    tab_to(page, ".sv-rounds *")
    while not at(page, ".sv-seg[aria-label='Round 2']"):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert looker.ask("cursor") == {"round": 2, "step": 0}
    assert at(page, ".sv-rounds *"), "the focus stays among the rounds"
