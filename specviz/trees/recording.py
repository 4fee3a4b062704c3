"""Record a position: decode up to it, and keep all that trees there can ask for."""

from __future__ import annotations

from dataclasses import replace

from specviz.catalog.entry import with_defaults
from specviz.drafters.common.dynamic_tree import SUMS
from specviz.engine.protocol import Drafter
from specviz.models.prompt import encode_prompt
from specviz.models.target import Target
from specviz.settings.published_trees import PUBLISHED_TREES, RankPaths
from specviz.settings.settings import Settings
from specviz.trees.grown_tree import grow_tree
from specviz.trees.off_by_one import SIZE, shift_parents
from specviz.trees.parameters import DEEPEST, Parameters
from specviz.trees.recorded_position import LEVELS, MOST, WIDEST, Recipe, RecordedPosition
from specviz.trees.rule_comparison import MAX_DEPTH, TOP_Q
from specviz.trees.static_shapes import paths_of, regular
from specviz.trees.walk import TEMPERATURE_ONE, TreeRequest, Walk
from specviz.verification.distributions import logits_to_probs
from specviz.verification.tree import DraftTree


def record_recipe(target: Target, drafter: Drafter, recipe: Recipe) -> RecordedPosition:
    """Record the position of a recipe."""
    said = {"sampling": {"temperature": 0.8}, "seed": recipe.seed}
    settings = Settings.from_json(with_defaults(recipe.drafter, said))
    return record_position(target, drafter, recipe.text, settings, recipe.skip).titled(recipe.title)


def record_position(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, skip: int = 0
) -> RecordedPosition:
    """Record a position on a prompt.

    Args:
        target: The target.
        drafter: A drafter on which trees can grow.
        prompt: The prompt.
        settings: Of the run.
        skip: Tokens of the answer before the position.

    Raises:
        BadTree: If no tree can grow on the drafter. Reading the prompt may raise, too.
    """
    walk = Walk(target, drafter, encode_prompt(target, prompt, settings).ids, settings)
    for _ in range(skip):
        if walk.ended:
            break
        walk.step()
    field, _ = walk.field(tree_requests(target.vocab_size), shape_requests())
    return replace(field, prompt=prompt, exhibit=probabilities_off_by_one(walk, field))


def probabilities_off_by_one(walk: Walk, field: RecordedPosition) -> list[float]:
    """Return, by node, the target's p of its token if parents are off by one."""
    tree = grow_tree(field, SIZE).tree
    wrong = DraftTree(tree.tokens, tuple(shift_parents(tree.parents)))
    p = logits_to_probs(walk.score(wrong).logits, TEMPERATURE_ONE).cpu()
    chances = [
        p[parent, token].item() for token, parent in zip(wrong.tokens, wrong.parents, strict=True)
    ]
    return [1.0, *(float(f"{chance:.6g}") for chance in chances[1:])]


def tree_requests(vocabulary: int) -> list[TreeRequest]:
    """Return trees of every branching, whose union covers what the controls allow."""
    widest = min(WIDEST, vocabulary)
    deep = min(LEVELS, DEEPEST)
    return [(Parameters(deep, width, MOST), SUMS) for width in range(1, widest + 1)]


def shape_requests() -> list[RankPaths]:
    """Return the static trees offered: published ones and those of `rule_comparison`."""
    return [
        *(one.paths for one in PUBLISHED_TREES.values()),
        tuple(paths_of(regular(TOP_Q, MAX_DEPTH + 1))),
    ]
