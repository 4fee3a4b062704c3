"""One round of a run, and the steps a reader takes through it. A cursor is (round, step)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from specviz.chance import JUDGE, key
from specviz.frames.words import Word, word
from specviz.trace import Guess, Header, Judged, Round, Trace

StepKind = Literal["propose", "score", "judge", "draw", "commit"]


class Cursor(NamedTuple):
    """A place in a trace: which round, by index, and which of its steps."""

    round: int
    step: int


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens in a round. at: depth for propose, index into `judged` for judge."""

    kind: StepKind
    at: int = 0


@dataclass(frozen=True)
class Scene:
    """A round with what is needed to read it: the header, and the bytes of its tokens."""

    header: Header
    vocabulary: Mapping[int, bytes]
    round: Round
    _words: dict[int, Word] = field(default_factory=dict)

    @classmethod
    def of(cls, trace: Trace, index: int) -> Scene:
        """The scene of the round at `index` in a trace."""
        return cls(trace.header, trace.vocabulary, trace.rounds[index])

    def word(self, token: int) -> Word:
        """A token as pieces to show; its number where the trace has not told its bytes."""
        if token not in self._words:
            known = self.vocabulary.get(token)
            self._words[token] = [{"c": f"#{token}"}] if known is None else word(known)
        return self._words[token]

    @property
    def guesses(self) -> list[Guess]:
        """What was drafted; the guess at node n is `guesses[n - 1]`."""
        return self.round.proposed.guesses if self.round.proposed else []

    @property
    def greedy(self) -> bool:
        """Whether the run is at temperature 0, where no coin decides anything."""
        return bool(self.header.settings.get("sampling", {}).get("temperature") == 0)

    def laid(self, node: int) -> bool:
        """Whether the coin of a guess was laid by hand instead of falling ("what if?")."""
        coins = self.header.settings.get("coins", {})
        return key(self.round.number, JUDGE, node) in coins

    @property
    def point_mass(self) -> bool:
        """Whether the guesses were fixed before any coin, so that they have no q."""
        return self.round.proposed is not None and self.round.proposed.drawn == "point-mass"

    @cached_property
    def depths(self) -> list[int]:
        """Depth by node; the root, the last committed token, is node 0 at depth 0."""
        depths = [0]
        for guess in self.guesses:
            depths.append(depths[guess.parent] + 1)
        return depths

    @cached_property
    def children(self) -> list[list[int]]:
        """Children by node, in the order they are tried."""
        children: list[list[int]] = [[] for _ in self.depths]
        for node, guess in enumerate(self.guesses, 1):
            children[guess.parent].append(node)
        return children

    @cached_property
    def steps(self) -> list[Step]:
        """The steps of the round in order, as far as its events are known."""
        round = self.round
        steps: list[Step] = []
        if round.proposed:
            deepest = max(self.depths)
            steps += [Step("propose", depth) for depth in range(1, deepest + 1)] or [
                Step("propose")
            ]
        if round.scored:
            steps.append(Step("score"))
        steps += [Step("judge", index) for index in range(len(round.judged))]
        if round.drew:
            steps.append(Step("draw"))
        if round.committed:
            steps.append(Step("commit"))
        return steps

    def fallen(self, judged: Judged) -> list[Judged]:
        """Siblings of a judged node that were rejected before it."""
        parent = self.guesses[judged.node - 1].parent
        before = self.round.judged[: self.round.judged.index(judged)]
        return [j for j in before if self.guesses[j.node - 1].parent == parent]
