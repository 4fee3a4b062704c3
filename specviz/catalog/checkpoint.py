"""Reads one transformers checkpoint from a folder: weights, tokenizer and fingerprint.

Rule: files may come from anyone, so no code of theirs is ever run (no remote code, no free
pickles), a checkpoint that lacks weights is refused rather than filled up by chance, and every
fault leaves as one sentence.
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

from specviz.catalog.errors import Unsuitable
from specviz.catalog.files import fingerprint, size_of, weight_files
from specviz.catalog.suitable import check_config, check_model
from specviz.devices import NotEnoughMemory, ran_out_of_memory
from specviz.packed import pack
from specviz.trace import ModelCard


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model in memory, shared by all who use it. bytes, hash: of its weight files."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    parameters: int
    bytes: int
    hash: str | None

    def card(self, name: str, family: str) -> ModelCard:
        """What a trace says of it when it goes by `name`."""
        return ModelCard(name, family, self.parameters, self.bytes, self.hash)


def read(name: str, folder: Path, device: torch.device, dtype: torch.dtype) -> Checkpoint:
    """Load the model in `folder`; errors call it `name`. Raises Unsuitable, NotEnoughMemory."""
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        check_config(name, config)
        model = _weights(name, folder, config, dtype)
        check_model(name, model)
        model = model.eval().requires_grad_(False).to(device)
        pack(model)
        tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        _warm_up(model)
    except Unsuitable:
        raise
    except Exception as error:  # a damaged file can raise anything
        raise _sentence(name, error, device) from error
    files = weight_files(folder)
    parameters = sum(p.numel() for p in model.parameters())
    return Checkpoint(model, tokenizer, parameters, size_of(files), fingerprint(files))


def _weights(
    name: str, folder: Path, config: PreTrainedConfig, dtype: torch.dtype
) -> PreTrainedModel:
    """The network with its weights. Raises Unsuitable where the files lack some."""
    logging.disable_progress_bar()  # a command's standard error holds sentences for a person
    logging.set_verbosity_error()
    from_pretrained: Any = AutoModelForCausalLM.from_pretrained  # the stubs know one return only
    model, info = from_pretrained(
        folder,
        config=config,
        dtype=dtype,
        local_files_only=True,
        trust_remote_code=False,
        weights_only=True,
        ignore_mismatched_sizes=True,  # said below, in our words
        output_loading_info=True,
    )
    if missing := sorted(info["missing_keys"]):
        raise Unsuitable(
            f"{name!r} lacks {len(missing)} of its weights, such as {missing[0]}; "
            "they would be random."
        )
    if other := sorted(key for key, *_ in info["mismatched_keys"]):
        raise Unsuitable(f"{name!r} has weights of other shapes than its config says: {other[0]}.")
    assert isinstance(model, PreTrainedModel)
    return model


def _warm_up(model: PreTrainedModel) -> None:
    """One pass, since the first of a process pays for set-up that no measured run should."""
    with torch.inference_mode():
        model(input_ids=torch.zeros(1, 2, dtype=torch.long, device=model.device))


def _sentence(name: str, error: Exception, device: torch.device) -> ValueError:
    """What went wrong while loading, for a person."""
    if ran_out_of_memory(error):
        return NotEnoughMemory(f"{name!r} does not fit in the memory of this {device.type}.")
    if "trust_remote_code" in str(error):
        return Unsuitable(f"{name!r} brings program code of its own, which is never run here.")
    if isinstance(error, UnpicklingError):
        return Unsuitable(f"{name!r} has more than plain weights in its pickle; none is loaded.")
    reason = str(error).strip().split("\n")[0]
    return Unsuitable(f"{name!r} could not be loaded: {reason or type(error).__name__}")
