"""The models for a shape: the target, and drafters of its size in their published layouts.

A head's network and config are those of a public checkpoint, or those with which our heads are
trained; only the weights are random. Networks are created on their device in their precision, so
creation needs no extra memory. On the "meta" device, the same code creates networks without memory,
to count their bytes beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from specviz.adapters.transformers import without_initialization
from specviz.catalog.entry import with_defaults
from specviz.cost.formatting import format_bytes
from specviz.cost.roofline import BYTES_PER_NUMBER
from specviz.cost.sources import Model, smaller_models
from specviz.cost.sweep import DTYPES
from specviz.drafters import medusa
from specviz.drafters.common.checkpoint import freeze_like
from specviz.drafters.dflash import DFlash
from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.head import DFlashHead
from specviz.drafters.draft_model import DraftModel
from specviz.drafters.eagle import Eagle, Eagle3
from specviz.drafters.eagle import head as eagle
from specviz.drafters.eagle import head3 as eagle3
from specviz.drafters.layerskip import LayerSkip
from specviz.drafters.mtp import MTP
from specviz.drafters.mtp import head as mtp
from specviz.drafters.ngram import NGram
from specviz.engine.protocol import Drafter
from specviz.models.checkpoint import prepare_model
from specviz.models.devices import NotEnoughMemory, free_memory
from specviz.models.fast_layers import MOST_BYTES
from specviz.models.memory_speed import MAX_READ_BYTES
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS
from specviz.trace.events import ModelCard
from specviz.trees.shapes import Parameters

BLOCK_SIZE: Final = 1_000_003  # a prime, so that no two rows of a matrix are equal
WEIGHT_STD: Final = 0.02  # standard deviation of the initial weights of public models


@contextmanager
def created_on(device: torch.device, dtype: torch.dtype) -> Iterator[None]:
    """Create modules inside this context on `device` in `dtype`, with uninitialized weights."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device, without_initialization():
            yield
    finally:
        torch.set_default_dtype(before)


@torch.no_grad()
def randomize(module: nn.Module) -> None:
    """Fill matrices with one repeated block of normal numbers, for speed; vectors with 1."""
    weights = [weight for weight in module.parameters() if not weight.is_meta]
    block = torch.randn(BLOCK_SIZE, generator=torch.Generator().manual_seed(1)).mul_(WEIGHT_STD)
    for weight in weights:
        if weight.dim() < 2:
            weight.fill_(1.0)
            continue
        block = block.to(weight.device, weight.dtype)
        for part in weight.view(-1).split(BLOCK_SIZE):
            part.copy_(block[: len(part)])


def random_network(row: Model, device: torch.device, dtype: torch.dtype, longest: int) -> Any:
    """Create a causal LM of this shape, for `longest` tokens, without end-of-text tokens."""
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
    """Create a target of this shape, with the shipped target's tokenizer, which is not used."""
    model = random_network(row, device, dtype, longest)
    tokenizer = AutoTokenizer.from_pretrained(ASSETS / "models" / "target", local_files_only=True)
    return Target(model, tokenizer, model_card(row.title, "causal-lm", model))


def model_card(title: str, family: str, module: nn.Module) -> ModelCard:
    """Return the card of a network, with its size; there is no file."""
    return ModelCard(title, family, count_parameters(module), weight_bytes(module), None)


def count_parameters(module: nn.Module) -> int:
    """Return the number of weights; weights that two layers share count once."""
    return sum(weight.numel() for weight in module.parameters())


def weight_bytes(module: nn.Module) -> int:
    """Return the weights' bytes."""
    return sum(weight.nbytes for weight in module.parameters())


def is_packed(module: nn.Module, device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether a second copy of the weights may be stored, see models/products.py."""
    return device.type == "cpu" and dtype == torch.float32 and weight_bytes(module) <= MOST_BYTES


# Size of EAGLE-3's draft vocabulary for Llama-3.1; with a small vocabulary, a sixth of it is used,
# as in the head that ships for SmolLM2.
DRAFT_TOKENS: Final = 32_000
PUBLISHED_TREE: Final = Parameters.eagle(total_tokens=60, depth=5, top_k=10)


@dataclass(frozen=True)
class HeadSpec:
    """A head of the lineup.

    Attributes:
        entry: Its entry in the catalogue, which has its default settings.
        kind: The drafter class that uses the network.
        settings: Settings that differ from the defaults.
    """

    name: str
    entry: str
    title: str
    build: Callable[[Target], Any]
    kind: Any
    settings: Mapping[str, Any] = field(default_factory=dict)


def _eagle3(target: Target) -> Any:
    counts = torch.zeros(target.vocab_size, device=target.device)
    size = DRAFT_TOKENS if target.vocab_size > 2 * DRAFT_TOKENS else target.vocab_size // 6
    return eagle3.build(target, counts, draft_vocab_size=size)


def _dflash(target: Target) -> DFlashHead:
    return DFlashHead(DFlashConfig.public(target))


def _by(build: Callable[..., Any]) -> Callable[[Target], Any]:
    return lambda target: build(target, torch.zeros(target.vocab_size, device=target.device))


HEADS: Final = (
    HeadSpec("eagle", "eagle", "EAGLE-1", _by(eagle.build), Eagle),
    HeadSpec("eagle3", "eagle3", "EAGLE-3", _eagle3, Eagle3),
    HeadSpec(
        "eagle3-60",
        "eagle3",
        "EAGLE-3, its paper’s tree",
        _eagle3,
        Eagle3,
        PUBLISHED_TREE.names["specviz"],
    ),
    HeadSpec("medusa", "medusa", "Medusa", _by(medusa.build), medusa.Medusa),
    HeadSpec("mtp", "mtp", "MTP", _by(mtp.build), MTP),
    HeadSpec(
        "dflash", "dflash", "DFlash", _dflash, DFlash, {"gamma": DFlashConfig.PUBLIC_BLOCK - 1}
    ),
)


@dataclass(frozen=True)
class Member:
    """A drafter of the lineup with its settings."""

    name: str
    title: str
    drafter: Drafter
    settings: Settings


@dataclass(frozen=True)
class Lineup:
    """A target with its drafters."""

    row: Model
    target: Target
    members: list[Member]

    @property
    def modules(self) -> list[Any]:
        """The networks; each is listed once."""
        found = [self.target.model]
        for member in self.members:
            module = getattr(member.drafter, "head", getattr(member.drafter, "model", None))
            if module is not None and not any(module is each for each in found):
                found.append(module)
        return found


def build_lineup(row: Model, device: torch.device, dtype: torch.dtype, longest: int) -> Lineup:
    """Create the target and all drafters, without memory on the "meta" device."""
    target = random_target(row, device, dtype, longest)
    members = []
    drafting = _draft_model(row, target, longest)
    if drafting is not None:
        members.append(
            Member("draft-model", drafting.card.name, drafting, _default_settings("draft-model"))
        )
    heads: dict[Any, Any] = {}
    for spec in HEADS:
        if spec.build not in heads:
            heads[spec.build] = _head(spec, target)
        head = heads[spec.build]
        drafter = spec.kind.from_head(head, model_card(spec.title, spec.entry, head), target)
        settings = replace(_default_settings(spec.entry), **spec.settings)
        members.append(Member(spec.name, spec.title, drafter, settings))
    members.append(
        Member("layerskip", "LayerSkip", LayerSkip(target), _default_settings("layerskip"))
    )
    members.append(Member("ngram", "n-gram", NGram(), _default_settings("ngram")))
    return Lineup(row, target, members)


def required_memory(
    row: Model, device: torch.device, dtype: torch.dtype, longest: int
) -> tuple[int, int]:
    """Return the number of drafters, and the bytes of all networks.

    Raises NotEnoughMemory if the device has fewer bytes free.
    """
    meta = build_lineup(row, torch.device("meta"), dtype, longest)
    sizes = [weight_bytes(each) * (1 + is_packed(each, device, dtype)) for each in meta.modules]
    number = BYTES_PER_NUMBER[DTYPES[str(dtype).removeprefix("torch.")]]
    drafting = [each.shape for each in smaller_models(row.name).values()]
    cached = sum(
        longest * 2 * shape.layers * shape.kv_heads * shape.head_dim * number
        for shape in [row.shape, *drafting]
    )
    wanted = sum(sizes) + cached + min(MAX_READ_BYTES, sizes[0])
    free = free_memory(device)
    if free is not None and wanted > free:
        raise NotEnoughMemory(
            f"{row.title} with its drafters needs {format_bytes(wanted)} in "
            f"{str(dtype).removeprefix('torch.')}, and {format_bytes(free)} are free on this "
            f"{device.type}."
        )
    return len(meta.members), wanted


def _head(spec: HeadSpec, target: Target) -> Any:
    with created_on(target.device, target.dtype):
        head = spec.build(target)
    randomize(head)
    if target.device.type != "meta":
        freeze_like(head, target.model)
    return head


def _draft_model(row: Model, target: Target, longest: int) -> DraftModel | None:
    known = sorted(smaller_models(row.name).values(), key=lambda each: each.shape.parameters)
    if not known:
        return None
    model = random_network(known[0], target.device, target.dtype, longest)
    return DraftModel(model, model_card(known[0].title, "draft-model", model))


def _default_settings(entry: str) -> Settings:
    return Settings.from_json(with_defaults(entry, {"sampling": {"temperature": 0.0}}))
