"""DFlash2 (z-lab): a DFlash block with convolutions, and a selector that joins its candidates.

The newest token x is at position n. One pass over the block [x, mask, …] gives the most probable
tokens of every later position, its candidates. Then the guesses are chosen in order: the selector
scores the candidates of a position, given the guess before it. Every guess is drawn from its own q:
the softmax over the candidates, and 0 for all other tokens. So the chain is sampled, and the rules
that read q are exact. At temperature 0, or if the settings say so, the best candidates are taken,
which are a point mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from specviz.drafters.common.mask_session import softmax_top, top_tokens_by_position
from specviz.drafters.common.proposal_builder import Level, TreeShape
from specviz.drafters.common.session import LevelPass, LevelSession, build_tree
from specviz.drafters.dflash import BlockReader, DFlash
from specviz.drafters.dflash2.head import DFlash2Head
from specviz.drafters.dspark import BlockChain
from specviz.engine.protocol import Proposal
from specviz.models.graphs import Memory
from specviz.models.passes import matrix_weights
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch


class DFlash2(DFlash):
    """The DFlash2 drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "dflash2"
    network = DFlash2Head
    head: DFlash2Head

    def session(self, target: Target, settings: Settings) -> DFlash2Session:
        """Implement `HeadDrafter.session`."""
        return DFlash2Session(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`; the selector runs once for each guess."""
        # Its tables are only looked up, as embeddings are, and base kernels are no matrices.
        usual, head = super().weights(target), self.head
        own = head.layers.named_parameters()
        kernels = sum(each.numel() for name, each in own if name.endswith("base_kernel"))
        small = matrix_weights(head.candidate_selector.hidden_projection)
        return Weights(usual.body - kernels, usual.head, usual.entry, small)


class DFlash2Session(LevelSession):
    """A session that draws the guesses of a block in order, at most block_size - 1."""

    def __init__(self, drafter: DFlash2, target: Target, settings: Settings) -> None:
        self.reader = BlockReader(drafter.head, target)
        super().__init__(drafter.card.name, target, settings, self.reader, chain=True)
        self.size = self.depth = drafter.head.config.block_size
        self.selector = drafter.head.candidate_selector
        self.project = target.model.get_output_embeddings()
        self.outputs: _Outputs | None = None

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # A score is a probability at temperature 1. Recorded for each node: its position in the
        # block, and the most probable tokens, by the block alone and as the selector chose.
        self.reader.work, self.outputs = Work(), None
        depth = self.depth = min(self.size - 1, max_tokens - 1)
        builder = BlockChain(self.name, context[-1], self.settings, self.target.eos, chance)
        builder.drawn = self.drawn
        remark: dict[str, Any] = {"form": "selector", "block": self.size, "passes": 0}
        if depth > 0:
            build_tree(builder, self, context, TreeShape(depth, lambda _: 1))
            remark |= {"passes": 1, "states": self.reader.read, "masks": self.size - 1}
            remark["candidates"] = self._known.candidates.shape[-1]
        guesses = len(builder.tokens) - 1
        work = self.reader.work + Work(head=depth, correction=guesses)
        evidence = {0: remark} | self._evidence(guesses)
        seen = [top["token"] for node in range(1, guesses + 1) for top in evidence[node]["top"]]
        return builder.proposal(evidence=evidence, shown=seen, work=work)

    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Implement `LevelSession.plan_level`; a guess depends on the token before it."""
        position = level.nodes[0]
        block = None if position else self.reader.plan(context, uploads)

        def reading(words: Tensor) -> Tensor:
            if block is not None:
                rows = block()[1 : self.depth + 1]
                logits = self.project(rows)
                self.outputs = _Outputs(rows, logits, self.selector.candidates(logits), [])
            at, known = slice(position, position + 1), self._known
            candidates, logits = known.candidates[at], known.logits[at]
            added = self.selector.added(words, known.rows[at], candidates)
            chosen = torch.full_like(logits, -torch.inf)
            chosen.scatter_(-1, candidates, logits.gather(-1, candidates) + added)
            self.outputs = known._replace(chosen=[*known.chosen, chosen[0]])
            return chosen

        return reading

    @property
    def memory(self) -> Memory | None:
        """Implement `LevelSession.memory`."""
        return self.reader.cache.memory

    @property
    def _known(self) -> _Outputs:
        assert self.outputs is not None
        return self.outputs

    def discard_from(self, node: int) -> None:
        """Implement `LevelSession.discard_from`."""
        self.outputs = self._known._replace(chosen=self._known.chosen[:node])

    def shown(self, guesses: int) -> list[Tensor]:
        """Implement `LevelSession.shown`: the most probable tokens of each position."""
        both = self._known.logits[:guesses], torch.stack(self._known.chosen[:guesses])
        return [top for each in both for top in softmax_top(self.fit_logits(each))]

    def _evidence(self, guesses: int) -> dict[int, dict[str, Any]]:
        if not guesses:
            return {}
        tops = self.read_shown(guesses)
        before, after = top_tokens_by_position(*tops[:2]), top_tokens_by_position(*tops[2:])
        return {
            node: {"place": node, "base": before[node - 1], "top": after[node - 1]}
            for node in range(1, guesses + 1)
        }


class _Outputs(NamedTuple):
    # rows (n, h), logits (n, V), candidates (n, k); chosen: logits (V,) given the guess before.
    rows: Tensor
    logits: Tensor
    candidates: Tensor
    chosen: list[Tensor]
