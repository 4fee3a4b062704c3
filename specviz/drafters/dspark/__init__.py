"""DSpark (2607.05147): a DFlash block whose guesses depend on the token before them.

The newest token x is at position n. One pass over the block [x, mask, …] gives an output at n and
at every later position. The guess for n + 1 is computed from the first output and x, the next one
from the second output and the guess before it, and so on: the Markov head adds a correction that
depends on the token before. So every guess is drawn from its own q, and the chain is sampled. At
temperature 0, or if the settings say so, the top tokens are taken, which are a point mass.

The draft may end early: before a guess is drawn, the confidence head predicts the probability that
all guesses up to it are accepted, and the draft ends if this is below the setting `confidence`. The
prediction does not depend on the guess itself, so the guess remains a sample of its q, and the run
is lossless.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from specviz.drafters.common.mask_session import softmax_top, top_tokens_by_position
from specviz.drafters.common.proposal_builder import (
    Level,
    ProposalBuilder,
    Ranks,
    TreeShape,
)
from specviz.drafters.common.session import LevelPass, LevelSession, build_tree
from specviz.drafters.dflash import BlockReader, DFlash
from specviz.drafters.dspark.head import DSparkHead
from specviz.engine.protocol import Proposal
from specviz.models.graphs import Memory
from specviz.models.passes import matrix_weights
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import UploadBatch, to_host, upload


class DSpark(DFlash):
    """The DSpark drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "dspark"
    network = DSparkHead
    head: DSparkHead

    def session(self, target: Target, settings: Settings) -> DSparkSession:
        """Implement `HeadDrafter.session`."""
        return DSparkSession(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`; the small heads run once for each guess considered."""
        usual, small = super().weights(target), matrix_weights(self.head.markov_head)
        if self.head.config.enable_confidence_head:
            small += matrix_weights(self.head.confidence_head)
        own = self.head.config.own_vocabulary
        head = matrix_weights(self.head.lm_head) if own else usual.head
        return Weights(usual.body, head, usual.entry, small)


class DSparkSession(LevelSession):
    """A session that draws the guesses of a block in order.

    Attributes:
        survival: The predicted probability that all guesses drawn so far and the next one are
            accepted.
        depth: The most guesses of the current draft.
    """

    def __init__(self, drafter: DSpark, target: Target, settings: Settings) -> None:
        self.reader = BlockReader(drafter.head, target)
        super().__init__(drafter.card.name, target, settings, self.reader, chain=True)
        self.head, self.size = drafter.head, drafter.head.config.block_size
        own, model = self.head.config.own_vocabulary, target.model
        if own:
            self.reader.embed = self.head.embed_tokens
        self.project = self.head.lm_head if own else model.get_output_embeddings()
        self.survival, self.depth = 1.0, self.size
        # The block's outputs, its logits, the first state of the Markov head, and its steps.
        self.outputs: _Outputs | None = None

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # Every position of the block gives a guess. A score is a probability at temperature 1.
        # Recorded for each node: its position in the block, the most probable tokens before and
        # after the Markov head's correction, and the predicted probability that the guess is
        # accepted.
        self.reader.work, self.outputs, self.survival = Work(), None, 1.0
        depth = self.depth = min(self.size, max_tokens - 1)
        builder = BlockChain(self.name, context[-1], self.settings, self.target.eos, chance)
        builder.drawn = self.drawn
        remark: dict[str, Any] = {"form": "spark", "block": self.size, "passes": 0}
        if depth > 0:
            if self._decides_length:
                self.outputs = self._start(self.reader.block(context))
            build_tree(builder, self, context, TreeShape(depth, partial(self._wide, builder)))
            remark |= {"passes": 1, "states": self.reader.read, "masks": self.size - 1}
        guesses, steps = len(builder.tokens) - 1, self.outputs.steps if self.outputs else []
        if len(steps) > guesses:  # the next guess was considered but not drawn
            remark["cut"] = round(self.survival, 6)
        work = self.reader.work + Work(head=depth, correction=len(steps))
        evidence = {0: remark} | self._evidence(guesses)
        seen = [top["token"] for node in range(1, guesses + 1) for top in evidence[node]["top"]]
        return builder.proposal(evidence=evidence, shown=seen, work=work)

    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Implement `LevelSession.plan_level`; a guess depends on the token before it."""
        position = level.nodes[0]
        block = None if position or self._decides_length else self.reader.plan(context, uploads)

        def reading(words: Tensor) -> Tensor:
            if block is not None:
                self.outputs = self._start(block())
            correction = self._step(position, words[0]).correction
            assert self.outputs is not None
            logits: Tensor = self.outputs.logits[position] + correction
            return logits[None]

        return reading

    @property
    def memory(self) -> Memory | None:
        """Implement `LevelSession.memory`; a draft that may end early is built guess by guess."""
        return None if self._decides_length else self.reader.cache.memory

    @property
    def _decides_length(self) -> bool:
        return bool(self.settings.confidence) and self.head.config.enable_confidence_head

    def discard_from(self, node: int) -> None:
        """Implement `LevelSession.discard_from`."""
        assert self.outputs is not None
        self.outputs = self.outputs._replace(steps=self.outputs.steps[:node])

    def _start(self, block: Tensor) -> _Outputs:
        rows = block[: self.depth]
        return _Outputs(rows, self.project(rows), self.head.markov_head.start(rows[0]), [])

    def _step(self, position: int, token: Tensor) -> _Step:
        assert self.outputs is not None
        rows, _, state, steps = self.outputs
        if len(steps) == position:
            state = steps[-1].state if steps else state
            head, row = self.head, rows[position]
            correction, embedded, state = head.markov_head.step(token, row, state)
            known = head.config.enable_confidence_head
            confidence = head.confidence(row, embedded) if known else None
            steps = [*steps, _Step(correction, state, confidence)]
            self.outputs = self.outputs._replace(steps=steps)
        return steps[position]

    def _confidence(self, positions: int) -> list[Tensor]:
        """Return the predicted acceptance probabilities of the guesses at these positions, if any.

        They are on the device, in one tensor.
        """
        assert self.outputs is not None
        logits = [step.confidence for step in self.outputs.steps[:positions]]
        known = [each for each in logits if each is not None]
        return [torch.stack(known).float().sigmoid()] if known else []

    def _wide(self, builder: ProposalBuilder, ranks: Ranks) -> int:
        # There are none where survival is below the setting.
        if not self._decides_length:
            return 1
        position = len(ranks)
        self._step(position, upload([builder.tokens[position]], self.target.device)[0])
        (predicted,) = to_host(*self._confidence(position + 1))
        check_finite(predicted.tolist(), self.name)
        self.survival = prod(predicted.tolist())
        return int(self.survival >= self.settings.confidence)

    def shown(self, guesses: int) -> list[Tensor]:
        """Implement `LevelSession.shown`: the most probable tokens, and predicted acceptance."""
        assert self.outputs is not None
        logits = self.outputs.logits[:guesses]
        added = torch.stack([step.correction for step in self.outputs.steps[:guesses]])
        drawn = self.fit_logits(logits + added)  # as in `plan_level`
        tops = *softmax_top(self.fit_logits(logits)), *softmax_top(drawn)
        return [*tops, *self._confidence(guesses)]

    def _evidence(self, guesses: int) -> dict[int, dict[str, Any]]:
        if not guesses:
            return {}
        tops = self.read_shown(guesses)
        before, after = top_tokens_by_position(*tops[:2]), top_tokens_by_position(*tops[2:4])
        predicted = [chance for each in tops[4:] for chance in each[:guesses].tolist()]
        check_finite(predicted, self.name)
        found: dict[int, dict[str, Any]] = {}
        for node in range(1, guesses + 1):
            found[node] = {"place": node, "base": before[node - 1], "top": after[node - 1]}
            if predicted:
                found[node]["confidence"] = round(predicted[node - 1], 6)
        return found


class _Step(NamedTuple):
    # See `MarkovHead.step`; and the confidence head's logit ().
    correction: Tensor
    state: Tensor
    confidence: Tensor | None


class _Outputs(NamedTuple):
    # rows (n, h); logits (n, V), before the Markov head's correction.
    rows: Tensor
    logits: Tensor
    state: Tensor
    steps: list[_Step]


class BlockChain(ProposalBuilder):
    """A chain that only an end-of-text token ends, whatever the setting `confidence` is."""

    def ends(self, node: int) -> bool:
        """Return whether a node ends its path."""
        return bool(node) and self.tokens[node] in self.eos
