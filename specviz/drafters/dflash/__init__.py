"""DFlash (2602.06036): a block of masks after the newest token is filled in one pass.

The newest token x is at position n; the target's states are known up to n - 1. The block consists
of x at n and masks at n + 1 and later. Every row of the block attends to these states and to all
rows of the block. No guess depends on another guess's token, so the top tokens form one path, a
point mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.dflash.head import DFlashHead, Past, block_mix
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.passes import (
    CaptureSpec,
    ExtraRows,
    States,
    causal_lm_weights,
    concat_layers,
    matrix_weights,
)
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification import Drawn
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import to_host, upload
from specviz.verification.tree import DraftTree

TOP_COUNT: Final = 3  # number of tokens per position that are recorded for the page


class DFlash(HeadDrafter):
    """The DFlash drafter: a head in eval mode, on the target's device and in its dtype.

    It captures the outputs, before the final norm, of the target's layers that are listed in the
    head's config.
    """

    name = "dflash"
    network: ClassVar[Any] = DFlashHead
    head: DFlashHead

    def __init__(self, head: DFlashHead, card: ModelCard) -> None:
        super().__init__(head, card)
        self.capture = CaptureSpec(layers=head.config.tap_layers)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`.

        Raises:
            Unsuitable: If the target has another shape.
        """
        self.head.config.check_fit(self.card.name, target.target)
        return DFlashSession(self, target.target)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`.

        For each state that is read, `fc` and every layer's key and value projections are run. The
        output head is the target's.
        """
        head = self.head
        stored = sum(
            matrix_weights(module)
            for name, module in head.layers.named_modules()
            if name.endswith(("k_proj", "v_proj"))
        )
        entry = matrix_weights(head.fc) + stored
        return Weights(matrix_weights(head.layers), causal_lm_weights(target.model).head, entry)


class DFlashSession:
    """A session that caches the keys and values of the text's states, but not of a block.

    Attributes:
        waiting: Committed states that have not been read yet.
        read: Number of states that have been read.
        work: Rows computed for the current proposal.
    """

    drawn = Drawn.POINT_MASS

    def __init__(self, drafter: DFlash, target: Target) -> None:
        self.head = drafter.head
        self.name = drafter.card.name
        self.target = target
        self.embed = target.model.get_input_embeddings()
        self.size = drafter.head.config.block_size
        self.past: list[Past] = []
        self.read = 0
        self.waiting: list[States] = []
        self.work = Work()

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`.

        There are at most block_size - 1 guesses; the whole block is computed anyway.

        A score is a probability at temperature 1. Recorded for each node: its position in the
        block. Recorded for the proposal: how many states and masks the pass read, and the most
        probable tokens of each position with their probabilities, including positions after γ and
        after an end-of-text token.
        """
        self.work = Work()
        depth = min(self.size - 1, max_tokens - 1)
        tokens, score = [context[-1]], {}
        remark: dict[str, Any] = {"form": "block", "block": self.size, "passes": 0}
        evidence: dict[int, dict[str, Any]] = {0: remark}
        if depth > 0:
            soft = self._fill(context).float().softmax(-1)
            remark |= {"passes": 1, "states": self.read, "masks": self.size - 1}
            top = soft.argmax(-1, keepdim=True)
            shown = soft.topk(min(TOP_COUNT, soft.shape[-1]))
            values = to_host(soft.gather(-1, top), top, *shown)
            probs, ids = (each[:, 0].tolist() for each in values[:2])
            check_finite(probs, self.name)
            remark["places"] = top_tokens_by_position(*values[2:])
            for node, token in enumerate(ids[:depth], start=1):
                tokens.append(token)
                score[node] = probs[node - 1]
                evidence[node] = {"place": node}
                if token in self.target.eos:
                    break
        tree = DraftTree(tuple(tokens), tuple(range(-1, len(tokens) - 1)))
        seen = [each["token"] for place in remark.get("places", []) for each in place]
        return Proposal(
            tree, self.drawn, score=score, evidence=evidence, shown=seen, work=self.work
        )

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`; the states are read by the next proposal."""
        states.check_length(len(tokens))
        self.waiting.append(states)

    def _fill(self, context: Sequence[int]) -> Tensor:
        """Return the logits (block_size - 1, V) of the positions after `context`, from one pass."""
        rows = self._block(context)[1:]
        logits: Tensor = self.target.model.get_output_embeddings()(rows)
        self.work += Work(head=len(logits))
        return logits

    def _block(self, context: Sequence[int]) -> Tensor:
        """Return the outputs (block_size, h) of a block after `context`, from one pass.

        Raises:
            ValueError: If the states do not match the text.
        """
        self._take()
        newest = len(context) - 1
        if self.read != newest:
            raise ValueError(f"{self.read} states for a text of {len(context)} tokens.")
        block = self.head.block(upload([context[-1]], self.target.device))
        words = self.embed(block)
        positions = torch.arange(newest, newest + self.size, device=self.target.device)
        rows = self.head(words, positions, [block_mix(each) for each in self.past])
        self.work += Work(body=rows.shape[1])
        out: Tensor = rows[0]
        return out

    def _take(self) -> None:
        """Compute keys and values of the waiting states and append them to the cache."""
        layers = concat_layers([states.layers for states in self.waiting])
        self.waiting = []
        if not layers:
            return
        new = len(next(iter(layers.values())))
        positions = torch.arange(self.read, self.read + new, device=self.target.device)
        past = self.head.past({k: rows[None] for k, rows in layers.items()}, positions)
        self.read += new
        self.work += Work(entry=new)
        if self.past:
            past = [
                (torch.cat([old[0], keys], dim=2), torch.cat([old[1], values], dim=2))
                for old, (keys, values) in zip(self.past, past, strict=True)
            ]
        self.past = past


def top_tokens_by_position(values: Tensor, ids: Tensor) -> list[list[dict[str, Any]]]:
    """Return the top tokens of each position with their probabilities.

    Args:
        values: Probabilities, (positions, k).
        ids: Token ids, (positions, k).
    """
    return [
        [{"token": token, "p": round(p, 6)} for token, p in zip(row, probs, strict=True)]
        for row, probs in zip(ids.tolist(), values.tolist(), strict=True)
    ]
