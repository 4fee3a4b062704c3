"""What a link can do: show a step in a frame of another page, and hide controls."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import expect

from specviz.ui.step.replay import HEIGHTS, frame_height

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide.md"
HTML = "HTML of the frame"
HIDDEN = {
    "intro": "#sv-intro",
    "form": "#sv-run",
    "settings": "#sv-settings",
    "tabs": "[role=tablist]",
    "tools": ".sv-tools",
    "predict": ".sv-guess",
    "timeline": ".sv-time",
    "save": ".sv-pictures",
}


def test_link_button_offers_the_iframe_of_the_step_on_screen(visit):
    page = visit.open("?trace=9-01-chain&round=1&step=judge-5")
    page.get_by_role("button", name="Copy a link").click()
    box = page.get_by_role("dialog", name="This step in another page")
    expect(box).to_be_visible()
    for part in ("tree", "timeline"):
        box.get_by_role("checkbox", name=part).click()
    html = box.get_by_role("textbox", name=HTML).input_value()
    address = unescape(re.search(r'src="([^"]*)"', html)[1])
    assert address == (
        f"{visit.url}?embed=1&trace=9-01-chain&round=1&step=judge-5&show=sentence,coin,timeline"
    )
    assert f'height="{frame_height(("sentence", "coin", "timeline"))}"' in html
    visit.ask("back()")
    before = visit.ask("frame.step.id")
    expect(box.get_by_role("textbox", name=HTML)).to_have_value(re.compile(f"step={before}&"))
    visit.ask("next()")
    sentence = visit.caption()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    page.goto(address)
    expect(page.locator(".sv-say")).to_have_text(sentence)
    expect(page.locator(".sv-tree-part")).to_be_hidden()
    expect(page.locator(".sv-time")).to_be_visible()


def test_link_button_offers_no_iframe_on_other_tabs(visit):
    page = visit.open("?tab=models")
    page.get_by_role("button", name="Copy a link").click()
    expect(page.locator(".sv-copy")).to_have_class(re.compile("sv-said-so"))
    expect(page.locator(".sv-embed")).to_have_count(0)


def test_reloaded_iframe_stays_at_its_step(visit):
    page = visit.page
    page.goto(f"{visit.url}?embed=1&trace=01-chain&round=1&show=sentence,controls")
    page.locator("[data-do=next]").click()
    page.wait_for_url(re.compile("step="))
    sentence = visit.caption()
    page.reload()
    expect(page.locator(".sv-say")).to_have_text(sentence)


@pytest.mark.parametrize("part", HEIGHTS)
def test_iframe_is_high_enough_for_its_part(visit, part):
    page = visit.page
    page.set_viewport_size({"width": 720, "height": frame_height((part,))})
    for step in ("round=1&step=judge-5", "round=1&step=score", "round=0"):
        page.goto(f"{visit.url}?embed=1&trace=9-01-chain&{step}&show={part}")
        page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
        over = page.evaluate("document.documentElement.scrollHeight - innerHeight")
        assert over <= 0, (step, over)


@pytest.mark.parametrize("name", HIDDEN)
def test_controls_hidden_by_a_link_can_be_shown_again(visit, name):
    page = visit.open(f"?trace=01-chain&hide={name}")
    for other, selector in HIDDEN.items():
        inside = name == "form" and other == "settings"
        if other == name or inside:
            expect(page.locator(selector).first).to_be_hidden()
        elif other != "intro":
            expect(page.locator(selector).first).to_be_visible()
    page.get_by_role("button", name="Show the controls that this link hides").click()
    if name != "intro":
        expect(page.locator(HIDDEN[name]).first).to_be_visible()
    assert "hide" not in page.url


def test_unknown_control_in_a_link_hides_nothing_and_is_reported(visit):
    page = visit.open("?trace=01-chain&hide=<b>x</b>,tabs")
    expect(page.locator(".sv-notice")).to_have_text(
        f"This link hides “<b>x</b>”, which is none of: {', '.join(HIDDEN)}."
    )
    expect(page.locator("[role=tablist]").first).to_be_hidden()


def test_guide_lists_every_control_that_a_link_can_hide():
    section = GUIDE.read_text("utf-8").split("### A link with fewer controls")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [*HIDDEN]
