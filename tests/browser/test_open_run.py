"""Saved runs, opened in the browser: what is shown, and what is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

from made import Recipe, made
from playwright.sync_api import expect

from specviz.trace.file import Trace
from specviz.ui.step.lines import lines
from specviz.ui.step.replay import replay
from specviz.ui.step.run_file import VERSION, run_file

HOSTILE = "</script><img src=x onerror=window.hacked=1><b>bold</b>"
NOTICE = ".sv-notice"
DROP = """([name, text, size]) => {
  const data = new DataTransfer();
  data.items.add(new File([text.padEnd(size)], name));
  for (const kind of ["dragover", "drop"])
    document.querySelector("#sv-tabs").dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def run_text(recipe: Recipe | None = None, **header) -> str:
    run = made(recipe or Recipe())
    run = Trace(replace(run.header, **header), run.events)
    return run_file(lines([run.header, *run.events], "recorded", "run"))


def changed(line: int, change) -> str:
    """A file of which one line is changed."""
    rows = run_text().splitlines()
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


def test_saved_run_opens_again_and_fills_in_the_form(visit, tmp_path):
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
    source = page.locator(".sv-again")
    expect(source).to_be_in_viewport()
    expect(source).to_have_text(
        "From the file mine.jsonl.gz, which was read by this browser and not sent anywhere."
    )
    visit.ask("last()")
    assert visit.caption() == last, "the file holds the whole run"
    expect(page.locator(".sv-badge")).to_have_text("recorded")
    expect(page.get_by_label("Prompt")).to_have_value(visit.ask("run.prompt"))


def test_run_from_a_file_stays_in_the_browser_and_has_no_link(visit):
    page = visit.open("?trace=04-temperature-0")
    sent = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    source = page.locator(".sv-again")
    run = made(Recipe(shape=(2, 1)))
    open_file(page, "page.html", replay(run))
    expect(source).to_contain_text("From the file page.html")
    assert visit.ask("rounds") == len(run.rounds), "a saved page opens, too"
    page.get_by_role("tab", name="Models").click()
    page.evaluate(DROP, ["run.jsonl", run_text(Recipe(odd=True), prompt=HOSTILE), 0])
    expect(source).to_contain_text("From the file run.jsonl")
    expect(page.get_by_role("tab", name="Step")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".sv-text")).to_contain_text(HOSTILE)
    for _ in range(visit.ask("rounds") * 2):
        page.keyboard.press("ArrowRight")
    assert visit.ask("cursor.round") > 0
    assert page.evaluate("window.hacked") is None
    assert page.locator("#sv-step img").count() == 0
    address = "(step) => history.state?.moment?.step === step"
    page.wait_for_function(address, arg=visit.ask("frame.step.id"))
    assert "trace=" not in page.url
    assert not [each for each in sent if "onerror" in each], "the run was sent to the server"
    page.get_by_role("button", name="Copy a link").click()
    expect(page.locator(".sv-copy [role=status]")).to_have_text("No link to a run from a file")


def spoil_chart(data):
    texts = data["first"]["panel"]["figure"]["data"]["20-words"]["text"]
    texts[0] = '<a href="https://example.org">x</a>'


def round_with_a_chart() -> int:
    rows = [json.loads(line) for line in run_text().splitlines()]
    rounds = [at for at, row in enumerate(rows) if row.get("kind") == "round"]
    return next(at for at in rounds if "figure" in rows[at]["first"]["panel"])


def no_rounds() -> str:
    head, run = run_text().splitlines()[:2]
    return json.dumps(json.loads(head) | {"lines": 1}) + "\n" + run


def invalid_files() -> dict[str, tuple[str | bytes | None, str]]:
    """Return files that are no runs, by what is wrong, each with why it is refused."""
    text, chart = run_text(), round_with_a_chart()
    packed = gzip.compress(text.encode())
    other, trace = '{"format": "other"}\n', '{"format": "specviz-trace", "version": 1}\n'
    newer = changed(0, lambda head: head.update(version=VERSION + 1))
    unversioned = changed(0, lambda head: head.pop("version"))
    kind = changed(2, lambda line: line.update(kind="script"))
    chips = changed(chart, lambda line: line["first"].update(chips="x"))
    unknown = changed(1, lambda line: line.update(onclick="x"))
    prototype = text.replace('"greedy":', '"__proto__":{},"greedy":', 1)
    patch = changed(chart, lambda line: line["then"][0].update(caption={"parts": None}))
    huge = changed(chart, lambda line: line.update(seconds=[1e300, 0, 0]))
    return {
        "empty": ("", "It is empty."),
        "not text": (bytes(range(128, 256)), "It is not text."),
        "not JSON": ("Dear diary,\n", "It is not JSON."),
        "other JSON": (other, "It is JSON, but not a saved run."),
        "a list": ("[1, 2]\n", "It is JSON, but not a saved run."),
        "a trace": (trace, "It is a trace, which this page cannot draw."),
        "newer": (newer, "It was saved by a newer version of specviz."),
        "no version": (unversioned, "It was saved by an older version of specviz."),
        "cut off": (text[:-200], "It is cut off: "),
        "lines lost": ("\n".join(text.splitlines()[:-2]), "It is cut off: "),
        "compressed and cut off": (packed[:-400], "It is compressed, but damaged or cut off."),
        "too large": (None, "It has 11 MB; a run's file may have 10 MB."),
        "a bomb": (
            gzip.compress(b" " * 40_000_000),
            "Its run has more than 30 MB once it is unpacked.",
        ),
        "a page": ("<!doctype html><title>x</title>", "It is a page without a run."),
        "a page cut off": (replay(made(Recipe()))[:-500], "It is cut off."),
        "another kind": (kind, "Line 2 of its run is wrong: kind."),
        "a wrong type": (chips, "of its run is wrong: round.first.chips."),
        "an unknown name": (unknown, "Line 1 of its run is wrong: run.onclick."),
        "a prototype": (prototype, "It contains a name that no run has: __proto__."),
        "markup in a chart": (changed(chart, spoil_chart), "is wrong: round.first.panel"),
        "a patch that breaks a frame": (patch, "is wrong: then.0.caption.parts."),
        "a huge number": (huge, "of its run is wrong: round.seconds.0."),
        "no rounds": (no_rounds(), "It has no round to show."),
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
