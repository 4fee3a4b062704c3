"""Stepping through recorded runs: playing, keys, clicks, links, and predicting the verdicts."""

import pytest
from made import ODD, RUNS, made
from playwright.sync_api import expect
from serve import SHIPPED
from test_access import tab_to
from test_layout import resize

from specviz.catalog.entry import find
from specviz.frames.scene import flat, word


def test_run_plays_until_the_first_rejection_and_pauses_for_keys_and_tabs(lively):
    page = lively.page
    page.goto(lively.url)
    page.wait_for_selector(".sv-verdict:not(:empty)")
    lively.hurry(4)
    assert page.inner_text(".sv-badge") == "recorded"
    assert lively.ask("cursor.round") == 1
    play, pause = (page.get_by_role("button", name=name) for name in ("Play", "Pause"))
    expect(page.locator(".sv-verdict")).to_have_text("Rejected")
    expect(play, "the page pauses at the first rejection").to_be_visible()
    before = lively.ask("cursor")
    page.keyboard.press(" ")
    expect(pause, "the space key plays").to_be_visible()
    page.wait_for_function(f"window.specviz['sv-step'].cursor.step > {before['step']}")
    page.keyboard.press(" ")
    expect(play, "the space key pauses").to_be_visible()
    page.keyboard.press(" ")
    page.get_by_role("tab", name="Trees", exact=True).click()
    assert page.locator(".sv-dock [aria-label=Pause]").count() == 0, "another tab pauses the run"


def test_recorded_run_opens_at_its_first_guesses_and_names_its_drafter(looker):
    page = looker.look()
    assert looker.ask("cursor") == {"round": 1, "step": 0}
    assert page.locator(".sv-seg[aria-label='Round 0']").count() == 1
    page.keyboard.press("ArrowLeft")
    assert looker.ask("cursor.round") == 0, "the prefill is before the first draft"
    looker.look("9-23-lookahead")
    assert looker.ask("frame.tree.nodes"), "a run that drafts late opens where it drafts"
    assert looker.ask("cursor.round") > 1
    assert find("lookahead", "drafter").how in page.inner_text(".sv-drafts")


def test_keys_and_buttons_step_but_not_while_the_visitor_types(looker):
    page = looker.look()
    seen = [looker.caption()]
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        seen.append(looker.caption())
    for caption in reversed(seen[:-1]):
        page.keyboard.press("ArrowLeft")
        assert looker.caption() == caption
    said = page.inner_text("[data-do=next]").removeprefix("Next: ")
    page.click("[data-do=next]")
    assert said == page.inner_text(".sv-here"), "the button names the next step"
    page.click("[data-do=back]")
    assert looker.ask("cursor") == {"round": 1, "step": 0}
    page.get_by_label("Prompt").focus()
    for key in ("End", "ArrowLeft", " "):
        page.keyboard.press(key)
    assert looker.ask("cursor") == {"round": 1, "step": 0}, "keys belong to the field"
    looker.put_back()
    page.keyboard.press("End")
    assert looker.ask("cursor.round") == looker.ask("rounds") - 1
    page.keyboard.press("Home")
    assert looker.ask("cursor") == {"round": 0, "step": 0}


def test_keys_step_after_other_tabs_were_opened(visit):
    page = visit.open("?trace=01-chain")
    for name, part in (
        ("Lossless?", ".sv-sand-top"),
        ("Trees", "#sv-grow-tree"),
        ("Cost", ".sv-pair"),
    ):
        page.get_by_role("tab", name=name, exact=True).click()
        page.wait_for_selector(part)
    page.get_by_role("tab", name="Step", exact=True).click()
    expect(page.locator(".sv-dock")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Home")
    assert visit.ask("cursor") == {"round": 0, "step": 0}
    page.keyboard.press("ArrowRight")
    after = visit.ask("cursor")
    assert after != {"round": 0, "step": 0}
    page.keyboard.press("ArrowLeft")
    assert visit.ask("cursor") == {"round": 0, "step": 0}
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("End")
    assert visit.ask("cursor.round") == visit.ask("rounds") - 1


# The share of its track that the outlined bar fills, and the number at its end.
OUTLINE = """() => {
  const bar = document.querySelector(".sv-trial .sv-f-soft"), track = bar.parentElement;
  const width = bar.getBoundingClientRect().width / track.getBoundingClientRect().width;
  return [width, track.querySelector("b").textContent];
}"""


def test_outlined_bar_at_temperature_0_is_as_long_as_its_probability(looker):
    page, verdicts = looker.look("04-temperature-0"), set()
    for _ in range(40):
        panel = looker.ask("frame.panel")
        if "soft" in panel and panel["kind"] == "trial":
            width, number = page.evaluate(OUTLINE)
            assert number == str(int(panel["p"]))
            assert width == pytest.approx(panel["soft"], abs=0.02)
            verdicts.add(panel["accepted"])
        looker.ask("next()")
    assert False in verdicts
    looker.ask("first()")
    page.get_by_label("Predict first").check()
    asked = 0
    for _ in range(40):
        if page.locator(".sv-answers").count():
            width, number = page.evaluate(OUTLINE)
            assert 0.5 * float(number) < width < float(number) + 0.02
            asked += 1
        looker.ask("next()")
    assert asked
    page.get_by_label("Predict first").uncheck()


def test_clicks_on_rounds_steps_and_tokens_open_them(looker):
    page = looker.look()
    looker.ask("last()")
    page.click(".sv-done >> nth=2")
    assert looker.ask("cursor.round") == 2, "a token of the text opens its round"
    page.click(".sv-step >> nth=0")
    assert looker.ask("frame.step.kind") == "propose"
    page.click(".sv-seg[aria-label='Round 5']")
    assert looker.ask("cursor.round") == 5
    looker.look("02-siblings")
    looker.step_to("Recovered")
    nodes = looker.ask("frame.tree.nodes")
    verdict = f"judge-{next(n for n, view in nodes.items() if view['is'] == 'rejected')}"
    page.locator(f".sv-tree [data-node='{verdict[6:]}']").click()
    assert looker.ask("frame.step.id") == verdict, "a node of the tree opens its verdict"
    looker.step_to("Recovered")
    page.click(".sv-now .sv-rejected")
    assert looker.ask("frame.step.id") == verdict, "a token of the round opens its verdict"


def test_newest_step_of_a_long_round_stays_visible_in_the_list_of_steps(looker):
    """The oldest steps are hidden instead, after a step and when autoplay starts or stops."""
    page = looker.look("06-long-chain")
    resize(page, 1024, 700)
    looker.step_until(
        "document.querySelectorAll('.sv-step').length < player.cursor.step - 3"
        " && frame.step.kind === 'judge'"
    )
    for presses in range(3):
        steps = page.locator(".sv-steps").evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert steps[0] <= steps[1], presses
        assert page.locator(".sv-step").last.get_attribute("aria-current") == "step", presses
        if presses < 2:
            page.click("[data-do=play]")


def test_link_opens_a_run_at_a_step_and_an_invalid_one_is_reported(visit):
    page = visit.open("?trace=02-siblings&round=2&step=score")
    assert visit.ask("run.id") == "02-siblings"
    assert (visit.ask("cursor.round"), visit.ask("frame.step.id")) == (2, "score")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**trace=02-siblings&round=2&step=judge-1**")
    page.reload()
    page.wait_for_selector(".sv-verdict:not(:empty)")
    assert visit.ask("frame.step.id") == "judge-1", "a reload stays at the step"
    assert page.evaluate("window.Plotly === undefined"), "Step needs no plotly"
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_function("window.Plotly !== undefined")
    visit.open("?round=999&step=%3Cb%3E")
    assert visit.ask("rounds") > 0
    visit.open("?trace=<b>gone</b>&round=x&step=score")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("“<b>gone</b>”")
    assert (visit.ask("run.id"), visit.ask("cursor.round")) == ("01-chain", 1)
    page.wait_for_url("**trace=01-chain&round=1**")
    visit.ask("load('02-siblings')")
    expect(notice, "another run ends the notice").to_be_hidden()


# The texts at two steps of each of these rounds.
WORDS = """(rounds) => {
  const said = (name) => document.querySelector(name);
  let seen = "";
  for (let round = 0; round < rounds; round += 1)
    for (const step of [1, 7]) {
      window.specviz["sv-step"].go(round, step);
      seen += said(".sv-table").innerText + said(".sv-now").innerText;
      seen += said(".sv-tree").textContent;
    }
  return seen;
}"""
EDGES = "all => all.map((each) => getComputedStyle(each)['border-top-width'])"


def test_token_text_is_shown_literally_with_a_border_and_never_executed(looker):
    page = looker.look("05-odd-tokens")
    looker.step_to("Recovered")
    assert set(page.locator(".sv-say .sv-token").evaluate_all(EDGES)) == {"1px"}
    seen = page.evaluate(WORDS, len(made(RUNS["05-odd-tokens"]).rounds))
    plain = [token for token in ODD if all(isinstance(p, str) for p in word(token))]
    assert [token for token in plain if flat(word(token)) not in seen] == []
    assert "<0xFF>" in seen
    assert "<U+202E>" in seen
    assert page.evaluate("window.hacked") is None
    assert page.locator(".sv-player img, .sv-player script").count() == 0


def test_caption_coin_table_and_tree_agree_on_a_rejection_in_both_themes(looker):
    page = looker.look()
    looker.dress("light")
    looker.step_to("Rejected")
    p, q, ticks = (
        page.inner_text(name) for name in (".sv-n-p", ".sv-n-q", ".sv-trial .sv-toss-hint")
    )
    assert page.inner_text(".sv-ink-p").strip() == p
    assert f"{p} ÷ {q} = {page.inner_text('.sv-n-both')}" in ticks
    assert page.inner_text(".sv-n-u") in ticks
    assert page.locator(".sv-on-trial").count() == 1, "one row of the table is judged"
    assert page.inner_text(".sv-on-trial .sv-pv")[: len(p) - 1] == p[:-1]
    assert page.inner_text(".sv-on-trial .sv-w") in looker.caption().replace("\n", "")
    ink = "getComputedStyle(document.querySelector('.sv-tree .sv-twig-word')).fill"
    light = page.evaluate(ink)
    looker.dress("dark")
    assert page.evaluate(ink) != light, "the tree is redrawn in the dark"
    looker.dress("light")


def test_remainder_is_hatched_and_q_is_absent_where_guesses_are_not_sampled(looker):
    page = looker.look("02-siblings")
    looker.step_until("frame.panel.tries > 1")
    assert page.inner_text(".sv-trial .sv-l >> nth=0") == "target p′"
    assert page.inner_text(".sv-mh .sv-h-p") == "p′"
    for hatched in (".sv-trial .sv-left-p", ".sv-rows-left-p"):
        assert page.locator(hatched).count() == 1, hatched
    assert page.locator(".sv-tree .sv-twig-stripe.sv-twig-p").count() >= 1
    looker.look("03-point-mass")
    looker.step_until("frame.panel.kind === 'guesses'")
    page.wait_for_selector(".sv-chart .sv-f")
    looker.step_to("Rejected")
    assert "none: not sampled" in page.inner_text(".sv-trial")
    assert page.locator(".sv-trial .sv-f-q, .sv-table .sv-qv, .sv-table .sv-h-q").count() == 0
    columns = page.locator(".sv-mh > *").count()
    cells = "all => all.map((row) => row.querySelectorAll('[role=cell]').length)"
    assert set(page.locator(".sv-mr").evaluate_all(cells)) == {columns}


# At every step of a round with evidence: whether a sentence explains it, and whether the text shows
# its marks, null if it has none.
EVIDENCE = """() => {
  const player = window.specviz["sv-step"], found = [];
  for (player.go(1, 0); found.length < 40; player.next()) {
    if (player.cursor.round > 5 || player.frame.step.kind === "end") break;
    const { why } = player.frame.panel;
    if (!why) continue;
    const said = (name) => document.querySelector(".sv-why " + name).innerText;
    const marked = why.marks ? document.querySelector(".sv-src") !== null : null;
    found.push([said("h3").startsWith("Why ") && said("p") !== "", marked]);
  }
  return found;
}"""


def test_chart_of_guesses_has_their_numbers_and_tells_equal_guesses_apart(looker):
    page = looker.look("07-wide")
    looker.step_until("(frame.panel.rows ?? []).some((row) => row.after && row.t.p && row.t.q)")
    rows = looker.ask("frame.panel.rows")
    said = page.locator(".sv-chart").get_attribute("aria-label").split("; ")
    drawn = page.locator(".sv-chart .sv-cr").all_inner_texts()
    assert len(said) == len(drawn) == len(rows)
    for row, spoken, shown in zip(rows, said, drawn, strict=True):
        assert spoken.startswith(f"+{row['at']} ")
        assert spoken.endswith(f": p {row['t']['p']}, q {row['t']['q']}")
        assert (" after " in spoken) == ("after " in shown) == ("after" in row)
        assert {row["t"]["p"], row["t"]["q"]} <= set(shown.split())
    looker.step_until("(frame.panel.rows ?? []).some((row) => row.hit)")
    rows = looker.ask("frame.panel.rows")
    said = page.locator(".sv-chart").get_attribute("aria-label").split("; ")
    assert [each.endswith(", sampled") for each in said] == ["hit" in row for row in rows]
    assert all(f": p {row['t']['p']}" in each for row, each in zip(rows, said, strict=True))


def test_evidence_for_a_guess_is_explained_and_its_sources_are_marked_in_the_text(looker):
    for name in SHIPPED:
        if name.endswith(("05-eagle3", "22-suffix", "17-lmtp")):
            found = looker.look(name).evaluate(EVIDENCE)
            assert all(explained for explained, _ in found), name
            marks = {marked for _, marked in found} - {None}
            assert marks == (set() if name.endswith("eagle3") else {True}), name


# Steps through a run, with each step shown twice: for each showing, whether the figure is another
# one than before, and whether anything in the chart was changed.
DRAWN = """() => {
  const player = window.specviz["sv-step"];
  const chart = document.querySelector(".sv-chart");
  const watch = new MutationObserver(() => {});
  watch.observe(chart, { subtree: true, childList: true, attributes: true, characterData: true });
  const seen = [];
  let before = "";
  const look = ({ panel }) => {
    const now = JSON.stringify(panel.rows ?? null);
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


def test_only_changed_figures_are_redrawn(looker):
    seen = looker.look("02-siblings").evaluate(DRAWN)
    assert all(drawn == other for other, drawn in seen)
    assert 10 < sum(other for other, _ in seen) < len(seen)


# The panel of the verdict that the page asks for, and its node in the tree.
HIDDEN = """() => {
  const { frameAt } = window.specviz.step;
  const { round, step } = window.specviz["sv-step"].cursor;
  const { panel, tree } = frameAt(round, step + 1);
  return [panel, tree.here];
}"""
QUESTION = "Your prediction?"


def hidden_panel(visit):
    """Return the panel of the requested verdict, read from the run."""
    return visit.page.evaluate(HIDDEN)[0]


def test_predict_first_shows_the_guess_but_hides_its_verdict(looker):
    page = looker.look()
    page.get_by_label("Predict first").check()
    for name in ("02-siblings", "04-temperature-0"):
        looker.show(name)
        for _ in range(3):
            looker.step_to(QUESTION)
            panel, node = page.evaluate(HIDDEN)
            words = [
                page.locator(f"{part} .sv-w").first.evaluate("e => e.textContent")
                for part in (".sv-say", ".sv-title", ".sv-here")
            ]
            assert words == [flat(panel["w"]).replace("␣", "")] * 3
            if panel.get("coin"):
                assert page.inner_text(".sv-say .sv-n-p") == page.inner_text(".sv-trial .sv-ink-p")
            rings = page.locator(".sv-tree [data-node]:has(.sv-twig-here)")
            assert rings.get_attribute("data-node") == str(node), "the guess is ringed in the tree"
            assert page.inner_text(".sv-here").startswith("?")
            verdict = ".sv-here .sv-mark, .sv-toss-bar, .sv-pin, .sv-lens > *, .sv-draw > *"
            assert page.locator(verdict).count() == 0
            assert "the coin" not in page.inner_text(".sv-player").lower()
            assert page.inner_text(".sv-next-name") == "Show the verdict"
            looker.ask("next()")
    page.get_by_label("Predict first").uncheck()


def predict(visit, score):
    """Predict that the guess on screen is accepted; return the score, and if luck was fair."""
    hidden = hidden_panel(visit)
    visit.page.click(".sv-answer >> text=Accepted")
    won = hidden["coin"]["threshold"] >= 0.5
    good, of = score[0] + won, score[1] + 1
    assert visit.page.inner_text(".sv-score") == f"points: {good} of {of}"
    assert visit.caption().startswith("Right: " if won else "You said accepted, but ")
    verdict = "Accepted" if hidden["accepted"] else "Rejected"
    assert visit.page.inner_text(".sv-verdict").strip() == verdict
    return (good, of), won == hidden["accepted"]


def test_prediction_of_the_likelier_outcome_scores_and_can_be_skipped(looker):
    page = looker.look()
    page.get_by_label("Predict first").check()
    looker.step_to(QUESTION)
    step = looker.ask("cursor.step")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".sv-verdict") == "Score", "back to what was before the question"
    assert looker.ask("cursor.step") == step
    page.keyboard.press("ArrowRight")
    score, fair = predict(looker, (0, 0))
    sentence = looker.caption()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sv-verdict") != QUESTION, "it is asked only once"
    assert looker.caption() != sentence
    for _ in range(60):
        if page.inner_text(".sv-verdict") == QUESTION:
            score, as_expected = predict(looker, score)
            fair = fair and as_expected
        if not fair:
            break
        looker.ask("next()")
    assert not fair, "a coin fell against the better bet, and the bet counted"
    looker.step_to(QUESTION)
    said = page.inner_text(".sv-score")
    page.keyboard.press("ArrowRight")
    assert looker.ask("frame.step.kind") == "judge", "a second step shows the verdict unguessed"
    assert page.inner_text(".sv-score") == said
    page.get_by_label("Predict first").uncheck()
    looker.ask("go(1, 1)")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sv-verdict") != QUESTION


def estimate(visit, keys, errors):
    """Estimate the probability on screen with these keys of the slider; check what it scores."""
    page = visit.page
    slider = page.get_by_role("slider", name="Probability that it is accepted")
    step, hidden = visit.ask("cursor.step"), hidden_panel(visit)
    expect(slider).to_be_focused()
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


def test_verdicts_are_predicted_by_keyboard_and_at_temperature_0_without_a_probability(visit):
    page, errors = visit.open("?trace=01-chain"), []
    tab_to(page, ".sv-guess input")
    page.keyboard.press(" ")
    visit.step_to(QUESTION)
    page.click(".sv-answer >> text=Estimate the probability")
    estimate(visit, ["PageUp"], errors)
    visit.step_to(QUESTION)
    page.get_by_role("slider", name="Probability that it is accepted").focus()
    estimate(visit, ["ArrowRight", "ArrowRight"], errors)
    visit.step_to(QUESTION)
    page.click(".sv-answer >> text=Accepted or rejected?")
    visit.show("04-temperature-0")
    visit.step_to(QUESTION)
    assert "top token?" in visit.caption()
    assert page.locator(".sv-answer >> text=Estimate the probability").count() == 0
    assert page.locator(".sv-table > *").count() == 0
    right = int(hidden_panel(visit)["accepted"])
    tab_to(page, ".sv-say .sv-answer")
    page.keyboard.press("Enter")
    assert page.inner_text(".sv-score").startswith(f"points: {right} of 1")
