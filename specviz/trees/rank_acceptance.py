"""Measure acceptance by depth and rank: how often the target accepts the drafter's r-th guess.

This is the positional acceptance of Sequoia (2402.12374). The texts are sampled from the target.
The drafter guesses along the true continuation, so the value at depth d is the acceptance given
that all guesses before it were accepted. To reduce noise, the target's p of each guess is averaged
instead of whether one sample equals the guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch

from specviz.drafters.common.dynamic_tree import read_top_tokens
from specviz.engine.loop import plain
from specviz.engine.protocol import Drafter
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS, read_shipped_json
from specviz.trees.recording import TEMPERATURE_ONE, Walk
from specviz.verification.distributions import logits_to_probs
from specviz.verification.tree import DraftTree

FILE: Final = ASSETS / "trees" / "ranks.json"
DEEPEST: Final = 5
RANKS: Final = 10


@dataclass(frozen=True, slots=True)
class RankAcceptance:
    """The result for one drafter.

    Attributes:
        positions: Number of positions measured.
        by_depth: (D, R), mean p of the guess, by depth and rank.
    """

    positions: int
    by_depth: list[list[float]]

    def to_json(self) -> dict[str, Any]:
        """Return the data of a file, with four digits."""
        table = [[round(value, 4) for value in row] for row in self.by_depth]
        return {"positions": self.positions, "by_depth": table}


def measure_rank_acceptance(
    target: Target,
    drafter: Drafter,
    texts: Sequence[Sequence[int]],
    settings: Settings,
    every: int = 1,
) -> RankAcceptance:
    """Measure acceptance by depth and rank.

    Args:
        target: The target.
        drafter: The drafter.
        texts: Prompts as token ids.
        settings: How the texts continue.
        every: Distance in tokens between measured positions.
    """
    total = torch.zeros(DEEPEST, RANKS, dtype=torch.float64)
    seen = torch.zeros(DEEPEST, 1, dtype=torch.float64)
    for ids in texts:
        tokens = [step.token for step in plain(target, ids, settings)]
        walk = Walk(target, drafter, ids, settings, tokens)
        for index in range(len(tokens) - 1):
            if index % every:
                walk.step()
                continue
            for depth, row in enumerate(
                probabilities_along(walk, tokens[index + 1 : index + DEEPEST])
            ):
                total[depth, : len(row)] += row
                seen[depth] += 1
    deep = int((seen > 0).sum())
    return RankAcceptance(int(seen[0]), (total / seen.clamp(min=1))[:deep].tolist())


@torch.inference_mode()
def probabilities_along(walk: Walk, future: Sequence[int]) -> list[torch.Tensor]:
    """Return, by depth, the target's p of the drafter's guesses after the true tokens.

    Then advance the text by one token.

    Args:
        walk: The text.
        future: The true tokens after the root, one fewer than there are rows.
    """
    tree = DraftTree.chain(walk.text[-1], future)
    guessed = []
    for node in range(min(len(tree), walk.predictor.max_depth)):
        tokens, parents = tree.tokens[: node + 1], tree.parents[: node + 1]
        logits = walk.predictor.logits_after(walk.text, tokens, parents, [node])
        guessed += [found for found, _ in read_top_tokens(logits, RANKS, walk.title)]
    scores = walk.score(tree)
    p = logits_to_probs(scores.logits, TEMPERATURE_ONE).cpu()
    walk.advance(scores)
    return [p[node, tokens] for node, tokens in enumerate(guessed)]


@cache
def shipped_tables(file: Path = FILE) -> Mapping[str, RankAcceptance]:
    """Return the measured tables by drafter; empty if the file is missing. Raises BrokenFile."""
    return read_shipped_json(file, _by_drafter) if file.is_file() else {}


def _by_drafter(data: Any) -> dict[str, RankAcceptance]:
    return {name: RankAcceptance(**row) for name, row in data["drafters"].items()}
