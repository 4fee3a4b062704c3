"""Statistics of a server in a browser: pasted, shown, rejected; keys stay on this machine."""

import json

import pytest
from test_server_texts import DETAILED, INFO, REQUEST, vllm

PART = "window.specviz.server"
STEPS = """() => [...document.querySelectorAll(".sv-server-strip i")].map((step) =>
  [step.querySelectorAll(".sv-server-kept").length, step.children.length])"""
HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture
def section(visit):
    """The Cost page with this section open."""
    page = visit.open()
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.get_by_role("link", name="Your server’s numbers").click()
    page.wait_for_selector(".sv-server-teach:visible")
    return page


def settled(page, change):
    """Perform an action, and wait until the newest request is answered and shown."""
    before = page.evaluate(f"{PART}.question.number")
    change()
    page.wait_for_function(f"{PART}.question.number > {before} && {PART}.question.idle")


def paste(page, text):
    box = page.get_by_label("The server’s metrics, or an answer with counts")
    settled(page, lambda: box.fill(text))


def test_pasted_server_statistics_are_shown_and_applied_or_rejected_with_an_error(section):
    """Use one visit for all checks, since a visit takes long."""
    for act in (the_example_is_shown, a_machine_that_cannot_be_is_refused, the_tab_takes_them):
        act(section, section.locator("#sv-server"))
    for act in (
        steps_are_drawn,
        words_stay_words,
        other_texts_are_named,
        keys_stay_here,
        two_snapshots_differ,
    ):
        act(section, section.locator("#sv-server"))


def steps_are_drawn(page, part):
    """Paste two responses as JSON Lines, of which only the first reports its steps."""
    paste(page, f"{json.dumps(DETAILED)}\n{json.dumps(REQUEST)}\n")
    assert "answers to 2 requests" in page.inner_text(".sv-server-facts")
    heights = page.evaluate(STEPS)
    assert heights == [[1, 2], [2, 4], [0, 3]]
    rows = page.locator(".sv-server-lengths tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["2", "1", "1.00"], ["3", "1", "0.00"], ["4", "1", "2.00"],
    ]  # fmt: skip


def the_example_is_shown(page, part):
    settled(page, page.get_by_role("button", name="Load an example").click)
    assert "yielded 3.41 tokens" in page.inner_text(".sv-server-say")
    assert "The counts are real" in page.inner_text(".sv-server-from")
    assert page.inner_text(".sv-server-advice").startswith("simulated")
    assert part.get_by_label("Target, or the most similar one").input_value() == "house"
    page.wait_for_selector(".sv-server-plot .main-svg >> nth=1", state="attached")
    assert page.locator("[data-figure=places]").get_attribute("aria-label").startswith("1: 80.5%")
    settled(page, lambda: part.get_by_label("Batch size: sequences per pass").fill("64"))
    assert "at batch size 64" in page.inner_text(".sv-server-advice")


def a_machine_that_cannot_be_is_refused(page, part):
    cards = part.get_by_label("Devices sharing the work")
    settled(page, lambda: cards.fill(""))
    said = page.inner_text(".sv-server-wrong")
    assert said.startswith("The number of devices must be an integer. The results below")
    assert page.locator(".sv-server-full").is_visible()
    settled(page, lambda: cards.fill("1"))
    assert page.locator(".sv-server-wrong").is_hidden()


def the_tab_takes_them(page, _part):
    page.get_by_role("button", name="Use α = 0.81 and γ = 4").click()
    said = "document.querySelector('.sv-terms-said').textContent"
    page.wait_for_function(f"{said}.includes('γ = 4 (reported by vLLM on house')")


def words_stay_words(page, part):
    paste(page, HOSTILE)
    assert "This is a web page" in page.inner_text(".sv-server-wrong")
    assert page.locator(".sv-server-teach").is_visible()
    paste(page, vllm(model=HOSTILE) + "\n" + vllm(model="n"))
    settled(page, lambda: part.get_by_label("Model on this server").select_option(HOSTILE))
    assert HOSTILE in page.inner_text(".sv-server-facts")
    assert part.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


def other_texts_are_named(page, _part):
    """Check that errors name other kinds of text, which the page shortens before it sends them."""
    for text, found in (
        ("[2026-11-25 10:00:00] INFO ready", "This is a log, which begins with “[2026-11-25"),
        ('{"choices": [], "usage": {"total_tokens": 3}}', "This is JSON without counts"),
        ('{"timings": {"draft_n": 3', "This begins like JSON but is not valid JSON"),
        ("# HELP node_load1 x\nnode_load1 0.5", "These are metrics of node_exporter"),
    ):
        paste(page, text)
        said = page.inner_text(".sv-server-wrong")
        assert said.startswith(found)
        assert said.endswith("an answer of vLLM or llama.cpp with its counts.")
        assert said.count(". ") == 0, "one sentence"


def keys_stay_here(page, _part):
    paste(page, json.dumps(INFO))
    assert "secret" not in page.evaluate(f"JSON.stringify({PART}.request())")
    assert page.locator("[data-part=places] >> visible=true").count() == 0
    assert "SGLang reports no acceptance by position" in page.inner_text(".sv-server-unsaid")


def two_snapshots_differ(page, part):
    page.get_by_text("Earlier snapshot, to count only what happened since").click()
    paste(page, vllm(160, 640, 250, (120, 80, 50, 0)) + '\nvllm:x_bucket{le="1"} 1')
    assert "x_bucket" not in page.evaluate(f"JSON.stringify({PART}.request())")
    earlier = part.get_by_label("The same server’s metrics, fetched earlier")
    settled(page, lambda: earlier.fill(vllm()))
    assert "Between the two snapshots, a pass" in page.inner_text(".sv-server-say")
    settled(page, page.get_by_role("button", name="Clear").click)
    assert page.locator(".sv-server-teach").is_visible()
    assert page.evaluate("document.activeElement.name") == "now"
