"""What the frozen target says of a batch of texts, from one pass that serves every head's loss.

Rule: nothing here carries a gradient into the target, and the pass is the model's own forward.

How well a head knows what the target will say some tokens later is measured against the target's
own law at that position, not the text's token: a guess is kept where the target agrees, and a law
says more than one draw from a corpus. (The papers take the text: there the target learns along, or
its law is too large to keep.) Row t of depth d guesses tokens[:, t + d + 1], given that the text's
own tokens came before; depth 1 is the first token that the target has not given yet.
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

DEPTH: Final = 5  # how many guesses in a row are measured where a head could make any number
EVERY: Final = -1  # in place of a layer's number: all that the target has


@dataclass(frozen=True)
class TargetOutputs:
    """What the frozen target says of a batch of texts: one pass serves every head's loss."""

    tokens: Tensor  # (B, T) ids
    states: tuple[Tensor, ...] | Mapping[int, Tensor]  # by layer, (B, T, h): [0] the embeddings,
    # [k] the output of layer k, before the final norm; all L + 1, or those that were kept
    final: Tensor  # (B, T, h) after the final norm
    keys_values: Mapping[int, tuple[Tensor, Tensor]]  # layer (from 1) -> (B, heads, T, d) each,
    # only layers asked for; keys are rotated, as in a cache
    embed: Callable[[Tensor], Tensor]  # ids -> the target's embeddings
    head: Callable[[Tensor], Tensor]  # final-normed (…, h) -> logits (…, V), the target's own
    generated: GeneratedText | None = None

    @cached_property
    def logits(self) -> Tensor:
        """(B, T, V) float32: logits[:, t] predict tokens[:, t + 1].

        Float32 even under autocast: distillation and argmax want more than 8 bits.
        """
        with torch.no_grad(), torch.autocast(self.final.device.type, enabled=False):
            return self.head(self.final.float())

    @property
    def tops(self) -> Tensor:
        """(B, T): the likeliest next token after each."""
        return self.logits.argmax(-1) if self.generated is None else self.generated.tops

    def over(self, tokens: Tensor, rows: Tensor) -> Tensor:
        """Logits (n, D) over these tokens (D,) alone, for rows (B, T) of bool."""
        if self.generated is None:
            return self.logits[rows][:, tokens]
        with torch.no_grad(), torch.autocast(self.final.device.type, enabled=False):
            return functional.linear(self.final[rows].float(), self.generated.table[tokens])

    @property
    def counted(self) -> Tensor:
        """(B, T) bool: after which tokens a drafter will have to guess the target's law."""
        whole = torch.ones_like(self.tokens, dtype=torch.bool)
        return whole if self.generated is None else self.generated.own


@dataclass(frozen=True)
class GeneratedText:
    """Of texts that the target wrote itself, what writing them told: the rest needs no logits.

    tops: (B, T), its likeliest next token. own: (B, T) bool, whether the next token was its own,
    false for a prompt and where a row is filled up. table: its output projection, (V, h) float32.
    """

    tops: Tensor
    own: Tensor
    table: Tensor


@torch.no_grad()
def read_target_outputs(
    model: LlamaForCausalLM, ids: Tensor, keys_values: Collection[int] = ()
) -> TargetOutputs:
    """Read `ids` (B, T) in one pass of `model`, keeping keys and values of the named layers.

    keys_values: layers, from 1; all where `EVERY` is among them.
    Raises ValueError where a layer does not exist.
    """
    depth = model.config.num_hidden_layers
    if EVERY in keys_values:
        keys_values = range(1, depth + 1)
    for layer in keys_values:
        if not 1 <= layer <= depth:
            raise ValueError(f"Keys and values of layer {layer}: the target has 1 to {depth}.")
    cache = growing_cache() if keys_values else None
    with _before_final_norm(model) as last:
        out = model.model(
            input_ids=ids,
            output_hidden_states=True,
            **with_cache(model.model, cache),
        )
    return TargetOutputs(
        tokens=ids,
        # transformers gives the last layer's output after the final norm only
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
    """The embeddings as a function: ids (…) to (…, h)."""
    table: Any = model.get_input_embeddings()
    weight: Tensor = table.weight.detach()
    return lambda ids: functional.embedding(ids, weight)


def projection_of(model: LlamaForCausalLM) -> Callable[[Tensor], Tensor]:
    """The output projection as a function: a gradient passes through it, none stays in it."""
    projection: Any = model.get_output_embeddings()
    weight: Tensor = projection.weight.detach()
    return lambda state: functional.linear(state, weight.to(state.dtype))


@torch.no_grad()
def overlaps(guesses: Sequence[Tensor], outputs: TargetOutputs) -> list[float]:
    """Σ min(p, q) by depth at temperature 1: how likely a token sampled from the head is kept.

    guesses: by depth, logits (B, rows, V); rows beyond T - d have nothing to be compared with.
    """
    shares = []
    for depth, guess in enumerate(guesses, start=1):
        p, q = _aligned(guess, outputs, depth)
        shares.append(float(torch.minimum(p.softmax(-1), q.softmax(-1)).sum(-1).mean()))
    return shares


@torch.no_grad()
def same_tops(guesses: Sequence[Tensor], outputs: TargetOutputs) -> list[float]:
    """By depth, how often head and target have the same most probable token (temperature 0)."""
    shares = []
    for depth, guess in enumerate(guesses, start=1):
        p, q = _aligned(guess, outputs, depth)
        shares.append(float((p.argmax(-1) == q.argmax(-1)).float().mean()))
    return shares


def _aligned(guess: Tensor, outputs: TargetOutputs, depth: int) -> tuple[Tensor, Tensor]:
    """Logits of target and head for the same token, (n, V) each."""
    rows = min(outputs.tokens.shape[1] - depth, guess.shape[1])
    counted = outputs.counted[:, depth : depth + rows]
    return outputs.logits[:, depth : depth + rows][counted], guess[:, :rows][counted].float()


def future_loss(logits: Tensor, outputs: TargetOutputs, distance: int) -> Tensor:
    """Cross-entropy of a head's logits (B, r, V), row t guessing the token t + distance.

    The target's logits for that token stand at t + distance - 1; rows without one are left out.
    distance: from 1 (the target's own); at most T.
    """
    rows = min(logits.shape[1], outputs.tokens.shape[1] - distance + 1)
    teacher = outputs.logits[:, distance - 1 :][:, :rows].float().softmax(-1)
    student = logits[:, :rows].float().log_softmax(-1)
    return -(teacher * student).sum(-1).mean()


def weighted(parts: Sequence[Tensor], falling: float = 1.0) -> Tensor:
    """The mean of losses by depth, each counting `falling` times the one before."""
    weights = torch.tensor([falling**i for i in range(len(parts))], device=parts[0].device)
    return (torch.stack(list(parts)) * weights).sum() / weights.sum()


@dataclass(frozen=True)
class HeadOptions:
    """What of a head follows from its target's size, and from how much time there is.

    draft_vocabulary: tokens that it may propose. steps: guesses in a row that it learns from.
    also_for: SHA-256 of further weights that it is accepted for, such as the same unrounded.
    """

    draft_vocabulary: int = 8192
    steps: int = 3
    also_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """What training needs of one kind of head; `name` is its folder's, and its drafter's.

    build: (target, how often each token occurs in the training text (V,)) -> a new head, an
    `nn.Module` with `save(folder)` and `load(folder, target)`, drawn from torch's own generator,
    which is seeded. loss: (head, batch) -> mean loss. guesses: (head, batch) -> logits by depth,
    as `overlaps` takes them; None where there are no simple ones. sampled: α is Σ min(p, q);
    otherwise, for a point mass, the share of equal tops. keys_values: the target's layers, from 1,
    whose keys and values the loss reads; (EVERY,) for all. fitted: the same for a target of
    another size, which learns from answers; None where that is not built.
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
        """What α is, of guesses by depth."""
        return overlaps if self.sampled else same_tops

    @torch.no_grad()
    def said(self, head: Any, outputs: TargetOutputs) -> Sequence[Tensor]:
        """A head's guesses by depth; none where the family has none to measure."""
        return [] if self.guesses is None else self.guesses(head, outputs)

    def agreement(self, head: Any, outputs: TargetOutputs) -> list[float]:
        """α by depth on this batch; empty where the family has no guesses to measure."""
        return self.measure(self.said(head, outputs), outputs)
