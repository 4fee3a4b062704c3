"""What EAGLE-3's head is trained to do: the target's law, after its own guesses (2503.01840).

Training-time test: the head is unrolled as in drafting, on its own outputs, and every step counts.
There is no loss on features.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from specviz.drafters.eagle.head3 import Eagle3Config, Eagle3Head, usual_taps
from specviz.drafters.eagle.training import unroll
from specviz.drafters.kit.training import DEPTH, Family, Frozen
from specviz.models.target import Target

DRAFT_VOCABULARY: Final = 0.75  # it may propose so much of the vocabulary, the commonest of it
STEPS: Final = 5  # the paper's code unrolls 7; house trees are 5 deep
FADE: Final = 0.8  # a step counts this much of the one before, as in the paper's code


def loss(head: Eagle3Head, frozen: Frozen, steps: int = STEPS) -> Tensor:
    """Weighted mean over the steps of the cross-entropy to the target's law.

    The law is that over the draft vocabulary, scaled to 1; rows whose top token lies outside it
    teach nothing, as published.
    """
    total = frozen.logits.new_zeros(())
    weights = 0.0
    for step, output in enumerate(unroll(head, head.fuse(frozen.states), frozen, steps)):
        logits = frozen.logits[:, step + 1 :]
        fits = head.t2d[logits.argmax(-1)]
        law = logits[..., head.tokens].softmax(-1)
        missed = -(law * head.draft_logits(output).float().log_softmax(-1)).sum(-1)
        total = total + FADE**step * (missed * fits).sum() / fits.sum().clamp(min=1)
        weights += FADE**step
    return total / weights


@torch.no_grad()
def guesses(head: Eagle3Head, frozen: Frozen, depth: int) -> list[Tensor]:
    """Logits (B, T - d, V) by depth d = 1, 2, ..., for `agreement`."""
    states = head.fuse(frozen.states)
    return [head.logits(output) for output in unroll(head, states, frozen, depth)]


def build(target: Target, counts: Tensor) -> Eagle3Head:
    """A new head for this target. counts: (V,), how often each token occurs."""
    config = Eagle3Config.like(
        target,
        draft_vocab_size=round(DRAFT_VOCABULARY * target.vocab_size),
        tap_layers=usual_taps(target.model.config.num_hidden_layers),
    )
    head = Eagle3Head(config)
    head.propose_only(counts)
    return head


TRAINING: Final = Family(
    "eagle3", build, loss, guesses=lambda head, frozen: guesses(head, frozen, DEPTH)
)
