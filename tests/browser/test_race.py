"""Races on Compare in a browser: the replay, the states of a live race, and the numbers."""

import csv
import json
import re

import made_race
import pytest
from made_race import APART, HOSTILE, LANES, ORDER, PROMPT, TOKENS, tokens_at
from playwright.sync_api import expect
from test_access import faint, faults

RACE = "window.specviz.races['sv-race']"
RECORDED = {"made": made_race.recorded(), "apart": made_race.recorded("apart", "draft")}
END = max(made_race.seconds_of(name) for name in LANES)
SHOWN = ["plain", *(name for name in LANES if name != "plain")]  # plain decoding comes first
SEEN = """() => [...document.querySelectorAll(".sv-race-lane")].map((lane) =>
  lane.querySelectorAll(".sv-race-word:not(.sv-race-unseen)").length)"""
TOPS = """() => [...document.querySelectorAll(".sv-race-lane, .sv-race-same, .sv-race-headline")]
  .map((each) => Math.round(each.getBoundingClientRect().top + scrollY))"""
# Only those of the race: the page has other transitions.
MOVING = """() => document.querySelector(".sv-race").getAnimations({ subtree: true })
  .filter((each) => each.playState === "running").length"""
# Press the button from within the page as soon as the race plays; from outside it may be too late.
PAUSED = f"""async () => {{
  await {RACE}.load("made");
  while (!({RACE}.playing && {RACE}.time > 0)) await new Promise(requestAnimationFrame);
  document.querySelector("[data-race=play]").click();
  return {RACE}.time;
}}"""


def send(route):
    """Return a made-up race as if it had been recorded."""
    route.fulfill(body=RECORDED[route.request.url.rsplit("/", 1)[1]])


class Racer:
    """A visitor of the Compare tab."""

    def __init__(self, page):
        self.page = page
        self.sent = []

    @classmethod
    def of(cls, visit):
        """Return a visitor with a new page."""
        page = visit.page
        page.route(re.compile("/sv/races/(made|apart|scaled|formulas)$"), send)
        page.goto(visit.url)
        page.get_by_role("tab", name="Compare", exact=True).click()
        page.wait_for_selector(".sv-race-lane")
        return cls(page)

    def ask(self, expression):
        """Evaluate a property or a call of the race's public object."""
        return self.page.evaluate(f"{RACE}.{expression}")

    def receive(self, *lines):
        """Send the lines of a live race that were not sent yet."""
        known = len(self.sent) if list(lines[: len(self.sent)]) == self.sent else 0
        self.sent = list(lines)
        self.page.evaluate(f"(lines) => {RACE}.hear(lines)", self.sent[known:])

    def notice(self):
        """Return the notice above the race; empty if it is hidden."""
        box = self.page.locator(".sv-race-notice")
        return box.inner_text() if box.is_visible() else ""


@pytest.fixture
def racer(looker):
    """A visitor with reduced motion who sees the made-up race; the tab may be open already."""
    looker.arrive(lambda: Racer.of(looker))
    found = Racer(looker.page)
    found.page.evaluate("scrollTo(0, 0)")
    found.ask("load('made')")
    if found.page.locator(".sv-race-full").count():
        found.page.get_by_role("button", name="Full texts").click()
    return found


@pytest.fixture
def mover(lively):
    """A visitor without reduced motion."""
    return Racer.of(lively)


def scaled(factor):
    """Return the made-up race with all times multiplied by a factor."""
    lines = [json.loads(line) for line in RECORDED["made"].splitlines()]
    for line in lines:
        if line["kind"] == "ended":
            line["passes"] = [[part * factor for part in each] for each in line["passes"]]
    return made_race.lines(*lines)


def started(lane, place, turn=1):
    """Return the line of a lane that starts."""
    return {"kind": "started", "lane": lane, "place": place, "turn": turn}


STILL = "document.getAnimations().every((each) => each.playState !== 'running')"


def test_race_result_is_hidden_until_the_replay_ends_or_is_skipped(mover):
    page, headline = mover.page, mover.page.locator(".sv-race-headline")
    ahead = page.locator(".sv-race-ahead").first
    for show in (lambda: page.get_by_text("Show it now").click(), lambda: mover.ask("seek(1e9)")):
        mover.ask("load('made')")
        assert headline.is_hidden()
        assert ahead.is_hidden()
        place = headline.bounding_box()
        show()
        assert headline.is_visible()
        assert ahead.is_visible()
        assert headline.bounding_box() == place
    mover.ask("seek(0)")
    assert headline.is_visible(), "what was seen once stays"


def test_reduced_motion_shows_a_recorded_race_as_finished(visit):
    racer = Racer.of(visit)
    assert racer.ask("race.source") == "recorded"
    assert visit.page.locator(".sv-race .sv-badge").inner_text() == "recorded"
    shown = racer.ask("tokens")
    assert len(shown) >= 3
    assert len(set(shown.values())) == 1, "lanes of one length at temperature 0"
    assert not racer.ask("playing")
    assert visit.page.locator(".sv-race-headline").inner_text() == racer.ask("whole.headline")


def test_race_starts_by_itself_and_its_buttons_pause_and_change_speed(mover):
    page = mover.page
    paused = page.evaluate(PAUSED)
    assert not mover.ask("playing")
    assert 0 < paused < END
    speed = page.locator("[data-race=speed]")
    said = [speed.inner_text()]
    for _ in range(4):
        speed.click()
        said.append(speed.inner_text())
    assert said == ["1/12 ×", "1/3 ×", "1 ×", "1/24 ×", "1/12 ×"]
    assert mover.ask("time") == paused
    speed.click()
    speed.click()
    assert page.locator(".sv-race-sub").inner_text().endswith("measured times, real time")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(f"!{RACE}.playing")
    assert mover.ask("time") == pytest.approx(END)
    assert set(mover.ask("tokens").values()) == {TOKENS}
    page.get_by_role("button", name="Again").click()
    page.wait_for_function(f"{RACE}.playing && {RACE}.time < 0.8 * {END}")


def test_race_starts_only_when_most_of_it_is_visible(mover):
    page = mover.page
    page.set_viewport_size({"width": 1280, "height": 260})
    mover.ask("load('made')")
    page.wait_for_timeout(400)
    assert (mover.ask("playing"), mover.ask("time")) == (False, 0)
    page.locator(".sv-race-lanes").scroll_into_view_if_needed()
    page.wait_for_function(f"{RACE}.playing")


@pytest.mark.parametrize("full", [False, True])
def test_lanes_show_only_tokens_of_finished_passes(racer, full):
    if full:
        racer.page.get_by_role("button", name="Full texts").click()
    moments = [0, 0.05, 0.0619, 0.062, 0.2, 0.424, 0.5689, 0.57, END - 0.001, END, 0.1]
    tops = racer.page.evaluate(TOPS)
    for moment in moments:
        racer.ask(f"seek({moment})")
        wanted = {name: tokens_at(name, moment) for name in SHOWN}
        assert racer.ask("tokens") == wanted, moment
        assert racer.page.evaluate(SEEN) == list(wanted.values())
        shown = racer.page.locator(".sv-race-count b").all_inner_texts()
        assert shown == [str(many) for many in wanted.values()]
        assert racer.page.evaluate(TOPS) == tops, "nothing moves while it replays"


def test_arrow_keys_move_the_slider_by_passes_and_clicks_move_it_anywhere(racer):
    page = racer.page
    pin = page.get_by_role("slider", name="Time of the replay")
    pin.focus()
    page.keyboard.press("Home")
    assert racer.ask("time") == 0
    firsts = sorted({sum(made_race.passes(name)[0]) for name in LANES})
    for first in firsts:
        page.keyboard.press("ArrowRight")
        assert racer.ask("time") == pytest.approx(first)
    page.keyboard.press("ArrowLeft")
    assert racer.ask("time") == pytest.approx(firsts[-2])
    assert float(pin.get_attribute("aria-valuenow")) == pytest.approx(firsts[-2], abs=1e-3)
    assert "Draft model 1 token," in pin.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    assert racer.ask("time") == pytest.approx(END)
    box = page.locator(".sv-race-ticks").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 6)
    assert racer.ask("time") == pytest.approx(END / 2, rel=0.01)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 6)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 40, box["y"] + 60)
    page.mouse.up()
    assert racer.ask("time") == pytest.approx(END), "dragged past its end"


def test_replay_takes_8_to_12_seconds(racer):
    found = {}
    for factor in (0.02, 0.2, 0.45, 1, 3, 7, 9.5, 13, 50, 400):
        RECORDED["scaled"] = scaled(factor)
        racer.ask("load('scaled')")
        shown = racer.page.locator("[data-race=speed]").inner_text().removesuffix(" ×")
        over, _, under = shown.partition("/")
        found[factor] = shown
        assert 8 <= END * factor / (int(over) / int(under or 1)) <= 12, shown
    assert (found[0.2], found[1], found[13]) == ("1/64", "1/12", "1")


def test_reduced_motion_has_a_labelled_play_button(racer):
    page = racer.page
    invites = page.get_by_role("button", name="Play the race")
    assert invites.inner_text() == "Play the race"
    assert not racer.ask("playing")
    invites.click()
    page.get_by_role("button", name="Pause").click()
    assert page.get_by_role("button", name="Play", exact=True).inner_text() == ""


def test_lanes_are_compact_and_plain_decoding_comes_first(racer):
    page = racer.page
    page.set_viewport_size({"width": 1280, "height": 800})
    tall = [lane.bounding_box()["height"] for lane in page.locator(".sv-race-lane").all()]
    assert sorted(tall)[-2] <= 64, "but for the one with the long name"
    assert page.locator(".sv-race-lane h3").first.inner_text() == "Plain decoding"
    assert page.locator(".sv-race-c-name h3").first.inner_text() == "Plain decoding"
    assert page.locator(".sv-race-headline").bounding_box()["y"] < 800
    racer.ask("seek(0.3)")
    for name, lane in zip(SHOWN, page.locator(".sv-race-lane").all(), strict=True):
        box, line = lane.bounding_box(), lane.locator(".sv-race-text").bounding_box()
        last = lane.locator(".sv-race-word:not(.sv-race-unseen)").last
        assert last.text_content() in made_race.STORY, name
        end = last.bounding_box()["x"] + last.bounding_box()["width"]
        assert line["x"] < end <= box["x"] + box["width"], "the last words are the ones in sight"
    page.get_by_role("button", name="Full texts").click()
    assert page.locator(".sv-race-prompt").first.is_visible()
    assert page.locator(".sv-race-full .sv-race-lane").first.bounding_box()["height"] > 64


def test_text_of_a_lane_scrolls_to_its_newest_word(racer):
    page = racer.page
    page.set_viewport_size({"width": 390, "height": 844})
    racer.ask(f"seek({END})")
    for lane in page.locator(".sv-race-lane").all():
        last = lane.locator(".sv-race-word").last.bounding_box()
        first = lane.locator(".sv-race-word").first.bounding_box()
        assert 200 < last["x"] + last["width"] <= 390
        assert first["x"] < 0


def test_lanes_that_ran_several_times_show_their_speedup_range(racer):
    page = racer.page
    row = page.locator(".sv-race-numbers").filter(has_text="Draft model")
    low, high = next(n for n in made_race.summary()["lanes"] if n["name"] == "draft")["speedups"]
    assert row.locator(".sv-race-spread").inner_text() == f"{low:.2f} to {high:.2f}"
    assert page.locator(".sv-race-plain .sv-race-spread").count() == 0
    foot = page.locator(".sv-race-foot").inner_text()
    assert "Lanes that took less than a second ran 3 times" in foot


def test_reduced_motion_plays_a_race_without_animations(racer):
    racer.ask("seek(0.8)")
    racer.ask("play()")
    assert racer.page.evaluate(MOVING) == 0
    racer.page.wait_for_function(f"!{RACE}.playing")
    assert racer.ask("time") == pytest.approx(END)


def test_html_is_shown_as_text_and_unknown_values_as_dashes(racer):
    page = racer.page
    assert page.locator(".sv-race-lane h3").nth(1).inner_text() == HOSTILE
    assert page.locator(".sv-race-c-name h3").nth(1).inner_text() == HOSTILE
    page.get_by_role("button", name="Full texts").click()
    assert page.locator(".sv-race-prompt").first.inner_text() == PROMPT
    assert page.locator(".sv-race img, .sv-race script").count() == 0
    assert page.evaluate("window.hacked") is None
    row = page.locator(".sv-race-numbers").filter(has_text="N-gram lookup")
    assert row.locator(".sv-race-c-flops_per_token > span").last.inner_text() == "–"
    assert row.locator(".sv-race-c-bytes > span").last.inner_text() == "none"
    assert row.locator(".sv-race-c-held_bytes > span").last.inner_text() == "–"
    draft = page.locator(".sv-race-numbers").filter(has_text="Draft model")
    assert draft.locator(".sv-race-c-held_bytes > span").last.inner_text() == "39 MB"
    assert page.locator(".sv-race-same").inner_text().startswith("All 4 texts are identical:")


def test_lane_with_a_different_text_is_named_and_its_first_different_word_marked(racer):
    racer.ask("load('apart')")
    page = racer.page
    assert page.locator(".sv-race-same").get_attribute("data-is") == "apart"
    assert page.locator(".sv-race-apart").inner_text() == APART
    lane = page.locator(".sv-race-lane").filter(has_text="Draft model")
    words = lane.locator(".sv-race-word").all()
    marked = [n for n, word in enumerate(words) if "sv-race-parts" in word.get_attribute("class")]
    assert marked == [2]
    assert page.locator(".sv-race-parts").count() == 1


def test_warning_about_noise_is_shown_beside_the_headline(racer):
    page, number = racer.page, str(racer.ask("begin()"))
    caution = "These times are unreliable. Draft model: <b>slow</b>."
    assert page.locator(".sv-race-caution").is_hidden()
    cost = page.locator(".sv-race-gb .sv-race-p").first
    grey = "(e) => getComputedStyle(e).filter.includes('grayscale')"
    assert not cost.evaluate(grey)
    whole = {"kind": "summary", "whole": made_race.summary(caution=caution)}
    lines = [made_race.opening(number, "live"), *map(made_race.ended, ORDER), whole]
    racer.receive(*lines, {"kind": "state", "state": "done", "id": number})
    box = page.locator(".sv-race-caution").bounding_box()
    head = page.locator(".sv-race-headline").bounding_box()
    assert page.locator(".sv-race-caution").inner_text() == caution
    assert cost.evaluate(grey), "times do not count here"
    assert head["x"] + head["width"] <= box["x"]
    assert abs(head["y"] - box["y"]) < 4


def test_finished_live_race_can_be_replayed_and_shows_its_numbers(racer):
    number = str(racer.ask("begin()"))
    done = {"kind": "state", "state": "done", "id": number}
    lines = [made_race.opening(number, "live"), *map(made_race.ended, ORDER)]
    racer.receive(*lines, {"kind": "summary", "whole": made_race.summary()}, done)
    assert racer.page.locator(".sv-race-numbers[role=rowgroup]").count() == len(LANES)
    assert "Measured on this machine" in racer.page.locator(".sv-race-foot").inner_text()
    assert racer.page.get_by_role("button", name="Play the race").is_enabled()
    racer.ask("ended()")
    assert racer.notice() == ""
    racer.ask("begin()")
    racer.ask("ended()")
    assert racer.notice() == "The server did not accept this race. Try again."


def test_column_headings_have_tooltips_and_lanes_link_to_cost(racer):
    page = racer.page
    term = page.get_by_role("button", name="acceptance α")
    tip = page.get_by_role("tooltip").filter(has_text="sum of min(p, q)")
    assert tip.count() == 0, "not before the focus is there"
    term.focus()
    tip.wait_for()
    page.keyboard.press("Escape")
    tip.wait_for(state="hidden")
    page.evaluate("""() => addEventListener("sv-handed", ({ detail }) => {
      if (detail === "sv-law") window.given = JSON.stringify(window.specviz.handed[detail]);
    }, true)""")
    page.get_by_role("button", name="See it on Cost: Draft model").click()
    page.wait_for_function("window.given")
    point = page.evaluate("window.given")
    known = next(lane for lane in made_race.summary()["lanes"] if lane["name"] == "draft")["point"]
    whose = {"name": "Draft model", "source": "recorded", "where": racer.ask("race.where")}
    assert json.loads(point) == known | whose


def test_table_keeps_focus_when_another_race_is_shown(racer):
    term = racer.page.get_by_role("button", name="acceptance α")
    link = racer.page.get_by_role("button", name="See it on Cost: Draft model")
    for button, name in ((term, "apart"), (link, "made")):
        button.focus()
        racer.ask(f"load('{name}')")
        expect(racer.page.locator(".sv-race-apart")).to_have_count(int(name == "apart"))
        expect(button).to_be_focused()


def test_page_says_when_short_lanes_are_repeated(racer):
    page, number = racer.page, str(racer.ask("begin()"))
    lines = [made_race.opening(number, "live")]
    for place, name in enumerate(ORDER, 1):
        lines += [started(name, place), made_race.ended(name)]
    racer.receive(*lines, started("plain", 2, 2))
    now = page.locator(".sv-race-who")
    assert now.inner_text() == "Repeating the fast lanes: run 2 · Lane 2 of 4: Plain decoding"
    assert page.locator(".sv-race-order [aria-current]").inner_text() == "Plain decoding"
    assert page.locator(".sv-race-order .sv-race-did").all_inner_texts() == ["Draft model"]


def test_queued_race_shows_its_waiting_time(racer):
    number = str(racer.ask("begin()"))
    lines = [{"kind": "state", "state": "queued", "place": 1, "seconds": 3, "id": number}]
    racer.receive(*lines)
    assert racer.notice() == "In the queue: 1 run before yours, about 3 seconds."
    lines.append(made_race.opening(number, "live"))
    racer.receive(*lines)
    lines.append({"kind": "state", "state": "queued", "place": 2, "seconds": 1, "id": number})
    racer.receive(*lines)
    assert racer.notice() == "Taking turns with 2 other runs: about 1 second between two turns."
    lines.append({"kind": "state", "state": "resumed", "id": number})
    racer.receive(*lines)
    assert racer.notice() == ""


def test_running_race_shows_progress_and_keeps_finished_lanes(racer):
    page, number = racer.page, str(racer.ask("begin()"))
    lines = [{"kind": "state", "state": "queued", "place": 2, "id": number}]
    racer.receive(*lines)
    assert racer.notice() == "In the queue: 2 runs before yours."
    assert racer.ask("race.source") == "recorded", "what was shown stays meanwhile"
    lines += [made_race.opening(number, "live"), started("draft", 1)]
    racer.receive(*lines)
    assert racer.notice() == ""
    assert page.locator(".sv-race .sv-badge").inner_text() == "live"
    now = page.locator(".sv-race-now")
    assert now.text_content().startswith("Lane 1 of 4: Draft model, warming up")
    assert page.locator(".sv-race-result").is_hidden()
    lines += [made_race.ended("draft"), started("plain", 2)]
    lines += [{"kind": "progress", "lane": "plain", "tokens": 31, "seconds": 0.414}]
    racer.receive(*lines)
    assert now.text_content().startswith("Lane 2 of 4: Plain decoding, 31 tokens, 0.41 s")
    assert page.locator(".sv-race-order").inner_text().split(": ", 1)[1].startswith("Draft model")
    assert racer.ask("tokens") == {name: TOKENS if name == "draft" else 0 for name in LANES}
    assert page.locator("[data-race=play]").is_disabled()
    racer.ask("stop()")
    assert racer.notice() == "Stopping after this round."
    lines += [{"kind": "error", "sentence": "The model is <i>gone</i>.", "id": number}]
    racer.receive(*lines)
    racer.ask("ended()")
    page.get_by_role("alert").filter(has_text="The model is <i>gone</i>.").wait_for()
    assert page.locator(".sv-race-now").is_hidden()
    assert racer.ask("tokens")["draft"] == TOKENS
    racer.ask("seek(0.3)")
    assert racer.ask("tokens")["draft"] == tokens_at("draft", 0.3)
    assert not page.evaluate("document.body.classList.contains('sv-racing')")


def test_race_passes_axe_and_contrast_checks(racer):
    page = racer.page
    page.locator(".sv-race-words summary").click()
    racer.ask("seek(0.3)")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for dark in (False, True):
            page.evaluate("(on) => document.body.classList.toggle('dark', on)", dark)
            page.wait_for_function(STILL)  # Gradio's own colours change in steps
            if dark is (width < 1280):  # none of it changes with the theme
                assert faults(page) == [], (width, dark)
            assert faint(page) == [], (width, dark)
        assert page.evaluate("document.documentElement.scrollWidth") == width


def saved(page, kind):
    """Press a button below the result and return the name and the text of the file it saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save as {kind}: numbers of the race").click()
    file = download.value
    return file.suggested_filename, file.path().read_bytes().decode("utf-8-sig")


def number(text):
    """A field of a saved table; None if it is empty."""
    return float(text) if text else None


def test_saved_table_has_the_numbers_of_the_race_unrounded(racer):
    name, text = saved(racer.page, "CSV")
    assert name == "specviz-race-made.csv"
    assert text.endswith("\r\n")
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["lane"] for row in rows] == SHOWN
    lanes = {lane["name"]: lane for lane in made_race.summary()["lanes"]}
    cells = racer.page.locator(".sv-race-c-speedup .sv-race-shown").all_inner_texts()
    for row, cell in zip(rows, cells, strict=True):
        lane = lanes[row["lane"]]
        assert number(row["speedup_times_plain"]) == lane["speedup"]
        assert f"{number(row['speedup_times_plain']):.2f} ×" == cell
        assert number(row["cost_per_round_plain_tokens"]) == lane["costs"]["total"]
        assert number(row["target_pass_plain_tokens"]) == lane["costs"]["target"]
        assert number(row["flops_per_token"]) == lane["flops_per_token"]
        assert number(row["held_in_memory_bytes"]) == lane["held_bytes"]
        assert number(row["median_run_seconds"]) == made_race.seconds_of(row["lane"])
        assert int(row["tokens"]) == TOKENS
        assert int(row["target_passes"]) == made_race.many_passes(row["lane"])
        depth = lane["depths"][1] if lane["depths"] else None
        assert number(row["depth_2_accepted"]) == (depth and depth["kept"])
        assert row["prompt"] == PROMPT
    assert rows[1]["drafter"] == HOSTILE


def test_saved_json_has_every_pass_of_the_race(racer):
    name, text = saved(racer.page, "JSON")
    assert name == "specviz-race-made.json"
    found = json.loads(text)
    assert (found["order"], found["prompt"]) == (ORDER, PROMPT)
    assert found["headline"] == made_race.summary()["headline"]
    for lane in found["lanes"]:
        times = [
            [each[f"{part}_seconds"] for part in ("drafting", "target_pass", "other")]
            for each in lane["passes"]
        ]
        assert times == made_race.passes(lane["lane"])
        words = [word["text"] for each in lane["passes"] for word in each["tokens"]]
        assert [word.lstrip(" ") for word in words] == made_race.TEXT
        assert lane["runs_seconds"][0] == made_race.seconds_of(lane["lane"])


def test_texts_that_a_spreadsheet_would_evaluate_are_marked_as_text(racer):
    lines = [json.loads(line) for line in RECORDED["made"].splitlines()]
    lines[0]["prompt"] = '=HYPERLINK("http://x","a"),\n2'
    titles = ["+1", " -1", "@SUM(A1)", "\t=1"]
    for lane, title in zip(lines[0]["lanes"], titles, strict=True):
        lane["title"] = title
    RECORDED["formulas"] = made_race.lines(*lines)
    racer.ask("load('formulas')")
    _, text = saved(racer.page, "CSV")
    rows = list(csv.DictReader(text.splitlines(keepends=True)))
    assert {row["drafter"] for row in rows} == {f"'{title}" for title in titles}
    assert {row["prompt"] for row in rows} == {f"'{lines[0]['prompt']}"}
    assert json.loads(saved(racer.page, "JSON")[1])["prompt"] == lines[0]["prompt"]


def test_saved_table_omits_speeds_that_are_too_noisy(racer):
    lines = [json.loads(line) for line in RECORDED["made"].splitlines()]
    whole = next(line["whole"] for line in lines if line["kind"] == "summary")
    whole["lanes"][0]["noise"] = "plain decoding varied by 9 ×"
    RECORDED["scaled"] = made_race.lines(*lines)
    racer.ask("load('scaled')")
    rows = list(csv.DictReader(saved(racer.page, "CSV")[1].splitlines()))
    noisy = rows[SHOWN.index(whole["lanes"][0]["name"])]
    assert noisy["too_noisy"] == "plain decoding varied by 9 ×"
    assert noisy["speedup_times_plain"] == noisy["lowest_speedup_times_plain"] == ""
