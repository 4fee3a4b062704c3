"""P-EAGLE (2602.01469): EAGLE-3's head, with every guess computed in one pass.

Let the newest token be x at position n. Rows (states of t, token t + 1) exist up to t = n - 1. That
row predicts position n + 1 from the target's states and the newest token, as in EAGLE-3. Every
further position has a row with the mask's embedding and one learned state, `mask_hidden`, in place
of the target's states, which do not exist yet. Rows attend to the text and the earlier masks. No
guess depends on another guess's token, so the top tokens form one path, a point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import torch
from torch import Tensor, nn

from specviz.drafters.common.checkpoint import write
from specviz.drafters.common.head_cache import head_cache
from specviz.drafters.common.layers import Layer, Mix
from specviz.drafters.common.mask_session import MaskSession
from specviz.drafters.common.proposal_builder import fit_vocabulary
from specviz.drafters.eagle import Eagle3
from specviz.drafters.eagle.head import Eagle3Config, default_taps
from specviz.drafters.eagle.head3 import DRAFT_VOCABULARY, Eagle3Head
from specviz.engine.protocol import DraftSession
from specviz.models.errors import Unsuitable
from specviz.models.graphs import Memory, pad_front
from specviz.models.passes import States, concat_layers
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification.transfer import UploadBatch

HOUSE_DEPTH: Final = 7  # number of guesses of the small head


@dataclass(frozen=True)
class PEagleConfig(Eagle3Config):
    """Config of a P-EAGLE head.

    Attributes:
        mask_token_id: Token that replaces tokens not guessed yet.
        speculative_tokens: Positions that it was trained to predict; None if unknown.
    """

    num_hidden_layers: int = 1
    mask_token_id: int = 0
    speculative_tokens: int | None = None

    @classmethod
    def house(cls, target: Target, **changes: Any) -> Self:
        """Return the config of a small head with two layers; an end-of-text token is the mask."""
        shape = target.model.config
        shared = shape.num_key_value_heads
        defaults = {
            "num_hidden_layers": 2,
            "intermediate_size": shape.intermediate_size // 2,
            "num_key_value_heads": shared // 2 if shared % 2 == 0 else shared,
            "draft_vocab_size": round(DRAFT_VOCABULARY * target.vocab_size),
            "tap_layers": tuple(max(1, layer) for layer in default_taps(target.layers)),
            "mask_token_id": target.eos[0] if target.eos else target.vocab_size - 1,
            "speculative_tokens": HOUSE_DEPTH,
        }
        return cls.like(target, **(defaults | changes))

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json; the mask is also written under vLLM's key."""
        return super().to_json() | {"pard_token": self.mask_token_id}

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Implement `HeadConfig.from_json`."""
        layers, mask = data.get("num_hidden_layers", 1), data.get("mask_token_id")
        one = super().from_json(name, {**data, "num_hidden_layers": 1})  # as EAGLE heads have
        if type(layers) is not int or layers < 1:
            raise Unsuitable(f"{name!r}: num_hidden_layers must be at least 1, not {layers!r}.")
        if type(mask) is not int or not 0 <= mask < one.vocab_size:
            raise Unsuitable(f"{name!r}: its mask_token_id is not a token: {mask!r}.")
        if one.speculative_tokens is not None and one.speculative_tokens < 1:
            raise Unsuitable(f"{name!r}: speculative_tokens must be at least 1.")
        return replace(one, num_hidden_layers=layers)


class PEagleHead(Eagle3Head):
    """EAGLE-3's head with more layers and a learned state for masks."""

    family = "p-eagle"
    config_type = PEagleConfig
    config: PEagleConfig

    def __init__(self, config: PEagleConfig, own_embedding: bool = False) -> None:
        super().__init__(config, own_embedding)
        self.later = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers - 1))
        taps = len(config.tap_layers)
        self.mask_hidden = nn.Parameter(torch.zeros(taps * config.input_width))

    def save(self, folder: Path) -> None:
        """Implement `HeadNetwork.save`, with the public names of the layers."""
        write(folder, self.config.to_json(), self, public_name)

    def mask_states(self, count: int) -> Tensor:
        """Return the layer's input for `count` masks, (count, h)."""
        one = self.fuse_taps(self.mask_hidden[None].chunk(len(self.config.tap_layers), dim=-1))
        return one.expand(count, -1)

    def run_layers(
        self, states: Tensor, words: Tensor, positions: Tensor, mixes: Sequence[Mix]
    ) -> Tensor:
        """Run all layers; see `forward`.

        Args:
            states: (B, n, h).
            words: Embeddings, (B, n, h).
            positions: (n,).
            mixes: The `Mix` of each layer, which holds that layer's earlier keys and values.
        """
        rows: Tensor = self.midlayer(words, states, positions, mixes[0])
        for layer, mix in zip(self.later, mixes[1:], strict=True):
            rows = layer(rows, positions, mix)
        return self.norm(rows) if self.config.norm_output else rows


def public_name(name: str) -> str:
    """Return a tensor's name in public files, which number all layers from 0."""
    if name.startswith("midlayer."):
        return name.replace("midlayer.", "layers.0.", 1)
    _, later, rest = name.partition("later.")
    number, _, part = rest.partition(".")
    return f"layers.{int(number) + 1}.{part}" if later else name


class PEagle(Eagle3):
    """The P-EAGLE drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "p-eagle"
    network = PEagleHead
    head: PEagleHead

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Implement `HeadDrafter.session`."""
        return PEagleSession(self, target, settings)


class PEagleSession(MaskSession):
    """A session that caches the keys and values of the text's rows, but not of masks."""

    remark: Mapping[str, Any] = {"form": "parallel"}

    def __init__(self, drafter: PEagle, target: Target, settings: Settings) -> None:
        super().__init__(target, settings, self)
        self.head, self.name = drafter.head, drafter.card.name
        self.longest = self.head.config.speculative_tokens
        self.embed: Any = self.head.embed_tokens or target.model.get_input_embeddings()
        config = self.head.config
        shape = config.num_key_value_heads, config.head_dim
        self.cache = head_cache(self.head, [shape] * config.num_hidden_layers)
        self.rows = 0
        self.waiting: list[tuple[States, list[int]]] = []

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `StateReader.add_states`: a state and its token form one row of the input."""
        self.waiting.append((states, list(tokens)))

    @property
    def memory(self) -> Memory | None:
        """Implement `MaskSession.memory`."""
        return self.cache.memory

    def plan(
        self, context: Sequence[int], depth: int, uploads: UploadBatch
    ) -> tuple[Callable[[], Tensor], dict[str, int], Work]:
        """Implement `MaskSession.plan`."""
        # Raises ValueError if the states do not match the text.
        head, length, masks = self.head, len(context), depth - 1
        taps = concat_layers([states.layers for states, _ in self.waiting])
        new = [token for _, some in self.waiting for token in some]
        start, self.waiting = self.rows, []
        if not new or start + len(new) != length - 1:
            raise ValueError(f"{start} + {len(new)} states for a text of {length} tokens.")
        self.rows, last = length - 1, length - 1 + masks
        size = self.cache.padded_rows(len(new)) + masks
        read = torch.tensor([*new, *[head.config.mask_token_id] * masks])
        tokens = uploads.put(pad_front(read, size))
        positions = uploads.put(pad_front(torch.arange(start, last), size))
        seen = torch.ones(len(read), last, dtype=torch.bool).tril(start)
        sees = uploads.put(self.cache.pad_mask(seen, size))
        fused = uploads.put_states(head.fuse(taps), size - masks)
        self.cache.cut(start)
        slots = self.cache.plan(start, last, size, uploads)

        def run() -> Tensor:
            states = torch.cat([fused(), head.mask_states(masks)]) if masks else fused()
            mixes = [self.cache.mix(i, slots(), sees()) for i in range(len(head.later) + 1)]
            words = self.embed(tokens())
            out = head.run_layers(states[None], words[None], positions(), mixes)[0]
            return fit_vocabulary(head.logits(out[-depth:]), self.target.vocab_size)

        entry = len(new) + (masks > 0)  # all masks have the same state
        work = Work(body=len(read), head=depth, entry=entry)
        return run, {"states": self.rows, "masks": masks}, work
