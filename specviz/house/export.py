"""Writes and reads the checkpoint folders that ship, and the manifests beside them.

Rule: a folder is complete for transformers; the manifest adds what a reader of the card asks.
"""

import json
import platform
from pathlib import Path
from typing import Any

import numpy
import tokenizers
import torch
import transformers
from torch import nn
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.house.tokenizer import END_OF_TEXT_ID, save_tokenizer

MANIFEST = "manifest.json"


def export_model(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write weights in bf16 (a tied embedding once), configurations and tokenizer to `folder`."""
    model = nn.Module.to(model, dtype=torch.bfloat16).eval()
    model.config.use_cache = True
    model.generation_config = GenerationConfig(
        bos_token_id=END_OF_TEXT_ID, eos_token_id=END_OF_TEXT_ID, pad_token_id=END_OF_TEXT_ID
    )
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)


def load_exported(folder: Path, device: str = "cpu") -> LlamaForCausalLM:
    """Load a model folder in float32. Raises `FileNotFoundError` where there is none."""
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"There is no trained model in {str(folder)!r} yet.")
    model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    return nn.Module.to(model, device=device)


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Write `manifest.json`, with the sizes and library versions added to `facts`."""
    weights = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    added = {"bytes": weights, "versions": versions()}
    text = json.dumps({**facts, **added}, indent=1, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a model folder. Raises `FileNotFoundError` where there is none."""
    path = folder / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"There is no trained model in {str(folder)!r} yet.")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest


def versions() -> dict[str, str]:
    """Name the versions that a result may depend on."""
    modules = (torch, transformers, tokenizers, numpy)
    found = {module.__name__: str(module.__version__) for module in modules}
    return {"python": platform.python_version(), **found}
