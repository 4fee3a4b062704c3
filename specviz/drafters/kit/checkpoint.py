"""A head's folder: its config, its tensors, and a network filled with them.

Rule: a tensor that does not fit is named, nothing but tensors is ever loaded. Which layout a folder
has, and what of it becomes whose weights, is for `layouts` to say; heads are written by `write`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeVar
from zipfile import is_zipfile

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from specviz.models import config_file
from specviz.models.checkpoint import MadeFor
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.files import called, fingerprint, head_files, size_of
from specviz.models.norms import fuse
from specviz.models.pickled import count_tensors, refusal
from specviz.models.products import speed_up_parts
from specviz.trace.events import ModelCard


def card_of(head: nn.Module, title: str, family: str, folder: Path) -> ModelCard:
    """The card of the head in `folder`. parameters: its own, without what the target shares."""
    files = head_files(folder)
    size = sum(weight.numel() for weight in head.parameters())
    return ModelCard(title, family, size, size_of(files), fingerprint(files))


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's config.json. Raises NotAvailable, or Unsuitable where it cannot be used."""
    return config_file.read_config(called(folder), folder)


def made_for(folder: Path) -> MadeFor:
    """Whom a head's config says it is made for; None where it does not: see `MadeFor`.

    Raises NotAvailable, or Unsuitable where it says something else.
    """
    said = read_config(folder).get("made_for")
    if isinstance(said, list) and said and all(isinstance(each, str) for each in said):
        return tuple(said)
    if not isinstance(said, str | None):
        raise Unsuitable(f"{called(folder)!r}: made_for must be a SHA-256, not {said!r:.80}.")
    return said


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors by name, on the CPU.

    Raises NotAvailable where there is none, Unsuitable where there is more than tensors.
    """
    found: dict[str, Tensor] = {}
    for file in _files(folder):
        found |= _tensors(called(folder), file)
    return found


def tensor_names(folder: Path) -> set[str]:
    """The names of all tensors; of safetensors, nothing else is read. Raises as `read_tensors`."""
    found: set[str] = set()
    for file in _files(folder):
        try:
            with safe_open(file, "pt") as opened:
                found |= set(opened.keys())
        except SafetensorError:  # a pickle, or a damaged file, which is for `_tensors` to say
            found |= _tensors(called(folder), file).keys()
    return found


def _files(folder: Path) -> list[Path]:
    files = head_files(folder)
    if not files:
        raise NotAvailable(f"{called(folder)!r} has no weights.")
    return files


def _tensors(name: str, file: Path) -> dict[str, Tensor]:
    """The tensors of one file, called `name` in errors."""
    try:
        found = load_file(file) if file.suffix == ".safetensors" else _pickled(name, file)
    except Unsuitable:
        raise
    except UnpicklingError as error:
        raise refusal(name) from error
    except Exception as error:  # a damaged file can raise anything
        reason = str(error).strip().split("\n")[0]
        raise Unsuitable(f"{name!r} could not be loaded as tensors: {reason}") from error
    if not isinstance(found, dict) or not all(map(torch.is_tensor, found.values())):
        raise Unsuitable(f"{name!r} holds other things than named tensors.")
    if sum(tensor.nbytes for tensor in found.values()) > 2 * file.stat().st_size:
        raise Unsuitable(f"{name!r} has tensors that are larger than their file.")
    return found


def _pickled(name: str, file: Path) -> Any:
    """What a pickle holds; of the newer ones, only what is looked at is read."""
    count_tensors(name, file)
    return torch.load(file, "cpu", weights_only=True, mmap=is_zipfile(file))


def restore(name: str, head: nn.Module, tensors: Mapping[str, Tensor], model: Any) -> None:
    """Put `tensors` into `head` and freeze it for use where `model` is, in its dtype.

    Raises Unsuitable, calling the head `name`, with the first tensor that does not fit.
    """
    fill(name, head, tensors)
    freeze_like(head, model)


def fill(name: str, head: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put `tensors` into `head`. Raises Unsuitable, naming the first tensor that does not fit."""
    wanted = head.state_dict()
    _refuse(name, "lacks", wanted.keys() - tensors.keys())
    _refuse(name, "has an unexpected", tensors.keys() - wanted.keys())
    for key, place in wanted.items():
        if tensors[key].shape != place.shape:
            raise Unsuitable(
                f"{name!r}: its {key} is {tuple(tensors[key].shape)}, "
                f"and its config says {tuple(place.shape)}."
            )
    head.load_state_dict(dict(tensors))


def _refuse(name: str, what: str, keys: Collection[str]) -> None:
    if keys:
        more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        raise Unsuitable(f"{name!r} {what} tensor: {min(keys)}{more}.")


def write(folder: Path, config: Mapping[str, Any], head: nn.Module) -> None:
    """Write config.json and model.safetensors, floats as bf16, integers and booleans as is."""
    folder.mkdir(parents=True, exist_ok=True)
    write_config(folder, config)
    tensors = {
        key: (value.bfloat16() if value.is_floating_point() else value).cpu().contiguous()
        for key, value in head.state_dict().items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write config.json."""
    text = json.dumps(dict(config), indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


Config = TypeVar("Config")


def parsed(name: str, data: Mapping[str, Any], kind: type[Config]) -> Config:
    """A config as `kind`, a dataclass; keys that it does not know are left alone.

    Raises Unsuitable, calling the head `name`, where a key is missing or has a value of another
    type.
    """
    known: list[Any] = list(fields(kind))  # type: ignore[arg-type]
    given = {field.name: data[field.name] for field in known if field.name in data}
    try:
        config = kind(**given)
    except TypeError as error:
        raise Unsuitable(f"{name!r}: its config.json lacks a key: {error}.") from error
    for key, value in asdict(config).items():  # type: ignore[call-overload]
        whole = type(value) is int and value > 0
        if key.startswith(COUNTS) and not whole:
            raise Unsuitable(f"{name!r}: {key} must be a whole number, not {value!r}.")
    return config


COUNTS = (
    "medusa_num", "n_", "head_num", "skip", "block", "filter", "hidden_dim", "num_", "intermediate",
)  # fmt: skip


def freeze_like(module: nn.Module, model: Any) -> None:
    """Freeze a module for use where `model` is, in its dtype.

    Only weights change dtype: rotary frequencies stay float32.
    """
    for weight in module.parameters():
        weight.data = weight.data.to(model.dtype)
    module.eval().requires_grad_(False)
    fuse(module, model.device)
    nn.Module.to(module, device=model.device)
    speed_up_parts(module)


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
