"""Grow a draft tree step by step: immediately at a recorded position, or after a visitor's text.

For a visitor's text, the models are run once, as a job in the queue. After that, every tree is
computed without a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import Any, Final, Self

import gradio as gr

from specviz.catalog.entry import entries, title_of, with_defaults
from specviz.settings.settings import Settings
from specviz.shipped import EXAMPLE, prompts
from specviz.texts import text
from specviz.trees import shapes
from specviz.trees.recorded_position import (
    LEVELS,
    WIDEST,
    RecordedPosition,
    is_position_file,
)
from specviz.trees.shapes import PRESETS, Parameters, check_range
from specviz.ui.broken import read_unless_broken
from specviz.ui.component import TabContext
from specviz.ui.instrument import DIRECT, Instrument, figure, shown, verbatim
from specviz.ui.live import job_view
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.stream import progress
from specviz.ui.task import JobContext, Task, gpu_seconds
from specviz.ui.trees.drawing import HELD, names

KINDS: Final[Mapping[str, str]] = {
    "dynamic": "Dynamic, as in EAGLE-2",
    "chain": "A chain",
    "regular": "The same number of children everywhere",
    "eagle-25": "EAGLE-1’s 25 guesses",
    "medusa-63": "Medusa’s 63 guesses",
    "optimised": "Optimal for acceptance by rank (Sequoia)",
    "own": "Your own, as JSON",
}
SEEDS: Final = 2**31
MOST_STEPS: Final = 500  # more than any tree has
MOST_BUDGET: Final = 63  # with the root 64 rows, the largest pass that was timed
# The sizes that each shape has; others have none.
SIZES: Final[Mapping[str, Sequence[str]]] = {
    "dynamic": ("depth", "width", "budget"),
    "chain": ("depth",),
    "regular": ("depth", "width"),
    "optimised": ("depth", "budget"),
}
WORDS: Final = {
    "start": "Start", "expand": "Expand", "frontier": "Frontier", "rerank": "Rerank",
    "mask": "Mask", "verify": "Verify",
}  # fmt: skip
LOOKING: Final = 200  # how many tokens could be decoded in about the time of recording a position
MOST_SKIPPED: Final = 64  # maximum number of tokens of the answer before the position
GROWS: Final = (
    "eagle3", "eagle2", "eagle", "medusa", "moa", "draft-model", "layerskip", "mtp-parallel",
    "lmtp", "dflash", "jetspec", "oracle",
)  # fmt: skip
KEYS: Final = {
    "tree": ("place", "kind", "depth", "width", "budget", "seed", "cold", "step"),
    "tree-shape": "own",
    "tree-text": ("prompt", "drafter", "skip"),
}


@dataclass(frozen=True, slots=True)
class GrowQuestion:
    """A position, the shape of a tree, and how the tree is judged.

    Attributes:
        own: The visitor's own shape as JSON text.
        cold: Whether to judge at temperature 0 instead of 1.
    """

    place: str
    kind: str
    parameters: Parameters
    own: str
    seed: int
    cold: bool

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Validate the controls' values. Raises ValueError if they are invalid."""
        if values["kind"] not in KINDS:
            raise ValueError(f"The shape must be one of {', '.join(KINDS)}.")
        return cls(
            str(values["place"]),
            values["kind"],
            Parameters.of({name: values[name] for name in ("depth", "width", "budget")}),
            str(values["own"]) if values["kind"] == "own" else "",
            check_range("The number of the coins", values["seed"], 1, SEEDS),
            values["cold"] == "cold",
        )

    def parents(self, chances: list[float]) -> list[int]:
        """Return the shape of a static tree. Raises BadTree if the shape is invalid."""
        size = self.parameters
        if self.kind == "chain":
            return shapes.chain(size.depth)
        if self.kind == "regular":
            return shapes.regular_tree(size.width, size.depth)
        if self.kind == "optimised":
            return shapes.optimal_tree(chances, size.budget, size.depth)
        if self.kind == "own":
            return shapes.from_text(self.own)
        return shapes.published_tree(self.kind)


def build(place: TabContext) -> None:
    """Build the instrument and connect its events."""
    first, title = text("trees", "grow_first"), "Grow a draft tree"
    with Instrument(place, "grow", title, "computed exactly", first, wide=True) as instrument:
        gr.Markdown(text("trees", "grow_lead"))
        with gr.Column(elem_id="sv-grow-shape"):
            controls, preset = build_shape()
        outputs: dict[str, Any] = {"preset": preset}
        back, forward = build_steps(controls)
        outputs |= {"text": gr.Markdown(), "back": back, "next": forward}
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                outputs["tree"] = figure("sv-grow-tree", "draft-tree")
                outputs["source"] = gr.Markdown(elem_classes="sv-note")
                controls |= build_display()
                gr.Markdown(text("trees", "grow_legend"), elem_classes="sv-note")
                outputs["misfits"] = gr.Markdown(
                    elem_classes="sv-listing", elem_id="sv-grow-misfits"
                )
            with gr.Column(scale=2, min_width=320):
                outputs |= build_selected(controls)
        outputs["form"], live, job = build_live(place, controls)
        with gr.Row():
            with gr.Column(min_width=320):
                outputs["lengths"] = build_gains(controls)
            with gr.Column(min_width=320):
                gr.Markdown("### Is one more guess worth its cost?")
                outputs["payoff"] = figure("sv-grow-payoff", "gain-and-cost")
                gr.Markdown(text("trees", "grow_payoff"), elem_classes="sv-note")
                outputs["paid"] = gr.Markdown()
        with gr.Accordion("The same tree in the formats of SGLang, EAGLE and Medusa", open=False):
            outputs["formats"] = gr.Markdown(elem_classes="sv-formats")
    sized = {name: controls[name] for name in ("own", "depth", "width", "budget")}
    outputs |= sized | {name: controls[name] for name in ("step", "last", "picked")}
    instrument.wire(controls, outputs, respond, keys=KEYS)
    instrument.press(back, partial(moved, by=-1))
    instrument.press(forward, partial(moved, by=1))
    sizes = [controls[name] for name in ("kind", "depth", "width", "budget")]
    instrument.follow(preset.input(preset_size, preset, sizes, **DIRECT))
    instrument.hear(outputs["tree"].point, picked_guess)
    instrument.hear(outputs["mask"].point, picked_guess)
    place.controls["live"] = live
    done = job.result(taken, None, [live, controls["place"], controls["step"]], **DIRECT)
    place.changes["live"] = done
    instrument.follow(done)


def build_shape() -> tuple[dict[str, Any], gr.Dropdown]:
    """Build the controls of the position and of the tree's shape; also return the presets."""
    with gr.Row():
        positions = [(title, name) for name, title in names()]
        place = gr.Dropdown(positions, value=positions[0][1], label="Position", min_width=150)
        kind = gr.Dropdown(
            [(title, name) for name, title in KINDS.items()], value="dynamic", label="Shape",
            min_width=150,
        )  # fmt: skip
        sizes = [("Custom (sliders)", -1), *((t, n) for n, (t, _) in enumerate(PRESETS))]
        preset = gr.Dropdown(sizes, value=-1, label="Preset size", min_width=150, interactive=True)
        depth = gr.Slider(1, LEVELS, 4, step=1, label="Depth γ", min_width=170)
        width = gr.Slider(1, WIDEST, 3, step=1, label="Top-k", min_width=170)
        budget = gr.Slider(1, MOST_BUDGET, 10, step=1, label="Budget", min_width=170)
    own = gr.Textbox(
        "[-1, 0, 0, 1, 1, 2, 3]", lines=2, max_lines=6, visible=False, elem_classes="sv-mono",
        label="A JSON list of parents (−1 for the root), or of rank paths",
    )  # fmt: skip
    controls = {
        "place": place, "kind": kind, "depth": depth, "width": width, "budget": budget, "own": own,
    }  # fmt: skip
    return controls, preset


def first_prompt() -> str:
    """Return the prompt in the form at first."""
    return read_unless_broken(lambda: prompts()["stories"][1], EXAMPLE)


def build_live(tab: TabContext, controls: dict[str, Any]) -> tuple[gr.Accordion, gr.State, gr.HTML]:
    """Build the form for a visitor's text; its controls are added to the others."""
    here = {entry.name for entry in entries() if entry.kind == "drafter"}
    drafters = [(title_of(name), name) for name in GROWS if name in here]
    with gr.Accordion("Use your own text, live", open=False) as form:
        with gr.Row():
            controls["prompt"] = gr.Textbox(
                first_prompt(), label="Prompt",
                max_length=4000, scale=3, min_width=280, elem_id="sv-grow-prompt",
            )  # fmt: skip
            controls["drafter"] = gr.Dropdown(
                drafters, value=drafters[0][1], label="Drafter", min_width=200
            )
            controls["skip"] = gr.Number(
                4, minimum=0, maximum=MOST_SKIPPED, precision=0, label="Tokens into the answer",
                min_width=160,
            )  # fmt: skip
        gr.Markdown(text("trees", "grow_link"), elem_classes="sv-note")
        inputs = [controls[name] for name in ("prompt", "drafter", "skip")]
        label = "Draft here, live"
        job = job_view(tab, "sv-grow-job", (label, "Stop"), wanted, inputs)
    return form, gr.State(None), job


def build_steps(controls: dict[str, Any]) -> tuple[gr.Button, gr.Button]:
    """Build the buttons and the slider of the steps."""
    with gr.Row(elem_classes="sv-beside"):
        back = gr.Button("Back", min_width=80, scale=0)
        forward = gr.Button("Next", min_width=160, scale=0, elem_classes="sv-grow-next")
        controls["step"] = gr.Slider(
            1, MOST_STEPS, MOST_STEPS, step=1, label="Step", min_width=220, scale=5, buttons=[],
            elem_id="sv-grow-step",
        )  # fmt: skip
    controls["last"] = gr.State(0)
    return back, forward


def build_display() -> dict[str, Any]:
    """Build the controls of how the tree is shown."""
    with gr.Row():
        whole = gr.Radio(
            [("All candidates", "all"), ("Tree only", "kept")], value="all", label="Shown",
            min_width=290,
        )  # fmt: skip
        sizes = [("50%", 0.5), ("75%", 0.75), ("100%", 1), ("150%", 1.5)]
        zoom = gr.Dropdown(sizes, value=1, label="Zoom", min_width=120, scale=0)
    return {"shown": whole, "zoom": zoom}


def build_selected(controls: dict[str, Any]) -> dict[str, Any]:
    """Build the attention mask and the numbers of the selected guess; return the outputs."""
    gr.Markdown(f"### Attention mask\n\n{text('trees', 'grow_mask')}")
    later = gr.Markdown(text("trees", "grow_later"), visible=False)
    mask = figure("sv-grow-mask", "attention-mask")
    controls["picked"] = gr.Slider(
        0, MOST_STEPS, 0, step=1, label="Selected guess, by rank", info=text("trees", "grow_rank")
    )
    return {"later": later, "mask": mask, "selected": gr.Markdown(elem_classes="sv-listing")}


def build_gains(controls: dict[str, Any]) -> gr.HTML:
    """Build the accepted lengths, and the controls of the verdict."""
    gr.Markdown("### What the tree gains")
    gr.Markdown(text("trees", "grow_gains"))
    with gr.Row():
        controls["seed"] = gr.Number(
            1, minimum=1, maximum=SEEDS, precision=0, step=1, label="Coins, by number",
            min_width=140,
        )  # fmt: skip
        controls["cold"] = gr.Radio(
            [("0", "cold"), ("1", "warm")], value="warm", label="Temperature", min_width=140
        )
    return figure("sv-grow-lengths", "accepted-lengths")


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    # Torch is imported when the first tree grows.
    from specviz.ui.trees.grown import GrownView

    ask = GrowQuestion.of(values)
    view = GrownView.of(ask)
    last = len(view.steps)
    # A tree that was shown fully grown is so with another size, too.
    step = last if values["step"] == values["last"] else min(int(values["step"]), last)
    at = step - 1
    now, later = view.steps[at], view.steps[step] if step < last else None
    rank = min(int(values["picked"]), len(view.one.order))
    node = view.one.order[rank - 1] if rank else 0
    node = node if node < now.born else 0
    said = f"**{WORDS[now.kind]}.** {verbatim(now.say)}"
    drawn = view.tree(at, whole=values["shown"] == "all", picked=node, zoom=values["zoom"])
    payoff, paid = view.payoff
    ranked = view.is_ranked(at)
    mask = shown(view.mask(node), text("trees", "grow_mask")) if ranked else None
    return {
        "answer": said, "tree": shown(drawn, said), "source": view.source,
        "misfits": view.misfits(at),
        "text": view.context(node), "selected": view.selected(node, at),
        "mask": gr.HTML(mask, visible=ranked) if ranked else gr.HTML(visible=False),
        "later": gr.Markdown(visible=not ranked),
        "lengths": shown(view.lengths(at), view.lengths_sentence(at)),
        "payoff": shown(payoff, paid), "paid": verbatim(paid), "formats": view.formats(),
        "step": gr.Slider(maximum=last, value=step), "last": last,
        "picked": gr.Slider(maximum=len(view.one.order), value=rank),
        "back": gr.Button("Back" if at else "Last step"),
        "next": gr.Button(f"Next: {WORDS[later.kind].lower()}" if later else "Watch it grow"),
        **sizes(ask),
        **({"form": gr.Accordion(open=True)} if values["prompt"] != first_prompt() else {}),
    }  # fmt: skip


def sizes(ask: GrowQuestion) -> dict[str, Any]:
    """Return the controls of the size that a shape has, and the preset of this size."""
    shows, dynamic = SIZES.get(ask.kind, ()), ask.kind == "dynamic"
    presets = (n for n, (_, size) in enumerate(PRESETS) if dynamic and size == ask.parameters)
    return {
        "preset": next(presets, -1),
        "own": gr.update(visible=ask.kind == "own"),
        **{name: gr.update(visible=name in shows) for name in SIZES["dynamic"]},
    }


def moved(values: Mapping[str, Any], by: int) -> Mapping[str, Any]:
    """Return the step before or after the one on screen; the first follows the last."""
    return {"step": (int(values["step"]) + by - 1) % max(values["last"], 1) + 1}


def preset_size(number: int) -> Sequence[Any]:
    """Return the shape and the size of a preset, by its number; -1 changes nothing."""
    if number < 0:
        return [gr.skip()] * 4
    _, size = PRESETS[number]
    return ["dynamic", size.depth, size.width, size.budget]


def picked_guess(event: gr.EventData, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the rank of a guess that was clicked; 0 for the root. Raises ValueError if expired."""
    from specviz.ui.trees.grown import GrownView

    order = GrownView.of(GrowQuestion.of(values)).one.order
    return {"picked": order.index(event.customdata) + 1 if event.customdata in order else 0}


def wanted(prompt: str, drafter: str, skip: int | None) -> Task:
    """Return the task of recording a live position. Raises ValueError for an invalid request."""
    if not isinstance(skip, int) or isinstance(skip, bool) or not 0 <= skip <= MOST_SKIPPED:
        raise ValueError(f"The position must be 0 to {MOST_SKIPPED} tokens into the answer.")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError("Enter a prompt: some text to continue.")
    request = RunRequest.from_json({"prompt": prompt, "drafter": drafter})
    return live(request, skip)


def live(request: RunRequest, skip: int) -> Task:
    """Return the task that records a position after the visitor's text."""
    seconds = gpu_seconds(HOUSE, LOOKING + skip)
    return Task(partial(stream_position, request, skip), seconds, partial(kept, request))


def stream_position(request: RunRequest, skip: int, context: JobContext) -> Iterator[str]:
    """Load the models, then record the position; the last text yielded is the whole of it."""
    yield context.says("loading")
    target, (drafter,) = context.load(HOUSE, [request.drafter])
    from specviz.trees.recording import record_position

    if context.unwanted():
        return
    yield context.says("drafting")
    said = {"sampling": {"temperature": 0.8}, "seed": 1}
    settings = Settings.from_json(with_defaults(request.drafter, said))
    yield record_position(target, drafter, str(request.prompt), settings, skip).to_text()


def kept(request: RunRequest, text: str) -> str:
    """Store a recorded position for the visitor and return the line with its name and title."""
    if not is_position_file(text):
        return text
    name = HELD.keep(token_hex(8), RecordedPosition.from_text(text))
    position = {"place": name, "title": f"Live: {str(request.prompt)[-40:]}"}
    return progress("", 1, 1, "", position)


def taken(event: gr.EventData) -> Sequence[Any]:
    """Return a live position, which is listed and shown from its start."""
    choice = str(event.value["title"]), str(event.value["place"])
    choices = [choice, *((title, name) for name, title in names())]
    return [choice, gr.Dropdown(choices, value=choice[1]), 1]
