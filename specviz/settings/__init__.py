"""What a person chooses for a run, checked once, here; and chance, which is data.

Rule: standard library only.
"""

from __future__ import annotations

from specviz.settings.chance import Chance
from specviz.settings.settings import BadSettings, Sampling, Settings

__all__ = ["BadSettings", "Chance", "Sampling", "Settings"]
