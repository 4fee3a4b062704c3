"""The documentation: its commands and code work, its links are valid, and its site builds offline.

Shell commands in fenced blocks are run here or by the test in `TESTED_BY`, unless the HTML comment
`<!-- needs: ... -->` above the block names something that the tests do not have. The real parser
reads the arguments of every command of specviz.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import generate_docs
import pytest

from specviz.commands.cli import build_parser, main
from specviz.trace.rule_specs import RULE_SPECS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md")  # at the top of the repository
NEEDS = {"gpu", "hub", "network", "server", "docker", "time"}
LANGUAGES = {"sh", "python", "yaml", "html"}
BLOCK = re.compile(
    r"(?:^ *<!-- needs: (?P<needs>[\w, ]+) -->\n)?^(?P<indent> *)```(?P<language>\w*)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
EXTERNAL = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*")

# By the first words of a command: the test file that runs it, and its code that does.
TESTED_BY = {
    "python -m specviz serve": ("test_package.py", '[str(program), "serve"'),
    "python -m specviz bench": ("test_bench.py", 'main(["bench"'),
    "python -m specviz sweep": ("test_sweep.py", 'main(["sweep"'),
    "python -m specviz shapes": ("test_shapes.py", 'main(["shapes"'),
    "SPECVIZ_CATALOG=tests/third_party/catalog.json": ("test_third_party.py", "SPECVIZ_CATALOG"),
}
RUN_HERE = "python -m specviz"  # all other commands, in the order of their page
SHORT = ["--max-new-tokens", "8"]  # so that a run takes a second


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of code. needs: its requirements that the tests lack."""

    page: Path
    language: str
    needs: frozenset[str]
    text: str

    @property
    def commands(self) -> list[str]:
        """The single commands of a block of shell."""
        lines = self.text.strip().split("\n")
        return [each.strip() for line in lines for each in line.split("&&")]


def markdown_pages():
    """Return every page that people read: README, docs, and the documents beside the README."""
    others = [ROOT / name for name in OTHERS if (ROOT / name).is_file()]
    return [ROOT / "README.md", *others, *sorted(DOCS.rglob("*.md"))]


def name_of(page):
    """Return a page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


@cache
def blocks():
    """Return the fenced blocks of all pages."""
    return [
        Block(
            page,
            found["language"],
            frozenset(filter(None, re.split(r"[,\s]+", found["needs"] or ""))),
            found["text"],
        )
        for page in markdown_pages()
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def shell_commands(marked):
    """Return the shell commands of blocks with, or without, a `needs` comment."""
    found = [
        (block.page, command)
        for block in blocks()
        if block.language == "sh" and bool(block.needs) is marked
        for command in block.commands
    ]
    return list(dict.fromkeys(found))


def arguments(command):
    """Return the arguments of a command of specviz; None for another program."""
    words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
    if words[:3] == ["python", "-m", "specviz"]:
        return words[3:]
    if words[:1] == ["torchrun"]:
        return words[words.index("specviz") + 1 :]
    if words[:1] == ["specviz"]:
        return words[1:]
    return ["serve", *words[2:]] if words[:2] == ["python", "app.py"] else None


def label(value):
    """Return the part of a test's name that identifies a page or a command."""
    return name_of(value) if isinstance(value, Path) else value


SHELL = shell_commands(True) + shell_commands(False)


def test_readme_has_at_most_150_lines():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_every_code_block_has_a_known_language_and_known_needs_comments():
    assert {block.language for block in blocks()} <= LANGUAGES
    assert {need for block in blocks() for need in block.needs} <= NEEDS


def test_documentation_explains_every_kind_of_needs_comment():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `<!-- needs: (\w+) -->`", text, re.MULTILINE)) == NEEDS


@pytest.mark.parametrize(("page", "command"), SHELL, ids=label)
def test_command_line_parser_accepts_every_documented_command(page, command, capsys):
    words = arguments(command)
    if not words:
        return
    parser = build_parser(next((word for word in words if not word.startswith("-")), None))
    if {"--help", "--help-all"} & set(words):
        with pytest.raises(SystemExit) as ended:
            parser.parse_args(words)
        assert ended.value.code == 0
    else:
        assert callable(parser.parse_args(words).func)


@pytest.mark.parametrize(("page", "command"), SHELL, ids=label)
def test_every_script_that_a_command_runs_exists(page, command):
    for word in shlex.split(command):
        if word.endswith((".py", ".txt")) and "/" in word.replace("./", ""):
            assert (ROOT / word).is_file(), word


@pytest.mark.parametrize(("page", "command"), shell_commands(False), ids=label)
def test_every_command_without_a_needs_comment_is_run_by_a_test(page, command):
    """A command without a `needs` comment is run below or by the named test."""
    named = [test for begin, test in TESTED_BY.items() if command.startswith(begin)]
    if not named:
        assert command.startswith(RUN_HERE), command
        return
    ((file, code),) = named
    assert code in (ROOT / "tests" / file).read_text(encoding="utf-8"), file


def commands_to_run(page):
    """Return the commands of a page that are run here."""
    return [
        command
        for where, command in shell_commands(False)
        if where == page
        and command.startswith(RUN_HERE)
        and not command.startswith(tuple(TESTED_BY))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", list(filter(commands_to_run, markdown_pages())), ids=name_of)
def test_commands_of_a_docs_page_run_one_after_the_other(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in commands_to_run(page):
        words = arguments(command)
        try:
            status = main([*words, *(SHORT if words[:1] in (["run"], ["compare"]) else [])])
        except SystemExit as ended:  # after --help
            status = ended.code
        said = capsys.readouterr()
        assert status == 0, f"{command}: {said.err}"
        assert said.out


def python_blocks():
    """Return the different blocks of Python."""
    found = {block.text: block for block in blocks() if block.language == "python"}
    return list(found.values())


@pytest.mark.parametrize("block", python_blocks(), ids=lambda block: name_of(block.page))
def test_every_python_code_block_compiles(block):
    compile(block.text, name_of(block.page), "exec")


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [block for block in python_blocks() if not block.needs],
    ids=lambda block: name_of(block.page),
)
def test_python_code_blocks_run(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.py").write_text(block.text, encoding="utf-8")
    runpy.run_path("example.py")


def slug(heading):
    """Return the anchor that a heading gets, here and on the site."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def links(page):
    """Return the targets of a page's links and pictures, code left out."""
    text = re.sub(r"`[^`\n]*`", "``", BLOCK.sub("", page.read_text(encoding="utf-8")))
    return [one or other for one, other in LINK.findall(text)]


@pytest.mark.parametrize("page", markdown_pages(), ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page):
    for link in links(page):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{link} in {name_of(page)}"
        if anchor and target.suffix == ".md":
            headings = map(slug, HEADING.findall(target.read_text(encoding="utf-8")))
            assert anchor in headings, f"{link} in {name_of(page)}"


def test_picture_of_the_layers_contains_every_package_folder():
    picture = (DOCS / "images" / "layers.svg").read_text(encoding="utf-8")
    paths = [path for path in generate_docs.documented_modules() if path.parent != ROOT]
    names = {p.parent.name if p.name == "__init__.py" else p.stem for p in paths}
    shown = set(re.findall(r'class="name"[^>]*>(\w+)<', picture))
    assert shown == names - {"specviz", "__main__"}


def test_table_of_rules_lists_every_rule():
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)(?::[\d.,]+)?` \| [^|]+ \| (yes|no) \|", text, re.MULTILINE)
    assert dict(rows) == {
        name: "yes" if rule.lossless else "no" for name, rule in RULE_SPECS.items()
    }


@pytest.mark.slow
def test_documentation_site_builds_without_warnings_or_remote_files(tmp_path):
    closed = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | closed | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    built = list(tmp_path.rglob("*.html"))
    assert len(built) > len(list(DOCS.rglob("*.md")))
    for page in built:
        text = page.read_text(encoding="utf-8").replace('rel="canonical"', "")
        assert not EXTERNAL.search(text), page.name
