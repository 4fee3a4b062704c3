"""What EAGLE-3's head is trained to do: the target's law, after its own guesses (2503.01840).

Training-time test: the head is unrolled as in drafting, on its own outputs, and every step counts.
There is no loss on features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor

from specviz.drafters.eagle.head3 import Eagle3Config, Eagle3Head, usual_taps
from specviz.drafters.eagle.training import unroll
from specviz.drafters.kit.training import DEPTH, Family, HeadOptions, TargetOutputs
from specviz.models.target import Target

DRAFT_VOCABULARY: Final = 0.75  # it may propose so much of the vocabulary, the commonest of it
STEPS: Final = 5  # the paper's code unrolls 7; house trees are 5 deep
FADE: Final = 0.8  # a step counts this much of the one before, as in the paper's code


def loss(head: Eagle3Head, frozen: TargetOutputs, steps: int = STEPS) -> Tensor:
    """Weighted mean over the steps of the cross-entropy to the target's law.

    The law is that over the draft vocabulary, scaled to 1; rows whose top token lies outside it
    teach nothing, as published.
    """
    teaches = head.t2d[frozen.tops] & frozen.counted
    laws = frozen.over(head.tokens, teaches).softmax(-1)
    number = teaches.flatten().cumsum(0).view(teaches.shape) - 1  # of a row, among the laws
    total, weights = laws.new_zeros(()), 0.0
    for step, output in enumerate(unroll(head, head.fuse(frozen.states), frozen, steps)):
        rows = teaches[:, step + 1 :]
        law = laws[number[:, step + 1 :][rows]]
        missed = -(law * head.draft_logits(output[rows]).float().log_softmax(-1)).sum(-1)
        total = total + FADE**step * missed.sum() / rows.sum().clamp(min=1)
        weights += FADE**step
    return total / weights


@torch.no_grad()
def guesses(head: Eagle3Head, frozen: TargetOutputs, depth: int) -> list[Tensor]:
    """Logits (B, T - d, V) by depth d = 1, 2, ..., for `agreement`."""
    states = head.fuse(frozen.states)
    return [head.logits(output) for output in unroll(head, states, frozen, depth)]


def build(target: Target, counts: Tensor, **changes: Any) -> Eagle3Head:
    """A new head for this target. counts: (V,), how often each token occurs. changes: to the
    config.
    """
    usual = {
        "draft_vocab_size": round(DRAFT_VOCABULARY * target.vocab_size),
        "tap_layers": tuple(max(1, layer) for layer in usual_taps(target.layers)),
    }
    config = Eagle3Config.like(target, **(usual | changes))
    head = Eagle3Head(config)
    head.propose_only(counts)
    return head


@torch.no_grad()
def begun(target: Target, counts: Tensor, head_options: HeadOptions) -> Eagle3Head:
    """A new head that begins as the target's own last layer, norm and output rows.

    fc hands the highest tap on; what the layer makes of the next word, which the target's knows
    nothing of, begins by chance. The output rows stay as they are.
    """
    size, own = min(head_options.draft_vocabulary, target.vocab_size), target.card.hash
    fits = (own, *head_options.also_for) if own and head_options.also_for else own
    head = build(target, counts, draft_vocab_size=size, made_for=fits)
    model, wide = target.model.model, head.config.hidden_size
    last, layer = model.layers[-1], head.midlayer
    head.fc.weight.zero_()
    head.fc.weight[:, -wide:].copy_(torch.eye(wide))
    for name in ("q_proj", "k_proj", "v_proj"):
        getattr(layer.self_attn, name).weight[:, wide:] = getattr(last.self_attn, name).weight
    layer.self_attn.o_proj.load_state_dict(last.self_attn.o_proj.state_dict())
    layer.mlp.load_state_dict(last.mlp.state_dict())
    layer.hidden_norm.weight.copy_(last.input_layernorm.weight)
    layer.post_attention_layernorm.weight.copy_(last.post_attention_layernorm.weight)
    head.norm.weight.copy_(model.norm.weight)
    head.lm_head.weight.copy_(target.model.get_output_embeddings().weight[head.tokens])
    head.lm_head.requires_grad_(False)
    return head


def with_options(head_options: HeadOptions) -> Family:
    """The family for a target of another size, which heads begin as a part of."""
    return replace(
        TRAINING,
        build=lambda target, counts: begun(target, counts, head_options),
        loss=lambda head, frozen: loss(head, frozen, head_options.steps),
    )


TRAINING: Final = Family(
    "eagle3",
    build,
    loss,
    guesses=lambda head, frozen: guesses(head, frozen, DEPTH),
    with_options=with_options,
)
