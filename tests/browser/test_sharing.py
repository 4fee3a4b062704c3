"""What a link can do: show a step in a frame of another page, and hide controls."""

from __future__ import annotations

import re
from html import unescape

from playwright.sync_api import expect
from test_access import faults

from specviz.ui.step.replay import HEIGHTS, frame_height

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
# Links, each of which hides these; together all. What is hidden is inside nothing else hidden.
LINKS = (("intro", "settings", "tools", "timeline"), ("form", "tabs", "predict", "save"))


# Shows this part of the player instead of the one that the link asks for.
SHOW = """(part) => {
  const { classList } = document.body;
  const [shown] = [...classList].filter((each) => each.startsWith("sv-show-"));
  classList.replace(shown, "sv-show-" + part);
}"""
# The steps of the first round with a draft at which the content is higher than its frame.
TOO_HIGH = """async () => {
  const player = window.specviz["sv-step"];
  const found = [];
  for (player.go(1, 0); player.cursor.round < 2; player.next()) {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const over = document.documentElement.scrollHeight - innerHeight;
    if (over > 0) found.push([player.cursor, over]);
  }
  return found;
}"""


def check_heights(visit):
    """Check that a frame is high enough for each part of the player."""
    page = visit.page
    page.goto(f"{visit.url}?embed=1&trace=9-01-chain&show=race")  # drawn once
    page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
    for part in sorted(HEIGHTS, key="race".__ne__):
        page.evaluate(SHOW, part)
        page.set_viewport_size({"width": 720, "height": frame_height((part,))})
        assert page.evaluate(TOO_HIGH) == [], part


def test_iframe_shows_its_step_also_after_a_reload_and_is_high_enough(visit):
    page = visit.open("?trace=9-01-chain&round=1&step=judge-5")
    page.get_by_role("button", name="Copy a link").click()
    box = page.get_by_role("dialog", name="This step in another page")
    for part in ("tree", "timeline"):
        box.get_by_role("checkbox", name=part).click()
    html = box.get_by_role("textbox", name=HTML)
    address = unescape(re.search(r'src="([^"]*)"', html.input_value())[1])
    assert address == (
        f"{visit.url}?embed=1&trace=9-01-chain&round=1&step=judge-5&show=sentence,coin,timeline"
    )
    assert f'height="{frame_height(("sentence", "coin", "timeline"))}"' in html.input_value()
    visit.ask("back()")
    expect(html).to_have_value(re.compile(f"step={visit.ask('frame.step.id')}&"))
    visit.ask("next()")
    sentence = visit.caption()
    page.keyboard.press("Escape")
    page.goto(address)
    expect(page.locator(".sv-say")).to_have_text(sentence)
    expect(page.locator(".sv-tree-part")).to_be_hidden()
    expect(page.locator(".sv-pictures")).to_be_hidden()
    expect(page.locator(".sv-time")).to_be_visible()
    page.goto(f"{visit.url}?embed=1&trace=01-chain&round=1&show=sentence,controls")
    page.locator("[data-do=next]").click()
    page.wait_for_url(re.compile("step="))
    sentence = visit.caption()
    page.reload()
    expect(page.locator(".sv-say")).to_have_text(sentence)
    check_heights(visit)


def test_menu_shares_the_step_by_keyboard_and_fits_a_phone(visit):
    page = visit.open("?trace=9-01-chain&round=1&step=judge-5")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    menu = page.get_by_role("dialog", name="Share this run")
    button = page.get_by_role("button", name="Share", exact=True)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        button.scroll_into_view_if_needed()
        button.press("Enter")
        expect(menu).to_be_in_viewport(ratio=1)
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Tab")
        expect(menu.get_by_role("button").first).to_be_focused()
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()
        expect(button).to_be_focused()
    button.click()
    page.bring_to_front()
    menu.get_by_role("button", name="Copy the link to this step").click()
    expect(menu.get_by_role("status").first).to_have_text("Link copied")
    assert "step=judge-5" in page.evaluate("navigator.clipboard.readText()")
    menu.get_by_role("button", name="Show this step in a course page").click()
    expect(menu).to_be_hidden()
    box = page.get_by_role("dialog", name="This step in another page")
    expect(box).to_be_in_viewport(ratio=1)


def test_controls_hidden_by_a_link_can_be_shown_again(visit):
    for names in LINKS:
        page = visit.open(f"?trace=01-chain&hide={','.join(names)}")
        gone = {*names, "settings"} if "form" in names else {*names}
        for name, selector in HIDDEN.items():
            if name in gone:
                expect(page.locator(selector).first, name).to_be_hidden()
            elif name != "intro":
                expect(page.locator(selector).first, name).to_be_visible()
        page.get_by_role("button", name="Show the controls that this link hides").click()
        for name in gone - {"intro"}:
            expect(page.locator(HIDDEN[name]).first, name).to_be_visible()
        assert "hide" not in page.url
    page = visit.open("?trace=01-chain&hide=<b>x</b>,tabs")
    expect(page.locator(".sv-notice")).to_have_text(
        f"This link hides “<b>x</b>”, which is none of: {', '.join(HIDDEN)}."
    )
    expect(page.locator("[role=tablist]").first).to_be_hidden()
