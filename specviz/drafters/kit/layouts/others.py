"""Families that are published in one layout, which is our own too.

DFlash: z-lab's. MTP: DeepSeek-V3's modules, without the model that they were trained with. L-MTP,
Mixture of Attentions and Meta's parallel heads: their authors'. Blockwise heads were never
published; the names are tensor2tensor's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.drafters.kit.layouts.layout import Layout, Names, any_is


def _dflash(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    said = "dflash_config" in config or any("DFlash" in str(kind) for kind in kinds)
    return said or ("hidden_norm.weight" in names and any_is(r"layers\.0\.", names))


def _mtp(config: Mapping[str, Any], names: Names) -> bool:
    modules = any_is(r"model\.layers\.\d+\.(enorm|hnorm|eh_proj)\.", names)
    return modules and "model.embed_tokens.weight" not in names


LAYOUTS = (
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
