"""Writes slow.txt: the tests that `--quick` leaves out, each of six hundredths of a second or more.

Rule: the browser is known by its folder, and style and types are always looked at.

Usage: python tests/run.py --junitxml=times.xml, then python tests/slowest.py times.xml
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
SLOW = HERE / "slow.txt"
LEAST = 0.06  # seconds


def named(case: ElementTree.Element) -> str:
    """A test as pytest's node id has it, from this folder on."""
    path = case.get("classname", "").removeprefix("tests.").replace(".", "/")
    return f"{path}.py::{case.get('name')}"


def main(times: str) -> None:
    """Write the list."""
    cases = ElementTree.parse(times).iter("testcase")
    slow = sorted(named(case) for case in cases if float(case.get("time", 0)) >= LEAST)
    kept = [name for name in slow if not name.startswith(("browser/", "test_style.py"))]
    SLOW.write_text("".join(f"{name}\n" for name in kept), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
