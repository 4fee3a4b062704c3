"""Made-up costs of a shape, in round numbers. Never shipped as a measurement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from specviz.cost.measured_costs import (
    ContextCosts,
    CostFile,
    DrafterFacts,
    ModelCosts,
    RoundTimes,
)
from specviz.cost.roofline import ModelShape
from specviz.cost.sweep import PassSamples

BIG = {
    "model_type": "qwen3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 8,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 300,
    "tie_word_embeddings": True,
}  # fmt: skip


def made(**changes: Any) -> CostFile:
    """Return the data of a file with round numbers: plain passes of 100 ms."""
    shape = ModelShape.of_config(BIG)
    drafters = [
        DrafterFacts("a", "A", "small", 5, 10, 4, 4),
        DrafterFacts("b", "B", "large", 5, 10, 2, 2),
    ]
    place = ContextCosts(
        128, 1000, [0.1] * 3, [PassSamples(1, [0.09] * 3), PassSamples(8, [0.18] * 3)],
        [RoundTimes("a", [0.05] * 3, [0.12] * 3, [0.03] * 3),
         RoundTimes("b", [0.3] * 3, [0.1] * 3, [0.0] * 3)],
    )  # fmt: skip
    costs = ModelCosts("big", "Big", shape, 100, "usual", [1e12], [1e10], drafters, [place])
    usual = CostFile(
        "2026-11-22", "made", "A machine", "A processor", "cpu", "float32", 2, {"torch": "2"}, 1, 3,
        [costs], 0.1,
    )  # fmt: skip
    return replace(usual, **changes)
