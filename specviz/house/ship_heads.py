"""From the command line to trained heads and back to the folders that ship.

Rule: what is measured is what ships, read back from its folder.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from specviz.heads.registry import load_head
from specviz.house.data import Domain, held_out_windows, token_counts
from specviz.house.export import write_manifest
from specviz.house.heads import Plan, Pupil, agreements
from specviz.target import Target

WINDOWS = 16  # a domain, at the end
FEW_WINDOWS = 2  # a domain, while training


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


def ship(
    pupils: Sequence[Pupil],
    target: Target,
    domains: Sequence[Domain],
    plan: Plan,
    out: Path,
) -> None:
    """Write the folder and manifest of every head that was not stopped."""
    shipped = []
    for pupil in pupils:
        if pupil.fault is None:
            folder = out / pupil.name
            folder.mkdir(parents=True, exist_ok=True)
            pupil.head.save(folder)
            shipped.append(replace(pupil, head=load_head(pupil.head, folder, target).eval()))
    if not shipped:
        return
    measured = {
        "agreement": _measured(shipped, target, domains, plan, sampled=False),
        "overlap": _measured(shipped, target, domains, plan, sampled=True),
    }
    for pupil in shipped:
        found = {what: by_head[pupil.name] for what, by_head in measured.items()}
        write_manifest(out / pupil.name, {**_facts(pupil, plan, domains), **found})


def _measured(
    pupils: Sequence[Pupil],
    target: Target,
    domains: Sequence[Domain],
    plan: Plan,
    *,
    sampled: bool,
) -> dict[str, dict[str, list[float]]]:
    """By head, by domain, by depth: Σ min(p, q), or how often both have the same top token."""
    asked = [replace(p, family=replace(p.family, sampled=sampled)) for p in pupils]
    found: dict[str, dict[str, list[float]]] = {pupil.name: {} for pupil in pupils}
    for domain in domains:
        for name, shares in agreements(target, asked, _windows(domain, plan, target)).items():
            found[name][domain.name] = shares
    return found


def _windows(domain: Domain, plan: Plan, target: Target) -> torch.Tensor:
    length = min(plan.recipe.length, len(domain.held_out) - 1)
    return held_out_windows(domain, length, WINDOWS)[:, :-1].to(target.device)


def _facts(pupil: Pupil, plan: Plan, domains: Sequence[Domain]) -> dict[str, Any]:
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
        "corpus_tokens": token_counts(list(domains)),
    }
