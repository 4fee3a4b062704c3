"""A round, and its draft, with everything that they are checked against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.check.header import RunSpec
from specviz.trace.events import Committed, Guess, Header, Proposed, Round, Scored
from specviz.trace.suffixes import Suffixes


@dataclass(frozen=True, slots=True)
class CheckedRound:
    """A round with what it is checked against.

    Attributes:
        text: The tokens before the round, the newest last; only valid while it is checked.
        plan: The settings and the rule that all rounds must follow.
    """

    played: Round
    text: Sequence[int]
    plan: RunSpec
    header: Header

    @property
    def where(self) -> str:
        """The round, for messages."""
        return f"Round {self.played.number}"

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self.plan.settings

    @property
    def chance(self) -> Chance:
        """The random numbers of the round."""
        return self.plan.settings.chance(self.played.number)

    @property
    def family(self) -> str:
        """The drafter's family."""
        return self.header.drafter.family

    @property
    def size(self) -> int:
        """The number of tokens in the vocabulary."""
        return self.header.vocab_size

    @property
    def guesses(self) -> Sequence[Guess]:
        """The guesses; node n of the tree is number n − 1."""
        return self.played.proposed.guesses if self.played.proposed else []

    @property
    def drawn(self) -> str:
        """How the guesses were sampled; empty without a draft."""
        return self.played.proposed.drawn if self.played.proposed else ""

    @property
    def scored(self) -> Scored:
        """The target's pass, which every finished round has; see `check_whole`."""
        assert self.played.scored is not None
        return self.played.scored

    @property
    def committed(self) -> Committed:
        """The tokens that the round added; see `check_whole`."""
        assert self.played.committed is not None
        return self.played.committed

    @property
    def has_q(self) -> bool:
        """Whether the verdicts use q: the rule reads it and the guesses have it."""
        return self.plan.spec.reads_q and self.drawn != "point-mass"

    def node(self, node: int) -> str:
        """Return a description of where a node is, for messages."""
        return f"{self.where}, node {node}"

    def children(self, node: int) -> list[int]:
        """Return the children of a node, in the order in which the rule tests them."""
        return [i for i, guess in enumerate(self.guesses, 1) if guess.parent == node]

    def scores_after(self, node: int) -> dict[int, float]:
        """Return the score of each guess under a node, by token."""
        return {self.guesses[n - 1].token: self.scored.p[n - 1] for n in self.children(node)}

    def siblings(self, node: int) -> list[int]:
        """Return the guesses beside a node, itself included, in order."""
        return self.children(self.guesses[node - 1].parent)


@dataclass(slots=True)
class RunMemory:
    """What the drafts of one run have in common.

    Attributes:
        constants: Values that must be the same in all drafts, by name.
        known: The rows of a cache that stay from one draft to the next, for drafters whose number
            does not follow from the draft before alone.
        seen: The text, for a drafter that counts its suffixes.
        windows: For lookahead, the newest token (in a list) and the window, by round.
    """

    constants: dict[str, Any] = field(default_factory=dict)
    known: int = 0
    seen: Suffixes = field(default_factory=Suffixes)
    windows: dict[int, tuple[list[int], list[list[int]]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft(CheckedRound):
    """The draft of a round.

    Attributes:
        length: The number of tokens before the round.
        depth: The largest depth that γ and the limit of tokens allow.
        before: The draft of the round before; None if there is none.
        accepted: The accepted nodes of the draft before, from the root down.
        memory: What the drafts of the run have in common.
    """

    proposed: Proposed
    length: int
    depth: int
    before: Draft | None
    accepted: Sequence[int]
    memory: RunMemory

    @property
    def eos(self) -> frozenset[int]:
        """The tokens that end the text."""
        return self.plan.eos

    @property
    def remark(self) -> dict[str, Any]:
        """The data about the whole draft."""
        return self.proposed.remark or {}

    @property
    def depths(self) -> list[int]:
        """The depth of each guess, from 1."""
        return self.proposed.depths

    @property
    def deepest(self) -> int:
        """The largest depth of a guess; 0 if there is none."""
        return max(self.depths, default=0)

    @property
    def parents(self) -> list[int]:
        """The nodes that have guesses under them."""
        return sorted({guess.parent for guess in self.guesses})

    @property
    def new_tokens(self) -> int:
        """How many tokens the text has that it did not have at the draft before."""
        return self.length - (self.before.length if self.before else 0)

    @property
    def new_states(self) -> int:
        """How many states of the target are new since the last draft (not the newest)."""
        return self.new_tokens - (0 if self.before else 1)

    @property
    def in_order(self) -> bool:
        """Whether each level is read before the next is computed; not so on CUDA devices."""
        return not self.header.device.startswith("cuda")

    def read_above(self, depth: int) -> int:
        """Return the number of nodes above a depth, the root included."""
        return 1 + sum(own < depth for own in self.depths)
