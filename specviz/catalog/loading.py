"""Load a target and a drafter by name, and check that they fit each other.

Weights are read once per process and shared, until their files change. If a model or a pair cannot
be used, one of the catalogue's errors is raised. A drafter's class, and the code that trains a
head, are imported when they are needed.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import torch

from specviz.catalog.entry import (
    Entry,
    Kind,
    entries,
    find,
    missing_message,
    suggestion,
    weights_path,
)
from specviz.drafters.common.checkpoint import layout_in
from specviz.drafters.draft_model import DraftModel
from specviz.engine.protocol import Drafter
from specviz.models.checkpoint import (
    Checkpoint,
    check_made_for,
    load_checkpoint,
    same_vocabulary,
)
from specviz.models.devices import free_memory, pick_device, pick_dtype, process_count
from specviz.models.errors import NotAvailable, UnknownModel, Unsuitable
from specviz.models.file_checks import check_numbers, count_stored, read_config
from specviz.models.files import (
    file_version,
    find_or_fetch,
    folder_label,
    head_files,
    is_gguf,
    public_name,
    size_of,
)
from specviz.models.load_control import WEIGHTS, begin_stage, check_stop, limited_to, loading
from specviz.models.memory import ModelCache, packed_bytes, unique_bytes
from specviz.models.served.http_client import is_served
from specviz.models.served.target import served_target
from specviz.models.target import Target
from specviz.settings.suggestion import did_you_mean

if TYPE_CHECKING:
    from specviz.drafters.common.training import Family


MODELS: Final[ModelCache[Checkpoint]] = ModelCache()
HEADS: Final[ModelCache[Drafter]] = ModelCache()
# Maximum number of parameters of a small model. A GPU spends most of the time launching such a
# model's kernels, not reading its memory, so half precision would lose accuracy without saving
# time.
SMALL: Final = 1 << 28
LANGUAGE_MODEL: Final = "specviz.drafters.draft_model:DraftModel"
OTHER_VOCABULARY: Final = "specviz.drafters.other_vocabulary:OtherVocabulary"
BYTES_PER_PARAMETER: Final = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that is in memory now.

    Attributes:
        bytes: Memory that unloading it would free.
        file: Size of its weight files in bytes.
        packed: The part of `bytes` that is packed copies of its matrices.
        rounding: See `Checkpoint`.
    """

    title: str
    device: str
    dtype: str
    bytes: int
    file: int
    packed: int
    rounding: tuple[str, ...] = ()


def loaded_models() -> list[LoadedModel]:
    """Return the checkpoints and heads in this process; memory that they share counts once."""
    models, heads = MODELS.entries(), HEADS.entries()
    bases = [model for _, model in models]
    made = [_describe(model, device, dtype) for (_, device, dtype), model in models]
    for (name, folder, device, dtype, _), head in heads:
        entry = find(name, "drafter")
        title, file = entry.title if entry else name, size_of(head_files(Path(folder)))
        held, packed = unique_bytes([head], bases), packed_bytes([head], bases)
        made.append(LoadedModel(title, device, dtype, held, file, packed))
    return made


def _describe(model: Checkpoint, device: str, dtype: str) -> LoadedModel:
    held, packed = unique_bytes([model], []), packed_bytes([model], [])
    return LoadedModel(model.title, device, dtype, held, model.bytes, packed, model.rounding)


def unload_last() -> LoadedModel | None:
    """Unload the model that was used last.

    Heads that do not ship are also unloaded, because they refer to their targets. Shipped models
    are never unloaded. The result is None if nothing was unloaded.
    """
    while HEADS.drop_newest():
        pass
    dropped = MODELS.drop_newest()
    if dropped is None:
        return None
    (_, device, dtype), model = dropped
    return _describe(model, device, dtype)


def load(
    target: str, drafter: str, device: str | None = None, dtype: str | None = None
) -> tuple[Target, Drafter]:
    """Load a target and a drafter; see load_target and load_drafter."""
    loaded = load_target(target, device, dtype)
    return loaded, load_drafter(drafter, loaded)


def load_target(name: str, device: str | None = None, dtype: str | None = None) -> Target:
    """Load a target.

    Args:
        name: A name in the catalogue, a folder, a GGUF file, a Hub id, or a server's address
            (`vllm:URL`).
        device: A name for `pick_device`. None: the best device of this machine.
        dtype: A name for `pick_dtype`. None: the best for the device; float32 for small models of
            the catalogue.

    Raises:
        NotAvailable: The model is not on this machine and cannot be fetched.
        Unsuitable: This kind of model cannot be used.
        NotEnoughMemory: The model does not fit in memory.
        ServerFault: The server cannot be used as a target.
        ValueError: This machine has no such device, or the dtype is unknown.
    """
    where, entry = pick_device(device), find(name, "target")
    if is_served(name) or (entry is not None and entry.address):
        if process_count() > 1:
            raise Unsuitable(
                f"{name!r} runs on a server, so it cannot be split over processes here."
            )
        address, label = (entry.address, "the host's address") if entry else (name, None)
        return served_target(address, label, where, pick_dtype(where, dtype))
    if dtype is None and entry is not None and entry.parameters < SMALL:
        dtype = "float32"
    found = _checkpoint(name, "target", where, pick_dtype(where, dtype))
    return Target(found.model, found.tokenizer, found.card(public_name(name), "causal-lm"))


def load_drafter(name: str, target: Target) -> Drafter:
    """Load a drafter for `target`, on its device and in its dtype.

    Args:
        name: A name in the catalogue; or a folder or Hub id. These may contain a head in a public
            layout (see `drafters.common.layouts`), or a causal LM, possibly with another tokenizer
            than the target's.
        target: The target to draft for.

    Raises:
        MismatchedVocabulary: Target and drafter cannot be paired.
        ValueError: See load_target.
    """
    drafter = _drafter(name, target)
    check_made_for(name, drafter.made_for, target.card.name, target.card.hash)
    return drafter


def _drafter(name: str, target: Target) -> Drafter:
    entry = find(name, "drafter")
    if entry is None:
        return _load_external(name, target)
    if entry.drafter == LANGUAGE_MODEL:
        return _draft_model(name, target)
    if entry.folder is None:
        drafter: Drafter = _drafter_class(entry.name, entry.drafter).load(entry.name, None, target)
        return drafter
    return _head(entry.name, entry.drafter, _entry_path(entry), target, shipped=True)


def _load_external(name: str, target: Target) -> Drafter:
    path = _external_path(name, "drafter")
    layout = None if is_gguf(path) else layout_in(path)
    if layout is None:
        return _draft_model(name, target)
    return _head(public_name(name), layout.drafter, path, target, shipped=False)


def _drafter_class(name: str, path: str) -> Any:
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise NotAvailable(
            f"The code of {name!r} cannot be imported from {path!r}: {error}"
        ) from error
    if not hasattr(found, "load"):
        raise NotAvailable(f"The code of {name!r} is not a drafter: {path!r} has no `load`.")
    return found


def _draft_model(name: str, target: Target) -> Drafter:
    found = _checkpoint(name, "drafter", target.device, target.dtype)
    title = public_name(name)
    card = found.card(title, "draft-model")
    if not same_vocabulary(target.tokenizer, found.tokenizer):
        drafter: Drafter = resolve_name(OTHER_VOCABULARY).between(
            found.model, card, found.tokenizer, target
        )
        return drafter
    return DraftModel(found.model, card)


def _head(name: str, path: str, folder: Path, target: Target, shipped: bool) -> Drafter:
    # A shipped head is never evicted.
    kind = _drafter_class(name, path)
    copy = (str(target.device), str(target.dtype), str(target.card.hash))
    key = (name, str(folder.resolve()), *copy)
    load = partial(_read_head, kind, name, folder, target)
    return HEADS.get(key, load, shipped, file_version(folder))


def _read_head(kind: Any, name: str, folder: Path, target: Target) -> Drafter:
    # Its network must not have more weights than its files.
    title = folder_label(folder)
    check_stop()
    with loading(name):  # several drafters may share a folder
        begin_stage(WEIGHTS)
        return _read_checked(kind, name, title, folder, target)


def _read_checked(kind: Any, name: str, title: str, folder: Path, target: Target) -> Drafter:
    stored = count_stored(title, head_files(folder))
    check_numbers(title, read_config(title, folder), stored)
    with limited_to(title, stored):
        drafter: Drafter = kind.load(name, folder, target)
    check_stop()
    return drafter


def _checkpoint(name: str, kind: Kind, device: torch.device, dtype: torch.dtype) -> Checkpoint:
    entry = find(name, kind)
    path = _external_path(name, kind) if entry is None else _entry_path(entry)
    key = (str(path.resolve()), str(device), str(dtype))

    def load() -> Checkpoint:
        found = load_checkpoint(public_name(name), path, device, dtype, sharded=kind == "target")
        return found if entry is None else replace(found, title=entry.title)

    return MODELS.get(key, load, entry is not None, file_version(path))


def _external_path(name: str, kind: Kind) -> Path:
    try:
        return find_or_fetch(name)
    except UnknownModel as error:
        raise UnknownModel(f"{error}{suggestion(name, kind)}") from error


def _entry_path(entry: Entry) -> Path:
    path = weights_path(entry)
    if path is None:
        raise NotAvailable(missing_message(entry))
    return path


def unload_and_suggest() -> str:
    """Free memory after it ran out, and suggest models that would fit.

    The model that was used last is unloaded, unless it ships with the app. Its bytes count as free,
    although a run may still use it until the run ends. If no model can be unloaded, the best device
    of this machine is checked. Returns sentences that say which model was unloaded and which models
    would fit.
    """
    unloaded = unload_last()
    where = torch.device(unloaded.device) if unloaded else pick_device(None)
    text = f"{unloaded.title} was unloaded. " if unloaded else ""
    if where.type == "cuda":
        gc.collect()  # a network and its memory refer to each other
        torch.cuda.empty_cache()
    free = free_memory(where)
    if free is None:
        return text
    return text + models_that_fit(free + (unloaded.bytes if unloaded else 0))


def models_that_fit(free: int) -> str:
    """Return a sentence that says which models fit into `free` bytes, counting only weights."""
    sizes = [
        f"{free / each / 1e6:,.0f} million parameters in {name}"
        for name, each in BYTES_PER_PARAMETER.items()
    ]
    here = [e for e in entries() if e.kind == "target" and not e.address and weights_path(e)]
    fits = [each for each in here if each.memory < free]
    largest = max(fits, key=lambda each: each.memory, default=None)
    text = f"About {free / 1e9:.1f} GB are free, enough for at most {' or '.join(sizes)}"
    if largest is None:
        return f"{text}."
    return f"{text}. The largest model on this machine that fits is {largest.title}."


def trainable_heads() -> tuple[str, ...]:
    """Return the names of the heads that can be trained, in the catalogue's order."""
    return tuple(entry.name for entry in entries() if entry.training)


def training_family(name: str) -> Family:
    """Return the training family of a head.

    Raises ValueError if no head of this name can be trained.
    """
    entry = find(name, "drafter")
    if entry is None or not entry.training:
        known = trainable_heads()
        hint = did_you_mean(name, known)
        raise ValueError(f"No head is called {name!r}; choose one of {', '.join(known)}.{hint}")
    found: Family = resolve_name(entry.training)
    return found


def load_head(head: Any, folder: Path, target: Target) -> Any:
    """Load a trained head from `folder` in the same way as the app does."""
    return type(head).load(folder, target)
