"""Live runs in a real browser: streamed, stopped, refused, and each visitor's own."""

from serve import SLOW
from visit import Visit

PROMPT = "The cat sat on the mat. The cat"


def live(visit):
    """Wait until a live run is on screen."""
    visit.page.wait_for_function("document.querySelector('.sv-badge').textContent === 'live'")


def test_run_makes_a_live_run_and_the_caption_changes(visit, pair):
    page = visit.open()
    before = visit.caption()
    visit.fill_in(pair, PROMPT)
    visit.run()
    live(visit)
    visit.wait_until_over()
    assert visit.ask("run.prompt") == PROMPT
    assert page.inner_text(".sv-prompt") == PROMPT
    assert visit.caption() != before
    assert "× plain" in page.inner_text(".sv-t-end")
    first = visit.caption()
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("ArrowRight")
    assert visit.caption() != first


def test_a_run_can_be_stopped_and_what_was_made_stays(visit, pair):
    page = visit.open()
    visit.fill_in(pair, PROMPT, tokens=200, seed=SLOW)
    visit.run()
    live(visit)
    page.wait_for_function("window.specviz.players['sv-step'].rounds > 2")
    page.click("#sv-stop")
    visit.wait_until_over()
    assert "Stopped" in page.inner_text(".sv-notice")
    kept = visit.ask("rounds")
    assert kept > 2
    assert "not measured" in page.inner_text(".sv-lane-plain")
    visit.fill_in(pair, PROMPT)
    visit.run()
    page.wait_for_function("document.querySelector('.sv-notice').hidden")
    visit.wait_until_over()
    assert "× plain" in page.inner_text(".sv-t-end")


def test_a_refused_run_is_explained_and_leaves_the_shown_run_in_place(visit, pair):
    page = visit.open()
    rounds, caption = visit.ask("rounds"), visit.caption()
    visit.fill_in(pair, "")
    visit.run()
    page.get_by_role("alert").filter(has_text="empty").wait_for()
    visit.wait_until_over()
    assert (visit.ask("rounds"), visit.caption()) == (rounds, caption)
    visit.fill_in((pair[0] / "none", pair[1]), PROMPT)
    visit.run()
    page.get_by_role("alert").filter(has_text="none").wait_for()
    visit.wait_until_over()
    visit.fill_in(pair, PROMPT)
    visit.run()
    live(visit)
    visit.wait_until_over()
    assert page.locator(".sv-notice").is_hidden()


def test_two_visitors_at_once_see_only_their_own_runs(visit, another, pair):
    prompts = {visit: "The cat", another: "The dog saw the"}
    for visitor, prompt in prompts.items():
        visitor.open()
        visitor.fill_in(pair, prompt, tokens=40)
    for visitor in prompts:
        visitor.run()
    for visitor, prompt in prompts.items():
        visitor.wait_until_over()
        assert visitor.ask("run.prompt") == prompt
        assert visitor.page.inner_text(".sv-prompt") == prompt
    rounds = [visitor.ask("rounds") for visitor in prompts]
    assert all(rounds)


def test_choosing_a_recorded_run_leaves_the_live_one(visit, pair):
    page = visit.open()
    visit.fill_in(pair, PROMPT, tokens=200, seed=SLOW)
    visit.run()
    live(visit)
    visit.ask("load('02-siblings')")
    page.wait_for_function("document.querySelector('.sv-badge').textContent === 'recorded'")
    rounds = visit.ask("rounds")
    page.click("#sv-stop")
    visit.wait_until_over()
    assert visit.ask("run.id") == "02-siblings"
    assert visit.ask("rounds") == rounds


def test_a_prompt_with_markup_is_shown_as_it_is(visit, pair):
    page = visit.open()
    prompt = "<img src=x onerror=window.hacked=1> ${1} {{x}} `\nThe cat"
    visit.fill_in(pair, prompt)
    visit.run()
    live(visit)
    visit.wait_until_over()
    assert page.locator(".sv-prompt").evaluate("e => e.textContent") == prompt
    assert page.evaluate("window.hacked") is None


def test_a_visitor_who_leaves_makes_room_for_the_next(browser, url, visit, pair):
    """Runs go one at a time: the second could only start because the first was ended."""
    context = browser.new_context()
    leaver = Visit(context, url)
    leaver.open()
    leaver.fill_in(pair, PROMPT, tokens=200, seed=SLOW)
    leaver.run()
    live(leaver)
    context.close()
    visit.open()
    visit.fill_in(pair, PROMPT)
    visit.run()
    visit.page.wait_for_function(
        "document.querySelector('.sv-badge').textContent === 'live'", timeout=10_000
    )
    visit.wait_until_over()


def test_a_run_stopped_while_plain_decoding_is_measured_says_so_too(visit):
    page = visit.open()
    visit.ask("begin()")
    visit.ask("stop()")
    assert "Stopping" in page.inner_text(".sv-notice")
    visit.ask("ended()")
    assert "Stopped" in page.inner_text(".sv-notice")


def test_a_run_that_the_server_did_not_take_is_not_waited_for(visit):
    page = visit.open()
    visit.ask("begin()")
    visit.ask("ended()")
    assert "Try again" in page.inner_text(".sv-notice")
    assert visit.ask("stop()") == 0
