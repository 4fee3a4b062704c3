"""Read and continue a batch of texts with a Llama's own modules, one row per text.

All texts share one cache. They are right-aligned, so that their newest tokens are in the same
column. Padding, on the left, attends only to padding, and only padding attends to it. Hidden states
equal those of the model's own forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import torch
import torch.nn.functional as functional
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from specviz.adapters.transformers import (
    Rotary,
    attention_inputs,
    attention_scale,
    layer_output,
    rotary_angles,
)
from specviz.models.errors import Unsuitable
from specviz.models.fast_layers import NETWORK
from specviz.training.answers.dataset import Answer

PREFILL_TOKENS: Final = 2048  # tokens per prefill pass, which limits the memory that the pass needs


@dataclass(frozen=True, slots=True)
class PassOutput:
    """States of a pass: taps (B, n, layers, h), and after the final norm (B, n, h)."""

    taps: Tensor
    final: Tensor


class BatchedDecoder:
    """Decodes a batch of texts.

    Raises Unsuitable if the model is not built like Llama.

    Args:
        layers: Layers whose outputs are returned, counted from 1, before the final norm.
        max_new: Maximum number of new tokens per text.
    """

    def __init__(
        self, model: Any, layers: Sequence[int], prompts: Sequence[list[int]], max_new: int
    ) -> None:
        if not isinstance(model, LlamaForCausalLM):
            kind = model.config.model_type
            raise Unsuitable(f"Only Llama models can write answers; this is a {kind}.")
        self.model = model
        self.layers = list(layers)
        longest = max(map(len, prompts))
        self.pads = torch.tensor([longest - len(ids) for ids in prompts], device=model.device)
        self.prompts = torch.zeros(len(prompts), longest, dtype=torch.long)
        for row, ids in zip(self.prompts, prompts, strict=True):
            row[longest - len(ids) :] = torch.tensor(ids)
        self.done = 0  # number of columns in the cache
        self.columns = longest + max_new
        self.cache = self._new_cache()

    def _new_cache(self) -> Tensor:
        # (L, 2, B, heads, columns, d)
        of: Any = self.model.config
        layers, heads = of.num_hidden_layers, of.num_key_value_heads
        shape = (layers, 2, len(self.pads), heads, self.columns, of.head_dim)
        return torch.zeros(shape, dtype=self.model.dtype, device=self.model.device)

    def read(self) -> PassOutput:
        """Read the prompts."""
        rows = max(1, PREFILL_TOKENS // self.prompts.shape[1])
        parts = []
        for first in range(0, len(self.pads), rows):
            some = slice(first, first + rows)
            parts.append(self._pass(self.prompts[some], some))
        self.done = self.prompts.shape[1]
        taps, final = zip(*((part.taps, part.final) for part in parts), strict=True)
        return PassOutput(torch.cat(taps), torch.cat(final))

    def step(self, tokens: Tensor) -> PassOutput:
        """Read one more token of each text, (B,)."""
        found = self._pass(tokens[:, None], slice(None))
        self.done += 1
        return found

    def logits(self, final: Tensor) -> Tensor:
        """Apply the target's output head: (..., h) to (..., V)."""
        found: Tensor = self.model.lm_head(final)
        return found

    def keep(self, rows: Tensor) -> None:
        """Continue with only these rows, (m,) row numbers."""
        self.cache = self.cache[:, :, rows]
        self.pads = self.pads[rows]

    def _pass(self, ids: Tensor, rows: slice) -> PassOutput:
        trunk, pads = self.model.model, self.pads[rows]
        columns = torch.arange(self.done, self.done + ids.shape[1], device=pads.device)
        hidden = trunk.embed_tokens(ids.to(pads.device))
        positions = (columns - pads[:, None]).clamp(min=0)
        rotary = rotary_angles(trunk, hidden, positions)
        visible = _visible(columns, pads)
        found = {}
        for number, layer in enumerate(trunk.layers):
            hidden = self._layer(layer, hidden, rotary, self.cache[number, :, rows], visible)
            if number + 1 in self.layers:
                found[number + 1] = hidden
        taps = torch.stack([found[layer] for layer in self.layers], dim=2)
        return PassOutput(taps, trunk.norm(hidden))

    def _layer(
        self, layer: Any, hidden: Tensor, rotary: Rotary, cache: Tensor, visible: Tensor
    ) -> Tensor:
        queries, keys, values = attention_inputs(layer, hidden, rotary)
        end, scale = self.done + keys.shape[2], attention_scale(layer)
        cache[0, :, :, self.done : end], cache[1, :, :, self.done : end] = keys, values
        mixed = _mixed(queries, cache[0, :, :, :end], cache[1, :, :, :end], visible, scale)
        return layer_output(layer, hidden, mixed)


def _visible(columns: Tensor, pads: Tensor) -> Tensor:
    # New columns (n,): (B, 1, n, end) bool.
    every = torch.arange(int(columns[-1]) + 1, device=columns.device)
    before = every <= columns[:, None]
    apart = (every >= pads[:, None, None]) == (columns[:, None] >= pads[:, None, None])
    return (before & apart)[:, None]


def _mixed(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, scale: float) -> Tensor:
    # (B, heads, n, d); groups of heads share keys, which are not copied.
    shared, new = queries.shape[1] // keys.shape[1], queries.shape[2]
    grouped = queries.unflatten(1, (-1, shared)).flatten(2, 3)
    mask = visible.repeat(1, 1, shared, 1)
    mixed = functional.scaled_dot_product_attention(
        grouped, keys, values, attn_mask=mask, scale=scale
    )
    out: Tensor = mixed.unflatten(2, (shared, new)).flatten(1, 2)
    return out


class GenerationBatch:
    """The texts of a batch in progress, and the hidden states of the tokens read so far.

    Hidden states are on the CPU. A token belongs to an answer after it was read; the last sampled
    token is never read.

    Attributes:
        prompt_lengths: Prompt tokens of each text.
        temperatures: Temperature of each text.
        rows: Text of each row of the current pass, (m,).
        active: Whether the text of a row has not ended, (m,) bool, on the target's device.
        temperature: Temperature of each row, (m,), on the target's device.
        tops: The most probable next token after each token, (B, columns).
        states: Hidden states, (B, columns, layers + 1, h), left-aligned; None before the
            first pass.
    """

    def __init__(
        self, prompts: Sequence[list[int]], temperatures: Sequence[float], max_new: int
    ) -> None:
        self.texts = [list(ids) for ids in prompts]
        self.prompt_lengths = [len(ids) for ids in prompts]
        self.temperatures = list(temperatures)
        self.rows = torch.arange(len(prompts))
        self.active = torch.ones(len(prompts), dtype=torch.bool)
        self.temperature = torch.tensor(temperatures)
        self.tops = torch.zeros(len(prompts), max(self.prompt_lengths) + max_new, dtype=torch.int32)
        self.states: Tensor | None = None  # (B, columns, layers + 1, h), left-aligned

    def record(self, output: PassOutput, tops: Tensor) -> None:
        """Store a pass's hidden states, and the top token after each newest token, `tops` (m,)."""
        states = torch.cat([output.taps, output.final[:, :, None]], dim=2).bfloat16().cpu()
        if self.states is None:
            self.states = states.new_zeros(*self.tops.shape, *states.shape[2:])
        self.temperature = self.temperature.to(tops.device)
        self.active = self.active.to(tops.device)
        for i, row in enumerate(self.rows.tolist()):
            if self.active[i]:
                end = len(self.texts[row])
                first = max(0, end - states.shape[1])
                self.states[row, first:end] = states[i, first - end :]
                self.tops[row, end - 1] = tops[i]

    def mark_ended(self, ended: Tensor) -> None:
        """Mark rows (m,) as ended whose sampled token ends their text."""
        self.active &= ~ended

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows of the pass, (k,)."""
        self.rows = self.rows[rows.cpu()]
        self.active, self.temperature = self.active[rows], self.temperature[rows]

    def append(self, tokens: Tensor) -> None:
        """Append the sampled tokens (m,) to the texts that have not ended."""
        pairs = zip(self.rows.tolist(), tokens.tolist(), self.active.tolist(), strict=True)
        for row, token, still_active in pairs:
            if still_active:
                self.texts[row].append(token)

    def answers(self) -> list[Answer]:
        """Return every text with its hidden states."""
        assert self.states is not None
        found = []
        for row, (text, prompt_length, temperature) in enumerate(
            zip(self.texts, self.prompt_lengths, self.temperatures, strict=True)
        ):
            tokens, n = torch.tensor(text, dtype=torch.int32), len(text)
            tops, states = self.tops[row, :n].clone(), self.states[row, :n].clone()
            found.append(Answer(tokens, prompt_length, tops, states, "", False, temperature))
        return found


class Bf16Linear(nn.Module):
    """A linear layer that multiplies in bf16; its inputs and outputs are float32."""

    def __init__(self, whole: nn.Linear) -> None:
        super().__init__()
        halved = whole.weight.detach().bfloat16().contiguous()
        self.weight = nn.Parameter(halved, requires_grad=False)
        self.bias = None if whole.bias is None else whole.bias.detach().bfloat16()

    def forward(self, rows: Tensor) -> Tensor:
        """Map rows (..., in) to (..., out)."""
        return functional.linear(rows.bfloat16(), self.weight, self.bias).to(rows.dtype)


def bf16_copy(model: Any) -> Any:
    """Copy a model with its linear layers in bf16, for processors with bf16 instructions.

    Weights are rounded once and take half the memory; hidden states stay in float32. All other
    parameters are shared with the model. The copy is used to generate answers, never to verify.
    """
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    halved = {id(layer): Bf16Linear(layer) for layer in layers}
    shared = {id(part): part for part in (*model.parameters(), *model.buffers())}
    fast = {id(vars(model).get(NETWORK)): None}  # the faster network, which reads float32 weights
    copy = deepcopy(model, {**fast, **shared, **halved})
    vars(copy).pop(NETWORK, None)
    return copy
