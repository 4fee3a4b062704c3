"""A Mixture of Attentions head trained in memory, and a reference written from the paper.

Everything follows from seeds. The reference shares only the rotary embedding with the head.
"""

from __future__ import annotations

import math
from dataclasses import replace

import headed
import tiny
import torch
from driven import turns
from once import once

from specviz.adapters.transformers import growing_cache, with_cache
from specviz.drafters.common import layers
from specviz.drafters.common.layers import plain_rates, rotate
from specviz.drafters.moa import Moa
from specviz.drafters.moa import head as training
from specviz.drafters.moa.head import MoaConfig, MoaHead
from specviz.settings.settings import Sampling, Settings

GREEDY = Settings(Sampling(0), gamma=4, budget=12, fan_out=3, max_new_tokens=40)
WARM = replace(GREEDY, sampling=Sampling(1.1, top_k=12, top_p=0.97), max_new_tokens=24)


@once
def learnt():
    """Return a head trained for a few seconds."""
    torch.manual_seed(3)
    head = MoaHead(MoaConfig.like(headed.target())).train()
    return headed.fitted(head, training.loss, 80, decays=False)


def drafter(head=None):
    head = head or learnt()
    return Moa(head, tiny.card(head, "tiny-moa", "moa"), headed.LAYERS)


def wild(target, **changes):
    """Return an untrained head with large weights, so that no terms cancel."""
    torch.manual_seed(4)
    head = MoaHead(MoaConfig.like(target, **changes)).eval().requires_grad_(False)
    return tiny.blurred(head, 0.15)


def moa_turns(settings, head=None):
    """Yield the rounds after the prefill, each with the text before it."""
    return turns(headed.target(), drafter(head), settings, headed.PROMPTS[1])


def normed(rows, norm):
    return (
        rows / (rows.square().mean(-1, keepdim=True) + norm.variance_epsilon).sqrt() * norm.weight
    )


def attend(attention, shape, query, place, rows, places):
    """Attend with one query (width,) to rows (m, width), head by head, from the weights alone."""
    size, groups = shape.head_dim, shape.num_attention_heads // shape.num_key_value_heads
    turn = layers.turns(torch.tensor([place]), plain_rates(size, shape.rope_theta), 1.0)
    turns_ = layers.turns(torch.tensor(places), plain_rates(size, shape.rope_theta), 1.0)
    mixed = []
    for i in range(shape.num_attention_heads):
        mine = slice(i * size, (i + 1) * size)
        shared = slice(i // groups * size, (i // groups + 1) * size)
        q = rotate((query @ attention.q_proj.weight[mine].T)[None, None, None], turn)[0, 0, 0]
        k = rotate((rows @ attention.k_proj.weight[shared].T)[None, None], turns_)[0, 0]
        shares = (k @ q / math.sqrt(size)).softmax(0)
        mixed.append(shares @ (rows @ attention.v_proj.weight[shared].T))
    return torch.cat(mixed) @ attention.o_proj.weight.T


def block(layer, shape, query, place, rows, places):
    """Compute a decoder layer for one row, which attends to `rows`."""
    seen = normed(rows, layer.input_layernorm)
    own = normed(query, layer.input_layernorm)
    out = query + attend(layer.self_attn, shape, own, place, seen, places)
    inner = normed(out, layer.post_attention_layernorm)
    mlp = layer.mlp
    gate = torch.nn.functional.silu(inner @ mlp.gate_proj.weight.T) * (inner @ mlp.up_proj.weight.T)
    return out + gate @ mlp.down_proj.weight.T


def plain_logits(head, target, text, path):
    """Return the head's logits after `path` by the paper's formulas: no cache, no mask."""
    config = head.config
    past = growing_cache()
    target.model(torch.tensor([text[:-1]]), **with_cache(target.model, past))
    memory = []
    for t in range(len(text) - 1):
        rows = []
        for layer in past.layers:
            heads = range(layer.keys.shape[1])
            rows.append(
                torch.cat([half[0, h, t] for h in heads for half in (layer.keys, layer.values)])
            )
        rows = torch.stack(rows)
        shape, part = config.block("layer_self_attention"), head.layer_self_attention
        every = list(range(len(rows)))
        mixed = torch.stack([block(part, shape, rows[i], i, rows, every) for i in every])
        memory.append(head.Ekv2E.weight @ mixed.mean(0) + head.Ekv2E.bias)
    tokens = [*text, *path]
    words = target.model.get_input_embeddings().weight[torch.tensor(tokens)]
    last, shape = len(tokens) - 1, config.block("self_attention")
    heard = block(head.self_attention, shape, words[last], last, words, list(range(len(words))))
    shape, places = config.block("cross_attention"), list(range(len(memory)))
    out = block(head.cross_attention, shape, heard, last, torch.stack(memory), places)
    return out @ target.model.get_output_embeddings().weight.T
