"""Measures models on text that training never saw.

Rule: the sample is fixed (the same windows of every domain), and everything runs in float32.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as functional
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.house.data import Domain, held_out_windows

LENGTH = 512  # tokens a window
WINDOWS = 32  # a domain
ROWS = 4  # windows a pass


@torch.inference_mode()
def exit_losses(model: LlamaForCausalLM, domain: Domain, windows: int = WINDOWS) -> list[float]:
    """Return nats a token when reading the model out after each layer; the last is its loss."""
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
    """Return nats a token at the last layer."""
    total, count = 0.0, 0
    for ids in _passes(model, domain, windows):
        total += float(_loss(model(ids[:, :-1], use_cache=False).logits, ids[:, 1:])) * len(ids)
        count += len(ids)
    return round(total / count, 4)


@torch.inference_mode()
def closeness(
    draft: LlamaForCausalLM, target: LlamaForCausalLM, domain: Domain, windows: int = WINDOWS
) -> dict[str, float]:
    """Return how a draft model fits its target on held-out text, averaged over positions.

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
