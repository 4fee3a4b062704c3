"""The stages of `train`: tokenizer, target, draft model, heads, measuring, card.

Rule: a stage reads what the stage before it wrote and leaves a finished folder or nothing.

Both networks are plain `LlamaForCausalLM`, so that anything that loads a Hub model loads them.
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
from specviz.catalog.training import family, names
from specviz.drafters.eagle.head3 import usual_taps
from specviz.models.devices import has_fast_bf16
from specviz.models.target import Target
from specviz.shipped import HOUSE
from specviz.trace.events import ModelCard
from specviz.training.answers.batched_decode import in_halves
from specviz.training.answers.dataset import taught
from specviz.training.answers.questions import asked, read_questions, write_questions
from specviz.training.answers.writer import Writing, write_answers
from specviz.training.card.models_card import write_card
from specviz.training.card.single_head import write_lone_card
from specviz.training.data import Domain, Mixture, load_domains, token_counts
from specviz.training.export import (
    be_nice,
    exams_of,
    export_model,
    few_windows,
    load_exported,
    ship,
    token_shares,
    write_manifest,
)
from specviz.training.head_training import HeadRecipe, Plan, Pupil, Texts, train_heads
from specviz.training.losses import closeness, draft_loss, exit_losses, last_loss, target_loss
from specviz.training.measure import write_measured
from specviz.training.options import Options
from specviz.training.own_text import Writer, with_own_text
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
    """Deep and narrow, so that a one-layer drafter is cheap beside it: 10.7 M parameters."""
    return _llama(layers=12, width=256, inner=704)


def draft_model_config() -> LlamaConfig:
    """A small model of its own: 1.7 M parameters."""
    return _llama(layers=2, width=192, inner=512)


def new_model(config: LlamaConfig, seed: int, device: str = "cpu") -> LlamaForCausalLM:
    """Build a float32 model with weights drawn, on the CPU, from `seed`."""
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


def make_heads(options: Options) -> None:
    """Train heads on the finished target and write their folders. A head that diverged has none.

    Where `data` is given, its answers are what they learn from, and their target is any. Raises
    `Diverged`, after the others are written.
    """
    be_nice(options.nice)
    if options.data is not None:
        report(taught(options, options.data))
        return
    families = [family(name) for name in options.names or names()]
    shop, folder = _workshop(options), options.out / "target"
    target = _frozen_target(folder, shop)
    recipe = _head_recipe(options, weights_hash(folder))
    domains = shop.domains
    if options.own_text:
        writer, cache = Writer(target.model, options.seed), options.work / "own-text"
        domains = with_own_text(domains, writer, options.own_text, recipe.made_for, cache)
    mixture = Mixture(domains, shop.tokenizer, recipe.seed, recipe.length)
    windows = few_windows(domains, recipe.length)
    plan = Plan(
        recipe,
        options.tokens or HEAD_TOKENS,
        options.work / "heads",
        Texts(target, recipe, lambda step: mixture.batch(step, recipe.rows), windows),
        token_shares(domains, target.vocab_size),
    )
    pupils = train_heads(target, families, plan)
    exams = exams_of(domains, target, recipe)
    ship(pupils, target, plan, exams, options.out, token_counts(domains))
    report(pupils)


def report(pupils: Sequence[Pupil]) -> None:
    """Raise `Diverged` for the heads that did."""
    faults = [pupil.fault for pupil in pupils if pupil.fault]
    if faults:
        raise Diverged("; ".join(faults) + ". The other heads are finished.")


def make_measurements(options: Options) -> None:
    """Measure every drafter that is on this machine, for the card."""
    torch.set_num_threads(options.threads)
    write_measured(options.out, replace(options.measure, device=options.device), options.target)


def make_card(options: Options) -> None:
    """Write the card from the manifests of the finished models and from what was measured."""
    (write_card if options.target == HOUSE else write_lone_card)(options.out)


def make_questions(options: Options) -> None:
    """Write a file of questions for any target to answer."""
    write_questions(options.questions, asked(options.corpus, options.count, options.seed))


def make_answers(options: Options) -> None:
    """Let any target answer them, and keep its states for `heads`."""
    be_nice(options.nice)
    torch.set_num_threads(options.threads)
    target = load_target(options.target, options.device)
    if options.precision != "float32" and has_fast_bf16(target.device):
        target = Target(in_halves(target.model), target.tokenizer, target.card)
    writing = Writing(options.seed, usual_taps(target.layers))
    questions = read_questions(options.questions)
    write_answers(target, questions, writing, options.answers, options.tokens or ANSWER_TOKENS)


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
    """The SHA-256 of a model folder's weights file, in hexadecimal."""
    with (folder / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _frozen_target(folder: Path, shop: Workshop) -> Target:
    """The finished target as heads see it; its card carries the hash that they are made for."""
    model = load_exported(folder, shop.options.device).requires_grad_(False)
    size = sum(weights.numel() for weights in model.parameters())
    written = (folder / "model.safetensors").stat().st_size
    card = ModelCard("house", "causal-lm", size, written, weights_hash(folder))
    return Target(model, shop.tokenizer, card)


def _head_recipe(options: Options, made_for: str) -> HeadRecipe:
    usual = HeadRecipe(seed=options.seed)
    return replace(
        usual,
        matrix_rate=usual.matrix_rate * options.rate,
        other_rate=usual.other_rate * options.rate,
        made_for=made_for,
        own_text=options.own_text,
        precision=options.precision,
    )


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
