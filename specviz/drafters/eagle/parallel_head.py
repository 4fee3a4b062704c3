"""P-EAGLE's head (2602.01469): EAGLE-3's, deeper, and taught to guess all places in one pass.

The first guess rests on the target's states and the newest token, as EAGLE-3's does. For every
further place there is a row of the mask's embedding and of one learned state, `mask_hidden`, in
place of three taps that nobody has computed. Rows see the text and the masks before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from specviz.drafters.eagle.head3 import (
    Eagle3Config,
    Eagle3Head,
    check_vocabulary,
    completed,
    has_own_embedding,
    read_eagle3,
)
from specviz.drafters.kit.checkpoint import restore
from specviz.drafters.kit.layers import Layer, Mix
from specviz.drafters.kit.layouts.table import read_head
from specviz.models.errors import Unsuitable
from specviz.models.target import Target


@dataclass(frozen=True)
class PEagleConfig(Eagle3Config):
    """num_hidden_layers: its own. mask_token_id: stands for a token that is not known yet.

    speculative_tokens: how many places it was taught; None where its config does not say.
    """

    num_hidden_layers: int = 1
    mask_token_id: int = 0
    speculative_tokens: int | None = None

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """See `HeadConfig`."""
        layers, mask = data.get("num_hidden_layers", 1), data.get("mask_token_id")
        one = super().from_json(name, {**data, "num_hidden_layers": 1})  # as EAGLE heads have
        if type(layers) is not int or layers < 1:
            raise Unsuitable(f"{name!r}: num_hidden_layers must be at least 1, not {layers!r}.")
        if type(mask) is not int or not 0 <= mask < one.vocab_size:
            raise Unsuitable(f"{name!r}: its mask_token_id is no token: {mask!r}.")
        if one.speculative_tokens is not None and one.speculative_tokens < 1:
            raise Unsuitable(f"{name!r}: speculative_tokens must be at least 1.")
        return replace(one, num_hidden_layers=layers)


class PEagleHead(Eagle3Head):
    """EAGLE-3's parts, the layers behind its layer, and the state of a mask."""

    config: PEagleConfig

    def __init__(self, config: PEagleConfig, own_embedding: bool = False) -> None:
        super().__init__(config, own_embedding)
        self.later = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers - 1))
        taps = len(config.tap_layers)
        self.mask_hidden = nn.Parameter(torch.zeros(taps * config.reads))

    def masks(self, many: int) -> Tensor:
        """(many, h): what the layer takes for the states of so many masks."""
        one = self.fused(self.mask_hidden[None].chunk(len(self.config.tap_layers), dim=-1))
        return one.expand(many, -1)

    def through(
        self, states: Tensor, words: Tensor, positions: Tensor, mixes: Sequence[Mix]
    ) -> Tensor:
        """As `forward`, through all layers. mixes: by layer; each knows that layer's past."""
        rows: Tensor = self.midlayer(words, states, positions, mixes[0])
        for layer, mix in zip(self.later, mixes[1:], strict=True):
            rows = layer(rows, positions, mix)
        return self.norm(rows) if self.config.norm_output else rows

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """See `Eagle3Head`."""
        found = completed(read_head(folder, "p-eagle"))
        config = read_eagle3(found, target, PEagleConfig)
        head = cls(config, has_own_embedding(found, config))
        restore(found.name, head, found.tensors, target.model)
        check_vocabulary(found.name, head)
        return head
