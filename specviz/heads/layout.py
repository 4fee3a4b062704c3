"""What loading these heads has in common: files by other names, configs, dtype and device.

Rule: as in files.py: a tensor that does not fit is named, nothing but tensors is ever loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from specviz.catalog.errors import Unsuitable
from specviz.catalog.files import weight_files
from specviz.heads import files
from specviz.packed import pack

Config = TypeVar("Config")


def tensors_in(folder: Path, *others: str) -> dict[str, Tensor]:
    """The tensors of a head's folder, in transformers' files or in one of these others.

    Raises NotAvailable where there is neither, Unsuitable where there is more than tensors.
    """
    other = next((folder / name for name in others if (folder / name).is_file()), None)
    if other is None or weight_files(folder):
        return files.read_tensors(folder)
    try:
        if other.suffix == ".safetensors":
            return load_file(other)
        found = torch.load(other, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can raise anything
        reason = str(error).strip().split("\n")[0]
        raise Unsuitable(f"{other.name!r} could not be loaded as tensors: {reason}") from error
    if not isinstance(found, dict) or not all(map(torch.is_tensor, found.values())):
        raise Unsuitable(f"{other.name!r} holds other things than named tensors.")
    return found


def config_in(folder: Path, kind: type[Config]) -> Config:
    """`config.json` as `kind`, a dataclass; keys that it does not know are left alone.

    Raises NotAvailable, or Unsuitable where a key is missing or has a value of another type.
    """
    data = files.read_config(folder)
    known: list[Any] = list(fields(kind))  # type: ignore[arg-type]
    given = {field.name: data[field.name] for field in known if field.name in data}
    try:
        config = kind(**given)
    except TypeError as error:
        raise Unsuitable(f"{folder.name!r}: its config.json lacks a key: {error}.") from error
    for name, value in asdict(config).items():  # type: ignore[call-overload]
        whole = type(value) is int and value > 0
        if name.startswith(COUNTS) and not whole:
            raise Unsuitable(f"{folder.name!r}: {name} must be a whole number, not {value!r}.")
    return config


COUNTS = (
    "medusa_num", "n_", "head_num", "skip", "block", "filter", "hidden_dim", "num_", "intermediate",
)  # fmt: skip


def write(folder: Path, config: Any, head: nn.Module) -> None:
    """Write config.json and model.safetensors, in bf16."""
    files.write(folder, asdict(config), head)


def place(module: nn.Module, model: Any) -> None:
    """Freeze a module for use where `model` is, in its dtype.

    Only weights change dtype: rotary frequencies stay float32.
    """
    for weight in module.parameters():
        weight.data = weight.data.to(model.dtype)
    nn.Module.to(module.eval().requires_grad_(False), device=model.device)
    pack(module)


def numbered(names: Iterable[str], before: str = "") -> int:
    """How many parts there are where names read `before`0.…, `before`1.… and so on."""
    heads = {name.removeprefix(before).split(".")[0] for name in names if name.startswith(before)}
    return 1 + max((int(head) for head in heads if head.isdigit()), default=-1)


def sizes(model: Any) -> tuple[int, int]:
    """A causal LM's width and its number of token ids."""
    vocabulary, width = model.get_output_embeddings().weight.shape
    return int(width), int(vocabulary)


def rope_theta(model: Any) -> float:
    """The base of a causal LM's rotary angles; 10,000 where it says none."""
    said = getattr(model.config, "rope_parameters", None) or {}
    return float(said.get("rope_theta", 10_000.0))
