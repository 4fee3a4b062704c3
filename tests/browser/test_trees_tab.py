"""The Trees tab in a browser: recorded growth, steps, and links between the views."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect
from test_access import faint, faults

GROW = "window.specviz.grow"


IDLE = " && ".join(
    f"window.specviz.{part}.question.idle" for part in ("grow", "ranking", "judging")
)
# The last step of the whole tree with nothing selected, and every section requested again.
AGAIN = """() => {
  const find = (selector) => document.querySelector(selector);
  for (const name of ["shown=all", "move=last"]) find(`.sv-grow [data-${name}]`).click();
  window.specviz.grow.view.picked = -1;
  for (const part of ["grow", "rank", "judge"])
    find(`#sv-${part}-place`).dispatchEvent(new Event("change"));
}"""


@pytest.fixture
def trees(looker):
    """The tab in its initial state, with all answers received."""
    looker.arrive(lambda: opened(looker))
    page = looker.page
    yield page
    looker.put_back()
    page.evaluate(AGAIN)
    page.wait_for_function(IDLE)


def opened(visit):
    page = visit.page
    page.goto(visit.url)
    page.get_by_role("tab", name="Trees").click()
    page.wait_for_selector(".sv-grow-view .sv-twig-node")
    page.wait_for_selector(".sv-rank-ways tbody tr")
    page.wait_for_selector(".sv-judge-card")
    expect(page.locator(".sv-grow-kindword")).to_have_text("Start")
    page.get_by_role("button", name="Last step").click()
    expect(page.locator(".sv-grow-kindword")).to_have_text("Verify")


def settled(page):
    page.wait_for_function(f"{GROW}.question.idle")


def test_recorded_tree_is_shown_at_once_and_grows_step_by_step(trees):
    expect(trees.locator(".sv-grow-source")).to_contain_text("recorded")
    trees.get_by_role("button", name="First step").click()
    expect(trees.locator(".sv-grow-kindword")).to_have_text("Start")
    expect(trees.locator(".sv-grow-later")).to_be_visible()
    expect(trees.get_by_role("button", name="Next: expand")).to_be_enabled()
    expect(trees.locator(".sv-grow-lengths tr").last).to_contain_text("?")
    assert trees.locator(".sv-grow-view .sv-twig-node").count() == 1
    trees.locator("[data-move=next]").click()
    assert trees.locator(".sv-grow-view .sv-twig-is-fresh").count() == 3
    for _ in range(40):
        if trees.locator(".sv-grow-kindword").inner_text() == "Rerank":
            break
        trees.locator("[data-move=next]").click()
    assert trees.locator(".sv-grow-view .sv-twig-is-kept").count() == 10
    expect(trees.locator(".sv-grow-matrix")).to_be_visible()


def test_selected_node_is_highlighted_in_tree_mask_text_and_numbers(trees):
    trees.mouse.move(0, 0)  # where another test left it, the pointer may be on a guess
    trees.evaluate(f"{GROW}.view.picked = -1")
    trees.locator(".sv-grow-view .sv-twig-node").first.focus()
    for key in ("ArrowRight", "ArrowRight"):
        trees.keyboard.press(key)
    assert trees.locator(".sv-grow-text .sv-grow-chip").count() == 2
    assert trees.locator(".sv-grow-view .sv-twig-node.sv-twig-on").count() == 3
    assert trees.locator(".sv-grow-cross").get_attribute("d")
    expect(trees.locator(".sv-grow-one")).to_contain_text("rank among candidates")
    box = trees.locator(".sv-grow-matrix").bounding_box()
    trees.mouse.move(box["x"] + 40, box["y"] + 25)
    assert trees.evaluate(f"{GROW}.view.picked") == 0


def test_controls_grow_another_tree_and_invalid_values_show_an_error(trees):
    trees.locator("#sv-grow-preset").select_option("1")
    settled(trees)
    assert trees.evaluate(f"{GROW}.view.answer.nodes.length") > 300
    assert trees.locator(".sv-grow-view .sv-twig-node").count() < 100, "as many as are in view"
    trees.get_by_role("button", name="Tree only").click()
    expect(trees.locator(".sv-grow-view .sv-twig-node")).to_have_count(60)
    expect(trees.locator("[data-dial=budget] small")).to_contain_text("num_draft_tokens 60")
    trees.locator("#sv-grow-budget").fill("9")
    settled(trees)
    assert len(trees.evaluate(f"{GROW}.view.answer.kept")) == 10
    trees.locator("#sv-grow-kind").select_option("own")
    trees.locator("#sv-grow-own").fill("[-1, 2, 1]")
    expect(trees.locator(".sv-grow-notice")).to_contain_text("form a cycle")
    trees.locator("#sv-grow-own").fill("[-1, 0, 0]")
    expect(trees.locator(".sv-grow-notice")).to_be_hidden()
    trees.get_by_text("The same tree in the formats of SGLang").click()
    expect(trees.locator(".sv-grow-lists")).to_contain_text("[1,-1,-1]")
    trees.context.grant_permissions(["clipboard-read", "clipboard-write"])
    trees.get_by_role("button", name="Copy retrieve_next_token").click()
    expect(trees.locator(".sv-copy-text", has_text="Copied")).to_have_count(1)
    assert trees.evaluate("navigator.clipboard.readText()") == "[1,-1,-1]"


def test_saved_picture_contains_the_whole_tree(trees):
    trees.locator("#sv-grow-preset").select_option("1")
    settled(trees)
    with trees.expect_download() as download:
        trees.get_by_role("button", name="Save draft tree as SVG").click()
    nodes = trees.evaluate(f"{GROW}.view.answer.nodes.length")
    assert download.value.path().read_text().count("data-node") == nodes


def test_tree_is_on_the_first_screen(visit):
    page = visit.page
    for width, height, larger in ((1280, 800, False), (390, 844, False), (1024, 768, True)):
        page.set_viewport_size({"width": width, "height": height})
        page.add_init_script(f"sessionStorage.setItem('sv-large', '{str(larger).lower()}')")
        page.goto(visit.url + "?tab=trees")
        page.locator(".sv-grow-view .sv-twig-node").wait_for()
        for _ in range(3):
            page.locator("[data-move=next]").click()
        for name in (".sv-grow-view .sv-twig-node >> nth=1", "[data-move=next]", ".sv-grow-said"):
            box = page.locator(name).bounding_box()
            assert 0 <= box["y"] < box["y"] + box["height"] <= height, (width, name)


def test_link_opens_the_tree_at_its_step(visit):
    page = visit.page
    page.goto(visit.url + "?tab=trees")
    page.locator(".sv-grow-view .sv-twig-node").wait_for()
    for _ in range(5):
        page.locator("[data-move=next]").click()
    page.evaluate("window.dispatchEvent(new CustomEvent('sv-link', { detail: { without: [] } }))")
    page.goto(page.url)
    page.locator(".sv-grow-view .sv-twig-node >> nth=1").wait_for()
    expect(page.locator(".sv-grow-count")).to_contain_text("step 6 of")


def test_link_restores_a_custom_shape_and_fills_in_a_custom_text(visit):
    opened(visit)
    page = visit.page
    place = page.evaluate(f"{GROW}.state.place")
    text = json.dumps(["<b>Once</b>", "medusa", "7"])
    own = {"tree": f"{place},own,4,3,10,1,warm", "tree-shape": "[-1, 0, 0]", "tree-text": text}
    page.goto(f"{visit.url}?{urlencode(own)}")
    page.get_by_role("tab", name="Trees").click()
    page.wait_for_selector(".sv-grow-view .sv-twig-node")
    assert page.evaluate(f"{GROW}.view.answer.nodes.map(({{ parent }}) => parent)") == [-1, 0, 0]
    values = [page.input_value(f"#sv-grow-{name}") for name in ("own", "prompt", "drafter", "skip")]
    assert values == ["[-1, 0, 0]", "<b>Once</b>", "medusa", "7"]
    page.evaluate("window.dispatchEvent(new CustomEvent('sv-link', { detail: { without: [] } }))")
    assert parse_qs(urlsplit(page.url).query)["tree-shape"] == ["[-1, 0, 0]"]


def test_copied_link_keeps_a_text_that_was_typed_but_not_drafted(visit):
    opened(visit)
    page = visit.page
    page.locator(".sv-grow-live summary").click()
    page.locator("#sv-grow-prompt").fill("My own text")
    link = page.locator(".sv-copy")
    link.click()
    expect(link).to_contain_text("It fills in your text")
    assert page.evaluate("document.querySelector('.sv-copy').matches('.sv-said-so')")
    page.goto(page.url)
    expect(page.locator("#sv-grow-prompt")).to_have_value("My own text")


def test_ranking_lab_marks_rounding_changes_and_compares_two_rules(trees):
    trees.locator("#sv-rank-place").select_option("example:other-tree")
    expect(trees.locator(".sv-rank-says")).to_contain_text("0.0812")
    expect(trees.locator(".sv-rank-view .sv-twig-is-gained")).to_have_count(1)
    trees.get_by_role("button", name="product, float32").click()
    expect(trees.locator(".sv-rank-view .sv-twig-is-gained")).to_have_count(0)
    expect(trees.locator(".sv-rank-verdict")).to_contain_text("In float32")
    expect(trees.locator(".sv-judge-card")).to_have_count(2)
    trees.get_by_role("button", name="Average over").click()
    expect(trees.locator(".sv-judge-mean")).to_contain_text("traversal", timeout=30_000)


def test_drafting_runs_live_on_an_entered_text(trees):
    trees.get_by_text("Use your own text, live").click()
    trees.get_by_label("Prompt").last.fill("")
    trees.get_by_role("button", name="Draft here, live").click()
    expect(trees.locator(".sv-grow-notice")).to_contain_text("Enter a prompt")
    trees.locator("#sv-grow-prompt").fill("Once upon a time")
    trees.locator("#sv-grow-drafter").select_option("medusa")
    ink = "getComputedStyle(document.querySelector('#sv-recorded input')).color"
    before = trees.evaluate(ink)
    trees.get_by_role("button", name="Draft here, live").click()
    expect(trees.locator(".sv-grow-source")).to_contain_text("live", timeout=60_000)
    assert trees.evaluate(ink) == before, "Step still shows the recorded run that its list names"
    settled(trees)
    expect(trees.locator(".sv-grow-source")).to_contain_text("Medusa")
    place = trees.evaluate(f"{GROW}.state.place")
    trees.locator("#sv-judge-place").select_option(place)
    trees.locator("#sv-rank-place").select_option(place)
    trees.wait_for_function(
        "window.specviz.ranking.question.idle && window.specviz.judging.question.idle"
    )
    expect(trees.locator(".sv-judge-notice, .sv-rank-notice").first).to_be_hidden()
    expect(trees.locator(".sv-judge-notice")).to_be_hidden()


def test_trees_tab_passes_axe(trees):
    assert faults(trees) == []  # none of it changes with the theme
    readable_and_within(trees)


def test_trees_tab_passes_axe_in_dark_mode(looker, trees):
    """The figure, which is drawn again, is checked as well."""
    looker.dress("dark")
    readable_and_within(trees)
    looker.dress("light")


def readable_and_within(page):
    """Assert enough contrast for every text, and no overflow on a phone."""
    assert faint(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("[data-move=next]").click()
    expect(page.locator(".sv-grow-kindword")).to_have_text("Start")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
