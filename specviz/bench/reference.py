"""transformers' own decoding on the same models: generate, assisted generation, prompt lookup.

Rule: it is asked for the same work as ours: as many drafted tokens a round, no early end of a
draft by confidence, the same sampling and the same limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from specviz.settings import Settings
from specviz.target import Target

SCHEDULES = {"fixed": "constant", "learning": "heuristic_transient"}

Counts = tuple[int, int]  # new tokens, target passes


def generate(target: Target, ids: Sequence[int], settings: Settings) -> Counts:
    """Plain `generate`."""
    return _generate(target, ids, settings)


def assisted(target: Target, small: Any, ids: Sequence[int], settings: Settings) -> Counts:
    """Assisted generation with the model `small` as assistant."""
    with _drafting_like_ours(small.generation_config, settings):
        return _generate(target, ids, settings, assistant_model=small)


def prompt_lookup(target: Target, ids: Sequence[int], settings: Settings) -> Counts:
    """Prompt lookup decoding."""
    lookup = {
        "prompt_lookup_num_tokens": settings.gamma,
        "max_matching_ngram_size": settings.ngram_max,
    }
    return _generate(target, ids, settings, **lookup)


def _generate(target: Target, ids: Sequence[int], settings: Settings, **options: Any) -> Counts:
    prompt = torch.tensor([list(ids)], device=target.device)
    torch.manual_seed(settings.seed)
    with _counting(target.model) as passes:
        out = target.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=settings.max_new_tokens,
            pad_token_id=target.eos[0] if target.eos else 0,
            **_sampling(settings),
            **options,
        )
    return out.shape[1] - prompt.shape[1], len(passes)


def _sampling(settings: Settings) -> dict[str, Any]:
    """The sampling options; at temperature 0 there are none."""
    law = settings.sampling
    if law.greedy:
        return {"do_sample": False}
    warmth = {"temperature": law.temperature, "top_k": law.top_k, "top_p": law.top_p}
    return {"do_sample": True} | warmth


@contextmanager
def _counting(model: Any) -> Iterator[list[None]]:
    """A list that grows by one with every pass of the model."""
    passes: list[None] = []
    hook = model.register_forward_pre_hook(lambda *_: passes.append(None))
    try:
        yield passes
    finally:
        hook.remove()


@contextmanager
def _drafting_like_ours(config: Any, settings: Settings) -> Iterator[None]:
    """An assistant's own generation config, for a while: γ tokens a round, however sure it is."""
    ours = {
        "num_assistant_tokens": settings.gamma,
        "num_assistant_tokens_schedule": SCHEDULES[settings.schedule],
        "assistant_confidence_threshold": 0.0,
    }
    before = {name: getattr(config, name) for name in ours}
    config.update(**ours)
    try:
        yield
    finally:
        config.update(**before)
