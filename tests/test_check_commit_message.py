"""The check of commit messages: good ones pass, each fault is named, and pre-commit runs it."""

from pathlib import Path

import check_commit_message
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


def test_good_commit_message_passes():
    assert not {message for message in GOOD if problems(message)}
    verbs = ("Need", "Ring", "Alias", "Pass", "Use", "Wrap")
    assert all(is_imperative(f"{verb} it") for verb in verbs)


def test_each_fault_of_a_commit_message_is_named():
    for message, fault in BAD.items():
        (sentence,) = problems(message)
        assert fault in sentence
    assert len(problems("fixed " + "x" * 80 + ".\nmore")) == 5


def test_pre_commit_checks_the_message_when_a_commit_is_made(tmp_path, capsys):
    (hook,) = (hook for hook in HOOKS if hook["stages"] == ["commit-msg"])
    assert "commit-msg" in PRE_COMMIT["default_install_hook_types"]
    assert hook["entry"] == "python tests/check_commit_message.py"
    assert (ROOT / "tests" / "check_commit_message.py").samefile(check_commit_message.__file__)
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text("Added a rule.\n", encoding="utf-8")
    assert main(str(file)) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2
    file.write_text("Add a rule\n", encoding="utf-8")
    assert main(str(file)) == 0


def test_pre_commit_runs_every_checker_of_the_suite_in_the_test_environment():
    entries = {hook["entry"] for hook in HOOKS}
    assert {" ".join(["python", "-m", *words]) for words in test_style.CHECKS.values()} <= entries
    assert [repository["repo"] for repository in PRE_COMMIT["repos"]] == ["local"]
    assert {hook["language"] for hook in HOOKS} == {"system"}
