"""The forward pass of a Llama in NumPy: float32, on a CPU, over the network's own weights.

In a small model on a CPU a plain pass waits for the host as much as for memory: torch takes 9 µs
for a norm of 256 numbers and 13 for one row of attention, NumPy about 2 and 11 (one thread of an
AMD EPYC), and a layer has some thirty such steps. Matrices are multiplied in the way that is fastest
for their shape (`products`): queries, keys and values in one product, gate and up in another.

Mistral, Qwen2 and Qwen3 without a sliding window are computed here too: they are Llamas with biases
or with norms on queries and keys. `of` gives the pass only where it was compared with transformers'
own when the model was loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.transformers import llama_decoder, rotary_angles, with_cache
from specviz.models.kv_cache import PreallocatedCache
from specviz.models.passes import CaptureSpec, Pass, Rows, concat_layers
from specviz.models.products import Array, Product, speed_up

BLOCK: Final = 128  # rows of a prompt that are read at once
EXTRA: Final = 64  # rows of memory more than asked for, each time a cache grows
NEAR: Final = 1e-3  # of the largest logit: how far two orders of the same sums may come apart


class NumpyCache:
    """One run's keys and values, (layers, 2, heads, capacity, head size) in one block.

    Rows are written behind those that are kept. What is cut off is overwritten by the next pass.
    """

    def __init__(self, layers: int, heads: int, size: int) -> None:
        self.block = torch.empty(layers, 2, heads, 0, size)
        self.rows: Array = self.block.numpy()
        self.lengths = [0] * layers

    def append(self, layer: int, keys: Array, values: Array) -> tuple[Array, Array]:
        """Add rows (r, heads, size) to a layer, counted from 0: all its keys, all its values.

        Both are (heads, n, size), views of the block.
        """
        first = self.lengths[layer]
        last = first + len(keys)
        if last > self.rows.shape[3]:
            self._grow(last)
        kept = self.rows[layer]
        kept[0, :, first:last] = keys.swapaxes(0, 1)
        kept[1, :, first:last] = values.swapaxes(0, 1)
        self.lengths[layer] = last
        return kept[0, :, :last], kept[1, :, :last]

    def keep(self, first: int, rows: Sequence[int]) -> None:
        """Keep in every layer the first rows and, behind them, `rows`: rising, from `first` on."""
        last = first + len(rows)
        if list(rows) != list(range(first, last)):
            self.rows[:, :, :, first:last] = self.rows[:, :, :, list(rows)]
        self.cut(last)

    def cut(self, rows: int) -> None:
        """Keep in every layer the first so many rows."""
        self.lengths = [min(rows, length) for length in self.lengths]

    def newest(self, layer: int, rows: int) -> tuple[Tensor, Tensor]:
        """Copies of the newest keys and values of a layer, from 1: (rows, heads, size) each."""
        last = self.lengths[layer - 1]
        keys, values = self.block[layer - 1, :, :, last - rows : last].transpose(1, 2).clone()
        return keys, values

    def _grow(self, rows: int) -> None:
        layers, two, heads, capacity, size = self.rows.shape
        block = torch.empty(layers, two, heads, max(rows, capacity * 3 // 2) + EXTRA, size)
        block[:, :, :, :capacity] = self.block
        self.block, self.rows = block, block.numpy()


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer. Norm weights are (h,), those of queries and keys (head size,) or None."""

    input_norm: Array
    qkv: Product
    query_norm: Array | None
    key_norm: Array | None
    output: Product
    mlp_norm: Array
    gate_up: Product
    down: Product


class NumpyLlama:
    """The pass over any number of rows; the weights are shared, what a run needs is its cache."""

    def __init__(self, decoder: Any, layers: Sequence[Layer], head: Product) -> None:
        config = decoder.config
        self.heads: int = config.num_attention_heads
        self.shared_heads: int = config.num_key_value_heads
        self.size: int = decoder.layers[0].self_attn.head_dim
        self.eps: float = config.rms_norm_eps
        self.embedding: Array = decoder.embed_tokens.weight.detach().numpy()
        self.norm: Array = decoder.norm.weight.detach().numpy()
        self.layers, self.output_head = layers, head
        self._scale = np.float32(self.size**-0.5)
        self._decoder = decoder
        self._cosines = self._sines = np.empty((0, self.size), np.float32)

    @property
    def products(self) -> list[Product]:
        """The products of all layers; the output head has its own."""
        return [p for one in self.layers for p in (one.qkv, one.output, one.gate_up, one.down)]

    def new_cache(self) -> NumpyCache:
        """An empty cache."""
        return NumpyCache(len(self.layers), self.shared_heads, self.size)

    def forward(
        self,
        words: Tensor,
        rows: Rows,
        cache: NumpyCache,
        capture: CaptureSpec,
        keep_logits: int = 0,
    ) -> Pass:
        """See `Network`. A text is read in blocks."""
        step = words.shape[1] if rows.masks else BLOCK
        parts = zip(words.split(step, 1), rows.positions.split(step, 1), strict=True)
        made = [
            self._through(part, Rows(where, rows.masks), cache, capture) for part, where in parts
        ]
        hidden, layers = made[0]
        if len(made) > 1:
            hidden = torch.cat([out for out, _ in made], dim=1)
            layers = concat_layers([found for _, found in made])
        if capture.final:
            logits, final = self.head(hidden)
            return Pass(logits[-keep_logits:], layers, final)
        return Pass(self.head(hidden[:, -keep_logits:])[0], layers)

    def _through(
        self, words: Tensor, rows: Rows, cache: NumpyCache, capture: CaptureSpec
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """All layers; see `run_layers`."""
        return self.run_layers(self.embed(words), rows, range(len(self.layers)), cache, capture)

    def embed(self, words: Tensor) -> Tensor:
        """Embeddings (1, r, h) of token ids (1, r)."""
        return torch.from_numpy(self.embedding[words[0].numpy()])[None]

    def run_layers(
        self,
        hidden: Tensor,
        rows: Rows,
        layers: Iterable[int],
        cache: NumpyCache,
        capture: CaptureSpec,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """See `Network`."""
        states: Array = hidden[0].numpy()
        found: dict[int, Tensor] = {}
        with np.errstate(all="ignore"):  # NaN is looked for in the logits
            turn = self._turn(rows.positions[0].numpy())
            sees = rows.masks[0][0, 0].numpy() if rows.masks else None
            for i in layers:
                if sees is None and len(states) > 1:
                    sees = _causal(len(states), cache.lengths[i])
                states = self._layer(i, states, turn, sees, cache)
                if i + 1 in capture.layers:
                    found[i + 1] = torch.from_numpy(states)
        return torch.from_numpy(states)[None], found

    def head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (r, V) of states (1, r, h), and the states after the final norm (r, h)."""
        with np.errstate(all="ignore"):
            normed = _rms(hidden[0].numpy(), self.norm, self.eps)
            return torch.from_numpy(self.output_head(normed)), torch.from_numpy(normed)

    def _layer(
        self, i: int, rows: Array, turn: tuple[Array, Array], sees: Array | None, cache: NumpyCache
    ) -> Array:
        """One decoder layer: (r, h) to (r, h) in new memory."""
        layer, own = self.layers[i], self.heads
        made = layer.qkv(_rms(rows, layer.input_norm, self.eps))
        made = made.reshape(len(rows), -1, self.size)
        turned, values = made[:, : own + self.shared_heads], made[:, own + self.shared_heads :]
        if layer.query_norm is not None and layer.key_norm is not None:
            queries = _rms(turned[:, :own], layer.query_norm, self.eps)
            keys = _rms(turned[:, own:], layer.key_norm, self.eps)
            turned = np.concatenate([queries, keys], axis=1)
        turned = _rotated(turned, turn)
        keys, values = cache.append(i, turned[:, own:], values)
        mixed = self._attention(turned[:, :own], keys, values, sees)
        rows = rows + layer.output(mixed)
        gate_up = layer.gate_up(_rms(rows, layer.mlp_norm, self.eps))
        return rows + layer.down(_gated(gate_up))

    def _attention(self, queries: Array, keys: Array, values: Array, sees: Array | None) -> Array:
        """Mixed values (r, heads × size). queries: (r, heads, size); the others (shared, n, size).

        sees: additive, (r, n).
        """
        rows, shared = len(queries), self.shared_heads
        queries = queries * self._scale
        queries = queries.reshape(rows, shared, -1, self.size).transpose(1, 2, 0, 3)
        scores = np.matmul(queries.reshape(shared, -1, self.size), keys.swapaxes(1, 2))
        if sees is not None:
            by_row = scores.reshape(shared, -1, rows, scores.shape[-1])
            by_row += sees
        scores -= np.maximum.reduce(scores, axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        mixed = np.matmul(scores, values)
        mixed /= np.add.reduce(scores, axis=-1, keepdims=True)
        out: Array = mixed.reshape(shared, -1, rows, self.size).transpose(2, 0, 1, 3)
        return out.reshape(rows, -1)

    def _turn(self, where: Array) -> tuple[Array, Array]:
        """Cosines and signed sines of rows at positions (r,): (r, 1, head size) each."""
        most = int(where.max()) + 1
        if most > len(self._cosines):
            positions = torch.arange(max(most, 2 * len(self._cosines), BLOCK))[None]
            with torch.inference_mode():
                found = rotary_angles(self._decoder, torch.empty(1, 1, 1), positions)
            cosines, sines = (each[0].numpy() for each in found)
            signed = np.concatenate([-sines[:, : self.size // 2], sines[:, self.size // 2 :]], 1)
            self._sines, self._cosines = signed, cosines
        return self._cosines[where][:, None], self._sines[where][:, None]


def _rms(rows: Array, weight: Array, eps: float) -> Array:
    """Root-mean-square norm over the last dimension."""
    normed: Array
    if len(rows) == 1 and rows.ndim == 2:  # a plain pass: fewer steps
        mean = float(rows[0].dot(rows[0])) / rows.shape[-1]
        normed = rows * np.float32(1.0 / sqrt(mean + eps))
        normed *= weight
        return normed
    squares: Array = np.einsum("...i,...i->...", rows, rows)[..., None]
    squares /= rows.shape[-1]
    squares += eps
    np.sqrt(squares, out=squares)
    normed = rows / squares
    normed *= weight
    return normed


def _rotated(rows: Array, turn: tuple[Array, Array]) -> Array:
    """Rotate (r, heads, size) as Llama's attention does: the halves of a row are its pairs."""
    half = rows.shape[-1] // 2
    swapped = np.empty(rows.shape, np.float32)
    swapped[..., :half], swapped[..., half:] = rows[..., half:], rows[..., :half]
    swapped *= turn[1]
    swapped += rows * turn[0]
    return swapped


def _gated(gate_up: Array) -> Array:
    """SiLU of the first half times the second: (r, 2 n) to (r, n)."""
    inner = gate_up.shape[-1] // 2
    gate = gate_up[:, :inner]
    out: Array = np.negative(gate)
    np.exp(out, out=out)
    out += np.float32(1.0)
    np.divide(gate, out, out=out)
    out *= gate_up[:, inner:]
    return out


def _causal(rows: int, past: int) -> Array:
    """Additive (rows, past + rows): new rows see the past, themselves and those before."""
    mask = np.zeros((rows, past + rows), np.float32)
    mask[:, past:][np.triu_indices(rows, 1)] = np.finfo(np.float32).min
    return mask


def build(model: nn.Module) -> NumpyLlama | None:
    """Lay out a model's weights and make its pass; None where it cannot be computed here.

    Layers that are not part of such a pass become `FastLinear` in any case; see `speed_up`. The
    pass is compared with transformers' own over six tokens.
    """
    decoder = llama_decoder(model)
    if decoder is None:
        speed_up(model)
        return None
    groups = [group for layer in decoder.layers for group in _groups(layer)]
    made = speed_up(model, groups)
    if made is None:
        return None
    head: Any = model.get_output_embeddings()  # type: ignore[operator]
    quads = zip(decoder.layers, *(made[i::4] for i in range(4)), strict=True)
    layers = [_layer(layer, qkv, out, gate_up, down) for layer, qkv, out, gate_up, down in quads]
    network = NumpyLlama(decoder, layers, head.product)
    return network if _same(network, model) else None


def _groups(layer: Any) -> list[list[nn.Linear]]:
    """The linear layers of a decoder layer, those that read the same rows together."""
    attention, mlp = layer.self_attn, layer.mlp
    return [
        [attention.q_proj, attention.k_proj, attention.v_proj],
        [attention.o_proj],
        [mlp.gate_proj, mlp.up_proj],
        [mlp.down_proj],
    ]


def _layer(layer: Any, qkv: Product, output: Product, gate_up: Product, down: Product) -> Layer:
    """A decoder layer of transformers' with its products."""

    def weight(norm: Any) -> Any:
        return None if norm is None else norm.weight.detach().numpy()

    attention = layer.self_attn
    return Layer(
        weight(layer.input_layernorm),
        qkv,
        weight(getattr(attention, "q_norm", None)),
        weight(getattr(attention, "k_norm", None)),
        output,
        weight(layer.post_attention_layernorm),
        gate_up,
        down,
    )


@torch.inference_mode()
def _same(network: NumpyLlama, model: Any) -> bool:
    """Whether both passes give the same logits: five tokens at once, then one behind them."""
    ids = torch.arange(6)[None] % model.config.vocab_size
    where, theirs, ours = torch.arange(6)[None], PreallocatedCache(), network.new_cache()
    for part in (slice(0, 5), slice(5, 6)):
        words, positions = ids[:, part], where[:, part]
        wanted = model(input_ids=words, position_ids=positions, **with_cache(model, theirs))
        found = network.forward(words, Rows(positions), ours, CaptureSpec()).logits
        allowed = NEAR * wanted.logits.abs().max().clamp(min=1.0)
        if not bool((found - wanted.logits[0]).abs().max() <= allowed):  # NaN is not close either
            return False
    return True
