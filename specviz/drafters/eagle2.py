"""EAGLE-2 (2406.16858): EAGLE's head, and a tree that follows its confidence.

It grows level by level from the likeliest guesses; of all guesses weighed, the likeliest are kept.
"""

from __future__ import annotations

from specviz.drafters.base import DraftSession
from specviz.drafters.dynamic import DynamicSession
from specviz.drafters.eagle import Eagle, eagle_reader
from specviz.settings import Settings
from specviz.target import TargetRun


class Eagle2(Eagle):
    """EAGLE's own head: one file of weights serves both."""

    name = "eagle2"

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """See `Drafter`. Raises Unsuitable where the target has another width."""
        self.head.config.check_fit(self.card.name, target.target)
        reader = eagle_reader(self.head, target.target, self.card.name)
        return DynamicSession(reader, target.target, settings)
