"""A target that counts around a circle, and EAGLE heads that are exact by construction.

Token v has angle v on a circle; after v the target predicts v + 1, whose neighbours are near-ties
if κ is small. A head has the state of token t and is right only if it turns that state by one step,
so a state that is off by one token makes every guess wrong.
"""

from __future__ import annotations

import math

import tiny
import torch

from specviz.drafters.eagle import Eagle, Eagle2, Eagle3
from specviz.drafters.eagle.head import Eagle3Config, EagleConfig, EagleHead
from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.models.target import Target

WIDE = 48
SPEEDS = range(
    1, 139, 6
)  # 23 circles, so that neighbours are distinguishable; one entry is constant
TAPS = (1, 2, 2)


def places() -> torch.Tensor:
    """Return embeddings (V, h) on a circle, each with root mean square 1."""
    angle = torch.arange(tiny.VOCABULARY)[:, None] * torch.tensor(SPEEDS) * step()
    pairs = torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(1)
    return torch.cat([pairs, torch.ones(len(pairs), 2) / 2**0.5], dim=-1) * 2**0.5


def step() -> float:
    """Return the angle between neighbours."""
    return 2 * math.pi / tiny.VOCABULARY


def turn() -> torch.Tensor:
    """Return a matrix (h, h) that maps a token's embedding to the next token's."""
    matrix = torch.eye(WIDE)
    for i, speed in enumerate(SPEEDS):
        cosine, sine = math.cos(speed * step()), math.sin(speed * step())
        block = torch.tensor([[cosine, -sine], [sine, cosine]])
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    return matrix


def target(kappa: float = 1.0) -> Target:
    """Return a model whose layers add nothing, and whose output head looks one step ahead."""
    model = tiny.llama(tie_word_embeddings=False)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    model.model.embed_tokens.weight.copy_(places())
    model.lm_head.weight.copy_(kappa * places() @ turn())
    return tiny.target(model)


def eagle_head(counts: Target, noise: float = 0.0) -> EagleHead:
    """Return a head that rotates the feature; only noise makes it read the token's embedding."""
    torch.manual_seed(3)
    head = EagleHead(EagleConfig.like(counts)).eval().requires_grad_(False)
    layer = head.layers[0]
    layer.self_attn.o_proj.weight.zero_()
    layer.mlp.down_proj.weight.zero_()
    head.fc.weight.copy_(torch.cat([torch.zeros(WIDE, WIDE), turn()], dim=-1))
    head.fc.bias.zero_()
    return noisy(head, noise)


def eagle3_head(counts: Target, noise: float = 0.0, vocabulary: int = tiny.VOCABULARY):
    """Return a head that passes the first tap through; its MLP rotates the state."""
    torch.manual_seed(3)
    config = Eagle3Config.like(counts, draft_vocab_size=vocabulary, tap_layers=TAPS)
    head = Eagle3Head(config).eval().requires_grad_(False)
    head.propose_only(torch.ones(tiny.VOCABULARY))
    layer, none = head.midlayer, torch.zeros(WIDE, 2 * WIDE)
    layer.self_attn.o_proj.weight.zero_()
    head.fc.weight.copy_(torch.cat([torch.eye(WIDE), none], dim=-1))
    mlp = layer.mlp
    for weight in mlp.parameters():
        weight.zero_()
    mlp.gate_proj.weight[:WIDE, -1] = 10.0  # silu(10 · 1) is 10
    mlp.up_proj.weight[:WIDE] = turn() - torch.eye(WIDE)
    mlp.down_proj.weight[:, :WIDE] = torch.eye(WIDE) / 10
    head.lm_head.weight.copy_(counts.model.lm_head.weight[head.tokens])
    return noisy(head, noise)


def noisy(head, noise: float):
    """Add noise to every matrix, so that attention and embedding matter."""
    torch.manual_seed(4)
    for weight in head.parameters():
        if weight.dim() > 1:
            weight.add_(torch.randn_like(weight) * noise)
    return head


def drafters(counts: Target, noise: float = 0.0):
    """Return each family with a head for this target."""
    one, three = eagle_head(counts, noise), eagle3_head(counts, noise)
    return {
        "eagle": Eagle(one, tiny.card(one, "tiny-eagle", "eagle")),
        "eagle2": Eagle2(one, tiny.card(one, "tiny-eagle2", "eagle2")),
        "eagle3": Eagle3(three, tiny.card(three, "tiny-eagle3", "eagle3")),
    }
