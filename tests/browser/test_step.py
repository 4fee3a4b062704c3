"""Stepping through recorded runs in a browser: keys, links, layout and tokens."""

import json

import pytest
from made import ODD, RUNS, made
from playwright.sync_api import expect
from test_layout import resize

from specviz.catalog.entry import find
from specviz.figures.charts import add_figures
from specviz.frames import Scene, frames
from specviz.frames.scene import flat, word
from specviz.ui.routes import module_address


def test_recorded_run_plays_at_once_and_pauses_at_the_first_rejection(lively):
    page = lively.page
    page.goto(lively.url)
    page.wait_for_selector(".sv-verdict:not(:empty)")
    assert page.inner_text(".sv-badge") == "recorded"
    assert page.evaluate("window.specviz.players['sv-step'].cursor.round") == 1
    page.wait_for_function(
        "document.querySelector('.sv-verdict').textContent === 'Rejected'", timeout=60_000
    )
    page.wait_for_timeout(2500)
    assert page.inner_text(".sv-verdict").strip() == "Rejected"
    assert page.get_by_role("button", name="Play").is_visible()


def test_recorded_run_opens_at_the_first_draft_after_the_prefill(looker):
    page = looker.look()
    assert looker.ask("cursor") == {"round": 1, "step": 0}
    assert page.locator(".sv-seg[aria-label='Round 0']").count() == 1
    page.keyboard.press("ArrowLeft")
    assert looker.ask("cursor.round") == 0
    assert "Nothing was drafted" in looker.caption() or "1 new token" in looker.caption()


def test_recorded_run_that_drafts_late_opens_at_its_first_guess(looker):
    looker.look("9-23-lookahead")
    drafted = "window.specviz.players['sv-step'].frame.tree.nodes"
    assert looker.page.evaluate(f"Object.keys({drafted}).length") > 0
    assert looker.ask("cursor.round") > 1


def test_drafter_is_described_under_the_tree(looker):
    page = looker.look("9-04-medusa")
    said = page.inner_text(".sv-drafts")
    assert said == f"Medusa. {find('medusa', 'drafter').how}"


def test_arrow_keys_step_forward_and_back(looker):
    page = looker.look()
    seen = [looker.caption()]
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        seen.append(looker.caption())
    assert len(set(seen)) == len(seen)
    for caption in reversed(seen[:-1]):
        page.keyboard.press("ArrowLeft")
        assert looker.caption() == caption
    page.keyboard.press("End")
    assert looker.ask("cursor.round") == looker.ask("rounds") - 1
    page.keyboard.press("Home")
    assert looker.ask("cursor") == {"round": 0, "step": 0}


def test_buttons_do_the_same_as_keys_and_next_button_names_the_next_step(looker):
    page = looker.look()
    said = page.inner_text("[data-do=next]")
    page.click("[data-do=next]")
    assert said.removeprefix("Next: ") == page.inner_text(".sv-here")
    page.click("[data-do=back]")
    assert looker.ask("cursor") == {"round": 1, "step": 0}
    page.click("[data-do=last]")
    assert page.is_disabled("[data-do=next]")


def test_arrow_keys_do_not_step_while_the_visitor_types(looker):
    page = looker.look()
    page.get_by_label("Prompt").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    assert looker.ask("cursor") == {"round": 1, "step": 0}
    looker.put_back()


def test_space_key_plays_and_pauses(looker):
    page = looker.look()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause").wait_for()
    page.wait_for_function("window.specviz.players['sv-step'].cursor.step > 0")
    page.keyboard.press(" ")
    page.get_by_role("button", name="Play").wait_for()


def test_newest_step_of_a_long_round_stays_visible_in_the_list_of_steps(visit):
    """The oldest steps are hidden instead, after a step and when autoplay starts or stops."""
    visit.page.set_viewport_size({"width": 1024, "height": 700})
    page = visit.open("?trace=06-long-chain")
    visit.step_until(
        "document.querySelectorAll('.sv-step').length < player.cursor.step - 3"
        " && frame.step.kind === 'judge'"
    )
    for _ in range(3):
        steps = page.locator(".sv-steps").evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert steps[0] <= steps[1]
        assert page.locator(".sv-step").last.get_attribute("aria-current") == "step"
        page.click("[data-do=play]")


def test_link_opens_a_run_at_a_step_and_the_address_is_kept_current(visit):
    page = visit.open("?trace=02-siblings&round=2&step=score")
    assert visit.ask("run.id") == "02-siblings"
    assert (visit.ask("cursor.round"), visit.ask("frame.step.id")) == (2, "score")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**trace=02-siblings&round=2&step=judge-1**")
    page.reload()
    page.wait_for_selector(".sv-verdict:not(:empty)")
    assert visit.ask("frame.step.id") == "judge-1"


@pytest.mark.parametrize("query", ["?trace=none&round=x", "?round=999&step=a", "?step=%3Cb%3E"])
def test_link_with_invalid_parameters_still_opens_a_run(visit, query):
    visit.open(query)
    assert visit.ask("rounds") > 0


def test_link_to_a_missing_run_is_reported_and_opens_the_first_run(visit):
    page = visit.open("?trace=<b>gone</b>&round=3&step=score")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("There is no recorded run called “<b>gone</b>” here")
    assert (visit.ask("run.id"), visit.ask("cursor.round")) == ("01-chain", 1)
    page.wait_for_url("**trace=01-chain&round=1**")
    visit.ask("load('02-siblings')")
    expect(notice).to_be_hidden()


def test_group_headings_in_the_list_of_recorded_runs_cannot_be_selected(visit):
    page = visit.open()
    page.click("#sv-settings")
    page.click("#sv-method input")
    first = page.get_by_role("option", name="EAGLE", exact=True)
    scrolled = page.locator("#sv-method .option-list").evaluate("e => e.scrollTop")
    assert scrolled == 0, "the first heading is in view"
    heading = first.evaluate("e => getComputedStyle(e, '::before').content")
    assert heading == '"Heads on the target"'
    box = first.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] - 14)
    expect(page.locator("#sv-method input")).to_have_value("Draft model")
    first.click()
    expect(page.locator("#sv-method input")).to_have_value("EAGLE")


def test_earlier_rounds_and_judged_guesses_can_be_clicked(looker):
    page = looker.look()
    looker.ask("last()")
    page.click(".sv-done >> nth=2")
    assert looker.ask("cursor.round") == 2
    page.click(".sv-step >> nth=0")
    assert looker.ask("frame.step.kind") == "propose"
    page.click(".sv-seg[aria-label='Round 5']")
    assert looker.ask("cursor.round") == 5


def test_clicking_a_judged_guess_in_the_tree_goes_to_its_verdict(looker):
    page = looker.look("02-siblings")
    looker.step_to("Recovered")
    judged = looker.ask("frame.tree.nodes")
    node = next(n for n, view in judged.items() if view["is"] == "rejected")
    page.locator(f".sv-tree [data-node='{node}']").click()
    page.wait_for_function(f"window.specviz.players['sv-step'].frame.step.id === 'judge-{node}'")


# The texts at two steps of each of these rounds.
WORDS = """(rounds) => {
  const said = (name) => document.querySelector(name);
  let seen = "";
  for (let round = 0; round < rounds; round += 1)
    for (const step of [1, 7]) {
      window.specviz.players["sv-step"].go(round, step);
      seen += said(".sv-table").innerText + said(".sv-now").innerText;
      seen += said(".sv-tree").textContent;
    }
  return seen;
}"""


def test_token_text_is_shown_literally_and_never_executed(looker):
    page = looker.look("05-odd-tokens")
    trace = made(RUNS["05-odd-tokens"])
    seen = page.evaluate(WORDS, len(trace.rounds))
    plain = [token for token in ODD if all(isinstance(p, str) for p in word(token))]
    missing = [t for t in plain if flat(word(t)) not in seen]
    assert not missing
    assert "<0xFF>" in seen
    assert "<U+202E>" in seen
    assert page.evaluate("window.hacked") is None
    assert page.locator(".sv-player img, .sv-player script").count() == 0


def test_caption_coin_and_table_show_the_same_numbers_at_a_rejection(looker):
    page = looker.look()
    looker.step_to("Rejected")
    caption = looker.caption()
    p, q = page.inner_text(".sv-n-p"), page.inner_text(".sv-n-q")
    assert page.inner_text(".sv-ink-p").strip() == p
    assert f"{p} ÷ {q} = {page.inner_text('.sv-n-both')}" in page.inner_text(".sv-ticks")
    assert page.inner_text(".sv-n-u") in page.inner_text(".sv-ticks")
    assert page.locator(".sv-on-trial").count() == 1
    assert page.inner_text(".sv-on-trial .sv-pv")[: len(p) - 1] == p[:-1]
    assert page.inner_text(".sv-on-trial .sv-w") in caption.replace("\n", "")


def test_bars_of_a_second_guess_at_a_position_are_hatched(looker):
    page = looker.look("02-siblings")
    looker.step_until("frame.panel.tries > 1")
    assert "rejected, p′ (the residual) gives" in looker.caption().replace("\n", " ")
    assert page.inner_text(".sv-trial .sv-l >> nth=0") == "target p′"
    assert page.locator(".sv-trial .sv-left-p").count() == 1
    assert page.inner_text(".sv-mh .sv-h-p") == "p′"
    assert page.locator(".sv-rows-left-p").count() == 1
    assert "hatched" in page.inner_text(".sv-keys")
    assert page.locator(".sv-tree .sv-twig-stripe.sv-twig-p").count() >= 1


def test_q_is_not_shown_for_guesses_that_were_not_sampled(looker):
    page = looker.look("03-point-mass")
    looker.step_until("frame.panel.kind === 'guesses'")
    assert page.inner_text(".sv-title") == "The drafter's confidence"
    page.wait_for_selector(".sv-chart path")
    looker.step_until("frame.panel.kind === 'guesses' && frame.panel.scored")
    assert page.inner_text(".sv-title") == "p of every guess"
    looker.step_to("Rejected")
    assert "did not sample" in looker.caption()
    assert "none: not sampled" in page.inner_text(".sv-trial")
    assert page.locator(".sv-trial .sv-f-q, .sv-table .sv-qv, .sv-table .sv-h-q").count() == 0
    heads = page.inner_text(".sv-mh")
    assert "without guess" in heads
    assert "q" not in heads
    for row in page.locator(".sv-mr").all():
        assert row.locator("[role=cell]").count() == page.locator(".sv-mh > *").count()


def test_tokens_in_sentences_are_drawn_with_a_border(looker):
    page = looker.look("05-odd-tokens")
    looker.step_to("Recovered")
    chips = page.locator(".sv-say .sv-token")
    assert chips.count() >= 1
    line = "border-top-width"
    edges = chips.evaluate_all(f"all => all.map((each) => getComputedStyle(each)['{line}'])")
    assert set(edges) == {"1px"}


def test_tree_is_on_screen_at_every_step_and_after_an_address_change(looker):
    page = looker.look()
    looker.step_to("Rejected")
    page.wait_for_url("**step=judge-**")
    drawn = page.locator(".sv-tree").screenshot()
    assert len(drawn) > 3000, "an empty canvas compresses to less"


@pytest.mark.parametrize("name", ["01-chain", "02-siblings", "04-temperature-0", "06-long-chain"])
def test_step_tab_does_not_overflow_at_any_width(looker, name):
    page = looker.look(name)
    for verdict in ("Rejected", "Recovered"):
        looker.step_to(verdict)
        for width in (390, 768, 1024, 1280):
            resize(page, width, 900)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator(".sv-table").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


def test_playback_buttons_do_not_move_within_a_round(looker):
    page = looker.look()
    looker.ask("go(3, 0)")
    tops = set()
    for _ in range(5):
        tops.add(page.locator(".sv-dock").evaluate("e => e.offsetTop"))
        page.keyboard.press("ArrowRight")
    assert len(tops) == 1


def test_tree_is_redrawn_when_dark_mode_is_switched_on(looker):
    page = looker.look()
    looker.dress("light")
    looker.step_to("Rejected")
    ink = "getComputedStyle(document.querySelector('.sv-tree .sv-twig-word')).fill"
    light = page.evaluate(ink)
    page.evaluate("document.body.classList.toggle('dark')")
    page.wait_for_function(f"{ink} !== '{light}'")
    looker.dress("light")


# Steps through a run, with each step shown twice: for each showing, whether the figure is another
# one than before, and whether anything in the chart was changed.
DRAWN = """() => {
  const player = window.specviz.players["sv-step"];
  const chart = document.querySelector(".sv-chart");
  const watch = new MutationObserver(() => {});
  watch.observe(chart, { subtree: true, childList: true, attributes: true, characterData: true });
  const seen = [];
  let before = "";
  const look = ({ panel }) => {
    const now = JSON.stringify(panel.figure ?? null);
    const inside = ({ target, type }) => target !== chart || type === "childList";
    const changes = watch.takeRecords().filter(inside);
    seen.push([now !== before, changes.length > 0]);
    before = now;
  };
  player.go(1, 0);
  look(player.frame);
  seen.length = 0;
  while (!document.querySelector("[data-do=next]").disabled) {
    player.next();
    look(player.frame);
    player.go(player.cursor.round, player.cursor.step); // the same once more
    look(player.frame);
  }
  return seen;
}"""


def test_unchanged_figures_are_not_redrawn(looker):
    page = looker.look("02-siblings")
    seen = page.evaluate(DRAWN)
    assert [drawn for other, drawn in seen if not other].count(True) == 0
    others = [drawn for other, drawn in seen if other]
    assert all(others)
    assert 10 < len(others) < len(seen)


def test_bars_of_p_and_q_have_their_colours_and_plotly_is_not_fetched(visit):
    page = visit.open("?trace=01-chain&round=1&step=score")
    fills = page.evaluate("""() => {
      const probe = document.createElement("i");
      document.querySelector(".sv").append(probe);
      return [["10-p", "--sv-p"], ["11-q", "--sv-q"]].map(([trace, colour]) => {
        probe.style.color = `var(${colour})`;
        const bar = document.querySelector(`.sv-chart [data-trace="${trace}"] path`);
        return [getComputedStyle(bar).fill, getComputedStyle(probe).color];
      });
    }""")
    assert fills[0][0] == fills[0][1] != fills[1][0] == fills[1][1]
    assert page.evaluate("window.Plotly === undefined")
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_function("window.Plotly !== undefined")


def test_running_server_blocks_uploads_and_remote_files(looker):
    page = looker.look()
    for path in ("gradio_api/upload", "monitoring/summary", "gradio_api/file=https://example.com"):
        assert page.request.get(looker.url + path).status == 403
    assert list(page.request.get(looker.url + "gradio_api/info").json()["named_endpoints"]) == [
        "/run"
    ]


def guess_at(visit, query=""):
    """Return the page at the first prediction of a run."""
    page = visit.open(query)
    page.get_by_label("Predict first").check()
    visit.step_to("Your prediction?")
    return page


def hidden_panel(visit):
    """Return the panel of the requested verdict, read from the run."""
    return visit.page.evaluate(
        """async (address) => {
          const { frameAt } = await import(new URL(address, document.baseURI));
          const { round, step } = window.specviz.players["sv-step"].cursor;
          return frameAt(round, step + 1).panel;
        }""",
        module_address("step/reel"),
    )


QUESTIONS = ["01-chain", "02-siblings", "03-point-mass", "04-temperature-0", "06-long-chain"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_predict_first_shows_the_guess_but_hides_its_verdict(looker, name):
    page = looker.look(name)
    page.get_by_label("Predict first").check()
    looker.step_to("Your prediction?")
    for _ in range(6):
        if page.inner_text(".sv-verdict") == "Your prediction?":
            hidden = hidden_panel(looker)
            word = flat(hidden["w"])
            asked = page.locator(".sv-say .sv-w").first.evaluate("e => e.textContent")
            assert asked == page.locator(".sv-title .sv-w").evaluate("e => e.textContent")
            assert asked == page.locator(".sv-here .sv-w").evaluate("e => e.textContent")
            assert word.replace("␣", "") == asked
            if hidden.get("coin"):
                assert page.inner_text(".sv-say .sv-n-p") == page.inner_text(".sv-trial .sv-ink-p")
            assert page.locator(".sv-here").inner_text().startswith("?")
            assert page.locator(".sv-here .sv-mark").count() == 0
            assert page.locator(".sv-keep, .sv-no, .sv-pin, .sv-lens path").count() == 0
            assert page.locator(".sv-draw > *").count() == 0
            assert page.inner_text(".sv-next-name") == "Show the verdict"
        looker.ask("next()")
    page.get_by_label("Predict first").uncheck()


def test_guess_to_predict_is_ringed_in_the_tree(visit):
    page = guess_at(visit, "?trace=01-chain")
    for _ in range(2):
        ring = page.evaluate(
            """async (address) => {
          const { questionAt, frameAt } = await import(new URL(address, document.baseURI));
          const { round, step } = window.specviz.players["sv-step"].cursor;
          const { tree } = questionAt(round, step + 1);
          const rings = document.querySelectorAll(".sv-tree .sv-twig-here");
          const ringed = rings[0].closest("[data-node]").dataset.node;
          return [rings.length === 1, ringed === String(tree.here),
            tree.here === frameAt(round, step + 1).tree.here];
        }""",
            module_address("step/reel"),
        )
        assert ring == [True, True, True]
        page.click(".sv-answer >> text=Accepted")
        page.keyboard.press("ArrowRight")
        if page.inner_text(".sv-verdict") != "Your prediction?":
            break


def test_prediction_of_the_likelier_outcome_scores_a_point(visit):
    page = guess_at(visit, "?trace=01-chain")
    good = of = 0
    lucky = set()
    for _ in range(60):
        if page.inner_text(".sv-verdict") == "Your prediction?":
            hidden = hidden_panel(visit)
            page.click(".sv-answer >> text=Accepted")
            won = hidden["coin"]["threshold"] >= 0.5
            good, of = good + won, of + 1
            lucky.add((won, hidden["accepted"]))
            assert page.inner_text(".sv-score") == f"points: {good} of {of}"
            start = "Right: " if won else "You said accepted, but "
            assert visit.caption().startswith(start)
            is_ = "Accepted" if hidden["accepted"] else "Rejected"
            assert page.inner_text(".sv-verdict").strip() == is_
        visit.ask("next()")
    assert {(True, False), (False, True)} & lucky, "a coin fell against the better bet"


def test_prediction_can_be_skipped_and_is_asked_only_once(visit):
    page = guess_at(visit, "?trace=01-chain")
    step = visit.ask("cursor.step")
    assert "the coin" not in page.inner_text(".sv-player").lower()
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".sv-verdict") == "Score", "back to what was before the question"
    assert visit.ask("cursor.step") == step
    page.keyboard.press("ArrowRight")
    page.click(".sv-answer >> text=Accepted")
    told = visit.caption()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sv-verdict") != "Your prediction?", "seen already"
    assert visit.caption() != told
    visit.ask("go(3, 5)")
    score = page.inner_text(".sv-score")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert visit.ask("frame.step.kind") == "judge", "a second step shows the verdict unguessed"
    assert page.inner_text(".sv-score") == score
    page.get_by_label("Predict first").uncheck()
    visit.ask("go(4, 5)")
    page.keyboard.press("ArrowRight")
    assert visit.ask("frame.step.kind") == "judge"


def test_acceptance_probability_can_be_estimated_by_keyboard(visit):
    page = guess_at(visit, "?trace=01-chain")
    page.click(".sv-answer >> text=Estimate the probability")
    slider = page.get_by_role("slider", name="Probability that it is accepted")
    assert slider.evaluate("e => e === document.activeElement")
    errors = []
    for keys in (["PageUp"], ["ArrowRight", "ArrowRight"]):
        step = visit.ask("cursor.step")
        hidden = hidden_panel(visit)
        slider.focus()
        for key in keys:
            page.keyboard.press(key)
        said = float(page.inner_text(".sv-chance-said"))
        assert said == pytest.approx(float(slider.input_value()))
        assert said > 0.5
        page.keyboard.press("Enter")
        errors.append(abs(said - round(hidden["coin"]["threshold"], 2)))
        assert f"You said {said:.2f}, " in visit.caption()
        assert f"mean error {sum(errors) / len(errors):.2f}" in page.inner_text(".sv-score")
        assert visit.ask("cursor.step") == step + 1, "Enter answers and goes no further"
        while page.inner_text(".sv-verdict") != "Your prediction?":
            visit.ask("next()")
    page.click(".sv-answer >> text=Accepted or rejected?")
    assert page.locator(".sv-answer >> text=Rejected").count() == 1


def test_prediction_at_temperature_0_asks_about_the_top_token(visit):
    page = guess_at(visit, "?trace=04-temperature-0")
    assert "top token?" in visit.caption()
    assert page.locator(".sv-answer >> text=Estimate the probability").count() == 0
    assert page.locator(".sv-table > *").count() == 0
    hidden = hidden_panel(visit)
    page.click(".sv-answer >> text=" + ("Rejected" if hidden["accepted"] else "Accepted"))
    assert visit.caption().startswith("You said ")
    assert "at temperature 0" in visit.caption()
    assert page.inner_text(".sv-score") == "points: 0 of 1"


# The frames of a round, as the page has them to show.
FRAMES = """async ([address, round]) => {
  const { frameAt, stepsOf } = await import(new URL(address, document.baseURI));
  return Array.from({ length: stepsOf(round) }, (_, step) => frameAt(round, step));
}"""


@pytest.mark.parametrize("name", ["02-siblings", "04-temperature-0"])
def test_browser_restores_every_frame_from_its_patch(looker, name):
    looker.look(name)
    trace = made(RUNS[name])
    for index in range(len(trace.rounds)):
        made_of_it = map(add_figures, frames(Scene.of(trace, index)))
        wanted = [json.loads(json.dumps(frame)) for frame in made_of_it]
        shown = looker.page.evaluate(FRAMES, [module_address("step/reel"), index])
        assert shown[: len(wanted)] == wanted
