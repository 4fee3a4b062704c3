"""Read and write the checkpoint folders that ship, and their manifests.

A folder is a complete transformers checkpoint; the manifest adds facts for the model card. A model
is read back from its folder before it is evaluated.
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

from specviz.catalog.loading import load_head
from specviz.drafters.common.checkpoint import read_config
from specviz.drafters.common.training import Family, TargetOutputs, overlaps, same_tops
from specviz.models.files import fingerprint, size_of, weight_files
from specviz.models.target import Target
from specviz.training.data import Domain, held_out_windows
from specviz.training.head_training import HeadRecipe, HeadRun, Metric, Plan, TextBatches, measured
from specviz.training.tokenizer import END_OF_TEXT_ID, save_tokenizer

WINDOWS = 16  # number of windows per domain, after training
WATCHED_WINDOWS = 2  # number of windows per domain, during training
SHARED = "lm_head.safetensors"


def watched_windows(domains: Sequence[Domain], length: int) -> torch.Tensor:
    """Return a small fixed sample of all domains' held-out text, (n, length + 1), to measure α."""
    long = [domain for domain in domains if len(domain.held_out) > length]
    return torch.cat([held_out_windows(domain, length, WATCHED_WINDOWS) for domain in long])


def token_shares(domains: Sequence[Domain], vocabulary: int) -> torch.Tensor:
    """Return each token's frequency in the training text, (V,), weighted by the domains' shares."""
    counts = np.zeros(vocabulary)
    for domain in domains:
        found = np.bincount(domain.training, minlength=vocabulary)
        counts += domain.share * found / len(domain.training)
    return torch.from_numpy(counts)


def lower_priority(level: int) -> None:
    """Lower this process's priority: increase its niceness by `level`."""
    if level:
        os.nice(level)


METRICS: Final[Mapping[str, Metric]] = {
    "agreement": lambda _family, *given: same_tops(*given),
    "overlap": lambda _family, *given: overlaps(*given),
}
HeldOutBatches = Callable[
    [Sequence[Family]], Iterable[TargetOutputs]
]  # yields held-out batches, as `BatchSource` does


def ship(
    runs: Sequence[HeadRun],
    target: Target,
    plan: Plan,
    exams: Mapping[str, HeldOutBatches],
    out: Path,
    facts: Mapping[str, Any],
) -> None:
    """Write the folder and manifest of each head that did not diverge.

    Held-out text by domain (`exams`) is used to evaluate the heads. Further `facts`, such as token
    counts by domain, go into the manifests.
    """
    shipped = []
    for run in runs:
        if run.error is None:
            folder = out / run.name
            folder.mkdir(parents=True, exist_ok=True)
            run.head.save(folder)
            write_shared_projection(folder, target)
            shipped.append(replace(run, head=load_head(run.head, folder, target).eval()))
    if not shipped:
        return
    families = [run.family for run in shipped]
    by_domain = {
        domain: measured(shipped, held_out_batches(families), METRICS)
        for domain, held_out_batches in exams.items()
    }
    for run in shipped:
        found = {
            what: {domain: by[what][run.name] for domain, by in by_domain.items()}
            for what in METRICS
        }
        write_manifest(out / run.name, {**_facts(run, plan), **facts, **found})


def weights_of(start: Path | None) -> str:
    """Return the SHA-256 of the weights of the head to continue; empty if there is none."""
    return fingerprint(weight_files(start)) or "" if start else ""


def continue_heads(
    families: Sequence[Family], start: Path | None, made_for: str
) -> tuple[list[Family], dict[str, Any]]:
    """Return families whose new heads have the weights of the head in a folder, if there is one.

    Building a head raises Unsuitable if these weights do not fit. Returns the families, and further
    facts for their manifests: the head's manifest, as "before".

    Raises ValueError if the head was made for another target.

    Args:
        families: The families.
        start: The folder; None for new heads.
        made_for: SHA-256 of the target's weights.
    """
    if start is None:
        return list(families), {}
    before = read_manifest(start)
    if before["made_for"] != made_for:
        raise ValueError(f"{str(start)!r} was made for another target.")

    def continued(family: Family) -> Family:
        def build(target: Target, counts: torch.Tensor) -> Any:
            head = family.build(target, counts)
            head.load_state_dict(load_head(head, start, target).state_dict())
            return head

        return replace(family, build=build)

    return [continued(family) for family in families], {"before": before}


def write_shared_projection(folder: Path, target: Target) -> None:
    """Write the target's projection, which vLLM reads, into the folders of heads that share it."""
    own = (folder / "config.json").is_file() and read_config(folder)
    if own and own.get("original_lm_head"):
        weight = target.model.get_output_embeddings().weight.detach()
        tensors = {"lm_head.weight": weight.bfloat16().cpu().contiguous()}
        save_file(tensors, folder / SHARED, metadata={"format": "pt"})


def held_out_by_domain(
    domains: Sequence[Domain], target: Target, recipe: HeadRecipe
) -> dict[str, HeldOutBatches]:
    """Return, for each domain, a function that yields the target's outputs on held-out windows."""

    def held_out_batches(domain: Domain) -> HeldOutBatches:
        length = min(recipe.length, len(domain.held_out) - 1)
        windows = held_out_windows(domain, length, WINDOWS)
        return TextBatches(target, recipe, lambda _: windows, windows).held_out_batches

    return {domain.name: held_out_batches(domain) for domain in domains}


def _facts(run: HeadRun, plan: Plan) -> dict[str, Any]:
    # `seconds` leaves out the shared passes of the target.
    recipe = plan.recipe
    return {
        "stage": run.name,
        "made_for": recipe.made_for,
        "parameters": sum(weights.numel() for weights in run.head.parameters()),
        "recipe": asdict(recipe),
        "asked_tokens": plan.tokens,
        "steps": plan.steps,
        "tokens": plan.steps * recipe.rows * recipe.length,
        "seconds": round(run.trainer.seconds),
        "loss": round(run.trainer.loss, 4),
        "alpha": "overlap" if run.family.sampled else "agreement",
        "alpha_by_step": {str(step): round(value, 4) for step, value in run.alpha.items()},
        "device": str(next(run.head.parameters()).device),
        "threads": torch.get_num_threads(),
    }


MANIFEST = "manifest.json"


def export_model(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write weights in bf16 (a tied embedding once), configs and tokenizer to `folder`."""
    model = nn.Module.to(model, dtype=torch.bfloat16).eval()
    model.config.use_cache = True
    model.generation_config = GenerationConfig(
        bos_token_id=END_OF_TEXT_ID, eos_token_id=END_OF_TEXT_ID, pad_token_id=END_OF_TEXT_ID
    )
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)


def load_exported(folder: Path, device: str = "cpu") -> LlamaForCausalLM:
    """Load a model folder in float32. Raises FileNotFoundError if there is no model in it."""
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"There is no trained model in {str(folder)!r} yet.")
    model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    return nn.Module.to(model, device=device)


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Write `manifest.json`: `facts`, the size of the weights and the library versions."""
    added = {"bytes": size_of(weight_files(folder)), "versions": versions()}
    text = json.dumps({**facts, **added}, indent=1, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a model folder.

    Raises FileNotFoundError if there is no manifest in it.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"There is no trained model in {str(folder)!r} yet.")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    return manifest


def versions() -> dict[str, str]:
    """Return the library versions that a result may depend on."""
    modules = (torch, transformers, tokenizers, np)
    found = {module.__name__: str(module.__version__) for module in modules}
    return {"python": platform.python_version(), **found}
