"""The ranking lab: one tree ranked in eight ways, the study on real text, and a published claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypedDict

from specviz.catalog.entry import title_of
from specviz.trees import rounding
from specviz.trees.recorded_position import RecordedPosition
from specviz.trees.rounding import EXAMPLES, Example, as_position
from specviz.trees.shapes import Parameters
from specviz.ui.component import TabContext, component
from specviz.ui.questions import BadRequest
from specviz.ui.trees.drawing import names, place

MADE_UP: Final = "example:"


@dataclass(frozen=True, slots=True)
class RankingQuestion:
    """A tree to rank.

    Attributes:
        place: Name of a position, or `example:` and the name of an example.
        parameters: Size of the tree, used for positions only.
    """

    place: str
    parameters: Parameters

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest or BadTree if it is invalid."""
        return cls(
            place=str(data.get("place")),
            parameters=Parameters.of(data.get("tree")),
        )

    @property
    def example(self) -> Example | None:
        """The constructed example, if the question is about one. Raises BadRequest."""
        if not self.place.startswith(MADE_UP):
            return None
        name = self.place.removeprefix(MADE_UP)
        found = next((one for one in EXAMPLES if one.name == name), None)
        if found is None:
            raise BadRequest(f"There is no example called {name!r:.40}.")
        return found

    def field(self) -> tuple[RecordedPosition, Parameters]:
        """Return the position and the tree's size. Raises BadRequest."""
        example = self.example
        if example is not None:
            return as_position(example), example.parameters
        return place(self.place), self.parameters


NAME: Final = "sv-rank"
SIZES: Final = {"SGLang 6, 10, 60": (6, 10, 59), "SGLang 5, 4, 8": (5, 4, 7)}


class Measured(TypedDict):
    """Means over many positions.

    Attributes:
        gain: Difference in accepted length, with its 95% interval.
    """

    differ: float
    nodes: float
    tied: float
    zeros: float
    orphans: float
    gain: float
    gain_interval: tuple[float, float]


class StudyRow(TypedDict):
    """One drafter and one size of tree.

    Attributes:
        ways: The results, by way of ranking.
    """

    drafter: str
    size: str
    said: str
    noise: str
    ways: dict[str, Measured]


class Arithmetic(TypedDict):
    """Microseconds for one step of growing a tree."""

    dtype: str
    width: int
    product: float
    sum: float


class Study(TypedDict):
    """The study on real text."""

    rows: list[StudyRow]
    made: str
    where: str
    arithmetic: list[Arithmetic]


class Reported(TypedDict):
    """What the pull request reports.

    Attributes:
        rows: Unit, value for products, value for sums of logs.
    """

    url: str
    where: str
    quote: str
    rows: list[tuple[str, str, str]]


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        examples: Name, title and explanation of each example.
        places: Name and title of each position.
        size: Initial depth, width and budget.
    """

    examples: list[tuple[str, str, str]]
    places: list[tuple[str, str]]
    size: tuple[int, int, int]
    study: Study | None
    reported: Reported


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    known: Config = {
        "examples": examples(),
        "places": names(),
        "size": SIZES["SGLang 6, 10, 60"],
        "study": studied(),
        "reported": reported(),
    }
    component(NAME, "trees/ranking/ranking", known)
    place.questions.add("ranking", "specviz.ui.trees.ranking.answer")


def examples() -> list[tuple[str, str, str]]:
    """Return the constructed examples: name, title, explanation."""
    from specviz.trees.rounding import EXAMPLES

    return [(MADE_UP + one.name, one.title, one.explanation) for one in EXAMPLES]


def studied() -> Study | None:
    """Return the study by drafter and size; None if it was not measured."""
    found = rounding.load_study()
    if found is None:
        return None
    places = found["prompts"] * found["places"]
    rows: list[StudyRow] = [
        {
            "drafter": title_of(drafter),
            "size": size,
            "said": rounding.verdict(ways, places, SIZES[size][2]),
            "noise": rounding.noise(ways, rounding.Reported()),
            "ways": {way: measured(row) for way, row in ways.items()},
        }
        for drafter, sizes in found["drafters"].items()
        for size, ways in sizes.items()
    ]
    made = f"{found['made_by']}: {found['prompts']} prompts, {found['places']} positions each"
    where = f"{found['processor']}, torch {found['versions']['torch']}"
    return {"rows": rows, "made": made, "where": where, "arithmetic": found["arithmetic"]}


def measured(row: rounding.Way) -> Measured:
    """Return what the page shows about a way of ranking."""
    return {
        "differ": row["differ"], "nodes": row["nodes"], "tied": row["tied"],
        "zeros": row["zeros"], "orphans": row["orphans"],
        "gain": row["gain"], "gain_interval": row["gain_interval"],
    }  # fmt: skip


def reported() -> Reported:
    """Return what the pull request reports."""
    told = rounding.Reported()
    return {
        "url": told.url,
        "where": told.where,
        "quote": told.quote,
        "rows": [
            ("tokens per pass", f"{told.accepted[0]:g}", f"{told.accepted[1]:g}"),
            ("tokens per second", f"{told.speed[0]:g}", f"{told.speed[1]:g}"),
        ],
    }
