"""Races worth running, as data: the lanes that a preset puts into the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specviz.catalog.entry import find, listing
from specviz.ui.compare.race.request import LaneAsked, suits

MODEL = "draft-model"
LONG = 3  # guesses of a chain: as far as parallel heads see


# How each head drafts a chain so long.
CHAINS = {
    **dict.fromkeys(("eagle2", "eagle3", "moa"), f"gamma={LONG} budget={LONG} fan-out=1"),
    "mtp-parallel": f"gamma={LONG} siblings=1",
}


@dataclass(frozen=True, slots=True)
class Preset:
    """name: of its button. title: on it. sentence: what it compares, in a sentence."""

    name: str
    title: str
    sentence: str
    lanes: tuple[LaneAsked, ...]


def presets() -> tuple[Preset, ...]:
    """All of them; the first is what the form says where no race was recorded."""
    return (
        Preset(
            "families",
            "Four families",
            "A look-up in the text so far, several heads at once, a head that goes on from the "
            "target's inner states, and a model of its own: each as suits it.",
            as_usual("ngram", "medusa", "eagle3", MODEL),
        ),
        Preset(
            "tree",
            "Chain against tree",
            "The same drafter, equally deep: one guess at each place, or several.",
            (
                LaneAsked(MODEL, "gamma=4"),
                LaneAsked(MODEL, "gamma=4 siblings=3,2"),
                LaneAsked("eagle", "gamma=4 siblings=1"),
                LaneAsked("eagle2", "gamma=4 budget=10 fan-out=3"),
            ),
        ),
        Preset(
            "gamma",
            "γ 2 against γ 8",
            "One draft model, two lengths: a longer draft brings more when all of it is kept, and "
            "costs more when not.",
            (LaneAsked(MODEL, "gamma=2"), LaneAsked(MODEL, "gamma=8")),
        ),
        equal_bytes(),
        Preset(
            "eagles",
            "Three EAGLEs",
            "A tree of fixed shape, the same head in a tree that follows its confidence, and a "
            "head that learned on its own guesses.",
            as_usual("eagle", "eagle2", "eagle3"),
        ),
    )


def as_usual(*drafters: str) -> tuple[LaneAsked, ...]:
    """A lane for each, with the settings that suit it."""
    return tuple(LaneAsked(name, suits(name)) for name in drafters)


def equal_bytes() -> Preset:
    """The draft model and the head whose weights are nearest to its, both as chains."""
    sizes = weights()
    heads = [name for name in CHAINS if name in sizes]
    head = min(heads, key=lambda name: abs(sizes[name] - sizes.get(MODEL, 0)), default="eagle3")
    title = getattr(find(head, "drafter"), "title", head)
    told = [f"{sizes[name] / 1e6:.1f} MB" for name in (head, MODEL) if name in sizes]
    said = f"Chains of {LONG} from {title} on the target's states and from a model of its own"
    size = f", which have {' and '.join(told)} of weights" if len(told) == 2 else ""
    chains = (LaneAsked(head, CHAINS[head]), LaneAsked(MODEL, f"gamma={LONG}"))
    return Preset("bytes", "Head against model, equal bytes", f"{said}{size}.", chains)


def weights() -> Mapping[str, int]:
    """Bytes of each drafter's own weight files, of those that are on this machine."""
    rows = [row for row in listing() if row["kind"] == "drafter"]
    return {row["name"]: row["bytes"] for row in rows if row["folder"] and row["bytes"]}
