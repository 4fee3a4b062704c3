"""Trees of rank paths, for heads that do not depend on each other's guesses.

The path [0, 2, 1] is the first head's top token, then the second head's third, then the third
head's second (Medusa's `medusa_choices`, 2401.10774). No head depends on the guess before it, so a
rank is the same token under every parent. The tokens do not depend on u, so the draft is a
point mass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.common.candidates import TopCandidates
from specviz.drafters.common.head_cache import HeadCache
from specviz.drafters.common.session import Session
from specviz.engine.protocol import Proposal
from specviz.models.passes import States
from specviz.models.planned import compute_planned
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import MAX_GUESSES, Settings, max_gamma, require
from specviz.trace.work import Work
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HeadPass:
    """A planned pass of several heads.

    Attributes:
        run: Returns logits for each depth, from the first guess on, (D, V).
        evidence: For each depth, which head predicted the token and which states it read.
        work: Number of rows that it computes.
    """

    run: Callable[[], Tensor]
    evidence: Sequence[dict[str, Any]]
    work: Work


class DepthPredictor(ABC):
    """A session that predicts all depths at once, so every node of a depth has the same logits."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._predicted = torch.empty(0)  # logits (D, V) after the text

    @abstractmethod
    def predict_depths(self, context: Sequence[int]) -> Tensor:
        """Return the logits (D, V) of all depths after the text."""

    @torch.inference_mode()
    def logits_after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """Implement `NodePredictor.logits_after`; without logits beyond the last depth."""
        if nodes[0] == 0:
            self._predicted = self.predict_depths(context)
        depth, node = 0, nodes[0]
        while node:
            depth, node = depth + 1, parents[node]
        if depth < len(self._predicted):
            return self._predicted[depth].expand(len(nodes), -1)
        return torch.full((len(nodes), 1), -torch.inf)


class RankPathSession(DepthPredictor, Session):
    """A session that builds a tree from the heads' top tokens; a subclass has states and heads.

    Args:
        name: Name in error messages.
        max_depth: Number of positions that the heads predict.

    Attributes:
        remark: Data that is recorded with every proposal.
        cache: Keys and values, with whose memory a draft is recorded.
    """

    remark: Mapping[str, Any]
    cache: HeadCache

    def __init__(self, name: str, max_depth: int, target: Target, settings: Settings) -> None:
        super().__init__(target, settings, self)
        self.name, self.max_depth = name, max_depth
        self.chosen = chosen_paths(settings)
        learns = settings.schedule == "learning"
        depth = max_gamma(settings.siblings) if learns else settings.gamma
        paths = self._paths(min(self.max_depth, depth))
        self.branches = len({path[:-1] for path in paths}) < len(paths)

    @abstractmethod
    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `StateReader.add_states`."""

    @abstractmethod
    def plan(self, newest: int, depth: int, uploads: UploadBatch) -> HeadPass:
        """Prepare to predict up to `depth` positions after the newest token, possibly fewer.

        Args:
            newest: Position of the newest token. The last state belongs to position newest - 1,
                which predicted the newest token.
            depth: Maximum number of positions.
            uploads: Holds what the pass needs.
        """

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # The score of a node is the probability that its head gives it at temperature 1.
        depth = min(self.max_depth, max_tokens - 1)
        evidence: dict[int, dict[str, Any]] = {0: dict(self.remark)}
        tree, work = DraftTree((context[-1],), (-1,)), Work()
        score: dict[int, float] = {}
        if depth > 0:
            uploads = UploadBatch(self.target.device)
            planned = self.plan(len(context) - 1, depth, uploads)
            tree, paths, score = self._build(context[-1], planned, uploads)
            evidence |= {
                node: {**planned.evidence[len(path) - 1], "path": list(path)}
                for node, path in enumerate(paths, 1)
            }
            work = planned.work
        return Proposal(tree, self.drawn, score=score, evidence=evidence, work=work)

    def predict_depths(self, context: Sequence[int]) -> Tensor:
        """Implement `DepthPredictor.predict_depths`."""
        uploads = UploadBatch(self.target.device)
        return self.plan(len(context) - 1, self.max_depth, uploads).run()

    def _build(
        self, root: int, planned: HeadPass, uploads: UploadBatch
    ) -> tuple[DraftTree, list[Path], dict[int, float]]:
        """Return the tree of the heads' top tokens, and the rank path and score of each node.

        The lists of paths and scores start at node 1, the first guess.
        """
        depth = len(planned.evidence)
        if not depth:
            return DraftTree((root,), (-1,)), [], {}
        paths = self._paths(depth)
        ranks = 1 + max((max(path) for path in paths), default=0)

        def draft() -> tuple[TopCandidates, list[Tensor]]:
            best = TopCandidates(planned.run(), [ranks] * depth)
            return best, best.pending

        key = (type(self), depth, ranks)
        best, values = compute_planned(self.cache.memory, key, self.target, uploads, draft)
        found = best.resolve(values, self.name)
        tree, used_paths = tree_of_ranks(root, paths, found.tokens, self.target.eos)
        chances = (found.probs[len(path) - 1][path[-1]] for path in used_paths)
        return tree, used_paths, dict(enumerate(chances, 1))

    def _paths(self, depth: int) -> list[Path]:
        paths = self.chosen or all_paths(self.settings, depth)
        return [path for path in paths if len(path) <= depth]


def all_paths(settings: Settings, depth: int) -> list[Path]:
    """Return all rank paths within the settings' numbers of siblings, level by level."""
    level: list[Path] = [()]
    found: list[Path] = []
    for d in range(depth):
        level = [(*path, rank) for path in level for rank in range(settings.width(d))]
        found += level
    return found


def chosen_paths(settings: Settings) -> list[Path]:
    """Return the settings' rank paths, level by level, if there are any.

    Raises BadSettings if a path's parent is missing, or there are too many paths.
    """
    paths = sorted(
        {tuple(path) for path in settings.rank_paths}, key=lambda path: (len(path), path)
    )
    require(len(paths) <= MAX_GUESSES, f"A tree can have {MAX_GUESSES} guesses, not {len(paths)}.")
    known: set[Path] = {(), *paths}
    for path in paths:
        good = bool(path) and min(path) >= 0 and path[:-1] in known
        require(good, f"The rank path {list(path)} needs its parent {list(path[:-1])}.")
    return paths


def tree_of_ranks(
    root: int, paths: Sequence[Path], ranked: Sequence[Sequence[int]], eos: Sequence[int]
) -> tuple[DraftTree, list[Path]]:
    """Build a tree of tokens from rank paths.

    Left out: paths with a rank that a head has no token for, and paths through an end-of-text
    token. Returns the tree, and the rank path of each node from node 1 on. ranked: for each depth,
    the head's tokens in descending order.
    """
    tokens, parents = [root], [-1]
    nodes: dict[Path, int] = {(): 0}
    for path in paths:
        row, rank = ranked[len(path) - 1], path[-1]
        parent = nodes.get(path[:-1])
        if parent is None or rank >= len(row) or (parent and tokens[parent] in eos):
            continue
        nodes[path] = len(tokens)
        tokens.append(row[rank])
        parents.append(parent)
    return DraftTree(tuple(tokens), tuple(parents)), list(nodes)[1:]
