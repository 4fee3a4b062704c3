"""The frozen target's outputs on a batch of texts, and how heads are compared with them.

The losses of all heads use the outputs of one forward pass. No gradient reaches the target.

A head is trained to match the target's distribution at a position, not the text's token: the target
decides whether a guess is accepted, and a distribution holds more information than one token. (The
papers use the text: there the target is trained as well, or its distribution is too large to
store.) Row t of depth d predicts tokens[:, t + d + 1], given the text's tokens before it. Depth 1
is the first token after the target's own prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import torch
import torch.nn.functional as functional
from torch import Tensor
from transformers import DynamicCache, LlamaForCausalLM

from specviz.adapters.transformers import (
    cached_keys_values,
    final_norm,
    growing_cache,
    with_cache,
)
from specviz.models.target import Target

DEPTH: Final = 5  # how many guesses in a row are measured for heads without a limit
EVERY: Final = -1  # means all layers where a layer number is expected


@dataclass(frozen=True)
class TargetOutputs:
    """The frozen target's outputs on a batch of texts.

    Attributes:
        tokens: Token ids, (B, T).
        states: Hidden states (B, T, h) by layer: [0] are the embeddings, [k] is the output of layer
            k before the final norm. All L + 1 of them, or only those that were stored.
        final: Output after the final norm, (B, T, h).
        keys_values: Keys and values, (B, heads, T, d) each, of the requested layers (from 1); keys
            are rotated, as in a cache.
        embed: Maps ids to the target's embeddings.
        head: Maps final outputs (…, h) to the target's logits (…, V).
        generated: Set if the target wrote the texts itself, otherwise None.
    """

    tokens: Tensor
    states: tuple[Tensor, ...] | Mapping[int, Tensor]
    final: Tensor
    keys_values: Mapping[int, tuple[Tensor, Tensor]]
    embed: Callable[[Tensor], Tensor]
    head: Callable[[Tensor], Tensor]
    generated: GeneratedText | None = None

    @cached_property
    def logits(self) -> Tensor:
        """Logits (B, T, V), float32 even under autocast; logits[:, t] predict tokens[:, t + 1]."""
        with torch.no_grad(), torch.autocast(self.final.device.type, enabled=False):
            return self.head(self.final.float())

    @property
    def tops(self) -> Tensor:
        """The most probable next token after each token, (B, T)."""
        return self.logits.argmax(-1) if self.generated is None else self.generated.tops

    def over(self, tokens: Tensor, rows: Tensor) -> Tensor:
        """Return logits (n, D) of the tokens (D,), for the n rows that a mask (B, T) selects."""
        if self.generated is None:
            return self.logits[rows][:, tokens]
        with torch.no_grad(), torch.autocast(self.final.device.type, enabled=False):
            return functional.linear(self.final[rows].float(), self.generated.table[tokens])

    def project(self, outputs: Tensor, tokens: Tensor) -> Tensor:
        """Map a head's final outputs (…, h) to the target's logits of the tokens (D,), (…, D)."""
        if self.generated is None:
            return self.head(outputs)[..., tokens]
        return functional.linear(outputs, self.generated.table[tokens].to(outputs.dtype))

    @property
    def counted(self) -> Tensor:
        """The tokens after which drafters are trained and measured, (B, T) bool."""
        whole = torch.ones_like(self.tokens, dtype=torch.bool)
        return whole if self.generated is None else self.generated.own


@dataclass(frozen=True)
class GeneratedText:
    """Data stored for texts that the target wrote itself, in place of their logits.

    Attributes:
        tops: The target's most probable next token, (B, T).
        own: Whether the next token was the target's own, (B, T) bool; false for prompts and
            padding.
        table: The target's output projection, (V, h) float32.
    """

    tops: Tensor
    own: Tensor
    table: Tensor


@torch.no_grad()
def read_target_outputs(
    model: LlamaForCausalLM, ids: Tensor, keys_values: Collection[int] = ()
) -> TargetOutputs:
    """Read texts in one pass of the target.

    Raises ValueError if a layer does not exist.

    Args:
        model: The target.
        ids: Token ids, (B, T).
        keys_values: Layers (from 1) whose keys and values are kept; all if `EVERY` is among them.
    """
    depth = model.config.num_hidden_layers
    if EVERY in keys_values:
        keys_values = range(1, depth + 1)
    for layer in keys_values:
        if not 1 <= layer <= depth:
            raise ValueError(f"There is no layer {layer}: the target's layers are 1 to {depth}.")
    cache = growing_cache() if keys_values else None
    with _before_final_norm(model) as last:
        out = model.model(
            input_ids=ids,
            output_hidden_states=True,
            **with_cache(model.model, cache),
        )
    return TargetOutputs(
        tokens=ids,
        # transformers returns the last layer's output only after the final norm.
        states=(*out.hidden_states[:-1], last[0]),
        final=out.last_hidden_state,
        keys_values={} if cache is None else _kept(cache, keys_values),
        embed=embedding_of(model),
        head=projection_of(model),
    )


@contextmanager
def _before_final_norm(model: LlamaForCausalLM) -> Iterator[list[Tensor]]:
    found: list[Tensor] = []
    norm: Any = final_norm(model)
    hook = norm.register_forward_pre_hook(lambda _module, inputs: found.append(inputs[0]))
    try:
        yield found
    finally:
        hook.remove()


def _kept(cache: DynamicCache, layers: Collection[int]) -> dict[int, tuple[Tensor, Tensor]]:
    return {layer: cached_keys_values(cache, layer) for layer in layers}


def embedding_of(model: LlamaForCausalLM) -> Callable[[Tensor], Tensor]:
    """Return a function that maps ids (…) to the model's embeddings (…, h)."""
    table: Any = model.get_input_embeddings()
    weight: Tensor = table.weight.detach()
    return lambda ids: functional.embedding(ids, weight)


def projection_of(model: LlamaForCausalLM) -> Callable[[Tensor], Tensor]:
    """Return the output projection as a function; no gradient reaches its weight."""
    projection: Any = model.get_output_embeddings()
    weight: Tensor = projection.weight.detach()
    return lambda state: functional.linear(state, weight.to(state.dtype))


@torch.no_grad()
def overlaps(guesses: Sequence[Tensor], outputs: TargetOutputs) -> list[float]:
    """Return Σ min(p, q) by depth at temperature 1; guesses: logits (B, rows, V) of each depth."""
    shares = []
    for depth, guess in enumerate(guesses, start=1):
        p, q = _aligned(guess, outputs, depth)
        shares.append(float(torch.minimum(p.softmax(-1), q.softmax(-1)).sum(-1).mean()))
    return shares


@torch.no_grad()
def same_tops(guesses: Sequence[Tensor], outputs: TargetOutputs) -> list[float]:
    """Return how often head and target have the same top token (as at temperature 0), by depth."""
    shares = []
    for depth, guess in enumerate(guesses, start=1):
        p, q = _aligned(guess, outputs, depth)
        shares.append(float((p.argmax(-1) == q.argmax(-1)).float().mean()))
    return shares


def _aligned(guess: Tensor, outputs: TargetOutputs, depth: int) -> tuple[Tensor, Tensor]:
    rows = min(outputs.tokens.shape[1] - depth, guess.shape[1])
    counted = outputs.counted[:, depth : depth + rows]
    return outputs.logits[:, depth : depth + rows][counted], guess[:, :rows][counted].float()


def future_loss(logits: Tensor, outputs: TargetOutputs, distance: int) -> Tensor:
    """Return the cross-entropy of a head's logits to the target's distribution.

    Args:
        logits: (B, r, V); row t predicts the token t + distance.
        outputs: The target's outputs; its logits for that token are at t + distance - 1. Rows
            without such logits are ignored.
        distance: From 1 (the target's own prediction) to T.
    """
    rows = min(logits.shape[1], outputs.tokens.shape[1] - distance + 1)
    teacher = outputs.logits[:, distance - 1 :][:, :rows].float().softmax(-1)
    student = logits[:, :rows].float().log_softmax(-1)
    return -(teacher * student).sum(-1).mean()


def weighted(parts: Sequence[Tensor], decay: float = 1.0) -> Tensor:
    """Return the mean of the losses by depth; each weight is `decay` times the one before."""
    weights = torch.tensor([decay**i for i in range(len(parts))], device=parts[0].device)
    return (torch.stack(list(parts)) * weights).sum() / weights.sum()


@dataclass(frozen=True)
class HeadOptions:
    """Options of a head that depend on the target's size and the time available.

    Attributes:
        draft_vocabulary: Number of tokens that it may propose. A DSpark head may propose all
            tokens; there, it is the number of frequent tokens that every loss includes.
        steps: Number of guesses in a row that it is trained on; DSpark's block size.
        also_for: SHA-256 of other weights that the head also fits, such as the target before
            rounding.
    """

    draft_vocabulary: int = 8192
    steps: int = 3
    also_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """What training needs to know about one kind of head.

    Attributes:
        name: Name of its folder and of its drafter.
        build: Builds a new head, an `nn.Module` with `save(folder)` and `load(folder, target)`,
            from the target and the frequency of each token in the training text (V,). Weights are
            sampled from torch's global generator, which is seeded.
        loss: Computes the mean loss of (head, outputs).
        guesses: Computes the logits for each depth from (head, outputs), the input of `overlaps`;
            None if the family has no such function.
        sampled: Whether α is Σ min(p, q); otherwise it is how often both have
            the same top token.
        keys_values: Layers of the target, from 1, whose keys and values the loss reads; (EVERY,)
            for all.
        with_options: Returns the family with other options, to train a head on texts written by the
            target; None if that is not implemented.
    """

    name: str
    build: Callable[[Target, Tensor], Any]
    loss: Callable[[Any, TargetOutputs], Tensor]
    guesses: Callable[[Any, TargetOutputs], Sequence[Tensor]] | None = None
    sampled: bool = False
    keys_values: tuple[int, ...] = ()
    with_options: Callable[[HeadOptions], Family] | None = None

    @property
    def measure(self) -> Callable[[Sequence[Tensor], TargetOutputs], list[float]]:
        """The function that computes α from logits by depth."""
        return overlaps if self.sampled else same_tops

    @torch.no_grad()
    def predict(self, head: Any, outputs: TargetOutputs) -> Sequence[Tensor]:
        """Return a head's logits by depth, or an empty list if the family cannot compute them."""
        return [] if self.guesses is None else self.guesses(head, outputs)

    def agreement(self, head: Any, outputs: TargetOutputs) -> list[float]:
        """Return α by depth on this batch, or an empty list if the family cannot compute it."""
        return self.measure(self.predict(head, outputs), outputs)
