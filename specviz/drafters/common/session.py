"""Base classes of sessions: one for all of them, one for models that read a tree level by level.

On a CUDA device, `build_tree` computes all levels of a tree of known shape before it reads any of
them, and uploads their inputs at once. On other devices it reads each level before it computes the
next, so no level is ever dropped. The resulting tree is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.drafters.common.candidates import Candidates
from specviz.drafters.common.proposal_builder import (
    Level,
    ProposalBuilder,
    TreeShape,
    candidate_kind,
    fit_vocabulary,
)
from specviz.models.graphs import Memory
from specviz.models.passes import ExtraRows, States
from specviz.models.planned import compute_planned
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.transfer import UploadBatch, to_host

LevelPass = Callable[[Tensor], Tensor]  # maps a level's tokens (n,) to logits (n, W)


class StateReader(Protocol):
    """Collects the target's states for a head."""

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Add the states that predicted these verified tokens; the next proposal reads them."""
        ...


class Session:
    """A session of one run; a subclass implements `DraftSession.propose`.

    Args:
        target: The target.
        settings: Settings of the run.
        states: Collects the target's states; None if the text is enough.

    Attributes:
        drawn: How candidates are drawn: a point mass, unless a subclass samples them.
        branches: Whether a node can have two guesses.
    """

    drawn = Drawn.POINT_MASS
    branches = False

    def __init__(
        self, target: Target, settings: Settings, states: StateReader | None = None
    ) -> None:
        self.target, self.settings = target, settings
        self._states = states

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`: the next proposal reads the states and the text."""
        if self._states is not None:
            states.check_length(len(tokens))
            self._states.add_states(states, tokens)


class LevelSession(Session, ABC):
    """A session whose model reads a text, and then a tree, level by level.

    A subclass with the attribute `max_depth` is also a `NodePredictor`.

    Args:
        name: Name of the model in error messages.
        target: The target.
        settings: Settings of the run.
        states: Collects the target's states; None if the text is enough.
        chain: Whether there is one guess per level, whatever the settings say.
    """

    # What passes leave on the device for later passes of the same draft. A recorded draft sets it
    # to what it left when it was recorded, at the addresses to which every replay writes.
    outputs: Any = None
    copied: Sequence[Tensor] = ()  # what a recorded draft copied to the host of `shown`
    variant: Hashable = None  # a setting that changes the operations of a pass, if there is one

    def __init__(
        self,
        name: str,
        target: Target,
        settings: Settings,
        states: StateReader | None = None,
        chain: bool = False,
    ) -> None:
        super().__init__(target, settings, states)
        self.name = name
        self.branches = settings.branches and not chain
        self.drawn = candidate_kind(settings, self.branches)
        self.work = Work()  # rows computed for the current proposal

    @abstractmethod
    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Prepare the pass over a level; passes run in the order in which they are planned.

        The returned function maps the level's tokens to logits. For the root, it reads the text and
        ignores the tokens.

        Args:
            context: The text.
            level: The level.
            uploads: Uploads what the pass needs from the host.
        """

    @property
    def memory(self) -> Memory | None:
        """The fixed memory of all passes, with which whole drafts are recorded; None: they are not.

        A planned pass then depends on `uploads`, the memory, weights and `outputs` only, and
        changes nothing but the last and the memory.
        """
        return None

    def discard_from(self, node: int) -> None:
        """Discard the outputs of this node and all later ones, which left the tree."""

    def shown(self, guesses: int) -> list[Tensor]:
        """Return what is recorded of a draft of some guesses besides these, on the device."""
        return []

    def read_shown(self, guesses: int) -> Sequence[Tensor]:
        """Copy `shown` to the host; a recorded draft has copied it, perhaps for more guesses."""
        return self.copied or to_host(*self.shown(guesses))

    def fit_logits(self, logits: Tensor) -> Tensor:
        """Map the model's logits (n, W) to the target's tokens (n, V)."""
        return fit_vocabulary(logits, self.target.vocab_size)

    def build(self, context: Sequence[int], shape: TreeShape, chance: Chance) -> ProposalBuilder:
        """Build a tree under the text's newest token."""
        builder = ProposalBuilder(self.name, context[-1], self.settings, self.target.eos, chance)
        builder.drawn = self.drawn
        build_tree(builder, self, context, shape)
        return builder

    def logits_after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """Implement `NodePredictor.logits_after`."""
        uploads = UploadBatch(self.target.device)
        words = uploads.put(torch.tensor([tokens[node] for node in nodes]))
        level = Level(tuple(nodes), tuple(parents[node] for node in nodes), (), len(tokens))
        after = self.plan_level(context, level, uploads)
        return self.fit_logits(after(words()))


def build_tree(
    builder: ProposalBuilder, session: LevelSession, context: Sequence[int], shape: TreeShape
) -> None:
    """Build a whole tree."""
    at_once = session.target.device.type == "cuda" and not builder.settings.confidence
    while levels := list(islice(builder.levels(shape), None if at_once else 1)):
        _add_levels(builder, session, context, levels, shape.max_depth)
        if levels[-1].nodes[0] >= builder.newest.start:
            session.discard_from(builder.newest.start)


def _add_levels(
    builder: ProposalBuilder,
    session: LevelSession,
    context: Sequence[int],
    levels: Sequence[Level],
    max_depth: int,
) -> None:
    device = session.target.device
    uploads = UploadBatch(device)
    known = uploads.put(torch.tensor([builder.tokens[node] for node in levels[0].nodes]))
    passes = [session.plan_level(context, level, uploads) for level in levels]
    memory = session.memory if levels[0].nodes == (0,) else None
    shared = uploads if device.type == "cuda" else None  # MPS has no float64; see `top_tokens`
    coins = [builder.coins(level, shared) for level in levels]

    def draft() -> tuple[tuple[list[Candidates], Any], list[Tensor]]:
        words, found = known(), list[Candidates]()
        for level, after, some, below in zip(
            levels, passes, coins, [*levels[1:], None], strict=True
        ):
            found.append(builder.candidates(level, session.fit_logits(after(words)), some))
            if below is not None:
                token_ids = found[-1].token_ids
                words = torch.stack([token_ids[node - level.first] for node in below.nodes])
        pending = [each for some in found for each in some.pending]
        shown = [] if memory is None else session.shown(len(levels))
        return (found, session.outputs), pending + shown

    # One pass may compute all depths, even if `levels` has only the first of them.
    own = (type(session), session.variant, max_depth)
    key = (*own, builder.settings.sampling, builder.drawn, *levels)
    (found, session.outputs), values = compute_planned(memory, key, session.target, uploads, draft)
    session.copied = values[sum(len(some.pending) for some in found) :]
    if memory is not None:
        found = [some.repeated(own) for some, own in zip(found, coins, strict=True)]
    builder.add(levels, found, values)
