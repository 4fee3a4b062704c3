"""EAGLE-3's head (2503.01840): three layers of the target in, a law over fewer tokens out.

Row t pairs the target's states of token t, fused by fc, with the embedding of token t + 1 and
speaks of token t + 2. A further guess feeds the layer's own output back, before its norm; fc is for
the target's states alone. Nothing asks that this output resembles a feature of the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.kit.checkpoint import restore, write
from specviz.drafters.kit.config import HeadConfig, check_depth
from specviz.drafters.kit.layers import Attention, Mix, Mlp, weight_of
from specviz.drafters.kit.layouts.layout import Head
from specviz.drafters.kit.layouts.table import read_head
from specviz.models.errors import Unsuitable
from specviz.models.numpy_layers import NumpyCache, Rotation, rms_norm
from specviz.models.products import Array, FastLinear
from specviz.models.target import Target

AUX: Final = "eagle_aux_hidden_state_layer_ids"
VARIANTS: Final = ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")


@dataclass(frozen=True)
class Eagle3Config(HeadConfig):
    """draft_vocab_size: how many tokens it can propose.

    tap_layers: the layers of the target whose outputs it reads, counted from 1, before the final
    norm (transformers' hidden_states[k]). A key of our own, since public keys of this kind differ
    by one between programs; where it is absent they are 2, L // 2 and L - 3, as in EAGLE.
    target_hidden_size: the target's width, where the head's is another.

    Variants, all off in EAGLE's own. norm_before_residual: the residual is the state as normed for
    the attention. norm_before_fc: one norm over all taps before they are fused. fc_norm: one for
    each. norm_output: a guess reads the output behind the norm, not before it.
    """

    architectures: ClassVar[tuple[str, ...]] = ("LlamaForCausalLMEagle3",)
    quiet: ClassVar[frozenset[str]] = HeadConfig.quiet | {"target_hidden_size", *VARIANTS}

    draft_vocab_size: int = 0
    tap_layers: tuple[int, ...] = ()
    target_hidden_size: int | None = None
    norm_before_residual: bool = False
    norm_before_fc: bool = False
    fc_norm: bool = False
    norm_output: bool = False

    @property
    def reads(self) -> int:
        """See `HeadConfig`."""
        return self.target_hidden_size or self.hidden_size

    def to_json(self) -> dict[str, Any]:
        """For config.json; vLLM counts taps as we do, under another name."""
        return super().to_json() | {AUX: list(self.tap_layers)}


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
        self.norm_before_residual = config.norm_before_residual

    def forward(self, words: Tensor, states: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """(B, n, h) twice to (B, n, h). The residual is the state as it came, or as normed."""
        normed = self.hidden_norm(states)
        rows = torch.cat([self.input_layernorm(words), normed], dim=-1)
        states = normed if self.norm_before_residual else states
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
        wide, taps, eps = config.hidden_size, len(config.tap_layers), config.rms_norm_eps
        self.embed_tokens = nn.Embedding(config.vocab_size, wide) if own_embedding else None
        self.input_norm = LlamaRMSNorm(taps * config.reads, eps) if config.norm_before_fc else None
        norms = taps if config.fc_norm else 0
        self.fc_norm = nn.ModuleList(LlamaRMSNorm(config.reads, eps) for _ in range(norms))
        self.fc = nn.Linear(taps * config.reads, wide, bias=False)
        self.midlayer = Eagle3Layer(config)
        self.norm = LlamaRMSNorm(wide, eps)
        self.lm_head = nn.Linear(wide, config.draft_vocab_size, bias=False)
        self.register_buffer("d2t", torch.zeros(config.draft_vocab_size, dtype=torch.long))
        t2d = torch.arange(config.vocab_size) < config.draft_vocab_size  # the first ones, until
        self.register_buffer("t2d", t2d)  # a file or `propose_only` says others

    def fuse(self, layers: Mapping[int, Tensor] | Sequence[Tensor]) -> Tensor:
        """The target's states by layer, (..., h) each, as what the layer takes for a state."""
        return self.fused([layers[k] for k in self.config.tap_layers])

    def fused(self, taps: Sequence[Tensor]) -> Tensor:
        """States of the tapped layers, (..., h) each, in their order; see `fuse`."""
        if self.fc_norm:
            taps = [norm(tap) for norm, tap in zip(self.fc_norm, taps, strict=True)]
        rows = torch.cat(list(taps), dim=-1)
        out: Tensor = self.fc(rows if self.input_norm is None else self.input_norm(rows))
        return out

    def forward(self, states: Tensor, words: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Fused states, or own outputs, and the next tokens' embeddings to outputs, (B, n, h) all.

        positions: (n,), of the rows; for a guess, that of its parent plus one.
        """
        out: Tensor = self.midlayer(words, states, positions, mix)
        return self.norm(out) if self.config.norm_output else out

    def compute(
        self, states: Array, words: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
    ) -> Array:
        """Implement `NumpyHead.compute`."""
        layer, eps, config = self.midlayer, self.config.rms_norm_eps, self.config
        attention, mlp = layer.self_attn.fast, layer.mlp.fast
        assert attention is not None
        assert mlp is not None
        normed = rms_norm(states, weight_of(layer.hidden_norm), eps)
        rows = np.concatenate([rms_norm(words, weight_of(layer.input_layernorm), eps), normed], 1)
        states = normed if config.norm_before_residual else states
        states = states + attention(rows, turn, sees, cache, 0)
        after = rms_norm(states, weight_of(layer.post_attention_layernorm), eps)
        states = states + mlp(after)
        return rms_norm(states, weight_of(self.norm), eps) if config.norm_output else states

    @property
    def attentions(self) -> list[Attention]:
        """Implement `NumpyHead.attentions`."""
        return [self.midlayer.self_attn]

    def draft_logits(self, outputs: Tensor) -> Tensor:
        """Outputs (..., h) to logits over the draft vocabulary (..., D)."""
        if isinstance(self.lm_head, FastLinear) and self.midlayer.mlp.fast and _is_flat(outputs):
            rows, eps = outputs.numpy(), self.config.rms_norm_eps
            with np.errstate(all="ignore"):  # whoever reads the logits looks for NaN
                if not self.config.norm_output:
                    rows = rms_norm(rows, weight_of(self.norm), eps)
                return torch.from_numpy(self.lm_head.product(rows))
        logits: Tensor = self.lm_head(outputs if self.config.norm_output else self.norm(outputs))
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
        found = completed(read_head(folder, "eagle3"))
        config = read_eagle3(found, target, Eagle3Config)
        head = cls(config, has_own_embedding(found, config))
        restore(found.name, head, found.tensors, target.model)
        check_vocabulary(found.name, head)
        return head


def _is_flat(rows: Tensor) -> bool:
    """Whether these are rows (n, h) through which no gradient flows."""
    return rows.dim() == 2 and not torch.is_grad_enabled()


def completed(found: Head) -> Head:
    """With both halves of the draft vocabulary, which files leave out where they say nothing.

    A head that proposes every token needs no d2t and no t2d; t2d also follows from d2t.
    """
    tensors, every = dict(found.tensors), found.config.get("vocab_size")
    size = found.config.get("draft_vocab_size") or every
    if type(every) is not int or type(size) is not int:
        return found  # for the config to refuse
    if "d2t" not in tensors and size == every:
        tensors["d2t"] = torch.zeros(size, dtype=torch.long)
    if "d2t" in tensors and "t2d" not in tensors:
        listed = tensors["d2t"] + torch.arange(len(tensors["d2t"]))
        tensors["t2d"] = torch.isin(torch.arange(every), listed)
    return replace(found.with_config(draft_vocab_size=size), tensors=tensors)


def has_own_embedding(found: Head, config: Eagle3Config) -> bool:
    """Whether its embeddings are in its file; they must be where its width is not the target's."""
    return "embed_tokens.weight" in found.tensors or config.reads != config.hidden_size


def check_vocabulary(name: str, head: Eagle3Head) -> None:
    """Raise Unsuitable where d2t and t2d are not two forms of the same thing."""
    listed = head.tokens
    in_order = bool((listed[1:] > listed[:-1]).all()) and int(listed[-1]) < len(head.t2d)
    if not in_order or not torch.equal(head.t2d.nonzero().flatten(), listed):
        raise Unsuitable(f"{name!r}: its d2t and t2d name different tokens.")


Kind = TypeVar("Kind", bound=Eagle3Config)


def read_eagle3(found: Head, target: Target, kind: type[Kind]) -> Kind:
    """Its config, its taps settled. Raises Unsuitable."""
    name, depth = found.name, target.layers
    taps = found.config.get("tap_layers") or usual_taps(depth)
    whole = isinstance(taps, list | tuple) and all(type(k) is int for k in taps)
    if not whole or not all(1 <= k <= depth for k in taps):
        raise Unsuitable(f"{name!r} taps layers {taps!r:.80}; this target has 1 to {depth}.")
    config = kind.from_json(name, {**found.config, "tap_layers": tuple(taps)})
    config.check_fit(name, target)
    if type(made_for := found.config.get("num_target_layers")) is int:
        check_depth(name, made_for, target)
    if not 0 < config.draft_vocab_size <= config.vocab_size:
        raise Unsuitable(f"{name!r}: its draft_vocab_size is {config.draft_vocab_size:,}.")
    return config
