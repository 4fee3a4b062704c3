"""Construct networks without initializing weights, or split over processes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from importlib import import_module
from typing import Any

from specviz.adapters.warning import warn_once


def without_initialization() -> AbstractContextManager[None]:
    """Leave the weights of models that are created in this context uninitialized.

    transformers does not document this. Otherwise, random weights are sampled and then overwritten,
    which takes minutes for billions of parameters.
    """
    try:
        found: AbstractContextManager[None] = import_module(
            "transformers.initialization"
        ).no_init_weights()
    except (ImportError, AttributeError):
        warn_once("transformers cannot skip initializing weights: large random models take longer.")
        return nullcontext()
    return found


def tensor_parallel_options() -> dict[str, Any]:
    """Return arguments of `from_pretrained` with which each process loads a part of every layer.

    The config class is not documented. If it does not exist or has no field `tp_plan`, the older
    argument `tp_plan` is used.
    """
    try:
        config: Any = import_module(
            "transformers.distributed.configuration_utils"
        ).DistributedConfig
        known = {field.name for field in fields(config)}
    except (ImportError, AttributeError, TypeError):
        known = set()
    if "tp_plan" not in known:
        return {"tp_plan": "auto"}
    return {"distributed_config": config(tp_plan="auto")}
