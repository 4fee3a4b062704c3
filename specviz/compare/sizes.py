"""How many weights a row of each model meets: counted on the loaded modules, for flops.py.

Rule: what is counted is matrices; a table that is only looked up is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from torch import nn

from specviz.compare.flops import Weights
from specviz.engine.protocol import Drafter
from specviz.models.target import Target


def causal(model: Any) -> Weights:
    """A transformers causal LM: its body, and its output head, which may share the embeddings."""
    head = model.get_output_embeddings().weight
    return Weights(matrices(model) - (0 if _is_table(model, head) else head.numel()), head.numel())


def matrices(module: nn.Module) -> int:
    """Weights of all matrices in a module but its embedding tables."""
    return sum(
        weight.numel()
        for weight in module.parameters()
        if weight.dim() > 1 and not _is_table(module, weight)
    )


def _is_table(module: nn.Module, weight: nn.Parameter) -> bool:
    """Whether an embedding of the module looks these weights up."""
    return any(part.weight is weight for part in module.modules() if isinstance(part, nn.Embedding))


def drafted(drafter: Drafter, target: Target) -> Weights:
    """What a drafter's rows meet, as `reading` counts the rows of its family."""
    count = FAMILIES.get(drafter.card.family, _nothing)
    return count(drafter, causal(target.model).head)


def _nothing(_: Any, borrowed: int) -> Weights:
    """No weights of its own, but for the target's output head; or a family that reading lacks."""
    return Weights(0, borrowed)


def _small_model(drafter: Any, _: int) -> Weights:
    return causal(drafter.model)


def _eagle(drafter: Any, borrowed: int) -> Weights:
    return Weights(matrices(drafter.head), borrowed)


def _eagle3(drafter: Any, _: int) -> Weights:
    """Three layers' states are fused on the way in; the output head is its own."""
    head = drafter.head
    fuse, own = head.fc.weight.numel(), head.lm_head.weight.numel()
    return Weights(matrices(head) - fuse - own, own, fuse)


def _moa(drafter: Any, borrowed: int) -> Weights:
    """The memory is made of all the target's layers, a row of layer self-attention each, and kept
    as keys and values; the rest of cross-attention stands before the output head.
    """
    head, asked = drafter.head, drafter.head.cross_attention
    kept = matrices(asked.self_attn.k_proj) + matrices(asked.self_attn.v_proj)
    layers = len(drafter.taps.keys_values) * matrices(head.layer_self_attention)
    entry = layers + matrices(head.Ekv2E) + kept
    return Weights(matrices(head.self_attention), borrowed + matrices(asked) - kept, entry)


def _dflash(drafter: Any, borrowed: int) -> Weights:
    """States on the way in are fused, and become keys and values of every layer."""
    head = drafter.head
    kept = sum(
        matrices(layer.self_attn.k_proj) + matrices(layer.self_attn.v_proj) for layer in head.layers
    )
    return Weights(matrices(head.layers), borrowed, matrices(head.fc) + kept)


def _medusa(drafter: Any, borrowed: int) -> Weights:
    """One of the heads, which are alike; an output head of its own is a part of it."""
    heads = drafter.head
    return Weights(matrices(heads) // len(heads), 0 if heads.own else borrowed)


def _lmtp(drafter: Any, borrowed: int) -> Weights:
    """As Medusa's."""
    heads = drafter.head
    return Weights(matrices(heads) // len(heads.heads), 0 if heads.own else borrowed)


def _all_heads(drafter: Any, borrowed: int) -> Weights:
    return Weights(matrices(drafter.head), borrowed)


def _mtp(drafter: Any, borrowed: int) -> Weights:
    """One of the modules, which are alike."""
    modules = drafter.head
    many, own = modules.config.num_nextn_predict_layers, modules.module(1).shared_head.head
    size = 0 if own is None else own.weight.numel()
    return Weights(matrices(modules) // many - size, size or borrowed)


FAMILIES: Final[Mapping[str, Callable[[Any, int], Weights]]] = {
    "draft-model": _small_model,
    "oracle": _small_model,
    "eagle": _eagle,
    "eagle2": _eagle,
    "eagle3": _eagle3,
    "moa": _moa,
    "dflash": _dflash,
    "medusa": _medusa,
    "lmtp": _lmtp,
    "blockwise": _all_heads,
    "mtp-parallel": _all_heads,
    "mtp": _mtp,
}
