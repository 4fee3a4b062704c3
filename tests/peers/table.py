"""The drafters that are compared with vLLM, and the settings with which both draft the same chain.

A row holds all differences between the settings of vLLM and of specviz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from specviz.catalog import find
from specviz.catalog.entry import with_defaults
from specviz.settings.settings import Settings

NEW_TOKENS = 64
LONGEST = 1024  # tokens that the house target sees


@dataclass(frozen=True)
class Peer:
    """A drafter of the catalogue that is compared.

    Attributes:
        drafter: Its name.
        theirs: vLLM's speculative_config, without the folder.
        ours: What differs from the drafter's default settings.
        why_not: What keeps vLLM from using the folder unchanged; then a modified copy is run too
            (see `changed`).
        differs: What vLLM computes differently; then specviz does the same once (see `as_there`).
    """

    drafter: str
    theirs: dict[str, Any]
    ours: dict[str, Any]
    why_not: str = ""
    differs: str = ""

    @property
    def settings(self) -> Settings:
        """Return the settings of specviz, at temperature 0."""
        said = {"sampling": {"temperature": 0}, "seed": 1, "max_new_tokens": NEW_TOKENS}
        return Settings.from_json(with_defaults(self.drafter, said | self.ours))

    @property
    def folder(self) -> Any:
        """Return the folder of its weights; None for a drafter without weights."""
        entry = find(self.drafter, "drafter")
        return None if entry is None else entry.path


def model(method: str, tokens: int) -> dict[str, Any]:
    """Return vLLM's speculative_config of a drafter with weights."""
    return {"method": method, "num_speculative_tokens": tokens}


def parallel(method: str, tokens: int) -> dict[str, Any]:
    """Return vLLM's speculative_config of a drafter that makes all its guesses in one pass."""
    return model(method, tokens) | {"parallel_drafting": True}


CHAIN = {"gamma": 4, "siblings": []}
PEERS = (
    Peer(
        "ngram",
        {**model("ngram", 5), "prompt_lookup_min": 2, "prompt_lookup_max": 3},
        {"gamma": 5, "ngram_min": 2, "ngram_max": 3},
    ),
    Peer("draft-model", model("draft_model", 4), CHAIN),
    Peer("pard", parallel("draft_model", 4), CHAIN),
    Peer("eagle", model("eagle", 4), CHAIN),
    Peer("eagle3", model("eagle3", 4), {"gamma": 4, "budget": 4, "fan_out": 1}),
    Peer("p-eagle", parallel("eagle3", 4), {"gamma": 4}),
    Peer(
        "medusa",
        model("medusa", 4),
        {"gamma": 4, "rank_paths": [[0] * depth for depth in range(1, 5)]},
    ),
    Peer(
        "mtp",
        model("mtp", 4),
        {"gamma": 4},
        why_not="vLLM only loads the MTP modules of models that it supports; in the copies, the "
        "configs of target and head have DeepSeek-V3's keys, and queries, keys and values are one "
        "tensor.",
        differs="vLLM feeds the module's output back after the norm, while it was trained on the "
        "output before the norm, and replaces the second token's embedding by zeros.",
    ),
    Peer(
        "dflash",
        model("dflash", 7),
        {"gamma": 7},
        differs="On a CPU, vLLM normalises the keys before a block with the first layer's weights "
        "in every layer.",
    ),
)
