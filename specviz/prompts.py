"""The project's own example prompts, by domain: data that the page and the bench share.

Rule: every prompt is written for this project; none is copied from a data set. Standard library
only.
"""

from __future__ import annotations

import json
from functools import cache

from specviz.assets import ASSETS


@cache
def prompts() -> dict[str, list[str]]:
    """Domain -> its prompts, in the order they are shown."""
    data = json.loads((ASSETS / "prompts.json").read_text(encoding="utf-8"))
    return {domain: list(texts) for domain, texts in data.items()}
