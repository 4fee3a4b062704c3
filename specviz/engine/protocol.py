"""What a drafter is: weights and a description, shared; and a session, one run's own state.

One protocol, no flags: what EAGLE or early exit needs of the target is an argument for all, and
those that need nothing ignore it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from specviz.models.checkpoint import MadeFor
from specviz.models.passes import CaptureSpec, ExtraRows, PrecomputedPrefix, States
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification import Drawn
from specviz.verification.distributions import Draw
from specviz.verification.tree import DraftTree


class BadProposal(ValueError):
    """A drafter broke the contract; a fault in the drafter, not in what a person chose."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Guesses, and how they were drawn.

    tree: node 0 is the last committed token. drawn: how the children of a node were drawn. q: by
    parent, (V,), the law its children were drawn from; empty for a point mass. draws: by node, the
    draw from q that made it; empty for a point mass. score: by node, the drafter's confidence, for
    ranking and drawing, never for a verdict. evidence: by node, what a reader can be shown (the
    match, the head, the layer); under 0, a remark on the whole try, whose "form" names what it and
    the guesses' evidence are (see `frames.evidence`; of a form that is not known there nothing is
    said). shown: the tokens that only the evidence shows. riders, warm: see `passes`.
    work: the rows that the drafter's own networks read for it; None where it does not count them.
    """

    tree: DraftTree
    drawn: Drawn
    q: Mapping[int, Tensor] = field(default_factory=dict)
    draws: Mapping[int, Draw] = field(default_factory=dict)
    score: Mapping[int, float] = field(default_factory=dict)
    evidence: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    extra_rows: ExtraRows | None = None
    precomputed: PrecomputedPrefix | None = None
    shown: Sequence[int] = ()
    work: Work | None = None

    def check(self, drawn: Drawn, room: int, eos: Sequence[int]) -> None:
        """Raise BadProposal where the engine could not use this without a lie."""
        tree = self.tree
        if self.drawn is not drawn:
            raise BadProposal(f"Announced {drawn.value} candidates, proposed {self.drawn.value}.")
        if max(tree.depths) > room - 1:
            raise BadProposal(f"{max(tree.depths)} guesses deep, with room for {room - 1}.")
        parents = {node for node, kids in enumerate(tree.children) if kids}
        if any(node and tree.tokens[node] in eos for node in parents):
            raise BadProposal("A guess follows the end of the text.")
        if drawn is not Drawn.POINT_MASS and set(self.q) != parents:
            raise BadProposal("Sampled candidates need q at every node with children.")


class Drafter(Protocol):
    """Weights and description; shared by all visitors.

    made_for: see `MadeFor`; None fits any. taps: what it needs of the target.
    """

    name: str
    card: ModelCard
    made_for: MadeFor
    capture: CaptureSpec

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """A session for one run. Raises ValueError with a sentence where the two do not fit."""
        ...

    def weights(self, target: Target) -> Weights:
        """How many weights each of the rows meets that its proposals count for this target."""
        ...


def can_branch(session: DraftSession) -> bool:
    """Whether a session says that it can propose a tree; one that says nothing proposes chains."""
    return bool(getattr(session, "branches", False))


class DraftSession(Protocol):
    """One run's state; keeps and rolls back its own cache.

    drawn: how every proposal of this run is drawn, known before the first. A session whose
    proposals can have two guesses under one node says so in an attribute, `branches`; see
    `can_branch`.
    """

    drawn: Drawn

    def propose(self, context: Sequence[int], room: int, chance: Chance) -> Proposal:
        """Guess what follows `context`; at most room - 1 deep, nothing after an end-of-text.

        room: γ + 1, or how many tokens the run may still add where these are fewer. A round adds
        one token that is no guess.
        """
        ...

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """`tokens` are in the text now.

        states: row i is the target's state that *predicted* tokens[i]; the newest token has none
        of its own yet. The first call has the prompt but its first token, then the first new one.
        """
        ...
