"""DFlash's head (2602.06036) and its training: one bidirectional pass fills a block of masks.

A block is the newest token followed by masks. Every layer's keys and values start with the target's
states of the earlier tokens, fused by fc and normed; within the block, every position attends to
all others. A mask's output, projected by the target's own output head, predicts the token at its
position. Embeddings and projection are the target's, so the file has neither. The earlier states
have keys and values but no queries.

In training (section 4 of the paper), blocks start at random tokens of the text and are computed in
parallel, in the same way as when drafting. Every position is trained to match the target's
distribution, given the text up to it (see `future_loss`). The first positions have the largest
weights, since nothing after a wrong guess can be accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.common.checkpoint import HeadNetwork, made_for, read_tensors
from specviz.drafters.common.config import read_taps
from specviz.drafters.common.layers import Layer, Mix, Past, SplitAttention
from specviz.drafters.common.layouts import Head
from specviz.drafters.common.training import Family, TargetOutputs
from specviz.drafters.dflash.config import DFlashConfig
from specviz.models.target import Target
from specviz.shipped import ASSETS


class DFlashHead(HeadNetwork):
    """DFlash's network; fc, hidden_norm, layers and norm are named as in the public checkpoints."""

    family = "dflash"
    config_type = DFlashConfig
    config: DFlashConfig
    causal: ClassVar[bool] = False

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        self.config = config
        wide, eps = config.hidden_size, config.rms_norm_eps
        self.fc = nn.Linear(len(config.target_layer_ids) * wide, wide, bias=False)
        self.hidden_norm = LlamaRMSNorm(wide, eps)
        shape = replace(config, head_norms=True)  # as in Qwen3; files do not say so
        self.layers = nn.ModuleList(self.new_layer(shape) for _ in range(config.num_hidden_layers))
        self.norm = LlamaRMSNorm(wide, eps)

    def new_layer(self, shape: Any) -> Layer:
        """Return an untrained layer; shape: the config with `head_norms`."""
        return Layer(shape, SplitAttention)

    @classmethod
    def prepare(cls, found: Head, target: Target) -> Head:
        """Implement `HeadNetwork.prepare`: leave out the target's last layer if fc does."""
        inner = found.config.get("dflash_config")
        flat = {**found.config, **inner} if isinstance(inner, Mapping) else found.config
        ids = flat.get("target_layer_ids")
        if not isinstance(ids, list) or not ids:
            return found  # refused when the config is parsed
        taps = list(read_taps(found, ids, target.layers - 1))
        if isinstance(inner, Mapping):
            found = found.with_config(dflash_config={**inner, "target_layer_ids": taps})
        return found.with_config(target_layer_ids=taps)

    def past(
        self, states: Mapping[int, Tensor] | Sequence[Tensor], positions: Tensor
    ) -> list[Past]:
        """Return each layer's keys and values of states (B, n, h), by target layer, from 1."""
        return self.past_of(self.join(states), positions)

    def join(self, states: Mapping[int, Tensor] | Sequence[Tensor]) -> Tensor:
        """Concatenate the states that fc reads; see `past`."""
        return torch.cat([states[k] for k in self.config.tap_layers], dim=-1)

    def past_of(self, joined: Tensor, positions: Tensor) -> list[Past]:
        """Implement `past` for states that `join` concatenated."""
        fused = self.hidden_norm(self.fc(joined))
        return [layer.self_attn.keys_values(fused, positions) for layer in self._layers()]

    def block(self, anchors: Tensor) -> Tensor:
        """Return token ids (…, block_size): each anchor (…), followed by masks."""
        masks = anchors.new_full(
            (*anchors.shape, self.config.block_size), self.config.mask_token_id
        )
        masks[..., 0] = anchors
        return masks

    def forward(self, words: Tensor, positions: Tensor, mixes: Sequence[Mix]) -> Tensor:
        """Map the embeddings of blocks to outputs (B, n, h), which the target's projection reads.

        Args:
            words: Embeddings, (B, n, h).
            positions: (n,).
            mixes: The `Mix` of each layer, which holds that layer's earlier keys and values.
        """
        for layer, mix in zip(self._layers(), mixes, strict=True):
            words = layer(words, positions, mix)
        out: Tensor = self.norm(words)
        return out

    def _layers(self) -> list[Layer]:
        return [layer for layer in self.layers if isinstance(layer, Layer)]


def separate_blocks(
    past: Past, anchors: Tensor, starts: Tensor | None = None, causal: bool = False
) -> Mix:
    """Return a `Mix` for independent blocks that start at `anchors` (A,) of a known text.

    Its rows are the blocks one after another, (B, heads, A n, d). A row attends to the states
    before its block's anchor and to its own block, but to no other block.

    Args:
        past: Keys and values of the states.
        anchors: Rows of the states at which the blocks start, (A,).
        starts: If several texts follow one another, the first row of each block's text, (A,).
        causal: Whether a row attends to its block only up to itself.
    """

    def mixed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        groups = queries.shape[1] // keys.shape[1]
        old_keys, old_values, new_keys, new_values = (
            each.repeat_interleave(groups, dim=1) for each in (*past, keys, values)
        )
        blocks, length = (len(anchors), -1), old_keys.shape[2]
        rows = torch.arange(length, device=anchors.device)
        hidden = rows >= anchors[:, None, None]
        if starts is not None:
            hidden |= rows < starts[:, None, None]
        before = (queries @ old_keys.mT).unflatten(2, blocks).masked_fill(hidden, -torch.inf)
        inside = queries.unflatten(2, blocks) @ new_keys.unflatten(2, blocks).mT
        if causal:
            later = torch.ones(inside.shape[-2:], dtype=torch.bool, device=anchors.device).triu(1)
            inside = inside.masked_fill(later, -torch.inf)
        scores = torch.cat([before, inside], dim=-1).float() * queries.shape[-1] ** -0.5
        shares = scores.softmax(-1).to(values.dtype)
        own = shares[..., length:] @ new_values.unflatten(2, blocks)
        out: Tensor = own.flatten(2, 3) + shares[..., :length].flatten(2, 3) @ old_values
        return out

    return mixed


ANCHORS: Final = 64  # maximum number of blocks per text; the paper uses 512 in longer texts
# Position k has weight exp(-(k - 1) / DECAY), equation 4; the public value for blocks of 8.
DECAY: Final = 4.0


def loss(head: DFlashHead, outputs: TargetOutputs, anchors: Tensor | None = None) -> Tensor:
    """Return the weighted mean loss over blocks at `anchors` (A,), random ones if None."""
    if anchors is None:
        anchors = random_anchors(outputs)
    logits = outputs.head(blocks(head, outputs, anchors)).float()
    teacher, weights = block_targets(outputs, anchors, logits.shape[2])
    p = teacher.float().softmax(-1)
    missed = functional.cross_entropy(logits.flatten(0, 2), p.flatten(0, 2), reduction="none")
    return (missed.view_as(logits[..., 0]) * weights).sum() / (weights.sum() * len(logits))


def block_targets(outputs: TargetOutputs, anchors: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return what blocks of `size` guesses that start at `anchors` (A,) are compared with.

    Returns the target's logits for each guess, (B, A, size, V), and the weights of the guesses, (A,
    size); a guess beyond the end of the text has weight 0.
    """
    offsets = torch.arange(size, device=anchors.device)
    rows, length = anchors[:, None] + offsets, outputs.tokens.shape[1]
    weights = (-offsets / DECAY).exp() * (rows < length)
    return outputs.logits[:, rows.clamp(max=length - 1)], weights


def guesses(head: DFlashHead, outputs: TargetOutputs) -> list[Tensor]:
    """Return logits (B, T - 1, V) for each depth; row t is the block that starts at t + 1."""
    length = outputs.tokens.shape[1]
    every = torch.arange(1, length, device=outputs.tokens.device)
    return list(outputs.head(blocks(head, outputs, every)).unbind(2))


def random_anchors(outputs: TargetOutputs) -> Tensor:
    """Return random positions of the text, ascending, without the first, which has no state."""
    length = outputs.tokens.shape[1]
    drawn = torch.randperm(length - 1)[:ANCHORS].sort().values + 1
    return drawn.to(outputs.tokens.device)


def blocks(head: DFlashHead, outputs: TargetOutputs, anchors: Tensor) -> Tensor:
    """Return outputs (B, A, block_size - 1, h) of the masks after each of `anchors` (A,)."""
    device, size = outputs.tokens.device, head.config.block_size
    past = head.past(outputs.states, torch.arange(outputs.tokens.shape[1], device=device))
    words = outputs.embed(head.block(outputs.tokens[:, anchors])).flatten(1, 2)
    positions = (anchors[:, None] + torch.arange(size, device=device)).flatten()
    mixes = [separate_blocks(each, anchors, causal=head.causal) for each in past]
    rows: Tensor = head(words, positions, mixes).unflatten(1, (-1, size))
    return rows[:, :, 1:]


def start_from_dflash(head: DFlashHead, target: Target) -> None:
    """Copy the weights of the shipped DFlash head, if it fits; other parts keep theirs."""
    folder = ASSETS / "models" / "dflash"
    if folder.is_dir() and made_for(folder) == target.card.hash:
        tensors = {name: tensor.float() for name, tensor in read_tensors(folder).items()}
        head.load_state_dict(tensors, strict=False)


def build(target: Target, _counts: Tensor) -> DFlashHead:
    """Build a new small head for this target."""
    return DFlashHead(DFlashConfig.house(target))


TRAINING: Final = Family("dflash", build, loss, guesses)
