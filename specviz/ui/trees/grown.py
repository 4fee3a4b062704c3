"""A growing tree at a recorded position: its steps, figures, mask, verdict and gains.

Functions have no side effects. Everything is computed from a recorded position, without a model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from math import exp
from typing import TYPE_CHECKING, Final

import networkx as nx
import plotly.graph_objects as go

from specviz.catalog.entry import title_of
from specviz.cost import tree_formula
from specviz.cost.figures.payoff import payoff_figure
from specviz.cost.sweep import Sweep
from specviz.figures.plot import escaped
from specviz.figures.theme import BG, BOTH, DEAD, INK, INK2, P, chart
from specviz.figures.tree_figure import tree_figure
from specviz.settings.chance import Chance
from specviz.shipped import HOUSE
from specviz.texts import text
from specviz.trees import shapes
from specviz.trees.grown_tree import (
    AcceptanceEstimates,
    GrownTree,
    Table,
    contradictions,
    estimate_acceptance,
    fitted_pass_cost,
    greedy_matches,
    grow_tree,
    marginal_prices,
    static_tree,
    target_probabilities,
)
from specviz.trees.judging import PositionModels
from specviz.trees.ranking import shipped_tables
from specviz.trees.recorded_position import RecordedPosition
from specviz.trees.shapes import paths_of
from specviz.ui.broken import read_unless_broken
from specviz.ui.instrument import verbatim
from specviz.ui.trees.drawing import LIVE, names, place, quoted, token_text
from specviz.ui.trees.steps import Step, format_total, steps

if TYPE_CHECKING:
    from specviz.ui.trees.grow import GrowQuestion
    from specviz.verification import Verdict

ROUND: Final = 1  # the round whose random numbers are used here
SHOWN: Final = 24  # how many tokens of the text are shown before the tree
LABELLED: Final = 26  # maximum number of rows of the mask for which there is space for words
LONGEST: Final = 12  # characters of such a word
WHOLE: Final = ("rerank", "mask", "verify")  # steps at which the whole pool is there
HINTS: Final = {
    "root": "the last token of the text", "reading": "being expanded", "frontier": "frontier",
    "fresh": "new", "pool": "candidate", "kept": "kept", "dropped": "dropped",
}  # fmt: skip
CONTRADICTS: Final = "≠"  # the sign of a guess that contradicts its own branch
MOST_LISTED: Final = 6  # such guesses that are listed below the tree
FORMATS: Final = {
    "next_token": "retrieve_next_token (SGLang): first child",
    "next_sibling": "retrieve_next_sibling (SGLang)",
    "retrieve_indices": "retrieve_indices (EAGLE, Medusa): one row per leaf",
    "rank_paths": "--rank-paths (specviz), medusa_choices",
}


@dataclass(frozen=True)
class GrownView:
    """All that the instrument shows of one tree at one position, numbered as in the pool."""

    ask: GrowQuestion
    field: RecordedPosition
    one: GrownTree
    table: Table

    @staticmethod
    @lru_cache(32)  # limited, since visitors' positions change
    def of(ask: GrowQuestion) -> GrownView:
        """Grow the tree. Raises ValueError if there is none."""
        field = place(ask.place)
        table = ranks(field)
        ask.parameters.check_vocabulary(field.vocabulary)
        if ask.kind == "dynamic":
            return GrownView(ask, field, grow_tree(field, ask.parameters), table)
        first = list(table[0]) if table else list(field.rows[()].p)
        return GrownView(ask, field, static_tree(field, paths_of(ask.parents(first))), table)

    @cached_property
    def value(self) -> AcceptanceEstimates:
        """Each guess's probability of acceptance, at temperature 1 or 0."""
        warm = estimate_acceptance(self.field, self.one, self.table)
        if not self.ask.cold:
            return warm
        matches = greedy_matches(self.field, self.one)
        exact = tree_formula.path_probabilities(self.one.growth.parents, matches)
        return AcceptanceEstimates(exact, warm.ranks, warm.believed)

    @cached_property
    def verdict(self) -> Verdict:
        """One verdict on the tree, by the rule for guesses that were not sampled."""
        chance = Chance(self.ask.seed, ROUND)
        return PositionModels(self.field).verify(self.one, chance, self.ask.cold)

    @cached_property
    def accepted(self) -> list[int]:
        """The nodes of the accepted path."""
        return [self.one.kept[node] for node in self.verdict.path]

    @cached_property
    def judged(self) -> dict[int, tuple[float, float]]:
        """By judged node, the coin u and the threshold below which it is accepted."""
        return {self.one.kept[e.node]: (e.u, e.threshold) for e in self.verdict.decisions}

    @cached_property
    def contradictions(self) -> dict[int, int]:
        """The guesses that contradict their own branch, each with the same word where it fits."""
        return contradictions(self.field, self.one)

    @cached_property
    def steps(self) -> list[Step]:
        """The steps in which the tree grows, and the verdict."""
        tokens = " ".join(map(self.quoted, self.accepted))
        kept = text("trees", "verify_none")
        if tokens:
            kept = text("trees", "verify_accepted", guesses=len(self.accepted), tokens=tokens)
        said = text("trees", "verify", judged=len(self.judged), kept=kept)
        last = Step("verify", len(self.one.growth.tokens), said)
        return [*steps(self.field, self.one, self.ask.kind == "dynamic"), last]

    def word(self, node: int) -> str:
        """Return a node's token as text."""
        return token_text(self.field, self.one.growth.tokens[node])

    def quoted(self, node: int) -> str:
        """Return a node's token in quotes, for a sentence."""
        return quoted(self.field, self.one.growth.tokens[node])

    def path(self, node: int) -> list[int]:
        """Return the nodes from the first guess to this one."""
        return shapes.path(self.one.growth.parents, node)[1:]

    def is_ranked(self, at: int) -> bool:
        """Return whether it is known at a step which guesses are in the tree."""
        kinds = [step.kind for step in self.steps]
        return kinds[at] in WHOLE or "rerank" not in kinds

    def state(self, node: int, at: int) -> str:
        """Return the state of a node at a step, a key of `marks.STATES`."""
        step, parent = self.steps[at], self.one.growth.parents[node]
        if node >= step.born:
            return "hidden"
        if step.kind in WHOLE and node:
            return self._late(node, step)
        if node == step.node:
            return "reading"
        if node in step.level:
            return "frontier"
        if not node:
            return "root"
        return "fresh" if parent == step.node else "pool"

    def _late(self, node: int, step: Step) -> str:
        if node not in self.one.kept:
            return "dropped"
        if step.kind != "verify":
            return "kept"
        if node in self.accepted:
            return "accepted"
        return "rejected" if node in self.judged else "unreached"

    def tree(self, at: int, *, whole: bool, picked: int, zoom: float) -> go.Figure:
        """Draw the tree at a step; each edge is as wide as q.

        Args:
            at: The step.
            whole: Whether to draw all candidates, or only those that are kept.
            picked: The selected node; 0 for none.
            zoom: Size of the figure.
        """
        growth, step, graph = self.one.growth, self.steps[at], nx.DiGraph()
        lit = {0, *self.path(picked)} if picked else set()
        # Places of the level that is growing are kept free, so that guesses do not move.
        deepest = growth.depths[step.born - 1]
        for node, parent in enumerate(growth.parents):
            if growth.depths[node] > deepest or not (whole or node in self.one.kept):
                continue
            state, total = self.state(node, at), growth.totals[node]
            misfit = step.kind == "verify" and node in self.contradictions
            hints = ("contradicts its own branch" if misfit else "", HINTS.get(state, ""))
            graph.add_node(
                node, token=self.word(node), state=state, lit=node in lit,
                note=format_total(total) if node else "", sign=CONTRADICTS if misfit else "",
                hint=", ".join(filter(None, hints)),
            )  # fmt: skip
            if node:
                graph.add_edge(parent, node, weight=exp(total - growth.totals[parent]))
        return tree_figure(graph, self._subjects(step), zoom)

    def _subjects(self, step: Step) -> Sequence[int]:
        if step.kind == "verify":
            return self.accepted or list(self.judged)
        if step.node is None:
            return step.level
        parents = self.one.growth.parents[: step.born]
        return [n for n, parent in enumerate(parents) if n and parent == step.node] or [step.node]

    def mask(self, picked: int) -> go.Figure:
        """Draw the attention mask, with the row and the column of the selected guess."""
        kept, sees = self.one.kept, shapes.mask(self.one.tree.parents)
        words = [escaped(cut_word(self.word(node))) for node in kept]
        rows = range(len(kept))
        cells = go.Heatmap(
            z=[[int(column in sees[row]) for column in rows] for row in rows],
            customdata=[[kept[c] if c in sees[row] else kept[row] for c in rows] for row in rows],
            text=[
                [f"{words[r]} {'attends to' if c in sees[r] else 'cannot see'} {words[c]}"
                 for c in rows] for r in rows
            ],
            hovertemplate="%{text}<extra></extra>", colorscale=[[0, BG], [1, INK2]],
            zmin=0, zmax=1, showscale=False, xgap=1, ygap=1,
        )  # fmt: skip
        labels = {"tickvals": list(rows), "ticktext": self._labels(words)}
        plain = {"showgrid": False, "showline": False, "showticklabels": False, "ticks": ""}
        made = chart(
            [cells], height=max(120, 20 * len(kept)) if len(kept) <= LABELLED else 372,
            xaxis=plain,
            yaxis=plain | {"autorange": "reversed"} | (labels if len(kept) <= LABELLED else {}),
        )  # fmt: skip
        if len(kept) <= LABELLED:
            made.update_yaxes(showticklabels=True)
        if picked and picked in kept:
            at, end = kept.index(picked), len(kept) - 0.5
            ring = {"type": "rect", "line": {"color": INK, "width": 2}}
            made.add_shape(x0=-0.5, x1=end, y0=at - 0.5, y1=at + 0.5, **ring)
            made.add_shape(x0=at - 0.5, x1=at + 0.5, y0=-0.5, y1=end, **ring)
        return made

    def _labels(self, words: Sequence[str]) -> list[str]:
        places = shapes.positions(self.one.tree.parents, self.field.length)
        return [f"{word}  {position}" for word, position in zip(words, places, strict=True)]

    def lengths(self, at: int) -> go.Figure:
        """Chart accepted lengths by their source; that of the verdict once it is known."""
        found = self.value.length(self.one.kept)
        done = self.steps[at].kind == "verify"
        rows = [
            ("predicted from the drafter’s confidence", found["believed"], DEAD),
            ("exact, from the target’s p here", found["exact"], P),
            ("with these coins", len(self.accepted) if done else None, BOTH),
        ]
        if self.table:
            rows.insert(0, ("predicted from acceptance by rank", found["ranks"], DEAD))
        places = list(range(len(rows)))
        bars = go.Bar(
            x=[value or 0 for _, value, _ in rows], y=places, orientation="h", width=0.36,
            marker={"color": [colour for *_, colour in rows]}, cliponaxis=False,
            text=["?" if value is None else f"{value:.3g}" for _, value, _ in rows],
            textposition="outside", textangle=0, hoverinfo="skip",
        )  # fmt: skip
        names = go.Scatter(
            x=[0] * len(rows), y=[at - 0.38 for at in places], text=[name for name, *_ in rows],
            mode="text", textposition="middle right", cliponaxis=False, hoverinfo="skip",
        )  # fmt: skip
        most = max(1.0, *(value or 0 for _, value, _ in rows))
        made = chart(
            [bars, names], x="accepted guesses in a round", height=60 + 42 * len(rows),
            xaxis={"range": [0, 1.12 * most]},
            yaxis={"range": [len(rows) - 0.6, -0.7], "visible": False},
        )  # fmt: skip
        return made.update_layout(showlegend=False)

    def lengths_sentence(self, at: int) -> str:
        """Return the accepted lengths in words."""
        coins = str(len(self.accepted)) if self.steps[at].kind == "verify" else "?"
        found = self.value.length(self.one.kept)
        return text(
            "trees", "grow_lengths", exact=f"{found['exact']:.2f}", coins=coins,
            believed=f"{found['believed']:.2f}",
        )  # fmt: skip

    def misfits(self, at: int) -> str:
        """Return which guesses contradict their branch, after the verdict, as Markdown."""
        if self.steps[at].kind != "verify":
            return text("trees", "misfits_later")
        kept = [node for node in self.one.order if node in self.kept_contradictions]
        found = text("trees", "misfits", number=len(kept), guesses=len(self.one.kept) - 1)
        listed = [f"- {self._misfit(node)}" for node in kept[:MOST_LISTED]]
        if len(kept) > MOST_LISTED:
            more = text("trees", "misfits_more", number=len(kept) - MOST_LISTED)
            listed.append(f"- {more}")
        return "\n\n".join(filter(None, [found, "\n".join(listed), self._by_drafter()]))

    @property
    def kept_contradictions(self) -> set[int]:
        """The guesses of the tree that contradict their own branch."""
        return self.contradictions.keys() & set(self.one.kept)

    def _misfit(self, node: int) -> str:
        p, other = target_probabilities(self.field, self.one), self.contradictions[node]
        growth = self.one.growth
        q = exp(growth.totals[node] - growth.totals[growth.parents[node]])
        before = ["".join(map(self.word, self.path(growth.parents[n]))) for n in (node, other)]
        return text(
            "trees", "misfit", before=verbatim(f"‘{before[0]}’"), word=verbatim(self.quoted(node)),
            elsewhere=verbatim(f"‘{before[1]}’"), q=format_share(q), p=format_share(p[node]),
            fits=format_share(p[other]),
        )  # fmt: skip

    def _by_drafter(self) -> str:
        places = [
            name
            for name, _ in names()
            if (field := place(name)).context == self.field.context
            and (field.target, field.length) == (self.field.target, self.field.length)
        ]
        if self.ask.place not in places or len(places) < 2:
            return ""
        rows = []
        for name in places:
            view = GrownView.of(replace(self.ask, place=name))
            drafter, accepted = title_of(view.field.drafter), view.value.length(view.one.kept)
            rows.append(
                f"| {f'**{drafter}**' if name == self.ask.place else drafter} "
                f"| {len(view.one.kept) - 1} | {len(view.kept_contradictions)} "
                f"| {accepted['exact']:.2f} |"
            )
        head = f"| Drafter | Guesses | {CONTRADICTS} | Accepted |\n|:--|--:|--:|--:|"
        return "\n".join([text("trees", "misfits_by_drafter"), "", head, *rows])

    @cached_property
    def payoff(self) -> tuple[go.Figure, str]:
        """The gain and the cost of each guess, the most probable guess first; and in a sentence."""
        kept = self.one.order[: len(self.one.kept) - 1]
        gains = [self.value.exact[node] for node in kept]
        brought = [1.0]
        for gain in gains:
            brought.append(brought[-1] + gain)
        sweep = measured_sweep()
        costs = [fitted_pass_cost(sweep, 1 + n) if sweep else None for n in range(len(kept) + 1)]
        price = marginal_prices(brought, costs)
        forecast = [self.value.ranks[node] for node in kept]
        paying = [gain > cost for gain, cost in zip(gains, price, strict=True) if cost is not None]
        last = max((at for at, pays in enumerate(paying, 1) if pays), default=0)
        return payoff_figure(gains, forecast, price), _paid(last, len(kept), sweep)

    @property
    def source(self) -> str:
        """The models and machine of the numbers, and what the tree lacks, as Markdown."""
        field, kind = self.field, "live" if self.ask.place.startswith(LIVE) else "recorded"
        drafter, target = title_of(field.drafter), title_of(field.target)
        machine = verbatim(f"{field.machine} · {field.dtype}")
        found = [f"**{kind}** · {drafter} drafts for {target} · {machine}", *self._sizes()]
        if self.ask.kind == "dynamic" and self.ask.parameters.depth > field.deepest:
            depth = self.ask.parameters.depth
            names = {"drafter": drafter, "levels": field.deepest, "depth": depth}
            found.append(text("trees", "depth_limited", **names))
        if self.one.missing:
            found.append(text("trees", "not_recorded", guesses=len(self.one.missing)))
        return "  \n".join(found)

    def _sizes(self) -> list[str]:
        if self.ask.kind != "dynamic":
            return []
        found = [
            f"{engine}: {', '.join(f'{name} {value}' for name, value in numbers.items())}"
            for engine, numbers in self.ask.parameters.names.items()
        ]
        return [text("trees", "grow_sizes", names=verbatim(" · ".join(found)))]

    def context(self, picked: int) -> str:
        """Return the text up to the tree, and the path to the selected guess, as Markdown."""
        tokens = b"".join(map(self.field.token_bytes, self.field.context[-SHOWN:-1]))
        root = b"".join(map(self.field.token_bytes, self.field.context[-1:]))
        before, last = (each.decode(errors="replace") for each in (tokens, root))
        space = " " if last.startswith(" ") else ""
        words = " → ".join(verbatim(self.word(node)) for node in [0, *self.path(picked)])
        shown = (
            f"… {verbatim(before)}{space}**{verbatim(last)}**"
            if last.strip()
            else (f"… {verbatim(before)} **{verbatim(self.word(0))}**")
        )
        return f"{shown}\n\n**Selected:** {words}" if picked else shown

    def selected(self, node: int, at: int) -> str:
        """Return the numbers of the selected guess as a table in Markdown."""
        if not node:
            return text("trees", "grow_select")
        p = target_probabilities(self.field, self.one)[node]
        in_tree = node in self.one.kept
        rows = [
            ("guess", verbatim(self.word(node))),
            ("path’s log-probability", format_total(self.one.growth.totals[node])),
            ("as a probability", format_share(self.value.believed[node])),
            ("rank among candidates", f"{self.one.order.index(node) + 1} of {len(self.one.order)}"),
            *self._in_tree(node, at),
            ("target’s p after its parent", format_share(p)),
            ("accepted with" if in_tree else "would be accepted with",
             format_share(self.value.exact[node])),
        ]  # fmt: skip
        if self.steps[at].kind == "verify" and node in self.contradictions:
            rows.append((f"{CONTRADICTS} contradicts its branch", "yes"))
        if node in self.judged and self.steps[at].kind == "verify":
            u, threshold = self.judged[node]
            rows.append(("coin u, and p", f"{u:.3f}, {threshold:.3f}"))
        return "\n".join(["| | |", "|:--|--:|", *(f"| {name} | {v} |" for name, v in rows)])

    def _in_tree(self, node: int, at: int) -> list[tuple[str, str]]:
        if not self.is_ranked(at):
            return [("in the tree", "decided at the rerank")]
        if node not in self.one.kept:
            return [("in the tree", "no, dropped at the rerank")]
        row = self.one.kept.index(node)
        sees = shapes.mask(self.one.tree.parents)[row]
        words = " ".join(self.word(self.one.kept[other]) for other in sees)
        position = shapes.positions(self.one.tree.parents, self.field.length)[row]
        return [
            ("row of the pass", str(row)),
            ("position", str(position)),
            ("attends to", f"the text, {verbatim(words)}"),
        ]

    def formats(self) -> str:
        """Return the tree in the formats of other programs, as Markdown with blocks to copy."""
        parents = self.one.tree.parents
        first, after = shapes.linked_list(parents)
        arrays: Mapping[str, object] = {
            "parents": list(parents),
            "next_token": first,
            "next_sibling": after,
            "retrieve_indices": shapes.retrieve_indices(parents),
        }
        compact = (",", ":")
        found = {n: json.dumps(array, separators=compact) for n, array in arrays.items()}
        found["rank_paths"] = ";".join(",".join(map(str, path)) for path in paths_of(parents))
        blocks = [f"{FORMATS.get(name, name)}\n```\n{shown}\n```" for name, shown in found.items()]
        return "\n\n".join(blocks)


def ranks(field: RecordedPosition) -> Table:
    """Return the drafter's acceptance by depth and rank; empty if it was not measured."""
    found = shipped_tables().get(field.drafter) if field.target == HOUSE else None
    return found.by_depth if found else []


def _paid(last: int, guesses: int, sweep: Sweep | None) -> str:
    if sweep is None:
        return text("trees", "price_unknown")
    if last == guesses:
        return text("trees", "every_guess_pays", machine=sweep.machine)
    if not last:
        return text("trees", "no_guess_pays", machine=sweep.machine)
    return text("trees", "guesses_pay_up_to", number=last, machine=sweep.machine)


@cache
def measured_sweep() -> Sweep | None:
    """Return the measured pass times that the Cost tab shows; None if they cannot be read."""
    return read_unless_broken(Sweep.shipped, None)


def cut_word(word: str) -> str:
    """Shorten a word for the mask's labels."""
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"


def format_share(value: float) -> str:
    """Format a probability with three decimals."""
    return f"{value:.3f}" if value >= 0.0005 else "<0.001".replace("<", "&lt;") if value else "0"
