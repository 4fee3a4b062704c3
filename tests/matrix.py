"""Run quick tests with the oldest and the newest versions that requirements.txt allows.

`python tests/matrix.py` makes a fresh virtual environment for each and prints a table of versions
and results; `python tests/matrix.py oldest` makes one of them. `--beyond` adds the newest versions
of the package index, whatever the bounds say. `--write` puts the table into docs/development.md.
`--if-changed` does nothing unless the lists of requirements or the adapters have changed since
requirements.lock was written. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import run

ROOT = run.ROOT
REQUIREMENT = re.compile(r"([\w.-]+)>=([\w.]+),<([\w.]+)")  # the one form that the lists use
MARKS = ("<!-- versions: python tests/matrix.py --write -->\n", "<!-- /versions -->\n")
ENDS = ("oldest", "newest", "beyond")
CASES = 2  # of each test: a library that changed fails in all cases of a test or in nearly all
# Tests of recorded results, which are out of date while a version bound is being changed.
RECORDS = (
    "test_lock_file_has_every_requirement_within_its_range",
    "test_upper_bounds_are_the_minor_release_after_the_locked_one",
    "test_hugging_face_space_pins_the_locked_gradio_version",
    "test_table_of_tested_versions_agrees_with_the_bounds",
)


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one environment.

    Attributes:
        end: Which versions it has, one of `ENDS`.
        versions: Installed versions, by package.
        summary: pytest's closing line.
        passed: Whether all tests passed.
    """

    end: str
    versions: dict[str, str]
    summary: str
    passed: bool


def bounds() -> dict[str, tuple[str, str]]:
    """Return the oldest allowed version and the upper bound of each dependency of the app."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    found = [REQUIREMENT.fullmatch(line) for line in lines]
    return {row[1]: (row[2], row[3]) for row in found if row}


def requirements(end: str) -> list[str]:
    """Return the requirements that pip installs for the app."""
    forms = {"oldest": "{0}=={1}", "newest": "{0}>={1},<{2}", "beyond": "{0}>={1}"}
    return [forms[end].format(name, *pair) for name, pair in bounds().items()]


def make_environment(end: str, folder: Path) -> str:
    """Make a fresh virtual environment in `folder` and return its interpreter.

    Raises CalledProcessError if a package cannot be installed.
    """
    venv.create(folder, with_pip=True)
    scripts = "Scripts" if os.name == "nt" else "bin"
    python = str(folder / scripts / "python")
    packages = [*requirements(end), *run.test_packages()]
    subprocess.run([python, "-m", *run.PIP, *packages], cwd=ROOT, check=True)
    if not (ROOT / run.TOOLS).is_dir() and run.install_tools(python):
        raise SystemExit("npm could not install the linters of the browser's modules.")
    # Prevents the test command from changing a version.
    (folder / run.INSTALLED.name).write_text(run.hash_files(run.NEEDED))
    return python


def run_quick(python: str, folder: Path) -> tuple[str, bool]:
    """Run CASES of each quick test; return their closing line and whether all passed."""
    quiet = os.environ | {"MYPY_CACHE_DIR": str(folder / "mypy")}
    skipped = [f"--deselect=tests/test_repository.py::{name}" for name in RECORDS]
    command = [python, "tests/run.py", "--quick", "--cases", str(CASES), *skipped]
    line = ""
    with subprocess.Popen(command, cwd=ROOT, env=quiet, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            print(line, end="", flush=True)
    return re.sub(r" in .*", "", line.strip()), tests.returncode == 0


def try_end(end: str) -> Result:
    """Make one environment, run the quick tests in it, and remove it."""
    with tempfile.TemporaryDirectory(prefix=f"specviz-{end}-") as place:
        begun = monotonic()
        print(f"{end}: installing {', '.join(requirements(end))}", flush=True)
        try:
            python = make_environment(end, Path(place))
        except subprocess.CalledProcessError:
            return Result(end, {}, "cannot be installed", passed=False)
        print(f"{end}: installed in {monotonic() - begun:.0f} s", flush=True)
        summary, passed = run_quick(python, Path(place))
        return Result(end, run.installed(python), summary, passed)


def table(results: Sequence[Result]) -> str:
    """Return versions and results as a Markdown table with one column per environment."""
    rows = [["package", *(result.end for result in results)]]
    for name in bounds():
        rows.append([name, *(result.versions.get(run.canonical(name), "") for result in results)])
    rows.append(["quick tests", *(result.summary for result in results)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    lines = (
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def write(results: Sequence[Result]) -> None:
    """Put the table and its date between the markers in docs/development.md."""
    path = ROOT / "docs" / "development.md"
    before, rest = path.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    python = ".".join(map(str, sys.version_info[:3]))
    where = f"Tested on {datetime.now(UTC):%Y-%m-%d} with Python {python} on {sys.platform}, no GPU"
    text = f"{before}{MARKS[0]}{where}:\n\n{table(results)}{MARKS[1]}{after}"
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests in each environment; return 0 if they passed in all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("end", nargs="*", choices=[*ENDS, []], help="oldest and newest if omitted")
    parser.add_argument("--beyond", action="store_true", help="also the index's newest versions")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--if-changed", action="store_true", help="only if versions can matter")
    args = parser.parse_args(arguments)
    if args.if_changed and not run.changed_since_lock():
        print("Lists of requirements and adapters are those of the last lock.", flush=True)
        return 0
    ends = args.end or ["oldest", "newest"]
    results = [try_end(end) for end in [*ends, *(["beyond"] if args.beyond else [])]]
    print(table(results), flush=True)
    if args.write:
        write(results)
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
