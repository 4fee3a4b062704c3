"""EAGLE-3's head (2503.01840) and its training.

Row t pairs the target's hidden states of token t, fused by fc, with the embedding of token t + 1,
and predicts token t + 2. A further guess reads the layer's own output, before its norm; fc is
applied only to the target's states. The output is not trained to resemble a feature of the target.

In training ("training-time test"), the head is unrolled as in drafting, on its own outputs, and
every step adds to the loss. There is no loss on features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.common.checkpoint import HeadNetwork
from specviz.drafters.common.config import check_depth, read_taps
from specviz.drafters.common.features import NumpyPass
from specviz.drafters.common.layers import Attention, Mix, Mlp, OwnEmbedding
from specviz.drafters.common.layouts import Head
from specviz.drafters.common.training import DEPTH, Family, HeadOptions, TargetOutputs
from specviz.drafters.eagle.head import (
    Eagle3Config,
    add_missing_parts,
    default_taps,
    draft_vocabulary,
    unroll,
)
from specviz.models.errors import Unsuitable
from specviz.models.fast_layers import FastLinear
from specviz.models.files import folder_label
from specviz.models.numpy_layers import NumpyCache, Rotation, rms_norm, weight_of
from specviz.models.products import Array
from specviz.models.target import Target


class Eagle3Layer(nn.Module):
    """A Llama layer whose attention reads the concatenation of an embedding and a state."""

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
        """Map embeddings and states, (B, n, h) each, to (B, n, h)."""
        normed = self.hidden_norm(states)
        rows = torch.cat([self.input_layernorm(words), normed], dim=-1)
        states = normed if self.norm_before_residual else states
        states = states + self.self_attn(rows, positions, mix)
        out: Tensor = states + self.mlp(self.post_attention_layernorm(states))
        return out


class Eagle3Head(HeadNetwork):
    """EAGLE-3's network: fc, one layer and an output head, named as in the public checkpoints."""

    family: ClassVar[str] = "eagle3"
    config_type: ClassVar[type[Eagle3Config]] = Eagle3Config
    config: Eagle3Config
    d2t: Tensor
    t2d: Tensor

    def __init__(self, config: Eagle3Config, own_embedding: bool = False) -> None:
        super().__init__()
        self.config = config
        wide, taps, eps = config.hidden_size, len(config.tap_layers), config.rms_norm_eps
        self.embed_tokens = OwnEmbedding(config.vocab_size, wide) if own_embedding else None
        self.input_norm = (
            LlamaRMSNorm(taps * config.input_width, eps) if config.norm_before_fc else None
        )
        norms = taps if config.fc_norm else 0
        self.fc_norm = nn.ModuleList(LlamaRMSNorm(config.input_width, eps) for _ in range(norms))
        self.fc = nn.Linear(taps * config.input_width, wide, bias=False)
        self.midlayer = Eagle3Layer(config)
        self.norm = LlamaRMSNorm(wide, eps)
        self.lm_head = nn.Linear(wide, config.draft_vocab_size, bias=False)
        self.register_buffer("d2t", torch.zeros(config.draft_vocab_size, dtype=torch.long))
        # The first tokens of the vocabulary, until a file or `propose_only` replaces this.
        t2d = torch.arange(config.vocab_size) < config.draft_vocab_size
        self.register_buffer("t2d", t2d)

    def fuse(self, layers: Mapping[int, Tensor] | Sequence[Tensor]) -> Tensor:
        """Fuse the target's states, (..., h) each by layer, into the layer's input."""
        return self.fuse_taps([layers[k] for k in self.config.tap_layers])

    def fuse_taps(self, taps: Sequence[Tensor]) -> Tensor:
        """Fuse the states of the tapped layers, (..., h) each, in order; see `fuse`."""
        if self.fc_norm:
            taps = [norm(tap) for norm, tap in zip(self.fc_norm, taps, strict=True)]
        rows = torch.cat(list(taps), dim=-1)
        out: Tensor = self.fc(rows if self.input_norm is None else self.input_norm(rows))
        return out

    def forward(self, states: Tensor, words: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Compute outputs (B, n, h).

        Args:
            states: Fused states, or the head's own outputs, (B, n, h).
            words: Embeddings of the next tokens, (B, n, h).
            positions: Positions of the rows, (n,); for a guess, its parent's plus one.
            mix: See `Attention.forward`.
        """
        out: Tensor = self.midlayer(words, states, positions, mix)
        return self.norm(out) if self.config.norm_output else out

    def numpy_pass(self) -> NumpyPass:
        """Implement `NumpyHead.numpy_pass`."""
        layer, eps, config = self.midlayer, self.config.rms_norm_eps, self.config
        attention, mlp = layer.self_attn.fast, layer.mlp.fast
        assert attention is not None
        assert mlp is not None
        norms = layer.input_layernorm, layer.hidden_norm, layer.post_attention_layernorm, self.norm
        of_words, of_states, before_mlp, last = map(weight_of, norms)

        def compute(
            states: Array, words: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
        ) -> Array:
            normed = rms_norm(states, of_states, eps)
            rows = np.concatenate([rms_norm(words, of_words, eps), normed], 1)
            states = normed if config.norm_before_residual else states
            states = states + attention(rows, turn, sees, cache, 0)
            states += mlp(rms_norm(states, before_mlp, eps))
            return rms_norm(states, last, eps) if config.norm_output else states

        return compute

    @property
    def attentions(self) -> list[Attention]:
        """Implement `NumpyHead.attentions`."""
        return [self.midlayer.self_attn]

    def draft_logits(self, outputs: Tensor) -> Tensor:
        """Map outputs (..., h) to logits over the draft vocabulary (..., D)."""
        if isinstance(self.lm_head, FastLinear) and self.midlayer.mlp.fast and _is_flat(outputs):
            rows, eps = outputs.numpy(), self.config.rms_norm_eps
            with np.errstate(all="ignore"):  # NaN is detected when the logits are read
                if not self.config.norm_output:
                    rows = rms_norm(rows, weight_of(self.norm), eps)
                return torch.from_numpy(self.lm_head.product(rows))
        logits: Tensor = self.lm_head(outputs if self.config.norm_output else self.norm(outputs))
        return logits

    def logits(self, outputs: Tensor) -> Tensor:
        """Map outputs (..., h) to logits (..., V), -inf for tokens that cannot be proposed."""
        draft = self.draft_logits(outputs)
        whole = draft.new_full((*draft.shape[:-1], len(self.t2d)), -torch.inf)
        return whole.index_copy_(-1, self.tokens, draft)

    def logits_function(self) -> Callable[[Tensor], Tensor]:
        """Return a function that computes `logits` in one run, with NumPy where possible."""
        if not (isinstance(self.lm_head, FastLinear) and self.midlayer.mlp.fast):
            return self.logits
        product, eps, count = self.lm_head.product, self.config.rms_norm_eps, len(self.d2t)
        norm = None if self.config.norm_output else weight_of(self.norm)
        sources = np.full(len(self.t2d), count)  # column of each token; the last column is -inf
        sources[self.tokens.numpy()] = np.arange(count)

        def logits(outputs: Tensor) -> Tensor:
            rows: Array = outputs.numpy()
            draft = np.full((len(rows), count + 1), -np.inf, np.float32)
            with np.errstate(all="ignore"):  # NaN is detected when the logits are read
                draft[:, :-1] = product(rows if norm is None else rms_norm(rows, norm, eps))
            return torch.from_numpy(draft.take(sources, axis=1))

        return logits

    @property
    def tokens(self) -> Tensor:
        """The tokens that can be proposed, (D,)."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def propose_only(self, counts: Tensor) -> None:
        """Restrict the draft vocabulary, before training, to the most frequent in counts (V,)."""
        d2t, t2d = draft_vocabulary(counts, self.config.draft_vocab_size)
        self.d2t.copy_(d2t)
        self.t2d.copy_(t2d)

    @classmethod
    def prepare(cls, found: Head, target: Target) -> Head:
        """Implement `HeadNetwork.prepare`."""
        return add_missing_parts(found)

    @classmethod
    def read_config(cls, found: Head, target: Target) -> Eagle3Config:
        """Implement `HeadNetwork.read_config`, and determine the taps."""
        name, depth = found.name, target.layers
        taps = found.config.get("tap_layers") or default_taps(depth)
        whole = isinstance(taps, list | tuple) and all(type(k) is int for k in taps)
        if not whole or not all(1 <= k <= depth for k in taps):
            raise Unsuitable(f"{name!r} taps layers {taps!r:.80}; this target has 1 to {depth}.")
        taps = read_taps(found, taps, depth)
        config = cls.config_type.from_json(name, {**found.config, "tap_layers": taps})
        config.check_fit(name, target)
        if type(made_for := found.config.get("num_target_layers")) is int:
            check_depth(name, made_for, target)
        if not 0 < config.draft_vocab_size <= config.vocab_size:
            raise Unsuitable(f"{name!r}: its draft_vocab_size is {config.draft_vocab_size:,}.")
        return config

    @classmethod
    def like_file(cls, found: Head, config: Eagle3Config, target: Target) -> Self:
        """Implement `HeadNetwork.like_file`; a head of another width has its own embeddings."""
        own = "embed_tokens.weight" in found.tensors or config.input_width != config.hidden_size
        return cls(config, own)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """Implement `HeadNetwork.load`; d2t and t2d are checked."""
        head = super().load(folder, target)
        check_vocabulary(folder_label(folder), head)
        return head


def _is_flat(rows: Tensor) -> bool:
    return rows.dim() == 2 and not torch.is_grad_enabled()


def check_vocabulary(name: str, head: Eagle3Head) -> None:
    """Check that d2t and t2d describe the same set of tokens. Raises Unsuitable if not."""
    listed = head.tokens
    in_order = bool((listed[1:] > listed[:-1]).all()) and int(listed[-1]) < len(head.t2d)
    if not in_order or not torch.equal(head.t2d.nonzero().flatten(), listed):
        raise Unsuitable(f"{name!r}: its d2t and t2d name different tokens.")


DRAFT_VOCABULARY: Final = 0.75  # size of the draft vocabulary, relative to the target's
STEPS: Final = 5  # the paper's code unrolls 7 steps; our trees are 5 deep
DECAY: Final = 0.8  # weight of a step relative to the one before, as in the paper's code


def loss(head: Eagle3Head, outputs: TargetOutputs, steps: int = STEPS) -> Tensor:
    """Return the weighted mean over steps of the cross-entropy to the target's distribution.

    The distribution is restricted to the draft vocabulary and normalized. Rows whose top token is
    outside that vocabulary are ignored, as published.
    """
    teaches = head.t2d[outputs.tops] & outputs.counted
    distributions = outputs.over(head.tokens, teaches).softmax(-1)
    number = teaches.flatten().cumsum(0).view(teaches.shape) - 1  # index into `distributions`
    total, weights = distributions.new_zeros(()), 0.0
    for step, draft_output in enumerate(unroll(head, head.fuse(outputs.states), outputs, steps)):
        rows = teaches[:, step + 1 :]
        distribution = distributions[number[:, step + 1 :][rows]]
        missed = -(
            distribution * head.draft_logits(draft_output[rows]).float().log_softmax(-1)
        ).sum(-1)
        total = total + DECAY**step * missed.sum() / rows.sum().clamp(min=1)
        weights += DECAY**step
    return total / weights


@torch.no_grad()
def guesses(head: Eagle3Head, outputs: TargetOutputs, depth: int) -> list[Tensor]:
    """Return logits (B, T - d, V) for each depth d, the input of `overlaps`."""
    states = head.fuse(outputs.states)
    return [head.logits(draft_output) for draft_output in unroll(head, states, outputs, depth)]


def build(target: Target, counts: Tensor, **changes: Any) -> Eagle3Head:
    """Build a new head for this target. counts: how often each token occurs, (V,)."""
    defaults = {
        "draft_vocab_size": round(DRAFT_VOCABULARY * target.vocab_size),
        "tap_layers": tuple(max(1, layer) for layer in default_taps(target.layers)),
    }
    config = Eagle3Config.like(target, **(defaults | changes))
    head = Eagle3Head(config)
    head.propose_only(counts)
    return head


@torch.no_grad()
def init_from_target(target: Target, counts: Tensor, head_options: HeadOptions) -> Eagle3Head:
    """Build a new head, initialized with the target's last layer, norm and output rows.

    fc starts as a copy of the highest tap. The weights that read the next token's embedding are
    random, since the target's layer has none. The output rows are not trained.
    """
    size, own = min(head_options.draft_vocabulary, target.vocab_size), target.card.hash
    fits = (own, *head_options.also_for) if own and head_options.also_for else own
    head = build(target, counts, draft_vocab_size=size, made_for=fits)
    model, wide = target.model.model, head.config.hidden_size
    last, layer = model.layers[-1], head.midlayer
    head.fc.weight.zero_()
    head.fc.weight[:, -wide:].copy_(torch.eye(wide))
    for name in ("q_proj", "k_proj", "v_proj"):
        getattr(layer.self_attn, name).weight[:, wide:] = getattr(last.self_attn, name).weight
    layer.self_attn.o_proj.load_state_dict(last.self_attn.o_proj.state_dict())
    layer.mlp.load_state_dict(last.mlp.state_dict())
    layer.hidden_norm.weight.copy_(last.input_layernorm.weight)
    layer.post_attention_layernorm.weight.copy_(last.post_attention_layernorm.weight)
    head.norm.weight.copy_(model.norm.weight)
    head.lm_head.weight.copy_(target.model.get_output_embeddings().weight[head.tokens])
    head.lm_head.requires_grad_(False)
    return head


def with_options(head_options: HeadOptions) -> Family:
    """Return the family of heads that are initialized from a target of any size."""
    return replace(
        TRAINING,
        build=lambda target, counts: init_from_target(target, counts, head_options),
        loss=lambda head, outputs: loss(head, outputs, head_options.steps),
    )


TRAINING: Final = Family(
    "eagle3",
    build,
    loss,
    guesses=lambda head, outputs: guesses(head, outputs, DEPTH),
    with_options=with_options,
)
