"""A tiny target trained on a few sentences, and heads of each family trained on it, in memory.

Everything follows from seeds. The target's text is predictable, so an off-by-one error shows as
lost acceptance.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import tiny
import torch
from driven import session_after
from once import once

from specviz.catalog.loading import training_family
from specviz.drafters.blockwise import Blockwise, BlockwiseConfig
from specviz.drafters.common.training import EVERY, read_target_outputs
from specviz.drafters.lmtp import LeapConfig, LeapMTP
from specviz.drafters.medusa import Medusa, MedusaConfig
from specviz.drafters.mtp import MTP
from specviz.drafters.mtp.head import MTPConfig
from specviz.drafters.mtp_parallel import ParallelConfig, ParallelMTP
from specviz.models.target import Target
from specviz.trace.events import ModelCard

HASH = "f" * 64
PROMPTS = ["The cat", "A bird saw the old tree. The king", "The dog liked", "the"]
LAYERS = 3

CONFIGS: dict[str, Any] = {
    "medusa": MedusaConfig(made_for=HASH),
    "blockwise": BlockwiseConfig(filter_size=48, made_for=HASH),
    "lmtp": LeapConfig(made_for=HASH),
    "mtp-parallel": ParallelConfig(n_kv_heads=2, hidden_dim=48, made_for=HASH),
    "mtp": MTPConfig(LAYERS, 1, 4, 2, 96, made_for=HASH),
}
DRAFTERS = {made.name: made for made in (Medusa, Blockwise, LeapMTP, ParallelMTP, MTP)}
HEADS: dict[str, Any] = {name: made.network for name, made in DRAFTERS.items()}


@cache
def words():
    """Return the ids (N,) of generated sentences of a few words."""
    draw = random.Random(1)
    who = ["The cat", "The dog", "A bird", "The king"]
    does, whom = ["saw", "chased", "liked"], ["the red house", "the mat", "a fox", "the old tree"]
    text = [f"{draw.choice(who)} {draw.choice(does)} {draw.choice(whom)}. " for _ in range(900)]
    return torch.tensor(tiny.tokenizer()("".join(text)).input_ids)


def windows(seed, length=40, rows=8):
    """Return windows (rows, length) of the text."""
    at = torch.randint(
        len(words()) - length, (rows,), generator=torch.Generator().manual_seed(seed)
    )
    return torch.stack([words()[a : a + length] for a in at.tolist()])


# The first use may be within a test's inference mode, which does not allow training.
LEARNING = torch.inference_mode(False)


@cache
def target():
    """Return a three-layer Llama trained on the sentences."""
    model = reader()
    size = sum(p.numel() for p in model.parameters())
    return Target(model, tiny.tokenizer(), ModelCard("taught", "causal-lm", size, 4 * size, HASH))


@once
def reader():
    """Return the network."""
    model = tiny.llama(num_hidden_layers=LAYERS)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.mul_(0.2)
    model.requires_grad_(True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(160):
        ids = windows(step)
        loss = model(ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
    return model.requires_grad_(False)


def again():
    """Return the same target, whose eos may be changed."""
    return Target(target().model, tiny.tokenizer(), target().card)


@cache
@LEARNING
def outputs(seed):
    """Return the target's outputs on some windows."""
    return read_target_outputs(target().model, windows(10_000 + seed), (EVERY,))


@LEARNING
def trained(name, config, steps=80):
    """Train a head of a family with this config for a few seconds."""
    torch.manual_seed(3)
    head = HEADS[name].new(config, target().model).train()
    return fitted(head, training_family(name).loss, steps, decays=False)


@once
def heads(name):
    """Return the trained head of a family."""
    return trained(name, CONFIGS[name])


def drafter(name, head=None):
    """Return the drafter of a family with its trained head, or with another one."""
    head = head or heads(name)
    size = sum(p.numel() for p in head.parameters())
    card = ModelCard(f"tiny-{name}", name, size, 4 * size, None)
    return DRAFTERS[name].from_head(head, card, target())


def start_session(name, text, settings, head=None):
    """Start a session that reads the whole text at once; its newest token has no state."""
    return session_after(text, drafter(name, head), settings, target())


def fitted(head, loss, steps, decays=True):
    """Train a head on outputs of the target; `decays`: whether the rate falls to zero."""
    optimizer = torch.optim.AdamW(head.parameters(), lr=4e-3)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 4e-3 * (1 - decays * step / steps)
        found = loss(head, outputs(step % 40))
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
    return head.eval().requires_grad_(False)
