"""The examples run to the end and print what they announce."""

import json
import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SCRIPTS = sorted(FOLDER.glob("*.py"))


def run(name, capsys, monkeypatch):
    """Return the output of a script that is run without arguments."""
    monkeypatch.setattr("sys.argv", [name])
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    return capsys.readouterr().out


def cells(notebook, kind):
    """Return the texts of a notebook's cells of one kind, in order."""
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def test_rejection_example_prints_p_q_u_and_the_residual(capsys, monkeypatch):
    text = run("look_at_a_rejection.py", capsys, monkeypatch)
    p, q = (float(each) for each in re.search(r"p = (\S+), drafter q = (\S+)", text).groups())
    chance = float(re.search(r"min\(1, p / q\) = (\S+)", text)[1])
    assert chance == pytest.approx(p / q, abs=0.01)
    shares = re.findall(r"([+-]0\.\d{3}) +(\d\.\d{3})$", text, re.MULTILINE)
    assert sum(float(share) for _, share in shares) == pytest.approx(1, abs=0.01)
    assert all(float(share) == 0 for above, share in shares[:-1] if float(above) < 0)
    assert re.search(r"u = 0\.\d{3} selects '", text)


def test_comparison_example_prints_one_line_per_drafter(capsys, monkeypatch):
    lines = run("compare_drafters.py", capsys, monkeypatch).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["draft-model", "eagle3", "ngram"]
    assert all(float(line.split()[1]) > 1 for line in lines[1:])


def test_example_drafter_saves_passes_and_satisfies_the_contract(capsys, monkeypatch):
    text = run("write_a_drafter.py", capsys, monkeypatch)
    assert float(re.search(r"(\S+) tokens per target pass", text)[1]) > 1
    assert "It passes 2 of the contract's checks" in text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_cells_of_the_notebook_run_in_order(notebook):
    names = {}
    for number, text in enumerate(cells(notebook, "code")):
        code = compile(text, f"{notebook.name}, cell {number}", "exec")
        exec(code, names)  # noqa: S102, the repository's own notebook
    assert names["found"]["tokens"] == 40


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_committed_without_outputs(notebook):
    found = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    assert found["nbformat"] == 4
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_examples_are_three_scripts_and_a_notebook():
    assert len(SCRIPTS) == 3
    assert len(NOTEBOOKS) == 1
