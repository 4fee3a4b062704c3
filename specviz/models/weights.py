"""Count the weights that a pass multiplies or reads, from the loaded modules.

Embedding tables are not counted, because a pass looks up only single rows. Counts of work include
matrices only; counts of bytes include all weights.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from specviz.trace.work import Weights


def causal_lm_weights(model: Any) -> Weights:
    """Count the weights of a causal LM's layers and of its output head, which may be tied."""
    head = model.get_output_embeddings().weight
    return Weights(
        matrix_weights(model) - (0 if id(head) in _tables(model) else head.numel()), head.numel()
    )


def bytes_read(model: Any) -> int:
    """Return the bytes of weights that one pass of a causal LM reads.

    Each matrix, norm and bias counts once.
    """
    looked_up = _tables(model) - {id(model.get_output_embeddings().weight)}
    return sum(weight.nbytes for weight in model.parameters() if id(weight) not in looked_up)


def matrix_weights(module: nn.Module) -> int:
    """Return the number of weights in all matrices of a module except its embedding tables."""
    tables = _tables(module)
    return sum(
        weight.numel()
        for weight in module.parameters()
        if weight.dim() > 1 and id(weight) not in tables
    )


def _tables(module: nn.Module) -> set[int]:
    """Return the ids of the weights of embedding tables."""
    return {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
