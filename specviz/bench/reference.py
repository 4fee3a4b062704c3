"""Decoding by transformers with the same models: plain, and by each of its speculative methods.

The work is the same as ours: the same number of drafted tokens per round, drafts end early only
where ours do, and sampling settings and token limit are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch

from specviz.models.devices import synchronize
from specviz.models.target import Target
from specviz.settings.settings import Settings

SCHEDULES = {"fixed": "constant", "learning": "heuristic_transient"}


Counts = tuple[int, int, float]  # new tokens, target passes, seconds since the second pass began


def generate(target: Target, ids: Sequence[int], settings: Settings) -> Counts:
    """Run plain `generate`."""
    return count_passes(target, ids, settings)


def assisted(target: Target, ids: Sequence[int], settings: Settings, small: Any) -> Counts:
    """Run assisted generation with the model `small` as assistant."""
    with _drafting_like_ours(small.generation_config, settings):
        return count_passes(target, ids, settings, assistant_model=small)


def early_exit(target: Target, ids: Sequence[int], settings: Settings) -> Counts:
    """Run self-speculation, in which the target's first layers draft; count only full passes.

    To verify, transformers runs the first layers again, with a second cache; our method continues
    from where the draft stopped.
    """
    exit_layer = settings.at_depth(target.layers).exit_layer
    with (
        _drafting_like_ours(target.model.generation_config, settings),
        _restoring_layers(target.model),
    ):
        return count_passes(target, ids, settings, assistant_early_exit=exit_layer)


def prompt_lookup(target: Target, ids: Sequence[int], settings: Settings) -> Counts:
    """Run prompt lookup decoding."""
    lookup = {
        "prompt_lookup_num_tokens": settings.gamma,
        "max_matching_ngram_size": settings.ngram_max,
    }
    return count_passes(target, ids, settings, **lookup)


def mtp(target: Target, ids: Sequence[int], settings: Settings) -> Counts:
    """Run the target's own multi-token prediction modules, if its checkpoint has some.

    Each module makes one guess, so γ is the number of modules. Every call reads the modules from
    disk.
    """
    return count_passes(target, ids, settings, use_mtp=True)


def explain_no_mtp(target: Target) -> str | None:
    """Return transformers' message on why `use_mtp` does not work with this target, or None.

    The function tries to use it. In transformers, a Llama has no such modules: its config has no
    `num_mtp_layers`, and even with this key, its class has no weight names for them.
    """
    try:
        mtp(target, [1, 2], Settings(max_new_tokens=3))
    except Exception as error:  # a model that does not support it can fail with any exception
        return str(error).strip().split("\n")[0] or type(error).__name__
    return None


def count_passes(target: Target, ids: Sequence[int], settings: Settings, **options: Any) -> Counts:
    """Run `generate` once with these options; return its tokens, passes and seconds."""
    with _counting(target.model) as begun:
        tokens = new_tokens(target, ids, settings, **options)
    synchronize(target.device)
    end = perf_counter()
    return len(tokens), len(begun), end - begun[1] if len(begun) > 1 else 0.0


def new_tokens(target: Target, ids: Sequence[int], settings: Settings, **options: Any) -> list[int]:
    """Return the tokens that `generate` adds to the text."""
    prompt = torch.tensor([list(ids)], device=target.device)
    torch.manual_seed(settings.seed)
    out = target.model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=settings.max_new_tokens,
        pad_token_id=target.eos[0] if target.eos else 0,
        **_sampling(settings),
        **options,
    )
    found: list[int] = out[0, prompt.shape[1] :].tolist()
    return found


def _sampling(settings: Settings) -> dict[str, Any]:
    chosen = settings.sampling
    if chosen.greedy:
        return {"do_sample": False}
    options = {"temperature": chosen.temperature, "top_k": chosen.top_k, "top_p": chosen.top_p}
    return {"do_sample": True} | options


@contextmanager
def _counting(model: Any) -> Iterator[list[float]]:
    # Yields the times at which full passes of the model begin.
    begun: list[float] = []
    config = model.config.get_text_config()
    layers = config.num_hidden_layers

    def count(*_: object) -> None:
        if config.num_hidden_layers == layers:  # an early exit sets fewer layers while it drafts
            begun.append(perf_counter())

    hook = model.register_forward_pre_hook(count)
    try:
        yield begun
    finally:
        hook.remove()


@contextmanager
def _restoring_layers(model: Any) -> Iterator[None]:
    # Even if transformers fails while it drafts with fewer layers.
    config = model.config.get_text_config()
    layers = config.num_hidden_layers
    try:
        yield
    finally:
        config.num_hidden_layers = layers


@contextmanager
def _drafting_like_ours(config: Any, settings: Settings) -> Iterator[None]:
    ours = {
        "num_assistant_tokens": settings.gamma,
        "num_assistant_tokens_schedule": SCHEDULES[settings.schedule],
        "assistant_confidence_threshold": settings.confidence,
    }
    before = {name: getattr(config, name) for name in ours}
    config.update(**ours)
    try:
        yield
    finally:
        config.update(**before)
