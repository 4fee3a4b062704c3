"""The forward pass of a Llama in NumPy: float32, on a CPU, with the network's own weights.

Its layers are in `numpy_layers`, which explains why torch is not used.

Mistral, Qwen2 and Qwen3 without a sliding window are computed here too: they are Llamas with biases
or with norms on queries and keys. The pass is used only if its logits equalled those of
transformers when the model was loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.transformers import llama_decoder, rotary_angles, with_cache
from specviz.models.attention import PreallocatedCache
from specviz.models.fast_layers import optimize_linears
from specviz.models.numpy_layers import (
    BLOCK,
    NumpyAttention,
    NumpyCache,
    NumpyMlp,
    RotaryTable,
    Rotation,
    causal_mask,
    rms_norm,
    weight_of,
)
from specviz.models.passes import CaptureSpec, Pass, Rows, concat_layers
from specviz.models.products import Array, Product

TOLERANCE: Final = 1e-3  # tolerance relative to the largest logit: sums in another order differ


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer; weights of norms are (h,)."""

    input_norm: Array
    attention: NumpyAttention
    mlp_norm: Array
    mlp: NumpyMlp


class NumpyLlama:
    """Computes passes of a Llama. All runs share the weights; each run has its own cache."""

    def __init__(self, decoder: Any, layers: Sequence[Layer], head: Product) -> None:
        config = decoder.config
        self.shared_heads: int = config.num_key_value_heads
        self.size: int = decoder.layers[0].self_attn.head_dim
        self.eps: float = config.rms_norm_eps
        self.embedding: Array = decoder.embed_tokens.weight.detach().numpy()
        self.norm: Array = decoder.norm.weight.detach().numpy()
        self.layers, self.output_head = layers, head
        self._rotary = RotaryTable(self.size, partial(_angles, decoder))

    @property
    def products(self) -> list[Product]:
        """Return the matrix products of all layers, without the product of the output head."""
        parts = [(one.attention, one.mlp) for one in self.layers]
        return [p for a, mlp in parts for p in (a.qkv, a.output, mlp.gate_up, mlp.down)]

    def new_cache(self) -> NumpyCache:
        """Return an empty cache."""
        return NumpyCache(len(self.layers), self.shared_heads, self.size)

    def forward(
        self,
        words: Tensor,
        rows: Rows,
        cache: NumpyCache,
        capture: CaptureSpec,
        keep_logits: int = 0,
    ) -> Pass:
        """Implement `Network.forward`; a long text is read in blocks."""
        if rows.masks or words.shape[1] <= BLOCK:
            hidden, layers = self._through(words, rows, cache, capture)
        else:
            parts = zip(words.split(BLOCK, 1), rows.positions.split(BLOCK, 1), strict=True)
            made = [self._through(part, Rows(where, []), cache, capture) for part, where in parts]
            hidden = torch.cat([out for out, _ in made], dim=1)
            layers = concat_layers([found for _, found in made])
        if capture.final:
            logits, final = self.head(hidden)
            return Pass(logits[-keep_logits:], layers, final)
        return Pass(self.head(hidden[:, -keep_logits:])[0], layers)

    def _through(
        self, words: Tensor, rows: Rows, cache: NumpyCache, capture: CaptureSpec
    ) -> tuple[Tensor, dict[int, Tensor]]:
        return self.run_layers(self.embed(words), rows, range(len(self.layers)), cache, capture)

    def embed(self, words: Tensor) -> Tensor:
        """Implement `Network.embed`."""
        return torch.from_numpy(self.embedding[words[0].numpy()])[None]

    def run_layers(
        self,
        hidden: Tensor,
        rows: Rows,
        layers: Iterable[int],
        cache: NumpyCache,
        capture: CaptureSpec,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """Implement `Network.run_layers`."""
        states: Array = hidden[0].numpy()
        found: dict[int, Tensor] = {}
        with np.errstate(all="ignore"):  # NaN is detected later, in the logits
            turn = self._rotary.at(rows.positions[0].numpy())
            sees = rows.masks[0][0, 0].numpy() if rows.masks else None
            for i in layers:
                if sees is None and len(states) > 1:
                    sees = causal_mask(len(states), cache.lengths[i])
                states = self._layer(i, states, turn, sees, cache)
                if i + 1 in capture.layers:
                    found[i + 1] = torch.from_numpy(states)
        return torch.from_numpy(states)[None], found

    def head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Implement `Network.head`."""
        with np.errstate(all="ignore"):
            normed = rms_norm(hidden[0].numpy(), self.norm, self.eps)
            return torch.from_numpy(self.output_head(normed)), torch.from_numpy(normed)

    def _layer(
        self, i: int, rows: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
    ) -> Array:
        layer = self.layers[i]
        normed = rms_norm(rows, layer.input_norm, self.eps)
        rows = rows + layer.attention(normed, turn, sees, cache, i)
        return rows + layer.mlp(rms_norm(rows, layer.mlp_norm, self.eps))


def build(model: nn.Module) -> NumpyLlama | None:
    """Rearrange a model's weights and build its NumPy pass; None if that is not possible.

    Linear layers outside the NumPy pass become `FastLinear`, whether or not the pass is built; see
    `optimize_linears`. The pass is compared with transformers' own over six tokens.
    """
    decoder = llama_decoder(model)
    if decoder is None:
        optimize_linears(model)
        return None
    groups = [group for layer in decoder.layers for group in _groups(layer)]
    made = optimize_linears(model, groups)
    if made is None:
        return None
    head: Any = model.get_output_embeddings()  # type: ignore[operator]
    quads = zip(decoder.layers, *(made[i::4] for i in range(4)), strict=True)
    layers = [_layer(decoder.config, *quad) for quad in quads]
    network = NumpyLlama(decoder, layers, head.product)
    cache = network.new_cache()
    same = equals_forward(
        lambda words, where: network.forward(words, Rows(where), cache, CaptureSpec()).logits, model
    )
    return network if same else None


def _groups(layer: Any) -> list[list[nn.Linear]]:
    # Grouped by the rows that they read.
    attention, mlp = layer.self_attn, layer.mlp
    return [
        [attention.q_proj, attention.k_proj, attention.v_proj],
        [attention.o_proj],
        [mlp.gate_proj, mlp.up_proj],
        [mlp.down_proj],
    ]


def _layer(
    config: Any, layer: Any, qkv: Product, output: Product, gate_up: Product, down: Product
) -> Layer:
    part = layer.self_attn
    return Layer(
        weight_of(layer.input_layernorm),
        NumpyAttention.of(part, config, part.head_dim, qkv, output),
        weight_of(layer.post_attention_layernorm),
        NumpyMlp(gate_up, down),
    )


def _angles(decoder: Any, positions: Tensor) -> tuple[Tensor, Tensor]:
    # (n, head size), as the decoder computes them.
    cosines, sines = rotary_angles(decoder, torch.empty(1, 1, 1), positions[None])
    return cosines[0], sines[0]


@torch.inference_mode()
def equals_forward(
    read: Callable[[Tensor, Tensor], Tensor], model: Any, tolerance: float = TOLERANCE
) -> bool:
    """Return whether a pass and a model's forward give the same logits, up to `tolerance`.

    read: from new words and their positions, (1, n) each on the host, to logits, (n, V).
    """
    ids, where = torch.arange(6)[None] % model.config.vocab_size, torch.arange(6)[None]
    theirs = PreallocatedCache()
    for part in (slice(0, 5), slice(5, 6)):
        words, positions = ids[:, part].to(model.device), where[:, part].to(model.device)
        wanted = model(input_ids=words, position_ids=positions, **with_cache(model, theirs))
        found = read(ids[:, part], where[:, part])
        allowed = tolerance * wanted.logits.abs().max().clamp(min=1.0)
        if not bool((found - wanted.logits[0]).abs().max() <= allowed):  # NaN also gives False
            return False
    return True
