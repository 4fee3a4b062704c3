"""The Trees tab in a browser: recorded growth, steps, links, and drafting on a visitor's text."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import expect
from test_access import faint, faults

from specviz.glossary import LINKS

GROW, RANKING, JUDGING = (f"#sv-part-{name}" for name in ("grow", "ranking", "judging"))
ANSWER = f"{GROW} .prose.sv-instrument-answer"
TREE = "#sv-grow-tree"
GROWN = "1-eagle3-story,dynamic,4,3,10,1,warm,500"  # a link to its last step


def opened(visit, tree, **others):
    """Open a link to a tree, and wait until it is drawn."""
    page = visit.page
    page.goto(f"{visit.url}?{urlencode({'tab': 'trees', 'tree': tree, **others})}")
    page.locator(f"{TREE} .main-svg").first.wait_for()
    return page


def slider(page, name):
    return page.locator(GROW).get_by_role("slider", name=name)


def words(page, figure=TREE):
    """Return the texts that a figure draws."""
    return page.locator(f"{figure} .main-svg text")


def test_trees_grow_step_by_step_and_guesses_are_selected(visit):
    trees = opened(visit, "")
    expect(trees.locator(ANSWER)).to_contain_text("Verify. The target judges 3 guesses")
    expect(trees.locator(GROW)).to_contain_text("recorded · EAGLE-3 drafts for House")
    expect(words(trees).get_by_text("✓")).to_have_count(3)
    trees.get_by_role("button", name="Watch it grow").click()
    expect(trees.locator(ANSWER)).to_contain_text("Start.")
    expect(words(trees, "#sv-grow-lengths").get_by_text("?", exact=True)).to_have_count(1)
    expect(words(trees)).to_have_count(2)
    trees.get_by_role("button", name="Next: expand").click()
    expect(words(trees).get_by_text("−")).to_have_count(3)
    expect(trees.locator("#sv-grow-mask")).to_be_hidden()
    for name in ("Back", "Last step"):
        trees.get_by_role("button", name=name, exact=True).click()
    expect(trees.locator(ANSWER)).to_contain_text("Verify.")
    expect(trees.locator("#sv-grow-mask")).to_be_visible()
    slider(trees, "Selected guess").press("ArrowRight")
    expect(trees.locator(GROW)).to_contain_text("Selected: ␣thought → ␣it")
    expect(trees.locator(GROW)).to_contain_text("1 of 30")
    word = words(trees).get_by_text("␣would", exact=True).first
    word.scroll_into_view_if_needed()
    box = word.bounding_box()
    trees.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(trees.locator(GROW)).to_contain_text("Selected: ␣thought → ␣it → ␣would")


def test_large_tree_scrolls_to_what_its_step_is_about_and_a_shape_is_typed(visit):
    trees = opened(visit, GROWN)
    choose(trees.locator(GROW), "Preset size", "SGLang 6, 10, 60")
    expect(slider(trees, "Budget")).to_have_value("59")
    expect(trees.locator(ANSWER)).to_contain_text("Verify.")
    expect(words(trees).get_by_text("−")).to_have_count(460)
    expect(words(trees).get_by_text("✓").first).to_be_in_viewport()
    trees.get_by_role("radio", name="Tree only").press("Space")
    expect(words(trees).get_by_text("−")).to_have_count(59)
    choose(trees.locator(GROW), "Shape", "Your own, as JSON")
    shape = trees.get_by_label("A JSON list of parents")
    shape.fill("[-1, 2, 1]")
    expect(trees.locator(f"{GROW} .prose.sv-notice")).to_contain_text("form a cycle")
    shape.fill("[-1, 0, 0]")
    expect(trees.locator(f"{GROW} .prose.sv-notice")).to_be_hidden()
    trees.get_by_role("button", name="The same tree in the formats of SGLang").click()
    expect(trees.locator(".prose.sv-formats")).to_contain_text("[1,-1,-1]")
    assert parse_qs(urlsplit(trees.url).query)["tree-shape"] == ["[-1, 0, 0]"]


def test_links_restore_the_step_the_shape_and_the_typed_text(visit):
    text = json.dumps(["<b>Once, twice</b>", "medusa", "7"])
    own = {"tree-shape": "[-1, 0, 0]", "tree-text": text}
    page = opened(visit, "2-eagle2-dialogue,own,4,3,10,1,cold", **own)
    expect(page.locator(GROW)).to_contain_text("EAGLE-2 drafts for House")
    grow = page.locator(GROW)
    expect(grow.get_by_role("radio", name="0", exact=True)).to_be_checked()
    expect(page.get_by_label("A JSON list of parents")).to_have_value("[-1, 0, 0]")
    expect(page.locator("#sv-grow-prompt textarea")).to_be_visible()
    expect(page.locator("#sv-grow-prompt textarea")).to_have_value("<b>Once, twice</b>")
    expect(page.get_by_label("Tokens into the answer")).to_have_value("7")
    for _ in range(3):
        before = page.locator(ANSWER).inner_text()
        page.locator(".sv-grow-next").click()
        expect(page.locator(ANSWER)).not_to_have_text(before)
    address = parse_qs(urlsplit(page.url).query)
    assert address["tree"] == ["2-eagle2-dialogue,own,4,3,10,1,cold,3"]
    assert json.loads(address["tree-text"][0]) == json.loads(text)
    page = opened(visit, "1-eagle3-story,dynamic,4,3,10,1,warm,4")
    expect(slider(page, "Step")).to_have_value("4")
    the_tree_is_on_the_first_screen(page)


def the_tree_is_on_the_first_screen(page):
    """Look at windows of several sizes, the last one with larger text."""
    for width, height in ((1280, 800), (390, 844), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        if width == 1024:
            page.get_by_role("button", name="Larger text").click()
        page.evaluate("scrollTo(0, 0)")
        for part in (words(page).get_by_text("last token"), page.locator(".sv-grow-next")):
            box = part.bounding_box()
            assert 0 <= box["y"] < box["y"] + box["height"] <= height, (width, part)


def choose(part, label, value):
    """Choose from a dropdown by keyboard."""
    field = part.get_by_role("combobox", name=label, exact=True)
    field.fill(value)
    field.press("Enter")


def test_instruments_compare_rules_on_examples_and_on_a_live_draft(visit):
    page = visit.page
    page.goto(visit.url + "?tab=trees&ranked=example:deep-sum")
    ranking, judging = page.locator("#sv-part-rounding"), page.locator(JUDGING)
    expect(ranking).to_contain_text("both totals are −5.8125")
    choose(ranking, "Tree", "Constructed: Rounding changes the tree")
    expect(ranking).to_contain_text("1 guess is kept here that exact ranking drops (‘c’)")
    expect(words(ranking, "#sv-rounding-tree").get_by_text("0.081055")).to_have_count(2)
    expect(ranking.get_by_role("radio", name="products")).to_be_checked()
    ranking.get_by_role("radio", name="sums of logs").press("Space")
    expect(ranking.get_by_text("sums of logs, bfloat16").first).to_have_css("font-weight", "700")
    ranking.get_by_role("radio", name="float32").press("Space")
    expect(ranking).to_contain_text("The same tree as with exact ranking.")
    assert parse_qs(urlsplit(page.url).query)["ranked"] == ["example:other-tree"]
    parents = page.locator("#sv-part-parents")
    parents.get_by_role("button", name="Show details and controls").click()
    expect(parents).to_contain_text("falls from 1.46 to 0.70")
    page.get_by_role("tab", name="Trees").click()
    page.locator(RANKING).get_by_role("button", name="Show details and controls").click()
    expect(page.locator(RANKING)).to_contain_text("in the same order")
    judging.get_by_role("button", name="Show details and controls").click()
    expect(judging).to_contain_text("Over all coins, top-down accepts 1.512 guesses of tree 1")
    judging.get_by_role("slider").press("ArrowRight")
    expect(judging).to_contain_text("guesses of tree 2")
    judging.get_by_label("Average over").press("Space")
    expect(judging).to_contain_text("Over 600 sampled trees")
    judging.get_by_label("Average over").press("Space")  # it takes its time for a live draft
    a_live_draft_is_listed_in_both(page, page.locator(RANKING), judging)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def a_live_draft_is_listed_in_both(page, ranking, judging):
    grow = page.locator(GROW)
    grow.get_by_role("button", name="Use your own text, live").click()
    prompt = page.locator("#sv-grow-prompt textarea")
    prompt.fill("")
    page.get_by_role("button", name="Draft here, live").click()
    expect(grow).to_contain_text("Enter a prompt")
    prompt.fill("Once upon a time")
    choose(grow, "Drafter", "Medusa")
    page.get_by_role("button", name="Draft here, live").click()
    expect(grow).to_contain_text("live · Medusa drafts for House")
    assert "tree" not in parse_qs(urlsplit(page.url).query), "nobody else can open it"
    choose(ranking, "Tree", "Live: Once upon a time")
    choose(judging, "Position", "Live: Once upon a time")
    for drawing in (words(ranking, "#sv-ranking-tree"), words(judging, "#sv-judging-traversal")):
        expect(drawing.get_by_text("␣little", exact=True).first).to_be_visible()
    expect(page.locator(".sv-notice:visible")).to_have_count(0)


def test_trees_tab_passes_axe_and_contrast_checks(looker):
    looker.arrive(lambda: opened(looker, GROWN), "Trees")
    trees = looker.page
    for part in (RANKING, JUDGING):
        trees.locator(part).get_by_role("button", name="Show details and controls").click()
        trees.wait_for_selector(f"{part} .main-svg")
    trees.mouse.move(0, 0)
    assert faults(trees) == []  # none of it changes with the theme
    for theme in ("light", "dark"):
        looker.dress(theme)
        assert faint(trees) == [], theme
    looker.dress("light")
    trees.set_viewport_size({"width": 390, "height": 844})
    trees.locator(".sv-grow-next").click()
    expect(trees.locator(ANSWER)).to_contain_text("Start.")
    assert trees.evaluate("document.documentElement.scrollWidth") <= 390
    looker.put_back()


def test_glossary_link_opens_the_average_of_block_verification(visit):
    page = visit.page
    page.goto(visit.url + LINKS["block verification"]["Its average over many drafts"])
    judging = page.locator(JUDGING)
    expect(judging).to_contain_text("Over 600 sampled chains")
    expect(judging.get_by_label("Average over")).to_be_checked()
    expect(judging.get_by_role("combobox", name="Guesses per node")).to_have_value("a chain of 3")
