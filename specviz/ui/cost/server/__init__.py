"""Statistics of a visitor's server: acceptance as counted by the server, and the best γ.

Only `answer` receives the pasted text. The page removes unused lines before it sends the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict

from specviz.cost import sources
from specviz.cost.server.loading import JSON_NAMES, MAX_CHARACTERS, example
from specviz.cost.server.outlook import LIMITS, Deployment
from specviz.cost.server.report import build_report
from specviz.cost.sources import HEAD, drafters
from specviz.ui.component import TabContext, component
from specviz.ui.cost.server.answer import LONGEST_QUESTION, answer, brief

NAME: Final = "sv-server"


class Site(TypedDict):
    """Where a server runs, by the names of the controls; None if a box is empty. See Deployment."""

    hardware: str
    model: str
    dtype: str
    drafter: str
    cards: int
    context: int
    batch: int | None
    gamma: int | None


class Example(TypedDict):
    """Example statistics.

    Attributes:
        said: A sentence about them.
        site: Where they were measured.
    """

    text: str
    said: str
    site: Site


class MachineChoices(TypedDict):
    """The dtypes for which a machine has peaks."""

    title: str
    dtypes: list[str]


class ModelChoices(TypedDict):
    """The drafters of a model: names with titles."""

    title: str
    drafters: list[tuple[str, str]]


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        brief: One sentence about the example.
        names: Names that are read from JSON.
        longest: Maximum characters of a text.
    """

    start: Site
    brief: str
    example: Example
    names: Sequence[str]
    longest: int
    limits: dict[str, tuple[int, int]]
    machines: dict[str, MachineChoices]
    models: dict[str, ModelChoices]


START: Final[Site] = {
    "hardware": "h100-sxm", "model": "llama-3.1-8b", "dtype": "bf16", "drafter": HEAD,
    "cards": 1, "context": 512, "batch": None, "gamma": None,
}  # fmt: skip
# The example was measured on a CPU, with one sequence at a time.
MEASURED: Final[Site] = {**START, "hardware": "laptop-cpu", "model": "house", "dtype": "fp32"}


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    component(NAME, "cost/server/server", config())
    place.questions.add("server", answer, LONGEST_QUESTION)


def config() -> Config:
    """Return the page's initial data."""
    made = example()
    report = build_report(made.text, site=Deployment(**MEASURED))
    return {
        "start": START,
        "brief": brief(report, example=True),
        "example": {"text": made.text, "said": made.description, "site": MEASURED},
        "names": JSON_NAMES,
        "longest": MAX_CHARACTERS,
        "limits": {name: (least, most) for name, (_, least, most) in LIMITS.items()},
        "machines": {
            name: {"title": one.title, "dtypes": list(one.peak)}
            for name, one in sources.machines().items()
        },
        "models": {
            name: {
                "title": one.title,
                "drafters": [(key, title) for key, (title, _) in drafters(name).items()],
            }
            for name, one in sources.models().items()
        },
    }
