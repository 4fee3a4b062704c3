"""Networks of a published shape with random weights, made where they will run, in its precision.

Rule: nothing is larger on the way than at the end: no weight is ever elsewhere or wider. On the
"meta" device the same code makes networks without memory, by which they are counted beforehand.
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

BLOCK_SIZE: Final = 1_000_003  # a prime: no two rows of a matrix are the same
WEIGHT_STD: Final = 0.02  # what public models begin their training with


@contextmanager
def created_on(device: torch.device, dtype: torch.dtype) -> Iterator[None]:
    """Modules made within are on `device` and in `dtype` at once, their weights not yet chosen."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device, without_initialization():
            yield
    finally:
        torch.set_default_dtype(before)


@torch.no_grad()
def randomize(module: nn.Module, seed: int = 1) -> None:
    """Fill matrices with one block of normal numbers, again and again, and vectors with ones.

    To draw every number of a large model anew takes minutes on a CPU.
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
    """A causal LM of this shape that sees `longest` tokens and ends no text by itself."""
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
    """A target of this shape. Its tokenizer is the house's, since a target has one: no text is
    ever read or written with it, ids alone.
    """
    model = random_network(row, device, dtype, longest)
    tokenizer = AutoTokenizer.from_pretrained(ASSETS / "models" / "target", local_files_only=True)
    return Target(model, tokenizer, model_card(row.title, "causal-lm", model))


def model_card(title: str, family: str, module: nn.Module) -> ModelCard:
    """What a network is called, with its size; it has no file."""
    return ModelCard(title, family, count_parameters(module), weight_bytes(module), None)


def count_parameters(module: nn.Module) -> int:
    """How many weights there are; what two layers share counts once."""
    return sum(weight.numel() for weight in module.parameters())


def weight_bytes(module: nn.Module) -> int:
    """Their bytes."""
    return sum(weight.nbytes for weight in module.parameters())


def is_packed(module: nn.Module, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a second copy of its weights may be kept, see models/products.py."""
    return device.type == "cpu" and dtype == torch.float32 and weight_bytes(module) <= MOST_BYTES
