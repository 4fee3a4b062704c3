"""What goes into a target's pass and what comes out: taps and states, riders, warm layers, scores.

One rule: a pass keeps what was declared beforehand and nothing else.
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
    """Tokens came without the target's states that predicted them."""


class UnsupportedModel(ValueError):
    """Something that this model's architecture does not let us do."""


@dataclass(frozen=True, slots=True)
class CaptureSpec:
    """What a drafter needs of the target's pass. The target keeps this and nothing else.

    layers: k stands for the output of decoder layer k, counted from 1 (before the final norm).
    final: the state after the final norm, which the output head reads. keys_values: layers, from
    1, whose new keys and values are wanted.
    """

    layers: tuple[int, ...] = ()
    final: bool = False
    keys_values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class States:
    """The target's states by row. layers: k to (n, h). final: (n, h).

    keys_values: k to (keys, values), each (n, heads, head size).
    """

    layers: Mapping[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None
    keys_values: Mapping[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def cover(self, tokens: int) -> None:
        """Raise MissingStates unless there is a state of every kind for each of so many tokens."""
        pairs = [half for pair in self.keys_values.values() for half in pair]
        final = [] if self.final is None else [self.final]
        rows = min((len(one) for one in [*self.layers.values(), *final, *pairs]), default=0)
        if rows != tokens:
            raise MissingStates(f"{rows} states came with {tokens} tokens; each needs its own.")

    def take(self, rows: Sequence[int]) -> States:
        """The states of these rows, in this order."""
        held = [*self.layers.values(), *(keys for keys, _ in self.keys_values.values())]
        held += [] if self.final is None else [self.final]
        if not held:
            return self
        of = _chooser(rows)
        return States(
            {k: of(v) for k, v in self.layers.items()},
            None if self.final is None else of(self.final),
            {k: (of(a), of(b)) for k, (a, b) in self.keys_values.items()},
        )


def _chooser(rows: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """What copies these rows of a tensor. No list of them goes to where it is: they are few."""
    first = rows[0] if rows else 0
    if list(rows) == list(range(first, first + len(rows))):
        return lambda held: held[first : first + len(rows)].clone()
    return lambda held: torch.stack([held[row] for row in rows])


def concat_layers(parts: Sequence[Mapping[int, Tensor]]) -> dict[int, Tensor]:
    """The same layers' states of several passes, k to (r, h) each, as if one pass had made them."""
    return {k: torch.cat([part[k] for part in parts]) for k in (parts[0] if parts else ())}


@dataclass(frozen=True, slots=True)
class ExtraRows:
    """Extra rows that travel in the target's pass and are never kept (lookahead's window).

    tokens: m ids. positions: m distances from the root. sees: (m, n + m) bool, what each sees of
    the tree's n nodes and of the riders; all see the committed past. logits: (m, V), after the
    pass.
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    sees: Tensor
    logits: Tensor | None = None


@dataclass(frozen=True, slots=True)
class PrecomputedPrefix:
    """Work that drafting already did inside the target (early exit): scoring resumes from it.

    layer: layers 1..layer have run, their keys and values are in the run's cache. states:
    (1, m, h), the output of that layer for the tree's nodes 0..m-1.
    """

    layer: int
    states: Tensor


def _sound() -> None:
    """Scores that were looked at already."""


@dataclass(frozen=True, slots=True)
class Scores:
    """A pass over n tree nodes. logits: (n, V). riders: as sent, with their logits.

    check: raises BadScores where a row can be no law. To be called by whoever makes laws of them;
    after a read, for it then waits for nothing.
    """

    logits: Tensor
    states: States
    extra_rows: ExtraRows | None = None
    check: Callable[[], None] = _sound


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows of a pass are and what they see. positions: (1, r).

    masks: as `LayerMasks.split` gives them, additive float, (1, 1, r, rows of the cache + r) each;
    none for rows of a text, each of which sees all before it.
    """

    positions: Tensor
    masks: Sequence[Tensor] = ()


@dataclass(frozen=True, slots=True)
class Pass:
    """What a network computed. logits: (r, V), of the rows that were asked for.

    layers, final: the tapped states, as in `States`.
    """

    logits: Tensor
    layers: Mapping[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None


@dataclass(slots=True)
class _Found:
    layers: dict[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None


@contextmanager
def capture_outputs(model: Any, capture: CaptureSpec) -> Iterator[_Found]:
    """Collect the tapped outputs of the passes made inside: rows (n, h), batch left out.

    The hooks sit on modules that all visitors share, so each listens to its own thread only.
    """
    found, mine = _Found(), threading.get_ident()

    def keep_layer(k: int) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            if threading.get_ident() == mine:
                found.layers[k] = (output[0] if isinstance(output, tuple) else output)[0]

        return hook

    def keep_final(_module: Any, _inputs: Any, output: Any) -> None:
        if threading.get_ident() == mine:
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
    """The part of a decoder that `find` finds. Raises Unsupported, with `what`, if it is None."""
    found = find(model)
    if found is None:
        raise UnsupportedModel(
            f"Where a {model.config.model_type} model keeps its {what} is not known."
        )
    return found
