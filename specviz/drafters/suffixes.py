"""Every string of a growing text, how often it occurred and where last: a suffix automaton.

Strings that end at the same places share one state, so there are at most two states a token, and a
token is added without a look back (Blumer et al. 1985). Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False, repr=False)
class State:
    """The strings that occur at the same places; all of them are ends of the longest.

    length: of the longest. link: the state of their longest end that occurs elsewhere too; None for
    the empty string alone. next: by token, the state of these strings and that token. count: how
    often they occur. last: where their latest occurrence ends (its last token's index).
    """

    length: int
    link: State | None = None
    next: dict[int, State] = field(default_factory=dict)
    count: int = 0
    last: int = -1

    def following(self) -> list[tuple[int, State]]:
        """The tokens that came next, most frequent first, then most recent; and where they lead.

        No two tokens stand at one place, so the order has no ties.
        """
        return sorted(self.next.items(), key=lambda pair: (-pair[1].count, -pair[1].last))


class Suffixes:
    """The automaton of `text`; grows at its end.

    A token costs a few steps, and one for every distinct set of places where an end of the text
    occurs: as many as there are tokens where all of them are the same.
    """

    def __init__(self) -> None:
        self.text: list[int] = []
        self.empty = State(0)
        self._whole = self.empty  # the state of the text itself

    def extend(self, tokens: Iterable[int]) -> None:
        """Add tokens at the end."""
        for token in tokens:
            self._append(token)

    def ends(self) -> Iterator[State]:
        """States of the ends of the text that occurred before, the longest first.

        The ends between two of them occur just where the longer one does.
        """
        state = self._whole.link
        while state is not None and state.length:
            yield state
            state = state.link

    def _append(self, token: int) -> None:
        place = len(self.text)
        self.text.append(token)
        whole = State(place + 1)
        at: State | None = self._whole
        while at is not None and token not in at.next:
            at.next[token] = whole
            at = at.link
        whole.link = self.empty if at is None else self._after(at, token)
        self._whole = whole
        end: State | None = whole
        while end is not None and end.length:  # every end of the text has now occurred here
            end.count += 1
            end.last = place
            end = end.link

    def _after(self, at: State, token: int) -> State:
        """The state whose longest string is that of `at` and then `token`.

        Where a longer string shared its places, they part now: the shorter occurs at the end too.
        """
        found = at.next[token]
        if found.length == at.length + 1:
            return found
        parted = State(at.length + 1, found.link, dict(found.next), found.count, found.last)
        found.link = parted
        shorter: State | None = at
        while shorter is not None and shorter.next.get(token) is found:
            shorter.next[token] = parted
            shorter = shorter.link
        return parted
