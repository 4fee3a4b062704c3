"""Early exits of the target: run its first layers, and find the layers that predict a token.

The prediction of a layer is computed with the target's own final norm and output head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from specviz.models.passes import (
    CaptureSpec,
    PrecomputedPrefix,
    States,
    UnsupportedModel,
    concat_layers,
)
from specviz.models.target import Target, TargetRun
from specviz.verification.distributions import total_variation
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree


class ExitReader:
    """Runs layers 1..layer for one proposal and keeps their states for verification."""

    def __init__(self, run: TargetRun, layer: int) -> None:
        self.run = run
        self.layer = layer
        self.states: list[Tensor] = []  # for each pass, (1, r, h)
        self.paths: dict[int, list[int]] = {}  # for each node, its path from the root
        self._planned = 0  # number of passes, including those that have not run
        self.head_rows = 0  # how many rows the output head computed

    def plan_level(
        self, nodes: Sequence[int], above: Sequence[int], uploads: UploadBatch
    ) -> Callable[[Tensor], Tensor]:
        """Prepare a pass over a level, whose parents were read before.

        The returned function maps the nodes' tokens (n,) to logits (n, V).
        """
        sees = torch.zeros(len(nodes), nodes[-1] + 1, dtype=torch.bool)
        for i, (node, parent) in enumerate(zip(nodes, above, strict=True)):
            self.paths[node] = [*self.paths.get(parent, []), node]
            sees[i, self.paths[node]] = True
        depths = [len(self.paths[node]) - 1 for node in nodes]
        pass_ = self.run.plan_shallow(depths, sees, self.layer, uploads)
        number, self._planned = self._planned, self._planned + 1
        self.head_rows += len(nodes)

        def reading(words: Tensor) -> Tensor:
            self.states = [*self.states[:number], pass_(words)]
            return self.run.head(self.states[-1])

        return reading

    def discard_from(self, node: int) -> None:
        """Discard the outputs of this node and all later ones."""
        read = list(accumulate(hidden.shape[1] for hidden in self.states))
        self.states = self.states[: sum(rows <= node for rows in read)]
        self._planned = len(self.states)
        self.run.truncate_shallow(len(self.states), sum(hidden.shape[1] for hidden in self.states))

    def precomputed(self) -> PrecomputedPrefix | None:
        """Return the states that verification continues from; None if nothing was read."""
        return PrecomputedPrefix(self.layer, torch.cat(self.states, dim=1)) if self.states else None


class LazyEvidence(Mapping[int, dict[str, Any]]):
    """Data that needs passes of the output head, so it is computed only when it is read."""

    def __init__(self, work: Callable[[], dict[int, dict[str, Any]]]) -> None:
        self._work = work

    @cached_property
    def _found(self) -> dict[int, dict[str, Any]]:
        return self._work()

    def __getitem__(self, node: int) -> dict[str, Any]:
        return self._found[node]

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def draft_evidence(
    run: TargetRun, tree: DraftTree, early: Sequence[Mapping[int, Tensor]], layer: int
) -> dict[int, dict[str, Any]]:
    """Return the data that drafting records for each guess.

    Returns for each node: `exit`, the layer that predicted it; `ran`, how many layers ran on it
    before verification (0 for the deepest guesses, which drafting does not read); `agree`, which of
    the layers 1..exit have it as their top token after its parent.

    Args:
        run: The target's run.
        tree: The draft.
        early: See `TargetRun`.
        layer: The exit layer.
    """
    nodes = range(1, len(tree))
    states = concat_layers(early)
    read = len(next(iter(states.values()), ()))
    agree = agreeing_layers(run, states, tree.parents[1:], tree.tokens[1:])
    return {
        node: {"exit": layer, "ran": layer if node < read else 0, "agree": layers}
        for node, layers in zip(nodes, agree, strict=True)
    }


def verification_evidence(
    run: TargetRun, tree: DraftTree, tokens: Sequence[int], states: States
) -> dict[str, Any]:
    """Return which layers predict the tokens of a verified round.

    Returns `verified`: for each child of an accepted node, the layers that have it as their top
    token. `final`: the same for the token that ended the round; None if that was an accepted guess.
    """
    path = [0]
    for token in tokens:
        kids = tree.children[path[-1]]
        child = next((kid for kid in kids if tree.tokens[kid] == token), None)
        if child is None:
            break
        path.append(child)
    judged = [(row, kid) for row, at in enumerate(path[: len(tokens)]) for kid in tree.children[at]]
    rows = [*(row for row, _ in judged), len(tokens) - 1]
    ids = [*(tree.tokens[kid] for _, kid in judged), tokens[-1]]
    *agree, final = agreeing_layers(run, states.layers, rows, ids)
    by_node = {str(kid): layers for (_, kid), layers in zip(judged, agree, strict=True)}
    return {"verified": by_node, "final": None if len(path) > len(tokens) else final}


@torch.inference_mode()
def agreeing_layers(
    run: TargetRun, states: Mapping[int, Tensor], rows: Sequence[int], tokens: Sequence[int]
) -> list[list[int]]:
    """Return, for each row, the layers that predict its token; ties count as predicting.

    Only one layer's logits are in memory at a time.

    Args:
        run: The target's run.
        states: By layer, (n, h).
        rows: Rows of the states.
        tokens: One token per row.
    """
    device = run.target.device
    index = torch.tensor(rows, dtype=torch.long, device=device)
    ids = torch.tensor(tokens, dtype=torch.long, device=device)
    agree = []
    for hidden in states.values():
        logits = run.head(hidden[None])
        agree.append(logits[index, ids] >= logits.amax(dim=-1)[index])
    table = torch.stack(agree, dim=1).tolist() if agree else []
    return [[k for k, yes in zip(states, row, strict=True) if yes] for row in table]


def check_split(target: Target) -> None:
    """Check that running the layers one by one gives the same result as the whole model.

    Some Llama-like decoders also scale embeddings or logits (Gemma, Granite, Cohere). Running the
    layers one by one would silently skip this and change the text's distribution. Raises
    Unsupported if the results differ.
    """
    whole, split = target.start(CaptureSpec()), target.start(CaptureSpec())
    tree = DraftTree.chain(2, [3])
    for run in (whole, split):
        run.prefill([0, 1])
    try:
        early = split.shallow([2], [0], tree.mask()[:1, :1], 1)
        distributions = (
            split.score(tree, precomputed=PrecomputedPrefix(1, early))
            .logits.float()
            .softmax(dim=-1)
        )
    except UnsupportedModel:
        raise
    except Exception as error:  # layers with other arguments can raise any exception
        raise _other(target) from error
    distance = (
        total_variation(whole.score(tree).logits.float().softmax(dim=-1), distributions)
        .max()
        .item()
    )
    rounding = 1e-3 if target.dtype == torch.float32 else 0.1  # half precision is less exact
    if not distance <= rounding:
        raise _other(target)


def _other(target: Target) -> UnsupportedModel:
    kind = target.model.config.model_type
    return UnsupportedModel(
        f"Early exit runs a model's layers one by one. For {target.card.name}, a {kind}, that does "
        "not give the same result as the whole model."
    )
