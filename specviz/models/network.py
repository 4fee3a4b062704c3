"""Who computes the passes of a causal LM: transformers' own forward, or `NumpyLlama` on a CPU.

Both take the rows of a text or of a draft tree, extend a cache, and give logits and the states that
were declared beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from specviz.adapters.transformers import (
    rotary_angles,
    run_layer,
    steppable_decoder,
    with_cache,
)
from specviz.models.kv_cache import PreallocatedCache
from specviz.models.masks import layer_masks
from specviz.models.numpy_llama import build
from specviz.models.passes import CaptureSpec, Pass, Rows, UnsupportedModel, capture_outputs
from specviz.models.products import NETWORK


class KeyValueCache(Protocol):
    """One run's keys and values."""

    def keep(self, first: int, rows: Sequence[int]) -> None:
        """Keep in every layer the first rows and, behind them, `rows`: rising, from `first` on."""

    def cut(self, rows: int) -> None:
        """Keep in every layer the first so many rows."""

    def newest(self, layer: int, rows: int) -> tuple[Tensor, Tensor]:
        """Copies of the newest keys and values of a layer, from 1: (rows, heads, size) each."""


class Network(Protocol):
    """A causal LM's passes. Every cache that a method is given was made by `new_cache`."""

    def new_cache(self) -> Any:
        """An empty `KeyValueCache`."""

    def forward(
        self, words: Tensor, rows: Rows, cache: Any, capture: CaptureSpec, keep_logits: int = 0
    ) -> Pass:
        """A whole pass over token ids (1, r). keep_logits: of the last so many rows; 0: of all."""

    def embed(self, words: Tensor) -> Tensor:
        """Embeddings (1, r, h) of token ids (1, r)."""

    def run_layers(
        self, hidden: Tensor, rows: Rows, layers: Iterable[int], cache: Any, capture: CaptureSpec
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """Decoder layers in turn, from 0, each extending its own part of the cache: (1, r, h).

        The other half: outputs (r, h) of the tapped layers, from 1. Raises Unsupported.
        """

    def head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (r, V) of states (1, r, h), and the states after the final norm (r, h).

        Raises Unsupported.
        """


class TorchNetwork:
    """transformers' own forward, on any device and in any precision."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.masks = layer_masks(model)

    def new_cache(self) -> PreallocatedCache:
        """An empty cache."""
        return PreallocatedCache()

    def forward(
        self,
        words: Tensor,
        rows: Rows,
        cache: PreallocatedCache,
        capture: CaptureSpec,
        keep_logits: int = 0,
    ) -> Pass:
        """See `Network`."""
        with capture_outputs(self.model, capture) as found:
            out = self.model(
                input_ids=words,
                position_ids=rows.positions,
                attention_mask=self.masks.argument(rows.masks),
                logits_to_keep=keep_logits,
                **with_cache(self.model, cache),
            )
        return Pass(out.logits[0], found.layers, found.final)

    def embed(self, words: Tensor) -> Tensor:
        """See `Network`."""
        found: Tensor = self._decoder.embed_tokens(words)
        return found

    def run_layers(
        self,
        hidden: Tensor,
        rows: Rows,
        layers: Iterable[int],
        cache: PreallocatedCache,
        capture: CaptureSpec,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """See `Network`. The rows have masks."""
        decoder, found = self._decoder, {}
        rotary = rotary_angles(decoder, hidden, rows.positions)
        for i in layers:
            layer, mask = decoder.layers[i], self.masks.of(i, rows.masks)
            hidden = run_layer(layer, hidden, rotary, mask, cache, rows.positions)
            if i + 1 in capture.layers:
                found[i + 1] = hidden[0]
        return hidden, found

    def head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network`."""
        normed: Tensor = self._decoder.norm(hidden)[0]
        logits: Tensor = self.model.get_output_embeddings()(normed)
        return logits, normed

    @property
    def _decoder(self) -> Any:
        """The decoder, where its layers can be run one by one. Raises Unsupported otherwise."""
        base = steppable_decoder(self.model)
        if base is None:
            kind = self.model.config.model_type
            raise UnsupportedModel(f"Early exit needs a Llama-like decoder; this is a {kind}.")
        return base


def prepare(model: nn.Module) -> None:
    """Lay out a model's weights for speed, where that is possible, and find who computes it."""
    built = build(model)
    if built is not None:
        setattr(model, NETWORK, built)


def network_of(model: Any) -> Network:
    """Who computes the passes of a model: what `prepare` found, or transformers."""
    found: Network = getattr(model, NETWORK, None) or TorchNetwork(model)
    return found
