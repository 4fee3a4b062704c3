"""Statistics of a server in a browser: pasted, shown, rejected; keys stay on this machine."""

import json

from costs import done, says
from test_server_texts import DETAILED, INFO, REQUEST, vllm

PART = "window.specviz.server"
ASKED = f"JSON.stringify({PART}.request())"
STEPS = """() => [...document.querySelectorAll(".sv-server-strip i")].map((step) =>
  [step.querySelectorAll(".sv-server-kept").length, step.children.length])"""
HOSTILE = "<img src=x onerror=window.hacked=1>"
SAY, FACTS, WRONG = ".sv-server-say", ".sv-server-facts", ".sv-server-wrong"
# Texts that cannot be read, some of which the page shortens before it sends them.
OTHERS = {
    HOSTILE: "This is a web page",
    "[2026-11-25 10:00:00] INFO ready": "This is a log, which begins with “[2026-11-25",
    '{"choices": [], "usage": {"total_tokens": 3}}': "This is JSON without counts",
    '{"timings": {"draft_n": 3': "This begins like JSON but is not valid JSON",
    "# HELP node_load1 x\nnode_load1 0.5": "These are metrics of node_exporter",
}


def settled(page, change):
    """Perform an action, and wait until the newest request is answered and shown."""
    done(page, PART, change)


def paste(page, text):
    box = page.get_by_label("The server’s metrics, or an answer with counts")
    settled(page, lambda: box.fill(text))


def test_pasted_server_statistics_are_shown_and_applied_or_rejected_with_an_error(visit):
    page = visit.open()
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.get_by_role("link", name="Your server’s numbers").click()
    page.wait_for_selector(".sv-server-teach:visible")
    part = page.locator("#sv-server")
    an_example_is_shown_and_applied(page, part)
    for text, said in OTHERS.items():
        paste(page, text)
        says(page, WRONG, said)
        assert page.locator(".sv-server-teach").is_visible()
    paste(page, vllm(model=HOSTILE) + "\n" + vllm(model="n"))
    settled(page, lambda: part.get_by_label("Model on this server").select_option(HOSTILE))
    says(page, FACTS, HOSTILE)
    assert part.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    paste(page, f"{json.dumps(DETAILED)}\n{json.dumps(REQUEST)}\n")
    says(page, FACTS, "answers to 2 requests")
    assert page.evaluate(STEPS) == [[1, 2], [2, 4], [0, 3]], "those of the first answer"
    rows = page.locator(".sv-server-lengths tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["2", "1", "1.00"], ["3", "1", "0.00"], ["4", "1", "2.00"],
    ]  # fmt: skip
    paste(page, json.dumps(INFO))
    assert "secret" not in page.evaluate(ASKED), "a key left this machine"
    says(page, ".sv-server-unsaid", "SGLang reports no acceptance by position")
    assert page.locator("[data-part=places] >> visible=true").count() == 0
    two_snapshots_differ(page, part)


def an_example_is_shown_and_applied(page, part):
    settled(page, page.get_by_role("button", name="Load an example").click)
    says(page, SAY, "yielded 3.41 tokens")
    says(page, ".sv-server-advice", "simulated")
    assert part.get_by_label("Target, or the most similar one").input_value() == "house"
    page.wait_for_selector(".sv-server-plot .main-svg >> nth=1", state="attached")
    assert page.locator("[data-figure=places]").get_attribute("aria-label").startswith("1: 80.5%")
    settled(page, lambda: part.get_by_label("Batch size: sequences per pass").fill("64"))
    says(page, ".sv-server-advice", "at batch size 64")
    cards = part.get_by_label("Devices sharing the work")
    settled(page, lambda: cards.fill(""))
    says(page, WRONG, "The number of devices must be an integer. The results below")
    assert page.locator(".sv-server-full").is_visible(), "the last results stay"
    settled(page, lambda: cards.fill("1"))
    assert page.locator(WRONG).is_hidden()
    page.get_by_role("button", name="Use α = 0.81 and γ = 4").click()
    says(page, ".sv-terms-said", "γ = 4 (reported by vLLM on house")


def two_snapshots_differ(page, part):
    page.get_by_text("Earlier snapshot, to count only what happened since").click()
    paste(page, vllm(160, 640, 250, (120, 80, 50, 0)) + '\nvllm:x_bucket{le="1"} 1')
    assert "x_bucket" not in page.evaluate(ASKED), "what is not read is not sent"
    earlier = part.get_by_label("The same server’s metrics, fetched earlier")
    settled(page, lambda: earlier.fill(vllm()))
    says(page, SAY, "Between the two snapshots, a pass")
    settled(page, page.get_by_role("button", name="Clear").click)
    assert page.locator(".sv-server-teach").is_visible()
    assert page.evaluate("document.activeElement.name") == "now"
