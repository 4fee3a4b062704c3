"""The forward pass of a Llama on CUDA, as graphs: one launch for a pass over a few rows.

A GPU reads the weights of a small model faster than the host can start the kernels of
transformers' forward. Here the projections that read the same rows are one product, the cache has
fixed memory, and a pass over few rows is recorded as a CUDA graph, once for each number of rows and
reach of the attention (`planned`). Passes over many rows, such as a prompt, run without a graph.

Mistral, Qwen2 and Qwen3 without a sliding window are computed here too. The pass is used only if
its logits equalled those of transformers when the model was loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.adapters.transformers import llama_decoder, rotary_angles
from specviz.models.graphs import MOST_ROWS, REACH, Memory, Pool, Recorder, ceil_power, pad_front
from specviz.models.numpy_llama import equals_forward
from specviz.models.passes import CaptureSpec, Pass, Rows
from specviz.models.planned import compute_planned
from specviz.models.small_parts import SmallParts, add_and_norm, can_compile, gate, norm, store
from specviz.verification.transfer import UploadBatch

BLOCK: Final = 512  # rows of a prompt that are read at once
TOLERANCES: Final = {torch.float32: 1e-3}  # relative to the largest logit
ROUGH: Final = 5e-2  # tolerance in half precision, where sums in another order differ more

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer.

    Attributes:
        input_norm: Weight of the norm before the attention, (h,).
        qkv: Queries, keys and values in one projection: weight, and bias or None.
        query_norm: Weight of the norm of each query head, (head size,), or None.
        mlp_norm: Weight of the norm before the MLP, (h,).
    """

    input_norm: Tensor
    qkv: tuple[Tensor, Tensor | None]
    query_norm: Tensor | None
    key_norm: Tensor | None
    output: tuple[Tensor, Tensor | None]
    mlp_norm: Tensor
    gate_up: tuple[Tensor, Tensor | None]
    down: tuple[Tensor, Tensor | None]


@dataclass(frozen=True, slots=True)
class Part:
    """What one call computes.

    Attributes:
        layers: The decoder layers, counted from 0.
        whole: Whether it begins with token ids and ends with logits; otherwise it maps hidden
            states to hidden states.
        captured: Layers, counted from 1, whose outputs are returned.
        final: Whether the states after the final norm are returned too.
    """

    layers: range
    whole: bool
    captured: tuple[int, ...]
    final: bool


class GraphCache:
    """The cache of one run: how many rows of its `Memory` each layer uses."""

    def __init__(self, pool: Pool[GraphCache], layers: int) -> None:
        self._pool = pool
        self.memory = pool.lend(self)
        self.lengths = [0] * layers

    def extend(self, layers: range, rows: int) -> int:
        """Make room for new rows in some layers; return their first row."""
        first = self.lengths[layers[0]]
        if first + rows > self.memory.reach:
            self.memory = self._pool.grow(self, self.memory, first + rows)
        for layer in layers:
            self.lengths[layer] = first + rows
        return first

    def plan_rows(
        self,
        positions: Tensor,
        masks: Sequence[Tensor],
        uploads: UploadBatch,
        layers: range | None = None,
    ) -> Callable[[], Rows]:
        """Make room for the rows of a pass that runs later, and prepare them; see `plan_rows`."""
        layers = range(len(self.lengths)) if layers is None else layers
        size, count = len(positions), int((positions >= 0).sum())
        first = self.extend(layers, count)
        last = first + count
        uploads.longest = max(uploads.longest, size)
        where = uploads.put(positions.clamp(min=0)[None])
        slots = uploads.put(pad_front(torch.arange(first, last), size, -1))
        sees = []
        if masks or count <= MOST_ROWS:
            dtype = self.memory.keys.dtype
            least = torch.finfo(dtype).min
            mask = torch.full((count, max(REACH, ceil_power(last))), least, dtype=dtype)
            own = masks[0][0, 0] if masks else mask[:, :last].triu(first + 1)
            mask[:, :last] = own
            sees = [uploads.put(pad_front(mask, size, least)[None, None])]

        def rows() -> Rows:
            own = torch.where(slots() < 0, self.memory.reach, slots())
            return Rows(where(), [mask() for mask in sees], own, last)

        return rows

    def keep(self, first: int, rows: Sequence[int]) -> None:
        """Implement `KeyValueCache.keep`."""
        last = first + len(rows)
        if list(rows) != list(range(first, last)):
            for rows_of in (self.memory.keys, self.memory.values):  # few rows, so no index is sent
                rows_of[:, :, first:last] = torch.stack([rows_of[:, :, row] for row in rows], 2)
        self.cut(last)

    def cut(self, rows: int) -> None:
        """Implement `KeyValueCache.cut`."""
        self.lengths = [min(rows, length) for length in self.lengths]

    def newest(self, layer: int, rows: int) -> tuple[Tensor, Tensor]:
        """Implement `KeyValueCache.newest`."""
        last = self.lengths[layer - 1]
        newest = slice(last - rows, last)
        both = (self.memory.keys, self.memory.values)
        keys, values = (each[layer - 1, :, newest].transpose(0, 1).clone() for each in both)
        return keys, values


class GraphLlama:
    """Computes planned passes of a Llama on CUDA; all runs share the weights, none the cache.

    Attributes:
        products: Matrix products that choose between backends: none.
        parts: Runs the operations between the products, compiled if possible.
    """

    products: Final = ()

    def __init__(
        self, decoder: Any, layers: Sequence[Layer], head: nn.Linear, compiled: bool = False
    ) -> None:
        config = decoder.config
        self.decoder, self.layers, self.output_head = decoder, layers, head
        self.heads: int = config.num_attention_heads
        self.shared_heads: int = config.num_key_value_heads
        self.size: int = decoder.layers[0].self_attn.head_dim
        self.eps: float = config.rms_norm_eps
        self.embedding: Tensor = decoder.embed_tokens.weight.detach()
        self.norm: Tensor = decoder.norm.weight.detach()
        self.every = range(len(layers))
        sizes = (config.hidden_size, config.intermediate_size, self.heads, self.shared_heads)
        alike = (*sizes, self.size, self.eps, self.embedding.dtype, layers[0].query_norm is None)
        self.parts = SmallParts(alike if compiled else None)
        self._recorder, self._judging = Recorder(), Recorder("verdicts")
        self._pool: Pool[GraphCache] = Pool(self._allocate)

    @property
    def description(self) -> str:
        """How passes are computed, for a trace's header."""
        return "CUDA graphs, compiled" if self.parts.works else "CUDA graphs"

    def new_cache(self) -> GraphCache:
        """Return an empty cache, in the memory of a run that is over if there is one."""
        return GraphCache(self._pool, len(self.layers))

    def _allocate(self, reach: int) -> Memory:
        device, dtype = self.embedding.device, self.embedding.dtype
        shape = (len(self.layers), self.shared_heads, reach + 1, self.size)
        keys = torch.zeros(shape, device=device, dtype=dtype)
        positions = torch.arange(reach, device=device)[None]
        cosines, sines = rotary_angles(self.decoder, keys[:1, :1, :1, 0], positions)
        turn = cosines[0].to(dtype), sines[0].to(dtype)
        return Memory(keys, torch.zeros_like(keys), self._recorder, turn, self._judging)

    def forward(
        self,
        words: Tensor,
        rows: Rows,
        cache: GraphCache,
        capture: CaptureSpec,
        keep_logits: int = 0,
    ) -> Pass:
        """Implement `Network.forward`; a long text is read in blocks."""
        if rows.masks or words.shape[1] <= BLOCK:
            part = Part(self.every, True, capture.layers, capture.final)
            logits, *layers = self._run(part, words[0], rows, cache)
            final = layers.pop(0) if capture.final else None
        else:
            hidden = self.embedding[words[0]]
            part = Part(self.every, False, capture.layers, False)
            assert rows.slots is not None
            reaches = range(rows.reach - len(hidden) + BLOCK, rows.reach + BLOCK, BLOCK)
            cuts = (hidden.split(BLOCK), rows.positions.split(BLOCK, 1), rows.slots.split(BLOCK))
            blocks = [
                self._run(part, block, Rows(where, (), own, min(reach, rows.reach)), cache)
                for block, where, own, reach in zip(*cuts, reaches, strict=True)
            ]
            states, *layers = (torch.cat(found) for found in zip(*blocks, strict=True))
            logits, normed = self._head(states if capture.final else states[-keep_logits:])
            final = normed if capture.final else None
        return Pass(
            logits[-keep_logits:],
            dict(zip(capture.layers, layers, strict=True)),
            final,
        )

    def embed(self, words: Tensor) -> Tensor:
        """Implement `Network.embed`."""
        return self.embedding[words]

    def run_layers(
        self,
        hidden: Tensor,
        rows: Rows,
        layers: Iterable[int],
        cache: GraphCache,
        capture: CaptureSpec,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """Implement `Network.run_layers`."""
        chosen = list(layers)
        inside = range(chosen[0], chosen[-1] + 1)
        captured = tuple(k for k in capture.layers if k - 1 in inside)
        part = Part(inside, False, captured, False)
        states, *found = self._run(part, hidden[0], rows, cache)
        return states[None], dict(zip(captured, found, strict=True))

    def head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Implement `Network.head`."""
        return self._head(hidden[0])

    def _head(self, states: Tensor) -> tuple[Tensor, Tensor]:
        normed = norm(states, self.norm, self.eps)
        return functional.linear(normed, self.output_head.weight, self.output_head.bias), normed

    def _run(
        self, part: Part, states: Tensor, planned: Rows, cache: GraphCache
    ) -> tuple[Tensor, ...]:
        # states: token ids (n,) or hidden states (n, h). The second result is the states after the
        # final norm, if wanted.
        memory, slots, positions = cache.memory, planned.slots, planned.positions[0]
        assert slots is not None
        mask = planned.masks[0][0, 0] if planned.masks else self._causal(slots, planned.reach)
        rows = self.embedding[states] if part.whole else states
        turn = memory.tables[0][positions][:, None], memory.tables[1][positions][:, None]
        seen = mask.repeat(self.heads // self.shared_heads, 1)[None, None]
        reach, run, inputs = mask.shape[1], self.parts.run, []
        added = torch.zeros_like(rows)
        for i in part.layers:
            layer, kept = self.layers[i], (memory.keys[i], memory.values[i])
            rows, normed = run(add_and_norm, rows, added, layer.input_norm, self.eps)
            inputs.append(rows)
            projected = functional.linear(normed, *layer.qkv)
            norms, shape = (layer.query_norm, layer.key_norm), (self.heads, self.eps)
            queries = run(store, projected, turn, norms, slots, kept, shape)
            keys, values = (each[None, :, :reach] for each in kept)
            mixed = functional.scaled_dot_product_attention(queries, keys, values, seen)
            mixed = mixed.view(self.shared_heads, -1, len(rows), self.size).permute(2, 0, 1, 3)
            added = functional.linear(mixed.reshape(len(rows), -1), *layer.output)
            rows, normed = run(add_and_norm, rows, added, layer.mlp_norm, self.eps)
            gated = run(gate, functional.linear(normed, *layer.gate_up))
            added = functional.linear(gated, *layer.down)
        rows, normed = run(add_and_norm, rows, added, self.norm, self.eps)
        inputs.append(rows)
        captured = [inputs[k - part.layers.start] for k in part.captured]
        if not part.whole:
            return (rows, *captured)
        logits = functional.linear(normed, self.output_head.weight, self.output_head.bias)
        return (logits, normed, *captured) if part.final else (logits, *captured)

    def _causal(self, slots: Tensor, reach: int) -> Tensor:
        # Additive, (n, reach): each row attends to all up to its own.
        columns = torch.arange(reach, device=slots.device)
        sees = torch.zeros(len(slots), reach, device=slots.device, dtype=self.embedding.dtype)
        return sees.masked_fill_(columns > slots[:, None], torch.finfo(sees.dtype).min)


def build(model: nn.Module) -> GraphLlama | None:
    """Join a model's projections and build its pass; None if that is not possible.

    The joined weights are stored once: the model's own become parts of them. The pass is compared
    with transformers' own.
    """
    decoder = llama_decoder(model)
    if decoder is None:
        return None
    head: Any = model.get_output_embeddings()  # type: ignore[operator]
    layers = [_layer(layer) for layer in decoder.layers]
    for compiled in (True, False) if can_compile() else (False,):
        network = GraphLlama(decoder, layers, head, compiled)
        tolerance = TOLERANCES.get(network.embedding.dtype, ROUGH)
        if equals_forward(_reader(network), model, tolerance):
            return network
        which = "compiled pass" if network.parts.works else "pass"
        log.warning("this model's %s on CUDA gives other logits than its forward", which)
    return None


def _reader(network: GraphLlama) -> Callable[[Tensor, Tensor], Tensor]:
    # Recorded passes over a text.
    cache = network.new_cache()

    def read(words: Tensor, positions: Tensor) -> Tensor:
        uploads = UploadBatch(network.embedding.device)
        ids, rows = uploads.put(words), cache.plan_rows(positions[0], [], uploads)

        def run() -> tuple[Tensor, list[Tensor]]:
            return network.forward(ids(), rows(), cache, CaptureSpec()).logits, []

        return compute_planned(cache.memory, ("check",), None, uploads, run)[0]

    return read


def _layer(layer: Any) -> Layer:
    def weight(module: Any) -> Any:
        return None if module is None else module.weight.detach()

    attention, mlp = layer.self_attn, layer.mlp
    return Layer(
        weight(layer.input_layernorm),
        _joined(attention.q_proj, attention.k_proj, attention.v_proj),
        weight(getattr(attention, "q_norm", None)),
        weight(getattr(attention, "k_norm", None)),
        _joined(attention.o_proj),
        weight(layer.post_attention_layernorm),
        _joined(mlp.gate_proj, mlp.up_proj),
        _joined(mlp.down_proj),
    )


@torch.no_grad()
def _joined(*layers: nn.Linear) -> tuple[Tensor, Tensor | None]:
    # Below each other; biases are 0 where none is.
    weights = [layer.weight for layer in layers]
    if len(layers) == 1:
        bias = layers[0].bias
        return weights[0].detach(), None if bias is None else bias.detach()
    joined = torch.cat([weight.detach() for weight in weights])
    for weight, place in zip(weights, joined.split([len(each) for each in weights]), strict=True):
        weight.data = place
    if all(layer.bias is None for layer in layers):
        return joined, None
    pairs = [(layer.bias, layer.weight) for layer in layers]
    return joined, torch.cat(
        [weight.new_zeros(len(weight)) if bias is None else bias.detach() for bias, weight in pairs]
    )
