"""The drafter protocol: a shared `Drafter`, and a `DraftSession` that holds one run's state.

All drafters share one protocol without flags. What some families need of the target (hidden
states, keys and values, extra rows) is passed to all of them, and the others ignore it.
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
    """A drafter broke its contract. This is a fault of the drafter, not of the user's settings."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Candidate tokens of one round, and how they were drawn.

    Attributes:
        tree: The candidates. Node 0 is the last committed token.
        drawn: How the children of a node were drawn.
        q: By parent node, the distribution that its children were drawn from, (V,). Empty for a
            point mass.
        draws: By node, the draw from q that produced it. Empty for a point mass.
        score: By node, the drafter's confidence. Used for ranking and display, never to verify.
        evidence: By node, what the reader is shown (the match, the head, the layer). Node 0 holds a
            remark on the whole proposal; its key "form" selects the text, see `frames.evidence`.
            Nothing is shown for an unknown form.
        extra_rows: Rows that the target computes in the same pass and never keeps, or None.
        precomputed: Target states that drafting has already computed, or None.
        shown: Token ids that appear in the evidence only.
        work: Rows that the drafter's own networks computed, or None if it does not count them.
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

    def check(self, drawn: Drawn, max_tokens: int, eos: Sequence[int]) -> None:
        """Check the proposal against the drafter's contract.

        Args:
            drawn: How the session announced that it draws.
            max_tokens: Most tokens that this round may add, including one that is not drafted.
            eos: Token ids that end a text.

        Raises:
            BadProposal: The engine cannot use the proposal without giving a wrong result.
        """
        tree = self.tree
        if self.drawn is not drawn:
            raise BadProposal(
                f"The session announced {drawn.value} candidates but proposed {self.drawn.value} "
                "ones."
            )
        if max(tree.depths) > max_tokens - 1:
            raise BadProposal(
                f"The proposal is {max(tree.depths)} tokens deep; this round allows at most "
                f"{max_tokens - 1}."
            )
        parents = {node for node, kids in enumerate(tree.children) if kids}
        if any(node and tree.tokens[node] in eos for node in parents):
            raise BadProposal("A candidate follows an end-of-text token.")
        if drawn is not Drawn.POINT_MASS and set(self.q) != parents:
            raise BadProposal("Sampled candidates need q at every node that has children.")


class Drafter(Protocol):
    """A drafter's weights and description, shared by all runs.

    Attributes:
        name: Its name in the catalogue, or its id or folder.
        card: What the trace records of it.
        made_for: Hash of the target weights that it fits, see `MadeFor`. None fits any target.
        capture: Hidden states, keys and values that it needs of the target.
    """

    name: str
    card: ModelCard
    made_for: MadeFor
    capture: CaptureSpec

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Start a session for one run.

        Raises:
            ValueError: The drafter does not fit the target or the settings; the message says why.
        """
        ...

    def weights(self, target: Target) -> Weights:
        """Return how many weights each kind of row meets that proposals for this target count."""
        ...


def can_branch(session: DraftSession) -> bool:
    """Return whether a session may propose trees. Without the attribute, it proposes chains."""
    return bool(getattr(session, "branches", False))


class DraftSession(Protocol):
    """The state of one run. It keeps its own cache and rolls it back.

    A session that can propose two candidates under one node also sets an attribute `branches`, see
    `can_branch`.

    Attributes:
        drawn: How every proposal of this run is drawn; known before the first one.
    """

    drawn: Drawn

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Propose what may follow `context`.

        The proposal is at most `max_tokens` - 1 tokens deep, and nothing follows an end-of-text
        token.

        Args:
            context: Token ids of the text so far.
            max_tokens: Most tokens that this round may add: γ + 1, or fewer near the end of the
                run. One of them is never drafted.
            chance: The round's random numbers.

        Returns:
            The candidates, perhaps none.
        """
        ...

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Record that `tokens` were added to the text.

        Args:
            tokens: The new token ids. The first call receives the prompt without its first token,
                followed by the first new token.
            states: Row i is the target's state that *predicted* tokens[i]. The newest token has no
                state of its own yet.
            extra_rows: The rows that the proposal added, now with their logits.
        """
        ...
