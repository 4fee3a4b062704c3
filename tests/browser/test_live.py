"""Live runs in a browser: streamed, stopped, rejected, and separate for each visitor."""

import json
import re
import socket
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
import tiny
from made import RUNS, made
from playwright.sync_api import expect
from serve import HELD, SLOW
from visit import Visit

from specviz.catalog.entry import entries, with_defaults
from specviz.settings.specs import find_spec

SPEED = re.compile("× plain|run it again")  # the second text on a busy machine
PROMPT = "The cat sat on the mat. The cat"


def live(visitor):
    """Wait until a live run with at least one round is on screen."""
    visitor.page.wait_for_function(
        "document.querySelector('.sv-badge').textContent === 'live'"
        " && window.specviz.players['sv-step'].rounds > 0"
    )


def test_run_live_button_starts_a_run_and_shows_its_text(visit, pair):
    page = visit.open()
    before = visit.caption()
    visit.fill_in(pair, PROMPT)
    ink = "getComputedStyle(document.querySelector('#sv-recorded input')).color"
    recorded = page.evaluate(ink)
    visit.run()
    live(visit)
    assert page.evaluate(ink) != recorded, "what the list names is not what is shown"
    visit.wait_until_over()
    assert visit.ask("run.prompt") == PROMPT
    assert page.inner_text(".sv-prompt") == PROMPT
    assert visit.caption() != before
    assert SPEED.search(page.inner_text(".sv-t-end"))
    first = visit.caption()
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("ArrowRight")
    assert visit.caption() != first


def test_stopped_run_keeps_its_finished_rounds(visit, pair):
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
    assert SPEED.search(page.inner_text(".sv-t-end"))


def test_rejected_run_is_explained_and_the_previous_run_stays(visit, pair):
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


def test_concurrent_visitors_see_only_their_own_runs(visit, another, pair):
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


def test_choosing_a_recorded_run_shows_it_instead_of_the_live_run(visit, pair):
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


def test_html_in_a_prompt_is_shown_as_text(visit, pair):
    page = visit.open()
    prompt = "<img src=x onerror=window.hacked=1> ${1} {{x}} `\nThe cat"
    visit.fill_in(pair, prompt)
    visit.run()
    live(visit)
    visit.wait_until_over()
    assert page.locator(".sv-prompt").evaluate("e => e.textContent") == prompt
    assert page.evaluate("window.hacked") is None


def tab(visit, url):
    """A visitor in a tab of the same window, which can be closed."""
    return Visit(visit.page.context.new_page(), url)


def in_a_long_run(visit, url, pair):
    """A visitor in a tab of the same window with a long run in progress."""
    visitor = tab(visit, url)
    visitor.open()
    visitor.fill_in(pair, PROMPT, tokens=200, seed=SLOW)
    visitor.run()
    live(visitor)
    return visitor


def reload_in_a_run(visit, url, pair):
    """Reload the page during a run; return the visitor and the number of rounds before."""
    visitor = in_a_long_run(visit, url, pair)
    visitor.page.wait_for_function("window.specviz.players['sv-step'].rounds > 0")
    rounds = visitor.ask("rounds")
    # The address is updated a little later than the steps: here while the page is being reloaded.
    visitor.page.route(visitor.page.url, lambda route: (time.sleep(0.5), route.continue_()))
    visitor.page.evaluate("setTimeout(() => history.replaceState(null, '', '?later=1'), 100)")
    visitor.page.reload()
    visitor.page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
    assert visitor.page.inner_text(".sv-badge") == "live"
    assert visitor.ask("rounds") >= rounds > 0
    return visitor, rounds


def test_live_run_continues_after_its_page_is_reloaded(visit, url, pair):
    visitor, rounds = reload_in_a_run(visit, url, pair)
    expect(visitor.page.get_by_label("Prompt").first).to_have_value(PROMPT)
    more = f"window.specviz.players['sv-step'].rounds > {rounds + 2}"
    visitor.page.wait_for_function(more)
    numbers = "window.specviz.players['sv-step'].numbers"
    assert visitor.page.evaluate(numbers) == list(range(visitor.ask("rounds"))), "each comes once"
    visitor.page.click("#sv-stop")
    visitor.wait_until_over()
    notice(visitor, "Stopped")
    visitor.page.close()


def test_reload_keeps_the_rounds_of_a_run_that_the_server_no_longer_knows(visit, url, pair):
    """Gradio reloads the page by itself when a server that was away responds again."""
    visit.page.context.route("**/lines?from=*", lambda route: route.fulfill(status=204))
    visitor, _ = reload_in_a_run(visit, url, pair)
    notice(visitor, "connection to the server was lost")
    expect(visitor.page.get_by_label("Prompt").first).to_have_value(PROMPT)
    visitor.page.evaluate("sessionStorage.setItem('sv-kept-run', 'of a visit before')")
    visitor.open("?trace=02-siblings")
    assert visitor.page.inner_text(".sv-badge") == "recorded", "a link leads elsewhere"
    assert visitor.ask("run.id") == "02-siblings"
    visitor.page.close()


def test_finished_run_is_still_shown_after_a_reload(visit, url, pair):
    visit.open()
    visit.fill_in(pair, PROMPT)
    visit.run()
    visit.wait_until_over()
    rounds = visit.ask("rounds")
    visit.page.reload()
    expect(visit.page.locator(".sv-badge").first).to_have_text("live")
    assert visit.ask("rounds") == rounds > 0
    expect(visit.page.get_by_label("Prompt").first).to_have_value(PROMPT)


def test_run_ends_when_its_visitor_leaves_and_the_next_run_starts(url, visit, pair):
    """Only one run computes at a time, so the second can start only after the first has ended."""
    in_a_long_run(visit, url, pair).page.close()
    visit.open()
    visit.fill_in(pair, PROMPT)
    visit.run()
    visit.page.wait_for_function(
        "document.querySelector('.sv-badge').textContent === 'live'", timeout=10_000
    )
    visit.wait_until_over()


def test_run_stopped_during_the_baseline_reports_the_stop(looker):
    page = looker.look()
    looker.ask("begin()")
    looker.ask("stop()")
    assert "Stopping" in page.inner_text(".sv-notice")
    looker.ask("ended()")
    assert "Stopped" in page.inner_text(".sv-notice")


def test_run_that_the_server_rejects_shows_an_error_at_once(looker):
    page = looker.look()
    looker.ask("begin()")
    looker.ask("ended()")
    assert "Try again" in page.inner_text(".sv-notice")
    looker.ask("stop()")
    assert "Try again" in page.inner_text(".sv-notice")


def notice(visit, words):
    """Wait until the notice contains these words."""
    visit.page.wait_for_function(
        "words => document.querySelector('.sv-notice').textContent.includes(words)", arg=words
    )


def test_waiting_visitor_sees_the_queue_position_and_can_cancel(visit, another, url, pair):
    first = tab(visit, url)
    for visitor, tokens in ((first, 200), (another, 40), (visit, 12)):
        visitor.open()
        visitor.fill_in(pair, PROMPT, tokens=tokens, seed=HELD if visitor is first else SLOW)
    first.run()
    notice(first, "Drafting.")
    another.run()
    notice(another, "1 run before yours")
    visit.run()
    notice(visit, "2 runs before yours")
    assert visit.page.inner_text(".sv-badge") == "recorded", "what was shown stays meanwhile"
    another.page.click("#sv-stop")
    another.wait_until_over()
    assert another.page.inner_text(".sv-notice") == "Stopped before it started."
    notice(visit, "1 run before yours")
    assert first.page.evaluate("document.body.classList.contains('sv-running')")
    live(first)
    live(visit)  # the two runs take turns
    assert first.page.evaluate("document.body.classList.contains('sv-running')")
    first.page.click("#sv-stop")
    visit.wait_until_over()
    assert visit.page.locator(".sv-notice").is_hidden()
    first.page.close()


def test_closing_the_page_removes_a_waiting_run_from_the_queue(visit, another, url, pair):
    leaver = tab(visit, url)
    for visitor in (another, leaver, visit):
        visitor.open()
        visitor.fill_in(pair, PROMPT, tokens=200, seed=HELD if visitor is another else SLOW)
    another.run()
    notice(another, "Drafting.")
    leaver.run()
    notice(leaver, "1 run before yours")
    visit.run()
    notice(visit, "2 runs before yours")
    leaver.page.close()
    notice(visit, "1 run before yours")
    visit.page.click("#sv-stop")
    another.page.click("#sv-stop")
    visit.wait_until_over()
    another.wait_until_over()


def branch(visit, wish):
    """Press the branch button with a request chosen by the test."""
    visit.page.evaluate(
        """wish => {
          window.specviz.players['sv-step'].wish = () => wish;
          document.querySelector('#sv-branch').click();
        }""",
        wish,
    )


def test_branch_is_a_live_run_with_forced_coins(visit, pair):
    visit.open()
    coins = {f"1 judge {node}": 0.999999 for node in (1, 2, 3, 4)}
    settings = {"gamma": 4, "max_new_tokens": 9, "seed": 5, "coins": coins}
    wish = {"prompt": PROMPT, "target": str(pair[0]), "drafter": str(pair[1])}
    branch(visit, json.dumps(wish | {"settings": settings}))
    live(visit)
    visit.wait_until_over()
    assert visit.ask("run.prompt") == PROMPT
    assert visit.ask("run.settings.coins") == coins
    assert SPEED.search(visit.page.inner_text(".sv-t-end"))
    assert not visit.page.locator("#sv-branch").is_visible()


WISHES = [
    ("{", "JSON"),
    ('{"prompt": 3}', "text"),
    ('{"prompt": "a", "settings": {"gamma": 0}}', "γ"),
]


def test_impossible_branch_is_explained(visit):
    page = visit.open()
    explained = page.locator(".sv-notice")
    for wish, word in WISHES:
        # Gradio ignores a click before it listens, and while the event before it is not over.
        for _ in range(4):
            branch(visit, wish)
            with suppress(AssertionError):
                expect(explained).to_contain_text(word, timeout=10_000)
                break
        expect(explained).to_contain_text(word)
        visit.wait_until_over()
        assert page.inner_text(".sv-badge") == "recorded"


def values(page):
    """Return the form's values by label."""
    numbers = {
        name: float(page.locator("#sv-drawer").get_by_label(name).first.input_value())
        for name in ("γ, guesses", "Temperature", "Top-k", "Top-p", "Seed", "New tokens")
    }
    checked = page.locator("#sv-drawer input[type=radio]:checked")
    return {
        "prompt": page.get_by_label("Prompt").input_value(),
        "siblings": page.get_by_label("Siblings at each depth").input_value(),
        "radios": [checked.nth(i).input_value() for i in range(checked.count())],
    } | numbers


def test_form_takes_the_settings_of_the_selected_recorded_run(visit):
    page = visit.open()
    page.click("#sv-settings")
    page.get_by_label("Prompt").fill("something else")
    page.get_by_label("Siblings at each depth").fill("4")
    page.get_by_label("Seed").fill("77")
    page.click("#sv-method input")
    page.get_by_role("option", name="N-gram").click()
    page.locator("#sv-recorded input").click()
    page.get_by_role("option").nth(3).click()
    page.wait_for_function("window.specviz.players['sv-step'].run.id === '04-temperature-0'")
    page.wait_for_function("document.querySelector('#sv-prompt textarea').value.startsWith('Once')")
    settings = made(RUNS["04-temperature-0"]).header.settings
    assert values(page) == {
        "prompt": "Once upon a time",
        "siblings": "",
        "radios": ["sampled", "fixed", "auto"],
        "γ, guesses": settings["gamma"],
        "Temperature": 0,
        "Top-k": 0,
        "Top-p": 1,
        "Seed": settings["seed"],
        "New tokens": settings["max_new_tokens"],
    }


def pick(page, drafter):
    page.click("#sv-method input")
    page.get_by_role("option", name=drafter, exact=True).click()


def test_selecting_a_drafter_fills_in_its_defaults_and_hides_other_settings(visit):
    page = visit.open()
    page.click("#sv-settings")
    drawer = page.locator("#sv-drawer")
    paths, siblings = (
        drawer.get_by_label("Tree as rank paths"),
        drawer.get_by_label("Siblings at each"),
    )
    budget = drawer.get_by_label("Budget").first
    pick(page, "Medusa")
    expect(paths).to_have_value(
        find_spec("rank_paths").form_value(with_defaults("medusa", {})["rank_paths"])
    )
    assert values(page)["γ, guesses"] == with_defaults("medusa", {})["gamma"]
    expect(page.locator("#sv-settings")).to_contain_text("8 paths")
    pick(page, "EAGLE-2")
    expect(paths).to_have_value("")
    expect(budget).to_have_value(str(with_defaults("eagle2", {})["budget"]))
    expect(budget).to_be_visible()
    expect(siblings).not_to_be_visible()
    expect(paths).not_to_be_visible()
    pick(page, "EAGLE")
    expect(siblings).to_have_value(
        find_spec("siblings").form_value(with_defaults("eagle", {})["siblings"])
    )
    expect(siblings).to_be_visible()


def test_choosing_another_target_lists_only_drafters_that_fit_it(visit):
    page = visit.open()
    page.click("#sv-settings")
    said = page.locator("#sv-settings .sv-said")
    assert "EAGLE-3" in visit.listed("#sv-method input")
    visit.choose("#sv-target input", "SmolLM2")
    expect(said).to_have_text("Draft model drafts for SmolLM2 · T 0.8 · γ 5 · seed 1")
    assert visit.listed("#sv-method input") == {
        entry.title
        for entry in entries()
        if entry.kind == "drafter" and entry.made_for in (None, "smollm2")
    }
    page.get_by_label("Prompt").fill(tiny.PROMPT)
    page.get_by_label("New tokens").first.fill("8")
    visit.run()
    visit.wait_until_over()
    expect(page.locator(".sv-where")).to_contain_text("Draft model drafts for SmolLM2 · ")
    page.locator("#sv-recorded input").click()
    page.get_by_role("option").nth(2).click()
    expect(said).to_contain_text(" drafts for House · ")
    page.click("#sv-settings")  # Run live has closed it
    assert "EAGLE-3" in visit.listed("#sv-method input")


def test_form_takes_the_settings_of_a_recorded_run_opened_by_link(visit):
    page = visit.open("?trace=04-temperature-0")
    page.click("#sv-settings")
    expect(page.locator("#sv-recorded input")).to_have_value("temperature 0")
    expect(page.locator("#sv-drawer").get_by_label("Temperature").first).to_have_value("0")
    settings = made(RUNS["04-temperature-0"]).header.settings
    assert values(page)["Seed"] == settings["seed"]


class Line:
    """A connection to the server that a test can cut; the page then loses the server."""

    def __init__(self, url):
        self.far = urlsplit(url)
        self.door = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.door.getsockname()[1]}/"
        self.ends = []
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        """Connect every client to the server until the connection is cut."""
        with suppress(OSError):
            while True:
                near, _ = self.door.accept()
                far = socket.create_connection((self.far.hostname, self.far.port))
                self.ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=hand_on, args=(one, other), daemon=True).start()

    def cut(self):
        """Close all connections and accept no more."""
        for end in [self.door, *self.ends]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def hand_on(one, other):
    """Copy data from one socket to the other; close both when one closes."""
    with suppress(OSError):
        while said := one.recv(1 << 16):
            other.sendall(said)
        other.shutdown(socket.SHUT_WR)


@pytest.fixture
def line(url):
    made = Line(url)
    yield made
    made.cut()


def test_lost_connection_during_a_run_is_reported(browser, line, pair):
    context = browser.new_context(reduced_motion="reduce")
    visitor = Visit(context.new_page(), line.address)
    visitor.open()
    visitor.fill_in(pair, PROMPT, tokens=200, seed=SLOW)
    visitor.run()
    live(visitor)
    rounds = visitor.ask("rounds")
    line.cut()
    notice(visitor, "connection to the server was lost")
    visitor.wait_until_over()
    assert visitor.ask("rounds") >= rounds > 0
    context.close()
