"""Your server's numbers: an instrument of the acceptance that a server counts, and the best γ.

The pasted text is parsed and not stored. The page removes unused lines before it sends the text.
Counted and simulated numbers are in separate outputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import gradio as gr

from specviz.cost import formula
from specviz.cost.figures.server import outlook_figure, positions_figure, steps_figure
from specviz.cost.formatting import format_speedup
from specviz.cost.server.flags import list_flags
from specviz.cost.server.loading import (
    JSON_NAMES,
    MAX_CHARACTERS,
    MetricsAddress,
    example,
)
from specviz.cost.server.outlook import LIMITS, Deployment
from specviz.cost.server.report import Report, build_report, format_rate
from specviz.cost.server.stats import (
    SeveralModels,
    UnreadableStats,
    accepted_by_length,
)
from specviz.cost.sources import HEAD
from specviz.settings.settings import require
from specviz.settings.value_types import parse_integer
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.cost.presets import dropdown, possible
from specviz.ui.instrument import Instrument, figure, shown, verbatim

SHOWN_STEPS: Final = 300  # maximum number of steps drawn for a request that reports each step
LONGEST_NAME: Final = 1_000  # maximum characters of a server's own name for its model
SITE: Final[dict[str, Any]] = {
    "hardware": "h100-sxm", "model": "llama-3.1-8b", "dtype": "bf16", "drafter": HEAD,
    "cards": 1, "context": 512, "batch": 0, "gamma": 0,
}  # fmt: skip
START: Final[dict[str, Any]] = {"now": "", "before": "", "named": None, **SITE}
# The example was measured on a CPU, with one sequence at a time.
MEASURED: Final = {**START, "hardware": "laptop-cpu", "model": "house", "dtype": "fp32"}
WHERE: Final = (
    ("vLLM", "`curl HOST:8000/metrics`",
     "drafts, accepted tokens by position, running sequences, time between outputs"),
    ("vLLM, one request or several as JSON lines", "`--per-request-spec-decode-metrics detailed`",
     "accepted and drafted tokens of every step; with `summary`, how many steps accepted 0, 1, …"),
    ("SGLang", "`curl HOST:30000/server_info`", "mean tokens per pass; nothing by position"),
    ("SGLang, one answer or several as JSON lines", "`meta_info` of `/generate`",
     "how many steps accepted 0, 1, 2, … tokens"),
    ("TensorRT-LLM", "`curl HOST:8000/prometheus/metrics`",
     "drafted and accepted tokens, by position"),
    ("llama.cpp", "`curl HOST:8080/metrics`", "the same as vLLM, if started with `--metrics`"),
)  # fmt: skip
# The texts are the first two controls.
SHORTEN: Final = "(...given) => window.specviz.shortened(given, %s, %d)"


def build(place: TabContext) -> None:
    """Build the instrument."""
    first, title = brief(_example_report(), example=True), "Your server’s numbers"
    with Instrument(place, "server", title, "counted", first) as instrument:
        gr.Markdown(text("server", "lead"))
        controls, buttons = _texts(place.metrics_from)
        outputs, take = _report()
        controls |= _deployment()
        with gr.Accordion("Where to find the statistics", open=True) as teach:
            gr.Markdown(where(), elem_classes="sv-listing")
    outputs |= {"teach": teach} | {n: controls[n] for n in ("named", *SITE) if n != "hardware"}
    js = SHORTEN % (json.dumps(JSON_NAMES), MAX_CHARACTERS)
    instrument.wire(controls, outputs, respond, js=js)
    place.controls["take"] = partial(instrument.press, take, taken)
    for name, change in buttons.items():
        instrument.press(name, change)


def _texts(metrics_from: str | None) -> tuple[dict[str, Any], dict[gr.Button, Any]]:
    found: dict[str, Any] = {
        "now": gr.Textbox(
            label="The server’s metrics, or an answer with counts", lines=8, max_lines=12,
            elem_classes="sv-mono", info=text("server", "privacy"),
        )
    }  # fmt: skip
    buttons: dict[gr.Button, Any] = {}
    with gr.Row():
        if metrics_from:
            address = MetricsAddress(metrics_from)
            buttons[_button("Read the server’s metrics")] = partial(fetched, address)
        buttons[_button("Load an example")] = example_values
        buttons[_button("Clear")] = cleared
    found["named"] = gr.Dropdown(
        [], label="Model on this server", visible=False, allow_custom_value=True
    )
    with gr.Accordion("Earlier snapshot, to count only what happened since", open=False):
        found["before"] = gr.Textbox(
            label="The same server’s metrics, fetched earlier", lines=4, max_lines=8,
            elem_classes="sv-mono",
        )  # fmt: skip
    return {name: found[name] for name in ("now", "before", "named")}, buttons


def _button(title: str) -> gr.Button:
    return gr.Button(title, size="sm", min_width=140)


def _deployment() -> dict[str, Any]:
    labels = {
        "hardware": "Machine", "model": "Target, or the most similar one", "drafter": "Drafter",
    }  # fmt: skip
    with gr.Row():
        found: dict[str, Any] = {
            name: dropdown(name, each, SITE[name], 240) for name, each in labels.items()
        }
    numbers = {
        "cards": "Devices sharing the work", "context": "Context: tokens in each KV cache",
        "batch": "Batch size (0: as reported)", "gamma": "γ (0: as reported)",
    }  # fmt: skip
    with gr.Row():
        found["dtype"] = dropdown("dtype", "Number format", SITE["dtype"])
        for name, label in numbers.items():
            found[name] = gr.Number(SITE[name], label=label, min_width=140)
    gr.Markdown(text("server", "deployment"), elem_classes="sv-note")
    return found


def _report() -> tuple[dict[str, Any], gr.Button]:
    found: dict[str, Any] = {"problem": gr.Markdown(visible=False, elem_classes="sv-notice")}
    with gr.Column(visible=False) as report:
        found["said"] = gr.Markdown()
        take = gr.Button(size="sm", visible=False)
        with gr.Row():
            for name, title in (
                ("places", "**Acceptance by position**, counted, with 95% intervals"),
                ("outlook", "**Speed-up by γ** over plain decoding, simulated"),
            ):
                with gr.Column(visible=False) as found[f"{name}_column"]:
                    gr.Markdown(title)
                    found[name] = figure(f"sv-server-{name}", f"server-{name}")
        found["flags"] = gr.Markdown()
        with gr.Column(visible=False) as found["steps_column"]:
            gr.Markdown("**Step by step**: the draft tokens of each step")
            found["steps"] = figure("sv-server-steps", "server-steps")
            found["lengths"] = gr.Markdown(elem_classes="sv-listing")
        with gr.Row():
            for name in ("facts", "table"):
                with gr.Column(min_width=320):
                    found[name] = gr.Markdown(elem_classes="sv-listing")
        found["limitations"] = gr.Markdown(elem_classes="sv-note")
    return found | {"report": report, "take": take}, take


def fetched(address: MetricsAddress, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of the host's server. Raises ValueError if there are none."""
    return {"now": address.text(), "before": "", "named": None}


def example_values(_: Mapping[str, Any]) -> dict[str, Any]:
    """Return the example: a real measurement, and the machine on which it was made."""
    return {**MEASURED, "now": example().text}


def cleared(_: Mapping[str, Any]) -> dict[str, Any]:
    """Return the initial values."""
    return START


def taken(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers that the rest of the tab takes over. Raises ValueError if α is unknown."""
    values, dropdowns = possible(values)
    made = report_of(values)
    pair = pair_of(made)
    require(pair is not None, "These statistics give no α.")
    batch = values["batch"] or made.stats.batch or 1
    site = {name: values[name] for name in ("hardware", "cards", "model", "context")}
    site |= {name: {**shown, "value": values[name]} for name, shown in dropdowns.items()}
    found = dict(zip(("alpha", "gamma"), pair or (), strict=True)) | site | {"batch": batch}
    return {f"tab_{name}": value for name, value in found.items()}


def pair_of(made: Report) -> tuple[float, int] | None:
    """Return the α that gives the same mean tokens per pass, and γ; None if γ is unknown."""
    gamma = made.stats.draft_length
    if not gamma or (made.stats.siblings or 1) > 1 or not 1 <= made.tokens.mean <= gamma + 1:
        return None
    return round(formula.solve_alpha(made.tokens.mean, gamma), 3), gamma


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError for an invalid deployment.

    If the text cannot be read, the report is hidden, since it belongs to another text.
    """
    values, dropdowns = possible(values)
    try:
        made = report_of(values) if str(values["now"]).strip() else None
    except UnreadableStats as problem:
        several = problem.models if isinstance(problem, SeveralModels) else ()
        names = gr.Dropdown([*several], value=None, visible=bool(several))
        sentence = gr.Markdown(verbatim(str(problem)), visible=True)
        return dropdowns | _nothing() | {"problem": sentence, "named": names}
    if made is None:
        hidden = {"problem": gr.Markdown(visible=False), "named": gr.Dropdown([], visible=False)}
        return dropdowns | _nothing() | hidden
    given = "reported: {:g}".format
    batch, gamma = made.stats.batch, made.stats.draft_length
    return {
        **dropdowns, **parts(values, made), "answer": verbatim(brief(made, shows_example(values))),
        "problem": gr.Markdown(visible=False), "teach": gr.Accordion(open=False),
        "report": gr.Column(visible=True),
        "batch": gr.Number(info=given(batch) if batch else "not reported, so 1"),
        "gamma": gr.Number(
            info=given(gamma) if gamma else "not reported", interactive=not gamma
        ),
    }  # fmt: skip


def _nothing() -> dict[str, Any]:
    return {
        "answer": brief(_example_report(), example=True),
        "report": gr.Column(visible=False),
        "teach": gr.Accordion(open=True),
        "batch": gr.Number(info=""),
        "gamma": gr.Number(info="", interactive=True),
    }


def report_of(values: Mapping[str, Any]) -> Report:
    """Return the report. Raises ValueError if the deployment is invalid, or UnreadableStats."""
    now, before, named = (str(values[name] or "") for name in ("now", "before", "named"))
    require(len(named) <= LONGEST_NAME, f"A name has at most {LONGEST_NAME:,} characters.")
    numbers = {name: _whole(name, values[name]) for name in LIMITS}
    names = {name: values[name] for name in ("hardware", "model", "dtype", "drafter")}
    site = Deployment(**names, **numbers)  # type: ignore[arg-type]
    return build_report(now, before, named or None, site.gamma, site)


def _whole(name: str, value: Any) -> int | None:
    # None for 0 where it means the reported value.
    number = parse_integer(LIMITS[name][0], value)
    return None if number == START[name] == 0 else number


def _example_report() -> Report:
    return report_of(example_values({}))


def shows_example(values: Mapping[str, Any]) -> bool:
    """Return whether the text is the example, not that of a visitor's server."""
    return bool(values["now"] == example().text)


def brief(made: Report, example: bool = False) -> str:
    """Return the tokens per pass and, if there is a prediction, the γ to use and for whom."""
    advised, pair = made.outlook and made.outlook.advised, pair_of(made)
    return text(
        "server", "brief", example=example, program=made.stats.program, keeps=keeps(made),
        tokens=f"{made.tokens.mean:.2f}", deployment=made.deployment,
        alpha=f"{pair[0]:.2f}" if pair else "",
        gamma=advised.gamma if advised else 0,
        speedup=format_speedup(advised.speedup) if advised else "",
    )  # fmt: skip


def keeps(made: Report) -> bool:
    """Return whether the server's own γ is the one to use."""
    return made.outlook is not None and made.outlook.advised is made.outlook.current


def parts(values: Mapping[str, Any], made: Report) -> dict[str, Any]:
    """Return the parts of the report."""
    pair, steps, positions = pair_of(made), made.stats.steps[:SHOWN_STEPS], made.positions
    advice = made.not_predicted or f"{' '.join(made.advice)} (simulated)"
    since = "answer_between" if str(values["before"] or "").strip() else "answer_since_start"
    lead = text("server", since, tokens=f"**{made.tokens.mean:.2f}**")
    origin = example().description if shows_example(values) else ""
    rates = [
        (f"{p.number}", format_rate(p.cumulative), format_rate(p.conditional)) for p in positions
    ]
    lengths = [
        (f"{drafted}", f"{len(accepted):,}", f"{sum(accepted) / len(accepted):.2f}")
        for drafted, accepted in accepted_by_length(made.stats).items()
    ]
    found = {
        "said": "\n\n".join([lead, verbatim(origin), verbatim(advice)]),
        "take": gr.Button(visible=False),
        "flags": flags(str(values["drafter"]), made),
        "facts": table(("Reported values", ""), made.facts),
        "table": table(("Position", "Accepted", "Accepted, if those before it were"), rates),
        "lengths": table(("Draft length", "Steps", "Mean accepted tokens"), lengths),
        "limitations": "\n".join(f"- {verbatim(said)}" for said in made.limitations),
        **{f"{name}_column": gr.Column(visible=bool(drawn)) for name, drawn in
           (("places", positions), ("outlook", made.outlook), ("steps", steps))},
    }  # fmt: skip
    if pair:
        title = f"Use α = {pair[0]:.2f}, γ = {pair[1]} and this machine on the whole tab"
        found["take"] = gr.Button(title, visible=True)
    if positions:
        words = ", ".join(f"{p.number}: {format_rate(p.cumulative)}" for p in positions)
        found["places"] = shown(positions_figure(positions), words)
    if made.outlook:
        found["outlook"] = shown(outlook_figure(made.outlook), made.advice[0])
    if steps:
        first = "" if len(steps) == len(made.stats.steps) else f"The first {len(steps)} steps. "
        words = first + ", ".join(f"{kept} of {drafted}" for kept, drafted in steps)
        found["steps"] = shown(steps_figure(steps), words)
    return found


def flags(drafter: str, made: Report) -> str:
    """Return the options that start each program with the advised γ, as blocks to copy."""
    if made.outlook is None:
        return ""
    gamma = made.outlook.advised.gamma
    if not gamma:
        return text("server", "flags_plain")
    said = text("server", "flags", gamma=gamma, keeps=keeps(made))
    return f"{said}\n\n{list_flags(drafter, gamma)}"


def where() -> str:
    """Return where each program reports its statistics."""
    lines = "\n".join(f"| {' | '.join(row)} |" for row in WHERE)
    head = "| Server | Command | It reports |\n|---|---|---|\n"
    return head + lines + "\n\n" + text("server", "command_line")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts as Markdown; "" without rows."""
    if not rows:
        return ""
    lines = [f"| {' | '.join(map(verbatim, row))} |" for row in rows]
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n" + "\n".join(lines)
