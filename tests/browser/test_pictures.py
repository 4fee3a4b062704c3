"""Figures saved as pictures: all of them, as SVG and as PNG, with what they show as text."""

from __future__ import annotations

import json
import re
from html import unescape
from io import BytesIO
from itertools import product
from xml.etree import ElementTree

import pytest
from costs import SETTLED, UNFOLD
from PIL import Image, ImageColor
from playwright.sync_api import expect
from test_cost_server import paste, settled
from test_server_texts import DETAILED

SVG = "{http://www.w3.org/2000/svg}"
AIR = 16  # px of margin around a picture
# By tab, the figures in the order of their buttons, each with what its picture says below.
FIGURES = {
    "Step": {
        "text": "Round ",
        "draft tree": "drafts for",
        "target pass": "drafts for",
        "coin and table": "recorded",
        "timeline": "drafts for",
    },
    "Compare": {"race": "recorded", "result": "recorded", "map of domains": "temperature 0"},
    "Lossless?": {
        "experiment": "Accept-reject",
        "random rounds": "1,000 random rounds",
        "dartboard": "rule: accept-reject",
        "published rule": "computed exactly",
        "judged guesses": "recorded",
    },
    "Trees": {
        "draft tree": "drafts for",
        "attention mask": "step ",
        "accepted lengths": "recorded",
        "gain and cost": "recorded",
        "ranked tree": "ranked by sum of logs, bfloat16",
        "effect on the accepted length": "measured",
        "tree with wrong parents": "ranked by",
        "judged trees": "without replacement",
    },
    "Cost": {
        "one round": "simulated",
        "speed-up by draft length": "simulated",
        "time and arithmetic": "simulated",
        "surface": "simulated",
        "trees compared": "children ",
        "speed-up by batch": "simulated",
        "time of a pass": "simulated",
        "best γ": "simulated",
        "round on this hardware": "simulated",
        "tokens to check": "temperature 0",
        "speed by load": "temperature 0",
        "acceptance by position": "tokens",
        "speed-up by γ": "tokens",
        "passes": "recorded",
        "pass times": "context of",
    },
    "Models": {
        "reliability of DSpark": "measured",
        "reliability of DSpark for SmolLM2": "measured",
    },
}
# Figures that are on screen only at times; other tests save them.
AT_TIMES = {"Step": ["why these guesses"], "Cost": ["step by step"]}
# Notes each part of the page that is copied from now on.
SPY = """() => {
  window.kept = [];
  const clone = Node.prototype.cloneNode;
  Node.prototype.cloneNode = function (deep) {
    if (deep && this.isConnected) window.kept.push(this);
    return clone.call(this, deep);
  };
}"""
# What looks like a figure and is in no part that was copied.
MISSED = """() => {
  const drawn = "figure, [role=img], .main-svg, .sv-twig-svg, .sv-plot, .sv-bars, .sv-sand-bars";
  return [...document.querySelectorAll(drawn)]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }))
    .filter((each) => each.getBoundingClientRect().width > 20)
    .filter((each) => !window.kept.some((part) => part.contains(each) || each.contains(part)))
    .map((each) => each.outerHTML.slice(0, 200));
}"""
NAMES = """() => [...document.querySelectorAll("[aria-label^='Save '][aria-label$=' as SVG']")]
  .filter((each) => each.checkVisibility()).map((each) => each.ariaLabel.slice(5, -7))"""


def saved(page, name, kind):
    """Press a button, and return the name and the bytes of the file that it saves."""
    label = f"[aria-label='Save {name} as {kind}']:visible"
    with page.expect_download() as download:
        page.click(label)
    file = download.value
    assert re.fullmatch(r"specviz-[\w.γ-]+", file.suggested_filename), file.suggested_filename
    assert file.suggested_filename.endswith(f"{name.replace(' ', '-')}.{kind.lower()}")
    return file.suggested_filename, file.path().read_bytes()


def image_of(page, name):
    return Image.open(BytesIO(saved(page, name, "PNG")[1])).convert("RGB")


def caption(svg):
    """Return the lines of text below a figure, from its SVG."""
    root = ElementTree.fromstring(svg)
    return [line.text for line in root.findall(f"{SVG}text/{SVG}tspan")]


def show_step(page):
    page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")


def show_compare(page):
    page.wait_for_selector(".sv-race-lanes > *")
    page.wait_for_selector(".sv-domains-map td")


def show_lossless(page):
    page.wait_for_selector(".sv-sand-column")
    page.wait_for_selector(".sv-wild-columns")
    page.wait_for_selector(".sv-proof-list button")
    page.locator("#sv-sand-preset").select_option("darts")
    page.wait_for_selector(".sv-coins-dart")
    page.get_by_role("button", name="Run 1,000 rounds").click()
    expect(page.locator(".sv-coins-count")).to_have_text("1,000 rounds")


def show_trees(page):
    page.wait_for_selector(".sv-grow-view .sv-twig-node")
    page.get_by_role("button", name="Last step").click()
    page.wait_for_selector(".sv-grow-figure .main-svg")
    page.wait_for_selector(".sv-rank-small .sv-twig-svg")
    page.wait_for_selector(".sv-judge-card")


def show_cost(page):
    page.wait_for_selector("[data-part=boards]", state="attached")
    page.evaluate(UNFOLD)
    page.wait_for_function(SETTLED)
    settled(page, page.get_by_role("button", name="Load an example").click)
    for plot in ("sv-sweep", "sv-shapes", "sv-adaptive", "sv-server", "sv-law", "sv-roofline"):
        page.wait_for_selector(f"#{plot} .main-svg")


def show_models(page):
    page.wait_for_selector(".sv-models-reliability")
    for summary in page.locator(".sv-models-reliability summary").all():
        summary.click()


SHOW = {
    "Step": show_step,
    "Compare": show_compare,
    "Lossless?": show_lossless,
    "Trees": show_trees,
    "Cost": show_cost,
    "Models": show_models,
}


@pytest.mark.parametrize("tab", FIGURES)
def test_every_figure_of_a_tab_can_be_saved_with_its_facts(visit, tab):
    page = visit.open("?trace=01-chain")
    visit.step_to("Rejected")
    page.get_by_role("tab", name=tab, exact=True).click()
    SHOW[tab](page)
    wanted = [*FIGURES[tab], *AT_TIMES.get(tab, [])]
    assert sorted(page.evaluate(NAMES)) == sorted(wanted)
    page.evaluate(SPY)
    for name, fact in FIGURES[tab].items():
        file, svg = saved(page, name, "SVG")
        root = ElementTree.fromstring(svg)
        title, *facts = caption(svg)
        assert title == root.findtext(f"{SVG}title") == name[0].upper() + name[1:]
        assert fact in " ".join(facts), (name, facts)
        assert "undefined" not in file + " ".join(facts)
        assert not re.findall(rb"<(?:img|script|link|input|button[^>]*>SVG)|url\((?!.?#)", svg)
        image = image_of(page, name)
        assert image.size == (2 * int(root.get("width")), 2 * int(root.get("height")))
        box = [
            AIR,
            AIR,
            image.width - 2 * AIR,
            image.height - 2 * (AIR + 8 + 17 * (1 + len(facts))),
        ]
        assert len(image.crop(box).getcolors(1 << 20)) > 10, f"the picture of {name} is empty"
    assert page.evaluate(MISSED) == []


def test_why_these_guesses_can_be_saved(looker):
    page = looker.look("9-22-suffix")
    looker.step_until("frame.panel.why")
    file, svg = saved(page, "why these guesses", "SVG")
    assert file.startswith("specviz-9-22-suffix-round-")
    assert "Why these guesses" in svg.decode()
    assert image_of(page, "why these guesses").width > 400


def test_figure_that_is_not_on_screen_is_not_saved_and_the_page_says_so(looker):
    page = looker.look()
    assert page.locator(".sv-why").is_hidden()
    page.get_by_role("button", name="Save why these guesses as PNG").press("Enter")
    saver = page.locator(".sv-saver", has_text="why these guesses")
    expect(saver.get_by_role("status")).to_have_text("It is not on screen now.")


def test_supposed_step_is_saved_as_a_supposition(visit):
    page = visit.open("?trace=01-chain")
    visit.step_to("Rejected")
    page.locator(".sv-pin[role=slider]").press("Home")
    expect(page.locator(".sv-verdict")).to_have_text("What if?")
    _, svg = saved(page, "coin and table", "SVG")
    assert "what if, not what happened" in " ".join(caption(svg))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_picture_has_the_colours_of_the_theme(visit, theme):
    page = visit.open("?trace=01-chain")
    visit.dress(theme)
    ground = page.evaluate("getComputedStyle(document.body).getPropertyValue('--sv-bg')")
    shown = ImageColor.getrgb(ground.strip())
    image = image_of(page, "draft tree")
    assert image.getpixel((1, 1)) == image.getpixel((image.width - 2, image.height - 2)) == shown
    foot = image.crop([0, image.height - 60, image.width, image.height]).convert("L")
    darkest, lightest = foot.getextrema()
    assert lightest - darkest > 100, "its caption can be read"


def pixels_apart(page, part, name):
    """Return the share of pixels that differ clearly between a picture and the page.

    On the page a part may begin at a fraction of a pixel, so the picture may be one pixel off.
    """
    shown = Image.open(BytesIO(page.locator(part).screenshot())).convert("L")
    kept = image_of(page, name).convert("L")
    kept = kept.resize((kept.width // 2, kept.height // 2))
    shares = []
    for x, y in product((AIR, AIR - 1), repeat=2):
        moved = kept.crop((x, y, x + shown.width, y + shown.height))
        apart = [abs(a - b) > 64 for a, b in zip(shown.tobytes(), moved.tobytes(), strict=True)]
        shares.append(sum(apart) / len(apart))
    return min(shares)


def test_saved_picture_has_the_same_pixels_as_the_page(looker):
    """A lost style is noticed."""
    page = looker.look()
    looker.step_to("Rejected")
    assert pixels_apart(page, ".sv-panel", "coin and table") < 0.03


def test_saved_picture_has_the_same_pixels_as_the_page_with_larger_text(visit):
    page = visit.open()
    page.get_by_role("tab", name="Lossless?").click()
    page.wait_for_selector(".sv-sand-column")
    page.get_by_role("button", name="Larger text").click()
    page.wait_for_function("document.querySelector('.sv-sand-stage').currentCSSZoom > 1.2")
    assert pixels_apart(page, ".sv-sand-stage", "experiment") < 0.03


def test_steps_of_a_server_can_be_saved(visit):
    page = visit.open()
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.get_by_role("link", name="Your server’s numbers").click()
    paste(page, json.dumps(DETAILED))
    _, svg = saved(page, "step by step", "SVG")
    assert "Step by step" in svg.decode()
    assert "vLLM" in " ".join(caption(svg))
    assert image_of(page, "step by step").width > 300


def test_diagram_of_the_chosen_drafter_can_be_saved(visit):
    page = visit.open("?trace=01-chain")
    page.click("#sv-settings")
    name = page.locator(".sv-card:not([hidden])").get_attribute("data-drafter")
    file, svg = saved(page, "diagram", "SVG")
    assert file == f"specviz-{name}-diagram.svg"
    assert page.locator(".sv-card:not([hidden]) dd").first.inner_text() in unescape(svg.decode())
    assert image_of(page, "diagram").width > 1000


def test_frame_in_another_page_offers_no_pictures(visit):
    page = visit.page
    page.goto(f"{visit.url}?embed=1&trace=01-chain&show=tree")
    expect(page.locator(".sv-twig-svg")).to_be_visible()
    expect(page.locator(".sv-pictures")).to_be_hidden()
