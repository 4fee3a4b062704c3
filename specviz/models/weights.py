"""How many weights a row of a model meets, counted on the loaded modules.

Rule: what is counted is matrices; a table that is only looked up is none.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from specviz.trace.work import Weights


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
