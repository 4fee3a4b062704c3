"""Races on Compare in a browser: the replay, the states of a live race, and the numbers."""

import csv
import json
import re

import made_race
import pytest
from made_race import APART, HOSTILE, LANES, ORDER, PROMPT, TOKENS, tokens_at
from playwright.sync_api import expect
from test_access import check_readable

RACE = "window.specviz['sv-race']"
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
# As many frames as a race that is on screen needs to start.
FRAMES = """async () => {
  for (let n = 0; n < 20; n += 1) await new Promise(requestAnimationFrame);
}"""


def send(route):
    """Return a made-up race as if it had been recorded."""
    route.fulfill(body=RECORDED[route.request.url.rsplit("/", 1)[1]])


class Racer:
    """A visitor of the Compare tab."""

    def __init__(self, page):
        self.page = page

    @classmethod
    def of(cls, visit):
        page = visit.page
        page.route(re.compile("/sv/races/(made|apart|changed)$"), send)
        page.goto(visit.url)
        page.get_by_role("tab", name="Compare", exact=True).click()
        page.wait_for_selector(".sv-race-lane")
        return cls(page)

    def ask(self, expression):
        return self.page.evaluate(f"{RACE}.{expression}")

    def begin(self):
        return str(self.ask("begin()"))

    def receive(self, *lines):
        self.page.evaluate(f"(lines) => {RACE}.hear(lines)", list(lines))

    def load(self, change):
        """Show the made-up race after `change` has been called with its lines."""
        lines = [json.loads(line) for line in RECORDED["made"].splitlines()]
        change(lines)
        RECORDED["changed"] = made_race.lines(*lines)
        self.ask("load('changed')")

    def notice(self):
        """Return the notice above the race; empty if it is hidden."""
        box = self.page.locator(".sv-race-notice")
        return box.inner_text() if box.is_visible() else ""

    def saved(self, kind):
        """Save the numbers of the race, and return the file's name and text."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=f"Save as {kind}: numbers of the race").click()
        file = download.value
        return file.suggested_filename, file.path().read_bytes().decode("utf-8-sig")


@pytest.fixture
def racer(looker):
    """A visitor with reduced motion who sees the made-up race; the tab may be open already."""
    looker.arrive(lambda: Racer.of(looker), "Compare")
    found = Racer(looker.page)
    found.page.evaluate("scrollTo(0, 0)")
    found.ask("load('made')")
    if found.page.locator(".sv-race-full").count():
        found.page.get_by_role("button", name="Full texts").click()
    return found


@pytest.fixture
def mover(lively):
    return Racer.of(lively)


def started(lane, place, turn=1):
    return {"kind": "started", "lane": lane, "place": place, "turn": turn}


def state(name, number, **facts):
    return {"kind": "state", "state": name, "id": number, **facts}


def test_race_plays_by_itself_and_hides_its_result_until_it_ends(mover):
    page = mover.page
    paused = page.evaluate(PAUSED)
    assert not mover.ask("playing")
    assert 0 < paused < END
    speed = page.locator("[data-race=speed]")
    said = [speed.inner_text()]
    for _ in range(6):
        speed.click()
        said.append(speed.inner_text())
    assert said == ["1/4 ×", "1 ×", "1/8 ×", "1/4 ×", "1 ×", "1/8 ×", "1/4 ×"]
    assert mover.ask("time") == paused, "another speed does not move it"
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(f"!{RACE}.playing")
    assert mover.ask("time") == pytest.approx(END)
    assert set(mover.ask("tokens").values()) == {TOKENS}
    page.get_by_role("button", name="Again").click()
    page.wait_for_function(f"{RACE}.playing && {RACE}.time < 0.8 * {END}")
    the_result_waits(mover)
    page.set_viewport_size({"width": 1280, "height": 260})
    mover.ask("load('made')")
    page.evaluate(FRAMES)
    assert (mover.ask("playing"), mover.ask("time")) == (False, 0), "most of it is out of sight"
    page.locator(".sv-race-lanes").scroll_into_view_if_needed()
    page.wait_for_function(f"{RACE}.playing")


def the_result_waits(mover):
    """Skip to the end with the link, then with the slider."""
    page, headline = mover.page, mover.page.locator(".sv-race-headline")
    for show in (
        lambda: page.get_by_text("Show the result").click(),
        lambda: mover.ask("seek(1e9)"),
    ):
        mover.ask("load('made')")
        assert headline.is_hidden()
        assert page.locator(".sv-race-table").is_hidden(), "no empty table"
        show()
        assert headline.is_visible()
    mover.ask("seek(0)")
    assert headline.is_visible(), "what was seen once stays"


def test_reduced_motion_plays_a_race_on_request_for_3_to_5_seconds(racer):
    page = racer.page
    invites = page.get_by_role("button", name="Play the race")
    assert not racer.ask("playing")
    racer.ask("seek(0.8)")
    racer.ask("play()")
    assert page.evaluate(MOVING) == 0, "something is animated"
    page.wait_for_function(f"!{RACE}.playing")
    assert racer.ask("time") == pytest.approx(END)
    for factor in (0.02, 0.2, 0.45, 1, 3, 7, 9.5, 13, 50, 400):
        racer.load(lambda lines, factor=factor: stretch(lines, factor))
        shown = page.locator("[data-race=speed]").inner_text().removesuffix(" ×")
        over, _, under = shown.partition("/")
        assert 3 <= END * factor / (int(over) / int(under or 1)) <= 4.5, shown
    invites.click()
    page.get_by_role("button", name="Pause").click()
    assert not racer.ask("playing")


def stretch(lines, factor):
    for line in lines:
        if line["kind"] == "ended":
            line["passes"] = [[part * factor for part in each] for each in line["passes"]]


def test_lanes_show_at_every_moment_the_tokens_of_finished_passes(racer):
    page = racer.page
    tokens_are_those_of_finished_passes(racer)
    the_slider_moves_the_race(racer)
    page.get_by_role("button", name="Full texts").click()
    assert page.locator(".sv-race-prompt").first.inner_text() == PROMPT
    tokens_are_those_of_finished_passes(racer)
    page.get_by_role("button", name="Full texts").click()
    page.set_viewport_size({"width": 390, "height": 844})
    racer.ask(f"seek({END})")
    for lane in page.locator(".sv-race-lane").all():
        words = lane.locator(".sv-race-word")
        last, first = words.last.bounding_box(), words.first.bounding_box()
        assert 200 < last["x"] + last["width"] <= 390, "a lane's newest word is in sight"
        assert first["y"] < last["y"], "earlier words are in the lines above"


def tokens_are_those_of_finished_passes(racer):
    tops = racer.page.evaluate(TOPS)
    for moment in (0, 0.05, 0.0619, 0.062, 0.2, 0.424, 0.5689, 0.57, END - 0.001, END, 0.1):
        racer.ask(f"seek({moment})")
        wanted = {name: tokens_at(name, moment) for name in SHOWN}
        assert racer.ask("tokens") == wanted, moment
        assert racer.page.evaluate(SEEN) == list(wanted.values()), moment
        shown = racer.page.locator(".sv-race-count b").all_inner_texts()
        assert shown == [str(many) for many in wanted.values()], moment
        assert racer.page.evaluate(TOPS) == tops, "nothing moves while it replays"


def the_slider_moves_the_race(racer):
    """Move by passes with the arrow keys, and anywhere with the mouse."""
    page = racer.page
    pin = page.get_by_role("slider", name="Time of the replay")
    pin.focus()
    page.keyboard.press("Home")
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
    middle = box["x"] + box["width"] / 2
    page.mouse.click(middle, box["y"] + 6)
    assert racer.ask("time") == pytest.approx(END / 2, rel=0.01)
    page.mouse.move(middle, box["y"] + 6)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 40, box["y"] + 60)
    page.mouse.up()
    assert racer.ask("time") == pytest.approx(END), "dragged past its end"


def test_result_names_its_numbers_and_marks_a_different_text(racer):
    page, rows = racer.page, racer.page.locator(".sv-race-numbers")
    for names in (page.locator(".sv-race-lane h3"), page.locator(".sv-race-c-name h3")):
        assert names.all_inner_texts()[:2] == ["Plain decoding", HOSTILE]
    assert page.locator(".sv-race img, .sv-race script").count() == 0
    assert page.evaluate("window.hacked") is None
    for lane, text in (("N-gram lookup", "–"), ("Draft model", "39 MB")):
        cell = rows.filter(has_text=lane).locator(".sv-race-c-held_bytes > span").last
        assert cell.inner_text() == text, "unknown values are dashes"
    draft = next(lane for lane in made_race.summary()["lanes"] if lane["name"] == "draft")
    spread = "{:.2f} to {:.2f}".format(*draft["speedups"])
    assert rows.filter(has_text="Draft model").locator(".sv-race-spread").inner_text() == spread
    assert page.locator(".sv-race-plain .sv-race-spread").count() == 0
    term = page.locator(".sv-race-term", has_text="acceptance α")
    term.focus()
    racer.ask("load('apart')")
    expect(page.locator(".sv-race-apart")).to_have_text(APART)
    expect(term, "the focus stays where it was").to_be_focused()
    lane = page.locator(".sv-race-lane").filter(has_text="Draft model")
    marked = "(all) => all.map((e) => e.classList.contains('sv-race-parts')).indexOf(true)"
    assert lane.locator(".sv-race-word").evaluate_all(marked) == 2, "its first different word"
    assert page.locator(".sv-race-parts").count() == 1
    page.get_by_role("button", name="See it on Cost: Draft model").click()
    whose = {"name": "Draft model", "source": "recorded", "where": racer.ask("race.where")}
    page.wait_for_function("window.specviz['sv-runs']?.compare")
    assert page.evaluate("window.specviz['sv-runs'].compare") == draft["point"] | whose


def test_live_race_shows_queue_progress_and_an_error_and_keeps_finished_lanes(racer):
    page, number = racer.page, racer.begin()
    racer.receive(state("queued", number, place=1, seconds=3))
    assert racer.notice() == "In the queue: 1 run before yours, about 3 seconds."
    assert racer.ask("race.source") == "recorded", "what was shown stays meanwhile"
    racer.receive(made_race.opening(number, "live"))
    assert racer.notice() == ""
    racer.receive(state("queued", number, place=2, seconds=1))
    assert racer.notice() == "Taking turns with 2 other runs: about 1 second between two turns."
    racer.receive(state("resumed", number), started("draft", 1))
    assert racer.notice() == ""
    assert page.locator(".sv-race .sv-badge").inner_text() == "live"
    now = page.locator(".sv-race-now")
    assert now.text_content().startswith("Lane 1 of 4: Draft model, warming up")
    assert page.locator(".sv-race-result").is_hidden()
    progress = {"kind": "progress", "lane": "plain", "tokens": 31, "seconds": 0.414}
    racer.receive(made_race.ended("draft"), started("plain", 2), progress)
    assert now.text_content().startswith("Lane 2 of 4: Plain decoding, 31 tokens, 0.41 s")
    assert racer.ask("tokens") == {name: TOKENS if name == "draft" else 0 for name in LANES}
    assert page.locator("[data-race=play]").is_disabled()
    racer.ask("stop()")
    assert racer.notice() == "Stopping after this round."
    racer.receive({"kind": "error", "sentence": "The model is <i>gone</i>.", "id": number})
    racer.ask("ended()")
    page.get_by_role("alert").filter(has_text="The model is <i>gone</i>.").wait_for()
    assert now.is_hidden()
    racer.ask("seek(0.3)")
    assert racer.ask("tokens")["draft"] == tokens_at("draft", 0.3), "a finished lane can be seen"
    assert not page.evaluate("document.body.classList.contains('sv-racing')")


def test_finished_live_race_shows_its_numbers_and_warns_of_noise(racer):
    page, number = racer.page, racer.begin()
    caution = "These times are unreliable. Draft model: <b>slow</b>."
    cost = page.locator(".sv-race-gb .sv-sw-p").first
    grey = "(e) => getComputedStyle(e).filter.includes('grayscale')"
    assert page.locator(".sv-race-caution").is_hidden()
    assert not cost.evaluate(grey)
    racer.receive(made_race.opening(number, "live"))
    for place, name in enumerate(ORDER, 1):
        racer.receive(started(name, place), made_race.ended(name))
    racer.receive(started("plain", 2, 2))
    who = page.locator(".sv-race-who")
    assert who.inner_text() == "Repeating the fast lanes: run 2 · Lane 2 of 4: Plain decoding"
    assert page.locator(".sv-race-order [aria-current]").inner_text() == "Plain decoding"
    assert page.locator(".sv-race-order .sv-race-did").all_inner_texts() == ["Draft model"]
    whole = {"kind": "summary", "whole": made_race.summary(caution=caution)}
    racer.receive(made_race.ended("plain"), whole, state("done", number))
    assert page.locator(".sv-race-caution").inner_text().startswith(caution)
    expect(page.locator(".sv-race-caution").get_by_role("button")).to_have_text("Measure again")
    assert cost.evaluate(grey), "times do not count here"
    assert page.locator(".sv-race-numbers[role=rowgroup]").count() == len(LANES)
    assert page.get_by_role("button", name="Play the race").is_enabled()
    racer.ask("ended()")
    assert racer.notice() == ""
    racer.begin()
    racer.ask("ended()")
    assert racer.notice() == "The server did not accept the request. Try again."


def test_saved_files_have_the_unrounded_numbers_and_every_pass(racer):
    name, text = racer.saved("CSV")
    assert name == "specviz-race-made.csv"
    assert text.endswith("\r\n")
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["lane"] for row in rows] == SHOWN
    lanes = {lane["name"]: lane for lane in made_race.summary()["lanes"]}
    cells = racer.page.locator(".sv-race-c-speedup .sv-race-shown").all_inner_texts()
    for row, cell in zip(rows, cells, strict=True):
        lane = lanes[row["lane"]]
        known = {
            "speedup_times_plain": lane["speedup"],
            "target_pass_plain_tokens": lane["costs"]["target"],
            "flops_per_token": lane["flops_per_token"],
            "median_run_seconds": made_race.seconds_of(row["lane"]),
            "target_passes": made_race.many_passes(row["lane"]),
            "depth_2_accepted": lane["depths"][1]["kept"] if lane["depths"] else None,
        }
        assert {name: float(row[name]) if row[name] else None for name in known} == known
        assert f"{lane['speedup']:.2f} ×" == cell, "the table rounds it"
    assert (rows[1]["drafter"], rows[1]["prompt"]) == (HOSTILE, PROMPT)
    found = json.loads(racer.saved("JSON")[1])
    assert (found["order"], found["prompt"]) == (ORDER, PROMPT)
    for lane in found["lanes"]:
        parts = ("drafting", "target_pass", "other")
        times = [[each[f"{part}_seconds"] for part in parts] for each in lane["passes"]]
        assert times == made_race.passes(lane["lane"])
        words = [word["text"] for each in lane["passes"] for word in each["tokens"]]
        assert [word.lstrip(" ") for word in words] == made_race.TEXT
    racer.load(make_hostile_and_noisy)
    rows = list(csv.DictReader(racer.saved("CSV")[1].splitlines(keepends=True)))
    assert {row["drafter"] for row in rows} == {f"'{title}" for title in FORMULAS}, "as text"
    assert {row["prompt"] for row in rows} == {f"'{FORMULA}"}, "as text"
    assert json.loads(racer.saved("JSON")[1])["prompt"] == FORMULA
    noisy = rows[SHOWN.index("eagle3")]
    assert noisy["too_noisy"] == "plain decoding varied by 9 ×"
    assert noisy["speedup_times_plain"] == noisy["lowest_speedup_times_plain"] == ""


# Texts that a spreadsheet would evaluate.
FORMULA = '=HYPERLINK("http://x","a"),\n2'
FORMULAS = ["+1", " -1", "@SUM(A1)", "\t=1"]


def make_hostile_and_noisy(lines):
    """Give the race such texts, and its first lane too much noise."""
    lines[0]["prompt"] = FORMULA
    for lane, title in zip(lines[0]["lanes"], FORMULAS, strict=True):
        lane["title"] = title
    whole = next(line["whole"] for line in lines if line["kind"] == "summary")
    whole["lanes"][0]["noise"] = "plain decoding varied by 9 ×"


def test_race_passes_axe_and_contrast_checks(racer, looker):
    racer.page.locator(".sv-race-words summary").click()
    racer.ask("seek(0.3)")
    check_readable(looker)


def test_recorded_race_of_block_drafters_has_one_text_and_four_measured_rows(visit):
    page = visit.page
    page.goto(f"{visit.url}?tab=compare&race=4-blocks")
    page.wait_for_selector(".sv-race-lane")
    page.wait_for_function(f"{RACE}.tokens")
    page.evaluate(f"{RACE}.seek(1e9)")
    read = page.locator(".sv-race-lane").evaluate_all(
        """(lanes) => lanes.map((lane) => [...lane.querySelectorAll(".sv-race-word")]
          .map((word) => word.textContent).join(""))"""
    )
    assert len(read) == 5
    assert len(set(read)) == 1, "at temperature 0, every text is plain decoding's"
    assert len(read[0]) > 100
    picture = page.locator("#sv-blocks-picture .main-svg").first
    picture.scroll_into_view_if_needed()
    drawn = picture.locator("text").all_text_contents()
    for name in ("DFlash", "JetSpec", "DSpark", "DFlash2"):
        assert any(text.startswith(name) for text in drawn), drawn
    assert drawn.count("not measured") == 2, "XPress and EAGLE-3"
    answer = page.locator("#sv-part-blocks .sv-instrument-answer").last
    expect(answer).to_contain_text("DFlash2")
    shares = re.findall(r"(?:DFlash|JetSpec|DSpark|DFlash2) (\d+)%", answer.inner_text())
    assert len(shares) == 4
    assert set(shares) <= set(drawn), "the sentence's numbers are in the picture"
