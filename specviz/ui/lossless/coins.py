"""The sandbox's experiment with random guesses and coins, and von Neumann's dartboard."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import gradio as gr
import plotly.graph_objects as go

from specviz.figures.plot import escaped
from specviz.figures.theme import COLOURS, P, chart
from specviz.frames.numbers import significant
from specviz.frames.scene import flat
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown
from specviz.ui.lossless.output import FILLED, KEPT, output_figure
from specviz.ui.lossless.sandbox import EXPERIMENT
from specviz.ui.table import listing

if TYPE_CHECKING:
    from specviz.verification.exact import RoundSetup
    from specviz.verification.exact.monte_carlo import SampleCounts

DARTS_RULE: Final = "accept-reject"
THROWS: Final = (1_000, 20_000, 100_000)  # numbers of rounds to choose from
DARTS: Final = 600  # number of darts; more could not be distinguished on screen
GOLDEN: Final = 0.618034  # multiples of this step spread darts evenly over a column
SURE: Final = 1e-3  # a smaller p-value counts as a proven difference
RARE: Final = 0.05  # a smaller p-value should be checked by one more experiment
TINY: Final = 1e-12  # smaller probabilities are all shown alike
seeds = count(1)  # no two experiments are the same


def build(place: TabContext) -> None:
    """Build the instrument."""
    title, first = "Test it with random rounds", text("lossless", "coins_lead")
    with Instrument(place, "coins", title, "random rounds", first, wide=True) as instrument:
        gr.Markdown(text("lossless", "coins_how"), elem_classes="sv-note")
        with gr.Row():
            buttons = [gr.Button(f"Run {throws:,} rounds", size="sm") for throws in THROWS]
        with gr.Column(visible=False) as counted:
            columns = figure("sv-coins-columns", "random-rounds")
            numbers = gr.Markdown(elem_classes="sv-listing")
            gr.Markdown(text("lossless", "coins_note"), elem_classes="sv-note")
        with gr.Column(visible=False) as board:
            gr.Markdown("### Von Neumann’s dartboard")
            darts = figure("sv-coins-darts", "dartboard")
            caption = gr.Markdown(elem_classes="sv-coins-board-said")
        run, sandbox = gr.State(), gr.Textbox(visible=False)
    instrument.wire(
        {"run": run, "sandbox": sandbox},
        {"counted": counted, "columns": columns, "numbers": numbers, "board": board,
         "darts": darts, "caption": caption},
        respond,
        js=EXPERIMENT,
    )  # fmt: skip
    for throws, button in zip(THROWS, buttons, strict=True):
        instrument.press(button, partial(started, throws))
    # The counts of another experiment are hidden.
    instrument.hear(place.controls["sandbox"].answered, lambda *_: {"run": None})


def started(throws: int, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run of this number of rounds."""
    return {"run": (throws, next(seeds))}


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the sandbox's experiment. Raises ValueError if it is invalid."""
    from specviz.ui.lossless.sandbox.answer import round_of
    from specviz.ui.lossless.sandbox.experiment import Experiment

    experiment = json.loads(values["sandbox"] or "null")
    if experiment is None:
        return {}  # the sandbox has not started
    round_ = round_of(Experiment.from_data(experiment))
    names = [flat(each) for each in experiment["words"]]
    found = {
        "answer": text("lossless", "coins_lead"), "counted": gr.update(visible=False),
        "board": gr.update(visible=False), **dartboard(round_, names),
    }  # fmt: skip
    return found | counted(round_, names, *values["run"]) if values["run"] else found


def counted(round_: RoundSetup, names: Sequence[str], throws: int, seed: int) -> dict[str, Any]:
    """Return the outputs for the counts of random rounds."""
    from specviz.verification.exact import enumerate_position
    from specviz.verification.exact.monte_carlo import SampleCounts

    p, q = round_.target(()).tolist(), round_.draft(()).tolist()
    kept, filled = counts(round_, throws, seed)
    both = [one + other for one, other in zip(kept, filled, strict=True)]
    found = SampleCounts(both, p, sum(kept))
    said = sentence(found)
    drawing = output_figure(
        names,
        {
            "accepted guesses": (KEPT, [many / throws for many in kept]),
            "replacements": (FILLED, [many / throws for many in filled]),
        },
        p, q, [(one.low, one.high) for one in found.intervals],
    )  # fmt: skip
    return {
        "answer": said, "counted": gr.update(visible=True), "columns": shown(drawing, said),
        "numbers": numbers(found, enumerate_position(round_).tv),
    }  # fmt: skip


def counts(round_: RoundSetup, throws: int, seed: int) -> tuple[list[int], list[int]]:
    """Return how often each word was an accepted guess, and how often a replacement."""
    import torch

    from specviz.verification.exact.enumeration import SampledMass, play_round

    size = len(round_.target(()))
    kept, filled = torch.zeros(size, dtype=torch.long), torch.zeros(size, dtype=torch.long)
    every = SampledMass(throws, torch.Generator().manual_seed(seed))
    for mass, tree, verdict in play_round(round_, every):
        if verdict.path:
            kept[tree.tokens[verdict.path[0]]] += mass.size
        else:
            filled += torch.tensor([each.size for each in mass.spread(verdict.final.probs)])
    return kept.tolist(), filled.tolist()


def sentence(found: SampleCounts) -> str:
    """Return what the counts show about the rule."""
    if found.impossible:
        return text("lossless", "coins_impossible", times=found.impossible)
    chance = found.test.p_value
    if chance < SURE:
        return text("lossless", "coins_differ", odds=seldom(chance))
    macro = "coins_agree" if chance >= RARE else "coins_rare"
    return text("lossless", macro, rounds=found.throws, often=often(chance))


def often(chance: float) -> str:
    """Return a probability in words, as a share of experiments; never rounded to 100 of 100."""
    percent = "more than 99" if chance > 0.99 else "less than 1" if chance < 0.01 else None
    return text("lossless", "often", percent=percent or f"about {100 * chance:.0f}")


def seldom(chance: float) -> str:
    """Return a small probability in words."""
    if chance < TINY:
        return text("lossless", "less_than_odds")
    return text("lossless", "odds", experiments=round(1 / chance / 100) * 100)


def numbers(found: SampleCounts, exact: float) -> str:
    """Return the numbers below the columns, as a table."""
    chance = found.test.p_value
    small = "< 10⁻¹²" if chance < TINY else significant(1)(chance)
    return listing(
        ["", f"{found.throws:,} rounds"],
        [
            ["measured distance from p (TV)", f"{found.tv:.4f}"],
            ["distance expected from luck alone", f"{found.noise:.4f}"],
            ["exact distance, computed", "0" if exact < 1e-9 else f"{exact:.4f}"],
            ["how often luck alone gives a worse fit (G-test)",
             f"{chance:.3f}" if chance >= SURE else small],
        ],
    )  # fmt: skip


def dartboard(round_: RoundSetup, names: Sequence[str]) -> dict[str, Any]:
    """Return the outputs of von Neumann's dartboard: darts under M q, accepted under p.

    None for other rules, or if q is 0 for a word that p has, because no M is large enough then.
    """
    from specviz.verification.exact.monte_carlo import throw_darts

    p, q = round_.target(()), round_.draft(())
    if round_.rule.spec.name != DARTS_RULE or bool(((q == 0) & (p > 0)).any()):
        return {}
    thrown = throw_darts(p, q, DARTS, next(seeds))
    accepted = int(thrown.kept.sum())
    said = text(
        "lossless", "dartboard", darts=DARTS, bound=f"{thrown.bound:.2f}", accepted=accepted,
        share=f"{accepted / DARTS:.2f}", expected=f"{1 / thrown.bound:.2f}",
    )  # fmt: skip
    across = [token + 0.62 * (number * GOLDEN % 1 - 0.5)
              for number, token in enumerate(thrown.tokens.tolist())]  # fmt: skip
    places, kept = list(range(len(p))), thrown.kept.tolist()
    roof = {"color": COLOURS["q-soft"], "line": {"color": COLOURS["q-line"], "width": 1}}
    under = {"color": COLOURS["p-soft"], "line": {"color": P, "width": 1}}
    marks = {True: ("accepted", "circle"), False: ("rejected", "circle-open")}
    darts = [
        go.Scatter(
            x=[x for x, is_kept in zip(across, kept, strict=True) if is_kept == wanted],
            y=[y for y, is_kept in zip(thrown.heights.tolist(), kept, strict=True)
               if is_kept == wanted],
            name=name, mode="markers", hoverinfo="skip",
            marker={"size": 5, "symbol": symbol, "color": COLOURS["p-ink" if wanted else "q-ink"]},
        )
        for wanted, (name, symbol) in marks.items()
    ]  # fmt: skip
    drawing = chart(
        [
            go.Bar(x=places, y=(thrown.bound * q).tolist(), name="M q", marker=roof),
            go.Bar(x=places, y=p.tolist(), name="p", marker=under), *darts,
        ],
        height=320, yaxis={"rangemode": "tozero", "tickformat": ".1f"},
        xaxis={"tickvals": places, "ticktext": [*map(escaped, names)], "showgrid": False},
    )  # fmt: skip
    drawing.update_layout(barmode="overlay", bargap=0.35)
    return {"board": gr.update(visible=True), "darts": shown(drawing, said), "caption": said}
