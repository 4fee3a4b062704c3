"""Suffixes of a text, how often each token followed them, and the draft that follows from that.

`drafters.suffix` describes the method. Since a draft follows from the text and the settings alone,
`check` repeats it with the same functions. Standard library only.

The counts are stored in a suffix automaton, which represents every substring of a growing text,
with how often it occurred and where it occurred last. Substrings that end at the same positions
share a state, so there are at most two states per token, and appending a token does not read the
text again (Blumer et al. 1985).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from specviz.settings.settings import Settings


@dataclass(slots=True, eq=False, repr=False)
class State:
    """A state of the automaton: all substrings that end at the same set of positions.

    Attributes:
        length: Length of the longest substring; all others are suffixes of it.
        link: State of the longest suffix that also ends at other positions; None only for
            the empty string.
        next: For each token, the state of these substrings followed by that token.
        last: Index of the last token of their latest occurrence.
    """

    length: int
    link: State | None = None
    next: dict[int, State] = field(default_factory=dict)
    count: int = 0
    last: int = -1

    def following(self) -> list[tuple[int, State]]:
        """Return the tokens that followed, with their states, by frequency, then by recency."""
        return sorted(self.next.items(), key=lambda pair: (-pair[1].count, -pair[1].last))


class Suffixes:
    """A suffix automaton that can be extended at the end.

    Appending a token takes a few steps, plus one for every distinct set of positions at which a
    suffix of the text occurs; if all tokens are the same, that is one per token of the text.
    """

    def __init__(self) -> None:
        self.text: list[int] = []
        self.empty = State(0)
        self._whole = self.empty  # the state of the text itself

    def extend(self, tokens: Iterable[int]) -> None:
        """Append tokens."""
        for token in tokens:
            self._append(token)

    def ends(self) -> Iterator[State]:
        """Yield the states of suffixes that occurred earlier, longest first; others are between."""
        state = self._whole.link
        while state is not None and state.length:
            yield state
            state = state.link

    def _append(self, token: int) -> None:
        index = len(self.text)
        self.text.append(token)
        whole = State(index + 1)
        at: State | None = self._whole
        while at is not None and token not in at.next:
            at.next[token] = whole
            at = at.link
        whole.link = self.empty if at is None else self._after(at, token)
        self._whole = whole
        end: State | None = whole
        while end is not None and end.length:  # every suffix of the text occurs here
            end.count += 1
            end.last = index
            end = end.link

    def _after(self, at: State, token: int) -> State:
        # If that string shares a state with a longer one, the state is split, since only the
        # shorter one also occurs at the end.
        found = at.next[token]
        if found.length == at.length + 1:
            return found
        split = State(at.length + 1, found.link, dict(found.next), found.count, found.last)
        found.link = split
        shorter: State | None = at
        while shorter is not None and shorter.next.get(token) is found:
            shorter.next[token] = split
            shorter = shorter.link
        return split


SLACK = 1e-6  # tolerance for rounding errors, such as 0.29 · 100 = 28.999…, and for equal values


@dataclass(slots=True)
class SuffixDraft:
    """A draft in progress.

    Attributes:
        score: Count of each node's token, divided by the count of all tokens that followed.
        evidence: For each node, these two counts and the position where its token last occurred.
        expected: Expected number of accepted guesses, estimated from the counts.
    """

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    score: dict[int, float] = field(default_factory=dict)
    evidence: dict[int, dict[str, Any]] = field(default_factory=dict)
    expected: float = 0.0

    def add(self, parent: int, token: int, after: State, total: int) -> int:
        """Add a guess, seen `after.count` times out of `total`, and return its node."""
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.score[node] = after.count / total
        self.evidence[node] = {"count": after.count, "total": total, "from": after.last}
        return node


def best_draft(
    seen: Suffixes, most: int, settings: Settings, eos: Collection[int]
) -> tuple[SuffixDraft, State | None]:
    """Return the draft with the most expected accepted guesses, and its suffix."""
    best, of = SuffixDraft([seen.text[-1]]), None
    for end in seen.ends():  # longest suffix first
        depth = min(most, int(settings.suffix_factor * end.length + SLACK))
        if of is not None and best.expected + SLACK >= depth:
            break  # each level adds at most 1, and shorter suffixes give no more levels
        draft = grow_draft(seen.text[-1], end, depth, settings, eos)
        if of is None or draft.expected > best.expected + SLACK:
            best, of = draft, end
    return best, of


def grow_draft(
    root: int, end: State, depth: int, settings: Settings, eos: Collection[int]
) -> SuffixDraft:
    """Return the draft after a suffix; end-of-text tokens have no children."""
    draft = SuffixDraft([root])
    level = [(0, end, 1.0)]
    for width in map(settings.width, range(depth)):
        below: list[tuple[int, State, float]] = []
        for parent, state, chance in level:
            seen = state.following()
            total = sum(after.count for _, after in seen)
            for token, after in seen[:width]:
                reached = chance * after.count / total
                if reached < settings.suffix_least:
                    break
                node = draft.add(parent, token, after, total)
                draft.expected += reached
                if token not in eos:
                    below.append((node, after, reached))
        level = below
    return draft


def describe_draft(
    draft: SuffixDraft, end: State | None, settings: Settings
) -> dict[int, dict[str, Any]]:
    """Return what a trace records for the whole draft (node 0) and for each guess."""
    factor, least = settings.suffix_factor, settings.suffix_least
    remark: dict[str, Any] = {"form": "counts", "factor": factor, "least": least}
    if end is not None:
        start = end.following()[0][1].last - end.length
        remark |= {"start": start, "length": end.length, "expected": draft.expected}
    return {0: remark} | draft.evidence
