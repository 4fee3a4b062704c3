"""Writes and reads the checkpoint folders that ship, and the manifests beside them.

Rule: a folder is complete for transformers; the manifest adds what a reader of the card asks.

What is measured is what ships, read back from its folder.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import tokenizers
import torch
import transformers
from safetensors.torch import save_file
from torch import nn
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.catalog.training import load_head
from specviz.drafters.kit.checkpoint import read_config
from specviz.drafters.kit.training import Family, Frozen, overlaps, same_tops
from specviz.models.files import size_of, weight_files
from specviz.models.target import Target
from specviz.training.data import Domain, held_out_windows
from specviz.training.head_training import HeadRecipe, Measure, Plan, Pupil, Texts, measured
from specviz.training.tokenizer import END_OF_TEXT_ID, save_tokenizer

WINDOWS = 16  # a domain, at the end
FEW_WINDOWS = 2  # a domain, while training
SHARED = "lm_head.safetensors"


def few_windows(domains: Sequence[Domain], length: int) -> torch.Tensor:
    """A small fixed sample of all domains' held-out text, (n, length + 1), to watch α on."""
    long = [domain for domain in domains if len(domain.held_out) > length]
    return torch.cat([held_out_windows(domain, length, FEW_WINDOWS) for domain in long])


def token_shares(domains: Sequence[Domain], vocabulary: int) -> torch.Tensor:
    """How often each token occurs in the training text, (V,), each domain counted by its share."""
    counts = np.zeros(vocabulary)
    for domain in domains:
        found = np.bincount(domain.training, minlength=vocabulary)
        counts += domain.share * found / len(domain.training)
    return torch.from_numpy(counts)


def be_nice(level: int) -> None:
    """Leave the processor to others first; 0 changes nothing."""
    if level:
        os.nice(level)


MEASURES: Final[Mapping[str, Measure]] = {
    "agreement": lambda _family, *given: same_tops(*given),
    "overlap": lambda _family, *given: overlaps(*given),
}
Exam = Callable[[Sequence[Family]], Iterable[Frozen]]  # held-out batches, as `Lessons` has them


def ship(
    pupils: Sequence[Pupil],
    target: Target,
    plan: Plan,
    exams: Mapping[str, Exam],
    out: Path,
    corpus_tokens: Mapping[str, Any],
) -> None:
    """Write the folder and manifest of every head that was not stopped.

    exams: by domain, what is measured on. corpus_tokens: for the manifest, tokens by domain.
    """
    shipped = []
    for pupil in pupils:
        if pupil.fault is None:
            folder = out / pupil.name
            folder.mkdir(parents=True, exist_ok=True)
            pupil.head.save(folder)
            write_shared(folder, target)
            shipped.append(replace(pupil, head=load_head(pupil.head, folder, target).eval()))
    if not shipped:
        return
    families = [pupil.family for pupil in shipped]
    by_domain = {
        domain: measured(shipped, exam(families), MEASURES) for domain, exam in exams.items()
    }
    for pupil in shipped:
        found = {
            what: {domain: by[what][pupil.name] for domain, by in by_domain.items()}
            for what in MEASURES
        }
        facts = {**_facts(pupil, plan), "corpus_tokens": corpus_tokens, **found}
        write_manifest(out / pupil.name, facts)


def write_shared(folder: Path, target: Target) -> None:
    """Beside heads that end in the target's projection, that projection: vLLM shares none.

    A file of its own, which nothing here reads.
    """
    own = (folder / "config.json").is_file() and read_config(folder)
    if own and own.get("original_lm_head"):
        weight = target.model.get_output_embeddings().weight.detach()
        tensors = {"lm_head.weight": weight.bfloat16().cpu().contiguous()}
        save_file(tensors, folder / SHARED, metadata={"format": "pt"})


def exams_of(domains: Sequence[Domain], target: Target, recipe: HeadRecipe) -> dict[str, Exam]:
    """By domain, windows of its held-out text."""

    def exam(domain: Domain) -> Exam:
        length = min(recipe.length, len(domain.held_out) - 1)
        windows = held_out_windows(domain, length, WINDOWS)
        return Texts(target, recipe, lambda _: windows, windows).exam

    return {domain.name: exam(domain) for domain in domains}


def _facts(pupil: Pupil, plan: Plan) -> dict[str, Any]:
    """What a manifest says of a head's training. seconds: its own, without the shared passes."""
    recipe = plan.recipe
    return {
        "stage": pupil.name,
        "made_for": recipe.made_for,
        "parameters": sum(weights.numel() for weights in pupil.head.parameters()),
        "recipe": asdict(recipe),
        "asked_tokens": plan.tokens,
        "steps": plan.steps,
        "tokens": plan.steps * recipe.rows * recipe.length,
        "seconds": round(pupil.trainer.seconds),
        "loss": round(pupil.trainer.loss, 4),
        "alpha": "overlap" if pupil.family.sampled else "agreement",
        "alpha_by_step": {str(step): round(value, 4) for step, value in pupil.alpha.items()},
        "device": str(next(pupil.head.parameters()).device),
        "threads": torch.get_num_threads(),
    }


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
    added = {"bytes": size_of(weight_files(folder)), "versions": versions()}
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
    modules = (torch, transformers, tokenizers, np)
    found = {module.__name__: str(module.__version__) for module in modules}
    return {"python": platform.python_version(), **found}
