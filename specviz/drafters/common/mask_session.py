"""Sessions of heads that fill masks: one pass predicts several positions at once.

No guess depends on another guess's token, so the top tokens form one path, a point mass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from specviz.drafters.common.session import Session
from specviz.engine.protocol import Proposal
from specviz.models.graphs import Memory
from specviz.models.planned import compute_planned
from specviz.settings.chance import Chance
from specviz.trace.work import Work
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree

TOP_COUNT: Final = 3  # number of tokens per position that are recorded for the page


class MaskSession(Session, ABC):
    """A session that drafts the top token of each position."""

    name: str
    longest: int | None
    remark: Mapping[str, Any]

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # A score is a probability at temperature 1. Recorded for each node: its position in the
        # draft. Recorded for the proposal: how many states and masks the pass read, and the most
        # probable tokens of each position with their probabilities, including positions after γ and
        # after an end-of-text token.
        depth = min(self.longest or max_tokens, max_tokens - 1)
        guesses: list[int] = []
        shown: list[int] = []
        score: dict[int, float] = {}
        work, remark = Work(), {**self.remark, "passes": 0}
        evidence: dict[int, dict[str, Any]] = {0: remark}
        if depth > 0:
            uploads = UploadBatch(self.target.device)
            logits, read, work = self.plan(context, depth, uploads)
            _, (values, ids) = compute_planned(
                self.memory,
                (type(self), depth),
                self.target,
                uploads,
                lambda: (None, list(softmax_top(logits()))),
            )
            probs = values[:, 0].tolist()
            check_finite(probs, self.name)
            places = top_tokens_by_position(values, ids)
            remark |= {"passes": 1, **read, "places": places}
            shown = [each["token"] for place in places for each in place]
            for node, token in enumerate(ids[:depth, 0].tolist(), start=1):
                guesses.append(token)
                score[node] = probs[node - 1]
                evidence[node] = {"place": node}
                if token in self.target.eos:
                    break
        tree = DraftTree.chain(context[-1], guesses)
        return Proposal(tree, self.drawn, score=score, evidence=evidence, shown=shown, work=work)

    @property
    def memory(self) -> Memory | None:
        """The fixed memory of the pass, with which a draft is recorded; see `LevelSession`."""
        return None

    @abstractmethod
    def plan(
        self, context: Sequence[int], depth: int, uploads: UploadBatch
    ) -> tuple[Callable[[], Tensor], dict[str, int], Work]:
        """Prepare one pass over the states that have not been read, and over masks.

        Returns a function that runs the pass and returns logits (n, V) of the positions after the
        text, n at least `depth`; the numbers of `states` and `masks` that it reads; and its rows.
        """


def softmax_top(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return the highest probabilities and their tokens, (n, k) each, of logits (n, V)."""
    values, ids = logits.float().softmax(-1).topk(min(TOP_COUNT, logits.shape[-1]))
    return values, ids


def top_tokens_by_position(values: Tensor, ids: Tensor) -> list[list[dict[str, Any]]]:
    """Return the top tokens of each position with their probabilities, both (positions, k)."""
    return [
        [{"token": token, "p": round(p, 6)} for token, p in zip(row, probs, strict=True)]
        for row, probs in zip(ids.tolist(), values.tolist(), strict=True)
    ]
