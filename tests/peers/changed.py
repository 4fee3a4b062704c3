"""Copies of the target and of the MTP module, changed so that vLLM can use them.

They compute the same function with the same weights; nothing is trained.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

WEIGHTS = "model.safetensors"
DEEPSEEK = {"num_nextn_predict_layers": 1, "n_group": 1, "n_routed_experts": 0}


def copies(target: Path, head: Path, place: Path) -> tuple[Path, Path]:
    """Write the target and MTP's module in a form that vLLM can use, under `place`."""
    other = copied(target, place / "target")
    rewrite(other, {**config_of(other), **DEEPSEEK, "n_shared_experts": 0})
    return other, mtp(head, place / "mtp", config_of(target))


def mtp(head: Path, place: Path, target: dict[str, Any]) -> Path:
    """Return a module with DeepSeek-V3's names and a Llama's attention."""
    tensors = load_file(copied(head, place) / WEIGHTS)
    (first,) = {name.removesuffix("q_proj.weight") for name in tensors if "q_proj" in name}
    parts = [tensors.pop(f"{first}{part}_proj.weight") for part in "qkv"]
    save(place, tensors | {f"{first}qkv_proj.weight": torch.cat(parts)})
    none = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank")
    said = {key: target[key] for key in ("hidden_size", "vocab_size", "max_position_embeddings")}
    kind = {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3"}
    dense = {"first_k_dense_replace": target["num_hidden_layers"] + 1, "hidden_act": "silu"}
    shared = {"n_shared_experts": 0, "tie_word_embeddings": False}
    zeros = dict.fromkeys(none, 0)
    rewrite(place, config_of(place) | said | kind | dense | shared | zeros | DEEPSEEK)
    return place


def copied(folder: Path, place: Path) -> Path:
    """Copy a folder."""
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(folder, place))


def save(place: Path, tensors: dict[str, Tensor]) -> None:
    """Write the weights."""
    save_file(tensors, place / WEIGHTS, metadata={"format": "pt"})


def config_of(folder: Path) -> dict[str, Any]:
    """Read config.json."""
    found: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return found


def rewrite(folder: Path, config: dict[str, Any]) -> None:
    """Write config.json."""
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
