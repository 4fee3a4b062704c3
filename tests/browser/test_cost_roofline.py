"""The roofline in a browser: a link with values, keyboard, example setups, a phone."""

import re

from playwright.sync_api import expect
from test_access import faint, faults

from specviz.cost.formatting import format_speedup
from specviz.cost.roofline import predict
from specviz.ui.cost.roofline import Ask, start

LINK = "?tab=cost&hardware=a100-sxm&batch=8&computing=60&siblings=2"
HOSTILE = "<img src=x onerror=window.hacked=1>"


def answer_to(**changes):
    """Return the speed-up that the page should show for these values."""
    ask = Ask.from_values({**start(), **changes})
    return f": {format_speedup(predict(ask.serving, ask.plan, ask.batch).speedup)} plain decoding"


def test_answer_for_the_values_before_a_link_does_not_stay(visit):
    page, held = visit.page, []
    before = '"h100-sxm"'  # among the values of what is sent before the link is answered

    def hold(route):
        held.append(route) if before in (route.request.post_data or "") else route.continue_()

    page.route("**/run/predict*", hold)
    page.goto(f"{visit.url}?tab=cost&hardware=a100-sxm&batch=8")
    answer = page.locator("#sv-part-roofline .sv-instrument-answer").first
    expect(answer).to_be_visible()
    page.get_by_role("slider", name="α, acceptance").press("ArrowRight")
    while len(held) < 2:
        page.wait_for_timeout(50)
    link, other = held
    link.continue_()
    expect(answer).to_contain_text("A100 SXM at batch size 8")
    other.continue_()
    expect(answer).to_contain_text("A100 SXM at batch size 8, γ = 4 and α = 0.71:")


def test_link_opens_the_roofline_with_values_that_keys_change(visit):
    page = visit.open(LINK)
    part = page.locator("#sv-part-roofline")
    answer = part.locator(".sv-instrument-answer").first
    values = {"hardware": "a100-sxm", "batch": 8, "computing": 60, "siblings": "2"}
    expect(answer).to_contain_text(answer_to(**values))
    expect(part.get_by_label("Children per node, level by level")).to_have_value("2")
    expect(part.locator(".main-svg:visible").first).to_be_visible()
    part.get_by_role("button", name="Batch 16").press("Enter")
    expect(answer).to_contain_text(answer_to(**values | {"batch": 16}))
    page.wait_for_function("location.search.includes('batch=16')")
    part.get_by_role("spinbutton", name="Batch size").fill("9")
    expect(answer).to_contain_text(answer_to(**values | {"batch": 9}))
    part.get_by_label("Children per node, level by level").fill(HOSTILE)
    expect(part.locator(".sv-notice:visible").first).to_contain_text("Siblings at each depth must")
    expect(answer).to_contain_text("at batch size 9,")
    expect(part.locator(".sv-outdated").first).to_contain_text("for the values before")
    expect(answer).to_have_css("opacity", "0.45")
    part.get_by_label("Children per node, level by level").fill("")
    part.get_by_role("button", name="House on a laptop").press("Enter")
    expect(answer).to_contain_text("on a laptop CPU")
    expect(answer).to_have_css("opacity", "1")
    expect(part.get_by_label("Number format")).to_have_value("fp32")
    assert page.evaluate("window.hacked") is None
    assert faint(page) == []
    assert faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def choose(page, dropdown, option):
    dropdown.click()
    page.get_by_role("option", name=option).click()


def test_source_of_alpha_chooses_the_drafter_and_its_tree(visit):
    page = visit.open("?tab=cost")
    drafter = page.locator("#sv-part-roofline").get_by_label("Drafter")
    expect(page.locator("#sv-roofline-speed .main-svg").first).to_be_visible()
    drafter.scroll_into_view_if_needed()
    before = drafter.bounding_box()["y"]
    choose(page, drafter, "N-gram")
    expect(page.locator(".sv-pair-from")).to_contain_text("is 0.40 (prompt lookup on")
    assert abs(drafter.bounding_box()["y"] - before) < 4, "it stays under the pointer"
    choose(page, drafter, "One-layer head")
    for source, name, verdict in (
        ("prompt lookup on", "N-gram", "There, γ = 4 would give"),
        ("EAGLE-3 on", "One-layer head", "so a round checks 59 guesses."),
    ):
        choose(page, page.get_by_label("Take α and γ from"), source)
        expect(page.locator(".sv-pair-question")).to_contain_text(verdict)
        expect(drafter).to_have_value(re.compile(name))
    choose(page, drafter, "N-gram")
    expect(page.locator(".sv-pair-from")).to_contain_text("This α belongs to EAGLE-3;")
    page.wait_for_function("location.search.includes('drafter=n-gram')")


def test_reset_buttons_of_sliders_answer_again(visit):
    page = visit.open("?tab=cost&reading=90&computing=50")
    part = page.locator("#sv-part-roofline")
    answer = part.locator(".sv-instrument-answer").first
    expect(answer).to_contain_text(answer_to(reading=90, computing=50))
    for button in part.get_by_label("Reset to default value").all():
        button.click()
    expect(answer).to_contain_text(answer_to())
    page.wait_for_function("!/reading|computing/.test(location.search)")


def test_error_is_in_sight_at_its_field(visit):
    page = visit.open("?tab=cost")
    part = page.locator("#sv-part-roofline")
    field = part.get_by_label("Children per node, level by level")
    field.evaluate("(field) => field.scrollIntoView({ block: 'end' })")
    field.fill("10")
    expect(part.locator(".sv-notice:visible").first).to_contain_text("1 to 8 guesses")
    expect(part.locator(".sv-notice:visible").first).to_be_in_viewport(ratio=1)
