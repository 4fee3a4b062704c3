"""Early exit (LayerSkip, 2404.16710): the target's first layers draft, and the others verify.

The first layers draft with the target's own norm and output head. The last layer that drafts is
called the exit. Verification continues from the exit's states and shares the cache, so no layer
runs twice on a token. Sampled guesses are drawn from q, the exit's distribution under the run's
temperature, top-k and top-p; siblings are sampled without replacement, level by level. Greedy
guesses, and all guesses at temperature 0, are the exit's top tokens, a point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from specviz.drafters.common.proposal_builder import Level, TreeShape
from specviz.drafters.common.session import LevelPass, LevelSession
from specviz.drafters.layerskip.exits import (
    ExitReader,
    LazyEvidence,
    check_split,
    draft_evidence,
    verification_evidence,
)
from specviz.engine.protocol import Proposal
from specviz.models.checkpoint import MadeFor
from specviz.models.graphs import Memory
from specviz.models.passes import CaptureSpec, ExtraRows, States, causal_lm_weights
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings, require
from specviz.settings.specs import MAX_GAMMA
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree


class LayerSkip:
    """The LayerSkip drafter of one target, without weights; all layers are captured."""

    name = "layerskip"
    card = ModelCard("layerskip", "layerskip", 0, 0, None)

    def __init__(self, target: Target) -> None:
        """Create the drafter; `load` checks that the target's layers can run one by one."""
        self.model = target.model
        self.made_for: MadeFor = target.card.hash
        self.capture = CaptureSpec(layers=tuple(range(1, target.layers + 1)))

    @classmethod
    def load(cls, title: str, folder: Path | None, target: Target) -> Self:
        """Return the drafter of this target.

        Raises Unsupported if the target's layers cannot be run one by one.
        """
        made = cls(target)
        check_split(target)
        return made

    def begin(self, target: TargetRun, settings: Settings) -> LayerSkipSession:
        """Implement `Drafter.begin`."""
        # Raises ValueError if the run belongs to another target; BadSettings if the exit layer does
        # not exist.
        name, layers = target.target.card.name, len(self.capture.layers)
        if target.target.model is not self.model:
            raise ValueError(f"This drafter uses the layers of another model than {name}.")
        exit_layer = settings.at_depth(layers).exit_layer
        require(layers > 1, f"{name} has one layer, so there is no early exit.")
        sentence = (
            f"{name} has {layers} layers, so the exit layer must be between 1 and {layers - 1}, "
            f"not {exit_layer}."
        )
        require(1 <= exit_layer < layers, sentence)
        return LayerSkipSession(target, settings, exit_layer)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        # Verification reuses the layers' outputs, so only the output head is additional work.
        return Weights(0, causal_lm_weights(target.model).head)


class LayerSkipSession(LevelSession):
    """A session that drafts with layers 1..exit_layer and the target's cache."""

    max_depth = MAX_GAMMA

    def __init__(self, target: TargetRun, settings: Settings, exit_layer: int) -> None:
        name = f"Layer {exit_layer} of {target.target.card.name}"
        super().__init__(name, target.target, settings)
        self.run = target
        self.variant = self.exit_layer = exit_layer
        self.reader = ExitReader(target, exit_layer)  # replaced for every tree
        self.tree: DraftTree | None = None  # the proposal that is not committed yet
        self.before: Callable[[], dict[str, Any]] = dict  # data of the last round to be recorded

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # There is one pass per level; nodes are numbered level by level. A node's score is the
        # exit's probability at temperature 1.
        self.reader = ExitReader(self.run, self.exit_layer)
        builder = self.build(context, TreeShape(max_tokens - 1, whole=True), chance)
        self.tree = builder.tree()
        return builder.proposal(
            evidence=self._evidence(self.tree, len(self.reader.states)),
            precomputed=self.reader.precomputed(),
            work=Work(head=self.reader.head_rows),
        )

    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Implement `LevelSession.plan_level`."""
        # The root is computed like the other nodes, since its token is not in the cache yet.
        if level.nodes[0] == 0:
            self.reader = ExitReader(self.run, self.exit_layer)
        return self.reader.plan_level(level.nodes, level.parents, uploads)

    @property
    def memory(self) -> Memory | None:
        """Implement `LevelSession.memory`."""
        return self.run.memory

    @property
    def outputs(self) -> tuple[list[Tensor], list[dict[int, Tensor]]]:
        """Implement `LevelSession.outputs`."""
        return self.reader.states, self.run.early

    @outputs.setter
    def outputs(self, outputs: tuple[list[Tensor], list[dict[int, Tensor]]]) -> None:
        self.reader.states, early = outputs
        if self.memory is not None:  # they are recorded later
            pieces = [each for found in early for each in found.values()]
            copies = iter(torch.cat(pieces).split([len(each) for each in pieces]))
            early = [{layer: next(copies) for layer in found} for found in early]
        self.run.early = early

    def discard_from(self, node: int) -> None:
        """Implement `LevelSession.discard_from`."""
        self.reader.discard_from(node)

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`; the states are kept for the next round's record."""
        states.check_length(len(tokens))
        if self.tree is None:  # the prompt
            return
        self.before = partial(verification_evidence, self.run, self.tree, tuple(tokens), states)
        self.tree = None

    def _evidence(self, tree: DraftTree, passes: int) -> LazyEvidence:
        # See `draft_evidence`. `before` is the `verification_evidence` of the previous round, since
        # this round is not verified yet when its proposal is recorded.
        run, layer, early, before = self.run, self.exit_layer, self.run.early, self.before
        layers = len(run.capture.layers)

        def work() -> dict[int, dict[str, Any]]:
            ran = layer if passes else 0
            remark = {"form": "layers", "exit": layer, "layers": layers, "ran": ran}
            remark |= {"passes": passes, "before": before()}
            return {0: remark} | draft_evidence(run, tree, early, layer)

        return LazyEvidence(work)
