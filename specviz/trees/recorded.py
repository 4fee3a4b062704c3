"""The positions that ship: real places of real texts, recorded once so that trees grow without a
model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specviz.catalog.entry import filled
from specviz.settings.settings import Settings
from specviz.settings.shapes import PUBLISHED
from specviz.shipped import ASSETS, of_shipped, of_text, text_of
from specviz.trees.field import Field
from specviz.trees.parameters import DEEPEST, Parameters

if TYPE_CHECKING:
    from specviz.engine.protocol import Drafter
    from specviz.models.target import Target
    from specviz.trees.explore import Walk

FOLDER: Final = ASSETS / "trees"
LEVELS: Final = 7  # of guesses, in a recorded position
WIDEST: Final = 10  # guesses under a place there
MOST: Final = 128


@dataclass(frozen=True, slots=True)
class Recipe:
    """One position. prompt: a domain and a place in it, or a text. skip: tokens into the answer."""

    name: str
    title: str
    prompt: tuple[str, int] | str
    drafter: str
    skip: int
    seed: int = 1

    @property
    def text(self) -> str:
        """The prompt."""
        return text_of(self.prompt)


@cache
def recipes(folder: Path = FOLDER) -> tuple[Recipe, ...]:
    """The positions that ship, in the order shown. Raises BrokenFile."""
    return of_shipped(folder / "recipes.json", lambda rows: tuple(Recipe(**row) for row in rows))


@cache
def position(name: str) -> Field:
    """A recorded position. Raises BrokenFile."""
    return of_text(FOLDER / f"{name}.jsonl", Field.from_text)


def record(target: Target, drafter: Drafter, recipe: Recipe) -> Field:
    """The position that a recipe tells of, made now."""
    said = {"sampling": {"temperature": 0.8}, "seed": recipe.seed}
    settings = Settings.from_json(filled(recipe.drafter, said))
    return looked(target, drafter, recipe.text, settings, recipe.skip).titled(recipe.title)


def looked(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, skip: int = 0
) -> Field:
    """All that the tab's trees can ask for, `skip` tokens into what the target writes.

    Raises BadTree for a drafter on which no tree grows, and what reading a prompt raises.
    """
    from specviz.models.prompt import read
    from specviz.trees.explore import Walk

    walk = Walk(target, drafter, read(target, prompt, settings).ids, settings)
    for _ in range(skip):
        if walk.ended:
            break
        walk.step()
    field, _ = walk.field(wants(target.vocab_size), shapes())
    return replace(field, prompt=prompt, exhibit=off_by_one(walk, field))


def off_by_one(walk: Walk, field: Field) -> list[float]:
    """What the target says of the tree whose parents are off by one: by node, p of its token."""
    from specviz.trees.exhibit import SIZE, shifted
    from specviz.trees.explore import WARM
    from specviz.trees.growing import grown
    from specviz.verification.distributions import law
    from specviz.verification.tree import DraftTree

    tree = grown(field, SIZE).tree
    wrong = DraftTree(tree.tokens, tuple(shifted(tree.parents)))
    p = law(walk.score(wrong).logits, WARM).cpu()
    chances = [
        p[parent, token].item() for token, parent in zip(wrong.tokens, wrong.parents, strict=True)
    ]
    return [1.0, *(float(f"{chance:.6g}") for chance in chances[1:])]


def wants(vocabulary: int) -> list[Any]:
    """Trees of every branching up to the widest, whose union covers what the controls allow."""
    from specviz.drafters.kit.growth import SUMS

    widest = min(WIDEST, vocabulary)
    deep = min(LEVELS, DEEPEST)
    return [(Parameters(deep, width, MOST), SUMS) for width in range(1, widest + 1)]


def shapes() -> list[Any]:
    """Static trees that can be put on the position: published ones, and the judges' small ones."""
    from specviz.trees.judging import CUT
    from specviz.trees.judging import DEEPEST as JUDGED
    from specviz.trees.shapes import paths_of, regular

    return [*(one.paths for one in PUBLISHED.values()), paths_of(regular(CUT, JUDGED + 1))]
