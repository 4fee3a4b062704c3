"""Community files of the repository: complete, current, and without references to missing files."""

import re
from datetime import date
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from specviz import __version__

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
DOCUMENTS = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    ".github/pull_request_template.md",
)
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
RELEASES = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
# Paths in sentences and commands: below folders of the repository, and files in its root.
PATH = re.compile(
    r"(?<![\w/.-])((?:\.ci|assets|docs|examples|specviz|tests)/[\w/.-]*\w|[A-Z]+\.(?:md|cff))\b"
)


def test_version_matches_the_changelog_and_the_citation():
    number, day = RELEASES[0]
    assert number == __version__
    assert CITATION["version"] == number
    assert str(CITATION["date-released"]) == day


def test_changelog_lists_versions_from_newest_to_oldest():
    versions = [Version(number) for number, _ in RELEASES]
    days = [date.fromisoformat(day) for _, day in RELEASES]
    assert versions == sorted(set(versions), reverse=True)
    assert days == sorted(days, reverse=True)
    assert versions[-1] == Version("0.1.0")


def test_changelog_begins_with_unreleased_and_uses_the_usual_headings():
    headings = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert headings == ["Unreleased", *(f"{number} - {day}" for number, day in RELEASES)]
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= KINDS


def test_citation_file_has_every_required_field():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license"} <= CITATION.keys()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_github_accepts_the_format_of_each_issue_form(form):
    facts = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= facts.keys()
    questions = [each for each in facts["body"] if each["type"] != "markdown"]
    assert {each["type"] for each in questions} <= {"input", "textarea", "dropdown", "checkboxes"}
    assert len({each["id"] for each in questions}) == len(questions)
    assert all(each["attributes"]["label"] for each in questions)
    assert all(each["attributes"]["options"] for each in questions if each["type"] == "dropdown")
    assert any(each.get("validations", {}).get("required") for each in questions)


def test_issue_forms_exist_for_bugs_drafters_and_questions():
    assert [form.stem[2:] for form in FORMS] == [
        "bug",
        "drafter-or-checkpoint",
        "question-or-teaching",
    ]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_refer_only_to_files_that_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    if name == "CHANGELOG.md":
        text = text.partition("## 0.14.0")[0].replace("tests/slow.txt", "")
    paths = PATH.findall(text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert paths or name == "CODE_OF_CONDUCT.md"


def test_code_of_conduct_names_only_contacts_that_exist():
    text = (ROOT / "CODE_OF_CONDUCT.md").read_text(encoding="utf-8")
    assert "INSERT" not in text
    assert "@" not in text
    assert "version 2.1" in text
