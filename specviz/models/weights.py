"""How many weights a row of a model meets, counted on the loaded modules.

Rule: a table that is only looked up is not counted. Work counts matrices; bytes, all weights.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from specviz.trace.work import Weights


def causal(model: Any) -> Weights:
    """A transformers causal LM: its body, and its output head, which may share the embeddings."""
    head = model.get_output_embeddings().weight
    return Weights(matrices(model) - (0 if _is_table(model, head) else head.numel()), head.numel())


def bytes_read(model: Any) -> int:
    """Bytes of weights that one pass of a causal LM reads: each matrix, norm and bias once."""
    return sum(weight.nbytes for weight in model.parameters() if not _only_looked_up(model, weight))


def _only_looked_up(model: Any, weight: nn.Parameter) -> bool:
    """Whether it is an embedding table that is not the output head too."""
    return weight is not model.get_output_embeddings().weight and _is_table(model, weight)


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
