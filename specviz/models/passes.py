"""Inputs and outputs of a target's pass: rows, hidden states, extra rows, scores.

A pass keeps the states requested in its `CaptureSpec` and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specviz.adapters.transformers import decoder_layers, final_norm


class MissingStates(ValueError):
    """Tokens were committed without the target's states that predicted them."""


class UnsupportedModel(ValueError):
    """The model's architecture does not allow what a drafter needs."""


@dataclass(frozen=True, slots=True)
class CaptureSpec:
    """Which outputs of the target's pass a drafter needs. The target keeps only these.

    Attributes:
        layers: Decoder layers whose outputs are kept, counted from 1, before the final norm.
        final: Whether to keep the state after the final norm, which the output head reads.
        keys_values: Layers, counted from 1, whose new keys and values are kept.
    """

    layers: tuple[int, ...] = ()
    final: bool = False
    keys_values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class States:
    """The target's hidden states, one row per token.

    Attributes:
        layers: By layer, its output (n, h).
        final: The state after the final norm, (n, h), or None.
        keys_values: By layer, keys and values, (n, heads, head size) each.
    """

    layers: Mapping[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None
    keys_values: Mapping[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def check_length(self, tokens: int) -> None:
        """Check that there is one state of every kind for each token.

        Raises:
            MissingStates: There is not.
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
    """Return a function that copies these rows of a tensor.

    The rows are few, so no index tensor is sent to the device.
    """
    first = rows[0] if rows else 0
    if list(rows) == list(range(first, first + len(rows))):
        return lambda states: states[first : first + len(rows)].clone()
    return lambda states: torch.stack([states[row] for row in rows])


def concat_layers(parts: Sequence[Mapping[int, Tensor]]) -> dict[int, Tensor]:
    """Concatenate the layer states of several passes, (r, h) each, as if one pass had made them."""
    return {k: torch.cat([part[k] for part in parts]) for k in (parts[0] if parts else ())}


@dataclass(frozen=True, slots=True)
class ExtraRows:
    """Extra rows that are computed in the target's pass and never kept (lookahead's window).

    Attributes:
        tokens: m token ids.
        positions: m distances from the root.
        sees: (m, n + m) bool: which of the tree's n nodes and of these m rows each row sees. All
            see the committed text.
        logits: (m, V), after the pass.
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    sees: Tensor
    logits: Tensor | None = None


@dataclass(frozen=True, slots=True)
class PrecomputedPrefix:
    """Lower layers that drafting already computed (early exit); scoring continues from them.

    Attributes:
        layer: Layers 1 to `layer` have run, and their keys and values are in the run's cache.
        states: The output of that layer for the tree's nodes 0..m-1, (1, m, h).
    """

    layer: int
    states: Tensor


def _checked() -> None:
    """Do nothing: the scores were checked already."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The result of a pass over n tree nodes.

    Attributes:
        logits: (n, V).
        states: The captured hidden states.
        extra_rows: The extra rows as they were sent, with their logits.
        check: Raises BadScores if a row is not a valid distribution. To be called after a tensor
            was read, because it then does not wait for the device.
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
        masks: See `LayerMasks.split`: additive, (1, 1, r, rows of the cache + r) each. Empty for
            the rows of a text, each of which sees all rows before it.
    """

    positions: Tensor
    masks: Sequence[Tensor] = ()


@dataclass(frozen=True, slots=True)
class Pass:
    """The output of a network.

    Attributes:
        logits: (r, V), of the requested rows.
        layers: Captured layer outputs, see `States`.
        final: Captured state after the final norm, see `States`.
    """

    logits: Tensor
    layers: Mapping[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None


@dataclass(slots=True)
class _Captured:
    layers: dict[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None


@contextmanager
def capture_outputs(model: Any, capture: CaptureSpec) -> Iterator[_Captured]:
    """Capture outputs of the passes made inside the context: rows (n, h), without the batch.

    The hooks are on modules that all runs share, so each responds to its own thread only.
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
        UnsupportedModel: It is not found; the message calls it `what`.
    """
    found = find(model)
    if found is None:
        raise UnsupportedModel(
            f"The {what} of a {model.config.model_type} model cannot be located."
        )
    return found
