"""Other hardware and batch sizes: an instrument of the roofline. Everything in it is simulated,
except the published result beside the prediction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from itertools import accumulate
from operator import mul
from typing import Any, Final, Self

import gradio as gr

from specviz.cost import formula, sources
from specviz.cost import roofline as batches
from specviz.cost.figures.roofline import (
    BATCH_STOPS,
    gamma_figure,
    pass_figure,
    round_figure,
    speed_figure,
)
from specviz.cost.formatting import (
    describe_machines,
    format_duration,
    format_figures,
    format_memory,
    format_quantity,
    format_short_figures,
    format_speedup,
)
from specviz.cost.published import (
    KINDS,
    Setup,
    board_numbers,
    nearest_reports,
    under_other_load,
    unstated_facts,
)
from specviz.cost.roofline import (
    DraftPlan,
    ModelShape,
    Prediction,
    Serving,
    free_tokens,
    memory_needed,
    pass_time,
    predict,
)
from specviz.cost.server.flags import list_flags
from specviz.cost.sources import HEAD, NGRAM, Published, at_extremes, drafters, speedup_range
from specviz.settings.settings import Settings, require
from specviz.settings.specs import MAX_GAMMA
from specviz.settings.value_types import parse_integer, parse_integers, parse_number
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.cost.pair import OWN, Run, read_runs, tree_of
from specviz.ui.cost.pair import START as PAIR
from specviz.ui.cost.pair import published as accepted
from specviz.ui.cost.presets import dropdown, possible
from specviz.ui.instrument import Instrument, figure, shown, verbatim

LARGEST: Final = 512  # the largest batch size tried
SOME: Final = (1, 8, 64, 512)  # batch sizes in a short list
BOUND: Final = {"memory": "memory bandwidth", "compute": "arithmetic"}
LIMITS: Final[Mapping[str, tuple[str, int, int]]] = {  # name in errors, minimum, maximum
    "cards": ("The number of devices", 1, 64),
    "context": ("The context", 0, 131_072),
    "gamma": ("γ", 0, MAX_GAMMA),
    "batch": ("The batch size", 1, 512),
    "reading": ("The share of the peak bandwidth", 5, 100),
    "computing": ("The share of the peak arithmetic", 5, 100),
}
SLOWEST: Final = 1000  # maximum overhead in ms
SAME: Final = 0.005  # difference up to which speed-ups are equal as shown
START: Final[dict[str, Any]] = {
    "hardware": "h100-sxm",
    "cards": 1,
    "dtype": "bf16",
    "model": "llama-3.1-8b",
    "context": 512,
    "overhead": 0,
    "drafter": HEAD,
    "siblings": "",
    "tree": (),
    "batch": 64,
    **PAIR,
}  # fmt: skip; the efficiencies are those of the sources
EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{f"Batch {size}": {"batch": size} for size in (1, 8, 16, 64, 256, 512)},
    "House on a laptop": {
        "hardware": "laptop-cpu", "cards": 1, "dtype": "fp32", "model": "house",
        "drafter": "house-draft", "batch": 1,
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """The values of the roofline's controls.

    Attributes:
        context: Tokens in each sequence's cache.
        overhead: Additional milliseconds that each pass takes.
        drafter: NGRAM, HEAD or the name of a model.
        gamma: Draft tokens in a chain, or levels of a tree.
        siblings: Children per node at each depth, then 1, as in a run's settings; empty for
            a chain.
        tree: Draft tokens by level with which α was measured, used if `siblings` is empty.
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
    tree: tuple[int, ...]
    alpha: float
    batch: int
    reading: int
    computing: int

    @classmethod
    def from_values(cls, data: Mapping[str, Any]) -> Self:
        """Validate the controls' values. Raises ValueError if they are invalid."""
        names = {f.name for f in fields(cls)}
        numbers = {name: _limited(name, data[name]) for name in LIMITS}
        alpha = parse_number("α", data["alpha"])
        overhead = parse_number("The overhead", data["overhead"])
        require(0 <= alpha <= 1, f"α must be a probability from 0 to 1, not {alpha:g}.")
        require(0 <= overhead <= SLOWEST, f"The overhead must be between 0 and {SLOWEST:,} ms.")
        siblings = parse_integers("Siblings at each depth", data["siblings"])
        Settings(gamma=max(numbers["gamma"], 1), siblings=siblings)  # the limits of a run
        found = {**data, **numbers, "alpha": alpha, "overhead": overhead}
        return cls(**{name: found[name] for name in names} | {"siblings": tuple(siblings)})

    @property
    def machine(self) -> sources.Machine:
        """The hardware's preset."""
        return sources.machines()[self.hardware]

    @property
    def devices(self) -> str:
        """The hardware as words for a sentence."""
        return describe_machines(self.machine.title, self.cards)

    @property
    def serving(self) -> Serving:
        """The target on the hardware."""
        return Serving(
            sources.models()[self.model].shape, self.machine.hardware, self.dtype, self.context,
            self.cards, self.overhead / 1000, self.reading / 100, self.computing / 100,
        )  # fmt: skip

    @property
    def draft(self) -> ModelShape | None:
        """The drafter's shape; None if drafting takes no time."""
        return drafters(self.model)[self.drafter][1]

    @property
    def plan(self) -> DraftPlan:
        """The drafts of a round; siblings share α, and only their sum affects the result."""
        children = [*self.siblings, *[1] * self.gamma][: self.gamma]
        widths = tuple(accumulate(children, mul))
        if self.measured_tree:
            widths = (*self.tree, *self.tree[-1:] * self.gamma)[: self.gamma]
        return DraftPlan(formula.expected_tokens(self.alpha, self.gamma), widths, self.draft)

    @property
    def measured_tree(self) -> bool:
        """Whether the drafts are trees because α was measured with trees."""
        return bool(self.tree and self.gamma and not self.siblings)

    @property
    def called(self) -> str:
        """The chosen chain or tree as words: "γ = 4", or "this tree"."""
        widths = self.plan.widths
        chain = sum(widths) == len(widths)
        return f"γ = {len(widths)}" if chain else f"this tree of {sum(widths)} draft tokens"


def _limited(name: str, value: Any) -> int:
    words, least, most = LIMITS[name]
    number = parse_integer(words, value)
    sentence = f"{words} must be between {least} and {most:,}, not {number:,}."
    require(least <= number <= most, sentence)
    return number


def start() -> dict[str, Any]:
    """Return the initial values, with the efficiencies of the sources."""
    return START | {name: found.default for name, found in sources.efficiencies().items()}


def build(place: TabContext) -> None:
    """Build the instrument."""
    first = start()
    title, answered = "Other hardware and batch sizes", answer(Ask.from_values(first))
    with place.controls["question"]:
        said = gr.Markdown(answered["verdict"])
    with place.controls["origin"]:
        note = gr.Markdown(visible=False, elem_classes="sv-pair-said")
    with Instrument(
        place, "roofline", title, "simulated", answered["answer"], wide=True
    ) as instrument:
        with gr.Row(elem_classes="sv-beside"):
            label = "Batch size: sequences per pass"
            batch = gr.Number(first["batch"], label=label, min_width=220)
            buttons = [gr.Button(name, min_width=90) for name in EXAMPLES]
        controls = {"batch": batch, **_controls(first)}
        nearest = gr.Markdown(answered["published"])  # below them, since its height changes
        outputs = {
            **_outputs(),
            "verdict": said,
            "note": note,
            "published": nearest,
            **{name: controls[name] for name in ("dtype", "drafter")},
        }
        for part in ("roofline_lead", "roofline_how"):
            gr.Markdown(text("cost", part), elem_classes="sv-note")
        with gr.Accordion("Sources of these figures", open=False):
            gr.Markdown(sources_list(), elem_classes="sv-note")
    place.controls.pop("connect")(controls["drafter"])
    pair = {name: place.controls[name] for name in ("alpha", "gamma")}
    shared = pair | {name: place.controls[name] for name in ("source", "runs")}
    keys = {name: name for name in controls}
    instrument.wire(controls, outputs, respond, keys=keys, shared=shared)
    if take := place.controls.get("take"):  # of the server's numbers, unless their files are broken
        others = {f"tab_{name}": control for name, control in {**controls, **pair}.items()}
        instrument.follow(take(others))
    for button, values in zip(buttons, EXAMPLES.values(), strict=True):
        instrument.press(button, partial(_example, values))


def _example(values: Mapping[str, Any], _: Mapping[str, Any]) -> Mapping[str, Any]:
    return values


def _controls(first: Mapping[str, Any]) -> dict[str, Any]:
    reached, found = sources.efficiencies(), dict[str, Any]()
    with gr.Row():
        found["hardware"] = dropdown("hardware", "Machine", first["hardware"], 320)
        found["cards"] = _number("Devices sharing the work", first["cards"])
        found["dtype"] = dropdown("dtype", "Number format", first["dtype"])
    with gr.Row():
        found["model"] = dropdown("model", "Target", first["model"], 320)
        found["context"] = _number("Context: tokens in each KV cache", first["context"])
        found["overhead"] = _number("Overhead per pass, ms", first["overhead"])
    with gr.Row():
        found["drafter"] = dropdown("drafter", "Drafter", first["drafter"], 320)
        found["siblings"] = gr.Textbox(
            first["siblings"],
            label="Children per node, level by level", max_length=100, scale=2,
            min_width=320,
            info=text("cost", "roofline_siblings"),
        )  # fmt: skip
    with gr.Row():
        for name in ("reading", "computing"):
            low, high = reached[name].low, reached[name].high
            found[name] = gr.Slider(
                *LIMITS[name][1:], first[name], step=1, label=f"% of the {reached[name].title}",
                min_width=280,
                info=text("cost", "efficiency_reported", low=low, high=high),
            )  # fmt: skip
    return found


def _number(label: str, value: float) -> Any:
    return gr.Number(value, label=label, min_width=140)


def _outputs() -> dict[str, Any]:
    found: dict[str, Any] = {"facts": gr.Markdown(elem_classes="sv-note")}
    found["alert"] = gr.Markdown(visible=False, elem_classes="sv-notice")
    found["said"] = gr.Markdown()
    with gr.Accordion("Flags for vLLM, SGLang and llama.cpp", open=False):
        found["flags"] = gr.Markdown()
    with gr.Row():
        with gr.Column():
            gr.Markdown("**Speed-up** by batch size; 1 × is plain decoding at the same batch size")
            found["speed"] = figure("sv-roofline-speed", "speed-up-by-batch")
        with gr.Column():
            gr.Markdown("**Time of a target pass** at this batch size")
            found["pass"] = figure("sv-roofline-pass", "time-of-a-pass")
    with gr.Row():
        with gr.Column():
            gr.Markdown(f"**Best γ** by batch size, for a chain of up to {MAX_GAMMA}")
            found["gamma"] = figure("sv-roofline-gamma", "best-gamma")
        with gr.Column():
            gr.Markdown("**One round** of one sequence")
            found["round"] = figure("sv-roofline-round", "round-on-this-hardware")
            found["table"] = gr.Markdown(elem_classes="sv-listing")
    return found


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    asked, dropdowns = possible(values)
    runs = read_runs(values.get("runs"))
    tree = tree_of(values.get("source", OWN), runs)
    given = parse_number("γ", values["gamma"])
    gamma = round(given)
    ask = Ask.from_values({**asked, "gamma": gamma, "tree": tree})
    found = answer(ask)
    note = text("cost", "roofline_gamma", gamma=gamma) if gamma != given else ""
    other = other_drafter(ask, values.get("source", OWN), runs)
    drawn = {name: shown(drawing, words) for name, (drawing, words) in found["figures"].items()}
    return {
        **{name: found[name] for name in ("answer", "published", "verdict", "facts")},
        "said": f"{found['said']} {note}".strip(), "table": found["table"], "flags": found["flags"],
        "alert": gr.Markdown(found["alert"], visible=bool(found["alert"])),
        "note": gr.Markdown(other, visible=bool(other)), **dropdowns, **drawn,
    }  # fmt: skip


def other_drafter(ask: Ask, source: str, runs: Mapping[str, Run]) -> str:
    """Say that α is not the chosen drafter's: it is another's, or above all published for it."""
    title, known = drafters(ask.model)[ask.drafter][0], accepted()
    if source in runs or source in known:
        same = source in known and known[source].drafter == ask.drafter
        whose = runs[source].name if source in runs else known[source].title
        shown_as = {"whose": verbatim(whose or "a run"), "drafter": title}
        return "" if same else text("cost", "pair_other_drafter", **shown_as)
    kind = [each for each in known.values() if each.drafter == ask.drafter]
    best = max(kind, key=lambda each: each.effective_alpha, default=None)
    if not best or ask.alpha <= best.effective_alpha:
        return ""
    return text(
        "cost", "pair_above_published", drafter=title, alpha=f"{best.effective_alpha:.2f}",
        whose=f"{best.title} on {best.on}",
    )  # fmt: skip


@lru_cache(maxsize=256)
def answer(ask: Ask) -> dict[str, Any]:
    """Return the sentences, figures and table; the result is cached, so do not modify it."""
    serving, plan, batch = ask.serving, ask.plan, ask.batch
    found = predict(serving, plan, batch)
    loss = batches.first_losing_batch(serving, plan, LARGEST)
    words = descriptions(ask)
    return {
        "answer": brief(ask),
        "published": published(ask),
        "verdict": verdict(ask),
        "facts": f"{machine_facts(ask)}<br>{model_facts(ask)}",
        "alert": "" if found.fits else alert(ask),
        "said": sentence(ask, found, loss),
        "flags": flags(ask),
        "table": table(ask, found),
        "figures": {
            "speed": (speed_figure(serving, plan, batch, loss), words["speed"]),
            "pass": (pass_figure(serving, batch, 1 + sum(plan.widths)), words["pass"]),
            "gamma": (gamma_figure(serving, plan, ask.alpha, batch), words["gamma"]),
            "round": (round_figure(found), words["round"]),
        },
    }


def flags(ask: Ask) -> str:
    """Return the options that start each program with the best γ of a chain, to copy."""
    if sum(ask.plan.widths) > len(ask.plan.widths):
        return text("server", "flags_tree")
    best = batches.best_gamma(ask.serving, ask.alpha, ask.batch, ask.plan.draft, MAX_GAMMA)
    if not best:
        return text("server", "flags_plain")
    said = text("server", "flags", gamma=best, keeps=False)
    return f"{said}\n\n{list_flags(ask.drafter, best)}"


def descriptions(ask: Ask) -> dict[str, str]:
    """Return the figures in words, for screen readers."""
    serving, plan, batch = ask.serving, ask.plan, ask.batch
    gains = [format_speedup(predict(serving, plan, b).speedup) for b in batches.BATCHES]
    passes = [format_duration(pass_time(serving, batch, n).seconds) for n in (1, 4, 16, 64)]
    best = [batches.best_gamma(serving, ask.alpha, b, plan.draft, MAX_GAMMA) for b in SOME]
    found = predict(serving, plan, batch)
    draft, verify = found.draft / found.plain, found.verify / found.plain
    return {
        "speed": "Speed-up by batch size: " + _listed(batches.BATCHES, gains),
        "pass": f"Time of a target pass at batch size {batch} by tokens: "
        + _listed((1, 4, 16, 64), passes),
        "gamma": "Best γ by batch size: " + _listed(SOME, map(str, best)),
        "round": f"A round adds {found.tokens:.2f} tokens and costs {draft:.2f} plain passes for "
        f"drafting and {verify:.2f} for verification.",
    }


def _listed(places: Iterable[int], values: Iterable[str]) -> str:
    pairs = zip(places, values, strict=True)
    return ", ".join(f"{value} at {place}" for place, value in pairs) + "."


def verdict(ask: Ask) -> str:
    """Say in one sentence whether drafting pays, and which γ would be faster."""
    found = predict(ask.serving, ask.plan, ask.batch)
    low, high = speedup_range(ask.serving, ask.plan, ask.batch)
    best = batches.best_chain(ask.serving, ask.alpha, ask.batch, ask.plan.draft, MAX_GAMMA)
    gain, guesses = found.speedup - 1, sum(ask.plan.widths)
    chain = guesses == len(ask.plan.widths)  # a chain does not reach the α of a tree
    faster = chain and found.fits and best.speedup > found.speedup + SAME
    return text(
        "cost", "pair_verdict", devices=ask.devices, model=sources.models()[ask.model].title,
        batch=ask.batch, speedup=format_speedup(found.speedup), fits=found.fits,
        gain=gain if abs(gain) >= SAME else 0, uncertain=low < 1 < high,
        drafts=bool(ask.plan.widths), best=best.gamma if faster else 0,
        best_speedup=format_speedup(best.speedup), tree=guesses if ask.measured_tree else 0,
    )  # fmt: skip


def brief(ask: Ask) -> str:
    """Return the speed-up with what it depends on most."""
    model = sources.models()[ask.model].title
    if not ask.plan.widths:
        time = format_duration(predict(ask.serving, ask.plan, ask.batch).plain)
        setup = {"devices": ask.devices, "batch": ask.batch, "model": model}
        return text("cost", "roofline_nothing_drafted", **setup, time=time)
    gain = predict(ask.serving, ask.plan, ask.batch).speedup
    low, high = speedup_range(ask.serving, ask.plan, ask.batch)
    return text(
        "cost", "roofline_answer", model=model, devices=ask.devices, batch=ask.batch,
        drafting=ask.called, alpha=f"{ask.alpha:.2f}", speedup=format_speedup(gain),
        span=_span(low, high), overhead=f"{ask.overhead:g}" if ask.overhead else "",
        uncertain=("slower" if gain >= 1 else "faster") if low < 1 < high else "",
    )  # fmt: skip


def _span(low: float, high: float) -> str:
    # "the same" if its ends are equal as shown.
    ends = [format_speedup(end) for end in (low, high)]
    return f"{ends[0].removesuffix(' ×')} to {ends[1]}" if ends[0] != ends[1] else "the same"


def sentence(ask: Ask, found: Prediction, loss: int | None) -> str:
    """Say what verification costs, from which batch size drafting is slower, and which γ is best.

    loss: the smallest batch size at which speculative decoding is slower, if any.
    """
    tokens = 1 + sum(ask.plan.widths)
    if tokens == 1:
        return best_sentence(ask)
    free = free_tokens(ask.serving, ask.batch)
    if free >= tokens:
        verification = text("cost", "verification_memory_bound")
    elif free >= 2:
        verification = text("cost", "verification_past_the_ridge", free=free)
    else:
        verification = text("cost", "verification_compute_bound")
    first = text(
        "cost", "roofline_verification", tokens=tokens, ratio=f"{found.verify / found.plain:.2f}",
        verification=verification, drafting=ask.called,
        rest=slower_at(ask, loss),
    )  # fmt: skip
    return f"{first} {best_sentence(ask)}"


def slower_at(ask: Ask, loss: int | None) -> str:
    """Return at which batch sizes speculative decoding is slower."""
    fitting = batches.largest_fitting_batch(ask.serving, ask.plan, LARGEST)
    if loss is None or loss > fitting:
        return text("cost", "never_slower", limit=fitting, memory=fitting < LARGEST)
    larger = [predict(ask.serving, ask.plan, b).speedup for b in BATCH_STOPS if b > loss]
    always = all(gain < 1 for gain in larger)
    if loss == 1 and always:
        return text("cost", "always_slower")
    return text("cost", "slower_from", batch=loss, always=always, shortest=shortest(ask, loss))


def shortest(ask: Ask, loss: int) -> str:
    """Return from which batch size a chain of one token is slower, if a longer one is from `loss`.

    It is empty if that is no later, and for trees, whose α a chain does not have.
    """
    levels = len(ask.plan.widths)
    if levels == 1 or sum(ask.plan.widths) > levels:
        return ""
    plan = DraftPlan.chain(ask.alpha, 1, ask.draft)
    limit = batches.largest_fitting_batch(ask.serving, plan, LARGEST)
    last = batches.first_losing_batch(ask.serving, plan, limit)
    if last is None:
        return f"up to {limit} it is not"
    return f"only from {last} on" if last > loss else ""


def best_sentence(ask: Ask) -> str:
    """Return which draft length up to MAX_GAMMA would be best, and the range over efficiencies."""
    draft = ask.plan.draft
    best = batches.best_chain(ask.serving, ask.alpha, ask.batch, draft, MAX_GAMMA)
    known = [
        batches.best_gamma(serving, ask.alpha, ask.batch, draft, MAX_GAMMA)
        for serving in at_extremes(ask.serving)
    ]
    span = f"{min(known)} to {max(known)}" if min(known) < max(known) else ""
    if not best.gamma:
        return text("cost", "roofline_never_pays", span=span)
    widths = ask.plan.widths
    if len(widths) == best.gamma == sum(widths):
        return text("cost", "roofline_yours_is_best", gamma=best.gamma, span=span)
    return text(
        "cost", "roofline_best", span=span, gamma=best.gamma,
        speedup=format_speedup(best.speedup), longest=best.gamma == MAX_GAMMA,
        chain=sum(widths) > len(widths),
    )  # fmt: skip


def published(ask: Ask) -> str:
    """Return the nearest published measurements with their conditions and sources."""
    kind = {HEAD: "head", NGRAM: "n-gram"}.get(ask.drafter, "model")
    found = nearest_reports(Setup(kind, ask.batch, ask.model, ask.hardware))
    if not found:
        return text("cost", "roofline_unreported")
    reports = [f"- {report_sentence(ask, each, KINDS[each.method] == kind)}" for each in found]
    why = text("cost", "roofline_why", alpha=f"{ask.alpha:.2f}")
    return "\n\n".join([text("cost", "roofline_closest"), *reports, why])


def report_sentence(ask: Ask, found: Published, same_kind: bool) -> str:
    """Return a published measurement, and in what its setup differs from the chosen one."""
    said = [fact for fact in (found.model, found.hardware) if fact != sources.NOT_STATED]
    number = found.number
    if found in board_numbers():
        said, number = [*said, "Spec-Bench"], f"{found.gain:.2f} ×"
    missing = unstated_facts(found)
    notes = [] if same_kind else [text("cost", "report_other_kind")]
    if found.load:
        notes.append(text("cost", "report_load"))
    elif missing:
        notes.append(text("cost", "report_unstated", facts=" or the ".join(missing)))
    if found.batch and found.batch != ask.batch:
        notes.append(text("cost", "report_other_batch", theirs=found.batch, ours=ask.batch))
    low, _ = speedup_range(ask.serving, ask.plan, ask.batch)
    if found.gain < low - SAME:
        notes.append(text("cost", "report_below", low=format_speedup(low)))
    twin = under_other_load(found)
    other = twin and text("cost", "report_other_load", number=twin.number, load=twin.load)
    return text(
        "cost", "roofline_report", number=number, notes=" ".join(notes), other=other,
        about=verbatim(f"{found.method}: {', '.join([*said, found.conditions])}"),
        source=verbatim(found.source.title), link=found.source.url,
        evidence=sources.EVIDENCE[found.source.evidence],
    )  # fmt: skip


def alert(ask: Ask) -> str:
    """Return the warning that weights and KV caches do not fit in memory."""
    needed = batches.round_memory(ask.serving, ask.plan, ask.batch)
    return text(
        "cost", "does_not_fit", needed=format_quantity(needed, "B"), devices=ask.cards,
        memory=format_memory(ask.cards * ask.machine.memory),
    )  # fmt: skip


def table(ask: Ask, found: Prediction) -> str:
    """Return a table of plain and speculative decoding."""
    serving, number = ask.serving, 1 + sum(ask.plan.widths)
    one, many = (BOUND[pass_time(serving, ask.batch, n).bound] for n in (1, number))
    rates = found.plain_tokens_per_second, found.tokens_per_second
    needed = batches.round_memory(serving, ask.plan, ask.batch)
    available = ask.cards * ask.machine.memory
    plain_needed = format_quantity(memory_needed(serving, ask.batch), "B")
    rows: Sequence[tuple[str, ...]] = [
        ("Whole batch, tokens/s", *map(format_figures, rates)),
        ("Per sequence, tokens/s", *(format_figures(rate / ask.batch) for rate in rates)),
        ("Target pass", format_duration(found.plain), format_duration(found.verify)),
        ("Limited by", one, many),
        ("Memory", plain_needed,
         f"{format_quantity(needed, 'B')} of {format_memory(available)}"),
    ]  # fmt: skip
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "| | plain | speculative |\n|---|--:|--:|\n" + "\n".join(lines)


def machine_facts(ask: Ask) -> str:
    """Return the figures of the machine in this number format."""
    machine, dtype = ask.machine, ask.dtype
    peak = format_quantity(machine.peak[dtype], "FLOP/s", format_short_figures)
    return (
        f"{peak} in {dtype} · {format_quantity(machine.bandwidth, 'B/s', format_short_figures)} · "
        f"{format_memory(machine.memory)} · ridge at {machine.hardware.ridge(dtype):.0f} "
        f"FLOP/byte. {machine.note}"
    )


def model_facts(ask: Ask) -> str:
    """Return the figures of the target in this number format."""
    shape = sources.models()[ask.model].shape
    large = shape.parameters >= 1e9
    size, word = (1e9, "billion") if large else (1e6, "million")
    return (
        f"{format_figures(shape.parameters / size)} {word} parameters · a pass reads "
        f"{format_quantity(shape.weight_bytes(ask.dtype), 'B')} of weights and "
        f"{format_quantity(shape.cache_bytes(ask.dtype), 'B')} per cached token."
    )


def sources_list() -> str:
    """Return the sources of all presets as Markdown, each with how it was read."""
    kinds = (sources.efficiencies(), sources.machines(), sources.models())
    lines = []
    for one in (one for kind in kinds for one in kind.values()):
        lines.append(f"\n**{verbatim(one.title[:1].upper() + one.title[1:])}**\n")
        for source in one.sources:
            name, web = verbatim(source.title), source.url.startswith("https://")
            where = f"[{name}]({source.url})" if web else f"{name} ({source.url})"
            note = f": {verbatim(source.note)}" if source.note else ""
            lines.append(f"- {where}, {sources.EVIDENCE[source.evidence]}{note}")
        if sheet := getattr(one, "sheet", ""):
            lines.append(f"- vendor’s data sheet, as cited by these, not read: {verbatim(sheet)}")
        if note := getattr(one, "note", ""):
            lines.append(f"\n{verbatim(note)}")
    return "\n".join(lines)
