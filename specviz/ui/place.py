"""Where a tab is being built: what its sections share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from specviz.ui.runs import Runs


@dataclass(frozen=True, slots=True)
class Place:
    """demo: the page (a gr.Blocks), for its own events. runs: the machine and its line.

    any_model: whether visitors may name folders and Hub ids, beside the catalogue's models.
    """

    demo: Any
    runs: Runs
    any_model: bool
