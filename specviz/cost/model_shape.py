"""The cost of a model's shape: parameters, operations of a pass, bytes of weights and of cache.

For decoders in Llama's layout: grouped-query attention, a gated MLP (three matrices), RMSNorm.
Operations are those of matrix products and attention, with a multiply-add counted as two; lookups,
norms and softmax are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from specviz.cost.checks import check_not_negative, check_positive

BYTES_PER_NUMBER: Final[Mapping[str, int]] = {"fp32": 4, "bf16": 2, "fp16": 2}  # bytes of a number


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Layers, widths and counts as in a checkpoint's config.json.

    Attributes:
        layers: Decoder layers.
        hidden: Width of the hidden states.
        heads: Query heads.
        kv_heads: Key-value heads.
        head_dim: Width of a head.
        intermediate: Width of the MLP.
        vocabulary: Tokens.
        tied: Whether the output head is the embedding table.
        qk_norm: Whether queries and keys are normalized (Qwen3).
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    qk_norm: bool

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name not in ("tied", "qk_norm"):
                check_positive(f"The model's {field.name}", getattr(self, field.name))

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Self:
        """Return the shape that a config.json of transformers describes."""
        try:
            heads = config["num_attention_heads"]
            return cls(
                layers=config["num_hidden_layers"],
                hidden=config["hidden_size"],
                heads=heads,
                kv_heads=config.get("num_key_value_heads", heads),
                head_dim=config.get("head_dim") or config["hidden_size"] // heads,
                intermediate=config["intermediate_size"],
                vocabulary=config["vocab_size"],
                tied=config.get("tie_word_embeddings", False),
                qk_norm=config.get("model_type") == "qwen3",
            )
        except KeyError as missing:
            raise ValueError(f"This config lacks {missing}.") from None

    @property
    def matrices(self) -> int:
        """Weights that every token of a pass is multiplied with, the output head included."""
        attention = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)  # q, o; k, v
        mlp = 3 * self.hidden * self.intermediate  # gate, up, down
        return self.layers * (attention + mlp) + self.hidden * self.vocabulary

    @property
    def parameters(self) -> int:
        """All parameters: matrices, norms, and the embedding table if it is not the head."""
        return self._read + (0 if self.tied else self.hidden * self.vocabulary)

    @property
    def _read(self) -> int:
        """Parameters that a pass reads in full; of an untied embedding table it reads few rows."""
        norms = (2 * self.layers + 1) * self.hidden
        return self.matrices + norms + (2 * self.layers * self.head_dim if self.qk_norm else 0)

    def flops(self, tokens: int, context: int) -> float:
        """Return the operations of a pass over `tokens` new tokens after `context` cached ones.

        2 per weight and token; for attention 4 per head, head dimension, and pair of a token with a
        position it attends to (scores, then the weighted sum). The masked half is computed, too.
        """
        check_not_negative("The number of tokens", tokens)
        check_not_negative("The context", context)
        pairs = tokens * (context + tokens)
        return 2.0 * tokens * self.matrices + 4.0 * self.layers * self.heads * self.head_dim * pairs

    def weight_bytes(self, dtype: str) -> float:
        """Return the bytes of weights that one pass reads, for any number of tokens."""
        return float(self._read * bytes_per_number(dtype))

    def cache_bytes(self, dtype: str) -> float:
        """Return the bytes of keys and values per cached token, over all layers."""
        return 2.0 * self.layers * self.kv_heads * self.head_dim * bytes_per_number(dtype)


def bytes_per_number(dtype: str) -> int:
    """Return the bytes of one number."""
    if dtype not in BYTES_PER_NUMBER:
        raise ValueError(f"{dtype} must be one of {', '.join(BYTES_PER_NUMBER)}.")
    return BYTES_PER_NUMBER[dtype]
