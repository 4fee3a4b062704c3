"""From names to a target and a drafter that fit each other.

Rule: weights are read once per process and shared; whatever cannot be used is refused here, with
one of the catalogue's errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import torch

from specviz.catalog.entry import Entry, Kind, find, missing_message, suggestion, weights_path
from specviz.drafters.draft_model import DraftModel
from specviz.drafters.kit.layouts.table import layout_in
from specviz.engine.protocol import Drafter
from specviz.models.checkpoint import (
    Checkpoint,
    check_made_for,
    check_reach,
    read,
    same_vocabulary,
)
from specviz.models.config_file import check_numbers, read_config
from specviz.models.devices import pick_device, pick_dtype
from specviz.models.errors import NotAvailable, UnknownModel, Unsuitable
from specviz.models.files import find_or_fetch, folder_label, head_files, is_gguf, public_name
from specviz.models.load_progress import WEIGHTS, begin, loading
from specviz.models.memory import unique_bytes
from specviz.models.model_cache import ModelCache
from specviz.models.parallel import process_count
from specviz.models.served.address import is_served
from specviz.models.served.target import served
from specviz.models.target import Target
from specviz.models.weight_budget import check_stop, limited_to
from specviz.models.weight_headers import count_stored

MODELS: Final[ModelCache[Checkpoint]] = ModelCache()
HEADS: Final[ModelCache[Drafter]] = ModelCache()
SMALL: Final = 1 << 28  # weights; a GPU waits for its host to launch such a model's ops, not for
# its memory, so half precision would save no time and cost exactness
LANGUAGE_MODEL: Final = "specviz.drafters.draft_model:DraftModel"
OTHER_VOCABULARY: Final = "specviz.drafters.other_vocabulary.drafter:OtherVocabulary"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What is in memory now. bytes: that would be free without it. rounding: see `Checkpoint`."""

    title: str
    device: str
    dtype: str
    bytes: int
    rounding: tuple[str, ...] = ()


def loaded_models() -> list[LoadedModel]:
    """The checkpoints and the heads that this process keeps; blocks that both have count once."""
    models, heads = MODELS.kept(), HEADS.kept()
    bases = [model for _, model in models]
    made = [
        LoadedModel(model.title, device, dtype, unique_bytes([model], []), model.rounding)
        for (_, device, dtype), model in models
    ]
    for (name, _, device, dtype, _), head in heads:
        entry = find(name, "drafter")
        made.append(
            LoadedModel(entry.title if entry else name, device, dtype, unique_bytes([head], bases))
        )
    return made


def unload_last() -> LoadedModel | None:
    """Forget the model that was used last and all guests' heads, which hold on to their targets.

    The house's models stay; None where nothing else is loaded.
    """
    while HEADS.drop_newest():
        pass
    gone = MODELS.drop_newest()
    if gone is None:
        return None
    (_, device, dtype), model = gone
    return LoadedModel(model.title, device, dtype, unique_bytes([model], []), model.rounding)


def load(
    target: str, drafter: str, device: str | None = None, dtype: str | None = None
) -> tuple[Target, Drafter]:
    """The target and the drafter of these names: see load_target and load_drafter."""
    loaded_models = load_target(target, device, dtype)
    return loaded_models, load_drafter(drafter, loaded_models)


def load_target(name: str, device: str | None = None, dtype: str | None = None) -> Target:
    """A target: a name of the catalogue, a folder, a GGUF file, a Hub id, or a server's address.

    device, dtype: names as in `devices`, or None for the best here; the catalogue's small models
    are in float32 on every device. Raises NotAvailable, Unsuitable, NotEnoughMemory, and ValueError
    for a device or dtype that is not there; of a server (`vllm:URL`), ServerFault.
    """
    place, entry = pick_device(device), find(name, "target")
    if is_served(name) or (entry is not None and entry.address):
        if process_count() > 1:
            raise Unsuitable(f"{name!r} is at a server, which cuts its models up by itself.")
        address, label = (entry.address, "the host's address") if entry else (name, None)
        return served(address, label, place, pick_dtype(place, dtype))
    if dtype is None and entry is not None and entry.parameters < SMALL:
        dtype = "float32"
    found = _checkpoint(name, "target", place, pick_dtype(place, dtype))
    return Target(found.model, found.tokenizer, found.card(public_name(name), "causal-lm"))


def load_drafter(name: str, target: Target) -> Drafter:
    """A drafter for `target`, on its device and in its dtype.

    name: of the catalogue, or a folder or Hub id of a head in a public layout (see
    `drafters.kit.layouts`) or of a causal LM, whose tokenizer may be another than the target's.
    Raises what load_target raises, and MismatchedVocabulary.
    """
    drafter = _drafter(name, target)
    check_made_for(name, drafter.made_for, target.card.name, target.card.hash)
    return drafter


def _drafter(name: str, target: Target) -> Drafter:
    entry = find(name, "drafter")
    if entry is None:
        return _guest(name, target)
    if entry.drafter == LANGUAGE_MODEL:
        return _draft_model(name, target)
    if entry.folder is None:
        drafter: Drafter = _kind(entry.name, entry.drafter).load(entry.name, None, target)
        return drafter
    return _head(entry.name, entry.drafter, _here(entry), target, house=True)


def _guest(name: str, target: Target) -> Drafter:
    """What a folder or the Hub has under this name: a head, by its layout, or a causal LM."""
    place = _place_of(name, "drafter")
    layout = None if is_gguf(place) else layout_in(place)
    if layout is None:
        return _draft_model(name, target)
    return _head(public_name(name), layout.drafter, place, target, house=False)


def _kind(name: str, path: str) -> Any:
    """The class that a path names. Raises NotAvailable where its code cannot be found."""
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise NotAvailable(
            f"The code of {name!r} is not on this machine: {path!r}: {error}"
        ) from error
    if not hasattr(found, "load"):
        raise NotAvailable(f"The code of {name!r} is no drafter: {path!r} has no load.")
    return found


def _draft_model(name: str, target: Target) -> Drafter:
    """A causal LM of the catalogue, of a folder or of the Hub."""
    found = _checkpoint(name, "drafter", target.device, target.dtype)
    title, other = public_name(name), target.card.name
    card = found.card(title, "draft-model")
    if not same_vocabulary(target.tokenizer, found.tokenizer):
        drafter: Drafter = resolve_name(OTHER_VOCABULARY).between(
            found.model, card, found.tokenizer, target
        )
        return drafter
    check_reach(title, found.model, other, target.max_length)
    return DraftModel(found.model, card)


def _head(name: str, path: str, folder: Path, target: Target, house: bool) -> Drafter:
    """The shared head in a folder, read for this target. path: of its drafter's class."""
    kind = _kind(name, path)
    place = (str(target.device), str(target.dtype), str(target.card.hash))
    key = (name, str(folder.resolve()), *place)
    return HEADS.get(key, partial(_read_head, kind, name, folder, target), house=house)


def _read_head(kind: Any, name: str, folder: Path, target: Target) -> Drafter:
    """A head, which may have no more weights than its files hold. Raises Unsuitable, Stopped."""
    title = folder_label(folder)
    check_stop()
    with loading(title):
        begin(WEIGHTS)
        return _read_parts(kind, name, title, folder, target)


def _read_parts(kind: Any, name: str, title: str, folder: Path, target: Target) -> Drafter:
    """See `_read_head`. title: what errors call it."""
    stored = count_stored(title, head_files(folder))
    check_numbers(title, read_config(title, folder), stored)
    with limited_to(title, stored):
        drafter: Drafter = kind.load(name, folder, target)
    check_stop()
    return drafter


def _checkpoint(name: str, kind: Kind, device: torch.device, dtype: torch.dtype) -> Checkpoint:
    """The shared checkpoint of a name."""
    entry = find(name, kind)
    place = _place_of(name, kind) if entry is None else _here(entry)
    key, cut = (str(place.resolve()), str(device), str(dtype)), kind == "target"

    def load() -> Checkpoint:
        found = read(public_name(name), place, device, dtype, cut)
        return found if entry is None else replace(found, title=entry.title)

    return MODELS.get(key, load, entry is not None)


def _place_of(name: str, kind: Kind) -> Path:
    """Where a model is that the catalogue lacks. Raises NotAvailable, with a suggestion."""
    try:
        return find_or_fetch(name)
    except UnknownModel as error:
        raise UnknownModel(f"{error}{suggestion(name, kind)}") from error


def _here(entry: Entry) -> Path:
    """Where a catalogue entry's weights are. Raises NotAvailable where this machine lacks them."""
    place = weights_path(entry)
    if place is None:
        raise NotAvailable(missing_message(entry))
    return place
