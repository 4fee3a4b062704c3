"""The draft tree as drawn on Step, Trees and Cost: positions, colours, facts and keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from serve import SHIPPED

TREE = next(name for name in SHIPPED if name.endswith("03-tree"))
WIDE_TREE = next(name for name in SHIPPED if name.endswith("19d-jetspec"))

# How many tokens the edge to the round's last token could cross, and those that it crosses.
CROSSED = """() => {
  const { slot } = window.specviz["sv-step"].frame.tree;
  const edge = document.querySelector(".sv-tree [data-line='-1']");
  if (!edge) return [0, []];
  const many = Math.ceil(edge.getTotalLength() / 2);
  const points = Array.from({ length: many }, (_, at) => edge.getPointAtLength(2 * at));
  const others = [...document.querySelectorAll(".sv-tree .sv-twig-node")]
    .map((node) => [Number(node.dataset.node), node.querySelector(".sv-twig-pill").getBBox()])
    .filter(([node]) => ![0, -1, slot.parent].includes(node));
  const crossed = others.filter(([, box]) => points.some(({ x, y }) =>
    x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height));
  return [others.length, crossed.map(([node]) => node)];
}"""
# For every guess on Step: its p and q, and the widths of its bars.
BARS = """() => {
  const { nodes } = window.specviz["sv-step"].frame.tree;
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
LABEL = "document.activeElement.getAttribute('aria-label')"


# At every step of a run: the guess being judged, all guesses, the nodes on screen, and the heading.
DRAWN = """() => {
  const player = window.specviz["sv-step"];
  const found = [];
  while (!document.querySelector("[data-do=next]").disabled) {
    const { here = null, nodes } = player.frame.tree;
    const shown = [...document.querySelectorAll(".sv-tree .sv-twig-node")];
    found.push([here, Object.keys(nodes), shown.map((each) => each.dataset.node),
      document.querySelector(".sv-sub").textContent]);
    player.next();
  }
  return found;
}"""
# Whether other branches lie between the round's last token and its parent.
AROUND = """(() => {
  const { slot, layout: { places } } = window.specviz["sv-step"].frame.tree;
  return Boolean(slot) && places[slot.parent][1] > places[-1][1] + 47;
})()"""


def test_edge_to_the_last_token_crosses_no_other_token(looker):
    for run, around in ((TREE, True), ("06-long-chain", False)):
        page = looker.look(run)
        seen, went_around = 0, False
        for _ in range(25):
            went_around |= page.evaluate(AROUND)
            others, crossed = page.evaluate(CROSSED)
            assert crossed == [], (run, looker.ask("cursor"))
            seen += others
            looker.ask("next()")
        assert seen > 10, run
        assert went_around >= around, run


def test_a_wide_tree_shows_what_is_judged_and_counts_what_it_does_not_show(looker):
    found = looker.look(WIDE_TREE).evaluate(DRAWN)
    assert sum(here is not None for here, *_ in found) > 40
    for here, guesses, shown, said in found:
        hidden = len(set(guesses) - set(shown))
        assert said.endswith(f", {hidden} not shown" if hidden else ("guesses", "drafted")), said
        assert here is None or str(here) in shown, said


def test_bars_are_proportional_and_arrow_keys_show_facts(looker):
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


def test_all_rejected_tokens_get_their_colour_from_one_css_variable(visit):
    page = visit.open("?trace=01-chain")
    visit.step_to("Rejected")
    names = ("rejected", "rejected-line", "rejected-soft")
    sheet = "".join(f"--sv-{name}: rgb(1, 2, 3) !important;" for name in names)
    page.add_style_tag(content=f"* {{ {sheet} }}")
    assert page.evaluate(COLOURS, STEP) == [True] * len(STEP)
