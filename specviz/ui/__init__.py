"""The page: gradio, the player, live runs. Its one rule: a run's state stays within its run."""

from __future__ import annotations
