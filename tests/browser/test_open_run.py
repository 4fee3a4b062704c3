"""Saved runs, opened in the browser: what is shown, and what is refused."""

from __future__ import annotations

import base64
import gzip
import json

from playwright.sync_api import expect
from visit import share

from specviz.commands.cli import main
from specviz.shipped import FOLDER
from specviz.trace.file import Trace
from specviz.ui.step.replay import replay

HONEST = FOLDER / "01-chain.jsonl"
HOSTILE = "</script><img src=x onerror=window.hacked=1><b>bold</b>"
NOTICE = ".sv-notice"
DROP = """([name, text, size]) => {
  const data = new DataTransfer();
  data.items.add(new File([text.padEnd(size)], name));
  for (const kind of ["dragover", "drop"])
    document.querySelector("#sv-tabs").dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def open_file(page, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    page.locator(".sv-file").set_input_files({"name": name, "mimeType": "", "buffer": data})


def shown(visit) -> list:
    """What is on screen of the run and of the cursor."""
    return [visit.ask("run.id"), visit.ask("cursor"), visit.ask("rounds"), visit.caption()]


def test_trace_opens_fills_in_the_form_and_is_saved_as_it_was(visit, tmp_path):
    page = visit.open("?trace=04-temperature-0")
    page.evaluate("scrollTo(0, 99999)")  # to the button
    page.locator(".sv-file").set_input_files(HONEST)
    source = page.locator(".sv-again")
    expect(source).to_be_in_viewport()
    expect(source).to_have_text(
        f"From the file {HONEST.name}. The server has checked it and kept nothing."
    )
    run = Trace.read(HONEST)
    assert visit.ask("rounds") == len(run.rounds)
    expect(page.locator(".sv-badge")).to_have_text("recorded")
    expect(page.get_by_label("Prompt")).to_have_value(run.header.prompt)
    with page.expect_download() as download:
        share(page, "Save its trace")
    file = tmp_path / "mine.jsonl"
    download.value.save_as(file)
    assert Trace.read(file) == run
    assert main(["check", str(file)]) == 0, "the command line reads it, too"


def test_pages_open_text_is_data_and_a_run_from_a_file_has_no_link(visit, tmp_path):
    page = visit.open("?trace=04-temperature-0")
    source = page.locator(".sv-again")
    run = Trace.read(HONEST)
    open_file(page, "page.html", replay(run))
    expect(source).to_contain_text("From the file page.html")
    assert visit.ask("rounds") == len(run.rounds), "a saved page opens, too"
    page.get_by_role("tab", name="Models").click()
    file = tmp_path / "run.jsonl"
    options = ["--prompt", HOSTILE, "--drafter", "ngram", "--max-new-tokens", "8"]
    assert main(["run", *options, "--trace", str(file)]) == 0
    page.evaluate(DROP, ["run.jsonl", file.read_text("utf-8"), 0])
    expect(source).to_contain_text("From the file run.jsonl")
    expect(page.get_by_role("tab", name="Step")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".sv-text")).to_contain_text("<img src=x onerror=window.hacked=1>")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#sv-step img").count() == 0
    address = "(step) => history.state?.moment?.step === step"
    page.wait_for_function(address, arg=visit.ask("frame.step.id"))
    assert "trace=" not in page.url
    page.get_by_role("button", name="Copy a link").click()
    expect(page.locator(".sv-copy [role=status]")).to_have_text("No link to a run from a file")


def invalid_files() -> dict[str, tuple[str | bytes | None, str]]:
    """Return files that are no runs, by what is wrong, each with why it is refused."""
    text = HONEST.read_text("utf-8")
    packed = gzip.compress(text.encode())
    page = replay(Trace.read(HONEST))
    lines = json.dumps({"lines": base64.b64encode(gzip.compress(b'{"kind":"run"}\n')).decode()})
    old = f'<!doctype html><script id="sv-recording">{lines}</script>'
    return {
        "empty": ("", "It is empty."),
        "not text": (bytes(range(128, 256)), "It is not text."),
        "not JSON": ("Dear diary,\n", "This is not complete JSON"),
        "an old file": ('{"format": "specviz-run"}\n', "older version of specviz"),
        "an old page": (old, "older version of specviz"),
        "cut off": (text[:-200], "It is no trace that can be read. Line "),
        "compressed and cut off": (packed[:-400], "It is compressed, but damaged or cut off."),
        "too large": (None, "It has 11 MB; a run's file may have 10 MB."),
        "a large trace": (text + " " * 4_000_000, "Its trace has more than 4 MB"),
        "a bomb": (
            gzip.compress(b" " * 40_000_000),
            "Its run has more than 30 MB once it is unpacked.",
        ),
        "a page": ("<!doctype html><title>x</title>", "It is a page without a run."),
        "a page cut off": (page[:-500], "It is cut off."),
        "a damaged page": (page.replace('"lines": "', '"lines": "!'), "Its run is damaged."),
        "a changed number": (text.replace('"u":0.', '"u":0.1', 1), "contradict"),
    }


def test_invalid_run_file_shows_an_error_and_changes_nothing_else(looker):
    page = looker.look("01-chain")
    notice = page.locator(NOTICE)
    for case, (content, sentence) in invalid_files().items():
        looker.ask("go(1, 2)")
        page.evaluate("scrollTo(0, 99999)")  # to the button
        before = shown(looker)
        if content is None:
            page.evaluate(DROP, [f"{case}.jsonl", "x", 10_000_001])
        else:
            open_file(page, f"{case}.jsonl", content)
        expect(notice).to_contain_text(f"The file {case}.jsonl was not opened. ")
        expect(notice, case).to_contain_text(sentence)
        expect(notice, case).to_be_in_viewport()
        assert shown(looker) == before, case
        looker.ask("next()")
        assert shown(looker) != before, case
