"""Load one checkpoint, a folder of transformers or a GGUF file: weights, tokenizer, fingerprint.

Files may come from anyone, so their code is never run (no remote code, no unrestricted pickles). A
checkpoint in which weights are missing is refused; transformers would fill in random ones. Every
error message is one sentence.

Models and pairs are checked when they are loaded, not in the middle of a run: it must be possible
to remove a rejected token from the target's cache, and a token id must mean the same to both
models.
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
from specviz.models.attention import PreallocatedCache, layer_masks
from specviz.models.bounded_encoding import check_loading
from specviz.models.devices import (
    NotEnoughMemory,
    process_count,
    ran_out_of_memory,
    sharding_options,
)
from specviz.models.errors import NotAvailable, Stopped, Unsuitable, is_panic
from specviz.models.fast_layers import fuse_norms
from specviz.models.file_checks import (
    check_folder,
    check_numbers,
    count_stored,
    pickle_error,
    read_config,
)
from specviz.models.files import fingerprint, is_gguf, size_of, weight_files
from specviz.models.load_control import (
    NETWORK,
    PRODUCTS,
    TOKENIZER,
    WARM_UP,
    begin_stage,
    begin_weights,
    check_size,
    check_stop,
    loading,
)
from specviz.models.network import prepare
from specviz.trace.events import ModelCard

# Allowed SHA-256 hashes of the target's weights. There may be several, because the same weights are
# published in several precisions. None: any target of a suitable shape.
MadeFor = str | tuple[str, ...] | None


def check_config(name: str, config: PreTrainedConfig) -> None:
    """Check that a network can score a tree and roll back tokens.

    Raises Unsuitable if not; the message says why.
    """
    if config.is_encoder_decoder:
        raise Unsuitable(f"{name!r} has an encoder and a decoder; only decoders can be used.")
    if config.model_type.endswith("_assistant"):  # transformers' name for such drafters
        raise Unsuitable(
            f"{name!r} is no model of its own: it attends to the keys and values of its target, "
            "as Gemma 4's assistants do, and no drafter here reads a target's cache that way."
        )
    if biases_by_distance(config):
        raise Unsuitable(
            f"{name!r} biases attention by distance (ALiBi), which cannot be computed for the "
            "nodes of a tree; only models that take positions can be used."
        )
    if attends_in_chunks(config):
        raise Unsuitable(
            f"{name!r} attends within chunks of the text, as Llama 4 does; attention masks for "
            "that are not supported for the nodes of a tree."
        )
    if not plans_plain_cache(config):
        raise Unsuitable(_stateful(name))


def check_model(name: str, model: PreTrainedModel) -> None:
    """Check that a network keeps no state and takes explicit positions.

    Raises Unsuitable if the network does not.
    """
    if keeps_state(model):
        raise Unsuitable(_stateful(name))
    if not takes_tree_nodes(model):
        raise Unsuitable(
            f"{name!r} does not take positions and a cache, which the nodes of a tree need."
        )


def _stateful(name: str) -> str:
    return (
        f"{name!r} keeps a recurrent state, which cannot be rolled back when a token is rejected; "
        "only models with a plain key-value cache can be used."
    )


def same_vocabulary(one: PreTrainedTokenizerBase, other: PreTrainedTokenizerBase) -> bool:
    """Return whether every token id means the same token in both vocabularies."""
    same: bool = one.get_vocab() == other.get_vocab()
    return same


def check_made_for(drafter: str, made_for: MadeFor, target: str, hash: str | None) -> None:
    """Check that a drafter was made for this target, whose hash is listed.

    Raises Unsuitable if it was made for other weights.
    """
    fits = (made_for,) if isinstance(made_for, str) else made_for
    if fits is not None and hash not in fits:
        needed = " or ".join(f"{each[:12]}…" for each in fits)
        raise Unsuitable(
            f"{drafter!r} was made for another target than {target!r}: it needs the weights with "
            f"SHA-256 {needed}, and these have {hash[:12] + '…' if hash else 'none'}."
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model in memory, shared by all runs. rounding: quantization types, if it is a GGUF file."""

    title: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    parameters: int
    bytes: int
    hash: str | None
    rounding: tuple[str, ...]

    def card(self, name: str, family: str) -> ModelCard:
        """Return the trace's description of this model under `name`."""
        return ModelCard(name, family, self.parameters, self.bytes, self.hash)


def load_checkpoint(
    name: str, path: Path, device: torch.device, dtype: torch.dtype, sharded: bool = False
) -> Checkpoint:
    """Load a model.

    Raises Unsuitable if it cannot be used; NotEnoughMemory if it does not fit in memory; Stopped
    if, within `weight_budget.stoppable`, the load was stopped.

    Args:
        name: The model's name, for errors.
        path: Its folder or its GGUF file.
        device: The device to load it on.
        dtype: The precision to load it in.
        sharded: Whether to split it over the processes of a tensor-parallel run.
    """
    with loading(name):
        return _read(name, path, device, dtype, sharded)


def _read(
    name: str, path: Path, device: torch.device, dtype: torch.dtype, sharded: bool
) -> Checkpoint:
    try:
        model, tokenizer, rounding = (_load_gguf if is_gguf(path) else _load_folder)(
            name, path, dtype, sharded
        )
        check_model(name, model)
        prepare_model(name, model, device)
    except (Unsuitable, NotAvailable, Stopped):
        raise
    except BaseException as error:  # a damaged file can raise any exception
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise _load_error(name, error, device) from error
    files = weight_files(path)
    check_stop()
    parameters = sum(p.numel() for p in model.parameters())
    size, hash = size_of(files), fingerprint(files)
    return Checkpoint(name, model, tokenizer, parameters, size, hash, rounding)


Read = tuple[PreTrainedModel, PreTrainedTokenizerBase, tuple[str, ...]]


def _load_folder(name: str, folder: Path, dtype: torch.dtype, sharded: bool) -> Read:
    config, weights = _checked_config(name, folder)
    begin_stage(TOKENIZER)
    check_loading(name, folder)
    tokenizer = AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    load: Any = (
        AutoModelForCausalLM.from_pretrained
    )  # the type stubs declare only one of the function's return types
    check_stop()
    begin_weights(weights * dtype.itemsize)
    model = _load_weights(
        name,
        load,
        folder,
        config=config,
        dtype=dtype,
        local_files_only=True,
        trust_remote_code=False,
        weights_only=True,
        **(sharding_options(name, config) if sharded else {}),
    )
    return model, tokenizer, ()


def _checked_config(name: str, folder: Path) -> tuple[PreTrainedConfig, int]:
    check_folder(name, folder)
    plain = read_config(name, folder)
    if plain.get("transformers_weights") is not None:
        raise Unsuitable(f"{name!r} names its weight file in its config, which is not supported.")
    stored = count_stored(name, weight_files(folder), quantized="quantization_config" in plain)
    check_numbers(name, plain, stored)
    check_stop()
    config: PreTrainedConfig = AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    check_config(name, config)
    weights = check_size(name, config, AutoModelForCausalLM.from_config, stored)
    check_stop()
    return config, weights


def _load_gguf(name: str, path: Path, dtype: torch.dtype, sharded: bool) -> Read:
    from specviz.models.gguf import read_model  # imports the package gguf, which nothing else needs

    if sharded and process_count() > 1:
        raise Unsuitable(f"{name!r} is a GGUF file, which cannot be split over processes.")
    parts = read_model(name, path)
    check_config(name, parts.config)
    begin_stage(NETWORK)
    load: Any = parts.network.from_pretrained
    model = _load_weights(
        name, load, None, config=parts.config, dtype=dtype, state_dict=parts.tensors
    )
    if left := sorted(parts.tensors.keys() - model.state_dict().keys()):
        raise Unsuitable(f"{name!r} has more weights than its config says, such as {left[0]}.")
    model.generation_config = parts.generation
    if parts.rope_factors is not None:
        divide_frequencies(model, parts.rope_factors)
    return model, parts.tokenizer, parts.kinds


def _load_weights(name: str, load: Any, *path: Any, **options: Any) -> Any:
    logging.disable_progress_bar()  # standard error of a command contains only readable sentences
    logging.set_verbosity_error()
    mismatched = {"ignore_mismatched_sizes": True}  # reported below as an error
    model, info = load(*path, **options, **mismatched, output_loading_info=True)
    if missing := sorted(info["missing_keys"]):
        raise Unsuitable(
            f"{name!r} lacks {len(missing)} of its weights, such as {missing[0]}; "
            "they would be random."
        )
    if other := sorted(key for key, *_ in info["mismatched_keys"]):
        raise Unsuitable(f"{name!r} has weights of other shapes than its config says: {other[0]}.")
    return model


def prepare_model(name: str, model: PreTrainedModel, device: torch.device) -> None:
    """Move a network to its device, arrange its weights, and warm it up.

    Raises Unsuitable if the cache cannot be rolled back.
    """
    check_stop()
    fuse_norms(model, device)
    model.eval().requires_grad_(False).to(device)
    check_stop()
    begin_stage(PRODUCTS)
    prepare(model)
    check_stop()
    begin_stage(WARM_UP)
    if not has_plain_cache(model, PreallocatedCache()):
        raise Unsuitable(_stateful(name))
    layer_masks(model)  # this runs a pass, so it must be done before the model is shared


def _load_error(name: str, error: BaseException, device: torch.device) -> ValueError:
    if ran_out_of_memory(error):
        return NotEnoughMemory(f"{name!r} does not fit in the memory of this {device.type}.")
    if "trust_remote_code" in str(error):
        return Unsuitable(f"{name!r} needs program code of its own, which is never run here.")
    if isinstance(error, UnpicklingError):
        return pickle_error(name)
    reason = str(error).strip().split("\n")[0]
    return Unsuitable(f"{name!r} could not be loaded: {reason or type(error).__name__}")
