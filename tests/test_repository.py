"""The repository: generated documents, package bounds, Space settings, nothing private.

Also what GitHub and readers expect: changelog, citation, issue forms, pictures, commit messages.
"""

import ast
import re
import subprocess
import sys
import tomllib
from datetime import date
from fnmatch import fnmatch
from pathlib import Path

import check_commit_message
import generate_docs
import matrix
import pytest
import readme_pictures
import test_style
import yaml
from check_commit_message import main, problems
from packaging.requirements import Requirement
from packaging.version import Version
from PIL import Image
from run import canonical

from specviz import __version__
from specviz.catalog import entries
from specviz.models.files import _patterns
from specviz.shipped import prompts
from specviz.trace.rule_specs import RULE_SPECS
from specviz.ui.routes import PREFIX

ROOT = Path(__file__).resolve().parent.parent


def read(name):
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


README = read("README.md")
DEVELOPMENT = read("docs/development.md")
PROJECT = tomllib.loads(read("pyproject.toml"))["project"]
CHANGELOG = read("CHANGELOG.md")


def test_generated_parts_of_the_documentation_are_up_to_date():
    for page in generate_docs.pages():
        text = page.read_text(encoding="utf-8")
        assert generate_docs.renewed(text) == text, "run: python tests/generate_docs.py"
    modules = generate_docs.documented_modules()
    assert len(modules) == len(set(generate_docs.file_map().split("\n"))) <= 26


def test_readme_is_short_and_names_the_commands_that_start_and_test_the_app():
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    commands = [line for block in blocks for line in block.strip().split("\n")]
    assert "pip install -r requirements.txt && python app.py" in commands
    assert "python tests/run.py" in commands
    assert (ROOT / "app.py").exists()
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "\npython tests/run.py " in read(".ci/run")
    assert len(README.splitlines()) <= 150


def test_readme_names_every_drafter_and_counts_the_rules():
    section = README.split("## Drafters")[1].split("\n## ")[0]
    drafters = [entry for entry in entries() if entry.kind == "drafter"]
    assert not [entry.name for entry in drafters if f"`{entry.name}`" not in section]
    papers = {paper["arxiv"] for entry in drafters for paper in entry.papers if "arxiv" in paper}
    assert set(re.findall(r"arxiv\.org/abs/([\d.]+)", section)) == papers
    kinds = {entry.family for entry in drafters}  # some have heads for two targets
    assert f"{len(kinds)} kinds of drafters" in README
    lossless = sum(rule.lossless for rule in RULE_SPECS.values())
    assert f"{len(RULE_SPECS)} verification rules, {lossless} of them lossless" in README


# Where the app is hosted


# Allowed settings of a Space, as huggingface.co/docs/hub/spaces-config-reference lists them.
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
SETTINGS = {
    "title": bool,
    "emoji": lambda value: not value.isascii(),
    "colorFrom": COLOURS.__contains__,
    "colorTo": COLOURS.__contains__,
    "sdk": {"gradio", "docker", "static"}.__contains__,
    "python_version": re.compile(r"3\.\d+(\.\d+)?").fullmatch,
    "sdk_version": re.compile(r"\d+\.\d+\.\d+").fullmatch,
    "app_file": lambda value: (ROOT / value).is_file(),
    "app_port": lambda value: 0 < value < 65536,
    "license": {"apache-2.0"}.__contains__,
    "short_description": lambda value: len(value) <= 60,
    "preload_from_hub": lambda value: all(
        re.fullmatch(r"[\w.-]+/[\w.-]+( [\w./-]+(,[\w./-]+)*)?", each) for each in value
    ),
}


SPACE = yaml.safe_load(README.split("---\n")[1])  # at the top of the README
# What a Docker Space has instead.
DOCKER = yaml.safe_load(re.search(r"```yaml\n(.*?)```", read("docs/hosting.md"), re.DOTALL)[1])


def test_space_runs_app_py_with_documented_settings_and_preloads_only_files_that_are_read():
    for each in (SPACE, DOCKER):
        assert each.keys() <= SETTINGS.keys()
        assert [name for name, value in each.items() if not SETTINGS[name](value)] == []
    assert (SPACE["sdk"], SPACE["app_file"]) == ("gradio", "app.py")
    (line,) = SPACE["preload_from_hub"]
    repository, files = line.split(" ")
    assert repository in [place.get("hub") for each in entries() for place in each.sources]
    wanted = _patterns(None)
    assert all(any(fnmatch(name, each) for each in wanted) for name in files.split(","))


def test_container_runs_as_user_1000_on_the_documented_port_with_a_health_check():
    lines = read("Dockerfile").replace("\\\n", "").split("\n")
    said = {line.split(" ", 1)[0]: line for line in lines if line}
    port = DOCKER["app_port"]
    assert "--uid 1000 user" in "".join(lines)
    assert said["USER"] == "USER user"
    assert said["EXPOSE"] == f"EXPOSE {port}"
    assert f"GRADIO_SERVER_PORT={port}" in "".join(lines)
    assert f":{port}{PREFIX}/health" in said["HEALTHCHECK"]
    copied = [line for line in lines if line.startswith("COPY")]
    assert copied
    assert all("--chown=user" in line for line in copied)


def test_base_image_and_actions_are_pinned_and_the_lock_is_audited_every_week():
    (base,) = re.findall(r"^FROM (.*)$", read("Dockerfile"), re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+-slim@sha256:[0-9a-f]{64}", base)
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    texts = [path.read_text(encoding="utf-8") for path in workflows]
    used = re.findall(r"uses: (.*)$", "\n".join(texts), re.MULTILINE)
    assert used
    pin = r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+"
    assert [each for each in used if not re.fullmatch(pin, each)] == []
    assert len({each.partition("@")[0] for each in used}) == len(set(used)), "one version of each"
    (audit,) = [job for text in texts for name, job in yaml.safe_load(text)["jobs"].items()
                if name == "audit"]  # fmt: skip
    assert "17 4 * * 1" in audit["if"]
    assert "pip-audit --requirement requirements.lock" in audit["steps"][-1]["run"]


# Packages


def by_name(lines):
    """Return requirements by package."""
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {requirement.name: requirement for requirement in found}


REQUIREMENTS = by_name(read("requirements.txt").split("\n"))
# The further requirements of tests and training.
EXTRAS = {name: by_name(lines) for name, lines in PROJECT["optional-dependencies"].items()}
# The version of every package of the last full test run.
LOCK = dict(re.findall(r"^([^#=\n]+)==(.+)$", read("requirements.lock"), re.MULTILINE))


def imported():
    """Return the top-level packages that the package's modules import when they run."""
    found = set()
    for path in (ROOT / "specviz").rglob("*.py"):
        waiting = list(ast.parse(path.read_text(encoding="utf-8")).body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                waiting += node.orelse
            else:
                waiting += ast.iter_child_nodes(node)
    return found - {"specviz"} - sys.stdlib_module_names


@pytest.mark.slow
def test_requirements_are_exactly_the_packages_that_the_app_imports():
    optional = {"spaces", "xllamacpp", *EXTRAS["train"]}  # optional: imported if installed
    found = imported()
    assert REQUIREMENTS.keys() - {"tokenizers"} <= found
    assert found - optional == REQUIREMENTS.keys()


def test_every_requirement_has_bounds_that_the_version_matrix_can_parse_and_a_purpose():
    section = DEVELOPMENT.split("## Packages")[1].split("##")[0]
    for listed in (REQUIREMENTS, *EXTRAS.values()):
        for name, requirement in listed.items():
            assert {part.operator for part in requirement.specifier} == {">=", "<"}, name
            assert re.search(rf"\b{name}\b", section), name
    assert matrix.bounds().keys() == REQUIREMENTS.keys()


# `matrix.py` leaves out the next four tests by name while a bound is being changed.


def test_lock_file_has_every_requirement_within_its_range():
    for name, requirement in (REQUIREMENTS | EXTRAS["dev"]).items():
        assert requirement.specifier.contains(LOCK[canonical(name)]), name


def test_upper_bounds_are_the_minor_release_after_the_locked_one():
    for name, requirement in REQUIREMENTS.items():
        locked = Version(LOCK[canonical(name)])
        (bound,) = (Version(part.version) for part in requirement.specifier if part.operator == "<")
        assert (bound.major, bound.minor) == (locked.major, locked.minor + 1), name


def test_hugging_face_space_pins_the_locked_gradio_version():
    assert SPACE["sdk_version"] == LOCK["gradio"]


def test_table_of_tested_versions_agrees_with_the_bounds():
    """The table was written with the current ranges."""
    table = DEVELOPMENT.split(matrix.MARKS[0])[1].split(matrix.MARKS[1])[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")]
    versions = {row[0]: row[1:] for row in rows if len(row) > 2}
    assert re.match(r"Tested on \d{4}-\d\d-\d\d with Python ", table)
    assert versions["package"][:2] == ["oldest", "newest"]
    for name, requirement in REQUIREMENTS.items():
        oldest, newest, *_ = versions[name]
        floor = next(part for part in requirement.specifier if part.operator == ">=")
        assert Version(oldest) == Version(floor.version), name
        assert requirement.specifier.contains(newest), name
    assert all("failed" not in cell and "passed" in cell for cell in versions["quick tests"][:2])


# What is published


def text_files():
    """Return every text file that git tracks, or would track if it were added."""
    git = ["git", "-c", "safe.directory=*"]  # regardless of who owns this copy
    command = [*git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        try:
            yield name, read(name)
        except (UnicodeDecodeError, FileNotFoundError):  # binary, or deleted but not yet committed
            continue


@pytest.mark.slow
def test_no_file_contains_private_paths_or_package_registries():
    homes = "|".join(["wo" + "rk", "ro" + "ot", "farm", "tmp", "Users"])
    hosts = "|".join(["py" + "pi", r"registry\.npm" + "js", "deb" + r"\.debian"])
    private = re.compile(rf"(?<![\w.*])/(?:{homes})/|(?:{hosts})\.(?:org|com)")
    found = {name: match[0] for name, text in text_files() if (match := private.search(text))}
    assert not found


def test_every_domain_has_six_prompts_in_the_expected_format():
    domains = prompts()
    assert list(domains) == ["stories", "dialogues", "python", "maths", "repeat"]
    assert all(len(texts) == len(set(texts)) == 6 for texts in domains.values())
    assert all(text.endswith("\nAssistant:") for text in domains["dialogues"])
    assert all(re.fullmatch(r"Question: .*\nAnswer:", text) for text in domains["maths"])
    assert all(text.endswith("\n\n") for text in domains["repeat"])


def test_version_licence_and_citation_agree_with_a_changelog_from_newest_to_oldest():
    releases = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)
    headings = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert headings == ["Unreleased", *(f"{number} - {day}" for number, day in releases)]
    versions = [Version(number) for number, _ in releases]
    days = [date.fromisoformat(day) for _, day in releases]
    assert versions == sorted(set(versions), reverse=True)
    assert days == sorted(days, reverse=True)
    assert (str(versions[0]), str(versions[-1])) == (__version__, "0.1.0")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= kinds
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation.keys() >= {"message", "title", "authors"}
    facts = [citation[name] for name in ("cff-version", "version", "license")]
    assert facts == ["1.2.0", __version__, "Apache-2.0"]
    assert citation["date-released"] == days[0]
    papers = {paper["title"] for entry in entries() for paper in entry.papers}
    assert papers == {each["title"] for each in citation["references"]}
    assert "Version 2.0, January 2004" in read("LICENSE")
    assert "END OF TERMS AND CONDITIONS" in read("LICENSE")


# Paths in sentences and commands: below folders of the repository, and files in its root.
PATH = re.compile(
    r"(?<![\w/.-])((?:\.ci|assets|docs|examples|specviz|tests)/[\w/.-]*\w|[A-Z]+\.(?:md|cff))\b"
)


def test_documents_refer_only_to_files_that_exist():
    recent = CHANGELOG.partition("## 0.14.0")[0].replace("tests/slow.txt", "")
    for text in (recent, read("CONTRIBUTING.md"), read(".github/pull_request_template.md")):
        paths = PATH.findall(text)
        assert paths
        assert [path for path in paths if not (ROOT / path).exists()] == []
    conduct = read("CODE_OF_CONDUCT.md")
    assert "INSERT" not in conduct, "a contact of the template"
    assert "@" not in conduct
    assert [path for path in PATH.findall(conduct) if not (ROOT / path).exists()] == []


def test_each_readme_picture_exists_in_both_themes_with_the_same_size_and_is_small():
    for name in ("rejection", "step", "compare", "lossless"):
        sizes = set()
        for theme in readme_pictures.THEMES:
            with Image.open(readme_pictures.FOLDER / f"{name}-{theme}.webp") as picture:
                sizes.add(picture.size)
        assert len(sizes) == 1, name
    total = sum(path.stat().st_size for path in readme_pictures.FOLDER.glob("*.webp"))
    assert 0 < total <= readme_pictures.LIMIT


# Commit messages


PRE_COMMIT = yaml.safe_load(read(".pre-commit-config.yaml"))
HOOKS = [hook for repository in PRE_COMMIT["repos"] for hook in repository["hooks"]]

GOOD = [
    "Process requests in order of arrival",
    "Add a rule\n\n# Please enter the commit message for your changes.\n# On branch main\n",
    "Merge branch 'english'",
    f"Add a rule\n\nWhy.\n{check_commit_message.SCISSORS}\ndiff --git a/x b/x\n",
]
BAD = {
    "\n# On branch main\n": "no subject",
    "Add a rule.": "full stop",
    "Add " + "x" * 69: "73 characters",
    "add a rule": "capital letter",
    "Add a rule\nIt is lossless.": "second line",
    "Added a rule": "'Added' is none",
    "What the further threads of a full room are": "'What' is none",
}


def test_each_fault_of_a_commit_message_is_named():
    assert not {message for message in GOOD if problems(message)}
    for message, fault in BAD.items():
        (sentence,) = problems(message)
        assert fault in sentence


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
