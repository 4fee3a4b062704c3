"""Controls that a link can hide: the guide names those of the script."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_guide_lists_every_control_that_a_link_can_hide():
    script = (ROOT / "specviz/ui/shared/hidden.tsx").read_text(encoding="utf-8")
    names = re.findall(r'"(\w+)"', script.split("HIDEABLE = [")[1].split("]")[0])
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    section = guide.split("### A link with fewer controls")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == names
