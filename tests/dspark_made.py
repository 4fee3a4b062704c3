"""A DSpark drafter, trained for a few seconds on the tiny target."""

from __future__ import annotations

from dataclasses import replace

import headed
import tiny
import torch
from once import once

from specviz.drafters.dspark import DSpark, training
from specviz.drafters.dspark.head import DSparkConfig, DSparkHead

SIZE = 5  # guesses of a block


def config(target=None, **changes):
    """Return the house config with smaller blocks, and two taps of a three-layer target."""
    usual = DSparkConfig.house(target or headed.target())
    taps = usual.target_layer_ids if target else (0, 1)
    small = replace(usual, block_size=SIZE, target_layer_ids=taps, markov_rank=6)
    return replace(small, **changes)


def random_head(target=None, **changes):
    """Return a head with large random weights and norms, so that every part matters."""
    torch.manual_seed(8)
    head = DSparkHead(config(target, **changes)).eval().requires_grad_(False)
    torch.nn.init.normal_(head.markov_head.markov_w2.weight)
    for weight in head.parameters():
        if weight.dim() == 1:
            weight.copy_(torch.rand_like(weight) + 0.5)
    return tiny.blurred(head, 0.2)


def learned(steps, losses=None, **changes):
    """Train a head with a decaying rate, each step on blocks of twelve anchors."""
    torch.manual_seed(3)
    head = DSparkHead(config(**changes)).train()

    def loss(outputs):
        return training.loss(head, outputs, torch.randperm(39)[:12] + 1)

    return headed.fitted(head, loss, steps, losses)


@once
def trained():
    """Return the head that most tests use."""
    return learned(150)


def drafter(head=None):
    """Return the drafter with the learned head, or with the given one."""
    head = head or trained()
    return DSpark(head, tiny.card(head, "tiny-dspark", "dspark"))
