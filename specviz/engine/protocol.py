"""The drafter protocol: a shared `Drafter`, and a `DraftSession` with the state of one run.

All drafters implement the same protocol. Hidden states, keys and values, and extra rows are passed
to every drafter; a drafter that does not need them ignores them.
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
from specviz.verification import Cut, Drawn
from specviz.verification.distributions import Draw
from specviz.verification.tree import DraftTree


class BadProposal(ValueError):
    """Raised if a drafter violates its contract: a bug in the drafter, not a wrong setting."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Candidate tokens of one round, and how they were sampled.

    Attributes:
        tree: The candidates. Node 0 is the last committed token.
        drawn: How the children of a node were sampled.
        q: For each parent node, the distribution that its children were sampled from, (V,). Empty
            for a point mass.
        draws: For each node, the draw from q that selected its token. Empty for a point mass.
        score: For each node, the drafter's confidence. Used for ranking and display, never for
            verification.
        evidence: For each node, data to display about how it was guessed (the match, the head, the
            layer). The entry of node 0 describes the whole proposal. The key "form" selects the
            text that the page shows, see `frames.evidence`; for an unknown form it shows nothing.
        extra_rows: Rows that the target computes in the same pass and then discards, or None.
        precomputed: Target states that were already computed while drafting, or None.
        shown: Token ids that appear in the evidence only.
        work: Rows computed by the drafter's networks, or None if it does not count them.
        cut: What decided where the draft ends, as declared by the session; see `draft_cut`.
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
    cut: Cut = Cut.BEFORE_SAMPLING

    def check(
        self,
        drawn: Drawn,
        max_tokens: int,
        eos: Sequence[int],
        cut: Cut = Cut.BEFORE_SAMPLING,
    ) -> None:
        """Check the proposal against the drafter's contract.

        Args:
            drawn: The kind of sampling that the session declares.
            max_tokens: Maximum number of tokens that this round may add, including the one that the
                target adds.
            eos: Token ids that end a text.
            cut: What decides where a draft ends, as the session declares.

        Raises:
            BadProposal: The proposal violates the contract, so the output could be wrong.
        """
        tree = self.tree
        if self.drawn is not drawn:
            raise BadProposal(
                f"The session announced {drawn.value} candidates but proposed {self.drawn.value} "
                "ones."
            )
        if self.cut is not cut:
            raise BadProposal(
                f"The session announced drafts cut {cut.value} but proposed one cut "
                f"{self.cut.value}."
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
        name: The drafter's name in the catalogue, or its Hub id or folder.
        card: The description that traces record.
        made_for: Hash of the target weights that the drafter fits, see `MadeFor`; None if it fits
            any target.
        capture: Hidden states, keys and values that the drafter needs from the target.

    A drafter whose context may be shorter than the target's also has the attribute `max_length`:
    the length of the longest text in tokens, guesses included, or None for no limit.
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
        """Return how many weights are multiplied for each kind of row in `Proposal.work`."""
        ...


def can_branch(session: DraftSession) -> bool:
    """Return whether a session may propose trees; if it has no attribute `branches`, it may not."""
    return bool(getattr(session, "branches", False))


def draft_cut(session: DraftSession) -> Cut:
    """Return what decides where a session's drafts end.

    In a session without the attribute `cut`, the end does not depend on sampled tokens.
    """
    cut: Cut = getattr(session, "cut", Cut.BEFORE_SAMPLING)
    return cut


class DraftSession(Protocol):
    """The state of one run. A session manages its own cache and rolls it back.

    A session that can propose two candidates under one node has the attribute `branches`, see
    `can_branch`. A session that samples candidates, and then leaves some out because of the sampled
    tokens, has the attribute `cut`, see `draft_cut`: no rule that reads q is lossless with its
    candidates.

    Attributes:
        drawn: How the candidates of every proposal are sampled; set before the first proposal.
    """

    drawn: Drawn

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Propose candidate tokens that may follow `context`.

        The proposal is at most `max_tokens` - 1 tokens deep, and nothing follows an end-of-text
        token.

        Args:
            context: Token ids of the text so far.
            max_tokens: Maximum number of tokens that this round may add: γ + 1, or fewer near the
                end of the run. The target adds one of them.
            chance: The round's random numbers.

        Returns:
            The candidates; there may be none.
        """
        ...

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Update the session after `tokens` were added to the text.

        Args:
            tokens: The new token ids. The first call receives the prompt without its first token,
                followed by the first new token.
            states: Row i is the target's state that *predicted* tokens[i], so the newest token's
                own state is not included.
            extra_rows: The extra rows of the proposal, with the logits that the target computed.
        """
        ...
