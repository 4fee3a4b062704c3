"""The map by domain in a browser: the recorded one, and a small live measurement."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from math import log2

import pytest
from playwright.sync_api import expect

from specviz.compare.domains import recorded
from specviz.compare.domains.heatmap import HeatMap, view

PART = "window.specviz.domains['sv-domains']"
FIRST = ".sv-domains-map td[data-row='0'][data-column='0']"
SLOWLY = 20_000  # milliseconds that an answer of the server may take
HOSTILE = "<img src=x onerror=window.hacked=1> ${1} {{x}} `<b>"


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


def sideways(page):
    """Return by how many pixels the page can be scrolled horizontally."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def known():
    """Return the recorded map at temperature 0 and its drafters without the reference drafters."""
    one = recorded()[0]
    told = view(HeatMap.from_cells(one.cells, one.drafters, one.domains, one.prompts))
    return told, [row["name"] for row in told["rows"] if not row["bound"]]


def test_another_recorded_map_can_be_selected(recorded_map):
    page = recorded_map
    told, usual = known()
    expect(page.locator(".sv-domains-badge")).to_have_text("recorded")
    assert page.locator(".sv-domains-headline").text_content() == told["headline"]
    assert column(page, 0) == [told["cells"][f"{name} stories"]["speedup"][0] for name in usual]
    assert page.locator(".sv-domains-map tbody:first-of-type td.sv-domains-best").count() >= 6
    expect(page.locator(".sv-domains-note")).to_contain_text("harmonic mean of the speed-ups")
    page.get_by_role("button", name="Accepted length").click()
    assert column(page, 0) == [told["cells"][f"{name} stories"]["accepted"][0] for name in usual]
    expect(page.locator(".sv-domains-note")).to_contain_text("draft tokens accepted per round")
    expect(page.locator(".sv-domains-note")).to_contain_text("the same amount of text from")
    page.get_by_role("button", name="Recorded, temperature 1").click()
    expect(page.locator(".sv-domains-where")).to_contain_text("T 1")
    page.get_by_role("button", name="Recorded, temperature 0").click()
    page.get_by_role("button", name="Speed-up", exact=True).click()


def test_columns_can_be_sorted_and_cells_show_details_by_keyboard(recorded_map):
    page = recorded_map
    page.get_by_role("button", name="Repetition").click()
    head = page.get_by_role("columnheader", name="Repetition")
    expect(head).to_have_attribute("aria-sort", "descending")
    speeds = [float(text.split()[0]) for text in column(page, 4)]
    assert speeds == sorted(speeds, reverse=True)
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column(page, 4) == [f"{speed:.2f} ×" for speed in sorted(speeds)]
    page.locator(FIRST).focus()
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("on stories")
    page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("on dialogues")
    expect(tip).to_contain_text("tokens per pass")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


ROWS = """() => [...document.querySelectorAll(".sv-domains-list tbody:first-of-type tr")]
  .map((row) => {
    const side = (selector, name) => row.querySelector(selector)?.getBoundingClientRect()[name];
    return {
      name: row.querySelector("th").textContent,
      number: parseFloat(row.querySelector(".sv-domains-number")?.textContent),
      left: side(".sv-domains-bar-of", "left"),
      right: side(".sv-domains-bar-of", "right"),
      value: side(".sv-domains-value", "left"),
      end: side(".sv-domains-value", "right"),
    };
  })"""
TICKS = """() => [...document.querySelectorAll(".sv-domains-ticks span")].map((tick) => {
  const { left, right } = tick.getBoundingClientRect();
  return [tick.textContent, (left + right) / 2, left, right];
})"""


def bars_are_on_the_axis(rows, ticks):
    """Assert that bars begin at plain decoding and end at their number without overlaps."""
    assert all(row["right"] <= row["value"] + 1 and row["end"] <= 390 for row in rows)
    assert all(one[3] < two[2] for one, two in pairwise(ticks)), "labels stand apart"
    places = {text: middle for text, middle, *_ in ticks}
    one, octave = places["1 ×"], places["2 ×"] - places["1 ×"]
    middles = [middle for _, middle, *_ in ticks]
    assert all(b - a == pytest.approx(octave, abs=1) for a, b in pairwise(middles))
    for row in rows:
        end = row["right"] if row["number"] >= 1 else row["left"]
        assert end - one == pytest.approx(octave * log2(row["number"]), abs=2)


def test_phone_shows_one_domain_at_a_time_on_a_logarithmic_axis(recorded_map):
    page = recorded_map
    assert sideways(page) <= 0
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(".sv-domains-list")
    told, usual = known()
    for title in ("Repetition", "Stories"):
        button = page.get_by_role("button", name=title)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        rows = page.evaluate(ROWS)
        bars_are_on_the_axis(rows, page.evaluate(TICKS))
        shown = {row["name"]: row["number"] for row in rows}
        titles = {row["name"]: row["title"] for row in told["rows"]}
        domain = next(each["name"] for each in told["columns"] if each["title"] == title)
        speeds = {
            titles[name]: float(told["cells"][f"{name} {domain}"]["speedup"][0].split()[0])
            for name in usual
        }
        assert shown == speeds
        assert list(shown.values()) == sorted(speeds.values(), reverse=True)
    assert sideways(page) <= 0
    page.get_by_role("button", name="Accepted length").click()
    assert page.evaluate(TICKS)[0][0] == "0"
    page.locator(".sv-domains-list td").first.focus()
    expect(page.get_by_role("tooltip")).to_contain_text("on stories")
    page.get_by_role("button", name="Speed-up", exact=True).click()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_selector(".sv-domains-map:not(.sv-domains-list)")


def saved(page, kind):
    """Press a button below the map and return the name and the text of the file it saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save as {kind}: numbers of the map").click()
    file = download.value
    return file.suggested_filename, file.path().read_bytes().decode("utf-8-sig")


def test_saved_map_has_the_measured_numbers_unrounded(recorded_map):
    page = recorded_map
    name, text = saved(page, "CSV")
    assert name == "specviz-map-of-domains-temperature-0.csv"
    rows = {(row["drafter"], row["domain"]): row for row in csv.DictReader(text.splitlines())}
    told, _ = known()
    assert len(rows) == len(told["cells"]) == len(told["rows"]) * len(told["columns"])
    for cell in recorded()[0].cells:
        row = rows[cell.drafter, cell.domain]
        assert float(row["speedup_times_plain"]) == cell.speedup
        assert float(row["accepted_length_tokens_per_round"]) == cell.accepted_length
        assert float(row["tokens_per_second"]) == cell.tokens_per_second
        assert row["alpha"] == ("" if cell.alpha is None else row["alpha"])
        assert row["all_runs_seconds"] == "", "the recorded measurement does not have it"
    shown = {key: told["cells"][" ".join(key)] for key in rows}
    for key, row in rows.items():
        assert f"{float(row['speedup_times_plain']):.2f} ×" == shown[key]["speedup"][0]
        length = float(row["accepted_length_tokens_per_round"])
        assert f"{length:.2f}" == shown[key]["accepted"][0]
    first = page.locator(".sv-domains-map tbody th[scope=row]").first.inner_text()
    assert next(iter(rows.values()))["title"] == first, "in the order shown"
    found = json.loads(saved(page, "JSON")[1])
    assert found["headline"] == told["headline"]
    assert [cell["speedup_times_plain"] for cell in found["cells"]] == [
        float(row["speedup_times_plain"]) for row in rows.values()
    ]


def line():
    """Return a map of one cell in which every text is HTML."""
    cell = {
        "speedup": ["1.10 ×", 0.5, "best"],
        "accepted": ["1.10", 0.5, ""],
        "said": [HOSTILE] * 3,
    }
    return {
        "kind": "map", "id": "1", "badge": HOSTILE, "where": HOSTILE, "headline": HOSTILE,
        "detail": HOSTILE, "caution": HOSTILE, "cells": {f"{HOSTILE} c": cell},
        "rows": [{"name": HOSTILE, "title": HOSTILE, "bound": False}],
        "columns": [{"name": "c", "title": HOSTILE}],
        "ends": {"speedup": [HOSTILE, HOSTILE], "accepted": ["0", "1"]},
    }  # fmt: skip


def test_html_in_names_is_shown_as_text(visit):
    page = opened(visit)
    page.evaluate(f"line => {PART}.feed(line)", line())
    page.evaluate(f"line => {PART}.feed(line)", {"kind": "error", "sentence": HOSTILE})
    page.locator(FIRST).hover()
    for place in ("headline", "detail", "badge", "where", "notice", "caution"):
        assert page.locator(f".sv-domains-{place}").text_content() == HOSTILE
    assert page.locator(".sv-domains-map tbody th").text_content() == HOSTILE
    assert page.locator(".sv-domains-tip b").text_content() == HOSTILE
    assert page.locator(".sv-domains img").count() == 0
    assert page.evaluate("window.hacked") is None


def fill_in(page, drafter, tokens):
    """Choose only this drafter, and this many new tokens."""
    boxes = page.locator("#sv-domains-drafters")
    for chosen in boxes.locator("label.selected").all_inner_texts():
        boxes.get_by_label(chosen, exact=True).uncheck()
    if drafter:
        boxes.get_by_label(drafter, exact=True).check()
    page.get_by_label("New tokens per run").first.fill(str(tokens))
    page.keyboard.press("Tab")


def over(page):
    page.wait_for_function("!document.body.classList.contains('sv-domains-running')")


def test_live_measurement_replaces_the_recorded_one_and_an_empty_form_is_rejected(visit):
    page = opened(visit)
    fill_in(page, None, 8)
    expect(page.locator(".sv-domains-size")).to_have_text(
        "Choose at least one drafter.", timeout=SLOWLY
    )
    page.click("#sv-domains-go")
    notice = page.locator(".sv-domains-notice")
    expect(notice).to_have_text("Choose at least one drafter.", timeout=SLOWLY)
    over(page)
    assert page.inner_text(".sv-domains-badge") == "recorded"

    fill_in(page, "N-gram", 8)
    expect(page.locator(".sv-domains-size")).to_contain_text("= 5 pairs of runs", timeout=SLOWLY)
    page.click("#sv-domains-go")
    expect(notice).to_be_hidden()
    page.wait_for_function(f"{PART}.view.live")
    over(page)
    expect(page.locator(".sv-domains-badge")).to_have_text("live")
    expect(page.locator(".sv-domains-where")).to_contain_text("8 new tokens · T 0 · order seed 1")
    assert page.locator(".sv-domains-map tbody td .sv-domains-number").count() == 6
    assert page.locator(".sv-domains-live").is_hidden()
    said = json.loads(page.evaluate(f"JSON.stringify({PART}.view.cells)"))
    assert any("8 tokens in" in text for text in said["ngram maths"]["said"])


def test_stopping_a_measurement_keeps_the_measured_cells(visit):
    page = opened(visit)
    fill_in(page, "N-gram", 64)
    page.get_by_label("Prompts per domain").first.fill("3")
    page.keyboard.press("Tab")
    expect(page.locator(".sv-domains-size")).to_contain_text("= 15 pairs of runs", timeout=SLOWLY)
    page.click("#sv-domains-go")
    page.wait_for_selector(".sv-domains-map td .sv-domains-part")
    page.click("#sv-domains-stop")
    over(page)
    expect(page.locator(".sv-domains-badge")).to_contain_text("live, stopped after")
    expect(page.locator(".sv-domains-notice")).to_have_text(
        "Stopped. Everything measured so far is kept."
    )
    assert page.locator(".sv-domains-map td .sv-domains-number").count() >= 1
    assert page.get_by_text("not measured").count() >= 1
    page.get_by_role("button", name="Recorded, temperature 0").click()
    expect(page.locator(".sv-domains-badge")).to_have_text("recorded")
