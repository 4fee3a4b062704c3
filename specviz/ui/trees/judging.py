"""Two rules compared: one sampled tree judged from the root down and from the leaves up.

The real rules are run; their formulas are not repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import gradio as gr
import networkx as nx
import plotly.graph_objects as go

from specviz.figures.tree_figure import tree_figure
from specviz.settings.chance import Chance
from specviz.texts import text
from specviz.trees.recorded_position import RecordedPosition, recipes
from specviz.trees.shapes import check_range
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown, verbatim
from specviz.ui.trees.drawing import list_live, place, quoted, token_text

if TYPE_CHECKING:
    from specviz.trees.judging import SampledTree
    from specviz.verification import Verdict

TREES: Final = 600  # number of trees for an average, which takes a second or two, once
ROUND: Final = 1
SEEDS: Final = 1000
TITLES: Final = {"top-down": "Top-down", "traversal": "Traversal"}
WIDTHS: Final = ("2 × 2", "3 × 2", "2 × 2 × 1", "3 × 1 × 1", "2 × 1", "a chain of 3")
DRAWN: Final = {
    "without-replacement": "without replacement",
    "sampled": "with replacement (independent)",
}
# Guesses that do not depend on earlier ones, so no tree is sampled.
FIXED: Final = ("medusa", "dflash", "jetspec")


def build(place: TabContext) -> None:
    """Build the instrument."""
    first = text("trees", "judging_lead")
    title = "From the root down, or from the leaves up?"
    with Instrument(place, "judging", title, "computed exactly", first) as instrument:
        gr.Markdown(text("trees", "judging_rules"))
        with gr.Row():
            positions = [(one.title, one.name) for one in recipes() if one.drafter not in FIXED]
            tree = gr.Dropdown(positions, value=positions[0][1], label="Position", min_width=240)
            shape = gr.Dropdown(
                [(title, number) for number, title in enumerate(WIDTHS)], value=0,
                label="Guesses per node, by depth", min_width=240,
            )  # fmt: skip
            drawn = gr.Dropdown(
                [(title, name) for name, title in DRAWN.items()], value="without-replacement",
                label="Sampling", min_width=240,
            )  # fmt: skip
            seed = gr.Slider(1, SEEDS, 1, step=1, label="Tree and coins, by number", min_width=240)
        outputs: dict[str, Any] = {}
        with gr.Row():
            for name, title in TITLES.items():
                with gr.Column(min_width=320):
                    gr.Markdown(f"### {title}")
                    outputs[f"{name}_said"] = gr.Markdown()
                    outputs[name] = figure(f"sv-judging-{name}", f"tree-judged-{name}")
                    outputs[f"{name}_coins"] = gr.Markdown(elem_classes="sv-listing")
        average = gr.Checkbox(label=f"Average over {TREES} sampled trees")
        outputs["average"] = gr.Markdown()
        gr.Markdown(text("trees", "judging_how"), elem_classes="sv-note")
    instrument.wire(
        {"place": tree, "shape": shape, "drawn": drawn, "seed": seed, "average": average},
        outputs,
        respond,
        keys={"judged": ("place", "shape", "drawn", "seed", "average")},
    )
    list_live(place, tree, positions)


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    # Torch is imported when the first tree is sampled.
    from specviz.trees.judging import SAMPLING_MODES, SHAPES, PositionModels

    name, drawn = str(values["place"]), values["drawn"]
    if drawn not in DRAWN:
        raise ValueError(f"The sampling must be one of {', '.join(DRAWN)}.")
    shape = check_range("The shape", values["shape"], 0, len(WIDTHS) - 1)
    seed = check_range("The number of the tree", values["seed"], 1, SEEDS)
    field, chance = place(name), Chance(seed, ROUND)
    draft = PositionModels(field).draft(SHAPES[shape], SAMPLING_MODES[drawn], chance)
    expected = {way: f"{value:.3f}" for way, value in draft.expected().items()}
    found: dict[str, Any] = {
        "answer": text(
            "trees", "judging_answer", number=str(seed), top_down=expected["top-down"],
            traversal=expected["traversal"],
        ),
        "average": mean(name, shape, drawn) if values["average"] else "",
    }  # fmt: skip
    tokens = [field.root, *(draft.vocabulary[at] for at in draft.tree.tokens[1:])]
    for way, verdict in draft.verdicts(chance).items():
        said = sentence(field, tokens, verdict)
        found |= {
            f"{way}_said": said,
            way: shown(drawing(field, tokens, draft, verdict), f"{TITLES[way]}: {said}"),
            f"{way}_coins": coins(field, tokens, verdict),
        }
    return found


def drawing(
    field: RecordedPosition, tokens: list[int], draft: SampledTree, verdict: Verdict
) -> go.Figure:
    """Draw a tree as a rule judged it."""
    states = {each.node: "rejected" for each in verdict.decisions if not each.accepted}
    states |= dict.fromkeys(verdict.path, "accepted")
    states |= {each.node: "accepted" for each in verdict.decisions if each.accepted}
    graph = nx.DiGraph()
    for node, parent in enumerate(draft.tree.parents):
        state = states.get(node, "unreached") if node else "root"
        word = token_text(field, tokens[node])
        graph.add_node(node, token=word, state=state, **draft.scores(node))
        if node:
            graph.add_edge(parent, node)
    return tree_figure(graph)


def coins(field: RecordedPosition, tokens: list[int], verdict: Verdict) -> str:
    """Return the decisions in order, as a table."""
    lines = ["| guess | coin u | accepted if u < | |", "|:--|--:|--:|:--|"]
    for each in verdict.decisions:
        outcome = "✓ accepted" if each.accepted else "✕ rejected"
        word = verbatim(quoted(field, tokens[each.node]))
        lines.append(f"| {word} | {each.u:.3f} | {each.threshold:.3f} | {outcome} |")
    return "\n".join(lines)


def sentence(field: RecordedPosition, tokens: list[int], verdict: Verdict) -> str:
    """Return the sentence that names the tokens which this verdict accepts."""
    count = len(verdict.decisions)
    if not verdict.path:
        return text("trees", "rule_keeps_nothing", coins=count)
    words = " ".join(quoted(field, tokens[node]) for node in verdict.path)
    return text("trees", "rule_keeps", coins=count, tokens=verbatim(words))


@lru_cache(64)  # limited, since visitors' positions change
def mean(name: str, shape: int, drawn: str) -> str:
    """Return both rules' averages over many sampled trees; cached for all visitors."""
    from specviz.trees.judging import SAMPLING_MODES, SHAPES, PositionModels, average

    found = average(PositionModels(place(name)), SHAPES[shape], SAMPLING_MODES[drawn], TREES, 1)
    gain = found.lengths["traversal"] - found.lengths["top-down"]
    return text(
        "trees",
        "rules_on_average",
        trees=found.trees,
        top_down=f"{found.lengths['top-down']:.3f}",
        traversal=f"{found.lengths['traversal']:.3f}",
        gain=f"{gain:+.3f}".replace("-", "−"),
        error=f"{1.96 * found.error:.3f}",
        chain=set(SHAPES[shape]) == {1},
    )
