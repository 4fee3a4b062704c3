"""Early exit: the target's own first layers, with its norm and head, guess; the rest verify.

LayerSkip (2404.16710). The cache and the exit's states are shared for real: verification goes on
where drafting stopped, so no layer runs twice on a token. Sampled: q is the exit's law under the
run's temperature, top-k and top-p; siblings without replacement, level by level. Greedy (and at
temperature 0): the exit's top tokens, a point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from specviz.drafters.common.proposal_builder import (
    Level,
    LevelPass,
    ProposalBuilder,
    TreeShape,
    build_tree,
    candidate_kind,
)
from specviz.drafters.layerskip.exits import ExitReader, Later, check_split, guessed, verified
from specviz.engine.protocol import Proposal
from specviz.models.checkpoint import MadeFor
from specviz.models.passes import CaptureSpec, ExtraRows, States
from specviz.models.target import Target, TargetRun
from specviz.models.weights import causal_lm_weights
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings, require
from specviz.settings.specs import MAX_GAMMA
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree


class LayerSkip:
    """No weights of its own: it is the target that it was made of.

    taps: every layer, so that a reader can be shown which of them agree.
    """

    name = "layerskip"
    card = ModelCard("layerskip", "layerskip", 0, 0, None)

    def __init__(self, target: Target) -> None:
        """Of a target whose layers can be run one by one, which `load` makes sure of."""
        self.model = target.model
        self.made_for: MadeFor = target.card.hash
        self.capture = CaptureSpec(layers=tuple(range(1, target.layers + 1)))

    @classmethod
    def load(cls, title: str, folder: Path | None, target: Target) -> Self:
        """The drafter of this target; it has no weights of its own.

        Raises Unsupported where the target's layers cannot be run one by one.
        """
        made = cls(target)
        check_split(target)
        return made

    def begin(self, target: TargetRun, settings: Settings) -> LayerSkipSession:
        """Implement `Drafter.begin`.

        Raises ValueError for another target, BadSettings for a missing layer.
        """
        name, layers = target.target.card.name, len(self.capture.layers)
        if target.target.model is not self.model:
            raise ValueError(f"This drafter is the first layers of another model than {name}.")
        exit_layer = settings.at_depth(layers).exit_layer
        require(layers > 1, f"{name} has one layer, so a draft cannot leave it early.")
        sentence = (
            f"{name} has {layers} layers, so a draft can leave it after layer 1 to {layers - 1}, "
            f"not after layer {exit_layer}."
        )
        require(1 <= exit_layer < layers, sentence)
        return LayerSkipSession(target, settings, exit_layer)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`.

        Each layer runs once on a row, so the output head alone is extra.
        """
        return Weights(0, causal_lm_weights(target.model).head)


class LayerSkipSession:
    """Keeps no cache: the target's is its own, and the engine cuts that back.

    exit_layer: layers 1..exit_layer draft.
    """

    def __init__(self, target: TargetRun, settings: Settings, exit_layer: int) -> None:
        self.target = target
        self.settings = settings
        self.max_depth = MAX_GAMMA
        self.exit_layer = exit_layer
        self.eos = target.target.eos
        self.drawn = candidate_kind(settings)
        self.branches = settings.branches
        self.reader = ExitReader(target, exit_layer)  # a new one for every proposal
        self.tree: DraftTree | None = None  # what was proposed and is not yet committed
        self.before: Callable[[], dict[str, Any]] = dict  # what the last verification showed

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`.

        One pass a level; nodes are numbered level by level.

        Score by node: the exit's probability at temperature 1. Evidence: see `_evidence`.
        """
        self.reader = ExitReader(self.target, self.exit_layer)
        builder = ProposalBuilder(self.reader.name, context[-1], self.settings, self.eos, chance)
        build_tree(builder, self, context, TreeShape(max_tokens - 1, whole=True))
        self.tree = tree = builder.tree()
        reader = self.reader
        evidence = self._evidence(tree, len(reader.states))
        precomputed, work = reader.precomputed(), Work(head=reader.said)
        return Proposal(
            tree,
            self.drawn,
            builder.q,
            builder.draws,
            builder.score,
            evidence,
            precomputed=precomputed,
            work=work,
        )

    def logits_after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """Implement `Foresight.after`."""
        if nodes[0] == 0:
            self.reader = ExitReader(self.target, self.exit_layer)
        tree = DraftTree(tuple(tokens), tuple(parents))
        return self.reader.read_level(tree, range(nodes[0], len(tree)))

    @property
    def device(self) -> torch.device:
        """Implement `Reads.device`."""
        return self.target.target.device

    def plan_level(self, context: Sequence[int], level: Level, parcel: UploadBatch) -> LevelPass:
        """Implement `Reads.planned`.

        The root is a node like the others: its token is not in the cache yet.
        """
        return self.reader.plan_level(level.nodes, level.parents, parcel)

    def discard_from(self, node: int) -> None:
        """Implement `Reads.forget`."""
        self.reader.discard_from(node)

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`.

        The states of all layers are kept for the next round's remark.
        """
        states.check_length(len(tokens))
        if self.tree is None:  # the prompt
            return
        self.before = partial(verified, self.target, self.tree, tuple(tokens), states)
        self.tree = None

    def _evidence(self, tree: DraftTree, passes: int) -> Later:
        """By node, see `guessed`. Under 0: the exit, all layers, the passes through 1..exit, and
        `before`: what verification showed of the guesses of the round before (see `verified`);
        it comes a round late, since a proposal must not tell its own verdicts.
        """
        run, layer, early, before = self.target, self.exit_layer, self.target.early, self.before
        layers = len(self.target.capture.layers)

        def work() -> dict[int, dict[str, Any]]:
            ran = layer if passes else 0
            remark = {"form": "layers", "exit": layer, "layers": layers, "ran": ran}
            remark |= {"passes": passes, "before": before()}
            return {0: remark} | guessed(run, tree, early, layer)

        return Later(work)
