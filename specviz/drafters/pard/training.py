"""Training of PARD (2504.18583): a draft model learns to read masks.

Rows of a text are followed by masks, each of which attends to the text up to that row and to the
masks between. All masks of all rows would be K times as long as the text. The paper's conditional
drop-token (COD) keeps each further mask for a smaller random share of the rows, and only where the
mask before it is kept, since a mask needs the keys and values of those before it. Every row is
trained to match the target's distribution, given the text before it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.adapters.transformers import attention_inputs, layer_output, rotary_angles
from specviz.drafters.common.layers import masked
from specviz.drafters.common.training import Family, TargetOutputs
from specviz.drafters.eagle.parallel_training import CHUNK, Rows, rows_of
from specviz.drafters.pard import MASK_KEY, PardModel
from specviz.models.target import Target
from specviz.shipped import ASSETS

DEPTH: Final = 7  # number of guesses in a row that are trained
KEPT: Final = 0.7  # share of the rows with one mask that also have the next, as in the paper
LEAST: Final = 0.2  # smallest share of the rows of a text that have a mask, as in the paper
DECAY: Final = 0.8  # weight of a guess in the loss, relative to the one before
LAYERS: Final = 2  # layers of a new draft model, if the target has no draft model
UNUSED: Final = "ÿ"  # how byte-level BPE writes the byte 0xFF, which UTF-8 never contains


def kept_rows(length: int, depth: int = DEPTH) -> Rows:
    """Return the rows of a text and of the masks that COD keeps."""
    chosen, anchors = torch.arange(length), []
    for masks in range(1, depth):
        count = int(length * max(KEPT**masks, LEAST))
        chosen = chosen[torch.randperm(len(chosen))[:count]]
        anchors.append(chosen[chosen + masks < length])  # other rows have no target distribution
    return rows_of(length, anchors)


def read_rows(head: PardModel, tokens: Tensor, rows: Rows) -> Tensor:
    """Return the final states (B, n, h) of a training pass over texts (B, T) and their masks."""
    model: Any = head.model
    masks = tokens.new_full((len(tokens), len(rows.anchors) - tokens.shape[1]), head.mask)
    decoder = model.model
    hidden = decoder.embed_tokens(torch.cat([tokens, masks], dim=1))
    rotary, mix = rotary_angles(decoder, hidden, rows.positions[None]), masked(rows.sees)
    for layer in decoder.layers:
        queries, keys, values = attention_inputs(layer, hidden, rotary)
        hidden = layer_output(layer, hidden, mix(queries, keys, values.to(queries.dtype)))
    states: Tensor = decoder.norm(hidden)
    return states


def loss(head: PardModel, outputs: TargetOutputs, rows: Rows | None = None) -> Tensor:
    """Return the weighted mean over depths of the cross-entropy to the target's distribution.

    A depth's weight does not depend on how many of its rows were kept. rows: the rows of the pass;
    sampled from torch's generator if None.
    """
    rows = rows or kept_rows(outputs.tokens.shape[1])
    rows = Rows(*(each.to(outputs.tokens.device) for each in rows))
    used = outputs.counted[:, rows.positions]
    targets = outputs.logits.softmax(-1)[:, rows.positions][used]
    states = read_rows(head, outputs.tokens, rows)[used]
    logits: Tensor = head.model.get_output_embeddings()(states).float()
    missed = -(targets * logits.log_softmax(-1)).sum(-1)
    depths = rows.depths.expand_as(used)[used] - 1
    depth = int(rows.depths.max())
    sums = missed.new_zeros(depth).index_add(0, depths, missed)
    means = sums / depths.bincount(minlength=depth).clamp(min=1)
    weights = DECAY ** torch.arange(depth, device=means.device)
    return (means * weights).sum() / weights.sum()


@torch.no_grad()
def guesses(head: PardModel, outputs: TargetOutputs) -> list[Tensor]:
    """Return logits (B, T - 1, V) for each depth; drafts start one token later than the text."""
    length = outputs.tokens.shape[1]
    parts = []
    for some in torch.arange(1, length).split(CHUNK):
        rows = rows_of(length, [some] * (DEPTH - 1))
        rows = Rows(*(each.to(outputs.tokens.device) for each in rows))
        out = read_rows(head, outputs.tokens, rows)
        first, masks = out[:, some], out[:, length:].unflatten(1, (-1, len(some)))
        parts.append(torch.cat([first[:, None], masks], dim=1))
    project = head.model.get_output_embeddings()
    return [project(each) for each in torch.cat(parts, dim=2).unbind(1)]


@torch.no_grad()
def build(target: Target, _counts: Tensor) -> PardModel:
    """Return the model that training starts from, with its mask.

    This is House's draft model (House is the target that ships with specviz). For a target with
    other tokens, it is a copy of the target's first layers, norm and output projection. The mask is
    a token that no text contains.
    """
    model = _house_draft(target) or _first_layers(target)
    tokenizer: Any = target.tokenizer
    unused = tokenizer.get_vocab().get(UNUSED, target.eos[0] if target.eos else 0)
    setattr(model.config, MASK_KEY, unused)
    return PardModel(model, tokenizer)


def _house_draft(target: Target) -> Any | None:
    # House and its draft model were trained with one tokenizer, recognized by its size.
    folder = ASSETS / "models" / "draft-model"
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model if model.config.vocab_size == target.vocab_size else None


def _first_layers(target: Target) -> Any:
    config = deepcopy(target.model.config)
    config.num_hidden_layers = min(LAYERS, config.num_hidden_layers)
    model = type(target.model)(config)
    model.load_state_dict(target.model.state_dict(), strict=False)
    return model


TRAINING: Final = Family("pard", build, loss, guesses)
