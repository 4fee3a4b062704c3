"""Reads one checkpoint, a folder of transformers or a GGUF file: weights, tokenizer, fingerprint.

Rule: files may come from anyone, so no code of theirs is ever run (no remote code, no free
pickles), a checkpoint that lacks weights is refused rather than filled up by chance, and every
fault leaves as one sentence.

Which models and pairs can take part is checked here, when they are loaded, not in the middle of a
run: a rejected guess must leave no trace in the cache of the target, and a token id must mean the
same to both models.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from specviz.adapters.transformers import (
    attends_in_chunks,
    biases_by_distance,
    divide_frequencies,
    has_plain_cache,
    keeps_state,
    plans_plain_cache,
    takes_tree_nodes,
)
from specviz.models.config_file import check_folder, check_numbers, read_config
from specviz.models.devices import NotEnoughMemory, ran_out_of_memory
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.files import Stopped, fingerprint, is_gguf, size_of, weight_files
from specviz.models.kv_cache import PreallocatedCache
from specviz.models.load_progress import NETWORK, PRODUCTS, TOKENIZER, WARM_UP, begin, loading
from specviz.models.masks import context_length, layer_masks
from specviz.models.network import prepare
from specviz.models.norms import fuse_norms
from specviz.models.parallel import process_count, sharding_options
from specviz.models.weight_budget import begin_weights, check_size, check_stop
from specviz.models.weight_files import count_stored, pickle_error
from specviz.trace.events import ModelCard

# The SHA-256 of the one target's weights that a drafter fits, or of each that it does: the same
# weights are published rounded in several ways. None: whoever fits by shape.
MadeFor = str | tuple[str, ...] | None


def check_config(name: str, config: PreTrainedConfig) -> None:
    """Raise Unsuitable for a kind of network that cannot score a tree, or forget a rejected guess.

    A sliding window is no hindrance: see `masks`.
    """
    if config.is_encoder_decoder:
        raise Unsuitable(f"{name!r} has an encoder and a decoder; only decoders can be used here.")
    if biases_by_distance(config):
        raise Unsuitable(
            f"{name!r} biases attention by distance (ALiBi), which cannot be computed for the "
            "nodes of a tree; only models that are given positions can be used here."
        )
    if attends_in_chunks(config):
        raise Unsuitable(
            f"{name!r} attends within chunks of the text, as Llama 4 does; attention masks that do "
            "so for the nodes of a tree are not built here."
        )
    if not plans_plain_cache(config):
        raise Unsuitable(_stateful(name))


def check_model(name: str, model: PreTrainedModel) -> None:
    """Raise Unsuitable for a network that keeps a state, or takes no explicit positions."""
    if keeps_state(model):
        raise Unsuitable(_stateful(name))
    if not takes_tree_nodes(model):
        raise Unsuitable(
            f"{name!r} cannot be given positions and a cache, which the nodes of a tree need."
        )


def _stateful(name: str) -> str:
    return (
        f"{name!r} keeps a running state, which cannot be rolled back when a guess is rejected; "
        "only models with a plain key-value cache can be used here."
    )


def same_vocabulary(one: PreTrainedTokenizerBase, other: PreTrainedTokenizerBase) -> bool:
    """Whether every token id is the same token for both."""
    same: bool = one.get_vocab() == other.get_vocab()
    return same


def check_reach(drafter: str, model: PreTrainedModel, target: str, length: int) -> None:
    """Raise Unsuitable where the drafter cannot see as many tokens as a run of the target has."""
    sees = context_length(model)
    if sees is not None and sees < length:
        raise Unsuitable(
            f"{drafter!r} sees {sees:,} tokens at most; a run of {target!r} can have {length:,}."
        )


def check_made_for(drafter: str, made_for: MadeFor, target: str, hash: str | None) -> None:
    """Raise Unsuitable where a drafter was made for a target with other weights."""
    fits = (made_for,) if isinstance(made_for, str) else made_for
    if fits is not None and hash not in fits:
        needed = " or ".join(f"{each[:12]}…" for each in fits)
        raise Unsuitable(
            f"{drafter!r} was made for another target than {target!r}: it needs the weights with "
            f"SHA-256 {needed}, and these have {hash[:12] + '…' if hash else 'none'}."
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model in memory, shared by all who use it. bytes, hash: of its weight files.

    title: what people call it. rounding: the kinds of weights of its GGUF file, such as Q4_K; empty
    where it is no such file.
    """

    title: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    parameters: int
    bytes: int
    hash: str | None
    rounding: tuple[str, ...]

    def card(self, name: str, family: str) -> ModelCard:
        """What a trace says of it when it goes by `name`."""
        return ModelCard(name, family, self.parameters, self.bytes, self.hash)


def read(
    name: str, place: Path, device: torch.device, dtype: torch.dtype, cut: bool = False
) -> Checkpoint:
    """Load the model in `place`, a folder or a GGUF file; errors call it `name`.

    cut: over the processes that share it, where there are several. Raises Unsuitable,
    NotEnoughMemory, and within `weight_budget.stoppable` Stopped.
    """
    with loading(name):
        return _read(name, place, device, dtype, cut)


def _read(
    name: str, place: Path, device: torch.device, dtype: torch.dtype, cut: bool
) -> Checkpoint:
    try:
        model, tokenizer, rounding = (_of_file if is_gguf(place) else _of_folder)(
            name, place, dtype, cut
        )
        check_model(name, model)
        ready(name, model, device)
    except (Unsuitable, NotAvailable, Stopped):
        raise
    except Exception as error:  # a damaged file can raise anything
        raise _sentence(name, error, device) from error
    files = weight_files(place)
    check_stop()
    parameters = sum(p.numel() for p in model.parameters())
    size, hash = size_of(files), fingerprint(files)
    return Checkpoint(name, model, tokenizer, parameters, size, hash, rounding)


Read = tuple[PreTrainedModel, PreTrainedTokenizerBase, tuple[str, ...]]


def _of_folder(name: str, folder: Path, dtype: torch.dtype, cut: bool) -> Read:
    """The network and the tokenizer of a folder in transformers' layout."""
    config, weights = _checked_config(name, folder)
    begin(TOKENIZER)
    tokenizer = AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    load: Any = AutoModelForCausalLM.from_pretrained  # the stubs know one return only
    check_stop()
    begin_weights(weights * dtype.itemsize)
    model = _weights(
        name,
        load,
        folder,
        config=config,
        dtype=dtype,
        local_files_only=True,
        trust_remote_code=False,
        weights_only=True,
        **(sharding_options(name, config) if cut else {}),
    )
    return model, tokenizer, ()


def _checked_config(name: str, folder: Path) -> tuple[PreTrainedConfig, int]:
    """A folder's config and number of weights, once its files are known to hold so many.

    Raises Unsuitable, NotAvailable.
    """
    check_folder(name, folder)
    plain = read_config(name, folder)
    if plain.get("transformers_weights") is not None:
        raise Unsuitable(f"{name!r} names its weight file in its config, which is not read here.")
    held = count_stored(name, weight_files(folder), quantized="quantization_config" in plain)
    check_numbers(name, plain, held)
    check_stop()
    config: PreTrainedConfig = AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    check_config(name, config)
    weights = check_size(name, config, AutoModelForCausalLM.from_config, held)
    check_stop()
    return config, weights


def _of_file(name: str, path: Path, dtype: torch.dtype, cut: bool) -> Read:
    """The network and the tokenizer of a GGUF file, its weights in full precision again."""
    from specviz.models.gguf.model import read_model  # a package that nothing else needs

    if cut and process_count() > 1:
        raise Unsuitable(f"{name!r} is a GGUF file, which is not cut up over processes.")
    parts = read_model(name, path)
    check_config(name, parts.config)
    begin(NETWORK)
    load: Any = parts.network.from_pretrained
    model = _weights(name, load, None, config=parts.config, dtype=dtype, state_dict=parts.tensors)
    if left := sorted(parts.tensors.keys() - model.state_dict().keys()):
        raise Unsuitable(f"{name!r} has more weights than its config says, such as {left[0]}.")
    model.generation_config = parts.generation
    if parts.rope_factors is not None:
        divide_frequencies(model, parts.rope_factors)
    return model, parts.tokenizer, parts.kinds


def _weights(name: str, load: Any, *place: Any, **options: Any) -> Any:
    """The network with its weights. Raises Unsuitable where some are missing or of other shapes.

    load: a `from_pretrained`, which is given the rest.
    """
    logging.disable_progress_bar()  # a command's standard error holds sentences for a person
    logging.set_verbosity_error()
    mismatched = {"ignore_mismatched_sizes": True}  # said below, in our words
    model, info = load(*place, **options, **mismatched, output_loading_info=True)
    if missing := sorted(info["missing_keys"]):
        raise Unsuitable(
            f"{name!r} lacks {len(missing)} of its weights, such as {missing[0]}; "
            "they would be random."
        )
    if other := sorted(key for key, *_ in info["mismatched_keys"]):
        raise Unsuitable(f"{name!r} has weights of other shapes than its config says: {other[0]}.")
    return model


def ready(name: str, model: PreTrainedModel, device: torch.device) -> None:
    """Move a network to its device, freeze it, lay it out for speed, and warm it up.

    The warm-up is one pass with a cache, which also shows that the cache can be rolled back.
    Raises Unsuitable, with `name`, where it cannot.
    """
    check_stop()
    fuse_norms(model, device)
    model.eval().requires_grad_(False).to(device)
    check_stop()
    begin(PRODUCTS)
    prepare(model)
    check_stop()
    begin(WARM_UP)
    if not has_plain_cache(model, PreallocatedCache()):
        raise Unsuitable(_stateful(name))
    layer_masks(model)  # tried once, before others use the model


def _sentence(name: str, error: Exception, device: torch.device) -> ValueError:
    """What went wrong while loading, for a person."""
    if ran_out_of_memory(error):
        return NotEnoughMemory(f"{name!r} does not fit in the memory of this {device.type}.")
    if "trust_remote_code" in str(error):
        return Unsuitable(f"{name!r} brings program code of its own, which is never run here.")
    if isinstance(error, UnpicklingError):
        return pickle_error(name)
    reason = str(error).strip().split("\n")[0]
    return Unsuitable(f"{name!r} could not be loaded: {reason or type(error).__name__}")
