"""Controls that a link can hide: the guide and the style sheet name those of the script."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT / "specviz" / "ui" / "shared"


def test_guide_and_style_sheet_list_every_control_that_a_link_can_hide():
    script = (SHARED / "hidden.js").read_text(encoding="utf-8")
    names = re.findall(r'"(\w+)"', script.split("HIDEABLE = [")[1].split("]")[0])
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    section = guide.split("### A link with fewer controls")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == names
    style = (SHARED / "47-hidden.css").read_text(encoding="utf-8")
    assert set(re.findall(r"sv-hide-(\w+)", style)) == set(names)
