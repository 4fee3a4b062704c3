"""Statistics of a server in a browser: pasted, shown, rejected; keys stay on this machine."""

import json

from playwright.sync_api import expect
from test_access import faint, faults
from test_server_texts import DETAILED, INFO, REQUEST, vllm

HOSTILE = "<img src=x onerror=window.hacked=1>"
BOX = "The server’s metrics, or an answer with counts"
# Texts that cannot be read, some of which the page shortens before it sends them.
OTHERS = {
    HOSTILE: "This is a web page",
    '{"choices": [], "usage": {"total_tokens": 3}}': "This is JSON without counts",
    '{"timings": {"draft_n": 3': "This begins like JSON but is not valid JSON",
    "# HELP node_load1 x\nnode_load1 0.5": "These are metrics of node_exporter",
}


def test_pasted_statistics_set_alpha_and_unreadable_texts_end_in_sentences(visit):
    page = visit.open("?tab=cost&part=server")
    expect(page.get_by_label(BOX)).to_be_visible()
    part = page.locator("#sv-part-server")
    unreadable_and_hostile_texts_end_in_sentences_and_keys_are_not_sent(part)
    part.get_by_role("button", name="Clear").click()
    answer = part.locator(".sv-instrument-answer").first
    expect(answer).to_contain_text("An example, not yours: vLLM yielded 3.41 tokens per pass")
    part.get_by_role("button", name="Load an example").focus()
    page.keyboard.press("Enter")
    expect(part.get_by_text("--speculative-config '{")).to_be_visible()
    expect(part.locator(".main-svg:visible").first).to_be_visible()
    part.get_by_label("Batch size (0: as reported)").fill("64")
    expect(answer).to_contain_text("at batch size 64")
    part.get_by_label("Devices sharing the work").fill("65")
    expect(part.locator(".sv-notice:visible").first).to_contain_text("The number of devices must")
    expect(answer).to_contain_text("at batch size 64")
    part.get_by_label("Devices sharing the work").fill("1")
    part.get_by_role("button", name="Use α = 0.81, γ = 4 and this machine").click()
    expect(page.get_by_label("number input for α").first).to_have_value("0.808")
    other = page.locator("#sv-part-roofline")
    expect(other).to_contain_text("four cores at batch size 64, γ = 4 and α = 0.81:")
    expect(other.get_by_label("Number format")).to_have_value("fp32")
    other.get_by_role("button", name="Batch 1", exact=True).click()
    expect(other).to_contain_text("at batch size 1, γ = 4")
    assert faint(page) == []
    assert faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    part.get_by_role("button", name="Clear").click()
    expect(answer).to_contain_text("An example, not yours: vLLM yielded 3.41 tokens per pass")


def unreadable_and_hostile_texts_end_in_sentences_and_keys_are_not_sent(part):
    page, box, sent = part.page, part.get_by_label(BOX), []
    page.on("request", lambda each: sent.append(each.post_data or ""))
    for text, said in OTHERS.items():
        box.fill(text)
        expect(part.locator(".sv-notice:visible").first).to_contain_text(said)
    box.fill(vllm(model=HOSTILE) + "\n" + vllm(model="n"))
    part.get_by_label("Model on this server").click()
    page.get_by_role("option", name=HOSTILE).click()
    expect(part.locator("td", has_text=HOSTILE)).to_be_visible()
    assert part.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    box.fill(f"{json.dumps(DETAILED)}\n{json.dumps(REQUEST)}\n")
    expect(part.locator("td", has_text="answers to 2 requests")).to_be_visible()
    expect(part.get_by_text("Step by step")).to_be_visible()
    box.fill(json.dumps(INFO))
    expect(part.get_by_text("SGLang reports no acceptance by position")).to_be_visible()
    assert any("avg_spec_accept_length" in body for body in sent)
    assert not any("secret" in body for body in sent), "a key left this machine"
