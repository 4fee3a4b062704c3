"""A copy of a model whose products are made in bf16, for processors that have instructions for it.

Rule: what runs through the layers stays in float32; weights are rounded once, and take half the
room. Texts are written by such a copy; nothing is judged by it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch.nn.functional as functional
from torch import Tensor, nn


class HalfLinear(nn.Module):
    """A linear layer in bf16 between float32 rows."""

    def __init__(self, whole: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(whole.weight.detach().bfloat16(), requires_grad=False)
        self.bias = None if whole.bias is None else whole.bias.detach().bfloat16()

    def forward(self, rows: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        return functional.linear(rows.bfloat16(), self.weight, self.bias).to(rows.dtype)


def in_halves(model: Any) -> Any:
    """The copy. Only its linear layers are others; the rest is shared with the model."""
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    halved = {id(layer): HalfLinear(layer) for layer in layers}
    shared = {id(part): part for part in (*model.parameters(), *model.buffers())}
    return deepcopy(model, {**shared, **halved})
