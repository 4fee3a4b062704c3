"""Saved runs, opened in the browser: what is shown, and what is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest
from made import Recipe, made
from playwright.sync_api import expect

from specviz.trace.file import Trace
from specviz.ui.step.lines import lines
from specviz.ui.step.replay import replay
from specviz.ui.step.run_file import VERSION, run_file

HOSTILE = "</script><img src=x onerror=window.hacked=1><b>bold</b>"
NOTICE = ".sv-notice"
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"])
    document.querySelector("#sv-tabs").dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def run_text(recipe: Recipe | None = None, **header) -> str:
    run = made(recipe or Recipe())
    run = Trace(replace(run.header, **header), run.events)
    return run_file(lines([run.header, *run.events], "recorded", "run"))


def changed(line: int, change, text: str | None = None) -> str:
    """A file of which one line is changed."""
    rows = (text or run_text()).splitlines()
    data = json.loads(rows[line])
    change(data)
    rows[line] = json.dumps(data)
    return "\n".join(rows) + "\n"


def open_file(page, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    page.locator(".sv-file").set_input_files({"name": name, "mimeType": "", "buffer": data})


def shown(visit) -> list:
    """What is on screen of the run and of the cursor."""
    return [visit.ask("run.id"), visit.ask("cursor"), visit.ask("rounds"), visit.caption()]


def test_saved_run_file_opens_again_and_fills_in_the_form(visit, tmp_path):
    page = visit.open("?trace=04-temperature-0")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save it as a file").click()
    assert download.value.suggested_filename == "specviz-04-temperature-0.jsonl.gz"
    file = tmp_path / "mine.jsonl.gz"
    download.value.save_as(file)
    visit.ask("last()")
    last = visit.caption()
    visit.show("01-chain")
    page.evaluate("scrollTo(0, 99999)")  # to the button
    page.locator(".sv-file").set_input_files(file)
    expect(page.locator(".sv-again")).to_be_in_viewport()
    expect(page.locator(".sv-again")).to_have_text(
        "From the file mine.jsonl.gz, which was read by this browser and not sent anywhere."
    )
    visit.ask("last()")
    assert visit.caption() == last
    expect(page.locator(".sv-badge")).to_have_text("recorded")
    prompt = visit.ask("run.prompt")
    expect(page.get_by_label("Prompt")).to_have_value(prompt)


def test_saved_page_can_be_opened_in_the_app(visit):
    page = visit.open()
    run = made(Recipe(shape=(2, 1)))
    open_file(page, "page.html", replay(run))
    expect(page.locator(".sv-again")).to_contain_text("From the file page.html")
    assert visit.ask("rounds") == len(run.rounds)


def test_file_dropped_on_another_tab_opens_on_step(visit):
    page = visit.open("?tab=models")
    page.evaluate(DROP, ["run.jsonl", run_text()])
    expect(page.locator(".sv-again")).to_contain_text("From the file run.jsonl")
    expect(page.get_by_role("tab", name="Step")).to_have_attribute("aria-selected", "true")


def test_run_from_a_file_is_not_sent_to_the_server_and_has_no_link(visit):
    page = visit.open()
    sent = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    open_file(page, "run.jsonl", run_text(prompt="a secret prompt"))
    expect(page.locator(".sv-again")).to_contain_text("From the file")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)  # the address follows a moment later
    assert not [each for each in sent if "secret" in each]
    assert "trace=" not in page.url
    assert "secret" not in page.url
    page.get_by_role("button", name="Copy a link").click()
    expect(page.locator(".sv-copy [role=status]")).to_have_text("No link to a run from a file")


def test_html_in_a_run_file_is_shown_as_text(visit):
    page = visit.open()
    open_file(page, "run.jsonl", run_text(Recipe(odd=True), prompt=HOSTILE))
    expect(page.locator(".sv-text")).to_contain_text(HOSTILE)
    for _ in range(visit.ask("rounds") * 2):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#sv-step img").count() == 0


def first_node(data):
    return next(iter(data["first"]["tree"]["nodes"].values()))


def spoil_chart(data):
    texts = data["first"]["panel"]["figure"]["data"]["20-words"]["text"]
    texts[0] = '<a href="https://example.org">x</a>'


def round_with_a_chart() -> int:
    rows = [json.loads(line) for line in run_text().splitlines()]
    return next(
        at for at, row in enumerate(rows)
        if row.get("kind") == "round" and "figure" in row["first"]["panel"]
    )  # fmt: skip


CASES = {
    "empty": (lambda: b"", "It is empty."),
    "not text": (lambda: bytes(range(128, 256)), "It is not text."),
    "not JSON": (lambda: "Dear diary,\n", "It is not JSON."),
    "other JSON": (lambda: '{"format": "other"}\n', "It is JSON, but not a saved run."),
    "a list": (lambda: "[1, 2]\n", "It is JSON, but not a saved run."),
    "a trace": (
        lambda: '{"format": "specviz-trace", "version": 1}\n',
        "It is a trace, which this page cannot draw.",
    ),
    "newer": (
        lambda: changed(0, lambda head: head.update(version=VERSION + 1)),
        "It was saved by a newer version of specviz.",
    ),
    "no version": (
        lambda: changed(0, lambda head: head.pop("version")),
        "It was saved by an older version of specviz.",
    ),
    "cut off": (lambda: run_text()[:-200], "It is cut off: "),
    "lines lost": (lambda: "\n".join(run_text().splitlines()[:-2]), "It is cut off: "),
    "compressed and cut off": (
        lambda: gzip.compress(run_text().encode())[:-400],
        "It is compressed, but damaged or cut off.",
    ),
    "too large": (lambda: b"x" * 10_000_001, "It has 11 MB; a run's file may have 10 MB."),
    "a bomb": (
        lambda: gzip.compress(b" " * 40_000_000),
        "Its run has more than 30 MB once it is unpacked.",
    ),
    "a page": (lambda: "<!doctype html><title>x</title>", "It is a page without a run."),
    "a page cut off": (lambda: replay(made(Recipe()))[:-500], "It is cut off."),
    "another kind": (
        lambda: changed(2, lambda line: line.update(kind="script")),
        "Line 2 of its run is wrong: kind.",
    ),
    "a wrong type": (
        lambda: changed(round_with_a_chart(), lambda line: line["first"].update(chips="x")),
        "of its run is wrong: round.first.chips.",
    ),
    "an unknown name": (
        lambda: changed(1, lambda line: line.update(onclick="x")),
        "Line 1 of its run is wrong: run.onclick.",
    ),
    "a prototype": (
        lambda: run_text().replace('"greedy":', '"__proto__":{},"greedy":', 1),
        "It contains a name that no run has: __proto__.",
    ),
    "markup in a chart": (
        lambda: changed(round_with_a_chart(), spoil_chart),
        "of its run is wrong: round.first.panel",
    ),
    "a patch that breaks a frame": (
        lambda: changed(
            round_with_a_chart(), lambda line: line["then"][0].update(caption={"parts": None})
        ),
        "of its run is wrong: then.0.caption.parts.",
    ),
    "a huge number": (
        lambda: changed(round_with_a_chart(), lambda line: line.update(seconds=[1e300, 0, 0])),
        "of its run is wrong: round.seconds.0.",
    ),
    "no rounds": (
        lambda: (
            json.dumps(json.loads(run_text().splitlines()[0]) | {"lines": 1})
            + "\n"
            + run_text().splitlines()[1]
        ),
        "It has no round to show.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_invalid_run_file_shows_an_error_and_changes_nothing_else(looker, case):
    make, sentence = CASES[case]
    page = looker.look("01-chain")
    looker.ask("go(1, 2)")
    page.evaluate("scrollTo(0, 99999)")  # to the button
    before = shown(looker)
    open_file(page, "mine.jsonl", make())
    expect(page.locator(NOTICE)).to_contain_text("The file mine.jsonl was not opened. ")
    expect(page.locator(NOTICE)).to_contain_text(sentence)
    expect(page.locator(NOTICE)).to_be_in_viewport()
    assert shown(looker) == before
    looker.ask("next()")
    assert shown(looker) != before
