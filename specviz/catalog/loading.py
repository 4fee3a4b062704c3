"""From names to a target and a drafter that fit each other.

Rule: weights are read once per process and shared; whatever cannot be used is refused here, with
one of the catalogue's errors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import torch

from specviz.catalog.entry import Entry, Kind, find
from specviz.drafters.blockwise import Blockwise
from specviz.drafters.dflash.drafter import DFlash
from specviz.drafters.draft_model import DraftModel
from specviz.drafters.eagle.drafter import Eagle, Eagle2
from specviz.drafters.eagle.drafter3 import Eagle3
from specviz.drafters.layerskip.drafter import LayerSkip
from specviz.drafters.lmtp import LeapMTP
from specviz.drafters.lookahead.drafter import Lookahead
from specviz.drafters.medusa import Medusa
from specviz.drafters.moa.drafter import Moa
from specviz.drafters.mtp.drafter import MTP
from specviz.drafters.mtp_parallel import ParallelMTP
from specviz.drafters.ngram import NGram
from specviz.drafters.oracle import Oracle
from specviz.drafters.suffix import Suffix
from specviz.drafters.uniform import Uniform
from specviz.engine.protocol import Drafter
from specviz.models.checkpoint import (
    Checkpoint,
    check_made_for,
    check_reach,
    check_vocabularies,
    read,
)
from specviz.models.devices import pick_device, pick_dtype
from specviz.models.errors import NotAvailable
from specviz.models.files import folder_of, public_name, weight_files
from specviz.models.shelf import Shelf
from specviz.models.target import Target

SHELF: Final[Shelf[Checkpoint]] = Shelf()
HEADS: Final[Shelf[Drafter]] = Shelf()


# Drafters without weights of their own, by family, each made for a target.
WEIGHTLESS: Final[dict[str, Callable[[Target], Drafter]]] = {
    "ngram": lambda target: NGram(),
    "suffix": lambda target: Suffix(),
    "layerskip": LayerSkip,
    "lookahead": lambda target: Lookahead(),
    "oracle": Oracle,
    "uniform": lambda target: Uniform(),
}


# Heads, by family: (name to show, folder, target) -> the drafter.
READERS: Final[dict[str, Callable[[str, Path, Target], Drafter]]] = {
    made.name: made.load
    for made in (Eagle, Eagle2, Eagle3, Medusa, Blockwise, MTP, ParallelMTP, LeapMTP, Moa, DFlash)
}


def load(
    target: str, drafter: str, device: str | None = None, dtype: str | None = None
) -> tuple[Target, Drafter]:
    """The target and the drafter of these names: see load_target and load_drafter."""
    loaded = load_target(target, device, dtype)
    return loaded, load_drafter(drafter, loaded)


def load_target(name: str, device: str | None = None, dtype: str | None = None) -> Target:
    """A target: a name of the catalogue, a folder, or a Hub id of a transformers causal LM.

    device, dtype: names as in `devices`, or None for the best here. Raises NotAvailable,
    Unsuitable, NotEnoughMemory, and ValueError for a device or dtype that is not there.
    """
    place = pick_device(device)
    found = _checkpoint(name, "target", place, pick_dtype(place, dtype))
    return Target(found.model, found.tokenizer, found.card(public_name(name), "causal-lm"))


def load_drafter(name: str, target: Target) -> Drafter:
    """A drafter for `target`, on its device and in its dtype.

    name: of the catalogue, or a folder or Hub id of a causal LM with the target's tokenizer.
    Raises what load_target raises, and MismatchedVocabulary.
    """
    drafter = _drafter(name, target)
    check_made_for(name, drafter.made_for, target.card.name, target.card.hash)
    return drafter


def _drafter(name: str, target: Target) -> Drafter:
    entry = find(name, "drafter")
    if entry is not None and entry.folder is None:
        return WEIGHTLESS[entry.family](target)
    if entry is not None and entry.family in READERS:
        return _head(entry, target)
    found = _checkpoint(name, "drafter", target.model.device, target.model.dtype)
    title, other = public_name(name), target.card.name
    check_vocabularies(other, target.tokenizer, title, found.tokenizer)
    check_reach(title, found.model.config, other, target.max_length)
    return DraftModel(found.model, found.card(title, "draft-model"))


def _head(entry: Entry, target: Target) -> Drafter:
    """The shared head of a catalogue entry, read for this target."""
    folder = _shipped(entry)
    place = (str(target.device), str(target.dtype), str(target.card.hash))
    key = (entry.name, str(folder.resolve()), *place)
    return HEADS.get(key, lambda: READERS[entry.family](entry.name, folder, target), house=True)


def _checkpoint(name: str, kind: Kind, device: torch.device, dtype: torch.dtype) -> Checkpoint:
    """The shared checkpoint of a name."""
    entry = find(name, kind)
    folder = folder_of(name) if entry is None else _shipped(entry)
    key = (str(folder.resolve()), str(device), str(dtype))
    return SHELF.get(key, lambda: read(public_name(name), folder, device, dtype), entry is not None)


def _shipped(entry: Entry) -> Path:
    """The folder of a catalogue entry. Raises NotAvailable where this copy lacks its weights."""
    if entry.path is None or not weight_files(entry.path):
        raise NotAvailable(
            f"{entry.name!r} is not on this machine: its weights belong in assets/{entry.folder}."
        )
    return entry.path
