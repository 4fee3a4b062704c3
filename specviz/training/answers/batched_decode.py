"""Many texts read and written at once: a Llama's own modules over one cache, a row a text.

Rule: texts stand flush right, so that the newest tokens share a column; what fills the left is seen
by nothing but itself. States come out as the model's own forward makes them.
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
from specviz.training.answers.shards import Answer

READ_AT_ONCE: Final = 2048  # tokens of a prompt pass, which bounds its memory


@dataclass(frozen=True, slots=True)
class Passed:
    """Of new tokens (B, n). taps: (B, n, layers, h), in their order; final: (B, n, h), normed."""

    taps: Tensor
    final: Tensor


class Many:
    """A batch of texts in the making. `columns` is the longest that they can become.

    layers: the tapped ones, counted from 1, before the final norm. Raises Unsuitable for a network
    that is not built as Llama's.
    """

    def __init__(
        self, model: Any, layers: Sequence[int], begun: Sequence[list[int]], room: int
    ) -> None:
        if not isinstance(model, LlamaForCausalLM):
            kind = model.config.model_type
            raise Unsuitable(f"Answers are written by Llamas alone; this is a {kind}.")
        self.model = model
        self.layers = list(layers)
        longest = max(map(len, begun))
        self.pads = torch.tensor([longest - len(ids) for ids in begun], device=model.device)
        self.begun = torch.zeros(len(begun), longest, dtype=torch.long)
        for row, ids in zip(self.begun, begun, strict=True):
            row[longest - len(ids) :] = torch.tensor(ids)
        self.done = 0  # columns in the cache
        self.columns = longest + room
        self.cache = self._room()

    def _room(self) -> Tensor:
        """Keys and values, (L, 2, B, heads, columns, d)."""
        of: Any = self.model.config
        layers, heads = of.num_hidden_layers, of.num_key_value_heads
        shape = (layers, 2, len(self.pads), heads, self.columns, of.head_dim)
        return torch.zeros(shape, dtype=self.model.dtype, device=self.model.device)

    def read(self) -> Passed:
        """Read the texts as far as they were begun."""
        rows = max(1, READ_AT_ONCE // self.begun.shape[1])
        parts = []
        for first in range(0, len(self.pads), rows):
            some = slice(first, first + rows)
            parts.append(self._pass(self.begun[some], some))
        self.done = self.begun.shape[1]
        taps, final = zip(*((part.taps, part.final) for part in parts), strict=True)
        return Passed(torch.cat(taps), torch.cat(final))

    def step(self, tokens: Tensor) -> Passed:
        """Read one further token of each text, (B,)."""
        found = self._pass(tokens[:, None], slice(None))
        self.done += 1
        return found

    def logits(self, final: Tensor) -> Tensor:
        """The target's own output head: (..., h) to (..., V)."""
        found: Tensor = self.model.lm_head(final)
        return found

    def keep(self, rows: Tensor) -> None:
        """Go on with these texts alone, (m,) numbers of rows."""
        self.cache = self.cache[:, :, rows]
        self.pads = self.pads[rows]

    def _pass(self, ids: Tensor, rows: slice) -> Passed:
        trunk, pads = self.model.model, self.pads[rows]
        columns = torch.arange(self.done, self.done + ids.shape[1], device=pads.device)
        hidden = trunk.embed_tokens(ids.to(pads.device))
        positions = (columns - pads[:, None]).clamp(min=0)
        rotary = rotary_angles(trunk, hidden, positions)
        sees = _sees(columns, pads)
        found = {}
        for number, layer in enumerate(trunk.layers):
            hidden = self._layer(layer, hidden, rotary, self.cache[number, :, rows], sees)
            if number + 1 in self.layers:
                found[number + 1] = hidden
        taps = torch.stack([found[layer] for layer in self.layers], dim=2)
        return Passed(taps, trunk.norm(hidden))

    def _layer(
        self, layer: Any, hidden: Tensor, rotary: Rotary, cache: Tensor, sees: Tensor
    ) -> Tensor:
        queries, keys, values = attention_inputs(layer, hidden, rotary)
        end, scale = self.done + keys.shape[2], attention_scale(layer)
        cache[0, :, :, self.done : end], cache[1, :, :, self.done : end] = keys, values
        mixed = _mixed(queries, cache[0, :, :, :end], cache[1, :, :, :end], sees, scale)
        return layer_output(layer, hidden, mixed)


def _sees(columns: Tensor, pads: Tensor) -> Tensor:
    """(B, 1, n, end) bool, for new columns (n,): what each sees. pads: (B,), how many."""
    every = torch.arange(int(columns[-1]) + 1, device=columns.device)
    before = every <= columns[:, None]
    apart = (every >= pads[:, None, None]) == (columns[:, None] >= pads[:, None, None])
    return (before & apart)[:, None]


def _mixed(queries: Tensor, keys: Tensor, values: Tensor, sees: Tensor, scale: float) -> Tensor:
    """Attention (B, heads, n, d); heads that share keys become further rows: none is copied."""
    shared, new = queries.shape[1] // keys.shape[1], queries.shape[2]
    grouped = queries.unflatten(1, (-1, shared)).flatten(2, 3)
    mask = sees.repeat(1, 1, shared, 1)
    mixed = functional.scaled_dot_product_attention(
        grouped, keys, values, attn_mask=mask, scale=scale
    )
    out: Tensor = mixed.unflatten(2, (shared, new)).flatten(1, 2)
    return out


class Book:
    """The texts of a batch in the making, kept on the CPU.

    rows: which texts a pass still has, (m,). going, heat: by row of a pass, whether its text has
    not ended, and its temperature, where the target is.
    """

    def __init__(self, begun: Sequence[list[int]], heats: Sequence[float], room: int) -> None:
        self.texts = [list(ids) for ids in begun]
        self.begun = [len(ids) for ids in begun]
        self.heats = list(heats)
        self.rows = torch.arange(len(begun))
        self.going = torch.ones(len(begun), dtype=torch.bool)
        self.heat = torch.tensor(heats)
        self.tops = torch.zeros(len(begun), max(self.begun) + room, dtype=torch.int32)
        self.states: Tensor | None = None  # (B, columns, layers + 1, h), texts flush left

    def put(self, passed: Passed, tops: Tensor) -> None:
        """The states of what was read last, flush right; tops: (m,), after the newest token."""
        states = torch.cat([passed.taps, passed.final[:, :, None]], dim=2).bfloat16().cpu()
        if self.states is None:
            self.states = states.new_zeros(*self.tops.shape, *states.shape[2:])
        self.heat, self.going = self.heat.to(tops.device), self.going.to(tops.device)
        for i, row in enumerate(self.rows.tolist()):
            if self.going[i]:
                end = len(self.texts[row])
                first = max(0, end - states.shape[1])
                self.states[row, first:end] = states[i, first - end :]
                self.tops[row, end - 1] = tops[i]

    def end(self, ended: Tensor) -> None:
        """Which rows (m,) drew a token that ends their text."""
        self.going &= ~ended

    def keep(self, rows: Tensor) -> None:
        """Which rows of the pass stay in it, (k,)."""
        self.rows = self.rows[rows.cpu()]
        self.going, self.heat = self.going[rows], self.heat[rows]

    def say(self, tokens: Tensor) -> None:
        """Tokens (m,) that will be read next, where a text goes on."""
        drawn = zip(self.rows.tolist(), tokens.tolist(), self.going.tolist(), strict=True)
        for row, token, goes_on in drawn:
            if goes_on:
                self.texts[row].append(token)

    def answers(self) -> list[Answer]:
        """Every text, all of it read, with its states."""
        assert self.states is not None
        found = []
        for row, (text, begun, heat) in enumerate(
            zip(self.texts, self.begun, self.heats, strict=True)
        ):
            tokens, n = torch.tensor(text, dtype=torch.int32), len(text)
            tops, states = self.tops[row, :n].clone(), self.states[row, :n].clone()
            found.append(Answer(tokens, begun, tops, states, "", False, heat))
        return found


class HalfLinear(nn.Module):
    """A linear layer in bf16 between float32 rows."""

    def __init__(self, whole: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(whole.weight.detach().bfloat16(), requires_grad=False)
        self.bias = None if whole.bias is None else whole.bias.detach().bfloat16()

    def forward(self, rows: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        return functional.linear(rows.bfloat16(), self.weight, self.bias).to(rows.dtype)


def in_halves(model: Any) -> Any:
    """The copy. Only its linear layers are others; the rest is shared with the model."""
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    halved = {id(layer): HalfLinear(layer) for layer in layers}
    shared = {id(part): part for part in (*model.parameters(), *model.buffers())}
    return deepcopy(model, {**shared, **halved})
