"""The check of commit messages: good ones pass, each fault is named, and pre-commit runs it."""

import subprocess
import sys
from pathlib import Path

import check_commit_message
import pytest
import test_style
import yaml
from check_commit_message import is_imperative, main, problems

ROOT = Path(__file__).resolve().parent.parent
PRE_COMMIT = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
HOOKS = [hook for repository in PRE_COMMIT["repos"] for hook in repository["hooks"]]

GOOD = [
    "Share one browser page across read-only tests",
    "Embed the page in a frame",
    "Bring the cache back after a rejection",
    "Focus the coin after a step",
    "Process requests in order of arrival",
    "Add a rule\n\nIt is lossless on chains.\n",
    "Add a rule\n\n# Please enter the commit message for your changes.\n# On branch main\n",
    "\n\nAdd a rule\n\n",
    "Add " + "x" * 68,
    "Merge branch 'english'",
    'Revert "A change that was one too many, with a subject that is far longer than allowed"',
    "fixup! Add a rule",
    f"Add a rule\n\nWhy.\n{check_commit_message.SCISSORS}\ndiff --git a/x b/x\n",
]
BAD = {
    "": "no subject",
    "\n# On branch main\n": "no subject",
    "Add a rule.": "full stop",
    "Add " + "x" * 69: "73 characters",
    "add a rule": "capital letter",
    "Add a rule\nIt is lossless.": "second line",
    "Added a rule": "'Added' is none",
    "Adds a rule": "'Adds' is none",
    "Adding a rule": "'Adding' is none",
    "Tests of rules": "'Tests' is none",
    "README: another rule": "'README:' is none",
    "A rule for chains": "'A' is none",
    "What the further threads of a full room are": "'What' is none",
    "One who only looks keeps a page open whoever comes between": "'One' is none",
    "Rule's threshold": "Rule's\" is none",
}


@pytest.mark.parametrize("message", GOOD)
def test_good_commit_message_passes(message):
    assert problems(message) == []


@pytest.mark.parametrize(("message", "fault"), BAD.items())
def test_each_fault_of_a_commit_message_is_named(message, fault):
    assert any(fault in sentence for sentence in problems(message))


def test_each_faulty_example_has_exactly_one_fault():
    assert {message: len(problems(message)) for message in BAD} == dict.fromkeys(BAD, 1)


def test_all_faults_of_a_message_are_listed():
    assert len(problems("fixed " + "x" * 80 + ".\nmore")) == 5


@pytest.mark.parametrize("word", ["Need", "Ring", "Alias", "Pass", "Use", "Wrap"])
def test_plain_verbs_count_as_imperative(word):
    assert is_imperative(f"{word} it")


def test_script_prints_the_faults_and_exits_with_an_error(tmp_path, capsys):
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text("Added a rule.\n", encoding="utf-8")
    assert main(str(file)) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2
    file.write_text("Add a rule\n", encoding="utf-8")
    assert main(str(file)) == 0


def test_pre_commit_checks_the_message_when_a_commit_is_made(tmp_path):
    (hook,) = (hook for hook in HOOKS if hook["stages"] == ["commit-msg"])
    assert "commit-msg" in PRE_COMMIT["default_install_hook_types"]
    program, *words = hook["entry"].split()
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text("Added a rule\n", encoding="utf-8")
    assert program == "python"
    done = subprocess.run([sys.executable, *words, str(file)], cwd=ROOT, check=False)
    assert done.returncode == 1


def test_pre_commit_runs_every_checker_that_the_suite_runs():
    entries = {hook["entry"] for hook in HOOKS}
    assert {" ".join(["python", "-m", *words]) for words in test_style.CHECKS.values()} <= entries


def test_pre_commit_hooks_run_in_the_test_environment():
    assert [repository["repo"] for repository in PRE_COMMIT["repos"]] == ["local"]
    assert {hook["language"] for hook in HOOKS} == {"system"}
