"""EAGLE-3's head (2503.01840): three layers of the target in, a law over fewer tokens out.

Row t pairs the target's states of token t, fused by fc, with the embedding of token t + 1 and
speaks of token t + 2. A further guess feeds the layer's own output back, before its norm; fc is for
the target's states alone. Nothing asks that this output resembles a feature of the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from specviz.drafters.kit.checkpoint import read_config, read_tensors, restore, write
from specviz.drafters.kit.config import HeadConfig
from specviz.drafters.kit.layers import Attention, Mix, Mlp
from specviz.models.errors import Unsuitable
from specviz.models.target import Target


@dataclass(frozen=True)
class Eagle3Config(HeadConfig):
    """draft_vocab_size: how many tokens it can propose.

    tap_layers: the three layers of the target whose outputs it reads, counted from 1, before the
    final norm (transformers' hidden_states[k]). A key of our own, since public keys of this kind
    differ by one between programs; where it is absent they are 2, L // 2 and L - 3, as in EAGLE.
    """

    draft_vocab_size: int = 0
    tap_layers: tuple[int, ...] = ()


def usual_taps(layers: int) -> tuple[int, ...]:
    """EAGLE-3's own choice for a target of so many layers: outputs of these, counted from 1."""
    return (2, layers // 2, layers - 3)


def draft_vocabulary(counts: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """d2t (size,) and t2d (V,) for the `size` most frequent tokens. counts: (V,), ties by id.

    d2t is an offset: draft id i stands for token i + d2t[i]. t2d says which tokens can be proposed.
    """
    common = counts.sort(descending=True, stable=True).indices[:size].sort().values
    t2d = torch.zeros(len(counts), dtype=torch.bool)
    t2d[common] = True
    return common - torch.arange(len(common)), t2d


class Eagle3Layer(nn.Module):
    """A Llama layer that attends from an embedding and a state side by side."""

    def __init__(self, config: Eagle3Config) -> None:
        super().__init__()
        wide, eps = config.hidden_size, config.rms_norm_eps
        self.self_attn = Attention(config, 2 * wide)
        self.mlp = Mlp(config)
        self.hidden_norm = LlamaRMSNorm(wide, eps)
        self.input_layernorm = LlamaRMSNorm(wide, eps)
        self.post_attention_layernorm = LlamaRMSNorm(wide, eps)

    def forward(self, words: Tensor, states: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """(B, n, h) twice to (B, n, h). The residual is the state as it came, not normed."""
        rows = torch.cat([self.input_layernorm(words), self.hidden_norm(states)], dim=-1)
        states = states + self.self_attn(rows, positions, mix)
        out: Tensor = states + self.mlp(self.post_attention_layernorm(states))
        return out


class Eagle3Head(nn.Module):
    """fc, one layer, norm and an output head of its own. Names as in the public checkpoints.

    embed_tokens: the file's own; None where the target's serves.
    """

    d2t: Tensor
    t2d: Tensor

    def __init__(self, config: Eagle3Config, own_embedding: bool = False) -> None:
        super().__init__()
        self.config = config
        wide = config.hidden_size
        self.embed_tokens = nn.Embedding(config.vocab_size, wide) if own_embedding else None
        self.fc = nn.Linear(len(config.tap_layers) * wide, wide, bias=False)
        self.midlayer = Eagle3Layer(config)
        self.norm = LlamaRMSNorm(wide, config.rms_norm_eps)
        self.lm_head = nn.Linear(wide, config.draft_vocab_size, bias=False)
        self.register_buffer("d2t", torch.zeros(config.draft_vocab_size, dtype=torch.long))
        t2d = torch.arange(config.vocab_size) < config.draft_vocab_size  # the first ones, until
        self.register_buffer("t2d", t2d)  # a file or `propose_only` says others

    def fuse(self, layers: Mapping[int, Tensor] | Sequence[Tensor]) -> Tensor:
        """The target's states by layer, (..., h) each, as what the layer takes for a state."""
        taps = [layers[k] for k in self.config.tap_layers]
        out: Tensor = self.fc(torch.cat(taps, dim=-1))
        return out

    def forward(self, states: Tensor, words: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Fused states, or own outputs, and the next tokens' embeddings to outputs, (B, n, h) all.

        positions: (n,), of the rows; for a guess, that of its parent plus one.
        """
        out: Tensor = self.midlayer(words, states, positions, mix)
        return out

    def draft_logits(self, outputs: Tensor) -> Tensor:
        """Outputs (..., h) to logits over the draft vocabulary (..., D)."""
        logits: Tensor = self.lm_head(self.norm(outputs))
        return logits

    def logits(self, outputs: Tensor) -> Tensor:
        """Outputs (..., h) to logits (..., V); minus infinity where it cannot propose a token."""
        draft = self.draft_logits(outputs)
        whole = draft.new_full((*draft.shape[:-1], len(self.t2d)), -torch.inf)
        return whole.index_copy_(-1, self.tokens, draft)

    @property
    def tokens(self) -> Tensor:
        """The tokens that it can propose, (D,): d2t is an offset."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def propose_only(self, counts: Tensor) -> None:
        """Before training: choose the draft vocabulary by how often each token occurs, (V,)."""
        d2t, t2d = draft_vocabulary(counts, self.config.draft_vocab_size)
        self.d2t.copy_(d2t)
        self.t2d.copy_(t2d)

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors in bf16. See `load`."""
        write(folder, self.config.to_json(), self)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """The head in `folder`, on the target's device, in its dtype, ready to draft.

        Raises NotAvailable or Unsuitable with a sentence; a tensor that does not fit is named.
        """
        config = read_eagle3(folder, target)
        tensors = read_tensors(folder)
        head = cls(config, own_embedding="embed_tokens.weight" in tensors)
        restore(folder.name, head, tensors, target.model)
        listed = head.tokens
        in_order = bool((listed[1:] > listed[:-1]).all()) and int(listed[-1]) < len(head.t2d)
        if not in_order or not torch.equal(head.t2d.nonzero().flatten(), listed):
            raise Unsuitable(f"{folder.name!r}: its d2t and t2d name different tokens.")
        return head


def read_eagle3(folder: Path, target: Target) -> Eagle3Config:
    """The config in `folder`, its taps settled. Raises NotAvailable, Unsuitable."""
    name, data = folder.name, read_config(folder)
    depth = target.model.config.get_text_config().num_hidden_layers
    unclear = {"eagle_aux_hidden_state_layer_ids", "eagle_config"} & data.keys()
    if unclear and "tap_layers" not in data:
        raise Unsuitable(
            f"{name!r} names its taps by {min(unclear)}, which differs by one between programs; "
            "say tap_layers, the layers whose outputs it reads, counted from 1."
        )
    taps = data.get("tap_layers", usual_taps(depth))
    if not all(type(k) is int and 1 <= k <= depth for k in taps):
        raise Unsuitable(f"{name!r} taps layers {list(taps)}; this target has 1 to {depth}.")
    config = Eagle3Config.from_json(name, data | {"tap_layers": tuple(taps)})
    config.check_fit(name, target)
    if not 0 < config.draft_vocab_size <= config.vocab_size:
        raise Unsuitable(f"{name!r}: its draft_vocab_size is {config.draft_vocab_size:,}.")
    return config
