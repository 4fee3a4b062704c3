"""Layouts of Medusa's heads, and of families with one published layout, which is also ours.

Medusa: FasterDecoding's `{i}.{j}.linear.*` and `{i}.{layers}.weight`. TGI's second version leaves
out the projections: all heads use the target's. vLLM: `blocks.{i}.layers.{j}.*` and
`lm_heads.{i}.weight`, or one `lm_head.weight` for all.

DFlash: z-lab's. MTP: DeepSeek-V3's modules, without the model that they were trained with. L-MTP,
Mixture of Attentions and Meta's parallel heads: their authors'. Blockwise heads were never
published; their names are tensor2tensor's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import torch

from specviz.drafters.common.layouts.layout import Head, Layout, Names, any_is


def _dflash(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    named = "dflash_config" in config or any("DFlash" in str(kind) for kind in kinds)
    return named or ("hidden_norm.weight" in names and any_is(r"layers\.0\.", names))


def _mtp(config: Mapping[str, Any], names: Names) -> bool:
    modules = any_is(r"model\.layers\.\d+\.(enorm|hnorm|eh_proj)\.", names)
    return modules and "model.embed_tokens.weight" not in names


OTHERS: Final = (
    Layout("DFlash (z-lab)", "dflash", "specviz.drafters.dflash.drafter:DFlash", _dflash),
    Layout("MTP (DeepSeek)", "mtp", "specviz.drafters.mtp.drafter:MTP", _mtp),
    Layout(
        "L-MTP",
        "lmtp",
        "specviz.drafters.lmtp:LeapMTP",
        lambda config, names: any_is(r"heads\.\d+\.resblock\.", names),
    ),
    Layout(
        "Mixture of Attentions",
        "moa",
        "specviz.drafters.moa.drafter:Moa",
        lambda config, names: any_is(r"layer_self_attention\.", names),
    ),
    Layout(
        "multi-token prediction (Meta)",
        "mtp-parallel",
        "specviz.drafters.mtp_parallel:ParallelMTP",
        lambda config, names: any_is(r"extra_heads\.", names),
    ),
    Layout(
        "blockwise heads",
        "blockwise",
        "specviz.drafters.blockwise:Blockwise",
        lambda config, names: any_is(r"conv[12]\.", names),
    ),
)


BLOCK: Final = r"^blocks\.(\d+)\.layers\.(\d+)\."


def _fasterdecoding(config: Mapping[str, Any], names: Names) -> bool:
    return any_is(r"\d+\.\d+\.linear\.", names)


def _vllm(config: Mapping[str, Any], names: Names) -> bool:
    return any_is(r"(medusa_heads\.)?blocks\.\d+\.layers\.\d+\.", names)


def from_vllm(head: Head) -> Head:
    """Convert to FasterDecoding's names; a block without a bias gets a bias of 0."""
    layers = head.config.get("num_hidden_layers", head.config.get("medusa_num_layers", 1))
    heads = head.config.get("num_heads", head.config.get("medusa_num_heads", 1))
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
    converted = replace(head, tensors=tensors)
    return converted.with_config(medusa_num_layers=layers, medusa_num_heads=heads)


MEDUSA_DRAFTER: Final = "specviz.drafters.medusa:Medusa"
MEDUSA: Final = (
    Layout("Medusa (FasterDecoding, TGI)", "medusa", MEDUSA_DRAFTER, _fasterdecoding),
    Layout("Medusa (vLLM)", "medusa", MEDUSA_DRAFTER, _vllm, from_vllm),
)
