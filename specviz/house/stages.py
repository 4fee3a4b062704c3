"""The stages of `train`: tokenizer, target, draft model, card.

Rule: a stage reads what the stage before it wrote and leaves a finished folder or nothing.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.house.card import write_card
from specviz.house.data import Domain, Mixture, load_domains, token_counts
from specviz.house.evaluate import closeness, exit_losses, last_loss
from specviz.house.export import export_model, load_exported, write_manifest
from specviz.house.losses import draft_loss, target_loss
from specviz.house.networks import draft_model_config, new_model, target_config
from specviz.house.tokenizer import (
    load_tokenizer,
    save_tokenizer,
    tokenizer_texts,
    train_tokenizer,
)
from specviz.house.training import Loss, Recipe, Trainer, total_steps

TARGET_TOKENS = 10_240_000
DRAFT_TOKENS = 6_553_600


@dataclass(frozen=True)
class Options:
    """What the command line says; `tokens` None means the total that the shipped models had."""

    corpus: str
    out: Path
    work: Path
    tokens: int | None
    seed: int
    threads: int
    device: str
    fast: bool


@dataclass(frozen=True)
class Workshop:
    """What every training stage works with: the options, the tokenizer, the tokenised domains."""

    options: Options
    tokenizer: PreTrainedTokenizerFast
    domains: list[Domain]


def make_tokenizer(options: Options) -> None:
    """Learn the tokenizer and keep it in the work folder."""
    tokenizer = train_tokenizer(tokenizer_texts(options.corpus))
    save_tokenizer(tokenizer, options.work / "tokenizer")


def make_target(options: Options) -> None:
    """Train the target and write its folder."""
    shop = _workshop(options)
    model = new_model(target_config(), options.seed, options.device)
    loss = target_loss(model, options.seed, options.fast)
    facts = _fit(shop, "target", model, loss, options.tokens or TARGET_TOKENS)
    target = _ship(shop, "target", model)
    losses = {domain.name: exit_losses(target, domain) for domain in shop.domains}
    write_manifest(options.out / "target", {**facts, "exit_losses": losses})


def make_draft_model(options: Options) -> None:
    """Distil the draft model from the finished target and write its folder."""
    shop = _workshop(options)
    target = load_exported(options.out / "target", options.device)
    model = new_model(draft_model_config(), options.seed, options.device)
    loss = draft_loss(model, target, options.fast)
    facts = _fit(shop, "draft-model", model, loss, options.tokens or DRAFT_TOKENS)
    draft = _ship(shop, "draft-model", model)
    measured = {
        "made_for": weights_hash(options.out / "target"),
        "losses": {domain.name: last_loss(draft, domain) for domain in shop.domains},
        "closeness": {domain.name: closeness(draft, target, domain) for domain in shop.domains},
    }
    write_manifest(options.out / "draft-model", {**facts, **measured})


def make_card(options: Options) -> None:
    """Write the card from the manifests of the finished models."""
    write_card(options.out)


STAGES: Mapping[str, Callable[[Options], None]] = {
    "tokenizer": make_tokenizer,
    "target": make_target,
    "draft-model": make_draft_model,
    "card": make_card,
}


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 of a model folder's weights file, in hexadecimal."""
    with (folder / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _workshop(options: Options) -> Workshop:
    torch.set_num_threads(options.threads)
    tokenizer = load_tokenizer(options.work / "tokenizer")
    domains = load_domains(options.corpus, tokenizer, options.work / "tokens")
    return Workshop(options, tokenizer, domains)


def _fit(
    shop: Workshop, stage: str, model: LlamaForCausalLM, loss: Loss, tokens: int
) -> dict[str, Any]:
    """Train, and return what the manifest says about it."""
    options, recipe = shop.options, Recipe(seed=shop.options.seed)
    mixture = Mixture(shop.domains, shop.tokenizer, recipe.seed, recipe.length)
    trainer = Trainer(model, recipe, options.work / stage)
    trainer.run(loss, lambda step: mixture.batch(step, recipe.rows), tokens)
    steps = total_steps(recipe, tokens)
    return {
        "stage": stage,
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "recipe": asdict(recipe),
        "asked_tokens": tokens,
        "steps": steps,
        "tokens": steps * recipe.rows * recipe.length,
        "seconds": round(trainer.seconds),
        "device": options.device,
        "threads": options.threads,
        "compiled": options.fast,
        "corpus_tokens": token_counts(shop.domains),
    }


def _ship(shop: Workshop, stage: str, model: LlamaForCausalLM) -> LlamaForCausalLM:
    """Write the folder and read it back: what is measured is what ships, rounded to bf16."""
    folder = shop.options.out / stage
    export_model(model, shop.tokenizer, folder)
    return load_exported(folder, shop.options.device)
