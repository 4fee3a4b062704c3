"""When drafting pays: an instrument of the speed-up formula, compared with a measured run.

Everything is simulated except the numbers of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf, log
from typing import Any, Final

import gradio as gr

from specviz.cost import formula
from specviz.cost.figures.formula import (
    cost_map,
    gamma_map,
    round_figure,
    shown_to,
    speed_figure,
    time_figure,
)
from specviz.cost.formatting import format_decimals, format_speedup
from specviz.cost.formula import MeasuredPoint, SpeedupModel
from specviz.glossary import GLOSSARY
from specviz.settings.settings import require
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.cost.pair import START as PAIR
from specviz.ui.cost.pair import Run, read_runs
from specviz.ui.instrument import DIRECT, Instrument, figure, shown, verbatim

START: Final[dict[str, Any]] = {**PAIR, "c": 0.1, "verify": 1, "c_hat": 0.1, "map": "gamma",
                                "which": "step", "runs": None}  # fmt: skip
LIMITS: Final[Mapping[str, tuple[str, float, float]]] = {  # name in errors, minimum, maximum
    "alpha": ("α", 0.0, 1.0),
    "gamma": ("γ", 0.0, 64.0),
    "c": ("c", 0.0, 10.0),
    "verify": ("The verification pass", 0.1, 20.0),
    "c_hat": ("ĉ", 0.0, 10.0),
}
SLIDERS: Final = {  # label, minimum, maximum
    "c": ("c, cost of a draft token", 0.0, 2.0),
    "verify": ("v, cost of verification", 0.1, 5.0),
    "c_hat": ("ĉ, arithmetic of a draft token", 0.0, 2.0),
}
MAPS: Final = [("α and γ", "gamma"), ("α and c", "c")]
WHICH: Final = [("last run on Step", "step"), ("lane of Compare", "compare")]
NEAR: Final = 0.03  # relative difference up to which formula and run agree
# Why α differs from the share of accepted guesses that Step's end card gives.
ALPHA: Final = (
    "probability that a judged position accepts a draft token; the coins decide which share is "
    "accepted"
)
DRAFTED: Final = "of a round that drafted"
EVERY_PASS: Final = "over all passes, the one over the prompt included, as on Step and Compare"


def build(place: TabContext) -> None:
    """Build the instrument."""
    first = sentences(terms_of(START), PAIR["gamma"])
    title = "When does drafting pay?"
    with Instrument(place, "formula", title, "simulated", first) as instrument:
        with gr.Row():
            own = {name: _slider(name) for name in SLIDERS}
        with gr.Row():
            with gr.Column(min_width=300):
                gr.Markdown(text("cost", "formula_round"))
                bars = figure("sv-formula-round", "one-round")
            with gr.Column(min_width=300):
                numbers = gr.Markdown()
        with gr.Row():
            with gr.Column(min_width=300):
                gr.Markdown(text("cost", "formula_speed"))
                speed = figure("sv-formula-speed", "speed-up-by-draft-length")
            with gr.Column(min_width=300):
                gr.Markdown(text("cost", "formula_time"))
                time = figure("sv-formula-time", "time-and-arithmetic")
        with gr.Row():
            with gr.Column(min_width=300):
                kind = gr.Radio(MAPS, value=START["map"], label="Map")
                about = gr.Markdown(text("cost", "formula_map_gamma"))
                surface = figure("sv-formula-map", "surface")
            with gr.Column(min_width=300):
                which = gr.Radio(WHICH, value=START["which"], label="Measured run to compare")
                compared = gr.Markdown(elem_classes="sv-listing")
                take = gr.Button("Use the run’s α, γ, c and v", interactive=False, size="sm")
    place.controls.update(own)
    if connect := place.controls.pop("connect", None):  # the roofline's files are broken
        connect()
    shared = {name: place.controls[name] for name in ("alpha", "gamma", "runs")}
    instrument.wire(
        {**own, "map": kind, "which": which},
        {
            "round": bars, "numbers": numbers, "speed": speed, "time": time, "about": about,
            "surface": surface, "run": compared, "take": take,
        },
        respond,
        keys={"c": "c", "verify": "verify", "c_hat": "c_hat", "map": "map"},
        shared=shared,
    )  # fmt: skip
    _wire_clicks(place, instrument, {"which": which, "surface": surface, "take": take})


def _slider(name: str) -> gr.Slider:
    label, low, high = SLIDERS[name]
    about = GLOSSARY[name]
    return gr.Slider(low, high, START[name], step=0.01, label=label, info=about, min_width=260)


def _wire_clicks(place: TabContext, instrument: Instrument, parts: Mapping[str, Any]) -> None:
    sliders = {name: place.controls[name] for name in ("alpha", "gamma", "c", "verify")}
    source, runs = place.controls["source"], place.controls["runs"]

    def clicked(event: Any, values: Mapping[str, Any]) -> dict[str, Any]:
        return {"alpha": event.x, values["map"]: event.y}

    def taken(which: str, sent: str | None) -> dict[Any, Any]:
        run = read_runs(sent).get(which)
        return {source: which} | _set(sliders, run) if run else {}

    def arrived(event: gr.EventData) -> dict[Any, Any]:
        try:
            run = Run.from_data(event.lane)
        except ValueError as problem:
            return {instrument.notice: gr.Markdown(verbatim(str(problem)), visible=True)}
        chosen = {source: "compare", parts["which"]: "compare"}
        opened = {instrument.fold: gr.Accordion(open=True)}
        return chosen | opened | _set(sliders, run)

    several = [source, *sliders.values()]  # in this order: α and γ have its values
    instrument.hear(parts["surface"].point, clicked)
    use = parts["take"].click(taken, [parts["which"], runs], several, **DIRECT)
    sent = runs.sent(
        arrived, None, [*several, parts["which"], instrument.fold, instrument.notice], **DIRECT
    )
    for event in (use, sent):
        instrument.follow(event)


def _set(sliders: Mapping[str, Any], run: Run) -> dict[Any, Any]:
    # A slider that ends before its value is made longer.
    alpha, gamma = run.pair
    found: dict[Any, Any] = {sliders["alpha"]: alpha, sliders["gamma"]: gamma}
    for name, value in (("c", run.point.c), ("verify", run.point.verify)):
        _, low, high = SLIDERS[name]
        end = max(high, ceil(value))
        found[sliders[name]] = gr.Slider(maximum=end, value=max(low, round(value, 3)))
    return found


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    terms, gamma = terms_of(values), _number(values, "gamma")
    require(values["map"] in ("gamma", "c"), "There is no such map.")
    run = read_runs(values["runs"]).get(values["which"])
    point = run.point if run else None
    end = shown_to(terms, gamma, point.gamma if point else 0)
    said = sentences(terms, gamma)
    by_gamma = values["map"] == "gamma"
    surface = gamma_map(terms, gamma, end, point) if by_gamma else cost_map(terms, point)
    tokens, work = formula.expected_tokens(terms.alpha, gamma), terms.arithmetic(gamma)
    shows = text("cost", f"formula_map_{values['map']}")
    missing = text("cost", "pair_no_run" if values["which"] == "step" else "pair_no_lane")
    return {
        "answer": said,
        "round": shown(round_figure(terms, gamma), text("cost", "formula_round")),
        "numbers": text(
            "cost", "formula_numbers", tokens=f"{tokens:.2f}", work=format_speedup(work),
            speedup=format_speedup(terms.speedup(gamma)),
        ),
        "speed": shown(speed_figure(terms, gamma, end, point), said),
        "time": shown(time_figure(terms, gamma, end), text("cost", "formula_time")),
        "about": shows,
        "surface": shown(surface, shows),
        "run": compared(run) if run else missing,
        "take": gr.Button(interactive=run is not None),
    }  # fmt: skip


def terms_of(values: Mapping[str, Any]) -> SpeedupModel:
    """Return the formula's values but γ. Raises ValueError if they are invalid."""
    return SpeedupModel(**{name: _number(values, name) for name in LIMITS if name != "gamma"})


def _number(values: Mapping[str, Any], name: str) -> float:
    called, least, most = LIMITS[name]
    value = values.get(name)
    real = isinstance(value, int | float) and not isinstance(value, bool)
    require(real, f"{called} must be a number.")
    inside = value is not None and least <= value <= most
    require(inside, f"{called} must be between {least:g} and {most:g}.")
    return float(value or 0)


def sentences(terms: SpeedupModel, gamma: float) -> str:
    """Say when drafting saves time for these values, and what the chosen γ gives."""
    return f"{best_sentence(terms)} {chosen_sentence(terms, gamma)}"


def best_sentence(terms: SpeedupModel) -> str:
    """Return one sentence that says when drafting saves time for these values."""
    best = terms.best()
    values = {
        "alpha": format_decimals(terms.alpha),
        "c": format_decimals(terms.c) if terms.c else "",
        "v": format_decimals(terms.verify) if terms.verify != 1.0 else "",
    }
    if best.gamma == 0:
        above = formula.can_pay(terms.alpha, terms.c)
        return text("cost", "formula_never_pays", **values, alpha_above_c=above)
    if best.gamma is None:
        limit = "" if best.speedup == inf else format_speedup(best.speedup)
        return text("cost", "formula_longer_is_better", **values, limit=limit)
    speedup = format_speedup(best.speedup)
    return text("cost", "formula_best", **values, gamma=best.gamma, speedup=speedup)


def chosen_sentence(terms: SpeedupModel, gamma: float) -> str:
    """Return the sentence on the prediction of the formula for the chosen γ."""
    if gamma == 0.0:
        return text("cost", "formula_nothing_drafted")
    here, shown = terms.speedup(gamma), format_decimals(gamma, 0)
    if abs(here - 1.0) < formula.TOLERANCE:
        return text("cost", "formula_break_even", gamma=shown)
    return text(
        "cost", "formula_chosen", gamma=shown, speedup=format_speedup(here), slower=here < 1.0
    )


def compared(run: Run) -> str:
    """Compare a run with the formula for the run's own α, γ, c and v, as sentences and a table."""
    point = run.point
    predicted = formula.expected_tokens(point.alpha, point.gamma)
    drafted = "draft tokens in a chain" if point.chain else "levels of the draft tree"
    kind = "measured on this machine" if run.source == "live" else "recorded"
    rows = [
        ("α", point.alpha, ALPHA),
        ("γ", point.gamma, drafted),
        ("c", point.c, "drafting one of them, in plain passes"),
        ("v", point.verify, "the verification pass, in plain passes"),
        ("tokens", point.tokens, f"{DRAFTED}; the formula predicts {predicted:.2f}"),
        ("tokens per pass", point.tokens_per_pass, EVERY_PASS),
    ]
    lines = [f"| {name} | {value:.2f} | {about} |" for name, value, about in rows if value]
    speeds = {"measured": point.speedup, "predicted": point.predicted}
    said = text(
        "cost", "run_compared", name=verbatim(run.name or "a run"), kind=kind,
        why=why(point, predicted), **{n: format_speedup(value) for n, value in speeds.items()},
    )  # fmt: skip
    return "\n".join([said, "", "| | this run | |", "|---|--:|---|", *lines])


def why(run: MeasuredPoint, predicted: float) -> str:
    """Return why formula and run differ: the larger one of two measurable reasons."""
    tree = not run.chain
    if abs(run.speedup / run.predicted - 1.0) < NEAR:
        return text("cost", "run_agrees", percent=f"{100 * NEAR:.0f}", tree=tree)
    rounds = formula.speedup_from_tokens(run.tokens, run.gamma * run.c, run.verify)
    by_tokens, by_time = log(run.tokens / predicted), log(run.speedup / rounds)
    gap = log(run.speedup / run.predicted)
    if by_tokens * gap > by_time * gap:
        return text(
            "cost", "run_tokens_differ", fewer=by_tokens < 0, tokens=f"{run.tokens:.2f}",
            predicted=f"{predicted:.2f}", tree=tree,
        )  # fmt: skip
    return text("cost", "run_time_differs", speedup=format_speedup(rounds), tree=tree)
