"""Networks of a published shape with random weights, created on their device in their precision.

No weight is ever on another device or in a wider type, so creation needs no extra memory. On the
"meta" device the same code creates networks without memory, to count their bytes beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from specviz.adapters.transformers import without_initialization
from specviz.cost.sources import Model
from specviz.models.checkpoint import prepare_model
from specviz.models.fast_linear import MOST_BYTES
from specviz.models.target import Target
from specviz.shipped import ASSETS
from specviz.trace.events import ModelCard

BLOCK_SIZE: Final = 1_000_003  # a prime, so no two rows of a matrix are the same
WEIGHT_STD: Final = 0.02  # the standard deviation of public models' initial weights


@contextmanager
def created_on(device: torch.device, dtype: torch.dtype) -> Iterator[None]:
    """Create modules within this context on `device` and in `dtype`, with uninitialized weights."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device, without_initialization():
            yield
    finally:
        torch.set_default_dtype(before)


@torch.no_grad()
def randomize(module: nn.Module, seed: int = 1) -> None:
    """Fill matrices with one block of normal numbers, repeated, and vectors with ones.

    Drawing every number of a large model separately takes minutes on a CPU.
    """
    weights = [weight for weight in module.parameters() if not weight.is_meta]
    block = torch.randn(BLOCK_SIZE, generator=torch.Generator().manual_seed(seed)).mul_(WEIGHT_STD)
    for weight in weights:
        if weight.dim() < 2:
            weight.fill_(1.0)
            continue
        block = block.to(weight.device, weight.dtype)
        for part in weight.view(-1).split(BLOCK_SIZE):
            part.copy_(block[: len(part)])


def random_network(row: Model, device: torch.device, dtype: torch.dtype, longest: int) -> Any:
    """Create a causal LM of this shape for `longest` tokens that never ends a text."""
    config = AutoConfig.for_model(**(row.config | {"max_position_embeddings": longest}))
    with created_on(device, dtype):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.tie_weights()
    model.generation_config.eos_token_id = None
    randomize(model)
    if device.type != "meta":
        prepare_model(row.title, model, device)
    return model


def random_target(row: Model, device: torch.device, dtype: torch.dtype, longest: int) -> Target:
    """Create a target of this shape.

    Its tokenizer is that of the bundled target, because a target needs one; it is not used.
    """
    model = random_network(row, device, dtype, longest)
    tokenizer = AutoTokenizer.from_pretrained(ASSETS / "models" / "target", local_files_only=True)
    return Target(model, tokenizer, model_card(row.title, "causal-lm", model))


def model_card(title: str, family: str, module: nn.Module) -> ModelCard:
    """Return a network's card with its size; it has no file."""
    return ModelCard(title, family, count_parameters(module), weight_bytes(module), None)


def count_parameters(module: nn.Module) -> int:
    """Return the number of weights; weights shared by two layers count once."""
    return sum(weight.numel() for weight in module.parameters())


def weight_bytes(module: nn.Module) -> int:
    """Return the weights' bytes."""
    return sum(weight.nbytes for weight in module.parameters())


def is_packed(module: nn.Module, device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether a second copy of the weights may be stored, see models/products.py."""
    return device.type == "cpu" and dtype == torch.float32 and weight_bytes(module) <= MOST_BYTES
