"""What the target and the draft model are trained to do.

Rule: a loss sees (ids, step) only, so that training can be resumed anywhere.
"""

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.house.forward import TrainingForward, dropout_rates, kept_layers
from specviz.house.training import Loss

LARGEST_DROPOUT = 0.1
EXIT_WEIGHT = 0.25
LABEL_WEIGHT = 0.1


def target_loss(model: LlamaForCausalLM, seed: int, fast: bool) -> Loss:
    """LayerSkip: cross-entropy at the last layer and, in turn, at one earlier layer a step."""
    forward = TrainingForward(model, fast)
    layers = model.config.num_hidden_layers
    rates = dropout_rates(layers, LARGEST_DROPOUT)
    device = model.device

    def loss(ids: Tensor, step: int) -> Tensor:
        ids = ids.to(device)
        keep = kept_layers(rates, len(ids), seed, step).to(device)
        with torch.autocast(device.type, torch.bfloat16):
            states = forward.states(ids[:, :-1], keep)
            last = forward.cross_entropy(states[-1], ids[:, 1:])
            early = forward.cross_entropy(states[step % (layers - 1)], ids[:, 1:])
        return last + EXIT_WEIGHT * early

    return loss


def draft_loss(model: LlamaForCausalLM, target: LlamaForCausalLM, fast: bool) -> Loss:
    """KL to the frozen target's distribution, which decides acceptance, and a little of the text.

    Σ min(p, q) is what a draft token's chance of acceptance is; KL bounds it from below.
    """
    forward, teacher = TrainingForward(model, fast), TrainingForward(target, fast)
    target.requires_grad_(False)
    device = model.device

    def loss(ids: Tensor, step: int) -> Tensor:
        ids = ids.to(device)
        with torch.autocast(device.type, torch.bfloat16):
            with torch.no_grad():
                state = teacher.states(ids[:, :-1])[-1]
                logits = target.lm_head(target.model.norm(state)).flatten(0, 1)
            state = forward.states(ids[:, :-1])[-1]
            close = forward.distillation(state, logits)
            text = forward.cross_entropy(state, ids[:, 1:])
        return close + LABEL_WEIGHT * text

    return loss
