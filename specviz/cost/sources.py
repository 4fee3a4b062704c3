"""Hardware, models and published numbers as data, each with its source.

Data without a source raises an error. The files are `assets/cost/*.json`; the shapes of the House
models come from their config.json.

`at_default_efficiency` and `at_extremes` apply the reported efficiencies to a deployment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, Final, Literal, TypeVar

from specviz.cost import formula
from specviz.cost.formula import check_positive, check_probability
from specviz.cost.roofline import DraftPlan, Hardware, ModelShape, Serving, predict
from specviz.shipped import ASSETS, read_shipped_json
from specviz.trace.codec import from_plain

Evidence = Literal["S", "R", "A", "2", "C"]


EVIDENCE: Final[dict[Evidence, str]] = {
    "S": "read in the source itself, in the linked version",
    "R": "read in the project's README, documentation or blog",
    "A": "read in the paper's abstract",
    "2": "second-hand: quoted by others; the original was not available",
    "C": "computed from figures in the source",
}


NOT_STATED: Final = "not stated"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a number was read.

    Attributes:
        url: A link, or the path of a file that ships with specviz.
        evidence: How the number was read; see EVIDENCE.
        note: What was found there.
    """

    title: str
    url: str
    evidence: Evidence
    note: str

    def __post_init__(self) -> None:
        if not self.title or not self.url.startswith(("https://", "assets/")):
            raise ValueError(
                f"A source needs a title and a link, not {self.title!r} and {self.url!r}."
            )


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that visitors can choose.

    Attributes:
        peak: As in `Hardware`, without sparsity.
        bandwidth: As in `Hardware`.
        memory: As in `Hardware`.
        sheet: The vendor's data sheet as cited by the sources, not read directly; may be
            empty.
    """

    name: str
    title: str
    peak: dict[str, float]
    bandwidth: float
    memory: float
    sheet: str
    note: str
    sources: list[Source]

    def __post_init__(self) -> None:
        _require_source(self.title, self.sources)
        Hardware(self.title, self.peak, self.bandwidth, self.memory)  # checks that all are positive

    @property
    def hardware(self) -> Hardware:
        """The machine as the roofline needs it."""
        return Hardware(self.title, self.peak, self.bandwidth, self.memory)


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The share of a peak that real programs reach, in percent.

    Attributes:
        name: The peak: "reading" for bandwidth, "computing" for arithmetic.
        low: The smallest share that the sources report.
        high: The largest share that they report.
    """

    name: Literal["reading", "computing"]
    title: str
    low: int
    high: int
    note: str
    sources: list[Source]

    def __post_init__(self) -> None:
        _require_source(self.title, self.sources)
        if not 0 < self.low <= self.high <= 100:
            raise ValueError(f"{self.low}% to {self.high}% of the {self.title} is not a range.")

    @property
    def default(self) -> int:
        """The share that predictions assume: the middle of the range, to the nearest 5%."""
        return 5 * round((self.low + self.high) / 10)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that visitors can choose."""

    name: str
    title: str
    config: dict[str, Any]
    sources: list[Source]

    def __post_init__(self) -> None:
        _require_source(self.title, self.sources)

    @property
    def shape(self) -> ModelShape:
        """The model's shape, from its config."""
        return ModelShape.of_config(self.config)


@dataclass(frozen=True, slots=True)
class Published:
    """A speed-up or acceptance rate from a paper or blog; never measured by this program.

    Attributes:
        method: The drafter family.
        says: One sentence about the number.
        low: The number, or the lower end of a range.
        high: The same number, or the upper end.
        unit: Unit: "×", "× slower" or "%".
        model: As the source states it, or NOT_STATED.
        task: As the source states it, or NOT_STATED.
        hardware: As the source states it, or NOT_STATED.
        conditions: As the source states them, or NOT_STATED.
        batch: The batch size, if the conditions state it.
        load: "light" or "heavy", if the conditions state a server's load instead.
    """

    method: str
    says: str
    low: float
    high: float
    unit: Literal["×", "× slower", "%"]
    model: str
    task: str
    hardware: str
    conditions: str
    source: Source
    batch: int | None = None
    load: str | None = None

    def __post_init__(self) -> None:
        check_positive(f"The number of {self.method}", self.low)
        if self.high < self.low:
            raise ValueError(f"{self.method}: {self.low:g} to {self.high:g} is not a range.")
        if self.load not in (None, "light", "heavy"):
            raise ValueError(f"{self.method}: a load is light or heavy, not {self.load}.")

    @property
    def gain(self) -> float:
        """The speed-up, below 1 if slower; the upper end of a range."""
        return 1 / self.high if self.unit == "× slower" else self.high

    @property
    def number(self) -> str:
        """The number as published: 2.8 ×, 2.7 to 3.5 ×, 1.8 × slower, 80%."""
        unit = self.unit if self.unit == "%" else f" {self.unit}"
        return (
            f"{self.low:g}{unit}"
            if self.low == self.high
            else f"{self.low:g} to {self.high:g}{unit}"
        )


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A drafter's published acceptance: α itself, or tokens per pass.

    Attributes:
        title: The drafter.
        conditions: As the source states them.
        drafter: "head" or "n-gram" if the roofline can compute such a drafter, otherwise
            empty.
        alpha: α, if published.
        tokens: Tokens per pass including the target's own, from which the formula computes
            α.
        gamma: Draft tokens in a chain, or levels of a tree; required if `tokens` is given.
        guesses: Draft tokens of a round, including a tree's siblings.
    """

    name: str
    title: str
    on: str
    conditions: str
    drafter: Literal["head", "n-gram", ""]
    source: Source
    alpha: float | None = None
    tokens: float | None = None
    gamma: int | None = None
    guesses: int | None = None

    def __post_init__(self) -> None:
        if (self.alpha is None) is (self.tokens is None):
            raise ValueError(f"{self.title} needs either α or tokens per pass.")
        if self.tokens is not None and self.gamma is None:
            raise ValueError(f"{self.title}: α cannot be derived from tokens per pass without γ.")
        check_probability(f"The α of {self.title}", self.effective_alpha)

    @property
    def effective_alpha(self) -> float:
        """α as published, or computed from tokens per pass by the formula for a chain."""
        if self.alpha is not None:
            return self.alpha
        return formula.solve_alpha(self.tokens or 0.0, self.gamma or 0)

    @property
    def derived(self) -> bool:
        """Whether α was computed instead of published."""
        return self.alpha is None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """The results of a method on Spec-Bench."""

    method: str
    speedups: list[float]
    tokens_per_pass: float
    overall: float


@dataclass(frozen=True, slots=True)
class Board:
    """A table of Spec-Bench: methods on one device; `speedups` are in the order of tasks."""

    device: str
    model: str
    conditions: str
    tasks: list[str]
    rows: list[BoardRow]
    source: Source
    batch: int | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.speedups) != len(self.tasks):
                raise ValueError(f"{row.method} needs one speed-up per task.")


@cache
def machines() -> dict[str, Machine]:
    """Return hardware by name."""
    return {one.name: one for one in _read("hardware", Machine)}


@cache
def efficiencies() -> dict[str, Efficiency]:
    """Return the efficiency of "reading" and of "computing"."""
    return {one.name: one for one in _read("efficiency", Efficiency)}


@cache
def models() -> dict[str, Model]:
    """Return models by name: the shipped target and draft model (House), then public models."""
    house = (_house_model("target", "house"), _house_model("draft-model", "house-draft"))
    return {one.name: one for one in (*house, *_read("shapes", Model))}


def smaller_models(name: str) -> dict[str, Model]:
    """Return, by name, the smaller models that can draft for the model `name`.

    A draft model needs the target's tokenizer; here, equal vocabulary sizes count as the same
    tokenizer.
    """
    target = models()[name].shape
    return {
        other: model
        for other, model in models().items()
        if model.shape.parameters < target.parameters
        and model.shape.vocabulary == target.vocabulary
    }


@cache
def published_numbers() -> tuple[Published, ...]:
    """Return the numbers of papers and blogs, by drafter family."""
    return _read("headline", Published)


@cache
def boards() -> tuple[Board, ...]:
    """Return the tables of Spec-Bench."""
    return _read("spec_bench", Board)


@cache
def acceptances() -> tuple[Acceptance, ...]:
    """Return published acceptance by drafter."""
    return _read("acceptance", Acceptance)


def _house_model(folder: str, name: str) -> Model:
    path = f"assets/models/{folder}/config.json"
    title = "House" if folder == "target" else "House draft model"
    source = {"title": f"{title}, config.json", "url": path, "evidence": "S", "note": ""}
    facts = {"name": name, "title": title, "sources": [source]}
    model: Model = read_shipped_json(
        ASSETS.parent / path, lambda config: from_plain(Model, facts | {"config": config})
    )
    return model


Row = TypeVar("Row")


def _read(name: str, kind: type[Row]) -> tuple[Row, ...]:
    path = ASSETS / "cost" / f"{name}.json"
    return read_shipped_json(path, lambda rows: tuple(from_plain(kind, row) for row in rows))


def _require_source(title: str, sources: list[Source]) -> None:
    if not sources:
        raise ValueError(f"{title} has no source.")


NGRAM: Final = "n-gram"
HEAD: Final = "head"


def drafters(model: str) -> dict[str, tuple[str, ModelShape | None]]:
    """Return the drafters for a model by name: title and shape (None if drafting takes no time)."""
    target = models()[model].shape
    head = replace(target, layers=1, tied=True)  # the output head is the target's own
    found: dict[str, tuple[str, ModelShape | None]] = {
        HEAD: ("One-layer head (EAGLE, MTP)", head),
        NGRAM: ("N-gram lookup (costs nothing)", None),
    }
    for name, other in smaller_models(model).items():
        found[name] = (f"{other.title} (draft model)", other.shape)
    return found


def at_default_efficiency(serving: Serving) -> Serving:
    """Return the same deployment at the default shares of both peaks."""
    reading, computing = (efficiencies()[name].default / 100 for name in ("reading", "computing"))
    return replace(serving, reading=reading, computing=computing)


def at_extremes(serving: Serving) -> list[Serving]:
    """Return the deployment twice: at the smallest and at the largest reported efficiencies."""
    reading, computing = (efficiencies()[name] for name in ("reading", "computing"))
    return [
        replace(serving, reading=read / 100, computing=compute / 100)
        for read, compute in product((reading.low, reading.high), (computing.low, computing.high))
    ]


def speedup_range(serving: Serving, plan: DraftPlan, batch: int) -> tuple[float, float]:
    """Return the lowest and highest speed-up over the efficiencies that sources report."""
    gains = [predict(each, plan, batch).speedup for each in at_extremes(serving)]
    return min(gains), max(gains)
