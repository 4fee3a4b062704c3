"""A question about the roofline: the page's JSON, validated, as inputs for `specviz.cost`.

Invalid questions are refused with a readable sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from specviz.cost import sources, tree_formula
from specviz.cost.measured_costs_text import Setup
from specviz.cost.roofline import DraftPlan, ModelShape, Serving
from specviz.cost.sources import HEAD, NGRAM, drafters
from specviz.settings.settings import Settings, require
from specviz.settings.value_types import parse_integer, parse_integers, parse_number

LONGEST: Final = 2000  # maximum characters of a question
LIMITS: Final[Mapping[str, tuple[str, int, int]]] = {
    "cards": ("The number of devices", 1, 64),
    "context": ("The context", 0, 131_072),
    "gamma": ("γ", 0, 16),
    "batch": ("The batch size", 1, 512),
    "reading": ("The share of the peak bandwidth", 5, 100),
    "computing": ("The share of the peak arithmetic", 5, 100),
}


SLOWEST: Final = 1000  # maximum overhead in ms
Choice = Mapping[str, str | float | None]  # values of the controls by name; None if a box is empty


@dataclass(frozen=True, slots=True)
class Ask:
    """The values of the roofline's controls.

    Attributes:
        hardware: Name of a preset.
        cards: Number of devices that share the work.
        dtype: Number format of weights and cache.
        model: Name of a preset.
        context: Tokens in each sequence's cache.
        overhead: Additional milliseconds that each pass takes.
        drafter: NGRAM, HEAD or the name of a model.
        gamma: Draft tokens in a chain, or levels of a tree.
        siblings: Children per node at each depth, then 1, as in a run's settings; empty for a
            chain.
        alpha: Probability that one of the siblings is accepted.
        batch: Sequences per pass.
        reading: Percentage of the peak bandwidth that real programs reach.
        computing: Percentage of the peak operations per second that real programs reach.
    """

    hardware: str
    cards: int
    dtype: str
    model: str
    context: int
    overhead: float
    drafter: str
    gamma: int
    siblings: tuple[int, ...]
    alpha: float
    batch: int
    reading: int
    computing: int

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises ValueError if it is invalid."""
        names = {f.name for f in fields(cls)}
        require(names <= set(data), f"The question lacks {', '.join(sorted(names - set(data)))}.")
        for name, known in (("hardware", sources.machines()), ("model", sources.models())):
            require(_in(data[name], known), f"No {name} is called {data[name]!r:.60} here.")
        machine, drafting = sources.machines()[data["hardware"]], drafters(data["model"])
        sentence = f"For {machine.title} only {', '.join(machine.peak)} can be chosen."
        require(_in(data["dtype"], machine.peak), sentence)
        sentence = f"{data['drafter']!r:.60} is not a drafter for {data['model']}."
        require(_in(data["drafter"], drafting), sentence)
        numbers = {name: limited(name, data[name]) for name in LIMITS}
        alpha, overhead = (
            parse_number("α", data["alpha"]),
            parse_number("The overhead", data["overhead"]),
        )
        require(0 <= alpha <= 1, f"α must be a probability from 0 to 1, not {alpha:g}.")
        require(0 <= overhead <= SLOWEST, f"The overhead must be between 0 and {SLOWEST:,} ms.")
        siblings = tree(numbers["gamma"], data["siblings"])
        found = {**data} | numbers | {"siblings": siblings, "alpha": alpha, "overhead": overhead}
        return cls(**{name: found[name] for name in names})

    @property
    def machine(self) -> sources.Machine:
        """The hardware's preset."""
        return sources.machines()[self.hardware]

    @property
    def serving(self) -> Serving:
        """The target on the hardware."""
        return Serving(
            sources.models()[self.model].shape,
            self.machine.hardware,
            self.dtype,
            self.context,
            self.cards,
            self.overhead / 1000,
            self.reading / 100,
            self.computing / 100,
        )

    @property
    def wanted(self) -> Setup:
        """The setup for which a published measurement is looked up."""
        kind = {HEAD: "head", NGRAM: "n-gram"}.get(self.drafter, "model")
        return Setup(kind, self.batch, self.model, self.hardware)

    @property
    def draft(self) -> ModelShape | None:
        """The drafter's shape; None if drafting takes no time."""
        return drafters(self.model)[self.drafter][1]

    @property
    def guessing(self) -> DraftPlan:
        """The drafts of a round; siblings share α evenly, since only the sum affects the result."""
        widths = [*self.siblings, *[1] * self.gamma][: self.gamma]
        if not widths:
            return DraftPlan.chain(self.alpha, 0, self.draft)
        parents = tree_formula.full_tree(widths)
        levels = tree_formula.depths(parents)[1:]
        keep = [1.0, *(self.alpha / widths[level - 1] for level in levels)]
        return DraftPlan.tree(parents, keep, self.draft)


def limited(name: str, value: Any) -> int:
    """Parse an integer within its limits. Raises ValueError for anything else."""
    words, least, most = LIMITS[name]
    number = parse_integer(words, value)
    sentence = f"{words} must be between {least} and {most:,}, not {number:,}."
    require(least <= number <= most, sentence)
    return number


def tree(gamma: int, typed: Any) -> tuple[int, ...]:
    """Parse siblings by depth, within the limits of a run. Raises ValueError."""
    siblings = parse_integers("Siblings at each depth", typed)
    Settings(gamma=max(gamma, 1), siblings=siblings)
    return tuple(siblings)


def _in(name: Any, known: Mapping[str, Any]) -> bool:
    return isinstance(name, str) and name in known
