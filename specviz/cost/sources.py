"""Hardware, model shapes and published numbers as data, each with where it was read.

Rule: a figure without a source is refused. The files are `assets/cost/*.json`; the house models'
shapes come from their own config.json. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Final, Literal, TypeVar

from specviz.cost import formula
from specviz.cost.checks import check_positive, check_probability
from specviz.cost.model_shape import ModelShape
from specviz.cost.roofline import Hardware
from specviz.shipped import ASSETS, of_shipped
from specviz.trace.codec import from_plain

Evidence = Literal["S", "R", "A", "2", "C"]


EVIDENCE: Final[dict[Evidence, str]] = {
    "S": "read in the source itself, at the version linked",
    "R": "read in the project's own README, documents or blog",
    "A": "read in the paper's abstract",
    "2": "read where others quote it; the original could not be read",
    "C": "computed from figures that were read there",
}


NOT_STATED: Final = "not stated"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a number was read.

    url: a link, or the path of a file that ships. evidence: see EVIDENCE. note: what was found.
    """

    title: str
    url: str
    evidence: Evidence
    note: str

    def __post_init__(self) -> None:
        if not self.title or not self.url.startswith(("https://", "assets/")):
            raise ValueError(
                f"A source needs a title and a link; got {self.title!r}, {self.url!r}."
            )


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware to choose from. peak, bandwidth, memory: as in `Hardware`, sparsity never counted.

    sheet: the vendor's own document as the sources name it, not read itself; may be empty.
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
        Hardware(self.title, self.peak, self.bandwidth, self.memory)  # refuses what is not positive

    @property
    def hardware(self) -> Hardware:
        """What the roofline needs of it."""
        return Hardware(self.title, self.peak, self.bandwidth, self.memory)


@dataclass(frozen=True, slots=True)
class Model:
    """A model to choose from. config: the part of its config.json that says its shape."""

    name: str
    title: str
    config: dict[str, Any]
    sources: list[Source]

    def __post_init__(self) -> None:
        _require_source(self.title, self.sources)

    @property
    def shape(self) -> ModelShape:
        """What the roofline needs of it."""
        return ModelShape.of_config(self.config)


@dataclass(frozen=True, slots=True)
class Published:
    """One number from a paper or a note, for the headline table: never one of ours.

    method: family, in our words. says: one sentence. low, high: equal where one number is given.
    hardware, task, model, conditions: as the source says, or NOT_SAID. batch: the sequences at
    once, where the conditions say so. load: where they say how busy a server was instead.
    """

    origin: ClassVar[str] = "published"
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
            raise ValueError(f"{self.method}: {self.low:g} to {self.high:g} is no range.")
        if self.load not in (None, "light", "heavy"):
            raise ValueError(f"{self.method}: a load is light or heavy, not {self.load}.")

    @property
    def number(self) -> str:
        """The number as it was published: 2.8 ×, 2.7 to 3.5 ×, 1.8 × slower, 80 %."""
        if self.low == self.high:
            return f"{self.low:g} {self.unit}"
        return f"{self.low:g} to {self.high:g} {self.unit}"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How often a drafter's guesses are kept, from a source: α itself, or tokens a round brings.

    title: the drafter. on: the target. drafter: "head" or "n-gram" where the roofline has such a
    one, else empty. tokens: what a pass brought, the target's own counted; with it `gamma` must be
    known, since α then follows by the speed law. gamma: guesses in a row, or levels of a tree.
    guesses: all of a round, a tree's siblings too.
    """

    origin: ClassVar[str] = "published"
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
            raise ValueError(f"{self.title} needs either α or the tokens of a pass.")
        if self.tokens is not None and self.gamma is None:
            raise ValueError(f"{self.title}: without γ, no α follows from the tokens of a pass.")
        check_probability(f"The α of {self.title}", self.kept)

    @property
    def kept(self) -> float:
        """α: as it was published, or by the law of a chain of γ guesses."""
        if self.alpha is not None:
            return self.alpha
        return formula.solve_alpha(self.tokens or 0.0, self.gamma or 0)

    @property
    def derived(self) -> bool:
        """True where α was not published, but follows."""
        return self.alpha is None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A method on Spec-Bench. tokens_per_pass: the board's mean accepted tokens, 1 where plain."""

    method: str
    speedups: list[float]
    tokens_per_pass: float
    overall: float


@dataclass(frozen=True, slots=True)
class Board:
    """One table of Spec-Bench: many methods on one device. speedups stand by task."""

    origin: ClassVar[str] = "published"
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
                raise ValueError(f"{row.method} needs a speed-up for every task.")


@cache
def machines() -> dict[str, Machine]:
    """Hardware by name."""
    return {one.name: one for one in _read("hardware", Machine)}


@cache
def models() -> dict[str, Model]:
    """Models by name: the house target and its draft model first, then public ones."""
    house = (_house_model("target", "house"), _house_model("draft-model", "house-draft"))
    return {one.name: one for one in (*house, *_read("shapes", Model))}


def smaller_models(name: str) -> dict[str, Model]:
    """The models that could draft for one of them, by name.

    A draft model needs the target's tokenizer; among these the vocabulary's size tells it.
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
    """The papers' and notes' numbers, by family."""
    return _read("headline", Published)


@cache
def boards() -> tuple[Board, ...]:
    """The Spec-Bench leaderboards."""
    return _read("spec_bench", Board)


@cache
def acceptances() -> tuple[Acceptance, ...]:
    """Published chances that guesses are kept, by drafter."""
    return _read("acceptance", Acceptance)


def _house_model(folder: str, name: str) -> Model:
    """A house model as one of shapes.json. Raises BrokenFile."""
    where = f"assets/models/{folder}/config.json"
    title = "House target" if folder == "target" else "House draft model"
    source = {"title": f"{title}, config.json", "url": where, "evidence": "S", "note": ""}
    facts = {"name": name, "title": title, "sources": [source]}
    made: Model = of_shipped(
        ASSETS.parent / where, lambda said: from_plain(Model, facts | {"config": said})
    )
    return made


Row = TypeVar("Row")


def _read(name: str, kind: type[Row]) -> tuple[Row, ...]:
    """All rows of a file, each as its kind. Raises BrokenFile."""
    path = ASSETS / "cost" / f"{name}.json"
    return of_shipped(path, lambda rows: tuple(from_plain(kind, row) for row in rows))


def _require_source(title: str, sources: list[Source]) -> None:
    if not sources:
        raise ValueError(f"{title} has no source.")


NGRAM: Final = "n-gram"
HEAD: Final = "head"


def drafters(model: str) -> dict[str, tuple[str, ModelShape | None]]:
    """By name what can draft for a model: title and shape; None where drafting costs nothing."""
    target = models()[model].shape
    head = replace(target, layers=1, tied=True)  # its output head is the target's own
    found: dict[str, tuple[str, ModelShape | None]] = {
        HEAD: ("A head of one layer, as EAGLE, -2 and -3 have", head),
        NGRAM: ("N-gram lookup, which costs nothing", None),
    }
    for name, other in smaller_models(model).items():
        found[name] = (f"{other.title}, a model of its own", other.shape)
    return found
