"""Stepping through recorded runs in a real browser: keys, links, layout, tokens as they are."""

import json

import pytest
from made import ODD, RUNS, made
from playwright.sync_api import expect

from specviz.catalog.entry import find
from specviz.figures.charts import drawn
from specviz.frames import Scene, frames
from specviz.frames.words import flat, word


def test_a_recorded_run_plays_at_once_and_halts_at_the_first_rejection(browser, url):
    page = browser.new_page()
    page.goto(url)
    page.wait_for_selector(".sv-verdict:not(:empty)")
    assert page.inner_text(".sv-badge") == "recorded"
    assert page.evaluate("window.specviz.players['sv-step'].cursor.round") == 1
    page.wait_for_function(
        "document.querySelector('.sv-verdict').textContent === 'Rejected'", timeout=60_000
    )
    page.wait_for_timeout(2500)
    assert page.inner_text(".sv-verdict").strip() == "Rejected"
    assert page.get_by_role("button", name="Play").is_visible()
    page.close()


def test_a_run_opens_where_drafting_starts_and_the_prefill_is_one_step_back(visit):
    page = visit.open()
    assert visit.ask("cursor") == {"round": 1, "step": 0}
    assert page.locator(".sv-seg[aria-label='Round 0']").count() == 1
    page.keyboard.press("ArrowLeft")
    assert visit.ask("cursor.round") == 0
    assert "Nothing was drafted" in visit.caption() or "adds 1 token" in visit.caption()


def test_a_run_that_drafts_late_opens_at_its_first_guess(visit):
    visit.open("?trace=9-23-lookahead")
    drafted = "window.specviz.players['sv-step'].frame.tree.nodes"
    assert visit.page.evaluate(f"Object.keys({drafted}).length") > 0
    assert visit.ask("cursor.round") > 1


def test_the_drafter_in_use_is_described_under_the_tree(visit):
    page = visit.open("?trace=9-04-medusa")
    said = page.inner_text(".sv-drafts")
    assert said == f"Medusa. {find('medusa', 'drafter').how}"


def test_arrow_keys_step_forward_and_back_and_the_caption_changes(visit):
    page = visit.open()
    seen = [visit.caption()]
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        seen.append(visit.caption())
    assert len(set(seen)) == len(seen)
    for caption in reversed(seen[:-1]):
        page.keyboard.press("ArrowLeft")
        assert visit.caption() == caption
    page.keyboard.press("End")
    assert visit.ask("cursor.round") == visit.ask("rounds") - 1
    page.keyboard.press("Home")
    assert visit.ask("cursor") == {"round": 0, "step": 0}


def test_buttons_do_what_keys_do_and_next_says_what_comes(visit):
    page = visit.open()
    said = page.inner_text("[data-do=next]")
    page.click("[data-do=next]")
    assert said.removeprefix("Next: ") == page.inner_text(".sv-here")
    page.click("[data-do=back]")
    assert visit.ask("cursor") == {"round": 1, "step": 0}
    page.click("[data-do=last]")
    assert page.is_disabled("[data-do=next]")


def test_keys_do_not_step_while_one_types(visit):
    page = visit.open()
    page.get_by_label("Prompt").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    assert visit.ask("cursor") == {"round": 1, "step": 0}


def test_space_plays_and_pauses(visit):
    page = visit.open()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause").wait_for()
    page.wait_for_function("window.specviz.players['sv-step'].cursor.step > 0")
    page.keyboard.press(" ")
    page.get_by_role("button", name="Play").wait_for()


def test_a_link_opens_a_run_at_its_step_and_the_address_follows(visit):
    page = visit.open("?trace=02-siblings&round=2&step=score")
    assert visit.ask("run.id") == "02-siblings"
    assert (visit.ask("cursor.round"), visit.ask("frame.step.id")) == (2, "score")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**trace=02-siblings&round=2&step=judge-1**")
    page.reload()
    page.wait_for_selector(".sv-verdict:not(:empty)")
    assert visit.ask("frame.step.id") == "judge-1"


@pytest.mark.parametrize("query", ["?trace=none&round=x", "?round=999&step=a", "?step=%3Cb%3E"])
def test_a_link_to_nowhere_still_opens_a_run(visit, query):
    visit.open(query)
    assert visit.ask("rounds") > 0


def test_a_link_to_a_run_that_is_not_here_says_so_and_opens_the_first_from_its_start(visit):
    page = visit.open("?trace=<b>gone</b>&round=3&step=score")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("There is no recorded run called “<b>gone</b>” here")
    assert (visit.ask("run.id"), visit.ask("cursor.round")) == ("01-chain", 1)
    page.wait_for_url("**trace=01-chain&round=1**")
    visit.ask("load('02-siblings')")
    expect(notice).to_be_hidden()


def test_headings_stand_above_groups_and_pick_nothing(visit):
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


def test_earlier_rounds_and_judged_guesses_can_be_clicked(visit):
    page = visit.open()
    visit.ask("last()")
    page.click(".sv-done >> nth=2")
    assert visit.ask("cursor.round") == 2
    page.click(".sv-step >> nth=0")
    assert visit.ask("frame.step.kind") == "propose"
    page.click(".sv-seg[aria-label='Round 5']")
    assert visit.ask("cursor.round") == 5


def test_clicking_a_judged_guess_in_the_tree_goes_to_its_verdict(visit):
    page = visit.open("?trace=02-siblings")
    visit.step_to("Recovered")
    judged = visit.ask("frame.tree.nodes")
    node = next(n for n, view in judged.items() if view["is"] == "rejected")
    spots = visit.ask("frame.tree.figure.data['80-hover']")
    at = spots["customdata"].index(int(node))
    box = page.locator(".sv-tree").bounding_box()
    page.mouse.click(box["x"] + spots["x"][at], box["y"] + spots["y"][at])
    page.wait_for_function(f"window.specviz.players['sv-step'].frame.step.id === 'judge-{node}'")


def test_tokens_show_as_themselves_and_execute_nothing(visit):
    page = visit.open("?trace=05-odd-tokens")
    trace = made(RUNS["05-odd-tokens"])
    seen = ""
    for index in range(len(trace.rounds)):
        for step in (1, 7):
            visit.ask(f"go({index}, {step})")
            seen += page.inner_text(".sv-table") + page.inner_text(".sv-now")
            seen += page.locator(".sv-tree").evaluate("e => e.textContent")
    plain = [token for token in ODD if all(isinstance(p, str) for p in word(token))]
    missing = [t for t in plain if flat(word(t)) not in seen]
    assert not missing
    assert "<0xFF>" in seen
    assert "<U+202E>" in seen
    assert page.evaluate("window.hacked") is None
    assert page.locator(".sv-player img, .sv-player script").count() == 0


def test_the_numbers_of_a_rejection_are_the_same_in_sentence_coin_and_table(visit):
    page = visit.open()
    visit.step_to("Rejected")
    caption = visit.caption()
    p, q = page.inner_text(".sv-n-p"), page.inner_text(".sv-n-q")
    assert page.inner_text(".sv-ink-p").strip() == p
    assert f"{p} ÷ {q} = {page.inner_text('.sv-n-both')}" in page.inner_text(".sv-ticks")
    assert page.inner_text(".sv-n-u") in page.inner_text(".sv-ticks")
    assert page.locator(".sv-on-trial").count() == 1
    assert page.inner_text(".sv-on-trial .sv-pv")[: len(p) - 1] == p[:-1]
    assert page.inner_text(".sv-on-trial .sv-w") in caption.replace("\n", "")


def test_a_tree_is_on_screen_at_every_step_and_after_its_address_changed(visit):
    page = visit.open()
    visit.step_to("Rejected")
    page.wait_for_url("**step=judge-**")
    drawn = page.locator(".sv-tree").screenshot()
    assert len(drawn) > 3000, "an empty canvas compresses to less"
    assert page.locator(".sv-tree [clip-path]").count() == 0


@pytest.mark.parametrize("width", [390, 768, 1024, 1280])
@pytest.mark.parametrize("name", ["01-chain", "02-siblings", "04-temperature-0", "06-long-chain"])
def test_nothing_overflows_at_any_width(visit, width, name):
    page = visit.page
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{visit.url}?trace={name}")
    page.wait_for_selector(".sv-verdict:not(:empty)")
    for verdict in ("Rejected", "Recovered"):
        visit.step_to(verdict)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".sv-table").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


def test_the_page_does_not_jump_within_a_round(visit):
    page = visit.open()
    visit.ask("go(3, 0)")
    tops = set()
    for _ in range(5):
        tops.add(page.locator(".sv-dock").evaluate("e => e.offsetTop"))
        page.keyboard.press("ArrowRight")
    assert len(tops) == 1


def test_dark_mode_redraws_the_tree(visit):
    page = visit.open("?__theme=light")
    visit.step_to("Rejected")
    ink = "document.querySelector('.sv-tree .textpoint text').style.fill"
    light = page.evaluate(ink)
    page.evaluate("document.body.classList.toggle('dark')")
    page.wait_for_function(f"{ink} !== '{light}'")


def test_the_guard_is_in_the_running_server(visit):
    page = visit.open()
    for path in ("gradio_api/upload", "monitoring/summary", "gradio_api/file=https://example.com"):
        assert page.request.get(visit.url + path).status == 403
    assert list(page.request.get(visit.url + "gradio_api/info").json()["named_endpoints"]) == [
        "/run"
    ]


def test_guess_first_hides_each_verdict_until_it_is_predicted_and_keeps_score(visit):
    page = visit.open()
    page.get_by_label("Guess first").check()
    visit.ask("go(1, 5)")
    assert visit.ask("frame.step.kind") == "score"
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sv-verdict") == "Your guess?"
    seen = page.inner_text(".sv-player").lower()
    assert "the coin fell" not in seen
    assert page.locator(".sv-now .sv-accepted, .sv-now .sv-rejected, .sv-pin").count() == 0
    assert visit.ask("frame.step.kind") == "score"
    page.click(".sv-answer >> text=Rejected")
    assert page.inner_text(".sv-verdict").strip() == "Rejected"
    assert page.inner_text(".sv-score") == "1 of 1 right"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sv-verdict").strip() == "Rejected", "seen already"
    visit.ask("go(2, 5)")
    page.keyboard.press("ArrowRight")
    page.click(".sv-answer >> text=Kept")
    assert page.inner_text(".sv-score") == "1 of 2 right"
    visit.ask("go(3, 5)")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert visit.ask("frame.step.kind") == "judge", "a second step shows the verdict unguessed"
    assert page.inner_text(".sv-score") == "1 of 2 right"
    page.get_by_label("Guess first").uncheck()
    visit.ask("go(4, 5)")
    page.keyboard.press("ArrowRight")
    assert visit.ask("frame.step.kind") == "judge"


@pytest.mark.parametrize("name", ["02-siblings", "04-temperature-0"])
def test_the_browser_restores_every_frame_from_its_patches(visit, name):
    visit.open(f"?trace={name}")
    trace = made(RUNS[name])
    for index in range(len(trace.rounds)):
        for step, frame in enumerate(frames(Scene.of(trace, index))):
            visit.ask(f"go({index}, {step})")
            assert visit.ask("frame") == json.loads(json.dumps(drawn(frame)))
