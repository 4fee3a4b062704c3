"""What the target and the draft model are trained to do.

Rule: a loss sees (ids, step) only, so that training can be resumed anywhere.

What measures them runs on text that training never saw: a fixed sample, the same windows of every
domain, in float32.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as functional
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.house.data import Domain, held_out_windows
from specviz.house.forward import TrainingForward, dropout_rates, kept_layers
from specviz.house.training import Loss

LENGTH = 512  # tokens a window
WINDOWS = 32  # a domain
ROWS = 4  # windows a pass


@torch.inference_mode()
def exit_losses(model: LlamaForCausalLM, domain: Domain, windows: int = WINDOWS) -> list[float]:
    """Nats a token when reading the model out after each layer; the last is its loss."""
    total = torch.zeros(model.config.num_hidden_layers)
    count = 0
    for ids in _passes(model, domain, windows):
        output = model.model(ids[:, :-1], output_hidden_states=True, use_cache=False)
        # hidden_states[0] is the embedding; only the last entry has been through the final norm
        early = [model.model.norm(state) for state in output.hidden_states[1:-1]]
        for layer, state in enumerate([*early, output.last_hidden_state]):
            total[layer] += _loss(model.lm_head(state), ids[:, 1:]).cpu() * len(ids)
        count += len(ids)
    return [round(value, 4) for value in (total / count).tolist()]


@torch.inference_mode()
def last_loss(model: LlamaForCausalLM, domain: Domain, windows: int = WINDOWS) -> float:
    """Nats a token at the last layer."""
    total, count = 0.0, 0
    for ids in _passes(model, domain, windows):
        total += float(_loss(model(ids[:, :-1], use_cache=False).logits, ids[:, 1:])) * len(ids)
        count += len(ids)
    return round(total / count, 4)


@torch.inference_mode()
def closeness(
    draft: LlamaForCausalLM, target: LlamaForCausalLM, domain: Domain, windows: int = WINDOWS
) -> dict[str, float]:
    """How a draft model fits its target on held-out text, averaged over positions.

    `overlap` is Σ min(p, q) at temperature 1: the chance that one sampled draft token is kept.
    `agreement` is how often both have the same most probable token.
    """
    overlap, agreement, count = 0.0, 0.0, 0
    for ids in _passes(draft, domain, windows):
        p = target(ids[:, :-1], use_cache=False).logits.softmax(-1)
        q = draft(ids[:, :-1], use_cache=False).logits.softmax(-1)
        overlap += float(torch.minimum(p, q).sum(-1).mean()) * len(ids)
        agreement += float((p.argmax(-1) == q.argmax(-1)).float().mean()) * len(ids)
        count += len(ids)
    return {"overlap": round(overlap / count, 4), "agreement": round(agreement / count, 4)}


def _passes(model: LlamaForCausalLM, domain: Domain, windows: int) -> Iterator[Tensor]:
    length = min(LENGTH, len(domain.held_out) - 1)
    for ids in held_out_windows(domain, length, windows).split(ROWS):
        yield ids.to(model.device)


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


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
