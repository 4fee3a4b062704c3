"""Drafters for tests of the contract: trees, extra rows and early exit in the real engine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

from specviz.engine.protocol import Proposal
from specviz.models.passes import CaptureSpec, ExtraRows, PrecomputedPrefix, States
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.verification import Drawn
from specviz.verification.distributions import draw, logits_to_probs, remove_token
from specviz.verification.tree import DraftTree


class Recording:
    """A drafter whose sessions record the tokens committed to them."""

    name = "recording"
    card = ModelCard("recording", "test", 0, 0, None)
    made_for = None
    capture = CaptureSpec(layers=(1, 2), final=True, keys_values=(2,))
    drawn = Drawn.POINT_MASS

    def __init__(self) -> None:
        self.committed: list[tuple[tuple[int, ...], States]] = []
        self.extra_rows: list[ExtraRows] = []

    def begin(self, target: TargetRun, settings: Settings) -> Recording:
        self.target = target
        self.settings = settings
        return self

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        return Proposal(DraftTree((context[-1],), (-1,)), self.drawn)

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        self.committed.append((tuple(tokens), states))
        if extra_rows is not None:
            self.extra_rows.append(extra_rows)


class Riding(Recording):
    """A drafter that adds two extra rows: one after the root, one after the first extra row."""

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        tree = DraftTree.chain(context[-1], [5, 6][: max(0, max_tokens - 1)])
        n = len(tree)
        sees = torch.zeros(2, n + 2, dtype=torch.bool)
        sees[0, [0, n]] = True
        sees[1, [0, n, n + 1]] = True
        return Proposal(tree, self.drawn, extra_rows=ExtraRows((7, 8), (1, 2), sees))


class Branching(Recording):
    """A drafter of siblings sampled from the exit of layer 1, with or without replacement.

    Its q depends on the path in the tree, and scoring reuses its early layers, see
    `PrecomputedPrefix`.
    """

    capture = CaptureSpec(layers=(2,))

    def __init__(self, drawn: Drawn, shape: Sequence[int] = (-1, 0, 0, 1, 1, 3)) -> None:
        super().__init__()
        self.drawn = drawn
        self.shape = tuple(shape)

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        tokens, parents, places = [context[-1]], [-1], [0]  # places: nodes of the full shape
        laws, states, draws = {}, [], {}
        for node in itertools.count():
            if node == len(tokens):
                break
            tree = DraftTree(tuple(tokens[: node + 1]), tuple(parents[: node + 1]))
            sees = tree.mask()[node:]
            states.append(self.target.shallow([tokens[node]], [tree.depths[node]], sees, 1))
            left = logits_to_probs(self.target.head(states[-1]), self.settings.sampling)[0]
            if tokens[node] in self.target.target.eos or tree.depths[node] >= max_tokens - 1:
                continue
            for place in (i for i, parent in enumerate(self.shape) if parent == places[node]):
                laws.setdefault(node, left)
                child = len(tokens)
                if self.drawn is Drawn.POINT_MASS:
                    tokens.append(int(left.argmax()))
                else:
                    draws[child] = draw(left, chance.draft(child))
                    tokens.append(draws[child].token)
                if self.drawn is not Drawn.SAMPLED:
                    left = remove_token(left, tokens[child])
                parents.append(node)
                places.append(place)
        q = {} if self.drawn is Drawn.POINT_MASS else laws
        precomputed = PrecomputedPrefix(1, torch.cat(states, dim=1))
        tree = DraftTree(tuple(tokens), tuple(parents))
        return Proposal(tree, self.drawn, q, draws, precomputed=precomputed)
