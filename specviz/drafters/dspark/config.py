"""Configs of DSpark drafters, with the keys of the public checkpoints.

Sources: DSpark (2607.05147) and DeepSpec's `Qwen3DSparkModel`, whose keys are at the top level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from specviz.drafters.dflash.config import DFlashConfig
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

MARKOV_HEADS: Final = ("vanilla", "gated", "rnn")
HOUSE_RANK: Final = 64
HOUSE_BLOCK: Final = 7
ARCHITECTURES: Final = ("Qwen3DSparkModel", "DSparkDraftModel")


@dataclass(frozen=True)
class DSparkConfig(DFlashConfig):
    """Config of a DSpark head. Every position of a block is a guess, the anchor's included.

    Attributes:
        markov_rank: Width of the Markov head.
        markov_head_type: Kind of the Markov head, one of MARKOV_HEADS.
        enable_confidence_head: Whether it predicts which guesses will be accepted.
        confidence_head_with_markov: Whether that prediction reads the token before the guess.
        own_vocabulary: Whether it has its own embeddings and output head, as public files do;
            inferred from the names of the tensors. Otherwise it uses the target's.
    """

    architectures: ClassVar[tuple[str, ...]] = ARCHITECTURES[:1]
    PUBLIC_BLOCK: ClassVar[int] = 7
    SUPPORTED: ClassVar[tuple[str, ...]] = ARCHITECTURES

    block_size: int = HOUSE_BLOCK
    markov_rank: int = HOUSE_RANK
    markov_head_type: str = "vanilla"
    enable_confidence_head: bool = True
    confidence_head_with_markov: bool = True
    own_vocabulary: bool = False

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json.

        Raises:
            Unsuitable: If it is invalid or not supported.
        """
        config = super().from_json(name, data)
        if config.markov_head_type not in MARKOV_HEADS:
            raise Unsuitable(
                f"{name!r} has a Markov head of the type {config.markov_head_type!r}; "
                f"only {', '.join(MARKOV_HEADS)} are supported."
            )
        if type(config.markov_rank) is not int or config.markov_rank < 1:
            raise Unsuitable(f"{name!r}: markov_rank must be at least 1.")
        return config

    @classmethod
    def public(cls, target: Target) -> Self:
        """Return a config as large as deepseek-ai/dspark_qwen3_4b_block7."""
        return cls._reading(
            target, 5, num_hidden_layers=5, block_size=cls.PUBLIC_BLOCK, markov_rank=256
        )

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json in DeepSpec's form."""
        found = super().to_json()
        del found["own_vocabulary"]
        nested: dict[str, Any] = found.pop("dflash_config")
        return found | nested

    @property
    def confidence_width(self) -> int:
        """Width of what the confidence head reads."""
        return self.hidden_size + (self.markov_rank if self.confidence_head_with_markov else 0)
