"""The repository: generated documents, package bounds, Space settings, nothing private."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import generate_docs
import matrix
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from run import canonical

from specviz.catalog import entries
from specviz.models.files import _patterns
from specviz.shipped import prompts
from specviz.trace.rule_specs import RULE_SPECS
from specviz.ui.routes import PREFIX

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOSTING = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")
DEVELOPMENT = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text_files():
    """Return every text file that git tracks, or would track if it were added."""
    git = ["git", "-c", "safe.directory=*"]  # regardless of who owns this copy
    command = [*git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):  # binary, or deleted but not yet committed
            continue


@pytest.mark.parametrize("page", generate_docs.pages(), ids=lambda page: page.stem)
def test_generated_parts_of_the_documentation_are_up_to_date(page):
    text = page.read_text(encoding="utf-8")
    assert generate_docs.renewed(text) == text, "run: python tests/generate_docs.py"


@pytest.mark.slow
def test_every_module_has_a_docstring():
    modules = (ROOT / "specviz").rglob("*.py")
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules}
    assert not [path.name for path, tree in trees.items() if not ast.get_docstring(tree)]


def test_the_file_map_has_one_line_per_folder_and_is_short():
    modules = generate_docs.documented_modules()
    assert len(modules) == len(set(generate_docs.file_map().split("\n"))) <= 26


def commands():
    """Return the README's shell commands."""
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    return [line for block in blocks for line in block.strip().split("\n")]


def test_ci_tests_the_oldest_versions_and_runs_the_documented_command():
    assert "python tests/run.py" in commands()
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert " python tests/matrix.py oldest " in script
    assert "\npython tests/run.py | " in script
    assert script.endswith('\nexit "$status"\n')


def test_the_ci_script_is_executable():
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_the_readme_starts_the_app_with_one_line():
    assert "pip install -r requirements.txt && python app.py" in commands()
    assert (ROOT / "app.py").exists()


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


def front_matter():
    """Return the Space settings at the top of the README."""
    return yaml.safe_load(README.split("---\n")[1])


def docker_settings():
    """Return the settings that a Docker Space has instead."""
    return yaml.safe_load(re.search(r"```yaml\n(.*?)```", HOSTING, re.DOTALL)[1])


@pytest.mark.parametrize("facts", [front_matter(), docker_settings()], ids=["gradio", "docker"])
def test_space_settings_in_the_readme_are_documented_ones(facts):
    assert facts.keys() <= SETTINGS.keys()
    assert [name for name, value in facts.items() if not SETTINGS[name](value)] == []


def test_the_space_runs_app_py_with_gradio():
    facts = front_matter()
    assert facts["sdk"] == "gradio"
    assert facts["app_file"] == "app.py"


def test_space_downloads_only_the_smollm2_files_that_are_read():
    (line,) = front_matter()["preload_from_hub"]
    repository, files = line.split(" ")
    known = [place.get("hub") for each in entries() for place in each.sources]
    assert repository in known
    wanted = _patterns(None)
    assert all(any(fnmatch(name, each) for each in wanted) for name in files.split(","))


def test_dockerfile_sets_user_1000_the_documented_port_and_a_health_check():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "").split("\n")
    said = {line.split(" ", 1)[0]: line for line in lines if line}
    assert "--uid 1000 user" in "".join(lines)
    assert said["USER"] == "USER user"
    assert said["EXPOSE"] == f"EXPOSE {docker_settings()['app_port']}"
    assert f":7860{PREFIX}/health" in said["HEALTHCHECK"]
    copied = [line for line in lines if line.startswith("COPY")]
    assert copied
    assert all("--chown=user" in line for line in copied)


def by_name(lines):
    """Return requirements by package."""
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {requirement.name: requirement for requirement in found}


def requirements():
    """Return the requirements of the app."""
    return by_name((ROOT / "requirements.txt").read_text(encoding="utf-8").split("\n"))


def extras():
    """Return the further requirements of tests and training, by extra."""
    return {name: by_name(lines) for name, lines in PROJECT["optional-dependencies"].items()}


def lock():
    """Return the version of every package of the last full test run."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").split("\n")
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def imported(folder):
    """Return the top-level packages that a folder's modules import, also inside functions."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - {"specviz"} - sys.stdlib_module_names


def test_requirements_are_exactly_the_packages_that_the_app_imports():
    optional = {"spaces", "xllamacpp", *extras()["train"]}  # optional: imported if installed
    assert requirements().keys() - {"tokenizers"} <= imported("specviz")
    assert imported("specviz") - optional == requirements().keys()


@pytest.mark.parametrize("listed", [requirements(), *extras().values()])
def test_every_requirement_has_a_lower_and_an_upper_bound(listed):
    for requirement in listed.values():
        signs = {part.operator for part in requirement.specifier}
        assert signs == {">=", "<"}, str(requirement)


def test_version_matrix_can_parse_every_requirement():
    assert matrix.bounds().keys() == requirements().keys()


def test_lock_file_has_every_requirement_within_its_range():
    versions = lock()
    wanted = requirements() | extras()["dev"]
    for name, requirement in wanted.items():
        assert requirement.specifier.contains(versions[canonical(name)]), name


def test_upper_bounds_are_the_minor_release_after_the_locked_one():
    versions = lock()
    for name, requirement in requirements().items():
        locked = Version(versions[canonical(name)])
        (bound,) = (Version(part.version) for part in requirement.specifier if part.operator == "<")
        assert (bound.major, bound.minor) == (locked.major, locked.minor + 1), name


def test_hugging_face_space_pins_the_locked_gradio_version():
    assert front_matter()["sdk_version"] == lock()["gradio"]


def test_table_of_tested_versions_agrees_with_the_bounds():
    """The table was written with the current ranges."""
    table = DEVELOPMENT.split(matrix.MARKS[0])[1].split(matrix.MARKS[1])[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")]
    versions = {row[0]: row[1:] for row in rows if len(row) > 2}
    assert re.match(r"Tested on \d{4}-\d\d-\d\d with Python ", table)
    assert versions["package"][:2] == ["oldest", "newest"]
    for name, requirement in requirements().items():
        oldest, newest, *_ = versions[name]
        floor = next(part for part in requirement.specifier if part.operator == ">=")
        assert Version(oldest) == Version(floor.version), name
        assert requirement.specifier.contains(newest), name
    assert all("failed" not in cell and "passed" in cell for cell in versions["quick tests"][:2])


def test_documentation_says_what_each_package_is_for():
    section = DEVELOPMENT.split("## Packages")[1].split("##")[0]
    wanted = {name for listed in (requirements(), *extras().values()) for name in listed}
    assert not [package for package in wanted if not re.search(rf"\b{package}\b", section)]


@pytest.mark.slow
def test_no_file_contains_private_paths_or_package_registries():
    homes = "|".join(["wo" + "rk", "ro" + "ot", "farm", "tmp", "Users"])
    hosts = "|".join(["py" + "pi", r"registry\.npm" + "js", "deb" + r"\.debian"])
    private = re.compile(rf"(?<![\w.*])/(?:{homes})/|(?:{hosts})\.(?:org|com)")
    found = {name: match[0] for name, text in text_files() if (match := private.search(text))}
    assert not found


def test_the_licence_is_apache_2():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_container_runs_as_user_1000_on_port_7860():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--uid 1000" in text
    assert "USER user" in text
    assert "GRADIO_SERVER_PORT=7860" in text


def test_every_domain_has_six_prompts_in_the_expected_format():
    domains = prompts()
    assert list(domains) == ["stories", "dialogues", "python", "maths", "repeat"]
    assert all(len(texts) == len(set(texts)) == 6 for texts in domains.values())
    assert all(text.endswith("\nAssistant:") for text in domains["dialogues"])
    for text in domains["maths"]:
        assert re.fullmatch(r"Question: .*\nAnswer:", text)
    assert all(text.endswith("\n\n") for text in domains["repeat"])
    json.dumps(domains)


def test_the_readme_names_every_drafter():
    section = README.split("## Drafters")[1].split("\n## ")[0]
    drafters = [entry for entry in entries() if entry.kind == "drafter"]
    assert not [entry.name for entry in drafters if f"`{entry.name}`" not in section]
    papers = {paper["arxiv"] for entry in drafters for paper in entry.papers if "arxiv" in paper}
    assert set(re.findall(r"arxiv\.org/abs/([\d.]+)", section)) == papers
    kinds = {entry.family for entry in drafters}  # some have heads for two targets
    assert f"{len(kinds)} kinds of drafters" in README


def test_the_readme_counts_the_rules():
    lossless = sum(rule.lossless for rule in RULE_SPECS.values())
    assert f"{len(RULE_SPECS)} verification rules, {lossless} of them lossless" in README
