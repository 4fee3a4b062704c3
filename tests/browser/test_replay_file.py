"""The files that replay a run and a race, opened from disk in a browser without a network."""

from dataclasses import replace

import made_race
import pytest
from made import Recipe, made
from playwright.sync_api import expect
from visit import Visit

from specviz.compare import storage
from specviz.trace.file import Trace
from specviz.ui.compare.race import replay as races
from specviz.ui.step.replay import replay

HOSTILE = "</script><img src=x onerror=window.hacked=1><!-- <script>window.hacked=1</script>"
BADGE = ".sv-verdict"


class Reader(Visit):
    """A visitor without a network who has only the file."""

    def read(self, file, query=""):
        self.page.goto(f"file://{file}{query}")
        self.page.wait_for_selector(f"{BADGE}:not(:empty)", state="attached")
        return self.page

    def press_until(self, verdict):
        """Step on by keyboard until a badge says `verdict`."""
        for _ in range(200):
            if self.page.inner_text(BADGE).strip() == verdict:
                return
            self.page.keyboard.press("ArrowRight")
        raise AssertionError(f"no step says {verdict}")


@pytest.fixture
def reader(browser):
    context = browser.new_context(
        offline=True, reduced_motion="reduce", viewport={"width": 1280, "height": 900}
    )
    context.route("http*://**", lambda route: route.abort())
    visitor = Reader(context.new_page(), "file://")
    yield visitor
    context.close()
    assert not visitor.errors
    assert not visitor.foreign


def saved(page, tmp_path):
    """Press the button of the page and return the file that it saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the run as a page").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    return file


def test_saved_file_shows_the_same_step_offline(visit, reader, tmp_path):
    page = visit.open("?trace=01-chain&round=0")
    file = saved(page, tmp_path)
    assert file.name == "specviz-01-chain.html"
    assert file.stat().st_size < 1_500_000
    visit.ask("first()")
    visit.step_to("Rejected")
    other = reader.read(file)
    other.keyboard.press("Home")
    reader.press_until("Rejected")
    assert reader.caption() == visit.caption()
    for part in (".sv-table", ".sv-coin", ".sv-tree", ".sv-dock", ".sv-lane-fast", ".sv-text"):
        shown = page.inner_text(part).replace("try rules →\n", "")  # leads to another tab
        assert other.inner_text(part) == shown != "", part


def test_saved_file_draws_the_same_chart_as_the_page(visit, reader, tmp_path):
    page = visit.open("?trace=01-chain&round=1&step=score")
    other = reader.read(saved(page, tmp_path), "?round=1&step=score")
    bars = """() => [...document.querySelectorAll(".sv-chart path")].map((bar) =>
      [Math.round(bar.getBoundingClientRect().width), getComputedStyle(bar).fill])"""
    labels = """() => [...document.querySelectorAll(".sv-chart text")].map((text) =>
      [text.textContent.trim(), Math.round(text.getBoundingClientRect().left)])"""
    assert len(page.evaluate(bars)) > 4
    assert other.evaluate(bars) == page.evaluate(bars)
    assert other.evaluate(labels) == page.evaluate(labels)


def test_saved_file_has_no_control_that_needs_a_server(reader, tmp_path):
    file = tmp_path / "run.html"
    file.write_text(replay(made(Recipe())), encoding="utf-8")
    page = reader.read(file)
    page.keyboard.press("End")
    expect(page.locator(BADGE)).to_have_text("The end")
    names = ["Run it live", "Race drafters", "Save the run as a page", "Copy a link", "Run live"]
    for name in names:
        assert page.get_by_role("button", name=name).count() == 0, name
    page.keyboard.press("?")
    expect(page.locator(".sv-help")).to_be_visible()
    assert page.get_by_role("button", name="Take the tour").count() == 0
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    reader.press_until("Rejected")
    page.locator(".sv-coin .sv-pin[role=slider]").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(BADGE)).to_have_text("What if?")
    assert page.get_by_role("button", name="Back", exact=True).count() > 0
    assert page.get_by_role("button", name="Run it from here").count() == 0


def test_html_in_a_run_is_shown_as_text_in_the_saved_file(reader, tmp_path):
    run = made(Recipe(odd=True))
    file = tmp_path / "run.html"
    hostile = Trace(replace(run.header, prompt=HOSTILE), run.events)
    file.write_text(replay(hostile), encoding="utf-8")
    page = reader.read(file)
    page.keyboard.press("End")
    assert HOSTILE in page.inner_text(".sv-text")
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_saved_file_fits_a_phone_and_follows_the_colour_scheme_of_the_system(
    reader, tmp_path, scheme
):
    file = tmp_path / "run.html"
    file.write_text(replay(made(Recipe(shape=(3, 2, 1))), step="rejected"), encoding="utf-8")
    reader.page.set_viewport_size({"width": 390, "height": 844})
    reader.page.emulate_media(color_scheme=scheme)
    page = reader.read(file)
    expect(page.locator(BADGE)).to_have_text("Rejected")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".sv-where").bounding_box()["width"] > 300
    assert page.evaluate("document.body.classList.contains('dark')") == (scheme == "dark")


def test_saved_file_in_an_iframe_leaves_address_and_history_unchanged(reader, tmp_path):
    """A notebook shows the file in such an iframe."""
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><title>x</title>{made(Recipe())._repr_html_()}", "utf-8")
    reader.page.goto(f"file://{file}")
    frame = reader.page.frame_locator("iframe")
    frame.locator("[data-do=next]").click()
    before = frame.locator(".sv-say").inner_text()
    frame.locator("[data-do=next]").click()
    expect(frame.locator(".sv-say")).not_to_have_text(before)
    reader.page.wait_for_timeout(400)  # the address is written a moment after a step
    assert reader.page.evaluate("history.length") == 2
    assert reader.page.url == f"file://{file}"


def test_saved_live_run_is_labelled_recorded(visit, reader, pair, tmp_path):
    page = visit.open()
    visit.fill_in(pair, "the cat was")
    visit.run()
    visit.wait_until_over()
    visit.ask("last()")
    expect(page.locator(".sv-badge")).to_have_text("live")
    file = saved(page, tmp_path)
    assert file.name == "specviz-live-run.html"
    other = reader.read(file)
    expect(other.locator(".sv-badge")).to_have_text("recorded")
    other.keyboard.press("End")
    assert other.inner_text(".sv-text") == page.inner_text(".sv-text") != ""
    assert reader.caption() == visit.caption()


RACE = "window.specviz.races['sv-race']"


class RaceReader(Reader):
    """A visitor without a network, who has the file of a race alone."""

    def read(self, file, query=""):
        self.page.goto(f"file://{file}{query}")
        self.page.wait_for_selector(".sv-race-lane .sv-race-word", state="attached")
        return self.page


@pytest.fixture
def spectator(reader):
    return RaceReader(reader.page, "file://")


@pytest.fixture
def race_file(tmp_path):
    file = tmp_path / "race.html"
    file.write_text(races.replay(storage.read(storage.FOLDER / "1-story"), "1-story"), "utf-8")
    return file


def test_race_saved_as_a_page_shows_the_same_numbers_offline(visit, spectator, tmp_path):
    page = visit.open("?tab=compare")
    page.wait_for_selector(".sv-race-headline")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the race as a page").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "specviz-race-1-story.html"
    assert file.stat().st_size < 1_500_000
    other = spectator.read(file)
    places = (".sv-race-lanes", ".sv-race-headline", ".sv-race-table", ".sv-race-same p")
    for part in (*places, ".sv-race-foot", ".sv-race-where, .sv-race-source .sv-where"):
        shown = page.locator(part).first.inner_text().replace(" See it on Cost", "")
        assert other.locator(part).first.inner_text() == shown != "", part
    assert other.evaluate(f"{RACE}.race") == page.evaluate(f"{RACE}.race")
    assert other.evaluate(f"{RACE}.whole") == page.evaluate(f"{RACE}.whole")


def test_race_file_replays_by_keyboard_and_by_itself(spectator, race_file):
    page = spectator.read(race_file)
    page.locator(".sv-race-pin").focus()
    page.keyboard.press("Home")
    assert set(page.evaluate(f"{RACE}.tokens").values()) == {0}
    page.keyboard.press("ArrowRight")
    assert sorted(page.evaluate(f"{RACE}.tokens").values()) == [0, 0, 0, 0, 1]
    page.emulate_media(reduced_motion="no-preference")
    spectator.read(race_file)
    page.wait_for_function(f"() => {RACE}.playing && {RACE}.time > 0")
    assert page.locator(".sv-race-headline").is_hidden()
    page.get_by_role("button", name="Show it now").click()
    assert page.locator(".sv-race-headline").is_visible()


def test_race_file_has_no_control_that_needs_a_server(spectator, race_file):
    page = spectator.read(race_file)
    for name in ("See it on Cost", "Save the race as a page", "Copy a link", "Run live"):
        assert page.get_by_role("button", name=name).count() == 0, name
    expect(page.locator(".sv-race-notice")).to_be_empty()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV: numbers of the race").click()
    assert download.value.suggested_filename == "specviz-race-1-story.csv"
    page.keyboard.press("?")
    expect(page.locator(".sv-help")).to_be_visible()


def test_html_in_a_race_is_shown_as_text_in_the_saved_file(spectator, tmp_path):
    results = storage.read(storage.FOLDER / "1-story")
    hostile = replace(results, race=replace(results.race, prompt=HOSTILE))
    file = tmp_path / "race.html"
    file.write_text(races.replay(hostile, HOSTILE), "utf-8")
    page = spectator.read(file)
    assert HOSTILE[-40:] in page.inner_text(".sv-race-prompt")
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_race_file_fits_a_phone_and_follows_the_system_colours(spectator, race_file, scheme):
    spectator.page.set_viewport_size({"width": 390, "height": 844})
    spectator.page.emulate_media(color_scheme=scheme)
    page = spectator.read(race_file)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.body.classList.contains('dark')") == (scheme == "dark")


def test_saved_live_race_is_labelled_recorded(visit, spectator, tmp_path):
    page = visit.open("?tab=compare")
    page.wait_for_selector(".sv-race-headline")
    number = str(page.evaluate(f"{RACE}.begin()"))
    early = {"kind": "progress", "lane": "plain", "tokens": 1, "seconds": 0.1}
    lines = [made_race.opening(number, "live"), *map(made_race.ended, made_race.ORDER), early]
    lines += [made_race.ended("plain"), {"kind": "summary", "whole": made_race.summary()}]
    lines += [{"kind": "state", "state": "done", "id": number}]
    page.evaluate(f"(lines) => {RACE}.hear(lines)", lines)
    expect(page.locator(".sv-race .sv-badge")).to_have_text("live")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the race as a page").click()
    assert download.value.suggested_filename == "specviz-live-race.html"
    other = spectator.read(download.value.path().rename(tmp_path / "race.html"))
    expect(other.locator(".sv-race .sv-badge")).to_have_text("recorded")
    assert other.inner_text(".sv-race-lanes") == page.inner_text(".sv-race-lanes") != ""
