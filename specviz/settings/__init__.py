"""The settings of a run and its random numbers. Standard library only."""

from __future__ import annotations

from specviz.settings.chance import Chance
from specviz.settings.settings import BadSettings, Sampling, Settings

__all__ = ["BadSettings", "Chance", "Sampling", "Settings"]
