"""Medusa's heads: FasterDecoding's `{i}.{j}.linear.*` and `{i}.{layers}.weight`, and vLLM's names.

TGI's second version is FasterDecoding's without the projections: all heads end in the target's.
vLLM: `blocks.{i}.layers.{j}.*` and `lm_heads.{i}.weight`, or one `lm_head.weight` for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import torch

from specviz.drafters.kit.layouts.layout import Head, Layout, Names, any_is

BLOCK: Final = r"^blocks\.(\d+)\.layers\.(\d+)\."


def _fasterdecoding(config: Mapping[str, Any], names: Names) -> bool:
    return any_is(r"\d+\.\d+\.linear\.", names)


def _vllm(config: Mapping[str, Any], names: Names) -> bool:
    return any_is(r"(medusa_heads\.)?blocks\.\d+\.layers\.\d+\.", names)


def from_vllm(head: Head) -> Head:
    """FasterDecoding's names; a block that has no bias is one whose bias is 0."""
    layers = head.config.get("num_hidden_layers", head.config.get("medusa_num_layers", 1))
    many = head.config.get("num_heads", head.config.get("medusa_num_heads", 1))
    head = head.renamed((r"^medusa_heads\.", ""), (BLOCK, r"\1.\2.linear."))
    head = head.renamed((r"^lm_heads\.(\d+)\.", rf"\1.{layers}."))
    tensors = dict(head.tensors)
    blocks = [name for name in tensors if any_is(r"\d+\.\d+\.linear\.weight$", [name])]
    for name in blocks:
        bias = name.removesuffix("weight") + "bias"
        tensors.setdefault(bias, torch.zeros(len(tensors[name]), dtype=tensors[name].dtype))
    if (shared := tensors.pop("lm_head.weight", None)) is not None:
        for number in {name.split(".")[0] for name in blocks}:
            tensors[f"{number}.{layers}.weight"] = shared
    made = replace(head, tensors=tensors)
    return made.with_config(medusa_num_layers=layers, medusa_num_heads=many)


DRAFTER: Final = "specviz.drafters.medusa:Medusa"
LAYOUTS = (
    Layout("Medusa (FasterDecoding, TGI)", "medusa", DRAFTER, _fasterdecoding),
    Layout("Medusa (vLLM)", "medusa", DRAFTER, _vllm, from_vllm),
)
