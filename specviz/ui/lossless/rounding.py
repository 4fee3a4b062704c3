"""Rounding and wrong parents: errors of draft trees that leave the text lossless.

One tree is ranked in eight ways, with the study on real text and a published claim.

Each way is really computed in its precision. The study's numbers are measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import gradio as gr
import networkx as nx
import plotly.graph_objects as go

from specviz.catalog.entry import title_of
from specviz.figures.theme import INK, INK3, chart
from specviz.figures.tree_figure import tree_figure
from specviz.settings.chance import Chance
from specviz.texts import text
from specviz.trees import rounding
from specviz.trees.recorded_position import Path, RecordedPosition
from specviz.trees.rounding import EXACT, EXAMPLES, SIZES, Example, as_position
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown, verbatim
from specviz.ui.table import listing
from specviz.ui.trees.drawing import names, place, quoted, token_text

if TYPE_CHECKING:
    from specviz.trees.ranking import RankedTree

MADE_UP: Final = "example:"
SIZE: Final = SIZES["SGLang 6, 10, 60"]  # of trees at recorded positions
HOW: Final = {"product": "products", "sum": "sums of logs"}
DTYPES: Final = ("float64", "float32", "bfloat16", "float16")
COINS: Final = Chance(1, 1)  # whose random numbers judge the trees with right and wrong parents
DIGITS: Final = 5
ROLES: Final = {
    "kept": "kept, as in exact ranking",
    "gained": "kept only here",
    "lost": "kept only in exact ranking",
    "tied": "dropped with the same total as the last one kept",
    "dropped": "dropped",
}


def build(place: TabContext) -> None:
    """Build the instrument."""
    study = studied()
    first = study[0].answer if study else text("lossless", "rounding_lead")
    title = "Products or sums of logs: does rounding change the draft tree?"
    with Instrument(place, "rounding", title, "measured", first) as instrument:
        gr.Markdown(text("lossless", "rounding_lead"))
        trees = [(f"Recorded: {title}", name) for name, title in names()]
        trees += [(f"Constructed: {one.title}", MADE_UP + one.name) for one in EXAMPLES]
        tree = gr.Dropdown(trees, value=trees[0][1], label="Tree")
        with gr.Row():
            how = gr.Radio([(t, n) for n, t in HOW.items()], value="sum", label="Ranked by")
            dtype = gr.Radio(DTYPES, value="bfloat16", label="Number format")
        seen = gr.State(trees[0][1])
        said, ways = gr.Markdown(), gr.Markdown(elem_classes="sv-listing")
        ranked = figure("sv-rounding-tree", "ranked-tree")
        gr.Markdown(text("lossless", "ranking_legend"), elem_classes="sv-note")
        controls = {"tree": tree, "how": how, "dtype": dtype, "seen": seen}
        outputs = {"how": how, "dtype": dtype, "seen": seen, "said": said, "ways": ways}
        outputs["ranked"] = ranked
        if study:
            gr.Markdown("### On real text: the effect on the accepted length")
            rows = [(row.title, number) for number, row in enumerate(study)]
            controls["study"] = gr.Dropdown(
                rows, value=0, label="Drafter, and tree size (steps, top-k, draft tokens)"
            )
            outputs["gains"] = figure("sv-rounding-gains", "effect-on-the-accepted-length")
            outputs["measured"] = gr.Markdown(elem_classes="sv-listing")
        outputs["claim"] = gr.Markdown(elem_classes="sv-listing")
    instrument.wire(controls, outputs, respond, keys={"ranked": "tree"})
    place.controls["rounding"] = tree
    build_off_by_one(place)


def build_off_by_one(place: TabContext) -> None:
    """Build the trees with right and wrong parents."""
    title, first = "What if parent indices are off by one?", text("lossless", "off_by_one")
    with Instrument(place, "parents", title, "recorded positions", first) as instrument:
        trees = [(title, name) for name, title in names()]
        tree = gr.Dropdown(trees, value=trees[0][1], label="Position")
        outputs: dict[str, Any] = {}
        for name in ("right", "wrong"):
            outputs[f"{name}_said"] = gr.Markdown()
            outputs[name] = figure(f"sv-parents-{name}", f"tree-with-{name}-parents")
    instrument.wire({"tree": tree}, outputs, off_by_one)


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    lab = Lab.of(values["tree"])
    way = f"{values['how']} {values['dtype']}"
    if lab.example and values["tree"] != values["seen"]:
        way = lab.most_telling()
    how, dtype = way.split()
    said = lab.sentence(way)
    return {
        "how": how, "dtype": dtype, "seen": values["tree"], "said": said,
        "ways": lab.table(way), "ranked": shown(lab.drawing(way), said),
        **study_outputs(values.get("study")),
    }  # fmt: skip


@dataclass(frozen=True)
class Lab:
    """A tree, ranked in eight ways. example: the constructed example, if it is one."""

    field: RecordedPosition
    example: Example | None
    trees: Mapping[str, RankedTree]

    @staticmethod
    @lru_cache(64)  # limited, since visitors' positions change
    def of(name: str) -> Lab:
        """Rank a tree by its name. Raises ValueError if there is none."""
        # Torch is imported when the first tree is ranked.
        from specviz.trees.ranking import rank_all_ways

        example = next((one for one in EXAMPLES if MADE_UP + one.name == name), None)
        field = as_position(example) if example else place(name)
        made = rank_all_ways(field, example.parameters if example else SIZE)
        return Lab(field, example, {one.way: one for one in made})

    def most_telling(self) -> str:
        """Return the way of ranking that shows the effect of an example best."""

        def weight(way: str) -> int:
            one = self.trees[way]
            return 1000 * len(one.gained) + 500 * len(one.orphans) + 100 * int(one.zeros) + one.tied

        return max(self.trees, key=weight)

    def sentence(self, way: str) -> str:
        """Return how this way of ranking changes the tree."""
        one = self.trees[way]
        found = [self.example.explanation] if self.example else []
        if way == EXACT:
            found.append(text("lossless", "ranking_exact"))
        elif one.gained:
            gained, lost = (self.listed(paths) for paths in (one.gained, one.lost))
            found.append(
                text(
                    "lossless", "ranking_differs", guesses=len(one.gained), gained=gained, lost=lost
                )
            )
        else:
            found.append(text("lossless", "ranking_same"))
        counts = {"tied": one.tied, "zeros": one.zeros, "orphans": len(one.orphans)}
        found += [text("lossless", f"ranking_{name}", guesses=n) for name, n in counts.items() if n]
        return " ".join(found)

    def listed(self, paths: Iterable[Path]) -> str:
        """Return a few of these paths, as words."""
        words = [
            " ".join(token_text(self.field, token) for token in path) for path in sorted(paths)
        ]
        some = [f"‘{verbatim(each)}’" for each in words[:3]]
        return ", ".join(some) + (", …" if len(words) > 3 else "")

    def table(self, chosen: str) -> str:
        """Return what the eight ways change, as a table; the chosen one is bold."""
        heads = ["", "changed guesses", "ties at the cut", "zeros"]
        rows = []
        for way, one in self.trees.items():
            cells = [way_name(way), str(len(one.gained)), str(one.tied), str(one.zeros)]
            if not self.example:
                cells.append(f"{self.length(way):.3f}")
            rows.append([f"**{cell}**" for cell in cells] if way == chosen else cells)
        return listing([*heads, "accepted length"] if not self.example else heads, rows)

    def length(self, way: str) -> float:
        """Return the expected accepted length of the tree that a way keeps."""
        from specviz.trees.grown_tree import estimate_acceptance

        grown = self.trees[way].grown
        return estimate_acceptance(self.field, grown, []).length(grown.kept)["exact"]

    def paths(self) -> list[Path]:
        """Return, by level, every path that some way keeps, and the first that each way drops."""
        found: set[Path] = {()}
        for one in self.trees.values():
            found |= one.grown.paths
            for node in one.grown.order[one.grown.budget : one.grown.budget + 1]:
                path = one.grown.path(node)
                found |= {path[:length] for length in range(1, len(path) + 1)}
        first = next(iter(self.trees.values())).grown
        order = {first.path(node): node for node in range(len(first.growth.tokens))}
        return sorted(found, key=lambda path: (len(path), order.get(path, len(order)), path))

    def drawing(self, way: str) -> go.Figure:
        """Draw the tree as ranked in this way, with the totals on its edges."""
        one = self.trees[way]
        totals = one.grown.growth.totals
        at = {one.grown.path(node): node for node in range(len(totals))}
        last = totals[one.grown.order[len(one.grown.kept) - 2]]
        graph = nx.DiGraph()
        graph.add_node((), token=token_text(self.field, self.field.root), state="root")
        for path in self.paths()[1:]:
            total = totals[at[path]] if path in at else None
            state = role(path, one, total == last)
            note = "" if total is None else f"{total:.{DIGITS}g}".replace("-", "−")
            word = token_text(self.field, path[-1])
            graph.add_node(path, token=word, state=state, note=note, hint=ROLES[state])
            graph.add_edge(path[:-1], path)
        return tree_figure(graph)


def role(path: Path, one: RankedTree, tied: bool) -> str:
    """Return the role of a guess in one way of ranking, a key of ROLES."""
    if path in one.gained:
        return "gained"
    if path in one.lost:
        return "lost"
    if path in one.grown.paths:
        return "kept"
    return "tied" if tied else "dropped"


def way_name(way: str) -> str:
    """Return the name of a way of ranking."""
    how, dtype = way.split()
    return f"{HOW[how]}, {dtype}"


@dataclass(frozen=True, slots=True)
class StudyRow:
    """The study's results for one drafter and one size of tree, by way of ranking."""

    title: str
    verdict: str
    ways: Mapping[str, rounding.Way]
    rows: int  # number of rows in the study

    @property
    def answer(self) -> str:
        """The verdict, with what it covers."""
        return text(
            "lossless", "study_covers", title=self.title, rows=self.rows, verdict=self.verdict
        )


def studied() -> list[StudyRow]:
    """Return the study by drafter and size; empty if it was not measured."""
    study = rounding.load_study()
    if study is None:
        return []
    positions = study["prompts"] * study["places"]
    return [
        StudyRow(
            f"{title_of(drafter)} · {size}",
            rounding.verdict(ways, positions, SIZES[size].budget),
            ways,
            sum(map(len, study["drafters"].values())),
        )
        for drafter, sizes in study["drafters"].items()
        for size, ways in sizes.items()
    ]


def study_outputs(number: int | None) -> dict[str, Any]:
    """Return the outputs of the study for one of its rows, and what the pull request reports."""
    told, study = rounding.Reported(), rounding.load_study()
    claim = [
        "### What a pull request reports",
        text("lossless", "claim", url=told.url, where=told.where, quote=told.quote),
        listing(
            ["published, not measured here", *HOW.values()],
            [
                ["tokens per pass", f"{told.accepted[0]:g}", f"{told.accepted[1]:g}"],
                ["tokens per second", f"{told.speed[0]:g}", f"{told.speed[1]:g}"],
            ],
        ),
    ]
    if study is None or number is None:
        return {"claim": "\n\n".join(claim)}
    row = studied()[number]
    times = study["arithmetic"]
    claim += [
        rounding.noise(row.ways, told),
        "### Is adding faster than multiplying?",
        listing(
            ["µs per step", "multiply", "add"],
            [[each["dtype"], f"{each['product']:.2f}", f"{each['sum']:.2f}"] for each in times],
        ),
        text(
            "lossless", "arithmetic", width=times[0]["width"], processor=study["processor"],
            torch=study["versions"]["torch"],
        ),
    ]  # fmt: skip
    made = text(
        "lossless", "study_made", made_by=study["made_by"], prompts=study["prompts"],
        positions=study["places"],
    )  # fmt: skip
    return {
        "answer": row.answer,
        "gains": shown(gains_figure(row), row.verdict),
        "measured": f"{study_table(row)}\n\n{made}",
        "claim": "\n\n".join(claim),
    }


def study_table(row: StudyRow) -> str:
    """Return how much each way of ranking changed."""
    heads = [
        "ranked by", "changed trees", "changed guesses per tree", "ties at the cut",
        "products that are 0", "orphans with torch.topk", "accepted length minus exact (95%)",
    ]  # fmt: skip
    rows = [
        [
            way_name(way), percent(one["differ"]), f"{one['nodes']:.2f}", percent(one["tied"]),
            f"{one['zeros']:.1f}" if one["zeros"] else "0", percent(one["orphans"]), gain(one),
        ]
        for way, one in row.ways.items()
    ]  # fmt: skip
    return listing(heads, rows)


def percent(share: float) -> str:
    """Format a share, with a decimal if it is small."""
    return f"{100 * share:.{1 if 0 < share < 0.095 else 0}f}%"


def gain(one: rounding.Way) -> str:
    """Return the change of the accepted length, with its interval."""
    low, high = one["gain_interval"]
    if not low and not high:
        return "0 (the same trees)"
    mean, low, high = (
        rounding.format_signed(value) if abs(value) >= 5e-5 else "0"
        for value in (one["gain"], low, high)
    )
    return f"{mean} ({low} to {high})"


def gains_figure(row: StudyRow) -> go.Figure:
    """Chart the change of the accepted length by each way of ranking, with its interval."""
    means = [one["gain"] for one in row.ways.values()]
    ends = [one["gain_interval"] for one in row.ways.values()]
    points = go.Scatter(
        x=means, y=[way_name(way) for way in row.ways], mode="markers",
        marker={"size": 9, "color": INK},
        error_x={
            "symmetric": False, "color": INK, "thickness": 2, "width": 4,
            "array": [high - mean for mean, (_, high) in zip(means, ends, strict=True)],
            "arrayminus": [mean - low for mean, (low, _) in zip(means, ends, strict=True)],
        },
        hovertext=[gain(one) for one in row.ways.values()],
        hovertemplate="%{y}: %{hovertext}<extra></extra>",
    )  # fmt: skip
    drawing = chart(
        [points], x="accepted length minus exact", height=270,
        xaxis={"tickformat": "+.3f"}, yaxis={"autorange": "reversed"},
    )  # fmt: skip
    return drawing.add_vline(0, line={"color": INK3, "width": 1})


def off_by_one(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for a tree's guesses with right parents and with parents off by one."""
    from specviz.trees import judging
    from specviz.trees.grown_tree import grow_tree, target_probabilities

    field = place(values["tree"])
    grown = grow_tree(field, judging.SIZE)
    tokens, right = grown.tree.tokens, list(grown.tree.parents)
    probs = target_probabilities(field, grown)
    shapes = {
        "right": (right, [probs[node] for node in grown.kept]),
        "wrong": (judging.shift_parents(right), field.p_off_by_one),
    }
    found: dict[str, Any] = {}
    lengths = {}
    for name, (parents, p) in shapes.items():
        kept = judging.accepted_nodes(parents, tokens, p, COINS)
        lengths[name] = f"{judging.expected_length(parents, tokens, p):.2f}"
        said = text(
            "lossless", f"parents_{name}", length=lengths[name],
            kept=verbatim(" ".join(quoted(field, tokens[node]) for node in kept)) or "none",
        )  # fmt: skip
        graph = nx.DiGraph()
        for node, (parent, token) in enumerate(zip(parents, tokens, strict=True)):
            state = "gained" if parent != right[node] else "kept" if node else "root"
            graph.add_node(node, token=token_text(field, token), state=state)
        graph.add_edges_from((parent, node) for node, parent in enumerate(parents) if node)
        found |= {f"{name}_said": said, name: shown(tree_figure(graph), said)}
    return found | {"answer": text("lossless", "parents_answer", **lengths)}
