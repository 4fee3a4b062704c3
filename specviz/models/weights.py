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
    return Weights(
        matrices(model) - (0 if id(head) in _tables(model) else head.numel()), head.numel()
    )


def bytes_read(model: Any) -> int:
    """Bytes of weights that one pass of a causal LM reads: each matrix, norm and bias once."""
    looked_up = _tables(model) - {id(model.get_output_embeddings().weight)}
    return sum(weight.nbytes for weight in model.parameters() if id(weight) not in looked_up)


def matrices(module: nn.Module) -> int:
    """Weights of all matrices in a module but its embedding tables."""
    tables = _tables(module)
    return sum(
        weight.numel()
        for weight in module.parameters()
        if weight.dim() > 1 and id(weight) not in tables
    )


def _tables(module: nn.Module) -> set[int]:
    """Ids of the weights that embeddings of the module look up."""
    return {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
