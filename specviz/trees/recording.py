"""Decode a text with the target, and record at some positions what drafter and target predict.

The text is sampled from the target one token at a time; the drafter does not influence it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final, cast

import torch
from torch import Tensor

from specviz.catalog.entry import with_defaults
from specviz.drafters.common.dynamic_tree import (
    SUMS,
    DynamicTree,
    NodePredictor,
    PathScore,
    rank_tokens,
)
from specviz.engine.protocol import Drafter, DraftSession
from specviz.engine.recorder import versions
from specviz.models.devices import describe_device, synchronize
from specviz.models.passes import Scores
from specviz.models.prompt import encode_prompt
from specviz.models.target import Target
from specviz.settings.published_trees import PUBLISHED_TREES, RankPaths
from specviz.settings.settings import Sampling, Settings
from specviz.trees.grown_tree import GrownTree, grow_tree
from specviz.trees.judging import MAX_DEPTH, SIZE, TOP_Q, shift_parents
from specviz.trees.recorded_position import (
    LEVELS,
    MOST,
    WIDEST,
    Path,
    Recipe,
    RecordedPosition,
    Row,
    round_seconds,
)
from specviz.trees.shapes import DEEPEST, BadTree, Parameters, paths_of, regular_tree
from specviz.verification.distributions import draw, logits_to_probs
from specviz.verification.tree import DraftTree

SHOWN: Final = 48  # how many last tokens of the text are stored with a position
TEMPERATURE_ONE: Final = Sampling(1.0)
TreeRequest = tuple[Parameters, PathScore]
Drafted = tuple[
    list[int], list[float]
]  # guesses, the most probable first, and their log-probabilities


def require_predictor(session: DraftSession) -> NodePredictor:
    """Return the session if it can predict after any node. Raises BadTree if not."""
    if not hasattr(session, "logits_after") or not hasattr(session, "max_depth"):
        raise BadTree(
            "Trees cannot grow on this drafter: it does not predict tokens after its own guesses. "
            "EAGLE, Medusa, MoA, L-MTP, DFlash, JetSpec, early exit and draft models do."
        )
    return cast(NodePredictor, session)


class Walk:
    """A text that is decoded token by token, with drafter and target.

    Attributes:
        known_tokens: The first new tokens, if they are known.
        settings: Settings of the drafter and of sampling.
        text: All tokens; the last one is the root.
    """

    def __init__(
        self,
        target: Target,
        drafter: Drafter,
        ids: Sequence[int],
        settings: Settings,
        known_tokens: Sequence[int] = (),
    ) -> None:
        """Read the prompt and sample the first token.

        Args:
            target: The target.
            drafter: The drafter.
            ids: The prompt.
            settings: Settings of the drafter and of sampling.
            known_tokens: The first new tokens, if they are known; later ones are sampled.
        """
        self.target = target
        self.known_tokens = list(known_tokens)
        self.settings = settings
        self.run = target.start(drafter.capture, TEMPERATURE_ONE)
        self.session = drafter.begin(self.run, settings)
        self.predictor = require_predictor(self.session)
        self.title = drafter.name
        self.draft_seconds: list[float] = []
        self.start = len(ids)
        scores = self._checked(self.run.prefill(ids))
        self.text = [*ids, self._next_token(scores.logits[-1], 0)]
        self.session.commit(self.text[1:], scores.states)

    def _next_token(self, logits: Tensor, number: int) -> int:
        # From `known_tokens`, or sampled with the run's seed.
        if number < len(self.known_tokens):
            return self.known_tokens[number]
        chance = self.settings.chance(number)
        return draw(logits_to_probs(logits, self.settings.sampling), chance.baseline()).token

    @property
    def ended(self) -> bool:
        """Whether the text has ended."""
        return self.text[-1] in self.target.eos

    def step(self) -> None:
        """Advance by one token without recording."""
        self.advance(self.score(DraftTree((self.text[-1],), (-1,))))

    def record_every(
        self,
        requests: Sequence[TreeRequest],
        every: int,
        count: int,
    ) -> Iterator[RecordedPosition]:
        """Record at most `count` positions from here on, one every `every` tokens."""
        for step in range(count * every):
            if self.ended:
                return
            if step % every:
                self.step()
                continue
            position, scores = self.record(requests)
            yield position
            self.advance(scores)

    def record(
        self, requests: Sequence[TreeRequest], shapes: Sequence[RankPaths] = ()
    ) -> tuple[RecordedPosition, Scores]:
        """Record the predictions that these trees need here; also return the target's scores."""
        rows = self._draft_rows(requests, shapes)
        tree = tree_of_paths(self.text[-1], list(rows))
        start = self._now()
        scores = self.score(tree)
        seconds = self._now() - start
        p = logits_to_probs(scores.logits, TEMPERATURE_ONE).cpu()
        judged = {path: row_of(*rows[path], p[node]) for node, path in enumerate(rows)}
        return self._build_position(
            judged, max(size.width for size, _ in requests), seconds
        ), scores

    @torch.inference_mode()
    def _draft_rows(
        self, requests: Sequence[TreeRequest], shapes: Sequence[RankPaths]
    ) -> dict[Path, Drafted]:
        width, deepest = max(size.width for size, _ in requests), self.predictor.max_depth
        trees = [
            GrownTree(DynamicTree([self.text[-1]], kind=kind), size.budget)
            for size, kind in requests
        ]
        growing = [
            tree.growth.levels(size.depth, size.width, size.budget, self.target.eos)
            for tree, (size, _) in zip(trees, requests, strict=True)
        ]
        rows: dict[Path, Drafted] = {}
        self.draft_seconds = []
        for depth in range(min(deepest, max(size.depth for size, _ in requests))):
            fronts = [next(levels, []) for levels in growing]
            paths = dict.fromkeys(
                tree.path(node) for tree, front in zip(trees, fronts, strict=True) for node in front
            )
            paths |= dict.fromkeys(self._paths_with_guesses(rows, shapes, depth))
            if not paths:
                break
            start = self._now()
            rows |= self._guesses_after(rows, list(paths), width)
            self.draft_seconds.append(self._now() - start)
            for tree, front, (size, _) in zip(trees, fronts, requests, strict=True):
                for node in front:
                    tokens, logs = rows[tree.path(node)]
                    tree.growth.add([node], [tokens[: size.width]], [logs[: size.width]])
        return rows

    def _paths_with_guesses(
        self, rows: Mapping[Path, Drafted], shapes: Sequence[RankPaths], depth: int
    ) -> Iterator[Path]:
        inner = {ranks[:-1] for paths in shapes for ranks in paths if len(ranks) == depth + 1}
        for ranks in sorted(inner):
            path: Path = ()
            for rank in ranks:
                tokens = rows[path][0] if path in rows else []
                path = (*path, tokens[rank]) if rank < len(tokens) else (-1,)
            if -1 not in path and not set(path) & set(self.target.eos):
                yield path

    def _guesses_after(
        self, known: Mapping[Path, Drafted], paths: Sequence[Path], width: int
    ) -> dict[Path, Drafted]:
        # Their parents must be in `known`.
        tree = tree_of_paths(self.text[-1], [*known, *paths])
        nodes = range(len(known), len(tree))
        logits = self.predictor.logits_after(self.text, tree.tokens, tree.parents, list(nodes))
        found = rank_tokens(logits[..., : self.target.vocab_size], width, self.title)
        return dict(zip(paths, zip(*found, strict=True), strict=True))

    def score(self, tree: DraftTree) -> Scores:
        """Run the target on a tree, after removing the drafter's entries from its cache."""
        self.run.keep(())
        return self._checked(self.run.score(tree))

    def _checked(self, scores: Scores) -> Scores:
        # No later step would detect NaN.
        synchronize(self.target.device)
        scores.check()
        return scores

    def advance(self, scores: Scores) -> None:
        """Commit the root, and append the token that the target samples after it."""
        self.run.keep((0,))
        token = self._next_token(scores.logits[0], len(self.text) - self.start)
        self.text.append(token)
        self.session.commit((token,), scores.states.take([0]))

    def _build_position(
        self, rows: dict[Path, Row], width: int, seconds: float
    ) -> RecordedPosition:
        context = self.text[-SHOWN:]
        shown = {*context, *(t for row in rows.values() for t in (*row.tokens, row.top))}
        named = {str(t): self.target.token_bytes(t).decode("latin-1") for t in sorted(shown)}
        return RecordedPosition(
            target=self.target.card.name,
            drafter=self.title,
            title="",
            prompt="",
            context=context,
            length=len(self.text) - 1,
            eos=list(self.target.eos),
            vocabulary=self.target.vocab_size,
            width=width,
            deepest=min(self.predictor.max_depth, len(self.draft_seconds)),
            token_texts=named,
            machine=describe_device(self.target.device),
            dtype=str(self.target.dtype).removeprefix("torch."),
            versions=versions(),
            draft_seconds=round_seconds(self.draft_seconds),
            verify_seconds=round_seconds([seconds])[0],
            rows=rows,
        )

    def _now(self) -> float:
        synchronize(self.target.device)
        return perf_counter()


def tree_of_paths(root: int, paths: Sequence[Path]) -> DraftTree:
    """Return the tree of these paths: node i is path i, and path 0 must be empty."""
    node_by_path = {path: node for node, path in enumerate(paths)}
    tokens = (root, *(path[-1] for path in paths[1:]))
    return DraftTree(tokens, (-1, *(node_by_path[path[:-1]] for path in paths[1:])))


def row_of(tokens: list[int], logs: list[float], p: Tensor) -> Row:
    """Return the row of a path, given the target's distribution p (V,) after it."""
    top = int(p.argmax())
    return Row(tokens, logs, p[tokens].tolist(), top, p[top].item())


def record_recipe(target: Target, drafter: Drafter, recipe: Recipe) -> RecordedPosition:
    """Record the position of a recipe."""
    changes = {"sampling": {"temperature": 0.8}, "seed": recipe.seed}
    settings = Settings.from_json(with_defaults(recipe.drafter, changes))
    position = record_position(target, drafter, recipe.text, settings, recipe.skip)
    return replace(position, title=recipe.title)


def record_position(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, skip: int = 0
) -> RecordedPosition:
    """Record a position on a prompt.

    Raises BadTree if the drafter cannot predict after any node. Reading the prompt may raise other
    errors.

    Args:
        target: The target.
        drafter: A drafter that can predict after any node.
        prompt: The prompt.
        settings: Settings of the run.
        skip: Number of tokens of the answer before the position.
    """
    walk = Walk(target, drafter, encode_prompt(target, prompt, settings).ids, settings)
    for _ in range(skip):
        if walk.ended:
            break
        walk.step()
    position, _ = walk.record(tree_requests(target.vocab_size), shape_requests())
    return replace(position, prompt=prompt, p_off_by_one=probabilities_off_by_one(walk, position))


def probabilities_off_by_one(walk: Walk, position: RecordedPosition) -> list[float]:
    """Return, for each node, the target's p of its token if parents are off by one."""
    tree = grow_tree(position, SIZE).tree
    wrong = DraftTree(tree.tokens, tuple(shift_parents(tree.parents)))
    p = logits_to_probs(walk.score(wrong).logits, TEMPERATURE_ONE).cpu()
    chances = [
        p[parent, token].item() for token, parent in zip(wrong.tokens, wrong.parents, strict=True)
    ]
    return [1.0, *(float(f"{chance:.6g}") for chance in chances[1:])]


def tree_requests(vocabulary: int) -> list[TreeRequest]:
    """Return trees of every width; together they cover all settings that the page offers."""
    widest = min(WIDEST, vocabulary)
    deep = min(LEVELS, DEEPEST)
    return [(Parameters(deep, width, MOST), SUMS) for width in range(1, widest + 1)]


def shape_requests() -> list[RankPaths]:
    """Return the static trees that the page offers: published trees, and the tree of `judging`."""
    return [
        *(one.paths for one in PUBLISHED_TREES.values()),
        tuple(paths_of(regular_tree(TOP_Q, MAX_DEPTH + 1))),
    ]
