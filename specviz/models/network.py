"""Computes passes of a causal LM: by transformers' forward, or faster by a pass of our own.

A Llama's own pass is `NumpyLlama` on a CPU and `GraphLlama` on CUDA. All compute the rows of a text
or of a draft tree, extend a cache, and return logits and the requested hidden states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from torch import Tensor

from specviz.adapters.transformers import (
    rotary_angles,
    run_layer,
    steppable_decoder,
    with_cache,
)
from specviz.models import graph_llama, numpy_llama
from specviz.models.attention import PreallocatedCache, layer_masks
from specviz.models.fast_layers import NETWORK
from specviz.models.graph_llama import GraphCache
from specviz.models.graphs import Memory, uses_graphs
from specviz.models.passes import CaptureSpec, Pass, Rows, UnsupportedModel, capture_outputs
from specviz.verification.transfer import UploadBatch


class KeyValueCache(Protocol):
    """The keys and values of one run."""

    def keep(self, first: int, rows: Sequence[int]) -> None:
        """Keep the `first` rows of every layer, followed by later `rows`, ascending."""

    def cut(self, rows: int) -> None:
        """Keep only the first `rows` rows of every layer."""

    def newest(self, layer: int, rows: int) -> tuple[Tensor, Tensor]:
        """Return copies of a layer's newest keys and values, (rows, heads, size); layers from 1."""


class Network(Protocol):
    """Computes passes of a causal LM. Its methods accept only caches from its `new_cache`."""

    def new_cache(self) -> Any:
        """Return an empty `KeyValueCache`."""

    def forward(
        self, words: Tensor, rows: Rows, cache: Any, capture: CaptureSpec, keep_logits: int = 0
    ) -> Pass:
        """Run a complete pass over words (1, r). keep_logits: number of last rows; 0: all."""

    def embed(self, words: Tensor) -> Tensor:
        """Return the embeddings, (1, r, h), of token ids, (1, r)."""

    def run_layers(
        self, hidden: Tensor, rows: Rows, layers: Iterable[int], cache: Any, capture: CaptureSpec
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """Run decoder layers in order. Each extends its part of the cache.

        Returns the output of the last layer, (1, r, h), and the captured outputs, (r, h) each.

        Raises UnsupportedModel if the layers cannot be run one by one.

        Args:
            hidden: Input of the first layer, (1, r, h).
            rows: Positions and masks of the rows.
            layers: Indices of the layers, counted from 0.
            cache: The cache, which the layers extend.
            capture: The layer outputs to return; here layers are counted from 1.
        """

    def head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the final norm and the output head to states (1, r, h).

        Returns logits, (r, V), and the states after the norm, (r, h). Raises UnsupportedModel if
        the final norm cannot be located.
        """


class TorchNetwork:
    """Computes passes by the model's own forward, on any device and in any precision."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.masks = layer_masks(model)

    def new_cache(self) -> PreallocatedCache:
        """Return an empty cache."""
        return PreallocatedCache()

    def forward(
        self,
        words: Tensor,
        rows: Rows,
        cache: PreallocatedCache,
        capture: CaptureSpec,
        keep_logits: int = 0,
    ) -> Pass:
        """Implement `Network.forward`."""
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
        """Implement `Network.embed`."""
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
        """Implement `Network.run_layers`."""
        decoder, found = self._decoder, {}
        rotary = rotary_angles(decoder, hidden, rows.positions)
        for i in layers:
            layer, mask = decoder.layers[i], self.masks.of(i, rows.masks)
            hidden = run_layer(layer, hidden, rotary, mask, cache, rows.positions)
            if i + 1 in capture.layers:
                found[i + 1] = hidden[0]
        return hidden, found

    def head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Implement `Network.head`."""
        normed: Tensor = self._decoder.norm(hidden)[0]
        logits: Tensor = self.model.get_output_embeddings()(normed)
        return logits, normed

    @property
    def _decoder(self) -> Any:
        base = steppable_decoder(self.model)
        if base is None:
            kind = self.model.config.model_type
            raise UnsupportedModel(f"Early exit needs a Llama-like decoder; this is a {kind}.")
        return base


def prepare(model: Any) -> None:
    """Rearrange a model's weights for speed and, if possible, attach a faster network to it."""
    if uses_graphs(model.device):
        built: Any = graph_llama.build(model)
    else:
        built = numpy_llama.build(model)
    if built is not None:
        setattr(model, NETWORK, built)


def network_of(model: Any) -> Network:
    """Return the network that `prepare` attached to a model, or a `TorchNetwork`."""
    found: Network = getattr(model, NETWORK, None) or TorchNetwork(model)
    return found


def fixed_memory(cache: KeyValueCache) -> Memory | None:
    """Return a cache's memory if it is fixed, so that whole drafts can be recorded."""
    return cache.memory if isinstance(cache, GraphCache) else None


def plan_rows(
    cache: KeyValueCache,
    positions: Tensor,
    masks: Sequence[Tensor],
    uploads: UploadBatch,
    layers: range | None = None,
) -> Callable[[], Rows]:
    """Prepare the rows of a pass that runs later, after other planned passes.

    Returns a function that returns the rows. They must be planned in the order in which they run.

    Args:
        cache: The cache.
        positions: Positions on the host, (r,). Negative ones precede the rows as padding, which
            only the cache of `GraphLlama` accepts.
        masks: See `Rows`; on the host and without padding.
        uploads: Uploads them.
        layers: The layers that will run, counted from 0; None: all.
    """
    if isinstance(cache, GraphCache):
        return cache.plan_rows(positions, masks, uploads, layers)
    where = uploads.put(positions[None])
    sees = [uploads.put(mask) for mask in masks]
    return lambda: Rows(where(), [mask() for mask in sees])
