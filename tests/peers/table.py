"""Which drafters are compared, and what makes both sides draft the same chain.

Rule: a row says what vLLM is told and what we are told; nothing else differs between the two.
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
    """A drafter of the catalogue. theirs: vLLM's speculative_config, the folder left out.

    ours: what differs from the drafter's usual settings. why_not: what keeps vLLM from using the
    folder as it lies; then a changed copy is run too (see `changed`). differs: what vLLM does
    otherwise, so that its guesses are not ours; then ours do so once too (see `as_there`).
    """

    drafter: str
    theirs: dict[str, Any]
    ours: dict[str, Any]
    why_not: str = ""
    differs: str = ""

    @property
    def settings(self) -> Settings:
        """Ours, at temperature 0."""
        said = {"sampling": {"temperature": 0}, "seed": 1, "max_new_tokens": NEW_TOKENS}
        return Settings.from_json(with_defaults(self.drafter, said | self.ours))

    @property
    def folder(self) -> Any:
        """Where its weights lie; None for a drafter that has none."""
        entry = find(self.drafter, "drafter")
        return None if entry is None else entry.path


def model(method: str, tokens: int) -> dict[str, Any]:
    """What vLLM is told of a drafter with weights."""
    return {"method": method, "num_speculative_tokens": tokens}


CHAIN = {"gamma": 4, "siblings": []}
PEERS = (
    Peer(
        "ngram",
        {**model("ngram", 5), "prompt_lookup_min": 2, "prompt_lookup_max": 3},
        {"gamma": 5, "ngram_min": 2, "ngram_max": 3},
    ),
    Peer("draft-model", model("draft_model", 4), CHAIN),
    Peer("eagle", model("eagle", 4), CHAIN),
    Peer("eagle3", model("eagle3", 4), {"gamma": 4, "budget": 4, "fan_out": 1}),
    Peer(
        "medusa",
        model("medusa", 4),
        {"gamma": 4, "rank_paths": [[0] * depth for depth in range(1, 5)]},
    ),
    Peer(
        "mtp",
        model("mtp", 4),
        {"gamma": 4},
        why_not="vLLM knows MTP modules only of models that it knows; in the copies, target and "
        "head have DeepSeek-V3's keys in their configs, and queries, keys and values are one "
        "tensor.",
        differs="vLLM reads the module's own output normed, which was trained on it before the "
        "norm, and zeros in place of the second token's embedding.",
    ),
    Peer(
        "dflash",
        model("dflash", 7),
        {"gamma": 7},
        differs="On a CPU, vLLM norms the keys of what lies before a block with the first layer's "
        "weights in every layer.",
    ),
)
