"""Figures saved as pictures: all of them, as SVG and as PNG, with what they show as text."""

from __future__ import annotations

import re
from html import unescape
from io import BytesIO
from itertools import product
from xml.etree import ElementTree

from PIL import Image, ImageChops, ImageColor
from playwright.sync_api import expect
from visit import SHARES, share

SVG = "{http://www.w3.org/2000/svg}"
AIR = 16  # px of margin around a picture
# By tab, the figures whose pictures say this below.
FIGURES = {
    "Step": {
        "drafts for": ["draft tree", "target pass", "timeline"],
        "Round ": ["text"],
        "recorded": ["coin and table"],
    },
    "Compare": {"recorded": ["race", "result"]},
    "Lossless?": {"The rule that fits": ["experiment"]},
}
# Figures that are on screen only at times; other tests save them.
AT_TIMES = {"Step": ["why these guesses"]}
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
  const drawn = "figure, [role=img], .main-svg, .sv-twig-svg, .sv-bars, .sv-sand-bars";
  return [...document.querySelectorAll(drawn)]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }))
    .filter((each) => each.getBoundingClientRect().width > 20)
    .filter((each) => !each.closest(".sv-instrument"))
    .filter((each) => !window.kept.some((part) => part.contains(each) || each.contains(part)))
    .map((each) => each.outerHTML.slice(0, 200));
}"""
ON_STEP = "document.querySelector('#sv-sharing')?.parentElement.checkVisibility()"
NAMES = """() => [...document.querySelectorAll("[aria-label^='Save '][aria-label$=' as SVG']")]
  .filter((each) => (each.closest("#sv-sharing")?.parentElement ?? each).checkVisibility())
  .map((each) => each.ariaLabel.slice(5, -7))"""


def saved(page, name, kind):
    """Press a button, and return the name and the bytes of the file that it saves."""
    on_step = page.evaluate(ON_STEP)
    with page.expect_download() as download:
        if on_step:
            page.evaluate(SHARES, True)
        page.click(f"[aria-label='Save {name} as {kind}']:visible")
        if on_step:
            page.evaluate(SHARES, False)
    file = download.value
    assert re.fullmatch(r"specviz-[\w.γ-]+", file.suggested_filename), file.suggested_filename
    assert file.suggested_filename.endswith(f"{name.replace(' ', '-')}.{kind.lower()}")
    return file.suggested_filename, file.path().read_bytes()


def image_of(page, name):
    return Image.open(BytesIO(saved(page, name, "PNG")[1])).convert("RGB")


def share_apart(one, other):
    """Return the share of pixels that differ clearly between two grey pictures of one size."""
    counts = ImageChops.difference(one, other).histogram()
    return sum(counts[65:]) / sum(counts)


def caption(svg):
    """Return the lines of text below a figure, from its SVG."""
    root = ElementTree.fromstring(svg)
    return [line.text for line in root.findall(f"{SVG}text/{SVG}tspan")]


# By tab, what is there once its figures are drawn.
DRAWN = {
    "Compare": (".sv-race-lanes > *",),
    "Lossless?": (".sv-sand-column",),
}


def draw_all(page, tab):
    """Open a tab, and wait until all its figures are drawn."""
    page.get_by_role("tab", name=tab, exact=True).click()
    for part in DRAWN.get(tab, ()):
        page.wait_for_selector(part, state="attached")


def check_picture(page, name, fact):
    """Save a figure as SVG and PNG, and check what is drawn and said below it."""
    file, svg = saved(page, name, "SVG")
    root = ElementTree.fromstring(svg)
    title, *facts = caption(svg)
    assert title == root.findtext(f"{SVG}title") == name[0].upper() + name[1:]
    assert fact in " ".join(facts), (name, facts)
    assert "undefined" not in file + " ".join(facts), name
    assert not re.findall(rb"<(?:img|script|link|input|button[^>]*>SVG)|url\((?!.?#)", svg), name
    image = image_of(page, name)
    assert image.size == (2 * int(root.get("width")), 2 * int(root.get("height"))), name
    foot = AIR + 8 + 17 * (1 + len(facts))
    box = [AIR, AIR, image.width - 2 * AIR, image.height - 2 * foot]
    assert len(image.crop(box).getcolors(1 << 20)) > 10, f"the picture of {name} is empty"


def pixels_apart(page, part, name):
    """Return the share of pixels that differ clearly from the page, at best one pixel off."""
    shown = Image.open(BytesIO(page.locator(part).screenshot())).convert("L")
    kept = image_of(page, name).convert("L")
    kept = kept.resize((kept.width // 2, kept.height // 2))
    return min(
        share_apart(shown, kept.crop((x, y, x + shown.width, y + shown.height)))
        for x, y in product((AIR, AIR - 1), repeat=2)
    )


def test_figure_of_an_instrument_is_saved_with_its_sentence(visit):
    page = visit.open("?tab=cost&part=formula")
    page.wait_for_selector("#sv-formula-speed .main-svg")
    said = page.locator("#sv-formula-speed .sv-figure-plot").get_attribute("aria-label")
    with page.expect_download() as download:
        page.locator("#sv-formula-speed").get_by_role("button", name="SVG").click()
    assert re.fullmatch(r"specviz-[\w-]+\.svg", download.value.suggested_filename)
    root = ElementTree.fromstring(download.value.path().read_bytes())
    text = " ".join(node.text or "" for node in root.iter(f"{SVG}tspan"))
    assert said.split(".")[0] in re.sub(r"\s+", " ", text)


def test_every_figure_of_every_tab_can_be_saved_with_its_facts(visit):
    page = visit.open("?trace=01-chain")
    visit.step_to("Rejected")
    page.evaluate(SPY)
    for tab, figures in FIGURES.items():
        draw_all(page, tab)
        wanted = [name for names in (*figures.values(), AT_TIMES.get(tab, [])) for name in names]
        assert sorted(page.evaluate(NAMES)) == sorted(wanted)
        for fact, names in figures.items():
            for name in names:
                check_picture(page, name, fact)
        assert page.evaluate(MISSED) == [], f"not saved on {tab}"
    page.get_by_role("tab", name="Lossless?").click()
    page.get_by_role("button", name="Larger text").click()
    page.wait_for_function("document.querySelector('.sv-sand-stage').currentCSSZoom > 1.2")
    assert pixels_apart(page, ".sv-sand-stage", "experiment") < 0.03, "with larger text"


def save_diagram(page):
    """Save the diagram of the chosen drafter."""
    page.click("#sv-settings")
    card = page.locator(".sv-card:not([hidden])")
    file, svg = saved(page, "diagram", "SVG")
    assert file == f"specviz-{card.get_attribute('data-drafter')}-diagram.svg"
    assert card.locator("dd").first.inner_text() in unescape(svg.decode())
    assert image_of(page, "diagram").width > 1000


def test_pictures_of_simple_show_what_is_on_screen(looker):
    page = looker.look()
    looker.step_to("Rejected")
    page.keyboard.press("d")
    expect(page.locator(".sv-picture .sv-col").first).to_be_visible()
    page.evaluate(SHARES, True)
    assert page.evaluate(NAMES) == ["text", "picture", "time rows"]
    page.evaluate(SHARES, False)
    for part, name in ((".sv-picture", "picture"), (".sv-lanes", "time rows")):
        assert pixels_apart(page, part, name) < 0.03, name
    page.keyboard.press("d")


def test_picture_of_a_step_shows_what_is_on_screen(looker):
    page = looker.look()
    looker.step_to("Rejected")
    assert pixels_apart(page, ".sv-panel", "coin and table") < 0.03, "a style is lost"
    page.locator(".sv-pin[role=slider]").press("Home")
    expect(page.locator(".sv-verdict")).to_have_text("What if?")
    _, svg = saved(page, "coin and table", "SVG")
    assert "what if, not what happened" in " ".join(caption(svg))
    assert page.locator(".sv-why").is_hidden()
    share(page, "Save why these guesses as PNG")
    saver = page.locator(".sv-saver", has_text="why these guesses")
    expect(saver.locator("[role=status]")).to_have_text("It is not on screen now.")
    for theme in ("light", "dark"):
        looker.dress(theme)
        ground = page.evaluate("getComputedStyle(document.body).getPropertyValue('--sv-bg')")
        image = image_of(page, "draft tree")
        corners = [image.getpixel(at) for at in ((1, 1), (image.width - 2, image.height - 2))]
        assert corners == [ImageColor.getrgb(ground.strip())] * 2, theme
        foot = image.crop([0, image.height - 60, image.width, image.height]).convert("L")
        darkest, lightest = foot.getextrema()
        assert lightest - darkest > 100, f"its caption can be read: {theme}"
    looker.show("9-22-suffix")
    looker.step_until("frame.panel.why")
    file, svg = saved(page, "why these guesses", "SVG")
    assert file.startswith("specviz-9-22-suffix-round-")
    assert "Why these guesses" in svg.decode()
    assert image_of(page, "why these guesses").width > 400
    save_diagram(page)
    looker.dress("light")
    page.click("#sv-settings button")
