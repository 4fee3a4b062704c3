"""Inputs and outputs of a target's pass, and how many weights the pass reads.

Embedding tables are not counted, because a pass looks up only single rows. Counts of work include
matrices only; counts of bytes include all weights.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from specviz.adapters.transformers import decoder_layers, final_norm
from specviz.trace.work import Weights


class MissingStates(ValueError):
    """Raised if there are more or fewer hidden states than committed tokens."""


class UnsupportedModel(ValueError):
    """Raised if the model's architecture lacks something that a drafter needs."""


@dataclass(frozen=True, slots=True)
class CaptureSpec:
    """The outputs of the target's pass that a drafter needs. No others are stored.

    Attributes:
        layers: Decoder layers whose outputs are stored, counted from 1, before the final norm.
        final: Whether to store the state after the final norm, which the output head reads.
        keys_values: Layers, counted from 1, whose new keys and values are stored.
    """

    layers: tuple[int, ...] = ()
    final: bool = False
    keys_values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class States:
    """The target's hidden states, one row per token.

    Attributes:
        layers: The output of each captured layer, (n, h).
        final: The state after the final norm, (n, h), or None.
        keys_values: The keys and values of each captured layer, (n, heads, head size) each.
    """

    layers: Mapping[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None
    keys_values: Mapping[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def check_length(self, tokens: int) -> None:
        """Check that each token has one state of every kind.

        Raises:
            MissingStates: The numbers differ.
        """
        pairs = [each for pair in self.keys_values.values() for each in pair]
        final = [] if self.final is None else [self.final]
        rows = min((len(one) for one in [*self.layers.values(), *final, *pairs]), default=0)
        if rows != tokens:
            raise MissingStates(f"{tokens} tokens came with {rows} states; each token needs one.")

    def take(self, rows: Sequence[int]) -> States:
        """Return the states of these rows, in this order."""
        if not self.layers and not self.keys_values and self.final is None:
            return self
        select = _selector(rows)
        return States(
            {k: select(v) for k, v in self.layers.items()},
            None if self.final is None else select(self.final),
            {k: (select(a), select(b)) for k, (a, b) in self.keys_values.items()},
        )


def _selector(rows: Sequence[int]) -> Callable[[Tensor], Tensor]:
    # The rows are few: one by one, no index tensor is sent to the device.
    first = rows[0] if rows else 0
    if list(rows) == list(range(first, first + len(rows))):
        return lambda states: states[first : first + len(rows)].clone()
    return lambda states: torch.stack([states[row] for row in rows])


def concat_layers(parts: Sequence[Mapping[int, Tensor]]) -> dict[int, Tensor]:
    """Concatenate the layer states of several passes, (r, h) each."""
    return {k: torch.cat([part[k] for part in parts]) for k in (parts[0] if parts else ())}


@dataclass(frozen=True, slots=True)
class ExtraRows:
    """Extra rows that are computed in the target's pass and then discarded (lookahead's window).

    Attributes:
        tokens: m token ids.
        positions: m distances from the root.
        sees: (m, n + m) bool: which of the n tree nodes and m extra rows each row attends to. All
            rows attend to the committed text.
        logits: (m, V), or None before the pass.
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    sees: Tensor
    logits: Tensor | None = None


@dataclass(frozen=True, slots=True)
class PrecomputedPrefix:
    """Output of lower layers that drafting already ran (early exit); scoring continues from it.

    Attributes:
        layer: Layers 1 to `layer` have run, and their keys and values are in the run's cache.
        states: The output of that layer for the tree's nodes 0..m-1, (1, m, h).
    """

    layer: int
    states: Tensor


def _checked() -> None:
    """Do nothing, because the scores need no check."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The result of a pass over n tree nodes.

    Attributes:
        logits: (n, V).
        states: The captured hidden states.
        extra_rows: The extra rows of the pass, now with logits.
        check: Raises BadScores if a row is not a valid distribution. Call it after another tensor
            was copied from the device; it then does not wait.
    """

    logits: Tensor
    states: States
    extra_rows: ExtraRows | None = None
    check: Callable[[], None] = _checked


@dataclass(frozen=True, slots=True)
class Rows:
    """Positions and masks of a pass's rows.

    Attributes:
        positions: (1, r).
        masks: Additive masks, (1, 1, r, rows of the cache + r) each; see `LayerMasks.split`. Empty
            for the rows of a text, each of which attends to all previous rows.
        slots: For a `GraphLlama`, the cache's row of each row, (r,); see `plan_rows`.
        reach: The number of the cache's rows up to the last of these.
    """

    positions: Tensor
    masks: Sequence[Tensor] = ()
    slots: Tensor | None = None
    reach: int = 0


@dataclass(frozen=True, slots=True)
class Pass:
    """The output of a network.

    Attributes:
        logits: The logits of the requested rows, (r, V).
        layers: See `States`.
        final: See `States`.
    """

    logits: Tensor
    layers: Mapping[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None

    def copy_newest(self, rows: int) -> Pass:
        """Return copies of the last rows, of which padding has none."""
        logits = self.logits[-rows:].clone()
        layers = {k: each[-rows:].clone() for k, each in self.layers.items()}
        return Pass(logits, layers, None if self.final is None else self.final[-rows:].clone())


@dataclass(slots=True)
class _Captured:
    layers: dict[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None


@contextmanager
def capture_outputs(model: Any, capture: CaptureSpec) -> Iterator[_Captured]:
    """Capture outputs (n, h) of all passes inside this context, without the batch dimension.

    All runs share the modules with hooks, so a hook ignores passes of other threads.
    """
    found, own_thread = _Captured(), threading.get_ident()

    def keep_layer(k: int) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            if threading.get_ident() == own_thread:
                found.layers[k] = (output[0] if isinstance(output, tuple) else output)[0]

        return hook

    def keep_final(_module: Any, _inputs: Any, output: Any) -> None:
        if threading.get_ident() == own_thread:
            found.final = output[0]

    layers = require_part(model, decoder_layers, "layers") if capture.layers else ()
    hooks = [layers[k - 1].register_forward_hook(keep_layer(k)) for k in capture.layers]
    if capture.final:
        norm = require_part(model, final_norm, "final norm")
        hooks.append(norm.register_forward_hook(keep_final))
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def require_part(model: Any, find: Callable[[Any], Any | None], what: str) -> Any:
    """Return the part of a decoder that `find` locates.

    Raises:
        UnsupportedModel: The part was not found; the message calls it `what`.
    """
    found = find(model)
    if found is None:
        raise UnsupportedModel(
            f"The {what} of a {model.config.model_type} model cannot be located."
        )
    return found


def causal_lm_weights(model: Any) -> Weights:
    """Count the weights of a causal LM's layers and of its output head, which may be tied."""
    head = model.get_output_embeddings().weight
    return Weights(
        matrix_weights(model) - (0 if id(head) in _tables(model) else head.numel()), head.numel()
    )


def bytes_read(model: Any) -> int:
    """Return the bytes of weights that one pass of a causal LM reads.

    Each matrix, norm and bias counts once.
    """
    looked_up = _tables(model) - {id(model.get_output_embeddings().weight)}
    return sum(weight.nbytes for weight in model.parameters() if id(weight) not in looked_up)


def matrix_weights(module: nn.Module) -> int:
    """Return the number of weights in all matrices of a module except its embedding tables."""
    tables = _tables(module)
    return sum(
        weight.numel()
        for weight in module.parameters()
        if weight.dim() > 1 and id(weight) not in tables
    )


def _tables(module: nn.Module) -> set[int]:
    return {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
