"""Layout at all window sizes: current content is visible, nothing overlaps, nothing is cut off."""

import json
from itertools import product

import pytest
from playwright.sync_api import expect
from serve import SHIPPED
from visit import STILL

TREE, OPENING, CHAT = (
    next(name for name in SHIPPED if name.endswith(end))
    for end in ("03-tree", "01-chain", "smollm2-edit")
)
# Recorded runs whose drafters give evidence in several rounds.
EVIDENT = [
    name
    for name in SHIPPED
    if name[2:4] in ("04", "05") or ("12" <= name[2:4] <= "26" and name[2:4] != "21")
]
SIZES = [(1024, 700), (1280, 800), (1366, 650), (1920, 1080), (768, 900), (390, 844)]
# The first steps of a run that show each kind of moment: [round, step] by name.
MOMENTS = """() => {
  const { frameAt, player, stepsOf } = window.specviz.step;
  const found = {};
  const names = ({ caption, panel, step }) => [
    panel.why && "evidence",
    step.kind === "judge" && caption.is === "accepted" && "keep",
    step.kind === "judge" && caption.is === "rejected" && "rejection",
    step.kind === "judge" && panel.tries > 1 && "second try",
    step.kind === "draw" && caption.is === "recovered" && "recovery",
    step.kind === "draw" && caption.is === "bonus" && "bonus",
  ].filter(Boolean);
  for (let round = 0; round < player.rounds.length; round += 1)
    for (let step = 0; step < stepsOf(round); step += 1)
      for (const name of names(frameAt(round, step))) found[name] ??= [round, step];
  const last = player.rounds.length - 1;
  found.end = [last, stepsOf(last) - 1];
  return found;
}"""
# Problems of the boxes on screen, in words. A text that ends in an ellipsis is cut on
# purpose; content that scrolls is not cut.
WRONG = """() => {
  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".sv-unseen");
  const within = (e, names) => names.some((name) => e.closest(name));
  const named = (e) => e.className.baseVal ?? e.className;
  const told = (e) => named(e) + " '" + e.textContent.slice(0, 24) + "'";
  const wrong = [];
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page scrolls sideways");
  const root = document.querySelector(".sv");
  const frame = root.getBoundingClientRect();
  const texts = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, own = node.parentElement;
    if (!node.data.trim() || !shown(own)) continue;
    if (within(own, [".sv-strip", ".sv-source", ".sv-dock", ".hoverlayer"])) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const clipping = ".sv-treebox, .sv-head .sv-legend, .sv-keys, .sv-list";
    const passing = ".sv-pass-w, .sv-pass-columns, .sv-sibs";
    const clips = [clipping, ...passing.split(", ")].map((name) => own.closest(name))
      .filter(Boolean).map((each) => each.getBoundingClientRect());
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const seen = clips.every((clip) =>
        left < clip.right - 2 && top < clip.bottom - 2 && right > clip.left && bottom > clip.top);
      if (!seen) continue;
      const end = Math.min(right, ...clips.map((clip) => clip.right));
      texts.push({ own, node, left, right: end, top, bottom });
    }
  }
  for (const { own, left, right } of texts) {
    const box = (own.closest(".sv-panel") ?? root).getBoundingClientRect();
    const side = root.classList.contains("sv-slim") ? frame : box;
    if (left < side.left - 2 || right > side.right + 2) wrong.push("outside: " + told(own));
  }
  for (const [at, a] of texts.entries()) {
    for (const b of texts.slice(at + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // What the timeline covers can be scrolled to, as under the dock.
      const apart = !a.own.closest(".sv-time") === !b.own.closest(".sv-time");
      if (apart && a.node !== b.node && wide > 2 && high > 4) {
        wrong.push("overlap: " + told(a.own) + " and " + told(b.own));
      }
    }
  }
  for (const e of root.querySelectorAll("*")) {
    if (!(e instanceof HTMLElement) || !shown(e) || !e.textContent) continue;
    const scrolled = [".sv-strip", ".sv-treebox", ".sv-legend", ".sv-pass", ".sv-sibs"];
    if (within(e, [...scrolled, ".sv-unseen"])) continue;
    const style = getComputedStyle(e);
    if (style.overflowX === "visible" || style.textOverflow === "ellipsis") continue;
    if (e.scrollWidth > e.clientWidth + 1) wrong.push("cut: " + told(e));
  }
  const table = root.querySelector(".sv-table");
  if (table.scrollWidth > table.clientWidth) wrong.push("the table scrolls sideways");
  const pin = root.querySelector(".sv-trial .sv-pin:not(.sv-pin-was)")?.getBoundingClientRect();
  for (const side of root.querySelectorAll(".sv-trial .sv-toss-name")) {
    const box = side.getBoundingClientRect();
    if (box.left < pin.right && box.right > pin.left) wrong.push("the pin covers " + told(side));
  }
  return [...new Set(wrong)];
}"""
AT_EACH = """(where) => {
  const found = {};
  for (const [name, [round, step]] of Object.entries(where)) {
    window.specviz["sv-step"].go(round, step);
    const wrong = (CHECK)();
    if (wrong.length) found[name] = wrong;
  }
  return found;
}"""
# The window has its size, and two frames have been drawn with it.
LAID_OUT = """([width, height]) => new Promise((done) => {
  const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));
  const look = () =>
    (innerWidth === width && innerHeight === height ? drawn() : requestAnimationFrame(look));
  look();
})"""
# Which of these parts of a step are outside the window or below the fixed controls; also, if all
# are needed, those that are not drawn.
UNSEEN = """(names, needed) => {
  const boxes = (name) => [...document.querySelectorAll(name)]
    .map((e) => e.getBoundingClientRect()).filter(({ height }) => height);
  const fixed = { ".sv-buttons": [], ".sv-time": [".sv-buttons"] };
  const limit = (name) => 1 + Math.min(innerHeight,
    ...(fixed[name] ?? [".sv-time", ".sv-buttons"]).flatMap(boxes)
      .filter(({ top, bottom }) => top > 0 && bottom <= innerHeight + 1).map(({ top }) => top));
  return names.filter((name) => {
    const found = boxes(name), edge = limit(name);
    return (needed && !found.length) || found.some(({ top, bottom }) => top < 0 || bottom > edge);
  });
}"""
PARTS = [".sv-tree", ".sv-keys", ".sv-pass-columns", ".sv-trial", ".sv-table", ".sv-draw"]
PARTS += [".sv-time", ".sv-buttons"]
NOTICE = """(repeats) => { const notice = document.querySelector(".sv-notice");
  [notice.hidden, notice.textContent] = [!repeats, "A notice. ".repeat(repeats)];
  dispatchEvent(new Event("resize")); }"""
ALL = {"keep", "rejection", "second try", "recovery", "bonus", "end"}
KNOWN = {}


def moments(visit, name):
    """Return the steps of the open run that show each kind of content, without missing kinds."""
    if name not in KNOWN:
        KNOWN[name] = visit.page.evaluate(MOMENTS)
    return KNOWN[name]


def problems(visit, where, check):
    """Return the findings of a check at each moment, by the moment's name."""
    return visit.page.evaluate(AT_EACH.replace("CHECK", check), where)


def resize(page, width, height):
    """Give the window a size, and wait until the player has adapted its layout."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(LAID_OUT, [width, height])


def larger_text(page):
    """Switch to larger text or back, and wait until the head of the page has its new size."""
    page.get_by_role("button", name="Larger text").click()
    page.wait_for_function(STILL)


OFTEN = {
    TREE: SIZES,
    "06-long-chain": [(390, 844), (1024, 700)],
    CHAT: [(390, 844), (1366, 650)],
}
RARELY = ["01-chain", "02-siblings", "04-temperature-0", "06-long-chain", CHAT]


@pytest.mark.parametrize(
    "runs", [OFTEN, pytest.param(dict.fromkeys(RARELY, SIZES), marks=pytest.mark.nightly)]
)
def test_no_content_overlaps_or_is_cut_off_at_any_window_size(looker, runs):
    found = {}
    for name, sizes in runs.items():
        page = looker.look(name)
        where = moments(looker, name)
        assert name != TREE or set(where) >= ALL
        for larger in (False, True):
            for size in sizes if not larger else ((390, 844), (1280, 800)):
                resize(page, *size)
                found[name, size, larger] = problems(looker, where, WRONG)
            larger_text(page)
    assert {which: wrong for which, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "names", [EVIDENT[:3], pytest.param(EVIDENT[3:], marks=pytest.mark.nightly)]
)
def test_evidence_for_a_guess_does_not_overflow(looker, names):
    found = {}
    for name in names:
        page = looker.look(name)
        where = {"evidence": moments(looker, name)["evidence"]}
        for width in (1280, 390):
            resize(page, width, 1400)
            wrong = problems(looker, where, WRONG).get("evidence", [])
            found[name, width] = [each for each in wrong if not each.startswith("overlap")]
    assert {which: wrong for which, wrong in found.items() if wrong} == {}


def test_current_step_is_completely_visible_in_the_window(visit):
    page, found = visit.open(), {}
    check = f"() => ({UNSEEN})({json.dumps(PARTS)}, false)"
    for size in ((1280, 800), (1366, 650), (1024, 700), (1920, 1080)):
        resize(page, *size)
        for name in ("02-siblings", TREE, OPENING):
            visit.show(name)
            found[size, name] = problems(visit, moments(visit, name), check)
        if size == (1366, 650) and page.locator(".sv-intro").is_visible():
            page.click("[data-intro=away]")
            expect(page.locator(".sv-intro")).to_be_hidden()
    assert {where: wrong for where, wrong in found.items() if wrong} == {}


def unseen(page, *names):
    return page.evaluate(f"(names) => ({UNSEEN})(names, true)", list(names))


def notify(page, repeats, size):
    """Show a notice of some sentences above the run, or hide it, in a window of this size."""
    page.evaluate(NOTICE, repeats)
    resize(page, *size)


# The rows of the table on screen: token or number of others, p, q, residual, and its share.
ROWS = """() => [...document.querySelectorAll(".sv-table .sv-mr")]
  .filter((row) => row.checkVisibility())
  .map((row) => [...row.querySelectorAll(".sv-tk, .sv-pv, .sv-qv, .sv-cl")]
    .map((cell) => cell.textContent))"""


def check_sums(page, table):
    """Check that the rows on screen add up to the totals; return how many rows are left out."""
    rows = page.evaluate(ROWS)
    tokens = sum("w" in row for row in table["rows"])
    number = int(rows[-1][0].removesuffix(" others").replace(",", ""))
    assert number + len(rows) - 1 == table["rows"][-1]["rest"] + tokens
    columns = list(zip(*(row[1:] for row in rows), strict=True))
    totals = [table["total"][name] for name in ("p", "q", "left", "scaled")]
    for column, total in zip(columns, totals, strict=False):
        rounding = 0.5 * 10 ** -table["digits"] * len(rows)
        assert sum(map(float, column)) == pytest.approx(float(total), abs=rounding)
    return tokens + 1 - len(rows)


def test_rows_that_do_not_fit_are_in_the_row_of_others_also_beside_a_vote(visit):
    page = visit.open(f"?trace={OPENING}&present=1")
    # All rows fit into a higher window.
    assert any(left_out_rows(visit, ((1280, 800), (1280, 540), (1280, 520))))
    page.get_by_role("button", name="Ask the class").click()
    expect(page.locator(".sv-vote")).to_be_visible()
    assert any(left_out_rows(visit, ((1280, 800), (1280, 720), (1024, 768))))
    page.get_by_role("button", name="Close the vote").click()


def left_out_rows(visit, sizes):
    """Return how many rows are left out at two steps in windows of these sizes."""
    found = []
    for size in sizes:
        resize(visit.page, *size)
        visit.ask("first()")
        for verdict in ("Rejected", "Recovered"):
            visit.step_to(verdict)
            # The panel of a vote takes its place a little later.
            expect(visit.page.locator(".sv-table .sv-mr:visible").first).to_be_visible()
            found.append(check_sums(visit.page, visit.ask("frame.panel.table")))
    return found


RECOVERED = (".sv-draw .sv-toss", ".sv-mr.sv-on-drawn", ".sv-ms")  # u's strip, note and table
HEIGHTS = """() => ["#sv-brand h1", "#sv-tabs [role=tab]", "#sv-go", ".sv-verdict"]
  .map((name) => document.querySelector(name).getBoundingClientRect().height)"""


def test_coin_and_timeline_stay_visible_below_a_notice_and_with_larger_text(looker):
    page = looker.look(OPENING)
    looker.step_to("Rejected")
    for repeats, size in product((12, 0), ((1024, 700), (1280, 800))):
        notify(page, repeats, size)
        assert unseen(page, ".sv-trial .sv-toss", ".sv-time") == [], (size, repeats)
    before = page.evaluate(HEIGHTS)
    larger_text(page)
    after = page.evaluate(HEIGHTS)
    assert all(large > 1.2 * small for small, large in zip(before, after, strict=True))
    resize(page, 1280, 800)
    assert unseen(page, ".sv-trial .sv-toss", ".sv-time") == [], "larger text"
    for size, repeats in (((1280, 800), 0), ((1280, 800), 4), ((1024, 768), 0)):
        notify(page, repeats, size)
        looker.ask("first()")
        looker.step_to("Recovered")
        assert unseen(page, *RECOVERED) == [], (size, repeats)
        assert page.evaluate("scrollY") == 0
    notify(page, 0, (1280, 800))
    larger_text(page)


def test_larger_text_keeps_two_columns_tabs_and_the_whole_tree_in_place(looker):
    page = looker.look(OPENING)
    larger_text(page)
    for width in (1009, 1024, 1280):  # the first one has a scroll bar
        resize(page, width, 768)
        tab = page.get_by_role("tab", name="Models").last.bounding_box()
        badge = page.locator(".sv-badge").first.bounding_box()
        assert tab["x"] + tab["width"] <= badge["x"] - 8, f"the last tab at {width}"
    resize(page, 1280, 800)
    looker.ask("first()")
    looker.step_to("Rejected")
    tree, panel = (page.locator(name).bounding_box() for name in (".sv-treebox", ".sv-panel"))
    assert panel["x"] > tree["x"] + tree["width"], "two columns"
    for node in (0, 5):
        pill = page.locator(f".sv-tree [data-node='{node}'] .sv-twig-pill").bounding_box()
        assert tree["x"] - 14 <= pill["x"], f"node {node} is cut"
        assert pill["x"] + pill["width"] <= tree["x"] + tree["width"], f"node {node} is cut"
    page.locator(".sv-spot[data-node='1']").click()
    assert looker.ask("frame.step.kind") == "judge", "guesses can be clicked"
    larger_text(page)


def test_glossary_card_covers_no_token_of_the_tree(looker):
    page = looker.look(OPENING)
    looker.step_to("Rejected")
    for name in (".sv-marks .sv-key-rejected", ".sv-say .sv-n-p"):
        page.locator(name).first.hover()
        page.locator(".sv-gloss:popover-open").wait_for()
        card = page.locator(".sv-gloss").bounding_box()
        for word in page.locator(".sv-tree .sv-twig-pill").all():
            box = word.bounding_box()
            beside = box["x"] >= card["x"] + card["width"] or box["x"] + box["width"] <= card["x"]
            above = box["y"] >= card["y"] + card["height"] or box["y"] + box["height"] <= card["y"]
            assert beside or above, name


def test_verdict_and_recovered_token_are_visible_on_a_phone_without_scrolling(visit):
    page = visit.open(f"?trace={OPENING}")
    visit.step_to("Rejected")
    resize(page, 390, 844)
    assert page.locator(".sv-intro").is_visible()
    assert page.evaluate("scrollY") == 0
    assert unseen(page, ".sv-list", ".sv-trial .sv-toss") == []
    dock = page.locator(".sv-buttons").bounding_box()
    assert round(dock["y"] + dock["height"]) == 844, "buttons are within reach of the thumb"
    heights = page.locator(".sv-buttons button").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert min(heights) >= 44
    visit.step_to("Recovered")
    assert page.evaluate("scrollY") == 0
    assert unseen(page, ".sv-list", ".sv-draw .sv-toss") == []
    assert page.locator(".sv-trial").is_hidden(), "that coin is of the verdict before"


# The texts of the table that are smaller than 11 px.
SMALL = """() => [...document.querySelectorAll(".sv-table .sv-mr > *, .sv-table .sv-ms > *")]
  .filter((each) => parseFloat(getComputedStyle(each).fontSize) < 11 && !each.matches(".sv-rest *"))
  .map((each) => each.textContent)"""


def test_phone_with_larger_text_scrolls_to_the_coin_and_keeps_words_large(visit):
    page = visit.open(f"?trace={OPENING}")
    resize(page, 390, 844)
    for size, repeats in (((390, 844), 12), ((390, 844), 0), ((1024, 768), 0)):
        notify(page, repeats, size)
        page.evaluate("scrollTo(0, 0)")
        visit.ask("first()")
        visit.step_to("Rejected")
        assert unseen(page, ".sv-trial .sv-toss") == [], (size, repeats)
        if repeats:
            larger_text(page)
    resize(page, 390, 844)
    assert page.evaluate(SMALL) == []
    visit.open(f"?trace={OPENING}&round=1&step=judge-5")
    page.wait_for_function(STILL)
    parts = (".sv-row-rejected", ".sv-row-accepted", ".sv-trial .sv-toss", ".sv-say")
    assert page.evaluate("document.body.classList.contains('sv-large')"), "a reload keeps it"
    assert unseen(page, *parts) == [], "a link to a verdict"
