"""What-if: dragging the coin, clicking a guess, and running the alternative."""

from test_layout import resize
from visit import Looker, Visit

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
    coin = visit.page.locator(".sv-coin")
    coin.evaluate("e => e.scrollIntoView({ block: 'center' })")
    box = coin.bounding_box()
    u = float(visit.ask("frame.panel.coin.u"))
    mouse = visit.page.mouse
    mouse.move(box["x"] + u * box["width"], box["y"] + 6)
    mouse.down()
    mouse.move(box["x"] + where * box["width"], box["y"] + 6, steps=5)
    mouse.up()


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
    assert page.locator(".sv-mx:not(.sv-short), .sv-drow").count() == 0, "nothing to recover"
    assert page.inner_text(".sv-next-name").startswith("In the run: ")
    drag_to(looker, (1 + threshold) / 2)
    assert "would still be rejected" in looker.caption()
    assert page.locator(".sv-now .sv-rejected").count() == 1
    assert page.locator(".sv-drow").count() == 1
    assert looker.ask("frame.step.id") == step
    page.click(".sv-answer >> text=Back")
    assert looker.caption() == caption
    assert page.inner_text(".sv-verdict").strip() == "Rejected"
    assert page.inner_text(".sv-next-name").startswith("Next: ")
    drag_to(looker, threshold / 2)
    page.keyboard.press("Escape")
    assert looker.caption() == caption
    drag_to(looker, 0.5)
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sv-verdict") != "What if?", "a step leaves the question behind"
    page.keyboard.press("ArrowLeft")
    assert looker.caption() == caption


def test_supposed_verdict_highlights_only_its_own_position(visit):
    page = visit.open("?trace=9-01-chain&round=1&step=judge-5")
    drag_to(visit, visit.ask("frame.panel.coin.threshold") / 2)
    assert page.inner_text(".sv-verdict") == "What if?"
    assert page.locator(".sv-pass-here").count() == 1


def test_narrow_page_shows_the_what_if_outcome_only_below_the_coin(looker):
    page = looker.look()
    looker.step_to("Rejected")
    before = looker.caption()
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(".sv-slim")
    page.get_by_role("slider", name="Coin").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".sv-echo:has-text('With the coin set to')")
    assert looker.caption() == before


def test_displayed_u_is_on_the_correct_side_of_the_displayed_threshold(looker):
    page = looker.look()
    looker.step_to("Rejected")
    for u in (0.0, 0.25, 0.5, 0.75, 0.99):
        drag_to(looker, u)
        at = float(page.inner_text(".sv-say .sv-n-u"))
        bar = float(page.inner_text(".sv-say .sv-n-both"))
        assert ("accepted" in looker.caption()) == (at < bar)
        assert (", below " in looker.caption()) == (at < bar)


def test_coin_moves_by_keyboard(looker):
    page = looker.look()
    looker.step_to("Rejected")
    caption = looker.caption()
    coin = page.get_by_role("slider", name="Coin")
    coin.focus()
    before = float(coin.get_attribute("aria-valuenow"))
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".sv-verdict") == "What if?"
    assert float(coin.get_attribute("aria-valuenow")) < before
    page.keyboard.press("Escape")
    assert looker.caption() == caption


def test_branch_is_a_new_run_with_a_link_to_its_origin(visit, pair):
    live_at(visit, pair, "Rejected")
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


def test_clicking_an_unchecked_guess_lists_the_verdicts_it_needs(visit, pair):
    live_at(visit, pair, "Rejected")
    page = visit.page
    nodes = visit.ask("frame.tree.nodes")
    node, view = next((n, v) for n, v in nodes.items() if v["is"] == "unreached")
    caption = visit.caption()
    page.locator(".sv-tree [data-node='0']").click()  # the root is no guess
    assert visit.caption() == caption
    page.locator(f".sv-tree [data-node='{node}']").click()
    page.wait_for_function("document.querySelector('.sv-verdict').innerText === 'What if?'")
    assert f"+{view['depth']} would be in the text if" in visit.caption()
    laid = set(page.evaluate("JSON.parse(window.specviz.players['sv-step'].wish()).settings.coins"))
    path = {int(node)}
    while nodes[str(min(path))]["parent"]:
        path.add(nodes[str(min(path))]["parent"])
    rejected = {int(n) for n, v in nodes.items() if v["is"] == "rejected"}
    assert rejected & path, "the path leads through what was rejected"
    assert {int(name.split()[2]) for name in laid} == path - {
        int(n) for n, v in nodes.items() if v["is"] == "accepted"
    }


def test_token_chips_and_tree_nodes_open_verdicts_by_keyboard(looker):
    page = looker.look()
    looker.step_to("Recovered")
    judged = next(n for n, v in looker.ask("frame.tree.nodes").items() if v["is"] == "rejected")
    page.locator(".sv-spot").first.focus()
    for _ in range(20):
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        if "rejected" in label:
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert looker.ask("frame.step.id").startswith("judge-")
    looker.step_to("Recovered")
    page.click(".sv-now .sv-rejected")
    assert looker.ask("frame.step.id") == f"judge-{judged}"


def test_coin_cannot_be_set_at_temperature_0(looker):
    page = looker.look("04-temperature-0")
    looker.step_to("Rejected")
    assert page.get_by_role("slider", name="Coin").count() == 0
    page.locator(".sv-now .sv-unreached").first.click()
    assert "no coin decides" in looker.caption()
    assert page.locator(".sv-answer >> text=Run it").count() == 0


def click_guess(visit: Visit, node: int) -> None:
    """Click a guess in the tree."""
    visit.page.locator(f".sv-tree [data-node='{node}']").click()


SURE = """frame.step.kind === "judge" && "stuck" in frame.panel.whatif && frame.panel.accepted
  && Object.entries(frame.tree.nodes).some(([n, { parent }]) =>
    parent === frame.tree.nodes[frame.tree.here].parent && Number(n) > frame.tree.here)"""


def siblings_at_a_sure_one(looker: Looker) -> list[int]:
    """Go to a verdict with probability 1; return its later siblings, which no coin can select."""
    looker.look("02-siblings")
    looker.step_until(SURE)
    tree = looker.ask("frame.tree")
    parent = tree["nodes"][str(tree["here"])]["parent"]
    nodes = {int(n): view for n, view in tree["nodes"].items()}
    return [n for n, view in nodes.items() if view["parent"] == parent and n > tree["here"]]


def test_no_branch_is_offered_for_siblings_of_a_certainly_accepted_guess(looker):
    later = siblings_at_a_sure_one(looker)
    word = flat(looker.ask("frame.panel.w"))
    click_guess(looker, later[0])
    assert looker.page.inner_text(".sv-verdict") == "What if?"
    said = looker.caption().replace("\n", "")
    assert "No coin can cause this: " in said
    assert "is accepted with probability 1." in said
    assert word.replace("␣", "") in said.split("No coin can cause this: ")[1]
    answers = looker.page.locator(".sv-say .sv-answer").all_inner_texts()
    assert answers == ["Back"], "nothing is to be run"


def test_moving_the_coin_of_a_certainly_accepted_guess_offers_no_branch(looker):
    siblings_at_a_sure_one(looker)
    coin = looker.page.get_by_role("slider", name="Coin")
    coin.focus()
    cursor = looker.ask("cursor")
    looker.page.keyboard.press("End")
    assert "would still be accepted. No coin can change this: " in looker.caption()
    assert looker.page.locator(".sv-answer >> text=Run it").count() == 0
    looker.page.keyboard.press("Enter")
    assert looker.ask("cursor") == cursor
    assert looker.page.inner_text(".sv-verdict") == "What if?", "Enter runs nothing"


def test_no_branch_is_offered_before_the_target_has_scored(looker):
    page = looker.look("02-siblings")
    looker.step_until("frame.step.kind === 'propose'")
    click_guess(looker, 1)
    assert "After the target's pass you will see" in looker.caption()
    assert page.locator(".sv-say .sv-answer").all_inner_texts() == ["Back"]


def test_what_if_buttons_stay_on_one_line(looker):
    page = looker.look()
    resize(page, 1280, 800)
    looker.step_to("Rejected")
    drag_to(looker, 0.1)
    apart = page.locator(".sv-say").evaluate(
        """say => {
          const buttons = [...say.querySelectorAll(".sv-answer")];
          const tops = () => new Set(buttons.map((each) => each.getBoundingClientRect().top));
          const widths = Array.from({ length: 80 }, (_, at) => 320 + 10 * at);
          return widths.filter((width) => {
            say.style.maxWidth = width + "px";
            return buttons.length !== 2 || tops().size !== 1;
          });
        }"""
    )
    page.locator(".sv-say").evaluate("say => say.style.removeProperty('max-width')")
    assert not apart
