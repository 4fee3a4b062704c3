"""How far a fetch is, as the page hears it."""

from __future__ import annotations

from time import monotonic
from typing import Final

from specviz.ui.stream import Stream, line

OFTEN: Final = 0.5  # seconds between two lines: a large model takes an hour, and all of it is kept


class Progress:
    """Tells a story the bytes, now and then, and the sentences at once."""

    def __init__(self, story: Stream) -> None:
        self._story = story
        self._told = -OFTEN

    def told(self, done: int, whole: int) -> None:
        """Hear how many bytes are here, of how many (0: not known)."""
        now, last = monotonic(), whole > 0 and done >= whole
        if now - self._told < OFTEN and not last:
            return
        self._told = now
        data = {"done": done, "of": whole, "id": self._story.nonce}
        self._story.tell(line("progress", data))

    def say(self, sentence: str) -> None:
        """A step, such as a source that is tried."""
        self._story.tell(line("step", {"sentence": sentence, "id": self._story.nonce}))
