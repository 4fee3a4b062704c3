"""The draft tree as drawn on Step, Trees and Cost: positions, colours, facts and keys."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import expect
from serve import SHIPPED

TREE = next(name for name in SHIPPED if name.endswith("03-tree"))

# The tree on Step: nodes as [node, left, top, right, bottom], and the edge of the slot as points.
DRAWN = """() => {
  const tree = document.querySelector(".sv-tree");
  const pills = [...tree.querySelectorAll(".sv-twig-node:not([data-node='0'])")].map((node) => {
    const { x, y, width, height } = node.querySelector(".sv-twig-pill").getBBox();
    return [node.dataset.node, x, y, x + width, y + height];
  });
  const slot = tree.querySelector("[data-line='-1']");
  const numbers = slot ? slot.getAttribute("d").match(/[MHV]|-?[0-9.]+/g) : [];
  const points = [];
  for (let at = 0, x = 0, y = 0; at < numbers.length;) {
    const way = numbers[at++];
    if (way !== "V") x = Number(numbers[at++]);
    if (way !== "H") y = Number(numbers[at++]);
    points.push([x, y]);
  }
  return { pills, points, size: tree.querySelector("svg").viewBox.baseVal.height };
}"""
# For every guess on Step: its p and q, and the widths of its bars.
BARS = """() => {
  const { nodes } = window.specviz.players["sv-step"].frame.tree;
  const wide = (node, name) => {
    const bar = document.querySelector(`.sv-tree [data-node="${node}"] ${name}`);
    return bar ? bar.getBBox().width : null;
  };
  return Object.entries(nodes).map(([node, { p, q, left, left_q }]) => [
    [left ?? p ?? null, left_q ?? q ?? null],
    [wide(node, left === undefined ? ".sv-twig-bar.sv-twig-p" : ".sv-twig-left-p"),
     wide(node, left_q === undefined ? ".sv-twig-bar.sv-twig-q" : ".sv-twig-left-q")],
  ]);
}"""
COLOURS = """(names) => names.map((name) => {
  const found = document.querySelector(name);
  if (!found) return name + " is missing";
  const { fill, backgroundColor, borderTopColor } = getComputedStyle(found);
  return [fill, backgroundColor, borderTopColor].includes("rgb(1, 2, 3)") || name;
})"""
STEP = [".sv-tree .sv-twig-is-rejected .sv-twig-pill", ".sv-tree .sv-twig-to-rejected"]
STEP += [".sv-now .sv-chip.sv-rejected", ".sv-verdict.sv-is-rejected"]
TREES = [f".sv-{part} .sv-twig-is-rejected .sv-twig-pill" for part in ("grow-view", "grow-keys")]
LABEL = "document.activeElement.getAttribute('aria-label')"


# Whether other branches lie between the round's last token and its parent.
AROUND = """(() => {
  const { slot, layout: { places } } = window.specviz.players["sv-step"].frame.tree;
  return Boolean(slot) && places[slot.parent][1] > places[-1][1] + 47;
})()"""


def crossings(drawn):
    """Return the pieces of the slot's edge apart from its parent, and those that cross a node."""
    pieces, crossed = 0, []
    for node, left, top, right, bottom in drawn["pills"]:
        assert left >= 0
        assert 0 <= top < bottom <= drawn["size"]
        points = drawn["points"]
        if points and left <= points[0][0] <= right and top - 3 <= points[0][1] <= bottom + 3:
            continue  # the parent itself
        for (x, y), (to_x, to_y) in pairwise(points):
            beside = max(x, to_x) <= left or min(x, to_x) >= right
            if not (beside or max(y, to_y) <= top or min(y, to_y) >= bottom):
                crossed.append(node)
            pieces += 1
    return pieces, crossed


def test_edge_to_the_last_token_crosses_no_other_token(looker):
    for run, around in ((TREE, True), ("06-long-chain", False)):
        page = looker.look(run)
        seen, went_around = 0, False
        for _ in range(25):
            went_around |= page.evaluate(AROUND)
            pieces, crossed = crossings(page.evaluate(DRAWN))
            assert crossed == [], (run, looker.ask("cursor"))
            seen += pieces
            looker.ask("next()")
        assert seen > 10
        assert went_around >= around


def test_bars_are_proportional_and_arrow_keys_show_facts_in_every_tree(looker):
    page = looker.look("02-siblings")
    looker.step_until("frame.panel.tries > 1")
    found = page.evaluate(BARS)
    assert len(found) > 3
    for values, widths in found:
        for value, width in zip(values, widths, strict=True):
            assert (value is None) == (width is None)
            assert value is None or width == pytest.approx(max(52 * value, 0.5), abs=0.1)
    looker.step_to("Recovered")
    page.locator(".sv-tree .sv-spot").first.focus()
    assert page.locator(".sv-tree .sv-spot[tabindex='0']").count() == 1, "one tab stop"
    expect(page.locator(".sv-felt")).to_contain_text("at +1")
    first = page.evaluate(LABEL)
    page.keyboard.press("ArrowDown")
    assert "at +1" in page.evaluate(LABEL) != first
    page.keyboard.press("ArrowUp")
    assert page.evaluate(LABEL) == first
    page.keyboard.press("Enter")
    assert looker.ask("frame.step.kind") == "judge", "Enter opens the verdict of a guess"
    assert page.evaluate("document.activeElement.matches('.sv-spot')"), "the focus stays"
    page.get_by_role("tab", name="Trees").click()
    for part, facts in (("rank-view", "rank-facts"), ("judge-view", "twig-facts[data-rule]")):
        page.locator(f".sv-{part} .sv-spot").first.focus()
        expect(page.locator(f".sv-{facts}").first).to_contain_text("+1")
        page.keyboard.press("ArrowRight")
        assert "at +2" in page.evaluate(LABEL), part
        expect(page.locator(f".sv-{facts}").first).to_contain_text("+2")
        page.keyboard.press("ArrowLeft")
        assert "at +1" in page.evaluate(LABEL), part
    page.get_by_role("tab", name="Step").click()


def test_all_rejected_tokens_get_their_colour_from_one_css_variable(visit):
    page = visit.open("?trace=01-chain")
    visit.step_to("Rejected")
    names = ("rejected", "rejected-line", "rejected-soft")
    sheet = "".join(f"--sv-{name}: rgb(1, 2, 3) !important;" for name in names)
    page.add_style_tag(content=f"* {{ {sheet} }}")
    assert page.evaluate(COLOURS, STEP) == [True] * len(STEP)
    page.get_by_role("tab", name="Trees").click()
    page.locator("#sv-grow-preset").select_option("1")
    page.wait_for_function("window.specviz.grow.question.idle")
    page.get_by_role("button", name="Last step").click()
    expect(page.locator(".sv-grow-view .sv-twig-is-rejected").first).to_be_attached()
    assert page.evaluate(COLOURS, TREES) == [True] * len(TREES)
