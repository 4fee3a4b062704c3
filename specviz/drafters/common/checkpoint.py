"""Reading a head's folder: its config, its layout, its tensors, and a network filled with them.

Files are never executed: only tensors are loaded. An error names the first tensor that does not
fit. Every head must have one of the published `layouts`, as the heads trained here do. Any other
layout is refused, and the error lists what the folder contains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, ClassVar, Final, Self
from zipfile import is_zipfile

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from specviz.drafters.common.config_keys import check_keys
from specviz.drafters.common.layouts import (
    EAGLE1,
    EAGLE3,
    MEDUSA,
    OTHERS,
    Head,
    Layout,
    Names,
    check_supported,
)
from specviz.models import file_checks
from specviz.models.checkpoint import MadeFor
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.fast_layers import fuse_norms, optimize_parts
from specviz.models.file_checks import count_tensors, pickle_error
from specviz.models.files import fingerprint, folder_label, head_files, size_of
from specviz.models.target import Target
from specviz.trace.events import ModelCard


def card_of(head: nn.Module, title: str, family: str, folder: Path) -> ModelCard:
    """Return the model card of the head in `folder`; parameters of the target are not counted."""
    files = head_files(folder)
    size = sum(weight.numel() for weight in head.parameters())
    return ModelCard(title, family, size, size_of(files), fingerprint(files))


def read_config(folder: Path) -> dict[str, Any]:
    """Read the folder's config.json.

    Raises NotAvailable if there is none; Unsuitable if it is not valid JSON or not supported.
    """
    return file_checks.read_config(folder_label(folder), folder)


def made_for(folder: Path) -> MadeFor:
    """Return the targets' hashes in a config; see `MadeFor`.

    Raises NotAvailable if there is no config; Unsuitable if `made_for` is not a hash or a list of
    hashes.
    """
    value = read_config(folder).get("made_for")
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return tuple(value)
    if not isinstance(value, str | None):
        raise Unsuitable(
            f"{folder_label(folder)!r}: made_for must be a SHA-256, not {value!r:.80}."
        )
    return value


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read all tensors by name, on the CPU.

    Raises NotAvailable if the folder has no weights; Unsuitable if a file holds anything but
    tensors.
    """
    found: dict[str, Tensor] = {}
    for file in _files(folder):
        found |= _tensors(folder_label(folder), file)
    return found


def tensor_names(folder: Path) -> set[str]:
    """Return the tensors' names from the headers alone.

    Raises NotAvailable if the folder has no weights; Unsuitable if a file holds anything but
    tensors.
    """
    found: set[str] = set()
    for file in _files(folder):
        try:
            with safe_open(file, "pt") as opened:
                found |= set(opened.keys())
        except SafetensorError:  # raised for a pickle or a damaged file; `_tensors` reports it
            found |= _tensors(folder_label(folder), file).keys()
    return found


def _files(folder: Path) -> list[Path]:
    files = head_files(folder)
    if not files:
        raise NotAvailable(f"{folder_label(folder)!r} has no weights.")
    return files


def _tensors(name: str, file: Path) -> dict[str, Tensor]:
    try:
        found = load_file(file) if file.suffix == ".safetensors" else _pickled(name, file)
    except Unsuitable:
        raise
    except UnpicklingError as error:
        raise pickle_error(name) from error
    except Exception as error:  # a damaged file can raise any exception
        reason = str(error).strip().split("\n")[0]
        raise Unsuitable(f"{name!r} could not be loaded as tensors: {reason}") from error
    if not isinstance(found, dict) or not all(map(torch.is_tensor, found.values())):
        raise Unsuitable(f"{name!r} holds something other than named tensors.")
    if sum(tensor.nbytes for tensor in found.values()) > 2 * file.stat().st_size:
        raise Unsuitable(f"{name!r} has tensors that are larger than their file.")
    return found


def _pickled(name: str, file: Path) -> Any:
    # A tensor in the newer zip format is read only when it is used.
    count_tensors(name, file)
    return torch.load(file, "cpu", weights_only=True, mmap=is_zipfile(file))


def restore(name: str, head: nn.Module, tensors: Mapping[str, Tensor], model: Any) -> None:
    """Fill `head` and freeze it on the model's device in its dtype.

    Raises Unsuitable with the name of the first tensor that does not fit.
    """
    fill(name, head, tensors)
    freeze_like(head, model)


def fill(name: str, head: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Fill `head` with `tensors`. Raises Unsuitable, naming the first tensor that does not fit."""
    wanted = head.state_dict()
    _refuse(name, "lacks", wanted.keys() - tensors.keys())
    _refuse(name, "has an unexpected", tensors.keys() - wanted.keys())
    for key, slot in wanted.items():
        if tensors[key].shape != slot.shape:
            raise Unsuitable(
                f"{name!r}: its {key} is {tuple(tensors[key].shape)}, "
                f"and its config says {tuple(slot.shape)}."
            )
    head.load_state_dict(dict(tensors))


def _refuse(name: str, what: str, keys: Collection[str]) -> None:
    if keys:
        more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        raise Unsuitable(f"{name!r} {what} tensor: {min(keys)}{more}.")


def write(
    folder: Path,
    config: Mapping[str, Any],
    head: nn.Module,
    rename: Callable[[str], str] = str,
) -> None:
    """Write config.json and model.safetensors, in bf16; rename: from our names to the file's."""
    folder.mkdir(parents=True, exist_ok=True)
    write_config(folder, config)
    tensors = {
        rename(key): (value.bfloat16() if value.is_floating_point() else value).cpu().contiguous()
        for key, value in head.state_dict().items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write config.json."""
    text = json.dumps(dict(config), indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


COUNTS = (  # keys with these prefixes must be positive integers
    "medusa_num", "n_", "head_num", "skip", "block", "filter", "hidden_dim", "num_", "intermediate",
)  # fmt: skip


def freeze_like(module: nn.Module, model: Any) -> None:
    """Freeze a module on the model's device, its parameters in the model's dtype."""
    for weight in module.parameters():
        weight.data = weight.data.to(model.dtype)
    module.eval().requires_grad_(False)
    fuse_norms(module, model.device)
    nn.Module.to(module, device=model.device)
    optimize_parts(module)


def count_numbered(names: Iterable[str], prefix: str = "") -> int:
    """Count the modules named `prefix`0, `prefix`1 and so on, from their tensors' names."""
    heads = {name.removeprefix(prefix).split(".")[0] for name in names if name.startswith(prefix)}
    return 1 + max((int(head) for head in heads if head.isdigit()), default=-1)


def sizes(model: Any) -> tuple[int, int]:
    """Return a causal LM's hidden size and its number of token ids."""
    vocabulary, width = model.get_output_embeddings().weight.shape
    return int(width), int(vocabulary)


def rope_theta(model: Any) -> float:
    """Return the base of a causal LM's rotary angles, 10,000 if it has none."""
    value = getattr(model.config, "rope_parameters", None) or {}
    return float(value.get("rope_theta", 10_000.0))


LAYOUTS: Final = (*EAGLE3, *OTHERS, *MEDUSA, *EAGLE1)
EMBEDDING: Final = (
    r"(^|\.)(wte|word_embeddings|shared)\.weight$"
    r"|\.(embed_\w+|\w*embeddings?)\.weight$"
)
MAX_LISTED: Final = 6  # how many keys and tensor names an error lists


def layout_of(name: str, config: Mapping[str, Any], names: Names) -> Layout | None:
    """Return the first layout that matches, or None.

    Raises Unsuitable if the head is of a method that is known and not supported.
    """
    check_supported(name, config, names)
    return next((layout for layout in LAYOUTS if layout.matches(config, names)), None)


def layout_in(folder: Path) -> Layout | None:
    """Return a folder's head layout; None for a language model.

    Raises Unsuitable if the folder contains neither.
    """
    config, names = read_config(folder), tensor_names(folder)
    layout = layout_of(folder_label(folder), config, names)
    if layout is None and not any(re.search(EMBEDDING, name) for name in names):
        raise _unknown(folder_label(folder), config, names)
    return layout


def read_head(folder: Path, family: str) -> Head:
    """Read the head in a folder, with our keys and names.

    Raises NotAvailable if there is no head; Unsuitable if the layout is unknown or belongs to
    another family.
    """
    name, config, tensors = folder_label(folder), read_config(folder), read_tensors(folder)
    layout = layout_of(name, config, tensors)
    if layout is None:
        raise _unknown(name, config, tensors)
    if layout.family != family:
        raise Unsuitable(f"{name!r} has the layout of {layout.title}, not of {family}.")
    return layout.convert(Head(name, config, tensors))


@dataclass(frozen=True)
class PlainConfig:
    """A config whose fields are the file's keys.

    Attributes:
        also: Other keys, which are read elsewhere or change nothing in the family.
    """

    also: ClassVar[Collection[str]] = ()

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json.

        Raises Unsuitable if a key is missing, unknown or not implemented, or if a count is not a
        positive integer.
        """
        known = [field.name for field in fields(cls)]
        check_keys(name, data, {*known, *cls.also})
        try:
            config = cls(**{key: data[key] for key in known if key in data})
        except TypeError as error:
            raise Unsuitable(f"{name!r}: its config.json lacks a key: {error}.") from error
        for key, value in asdict(config).items():
            whole = type(value) is int and value > 0
            if key.startswith(COUNTS) and not whole:
                raise Unsuitable(f"{name!r}: {key} must be a whole number, not {value!r}.")
        return config

    def check_fit(self, name: str, target: Target) -> None:
        """Accept any target; sizes are compared when tensors are loaded."""

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json."""
        return asdict(self)


class HeadNetwork(nn.Module):
    """A head's network that can be saved to a folder and loaded from one, in a known layout.

    config_type: class of the config, with `from_json(name, data)`, `check_fit(name, target)` and
    `to_json()`.
    """

    family: ClassVar[str]
    config_type: ClassVar[Any]
    config: Any

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors in bf16."""
        write(folder, self.config.to_json(), self)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """Load the head in `folder`, ready to draft.

        Raises NotAvailable if the folder has no head; Unsuitable if the head does not fit; a tensor
        that does not fit is named.
        """
        found = cls.prepare(read_head(folder, cls.family), target)
        head = cls.like_file(found, cls.read_config(found, target), target)
        restore(found.name, head, found.tensors, target.model)
        return head

    @classmethod
    def prepare(cls, found: Head, target: Target) -> Head:
        """Return the head's files, completed with what follows from the target."""
        return found

    @classmethod
    def read_config(cls, found: Head, target: Target) -> Any:
        """Parse the config and check that it fits the target.

        Raises Unsuitable if the config is invalid or does not fit.
        """
        config = cls.config_type.from_json(found.name, found.config)
        config.check_fit(found.name, target)
        return config

    @classmethod
    def like_file(cls, found: Head, config: Any, target: Target) -> Self:
        """Return a network with the parts that the files contain, not filled in yet."""
        make: Any = cls
        made: Self = make(config)
        return made


class SizedHead(HeadNetwork):
    """A head with a `PlainConfig`; its widths are the target's."""

    @classmethod
    def new(cls, config: Any, model: Any) -> Self:
        """Return an untrained head for a causal LM, which shares its projection."""
        make: Any = cls
        made: Self = make(config, sizes(model)[0])
        return made

    @classmethod
    def like_file(cls, found: Head, config: Any, target: Target) -> Self:
        """Implement `HeadNetwork.like_file`."""
        return cls.new(config, target.model)


def _unknown(name: str, config: Iterable[str], names: Iterable[str]) -> Unsuitable:
    return Unsuitable(
        f"{name!r} is neither a language model nor a head in a known layout: its "
        f"config.json has the keys {_listed(config)}, and its tensors are {_listed(names)}."
    )


def _listed(words: Iterable[str]) -> str:
    found = sorted(words)
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    return (", ".join(found[:MAX_LISTED]) or "none") + more
