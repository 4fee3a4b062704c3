"""An instrument from outside the package: one file of Python and one row are a tab."""

from __future__ import annotations

import shutil
import signal

import app_server
import pytest

ROOT = app_server.ROOT
LAST = "from specviz.ui.trees import grow, judging, ranking\n"
IMPORT = "from specviz.ui import sample_instrument\n"
ROW = '    "Sample": (sample_instrument,),\n'
ANSWER = "#sv-part-sample .block.sv-instrument-answer"


@pytest.fixture
def address(tmp_path, monkeypatch):
    """A running copy of the app with the sample's file, import and row."""
    package = tmp_path / "specviz"
    shutil.copytree(ROOT / "specviz", package)
    shutil.copy(ROOT / "tests/sample_instrument.py", package / "ui")
    shutil.copy(ROOT / "app.py", tmp_path)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    tabs = package / "ui" / "tabs.py"
    text = tabs.read_text().replace(LAST, LAST + IMPORT)
    tabs.write_text(text.replace('    "Cost": (', f'{ROW}    "Cost": ('))
    monkeypatch.setattr(app_server, "ROOT", tmp_path)
    server = app_server.Server(tmp_path)
    yield server.address
    server.end(signal.SIGTERM)


def test_one_file_and_one_row_add_a_working_tab_with_links_errors_and_a_figure(address, windows):
    with windows.visitor(address) as visitor:
        page = visitor.page
        page.goto(f"{address}?tab=sample&sample_gamma=3")
        answer = page.locator(ANSWER)
        answer.get_by_text("A pass yields 2.53 tokens.").wait_for()
        drawn = "document.querySelector('#sv-sample-tokens .js-plotly-plot')?.data?.[0].y.length"
        page.wait_for_function(f"{drawn} === 3")
        alpha = page.get_by_label("α, the probability that a guess is accepted")
        alpha.fill("2")
        page.get_by_text("α must be between 0 and 1.").wait_for()
        assert answer.inner_text() == "A pass yields 2.53 tokens.", "the last answer stays"
        alpha.fill("1")
        answer.get_by_text("A pass yields 4.00 tokens.").wait_for()
        page.get_by_label("γ, guesses in a draft").last.press("Home")
        page.wait_for_function(f"{drawn} === 1")
        page.wait_for_function("new URLSearchParams(location.search).get('sample_gamma') === '1'")
        assert visitor.errors == []
