"""A race as one HTML file that replays it offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specviz.compare.race import Results
from specviz.compare.report import reports
from specviz.compare.summary import headline, plain_text, texts_sentence
from specviz.ui.compare.race.lines import replay as lines
from specviz.ui.offline import OfflinePart, Replay

if TYPE_CHECKING:
    from specviz.ui.compare.race.recorded import Config


def config() -> Config:
    """Return the config of the race in a file, which sends no requests to a server."""
    return {"served": False, "replay": "", "races": "", "recorded": []}


RACE: Final = OfflinePart(
    name="sv-race",
    title="A race, lane by lane",
    markup="compare/race/race",
    script="race_file",
    folders=("compare/race",),
    config=config,
)


def replay(results: Results, name: str) -> str:
    """Return the HTML file that replays a race.

    name: the name of the race, from which the names of saved files are made. Raises ValueError if
    no lane has run.
    """
    if not results.traces:
        raise ValueError("This race has no lanes to replay: none has run.")
    return RACE.file(lines(results, name))


def show(results: Results) -> Replay:
    """Return the replay of a race for a notebook; see `replay`."""
    return Replay(replay(results, "results"), summary(results), RACE.title)


def summary(results: Results) -> str:
    """Return a race in two sentences: the fastest lane, and whether all texts are the same."""
    lanes = reports(results)
    return f"{headline(lanes)} {plain_text(texts_sentence(lanes)[1])}"
