"""What a batch of texts becomes, token by token: what was read, and the states that reading left.

Rule: a token belongs to an answer once it was read; the last one drawn never is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.house.answers.many import Passed
from specviz.house.answers.shards import Answer


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
