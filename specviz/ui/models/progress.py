"""Progress of a download, as lines for the page."""

from __future__ import annotations

from time import monotonic
from typing import Final

from specviz.ui.stream import Stream, line

OFTEN: Final = (
    0.5  # seconds between two lines, since a download may take an hour and all lines are kept
)


class Progress:
    """Send bytes at most every OFTEN seconds, and sentences at once."""

    def __init__(self, story: Stream) -> None:
        self._story = story
        self._told = -OFTEN

    def told(self, done: int, whole: int) -> None:
        """Send the number of bytes, if enough time has passed.

        Args:
            done: Bytes that were downloaded.
            whole: Total bytes; 0 if unknown.
        """
        now, last = monotonic(), whole > 0 and done >= whole
        if now - self._told < OFTEN and not last:
            return
        self._told = now
        data = {"done": done, "of": whole, "id": self._story.nonce}
        self._story.write(line("progress", data))

    def say(self, sentence: str) -> None:
        """Send a step, such as a source that is tried."""
        self._story.write(line("step", {"sentence": sentence, "id": self._story.nonce}))
