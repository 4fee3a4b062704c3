"""The files that replay a run and a race, opened from disk in a browser without a network."""

import made_race
import pytest
from made import Recipe, made
from playwright.sync_api import expect
from visit import Visit, share

from specviz.ui.step.embed import excerpt

BADGE = ".sv-verdict"
BARS = """() => [...document.querySelectorAll(".sv-chart .sv-f")].map((bar) =>
  [Math.round(bar.getBoundingClientRect().width), getComputedStyle(bar).backgroundColor])"""
LABELS = """() => [...document.querySelectorAll(".sv-chart :is(.sv-l, b)")].map((text) =>
  [text.textContent.trim(), Math.round(text.getBoundingClientRect().left)])"""


class Reader(Visit):
    """A visitor without a network who has only the file."""

    def read(self, file, there=f"{BADGE}:not(:empty)"):
        self.page.goto(f"file://{file}")
        self.page.wait_for_selector(there, state="attached")
        return self.page


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


def saved(page, tmp_path, what="run"):
    """Press the button of the page and return the file that it saves."""
    with page.expect_download() as download:
        if what == "run":
            share(page, "Save the run as a page")
        else:
            page.get_by_role("button", name="Save the race as a page").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.stat().st_size < 1_500_000
    return file


def expect_no_server(page, names):
    """Check that no button is shown that needs a server, also not in the help."""
    for name in names:
        assert page.get_by_role("button", name=name).count() == 0, name
    page.keyboard.press("?")
    expect(page.locator(".sv-help")).to_be_visible()
    assert page.get_by_role("button", name="Take the tour").count() == 0
    page.keyboard.press("Escape")


def fits_a_phone(reader, file, there):
    """Check that the file fits a phone and follows the colour scheme of the system."""
    page = reader.page
    page.set_viewport_size({"width": 390, "height": 844})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        reader.read(file, there)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, scheme
        dark = page.evaluate("document.body.classList.contains('dark')")
        assert dark == (scheme == "dark"), scheme
        assert page.locator(".sv-where").first.bounding_box()["width"] > 300, scheme
    page.set_viewport_size({"width": 1280, "height": 900})


def test_saved_page_shows_the_run_offline_as_the_app_does(visit, reader, pair, tmp_path):
    page = visit.open()
    visit.fill_in(pair, "The cat sat on the mat. The cat", tokens=30)
    visit.run()
    page.wait_for_selector(".sv-badge:text-is('live')")
    visit.wait_until_over()
    file = saved(page, tmp_path)
    assert file.name == "specviz-live-run.html"
    other = reader.read(file)
    expect(other.locator(".sv-badge")).to_have_text("recorded")
    for visitor in (visit, reader):
        visitor.ask("go(1, 0)")
        visitor.step_until("frame.step.kind === 'score'")
    for drawn in (BARS, LABELS):
        assert other.evaluate(drawn) == page.evaluate(drawn) != [], "the same chart"
    for visitor in (visit, reader):
        visitor.ask("first()")
        visitor.step_to("Rejected")
    assert reader.caption() == visit.caption()
    dock = (".sv-buttons", ".sv-rounds")
    for part in (".sv-table", ".sv-trial .sv-toss", ".sv-tree", *dock, ".sv-time", ".sv-text"):
        shown = page.inner_text(part).replace("try rules →\n", "")  # leads to another tab
        assert other.inner_text(part) == shown != "", part
    switch = other.get_by_role("switch", name="Details")
    expect(switch).to_be_checked()  # the mode in which it was saved
    other.locator(".sv-trial .sv-pin[role=slider]").focus()
    other.keyboard.press("ArrowLeft")
    expect(other.locator(BADGE)).to_have_text("What if?")
    assert other.get_by_role("button", name="Run it from here").count() == 0
    other.evaluate("document.activeElement.blur()")
    other.keyboard.press("End")
    expect(other.locator(BADGE)).to_have_text("The end")
    expect_no_server(
        other,
        [
            "Run it live",
            "Race drafters",
            "Present",
            "Copy a link",
            "Run live",
            "Ask the class",
        ],
    )
    share(other, "Save text as SVG")
    for name in ("Save the run as a page", "Save its trace", "Copy the link to this step"):
        assert other.get_by_text(name).count() == 0, name
    fits_a_phone(reader, file, f"{BADGE}:not(:empty)")
    page.keyboard.press("d")
    expect(page.locator(".sv-picture")).to_be_visible()
    expect(reader.read(saved(page, tmp_path)).locator(".sv-picture")).to_be_visible()


def test_list_of_guesses_shows_the_position_that_the_sentence_names(reader, tmp_path):
    file = tmp_path / "step.html"
    file.write_text(excerpt("20-ngram-repeat", "1", "propose-6", "sentence,tree"), "utf-8")
    reader.page.set_viewport_size({"width": 390, "height": 280})
    page = reader.read(file)
    expect(page.locator(".sv-caption")).to_contain_text("position +6")
    row = page.locator(".sv-list .sv-row", has=page.get_by_text("+6", exact=True))
    expect(row).to_be_visible()
    bottoms = [each.bounding_box() for each in (row, page.locator(".sv-list"))]
    inner, outer = (box["y"] + box["height"] for box in bottoms)
    assert inner <= outer + 1


def test_saved_file_in_an_iframe_leaves_address_and_history_unchanged(reader, tmp_path):
    """A notebook shows the file in such an iframe."""
    page, file = reader.page, tmp_path / "notebook.html"
    page.clock.install()
    file.write_text(f"<!doctype html><title>x</title>{made(Recipe())._repr_html_()}", "utf-8")
    page.goto(f"file://{file}")
    frame = page.frame_locator("iframe")
    frame.locator("[data-do=next]").click()
    before = frame.locator(".sv-say").inner_text()
    frame.locator("[data-do=next]").click()
    expect(frame.locator(".sv-say")).not_to_have_text(before)
    page.clock.fast_forward(2000)  # the address is written a moment after a step
    assert page.evaluate("history.length") == 2
    assert page.url == f"file://{file}"


LANE = ".sv-race-lane .sv-race-word"
RACE = "window.specviz['sv-race']"


def end_a_live_race(page):
    """Show a live race that has ended."""
    number = str(page.evaluate(f"{RACE}.begin()"))
    early = {"kind": "progress", "lane": "plain", "tokens": 1, "seconds": 0.1}
    lines = [made_race.opening(number, "live"), *map(made_race.ended, made_race.ORDER), early]
    lines += [made_race.ended("plain"), {"kind": "summary", "whole": made_race.summary()}]
    lines += [{"kind": "state", "state": "done", "id": number}]
    page.evaluate(f"(lines) => {RACE}.hear(lines)", lines)
    expect(page.locator(".sv-race .sv-badge")).to_have_text("live")


def test_saved_page_replays_the_race_offline(visit, reader, tmp_path):
    page = visit.open("?tab=compare")
    page.wait_for_selector(".sv-race-headline")
    file = saved(page, tmp_path, "race")
    assert file.name == "specviz-race-1-story.html"
    other = reader.read(file, LANE)
    places = (".sv-race-lanes", ".sv-race-headline", ".sv-race-table", ".sv-race-same p")
    for part in (*places, ".sv-race-foot", ".sv-race-where, .sv-race-source .sv-where"):
        shown = page.locator(part).first.inner_text().replace(" See it on Cost", "")
        assert other.locator(part).first.inner_text() == shown != "", part
    for part in ("race", "whole"):
        assert other.evaluate(f"{RACE}.{part}") == page.evaluate(f"{RACE}.{part}"), part
    expect(other.locator(".sv-race-notice")).to_be_empty()
    expect_no_server(
        other, ["See it on Cost", "Save the race as a page", "Copy a link", "Run live"]
    )
    other.emulate_media(reduced_motion="no-preference")
    reader.read(file, LANE)
    other.wait_for_function(f"() => {RACE}.playing && {RACE}.time > 0")
    assert other.locator(".sv-race-headline").is_hidden(), "it plays by itself"
    other.get_by_role("button", name="Show the result").click()
    assert other.locator(".sv-race-headline").is_visible()
    other.emulate_media(reduced_motion="reduce")
    fits_a_phone(reader, file, LANE)
    end_a_live_race(page)
    file = saved(page, tmp_path, "race")
    assert file.name == "specviz-live-race.html"
    reader.read(file, LANE)
    expect(other.locator(".sv-race .sv-badge")).to_have_text("recorded")
    assert other.inner_text(".sv-race-lanes") == page.inner_text(".sv-race-lanes") != ""
