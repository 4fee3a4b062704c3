"""Presets: the lanes that a button puts into the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specviz.catalog.entry import find, listing
from specviz.ui.compare.race.request import FormLane, suits

MODEL = "draft-model"
LONG = 3  # guesses of a chain: the longest that parallel heads can make


# Settings with which each head drafts a chain of this length.
CHAINS = {
    **dict.fromkeys(("eagle2", "eagle3", "moa"), f"gamma={LONG} budget={LONG} fan-out=1"),
    "mtp-parallel": f"gamma={LONG} siblings=1",
}


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset. name: part of its button's id. title: on the button. sentence: its purpose."""

    name: str
    title: str
    sentence: str
    lanes: tuple[FormLane, ...]


def presets() -> tuple[Preset, ...]:
    """All presets; the first is the form's initial one if no race is recorded."""
    return (
        Preset(
            "families",
            "Four families",
            "A look-up in the text so far, several small networks (heads) in parallel, one head "
            "that reads the target's hidden states, and a separate small model, each with its default settings.",
            with_default_settings("ngram", "medusa", "eagle3", MODEL),
        ),
        Preset(
            "tree",
            "Chain against tree",
            "The same drafter and depth, with one guess per position or several.",
            (
                FormLane(MODEL, "gamma=4"),
                FormLane(MODEL, "gamma=4 siblings=3,2"),
                FormLane("eagle", "gamma=4 siblings=1"),
                FormLane("eagle2", "gamma=4 budget=10 fan-out=3"),
            ),
        ),
        Preset(
            "gamma",
            "γ 2 against γ 8",
            "One draft model, two draft lengths: a longer draft adds more tokens if it is "
            "accepted, but always costs more time.",
            (FormLane(MODEL, "gamma=2"), FormLane(MODEL, "gamma=8")),
        ),
        equal_bytes(),
        Preset(
            "eagles",
            "Three EAGLEs",
            "A tree of fixed shape, the same head with a tree shaped by its confidence, and a head "
            "trained on its own guesses.",
            with_default_settings("eagle", "eagle2", "eagle3"),
        ),
    )


def with_default_settings(*drafters: str) -> tuple[FormLane, ...]:
    """A lane for each drafter, with its default settings."""
    return tuple(FormLane(name, suits(name)) for name in drafters)


def equal_bytes() -> Preset:
    """The draft model and the head that is closest to it in size, both drafting chains."""
    sizes = weights()
    heads = [name for name in CHAINS if name in sizes]
    head = min(heads, key=lambda name: abs(sizes[name] - sizes.get(MODEL, 0)), default="eagle3")
    title = getattr(find(head, "drafter"), "title", head)
    megabytes = [f"{sizes[name] / 1e6:.1f} MB" for name in (head, MODEL) if name in sizes]
    both = " and ".join(megabytes)
    size = f", with {both} of weights" if len(megabytes) == 2 else ""
    sentence = f"Chains of {LONG} guesses from {title} and from a separate draft model{size}"
    chains = (FormLane(head, CHAINS[head]), FormLane(MODEL, f"gamma={LONG}"))
    return Preset("bytes", "Head against model of equal size", f"{sentence}.", chains)


def weights() -> Mapping[str, int]:
    """Size in bytes of the weight files of each drafter on this machine."""
    rows = [row for row in listing() if row["kind"] == "drafter"]
    return {row["name"]: row["bytes"] for row in rows if row["folder"] and row["bytes"]}
