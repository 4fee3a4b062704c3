"""SuffixDecoding: what most often followed the text's own end, earlier in the text (2411.04975).

A draft follows one end of the text down the counts of what came after it: at every node the most
frequent tokens, ties to the most recent, as far as the chance that counts give the whole path is
at least `least`, and no deeper than `factor` times the end's length. Every end that occurred
before is tried; the draft whose counts expect most guesses to be kept wins, the longer end among
equals. A token's chance is its count over that of all tokens seen there (the paper's; Snowflake's
code also counts the end of the text, which nothing has followed yet). The memory is this run's
text alone: the paper's second tree, of other people's outputs, is left out. A point mass: counts
choose the guesses, no verdict uses them.

Below it is a suffix automaton: every string of a growing text, how often it occurred and where
last. Strings that end at the same places share one state, so there are at most two states a token,
and a token is added without a look back (Blumer et al. 1985).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from specviz.drafters.kit.base import Weightless
from specviz.engine.protocol import Proposal
from specviz.models.passes import ExtraRows, States
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.tree import DraftTree


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


SLACK = 1e-6  # rounding must not take the last token off 0.29 · 100, nor break a tie


class Suffix(Weightless):
    """Fits any target; nothing to load, nothing kept between runs."""

    name = "suffix"

    def begin(self, target: TargetRun, settings: Settings) -> SuffixSession:
        """See `Drafter`."""
        return SuffixSession(target.target.eos, settings)


@dataclass(slots=True)
class Growing:
    """A draft in the making. expected: how many guesses its counts expect to be kept."""

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    score: dict[int, float] = field(default_factory=dict)
    evidence: dict[int, dict[str, Any]] = field(default_factory=dict)
    expected: float = 0.0

    def add(self, parent: int, token: int, after: State, total: int) -> int:
        """One guess under `parent`, seen `after.count` times out of `total`; its node."""
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.score[node] = after.count / total
        self.evidence[node] = {"count": after.count, "total": total, "from": after.last}
        return node


class SuffixSession:
    """The automaton of this run's text."""

    drawn = Drawn.POINT_MASS

    def __init__(self, eos: Sequence[int], settings: Settings) -> None:
        self.eos = eos
        self.settings = settings
        self.factor: float = settings.suffix_factor
        self.least: float = settings.suffix_least
        self.branches = settings.branches
        self.seen = Suffixes()

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`. Nodes are numbered level by level; siblings as `Settings` says.

        Score by node: its count over that of all tokens seen there. Evidence by node: both counts,
        and where in the text the token last stood there. On the whole try: factor and least; where
        an end of the text was found, its length, where it last stood before the first guess, and
        how many guesses are expected to be kept.
        """
        self._read(context)
        remark: dict[str, Any] = {"form": "counts", "factor": self.factor, "least": self.least}
        best, end = self._best(context[-1], max_tokens - 1)
        if end is not None:
            start = end.following()[0][1].last - end.length
            remark |= {"start": start, "length": end.length, "expected": best.expected}
        tree = DraftTree(tuple(best.tokens), tuple(best.parents))
        evidence = {0: remark} | best.evidence
        return Proposal(tree, self.drawn, score=best.score, evidence=evidence, work=Work())

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """See `DraftSession`. The next proposal reads what was added; guesses were never stored."""

    def _read(self, context: Sequence[int]) -> None:
        """Bring the automaton up to `context`, by what was added to it."""
        known = len(self.seen.text)
        if self.seen.text != list(context[:known]):  # another text than last time
            self.seen, known = Suffixes(), 0
        self.seen.extend(context[known:])

    def _best(self, root: int, most: int) -> tuple[Growing, State | None]:
        """The draft that expects most to be kept, at most `most` deep, and the end it follows."""
        best, of = Growing([root]), None
        for end in self.seen.ends():  # longest first
            depth = min(most, int(self.factor * end.length + SLACK))
            if of is not None and best.expected + SLACK >= depth:
                break  # a level adds at most 1, and shorter ends have no more levels
            grown = self._grow(root, end, depth)
            if of is None or grown.expected > best.expected + SLACK:
                best, of = grown, end
        return best, of

    def _grow(self, root: int, end: State, depth: int) -> Growing:
        """The draft after `end`, level by level; nothing follows an end-of-text."""
        grown = Growing([root])
        level = [(0, end, 1.0)]
        for width in map(self.settings.width, range(depth)):
            below: list[tuple[int, State, float]] = []
            for parent, state, chance in level:
                seen = state.following()
                total = sum(after.count for _, after in seen)
                for token, after in seen[:width]:
                    reached = chance * after.count / total
                    if reached < self.least:
                        break
                    node = grown.add(parent, token, after, total)
                    grown.expected += reached
                    if token not in self.eos:
                        below.append((node, after, reached))
            level = below
        return grown
