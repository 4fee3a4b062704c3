"""The documentation: its commands and code work, its links are valid, and its site builds offline.

Shell commands in fenced blocks are run here or by a test of `TESTED_BY`, unless the HTML comment
`<!-- needs: ... -->` above the block names something that the tests do not have. The real parser
reads the arguments of every command of specviz.
"""

from __future__ import annotations

import json
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

# By the first words of a command: the code in this folder's tests that runs it.
TESTED_BY = {
    "python -m specviz serve": '[str(program), "serve"',
    "python -m specviz bench": 'main(["bench"',
    "python -m specviz sweep": 'main(["sweep"',
    "python -m specviz shapes": 'main(["shapes"',
    "SPECVIZ_CATALOG=tests/third_party/catalog.json": "SPECVIZ_CATALOG",
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
    others = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*others, *sorted(DOCS.rglob("*.md"))]


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


def test_every_code_block_has_a_known_language_and_an_explained_needs_comment():
    assert {block.language for block in blocks()} <= LANGUAGES
    assert {need for block in blocks() for need in block.needs} <= NEEDS
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `<!-- needs: (\w+) -->`", text, re.MULTILINE)) == NEEDS


def test_command_line_parser_accepts_every_documented_command(capsys):
    for page, command in shell_commands(True) + shell_commands(False):
        for word in shlex.split(command):
            if word.endswith((".py", ".txt")) and "/" in word.replace("./", ""):
                assert (ROOT / word).is_file(), f"{word} in {name_of(page)}"
        if not (words := arguments(command)):
            continue
        parser = build_parser(next((word for word in words if not word.startswith("-")), None))
        if {"--help", "--help-all"} & set(words):
            with pytest.raises(SystemExit, match="0"):
                parser.parse_args(words)
        else:
            assert callable(parser.parse_args(words).func), f"{command} in {name_of(page)}"


def test_every_command_without_a_needs_comment_is_run_by_a_test():
    """It is run below, or by another test that contains its code."""
    others = [path for path in (ROOT / "tests").glob("test_*.py") if path != Path(__file__)]
    code = "".join(path.read_text(encoding="utf-8") for path in others)
    for page, command in shell_commands(False):
        named = [made for begin, made in TESTED_BY.items() if command.startswith(begin)]
        assert named or command.startswith(RUN_HERE), f"{command} in {name_of(page)}"
        assert all(made in code for made in named), command


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


def test_every_python_code_block_compiles():
    for block in blocks():
        if block.language == "python":
            compile(block.text, name_of(block.page), "exec")


def code_to_run(page):
    """Return the Python of a page that needs nothing and is not on an earlier page too."""
    found = {b.text: b.page for b in reversed(blocks()) if b.language == "python" and not b.needs}
    return [text for text, where in found.items() if where == page]


def pages_with_code():
    """Return the pages with code to run; the contract takes ten seconds, so it is nightly."""
    for page in filter(code_to_run, markdown_pages()):
        contract = any("check_drafter" in text for text in code_to_run(page))
        yield pytest.param(page, id=name_of(page), marks=pytest.mark.nightly if contract else ())


@pytest.mark.slow
@pytest.mark.parametrize("page", list(pages_with_code()))
def test_python_code_of_a_docs_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for text in code_to_run(page):
        (tmp_path / "example.py").write_text(text, encoding="utf-8")
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


def test_every_link_leads_to_a_file_and_a_heading():
    for page in markdown_pages():
        for link in links(page):
            if link.startswith(("https://", "http://", "mailto:")):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            assert target.exists(), f"{link} in {name_of(page)}"
            if anchor and target.suffix == ".md":
                headings = map(slug, HEADING.findall(target.read_text(encoding="utf-8")))
                assert anchor in headings, f"{link} in {name_of(page)}"


def test_architecture_page_names_only_files_that_exist():
    found = [ROOT / "app.py", *(ROOT / "specviz").rglob("*.*"), *ROOT.glob("tests/*.py")]
    found += ROOT.glob("tests/browser/*.py")
    paths = {f"/{file.relative_to(ROOT).as_posix()}" for file in found}
    named = re.findall(
        r"`([a-z\d_/]+\.(?:py|tsx?))`", (DOCS / "architecture.md").read_text("utf-8")
    )
    assert len(named) > 20
    missing = [name for name in named if not any(path.endswith(f"/{name}") for path in paths)]
    assert missing == []


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


# The examples


def run_example(name, capsys, monkeypatch):
    """Return the output of an example that is run without arguments."""
    monkeypatch.setattr("sys.argv", [name])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.slow
def test_rejection_example_prints_p_q_u_and_the_residual(capsys, monkeypatch):
    text = run_example("look_at_a_rejection.py", capsys, monkeypatch)
    p, q = (float(each) for each in re.search(r"p = (\S+), drafter q = (\S+)", text).groups())
    chance = float(re.search(r"min\(1, p / q\) = (\S+)", text)[1])
    assert chance == pytest.approx(p / q, abs=0.01)
    shares = re.findall(r"([+-]0\.\d{3}) +(\d\.\d{3})$", text, re.MULTILINE)
    assert sum(float(share) for _, share in shares) == pytest.approx(1, abs=0.01)
    assert all(float(share) == 0 for above, share in shares[:-1] if float(above) < 0)
    assert re.search(r"u = 0\.\d{3} selects '", text)


@pytest.mark.slow
def test_comparison_example_prints_one_line_per_drafter(capsys, monkeypatch):
    lines = run_example("compare_drafters.py", capsys, monkeypatch).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["draft-model", "eagle3", "ngram"]
    assert all(float(line.split()[1]) > 1 for line in lines[1:])


@pytest.mark.slow
def test_example_drafter_saves_passes_and_satisfies_the_contract(capsys, monkeypatch):
    text = run_example("write_a_drafter.py", capsys, monkeypatch)
    assert float(re.search(r"(\S+) tokens per target pass", text)[1]) > 1
    assert "It passes 2 of the contract's checks" in text


@pytest.mark.slow
def test_notebook_is_committed_without_outputs_and_its_cells_run_in_order():
    (path,) = (ROOT / "examples").glob("*.ipynb")
    notebook, names = json.loads(path.read_text(encoding="utf-8")), {}
    assert notebook["nbformat"] == 4
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            code = compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec")
            exec(code, names)  # noqa: S102, the repository's own notebook
    assert names["found"]["tokens"] == 40
    assert len(list(path.parent.glob("*.py"))) == 3, "the examples above"
