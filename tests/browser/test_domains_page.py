"""The map by domain in a browser: the recorded one, its saved numbers, a small live measurement."""

from __future__ import annotations

import csv
import json

import pytest
from playwright.sync_api import expect

from specviz.compare.domains import recorded
from specviz.compare.domains.heatmap import HeatMap, view

PART = "window.specviz.domains['sv-domains']"
FIRST = ".sv-domains-map td[data-row='0'][data-column='0']"
SLOWLY = 20_000  # milliseconds that an answer of the server may take
HOSTILE = "<img src=x onerror=window.hacked=1> ${1} {{x}} `<b>"
# On a phone: each drafter's speed-up, and where the end of its bar is that depends on it.
ROWS = """() => [...document.querySelectorAll(".sv-domains-list tbody:first-of-type tr")]
  .map((row) => {
    const { left, right } = row.querySelector(".sv-domains-bar-of").getBoundingClientRect();
    const number = parseFloat(row.querySelector(".sv-domains-number").textContent);
    return [row.querySelector("th").textContent, number, number < 1 ? left : right];
  })"""


def opened(visit):
    """Return the Compare tab with the map on screen."""
    page = visit.page
    page.goto(visit.url)
    page.get_by_role("tab", name="Compare", exact=True).click()
    page.wait_for_selector(FIRST)
    return page


@pytest.fixture
def recorded_map(looker):
    """Return the recorded map; the page may be open already."""
    looker.arrive(lambda: opened(looker))
    return looker.page


def column(page, place):
    """Return the numbers of a column from top to bottom, without the reference drafters."""
    cells = page.locator(f".sv-domains-map tbody:first-of-type td[data-column='{place}']")
    return cells.locator(".sv-domains-number").all_inner_texts()


def known():
    """Return the recorded map at temperature 0 and its drafters without the reference drafters."""
    one = recorded()[0]
    told = view(HeatMap.from_cells(one.cells, one.drafters, one.domains, one.prompts))
    return told, {row["name"]: row["title"] for row in told["rows"] if not row["bound"]}


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def test_recorded_map_is_sorted_and_explained_and_fits_a_phone(recorded_map):
    page, (told, usual) = recorded_map, known()
    expect(page.locator(".sv-domains-badge")).to_have_text("recorded")
    assert page.locator(".sv-domains-headline").text_content() == told["headline"]
    check_saved_map_is_unrounded(page, told)
    assert column(page, 0) == [told["cells"][f"{name} stories"]["speedup"][0] for name in usual]
    press(page, "Accepted length")
    assert column(page, 0) == [told["cells"][f"{name} stories"]["accepted"][0] for name in usual]
    expect(page.locator(".sv-domains-note")).to_contain_text("draft tokens accepted per round")
    press(page, "Speed-up")
    columns_are_sorted_and_cells_explained_by_keyboard(page)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(".sv-domains-list")
    for title in ("Repetition", "Stories"):
        button = page.get_by_role("button", name=title)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        domain = next(each["name"] for each in told["columns"] if each["title"] == title)
        cells = {usual[name]: told["cells"][f"{name} {domain}"]["speedup"][0] for name in usual}
        rows = page.evaluate(ROWS)
        assert {name: f"{number:.2f} ×" for name, number, _ in rows} == cells
        numbers, ends = zip(*[(number, end) for _, number, end in rows], strict=True)
        assert list(numbers) == sorted(numbers, reverse=True), "the fastest drafter comes first"
        assert list(ends) == sorted(ends, reverse=True), "and has the longest bar"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_selector(".sv-domains-map:not(.sv-domains-list)")
    for temperature in (1, 0):
        press(page, f"Recorded, temperature {temperature}")
        expect(page.locator(".sv-domains-where")).to_contain_text(f"T {temperature}")


def columns_are_sorted_and_cells_explained_by_keyboard(page):
    page.get_by_role("button", name="Repetition").click()
    head = page.get_by_role("columnheader", name="Repetition")
    for order in ("descending", "ascending"):
        expect(head).to_have_attribute("aria-sort", order)
        speeds = [float(text.split()[0]) for text in column(page, 4)]
        assert speeds == sorted(speeds, reverse=order == "descending")
        page.keyboard.press("Enter")
    page.locator(FIRST).focus()
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("on stories")
    page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("on dialogues")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def saved(page, kind):
    """Press a button below the map and return the name and the text of the file it saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save as {kind}: numbers of the map").click()
    file = download.value
    return file.suggested_filename, file.path().read_bytes().decode("utf-8-sig")


def check_saved_map_is_unrounded(page, told):
    name, text = saved(page, "CSV")
    assert name == "specviz-map-of-domains-temperature-0.csv"
    rows = {(row["drafter"], row["domain"]): row for row in csv.DictReader(text.splitlines())}
    assert len(rows) == len(told["cells"])
    for cell in recorded()[0].cells:
        row = rows[cell.drafter, cell.domain]
        assert float(row["speedup_times_plain"]) == cell.speedup
        assert float(row["accepted_length_tokens_per_round"]) == cell.accepted_length
        assert float(row["tokens_per_second"]) == cell.tokens_per_second
        assert bool(row["alpha"]) == (cell.alpha is not None), "unknown numbers are empty"
    first = page.locator(".sv-domains-map tbody th[scope=row]").first.inner_text()
    assert next(iter(rows.values()))["title"] == first, "in the order shown"
    cells = json.loads(saved(page, "JSON")[1])["cells"]
    speedups = [cell["speedup_times_plain"] for cell in cells]
    assert speedups == [float(row["speedup_times_plain"]) for row in rows.values()]


def fill_in(page, drafter, tokens, size):
    """Choose only this drafter, and this many new tokens; wait for the size of the measurement."""
    boxes = page.locator("#sv-domains-drafters")
    for chosen in boxes.locator("label.selected").all_inner_texts():
        boxes.get_by_label(chosen, exact=True).uncheck()
    if drafter:
        boxes.get_by_label(drafter, exact=True).check()
    page.get_by_label("New tokens per run").first.fill(str(tokens))
    page.keyboard.press("Tab")
    expect(page.locator(".sv-domains-size")).to_contain_text(size, timeout=SLOWLY)


def over(page):
    page.wait_for_function("!document.body.classList.contains('sv-domains-running')")


def test_live_measurement_replaces_the_recorded_map_and_can_be_stopped(visit):
    page = opened(visit)
    notice, badge = page.locator(".sv-domains-notice"), page.locator(".sv-domains-badge")
    fill_in(page, None, 8, "Choose at least one drafter.")
    page.click("#sv-domains-go")
    expect(notice).to_have_text("Choose at least one drafter.", timeout=SLOWLY)
    over(page)
    assert badge.inner_text() == "recorded"
    fill_in(page, "N-gram", 8, "= 5 pairs of runs")
    page.click("#sv-domains-go")
    expect(notice).to_be_hidden()
    page.wait_for_function(f"{PART}.view.live")
    over(page)
    expect(badge).to_have_text("live")
    expect(page.locator(".sv-domains-where")).to_contain_text("8 new tokens · T 0 · order seed 1")
    assert page.locator(".sv-domains-map tbody td .sv-domains-number").count() == 6
    assert page.locator(".sv-domains-live").is_hidden()
    page.get_by_label("Prompts per domain").first.fill("3")
    fill_in(page, "N-gram", 64, "= 15 pairs of runs")
    page.click("#sv-domains-go")
    page.wait_for_selector(".sv-domains-map td .sv-domains-part")
    page.click("#sv-domains-stop")
    over(page)
    expect(badge).to_contain_text("live, stopped after")
    expect(notice).to_have_text("Stopped. Everything measured so far is kept.")
    assert page.locator(".sv-domains-map td .sv-domains-number").count() >= 1
    assert page.get_by_text("not measured").count() >= 1
    press(page, "Recorded, temperature 0")
    expect(badge).to_have_text("recorded")
    html_stays_text(page)


def html_stays_text(page):
    """Send a map of one cell in which every text is HTML, and an error."""
    cell = {
        "speedup": ["1.10 ×", 0.5, "best"],
        "accepted": ["1.10", 0.5, ""],
        "said": [HOSTILE] * 3,
    }
    line = {
        "kind": "map", "id": "1", "badge": HOSTILE, "where": HOSTILE, "headline": HOSTILE,
        "detail": HOSTILE, "caution": HOSTILE, "cells": {f"{HOSTILE} c": cell},
        "rows": [{"name": HOSTILE, "title": HOSTILE, "bound": False}],
        "columns": [{"name": "c", "title": HOSTILE}],
        "ends": {"speedup": [HOSTILE, HOSTILE], "accepted": ["0", "1"]},
    }  # fmt: skip
    for each in (line, {"kind": "error", "sentence": HOSTILE}):
        page.evaluate(f"line => {PART}.feed(line)", each)
    page.locator(FIRST).hover()
    places = ["headline", "detail", "badge", "where", "notice", "caution", "tip b"]
    for place in [f".sv-domains-{name}" for name in places] + [".sv-domains-map tbody th"]:
        assert page.locator(place).text_content() == HOSTILE, place
    assert page.locator(".sv-domains img").count() == 0
    assert page.evaluate("window.hacked") is None
