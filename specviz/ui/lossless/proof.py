"""A real run: its verdicts' distances from the target, and its prompt with and without a draft.

The distances need no model. The repeated runs are one job in the queue; if it is stopped, the runs
counted so far are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypedDict

import gradio as gr
import plotly.graph_objects as go

from specviz.catalog.entry import with_defaults
from specviz.figures.plot import escaped
from specviz.figures.theme import BOTH, INK, P, Q, chart
from specviz.frames import Scene
from specviz.frames.numbers import significant
from specviz.frames.scene import flat, special, word
from specviz.settings.settings import Settings, require
from specviz.shipped import Recipe
from specviz.texts import text
from specviz.trace.events import Rows
from specviz.ui.component import TabContext, browser_object
from specviz.ui.instrument import Instrument, figure, shown, verbatim
from specviz.ui.live import PRIVATE, job_view
from specviz.ui.lossless.coins import often, seldom
from specviz.ui.lossless.sandbox import NAME
from specviz.ui.lossless.sandbox.experiment import FEWEST_WORDS, MOST_WORDS
from specviz.ui.step import recorded
from specviz.ui.stream import paced, progress
from specviz.ui.task import JobContext, Task, gpu_seconds, limit_text

if TYPE_CHECKING:
    from specviz.engine.decode import Tally
    from specviz.models.target import Target

LOOKED_AT: Final = 3  # how many tokens of each run are compared
TIMES: Final = 200  # number of pairs of runs, which take less than a minute with House
RARE: Final = 0.001  # a smaller p-value counts as a proven difference
OFTEN: Final = 5  # pairs of runs between two lines of progress
LISTED: Final = 8  # number of beginnings in the chart
LEAST: Final = 1e-17  # where a distance of 0 is drawn on a logarithmic axis
ROUNDING: Final = 1e-9
SHOWN: Final = MOST_WORDS - 1  # number of words of one verdict that fit into the sandbox
HAND: Final = f"(given) => given && {browser_object(NAME)}.open(JSON.parse(given))"


class Counts(TypedDict):
    """The result of repeated runs."""

    title: str
    sentence: str
    rows: list[tuple[str, int, int]]


def build(place: TabContext) -> None:
    """Build the instrument."""
    runs = [(recorded.title(name), name) for name in recorded.names()]
    if not runs:
        return
    first = text("lossless", "proof_first")  # the sentence on a run needs torch
    with Instrument(place, "proof", "And in a real run?", "computed exactly", first) as instrument:
        gr.Markdown(text("lossless", "proof_lead"))
        run = gr.Dropdown(runs, value=runs[0][1], label="Recorded run")
        distances = figure("sv-proof-distances", "distances-of-a-run")
        table = gr.Dataframe(
            headers=["round", "guess", "verdict", "the draft’s distance", "the output’s distance"],
            datatype="str", interactive=False, max_height=260, label="Judged guesses",
            elem_classes="sv-data", buttons=[],
        )  # fmt: skip
        gr.Markdown("### The same prompt, with and without a draft")
        gr.Markdown(text("lossless", "repeats_lead") + " " + limit_text(place.runs.limit))
        label = f"Run it {TIMES} times with and without a draft"
        repeats = job_view(place, "sv-proof-repeats", (label, "Stop"), wanted, [run])
        counts = gr.State()
        said = gr.Markdown()
        with gr.Column(visible=False) as counted:
            bars = figure("sv-proof-counts", "counts-with-and-without-a-draft")
        handed = gr.Textbox(visible=False)
    instrument.wire(
        {"run": run, "counts": counts},
        {"distances": distances, "table": table, "said": said, "counted": counted, "bars": bars},
        respond,
    )
    instrument.hear(repeats.result, lambda event, _: {"counts": checked(event.value)})
    for event, pick in ((table.select, picked_row), (distances.point, picked_point)):
        event(pick, run, handed, queue=False, **PRIVATE).then(
            None, handed, None, js=HAND, **PRIVATE
        )


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    found, counts = verdicts(values["run"]), values["counts"]
    return {
        "answer": found.sentence,
        "distances": shown(found.drawing(), found.sentence),
        "table": [one.row for one in found.judged],
        "said": f"**{verbatim(counts['title'])}** {verbatim(counts['sentence'])}" if counts else "",
        "counted": gr.Column(visible=bool(counts)),
        **({"bars": shown(counts_figure(counts), counts["sentence"])} if counts else {}),
    }


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict of a recorded run.

    Attributes:
        draft: The distance of q from p; None if only a share of p was available.
        output: The distance of the rule's output from p.
        experiment: Its p and q for the sandbox; None if the sandbox could not show them.
    """

    round: int
    word: str
    kept: bool
    draft: float | None
    output: float
    experiment: Mapping[str, Any] | None

    @property
    def row(self) -> list[str]:
        """Its row in the table."""
        draft = "" if self.draft is None else significant(2)(self.draft) if self.draft else "0"
        output = "0" if self.output < ROUNDING else f"{self.output:.4f}"
        verdict = "✓ accepted" if self.kept else "✕ rejected"
        return [str(self.round), self.word, verdict, draft, output]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """All verdicts of a recorded run, and a sentence with the largest distance."""

    title: str
    sentence: str
    judged: Sequence[Judged]

    def drawing(self) -> go.Figure:
        """Chart the distances of the draft and of the output, guess by guess."""
        places = list(range(1, len(self.judged) + 1))
        words = [
            f"round {one.round}: {escaped(one.word)}, {'accepted' if one.kept else 'rejected'}"
            for one in self.judged
        ]
        lines: dict[str, tuple[list[float | None], str, str]] = {
            "the draft’s distribution": ([one.draft for one in self.judged], Q, "circle"),
            "the output of the rule": ([*(one.output for one in self.judged)], BOTH, "diamond"),
        }
        traces = [
            go.Scatter(
                x=places, y=[None if y is None else max(y, LEAST) for y in ys], name=name,
                mode="markers", marker={"color": colour, "symbol": symbol, "size": 9},
                customdata=[significant(2)(y) if y else "0" for y in ys], hovertext=words,
                hovertemplate="%{hovertext}<br>%{customdata} from p<extra>" + name + "</extra>",
            )
            for name, (ys, colour, symbol) in lines.items()
        ]  # fmt: skip
        powers = (-17, -12, -8, -4, 0)
        return chart(
            traces, x="judged guess", y="distance from p (TV)", height=280,
            xaxis={"range": [0.4, len(places) + 0.6]},
            yaxis={
                "type": "log", "range": [-17.6, 0.4], "tickvals": [10.0**n for n in powers],
                "ticktext": ["0", *(f"10<sup>−{-n}</sup>" for n in powers[1:-1]), "1"],
            },
        )  # fmt: skip


@cache
def verdicts(name: str) -> Verdicts:
    """Return the verdicts of a recorded run. Raises ValueError if it is unknown or invalid."""
    from specviz.verification.exact.recorded_run import verdict_bounds, worst_bounds

    require(name in recorded.names(), "There is no recorded run with this name.")
    trace = recorded.trace(name)
    events = {(played.number, each.node): each for played in trace.rounds for each in played.judged}
    steps = list(verdict_bounds(trace))
    scenes = {step.round: Scene.of(trace, step.round) for step in steps}
    judged = []
    for step in steps:
        scene, event = scenes[step.round], events[step.round, step.node]
        token = scene.guesses[step.node - 1].token
        draft = 1.0 - event.rows.overlap if event.rows.reach is None else None
        judged.append(
            Judged(
                step.round, flat(scene.word(token)), event.accepted, draft, step.most,
                few(scene, event.rows, token),
            )
        )  # fmt: skip
    least, most = worst_bounds(trace)
    values = {"checks": len(steps), "rule": trace.header.rule}
    if most < ROUNDING:
        tv = text("lossless", "rounding", tv=significant(1)(most)) if most else "0"
        sentence = text("lossless", "run_lossless", tv=tv, **values)
    else:
        ends = {"least": f"{least:.4f}", "most": f"{most:.4f}"}
        sentence = text("lossless", "run_lossy", **ends, **values)
    return Verdicts(recorded.title(name), sentence, judged)


def few(scene: Scene, rows: Rows, token: int) -> Mapping[str, Any] | None:
    """Return the most probable tokens of a verdict, including the guess, with normalized p and q.

    None if the sandbox could not show it. All other tokens are left out, not merged into one,
    because this would increase the overlap of p and q.
    """
    drafted = rows.q or [float(each == token) for each in rows.tokens]
    by_weight = sorted(
        zip(rows.tokens, rows.p, drafted, strict=True),
        key=lambda row: (row[0] != token, -row[1] - row[2]),
    )[:SHOWN]
    tokens, p, q = (list(column) for column in zip(*by_weight, strict=True))
    if len(tokens) < FEWEST_WORDS or not sum(p) or not sum(q):
        return None
    return {
        "words": [scene.word(each) for each in tokens],
        "p": [each / sum(p) for each in p],
        "q": [each / sum(q) for each in q],
        "drawn": "top" if rows.q is None else "sampled",
    }


def picked_row(run: str, event: gr.SelectData) -> str:
    """Return the verdict in the row that was selected, for the sandbox."""
    return for_sandbox(run, event.index[0])


def picked_point(run: str, event: gr.EventData) -> str:
    """Return the verdict whose point was clicked, for the sandbox."""
    return for_sandbox(run, event.x - 1)


def for_sandbox(run: str, number: Any) -> str:
    """Return what the sandbox shows of a verdict, as JSON; "" if it cannot."""
    found = verdicts(run)
    if not isinstance(number, int) or not 0 <= number < len(found.judged):
        return ""
    one = found.judged[number]
    if one.experiment is None:
        return ""
    position = {"candidates": 1, "rule": "auto", "preset": ""}
    source = f"Round {one.round} of “{found.title}”"
    return json.dumps({**one.experiment, **position, "from": source})


def wanted(name: Any) -> Task:
    """Return the task of repeating a recorded run. Raises ValueError if it is unknown."""
    known = isinstance(name, str) and name in recorded.names()
    made = recorded.recipe(name) if known else None
    if made is None:
        raise ValueError(
            "This run cannot be repeated, because its settings were not recorded with it."
        )
    return live(made)


def live(made: Recipe) -> Task:
    """Create the task of the repeated runs; it can be stopped after each pair of runs."""
    return Task(partial(stream_repeats, made), gpu_seconds(made.target, 2 * TIMES * LOOKED_AT))


def stream_repeats(made: Recipe, context: JobContext) -> Iterator[str]:
    """Load the models, then run the pairs."""
    yield context.says("loading")
    target, (drafter,) = context.load(made.target, [made.drafter])
    from specviz.engine.decode import repeat
    from specviz.models.prompt import encode_prompt

    settings = Settings.from_json(with_defaults(made.drafter, made.settings))
    ids = encode_prompt(target, made.text, settings).ids
    yield context.says("drafting")
    tallies = repeat(target, drafter, ids, settings, TIMES, context.unwanted)
    yield from paced(lines(tallies, settings.sampling.greedy, context.nonce, made.title, target))


def lines(
    tallies: Iterator[Tally], greedy: bool, nonce: str, title: str, target: Target
) -> Iterator[str]:
    """Yield progress, and the result only at the end, since repeated tests give false alarms.

    Yields empty texts in between, where the job may be interrupted.
    """
    last = None
    for last in tallies:
        said = f"{last.done} of {last.of} pairs of runs"
        at = nonce, last.done, last.of, said
        yield progress(*at) if last.done % OFTEN == 0 else ""
    if last is not None:
        said, rows = counted(last, greedy), beginnings(last, target)
        result = Counts(title=title, sentence=said, rows=rows)
        yield progress(*at, dict(result))


def beginnings(tally: Tally, target: Target) -> list[tuple[str, int, int]]:
    """Return the most frequent beginnings, with their counts with and without a draft."""
    both = [
        ("".join(named(target, token) for token in tokens),
         tally.speculative.get(tokens, 0), tally.plain.get(tokens, 0))
        for tokens in tally.speculative.keys() | tally.plain.keys()
    ]  # fmt: skip
    return sorted(both, key=lambda row: (-row[1] - row[2], row[0]))[:LISTED]


def named(target: Target, token: int) -> str:
    """Return a token as text, with white space made visible."""
    data = target.token_bytes(token)
    return flat(special(data) if token in target.eos else word(data))


def counted(tally: Tally, greedy: bool) -> str:
    """Return what all pairs of runs show together."""
    beginnings = len(tally.speculative.keys() | tally.plain.keys())
    if greedy:
        return text("lossless", "repeats_greedy", beginnings=beginnings)

    test = tally.test
    if test.degrees < 1:
        found = text("lossless", "repeats_untested", beginnings=beginnings)
    elif test.p_value < RARE:
        found = text("lossless", "repeats_differ", odds=seldom(test.p_value))
    else:
        found = text("lossless", "repeats_alike", often=often(test.p_value))
    return text(
        "lossless", "repeats_sampled", pairs=tally.done, beginnings=beginnings,
        tv=f"{tally.tv:.3f}", noise=f"{tally.noise:.3f}", found=found,
    )  # fmt: skip


def checked(result: Any) -> Counts:
    """Return a result that the page sent back. Raises ValueError if it is not one."""
    try:
        rows = [(str(name), int(one), int(other)) for name, one, other in result["rows"][:LISTED]]
        title, sentence = str(result["title"]), str(result["sentence"])
        return {"title": title, "sentence": sentence, "rows": rows}
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError("These counts cannot be read.") from problem


def counts_figure(counts: Counts) -> go.Figure:
    """Chart how often texts began with the most frequent tokens."""
    names = [escaped(name) for name, _, _ in counts["rows"]]
    bars = [
        go.Bar(
            y=names, x=[row[at] for row in counts["rows"]], name=title, orientation="h",
            marker={"color": colour}, hovertemplate="%{y}: %{x} runs<extra>" + title + "</extra>",
        )
        for at, title, colour in ((1, "with a draft", INK), (2, "without", P))
    ]  # fmt: skip
    return chart(
        bars, x="runs that begin so", height=90 + 44 * len(names),
        yaxis={"autorange": "reversed"},
    )  # fmt: skip
