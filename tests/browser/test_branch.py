"""What-if: dragging the coin, clicking a guess, and running the alternative."""

from test_layout import resize
from visit import Visit

from specviz.frames.scene import flat

PROMPT = "The cat sat on the mat. The cat"


def live_at(visit: Visit, pair, verdict: str) -> None:
    """Start a live run of the tiny models and go to its first step with this badge."""
    visit.open()
    visit.fill_in(pair, PROMPT)
    visit.run()
    visit.page.wait_for_function("document.querySelector('.sv-badge').textContent === 'live'")
    visit.wait_until_over()
    visit.ask("first()")
    visit.step_to(verdict)


def drag_to(visit: Visit, where: float) -> None:
    """Drag the coin to this value of u."""
    coin = visit.page.locator(".sv-trial .sv-toss-bar")
    coin.evaluate("e => e.scrollIntoView({ block: 'center' })")
    box = coin.bounding_box()
    u = float(visit.ask("frame.panel.coin.u"))
    mouse = visit.page.mouse
    mouse.move(box["x"] + u * box["width"], box["y"] + 6)
    mouse.down()
    mouse.move(box["x"] + where * box["width"], box["y"] + 6, steps=5)
    mouse.up()


# The widths of the sentence at which its two buttons are not on one line.
APART = """say => {
  const buttons = [...say.querySelectorAll(".sv-answer")];
  const tops = () => new Set(buttons.map((each) => each.getBoundingClientRect().top));
  const widths = Array.from({ length: 80 }, (_, at) => 320 + 10 * at);
  const apart = widths.filter((width) => {
    say.style.maxWidth = width + "px";
    return buttons.length !== 2 || tops().size !== 1;
  });
  say.style.removeProperty("max-width");
  return apart;
}"""


def test_dragging_the_coin_shows_the_outcome_and_changes_nothing_else(looker):
    page = looker.look()
    looker.step_to("Rejected")
    caption, step = looker.caption(), looker.ask("frame.step.id")
    threshold = looker.ask("frame.panel.coin.threshold")
    drag_to(looker, threshold / 2)
    assert page.inner_text(".sv-verdict") == "What if?"
    assert "would be accepted" in looker.caption()
    assert "accepted" in page.locator(".sv-step.sv-here").get_attribute("aria-label")
    assert page.locator(".sv-now .sv-rejected, .sv-tree .sv-twig-is-slot").count() == 0
    assert page.locator(".sv-mx:not(.sv-short), .sv-draw .sv-toss").count() == 0, (
        "nothing to recover"
    )
    assert page.inner_text(".sv-next-name").startswith("In the run: ")
    drag_to(looker, (1 + threshold) / 2)
    assert "would still be rejected" in looker.caption()
    assert page.locator(".sv-now .sv-rejected").count() == 1
    assert page.locator(".sv-draw .sv-toss").count() == 1
    assert looker.ask("frame.step.id") == step
    page.click(".sv-answer >> text=Back")
    assert looker.caption() == caption
    assert page.inner_text(".sv-verdict").strip() == "Rejected"
    assert page.inner_text(".sv-next-name").startswith("Next: ")
    drag_to(looker, 0.5)
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sv-verdict") != "What if?", "a step leaves the question behind"
    page.keyboard.press("ArrowLeft")
    assert looker.caption() == caption
    looker.look("9-01-chain")
    looker.step_until("frame.step.id === 'judge-5'")
    drag_to(looker, looker.ask("frame.panel.coin.threshold") / 2)
    assert page.inner_text(".sv-verdict") == "What if?"
    assert page.locator(".sv-pass-here").count() == 1, "only its own position is highlighted"


def test_sentence_about_a_moved_coin_is_consistent_readable_and_on_a_phone_below_it(looker):
    page = looker.look()
    resize(page, 1280, 800)
    looker.step_to("Rejected")
    caption = looker.caption()
    for u in (0.0, 0.25, 0.5, 0.75, 0.99):
        drag_to(looker, u)
        at = float(page.inner_text(".sv-say .sv-n-u"))
        bar = float(page.inner_text(".sv-say .sv-n-both"))
        assert ("accepted" in looker.caption()) == (at < bar), "the displayed u is on its side"
        assert (", below " in looker.caption()) == (at < bar)
    assert page.locator(".sv-say").evaluate(APART) == [], "buttons stay on one line"
    coin = page.get_by_role("slider", name="Coin")
    coin.focus()
    before = float(coin.get_attribute("aria-valuenow"))
    page.keyboard.press("ArrowLeft")
    assert float(coin.get_attribute("aria-valuenow")) < before
    page.keyboard.press("Escape")
    assert looker.caption() == caption
    resize(page, 390, 844)
    page.wait_for_selector(".sv-slim")
    coin.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".sv-echo:has-text('With the coin set to')")
    assert looker.caption() == caption, "on a phone the outcome is below the coin only"


def check_path(visit: Visit) -> None:
    """Click a guess that was not checked; the verdicts that its run sets are those it needs."""
    page, nodes, caption = visit.page, visit.ask("frame.tree.nodes"), visit.caption()
    node, view = next((n, v) for n, v in nodes.items() if v["is"] == "unreached")
    page.locator(".sv-tree [data-node='0']").click()
    assert visit.caption() == caption, "the root is no guess"
    page.locator(f".sv-tree [data-node='{node}']").click()
    assert page.inner_text(".sv-verdict") == "What if?"
    assert f"+{view['depth']} would be in the text if" in visit.caption()
    forced = set(
        page.evaluate("JSON.parse(window.specviz['sv-step'].branchRequest()).settings.coins")
    )
    path = {int(node)}
    while nodes[str(min(path))]["parent"]:
        path.add(nodes[str(min(path))]["parent"])
    states = {each: nodes[str(each)]["is"] for each in path}
    assert "rejected" in states.values(), "the path leads through what was rejected"
    wanted = {each for each, state in states.items() if state != "accepted"}
    assert {int(name.split()[2]) for name in forced} == wanted
    page.click(".sv-answer >> text=Back")


def test_branch_is_a_new_run_with_a_link_to_its_origin(visit, pair):
    live_at(visit, pair, "Rejected")
    check_path(visit)
    page = visit.page
    caption, rounds = visit.caption(), visit.ask("rounds")
    number, step = visit.ask("cursor.round"), visit.ask("frame.step.id")
    drag_to(visit, visit.ask("frame.panel.coin.threshold") / 2)
    page.click(".sv-answer >> text=Run it")
    page.wait_for_function("document.querySelector('.sv-fork').innerText.includes('set by hand')")
    visit.wait_until_over()
    assert page.inner_text(".sv-verdict").strip() == "Accepted"
    assert "The coin, set to" in visit.caption()
    assert (visit.ask("cursor.round"), visit.ask("frame.step.id")) == (number, step)
    assert "Earlier rounds differ" not in page.inner_text(".sv-fork")
    assert list(visit.ask("run.settings.coins")) == [f"{number} {step.replace('-', ' ')}"]
    page.click(".sv-fork button")
    assert page.locator(".sv-fork").is_hidden()
    assert (visit.caption(), visit.ask("rounds")) == (caption, rounds)


SURE = """frame.step.kind === "judge" && "stuck" in frame.panel.whatif && frame.panel.accepted
  && Object.entries(frame.tree.nodes).some(([n, { parent }]) =>
    parent === frame.tree.nodes[frame.tree.here].parent && Number(n) > frame.tree.here)"""


def test_no_branch_is_offered_for_what_no_coin_can_cause(looker):
    page = looker.look("02-siblings")
    answers = page.locator(".sv-say .sv-answer")
    looker.step_until("frame.step.kind === 'propose'")
    page.locator(".sv-tree [data-node='1']").click()
    assert "After the target's pass you will see" in looker.caption()
    assert answers.all_inner_texts() == ["Back"], "the target has not scored yet"
    page.click(".sv-answer >> text=Back")
    looker.step_until(SURE)
    tree, cursor = looker.ask("frame.tree"), looker.ask("cursor")
    sure = flat(looker.ask("frame.panel.w")).replace("␣", "")
    parent = tree["nodes"][str(tree["here"])]["parent"]
    later = [int(n) for n, view in tree["nodes"].items() if view["parent"] == parent]
    page.locator(f".sv-tree [data-node='{max(later)}']").click()
    said = looker.caption().replace("\n", "")
    assert sure in said.partition("No coin can cause this: ")[2]
    assert answers.all_inner_texts() == ["Back"], "its sibling is accepted with probability 1"
    page.click(".sv-answer >> text=Back")
    page.get_by_role("slider", name="Coin").focus()
    page.keyboard.press("End")
    assert "would still be accepted. No coin can change this: " in looker.caption()
    assert answers.all_inner_texts() == ["Back"]
    page.keyboard.press("Enter")
    assert looker.ask("cursor") == cursor
    assert page.inner_text(".sv-verdict") == "What if?", "Enter runs nothing"
    looker.look("04-temperature-0")
    looker.step_to("Rejected")
    assert page.get_by_role("slider", name="Coin").count() == 0
    page.locator(".sv-now .sv-unreached").first.click()
    assert "no coin decides" in looker.caption()
    assert answers.all_inner_texts() == ["Back"]
