"""The stages of `specviz train`: tokenizer, target, draft model, heads, measurements, card.

A stage reads the results of earlier stages, and writes a complete folder or nothing. Target and
draft model are ordinary `LlamaForCausalLM`s, so any program that loads Hub models can load them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.catalog import load_target
from specviz.catalog.loading import trainable_heads, training_family
from specviz.drafters.eagle.head import default_taps
from specviz.models.devices import has_fast_bf16
from specviz.models.target import Target
from specviz.shipped import HOUSE
from specviz.trace.events import ModelCard
from specviz.training.answers.batched_decode import bf16_copy
from specviz.training.answers.dataset import train_on_answers
from specviz.training.answers.questions import generate_questions, read_questions, write_questions
from specviz.training.answers.writer import AnswerSettings, write_answers
from specviz.training.card.models_card import write_card
from specviz.training.card.single_head import write_single_head_card
from specviz.training.data import Domain, Mixture, Writer, load_domains, token_counts, with_own_text
from specviz.training.export import (
    continue_heads,
    export_model,
    held_out_by_domain,
    load_exported,
    lower_priority,
    ship,
    token_shares,
    watched_windows,
    weights_of,
    write_manifest,
)
from specviz.training.head_training import HeadRecipe, HeadRun, Plan, TextBatches, train_heads
from specviz.training.losses import closeness, draft_loss, exit_losses, target_loss
from specviz.training.measure import write_measured
from specviz.training.options import Options
from specviz.training.tokenizer import (
    END_OF_TEXT_ID,
    MAXIMUM_LENGTH,
    VOCABULARY_SIZE,
    load_tokenizer,
    save_tokenizer,
    tokenizer_texts,
    train_tokenizer,
)
from specviz.training.trainer import Diverged, Loss, Recipe, Trainer, total_steps


def target_config() -> LlamaConfig:
    """Return the target's config: 10.7 M parameters, deep, so that one layer takes little time."""
    return _llama(layers=12, width=256, inner=704)


def draft_model_config() -> LlamaConfig:
    """Return the draft model's configuration: 1.7 M parameters."""
    return _llama(layers=2, width=192, inner=512)


def new_model(config: LlamaConfig, seed: int, device: str = "cpu") -> LlamaForCausalLM:
    """Build a float32 model with random weights, sampled on the CPU from `seed`."""
    torch.manual_seed(seed)
    return nn.Module.to(LlamaForCausalLM(config), device=device)


def _llama(layers: int, width: int, inner: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        num_key_value_heads=width // 64,
        head_dim=64,
        max_position_embeddings=MAXIMUM_LENGTH,
        tie_word_embeddings=True,
        bos_token_id=END_OF_TEXT_ID,
        eos_token_id=END_OF_TEXT_ID,
        pad_token_id=None,
    )


TARGET_TOKENS = 10_240_000
DRAFT_TOKENS = 6_553_600
HEAD_TOKENS = 8_192_000
ANSWER_TOKENS = 1_000_000


@dataclass(frozen=True)
class Workspace:
    """The options, the tokenizer and the tokenized domains, which every training stage needs."""

    options: Options
    tokenizer: PreTrainedTokenizerFast
    domains: list[Domain]


def make_tokenizer(options: Options) -> None:
    """Train the tokenizer and save it in the work folder."""
    tokenizer = train_tokenizer(tokenizer_texts(options.corpus))
    save_tokenizer(tokenizer, options.work / "tokenizer")


def make_target(options: Options) -> None:
    """Train the target and write its folder."""
    space = _workspace(options)
    model = new_model(target_config(), options.seed, options.device)
    loss = target_loss(model, options.seed, options.fast)
    facts = _fit(space, "target", model, loss, options.tokens or TARGET_TOKENS)
    target = _ship(space, "target", model)
    losses = {domain.name: exit_losses(target, domain) for domain in space.domains}
    write_manifest(options.out / "target", {**facts, "exit_losses": losses})


def make_draft_model(options: Options) -> None:
    """Distil the draft model from the finished target and write its folder."""
    space = _workspace(options)
    target = load_exported(options.out / "target", options.device)
    model = new_model(draft_model_config(), options.seed, options.device)
    loss = draft_loss(model, target, options.fast)
    facts = _fit(space, "draft-model", model, loss, options.tokens or DRAFT_TOKENS)
    draft = _ship(space, "draft-model", model)
    measured = {
        "made_for": weights_hash(options.out / "target"),
        "losses": {domain.name: exit_losses(draft, domain)[-1] for domain in space.domains},
        "closeness": {domain.name: closeness(draft, target, domain) for domain in space.domains},
    }
    write_manifest(options.out / "draft-model", {**facts, **measured})


def make_heads(options: Options) -> None:
    """Train heads on the finished target and write their folders.

    With `options.data` they are trained on a target's answers. A head that diverged has no folder.
    Raises Diverged if a head diverged; the folders of the other heads are written first.
    """
    lower_priority(options.nice)
    if options.data is not None:
        raise_if_diverged(train_on_answers(options, options.data))
        return
    space, folder = _workspace(options), options.out / "target"
    target = _frozen_target(folder, space)
    recipe = _head_recipe(options, weights_hash(folder))
    families = [training_family(name) for name in options.names or trainable_heads()]
    families, before = continue_heads(families, options.start, recipe.made_for)
    domains = space.domains
    if options.own_text:
        writer, cache = Writer(target.model, options.seed), options.work / "own-text"
        domains = with_own_text(domains, writer, options.own_text, recipe.made_for, cache)
    mixture = Mixture(domains, space.tokenizer, recipe.seed, recipe.length)
    windows = watched_windows(domains, recipe.length)
    plan = Plan(
        recipe,
        options.tokens or HEAD_TOKENS,
        options.work / "heads",
        TextBatches(target, recipe, lambda step: mixture.batch(step, recipe.rows), windows),
        token_shares(domains, target.vocab_size),
    )
    runs = train_heads(target, families, plan)
    exams = held_out_by_domain(domains, target, recipe)
    facts = {"corpus_tokens": token_counts(domains)} | before
    ship(runs, target, plan, exams, options.out, facts)
    raise_if_diverged(runs)


def raise_if_diverged(runs: Sequence[HeadRun]) -> None:
    """Raise `Diverged` with the errors of the heads that diverged, if any."""
    errors = [run.error for run in runs if run.error]
    if errors:
        raise Diverged("; ".join(errors) + ". The other heads are finished.")


def make_measurements(options: Options) -> None:
    """Measure all drafters that are on this machine, for the card."""
    torch.set_num_threads(options.threads)
    write_measured(options.out, replace(options.measure, device=options.device), options.target)


def make_card(options: Options) -> None:
    """Write the model card from the manifests and the measurements."""
    (write_card if options.target == HOUSE else write_single_head_card)(options.out)


def make_questions(options: Options) -> None:
    """Write a file of questions for a target to answer."""
    write_questions(
        options.questions, generate_questions(options.corpus, options.count, options.seed)
    )


def make_answers(options: Options) -> None:
    """Generate the target's answers to the questions, and store its hidden states for training."""
    lower_priority(options.nice)
    torch.set_num_threads(options.threads)
    target = load_target(options.target, options.device)
    if options.precision != "float32" and has_fast_bf16(target.device):
        target = Target(bf16_copy(target.model), target.tokenizer, target.card)
    settings = AnswerSettings(options.seed, default_taps(target.layers))
    questions = read_questions(options.questions)
    write_answers(target, questions, settings, options.answers, options.tokens or ANSWER_TOKENS)


STAGES: Mapping[str, Callable[[Options], None]] = {
    "tokenizer": make_tokenizer,
    "target": make_target,
    "draft-model": make_draft_model,
    "questions": make_questions,
    "write": make_answers,
    "heads": make_heads,
    "measure": make_measurements,
    "card": make_card,
}


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 of a model folder's weight file, in hexadecimal."""
    with (folder / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _frozen_target(folder: Path, space: Workspace) -> Target:
    model = load_exported(folder, space.options.device).requires_grad_(False)
    size = sum(weights.numel() for weights in model.parameters())
    written = (folder / "model.safetensors").stat().st_size
    card = ModelCard("house", "causal-lm", size, written, weights_hash(folder))
    return Target(model, space.tokenizer, card)


def _head_recipe(options: Options, made_for: str) -> HeadRecipe:
    default = HeadRecipe(seed=options.seed)
    return replace(
        default,
        matrix_rate=default.matrix_rate * options.rate,
        other_rate=default.other_rate * options.rate,
        made_for=made_for,
        own_text=options.own_text,
        start=weights_of(options.start),
        precision=options.precision,
    )


def _workspace(options: Options) -> Workspace:
    torch.set_num_threads(options.threads)
    tokenizer = load_tokenizer(options.work / "tokenizer")
    domains = load_domains(options.corpus, tokenizer, options.work / "tokens")
    return Workspace(options, tokenizer, domains)


def _fit(
    space: Workspace, stage: str, model: LlamaForCausalLM, loss: Loss, tokens: int
) -> dict[str, Any]:
    options, recipe = space.options, Recipe(seed=space.options.seed)
    mixture = Mixture(space.domains, space.tokenizer, recipe.seed, recipe.length)
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
        "corpus_tokens": token_counts(space.domains),
    }


def _ship(space: Workspace, stage: str, model: LlamaForCausalLM) -> LlamaForCausalLM:
    # It is reloaded, so that the shipped bf16 weights are evaluated.
    folder = space.options.out / stage
    export_model(model, space.tokenizer, folder)
    return load_exported(folder, space.options.device)
