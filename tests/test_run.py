"""The test command: its tiers, and when the oldest versions are tested again."""

from __future__ import annotations

import shutil

import matrix
import pytest
import run


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A copy of the files that the lock has a hash of."""
    for pattern in run.VERSIONED:
        for path in run.ROOT.glob(pattern):
            copy = tmp_path / path.relative_to(run.ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(run, "installed", lambda: {"torch": "2.13.0"})
    run.write_lock()
    return tmp_path


@pytest.fixture
def commands(monkeypatch):
    """The arguments of each pytest that `run.main` starts; nothing is installed or run."""
    started: list[list[str]] = []
    monkeypatch.setattr(run, "install", lambda quick: 0)
    monkeypatch.setattr(run.chromium, "install", lambda: None)
    monkeypatch.setattr(run, "run_module", lambda *words: started.append([*words]) or 0)
    for name in ("SPECVIZ_TIER", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "")
    return started


@pytest.mark.parametrize("name", ["requirements.txt", "specviz/adapters/jinja2.py"])
def test_oldest_versions_are_tested_again_only_after_a_change_of_lists_or_adapters(
    checkout, monkeypatch, name
):
    tried: list[str] = []
    passed = matrix.Result("oldest", {}, "1 passed", passed=True)
    monkeypatch.setattr(matrix, "try_end", lambda end: tried.append(end) or passed)
    assert matrix.main(["oldest", "--if-changed"]) == 0
    assert tried == []
    (checkout / name).write_text("\n# changed\n")
    assert matrix.main(["oldest", "--if-changed"]) == 0
    assert tried == ["oldest"]


def test_lock_is_restored_if_a_test_fails_and_refused_for_a_part_of_the_tests(
    checkout, commands, monkeypatch
):
    before = run.LOCK.read_text()
    monkeypatch.setattr(run, "installed", lambda: {"torch": "2.14.0"})
    monkeypatch.setattr(run, "run_module", lambda *words: 1)
    assert run.main(["--lock"]) == 1
    assert run.LOCK.read_text() == before
    monkeypatch.setattr(run, "run_module", lambda *words: 0)
    assert run.main(["--quick", "--lock"]) == run.main(["--lock", "tests/test_run.py"]) == 2
    assert run.LOCK.read_text() == before
    assert run.main(["--lock"]) == 0
    assert "torch==2.14.0" in run.LOCK.read_text()


def test_each_tier_contains_the_one_before(commands):
    for tier in ([], ["--quick"], ["--all"]):
        assert run.main([*tier, "tests/test_run.py"]) == 0
    default, quick, everything = commands
    assert "not nightly" in default
    assert "not (slow or browser or nightly)" in quick
    assert "-m" not in everything
    assert all(command[-1] == "tests/test_run.py" for command in commands)


def test_durations_lists_the_slowest_fifty_unless_a_number_is_given(commands):
    run.main(["--durations"])
    run.main(["--durations", "7"])
    assert [command[command.index("--durations") + 1] for command in commands] == ["50", "7"]


def test_ci_runs_the_documented_command():
    script = (run.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    readme = (run.ROOT / "README.md").read_text(encoding="utf-8")
    assert "\npython tests/run.py\n" in readme
    assert "\npython tests/matrix.py oldest --if-changed || status=$?\n" in script
    assert script.endswith('\npython tests/run.py || status=$?\nexit "$status"\n')
