"""Live runs in a browser: streamed, stopped, rejected, and separate for each visitor."""

import re
import time

import tiny
from made import RUNS, made
from playwright.sync_api import expect
from serve import HELD, RELEASE, SLOW
from visit import Visit

from specviz.catalog.entry import entries, with_defaults
from specviz.settings.specs import find_spec

SPEED = re.compile("× plain|run it again")  # the second text on a busy machine
PROMPT = "The cat sat on the mat. The cat"
SMALL = "Draft model drafts for SmolLM2 · "
HOSTILE = "<img src=x onerror=window.hacked=1> ${1} {{x}} `\nThe cat"
PLAYER = "window.specviz['sv-step']"
NO_NOTICE = "document.querySelector('.sv-notice').hidden"
RUNNING = "document.body.classList.contains('sv-running')"


def live(visitor, timeout=None):
    """Wait until a live run with at least one round is on screen."""
    shown = f"document.querySelector('.sv-badge').textContent === 'live' && {PLAYER}.rounds > 0"
    visitor.page.wait_for_function(shown, timeout=timeout)


# Whether the notice contains a word; Gradio ignores a click while the previous event is pending.
BRANCHED = """(word) => {
  if (document.querySelector('.sv-notice').textContent.includes(word)) return true;
  if (!document.body.classList.contains('sv-running')) document.querySelector('#sv-branch').click();
  return false;
}"""


def notice(visit, words):
    """Wait until the notice contains these words."""
    visit.page.wait_for_function(
        "words => document.querySelector('.sv-notice').textContent.includes(words)", arg=words
    )


def test_finished_run_shows_its_text_and_speed_also_after_a_reload(visit, pair):
    page = visit.open()
    before = visit.caption()
    visit.fill_in(pair, HOSTILE)
    visit.run()
    live(visit)
    visit.wait_until_over()
    assert visit.ask("run.prompt") == HOSTILE
    assert page.locator(".sv-prompt").evaluate("e => e.textContent") == HOSTILE
    assert page.evaluate("window.hacked") is None, "markup in a prompt is text"
    assert page.locator(".sv-notice").is_hidden()
    assert SPEED.search(page.inner_text(".sv-lanes-sum"))
    first = visit.caption()
    assert first != before
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("ArrowRight")
    assert visit.caption() != first, "a key steps through a live run"
    rounds = visit.ask("rounds")
    page.reload()
    expect(page.locator(".sv-badge").first).to_have_text("live")
    assert visit.ask("rounds") == rounds > 0
    expect(page.get_by_label("Prompt").first).to_have_value(HOSTILE)


def test_rejected_requests_are_explained_and_leave_the_run_on_screen(visit, pair):
    page = visit.open()
    shown = visit.ask("rounds"), visit.caption()
    requests = ((pair, "", "empty"), ((pair[0] / "none", pair[1]), PROMPT, "none"))
    for models, prompt, word in requests:
        visit.fill_in(models, prompt)
        visit.run()
        page.get_by_role("alert").filter(has_text=word).wait_for()
        visit.wait_until_over()
        assert (visit.ask("rounds"), visit.caption()) == shown, word
    for wish, word in (("{", "JSON"), ('{"prompt": "a", "settings": {"gamma": 0}}', "γ")):
        page.evaluate(f"(wish) => {{ {PLAYER}.branchRequest = () => wish; }}", wish)
        page.wait_for_function(BRANCHED, arg=word, polling=500)
        visit.wait_until_over()
        assert page.inner_text(".sv-badge") == "recorded", wish
    page.click("#sv-settings button")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    visit.ask("begin()")  # as Run live does
    assert page.locator("#sv-settings button").get_attribute("aria-expanded") == "false"
    top = page.evaluate("document.querySelector('.sv').getBoundingClientRect().top")
    assert 0 <= top <= 400, "the page scrolls to the run"
    for act, said in (("stop", "Stopping"), ("ended", "Stopped"), ("begin", ""), ("ended", "Try")):
        visit.ask(f"{act}()")
        notice(visit, said)


def start_long_run(visitor, pair):
    """Start a run of many rounds, and wait for the first."""
    visitor.fill_in(pair, PROMPT, tokens=200, seed=SLOW)
    visitor.run()
    visitor.page.wait_for_function(f"{NO_NOTICE} && {PLAYER}.run.prompt === '{PROMPT}'")
    live(visitor)


def test_run_continues_after_a_reload_and_keeps_its_rounds_when_stopped(visit, pair):
    page = visit.open()
    start_long_run(visit, pair)
    rounds = visit.ask("rounds")
    # The address is updated a little later than the steps: here while the page is being reloaded.
    page.route(page.url, lambda route: (time.sleep(0.5), route.continue_()))
    page.evaluate("setTimeout(() => history.replaceState(null, '', '?later=1'), 100)")
    page.reload()
    page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
    live(visit)
    expect(page.get_by_label("Prompt").first).to_have_value(PROMPT)
    page.wait_for_function(f"{PLAYER}.rounds > {rounds + 2}")
    page.click("#sv-stop")
    visit.wait_until_over()
    notice(visit, "Stopped")
    kept = visit.ask("rounds")
    assert kept > rounds + 2, "a stopped run keeps its finished rounds"
    assert visit.ask("numbers") == list(range(kept)), "each round comes once"
    assert "not measured" in page.inner_text(".sv-time .sv-lanes-none")
    start_long_run(visit, pair)
    visit.ask("load('02-siblings')")
    expect(page.locator(".sv-badge").first).to_have_text("recorded")
    rounds = visit.ask("rounds")
    page.click("#sv-stop")
    visit.wait_until_over()
    assert visit.ask("run.id") == "02-siblings", "a recorded run replaces the live run"
    assert visit.ask("rounds") == rounds


# Keeps the connection of the next run, and lets little time pass for all patience.
CONNECTION = """() => {
  const wait = window.setTimeout;
  window.setTimeout = (act, time, ...more) => wait(act, Math.min(time, 500), ...more);
  window.EventSource = class extends EventSource {
    constructor(...given) {
      super(...given);
      window.connection = this;
    }
  };
}"""


def test_run_keeps_its_rounds_when_the_connection_is_lost(visit, pair):
    """Gradio reloads the page by itself when a server that was away responds again."""
    page = visit.open()
    page.evaluate(CONNECTION)
    start_long_run(visit, pair)
    rounds = visit.ask("rounds")
    page.evaluate("window.connection.dispatchEvent(new Event('error'))")
    notice(visit, "connection to the server was lost")
    visit.wait_until_over()
    assert visit.ask("rounds") >= rounds > 0
    page.route("**/lines?from=*", lambda route: route.fulfill(status=204))
    visit.open()
    start_long_run(visit, pair)
    rounds = visit.ask("rounds")
    page.reload()
    page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
    notice(visit, "connection to the server was lost")
    assert page.inner_text(".sv-badge") == "live"
    assert visit.ask("rounds") >= rounds > 0
    expect(page.get_by_label("Prompt").first).to_have_value(PROMPT)
    page.evaluate("sessionStorage.setItem('sv-kept-run', 'of a visit before')")
    visit.open("?trace=02-siblings")
    assert page.inner_text(".sv-badge") == "recorded", "a link leads elsewhere"
    assert visit.ask("run.id") == "02-siblings"


def test_visitors_see_their_place_in_the_queue_and_only_their_own_runs(
    visit, another, url, pair, folder
):
    first = Visit(visit.page.context.new_page(), url)
    forms = (
        (first, "The cat", 200, HELD),
        (another, PROMPT, 40, SLOW),
        (visit, "The dog saw the", 12, SLOW),
    )
    for visitor, prompt, tokens, seed in forms:
        visitor.open()
        visitor.fill_in(pair, prompt, tokens=tokens, seed=seed)
    first.run()
    notice(first, "Drafting.")
    for visitor, place in ((another, "1 run"), (visit, "2 runs")):
        visitor.run()
        notice(visitor, f"{place} before yours")
    assert visit.page.inner_text(".sv-badge") == "recorded", "what was shown stays meanwhile"
    another.page.click("#sv-stop")
    another.wait_until_over()
    assert another.page.inner_text(".sv-notice") == "Stopped before it started."
    notice(visit, "1 run before yours")
    assert first.page.evaluate(RUNNING)
    (folder / RELEASE).touch()
    live(first)
    live(visit)
    assert first.page.evaluate(RUNNING), "the two runs take turns"
    for visitor, prompt in ((first, "The cat"), (visit, "The dog saw the")):
        assert visitor.ask("run.prompt") == prompt
        assert visitor.page.inner_text(".sv-prompt") == prompt
    first.page.close()
    visit.wait_until_over()
    assert visit.page.locator(".sv-notice").is_hidden()
    another.fill_in(pair, PROMPT)
    another.run()
    live(another, timeout=10_000)  # a run ends when its visitor leaves
    another.wait_until_over()
    assert another.ask("run.prompt") == PROMPT


def field(page, label):
    """Return a field of the settings."""
    return page.locator("#sv-drawer").get_by_label(label).first


def take_defaults_of_each_drafter(visit):
    """Choose drafters: each fills in its defaults and hides the settings of others."""
    labels = ("Tree as rank paths", "Siblings at each depth", "Budget")
    paths, siblings, budget = (field(visit.page, label) for label in labels)
    visit.choose("#sv-method input", "Medusa")
    medusa = with_defaults("medusa", {})
    expect(paths).to_have_value(find_spec("rank_paths").form_value(medusa["rank_paths"]))
    expect(field(visit.page, "γ, guesses")).to_have_value(str(medusa["gamma"]))
    expect(visit.page.locator("#sv-settings")).to_contain_text("8 paths")
    visit.choose("#sv-method input", "EAGLE-2")
    expect(paths).to_have_value("")
    expect(budget).to_have_value(str(with_defaults("eagle2", {})["budget"]))
    expect(budget).to_be_visible()
    expect(siblings).not_to_be_visible()
    expect(paths).not_to_be_visible()
    visit.choose("#sv-method input", "EAGLE-1")
    defaults = with_defaults("eagle", {})["siblings"]
    expect(siblings).to_have_value(find_spec("siblings").form_value(defaults))
    expect(siblings).to_be_visible()
    said = visit.page.locator("#sv-settings .sv-said")
    visit.choose("#sv-method input", "Draft model")
    gamma = visit.page.locator("#sv-gamma input[type=number]")
    gamma.fill("7")
    gamma.press("Enter")
    expect(said).to_contain_text("γ 7")
    visit.choose("#sv-method input", "Draft model")
    expect(said).to_contain_text("γ 7")  # choosing the same drafter keeps its settings
    visit.choose("#sv-method input", "N-gram")
    expect(said).not_to_contain_text("γ 7")


def run_another_target(visit):
    """Choose another target: only drafters that fit are listed, and a run of it starts."""
    page = visit.page
    visit.choose("#sv-method input", "Medusa")
    visit.choose("#sv-target input", "SmolLM2")
    said = page.locator("#sv-settings .sv-said")
    expect(said).to_contain_text("EAGLE-3 for SmolLM2 drafts")  # Medusa does not fit
    assert visit.listed("#sv-method input") == {
        entry.title
        for entry in entries()
        if entry.kind == "drafter" and entry.made_for in (None, "smollm2")
    }
    visit.choose("#sv-method input", "Draft model")
    expect(said).to_contain_text(SMALL)
    page.get_by_label("Prompt").fill(tiny.PROMPT)
    page.get_by_label("New tokens").first.fill("8")
    visit.run()
    visit.wait_until_over()
    expect(page.locator(".sv-where")).to_contain_text(SMALL)


def test_form_follows_the_chosen_run_drafter_and_target(visit):
    page = visit.open("?trace=04-temperature-0")
    page.click("#sv-settings")
    expect(page.locator("#sv-recorded input")).to_have_value("temperature 0")
    expect(field(page, "Temperature")).to_have_value("0")
    visit.open_more()
    take_defaults_of_each_drafter(visit)
    run_another_target(visit)
    page.click("#sv-settings")  # Run live has closed it
    page.get_by_label("Seed").fill("77")
    page.locator("#sv-recorded input").click()
    page.get_by_role("option").first.click()  # fails if something covers the list
    page.wait_for_function(f"{PLAYER}.run.id === '01-chain'")
    expect(page.locator("#sv-settings .sv-said")).to_contain_text(" drafts for House · ")
    expect(page.get_by_label("Prompt")).to_have_value("Once upon a time")
    settings = made(RUNS["01-chain"]).header.settings
    wanted = {
        "Siblings at each depth": "",
        "γ, guesses": settings["gamma"],
        "Temperature": settings["sampling"]["temperature"],
        "Seed": settings["seed"],
        "New tokens": settings["max_new_tokens"],
    }
    for label, value in wanted.items():
        expect(field(page, label), label).to_have_value(str(value))
    checked = page.locator("#sv-drawer input[type=radio]:checked")
    assert [one.input_value() for one in checked.all()] == ["sampled", "fixed", "auto"]
    assert "EAGLE-3" in visit.listed("#sv-method input")
