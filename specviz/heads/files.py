"""Reads and writes a head's folder: config.json and one file of weights, by the public names.

Rule: a tensor that is missing, left over or of another shape is an error that names it; nothing is
filled up by chance, and no pickle is run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from specviz.catalog.errors import NotAvailable, Unsuitable
from specviz.catalog.files import weight_files


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's config.json. Raises NotAvailable, or Unsuitable where it is no object."""
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotAvailable(f"{folder.name!r} has no config.json.") from error
    except ValueError as error:
        raise Unsuitable(f"{folder.name!r}: its config.json cannot be read: {error}.") from error
    if not isinstance(found, dict):
        raise Unsuitable(f"{folder.name!r}: its config.json is no JSON object.")
    return found


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors by name, on the CPU. Raises NotAvailable, Unsuitable."""
    files = weight_files(folder)
    if not files:
        raise NotAvailable(f"{folder.name!r} has no weights.")
    found: dict[str, Tensor] = {}
    for file in files:
        try:
            safe = file.suffix == ".safetensors"
            found |= load_file(file) if safe else torch.load(file, "cpu", weights_only=True)
        except UnpicklingError as error:
            raise Unsuitable(
                f"{folder.name!r} has more than plain weights in its pickle; none is loaded."
            ) from error
        except (OSError, RuntimeError, SafetensorError) as error:
            raise Unsuitable(f"{folder.name!r} could not be loaded: {error}") from error
    return found


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
    tensors = {
        key: (value.bfloat16() if value.is_floating_point() else value).cpu().contiguous()
        for key, value in head.state_dict().items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    text = json.dumps(dict(config), indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
