"""The draft tree as a plotly figure: what it draws, and the graph of a recorded round."""

import re

import networkx as nx
import pytest

from specviz.figures.theme import BOTH, COLOURS, P, Q
from specviz.figures.tree_figure import round_graph, tree_figure
from specviz.shipped import FOLDER
from specviz.trace.file import Trace

TREE = nx.DiGraph()
TREE.add_node("root", token="the")
TREE.add_node("a", token="<s> & more", p=0.5, q=1.0, state="accepted", note="−0.7", hint="first")
TREE.add_node("b", token="cat", p=0.25, q=0.25, state="rejected")
TREE.add_edges_from([("root", "a"), ("root", "b")])


def trace_of(figure, **properties):
    """Return the one trace with these properties."""
    (found,) = [
        trace
        for trace in figure.data
        if all(trace[name] == value for name, value in properties.items())
    ]
    return found


def lengths(trace):
    """Return the horizontal size of each shape of a trace."""
    sizes, shape = [], []
    for x in [*trace.x, None]:
        if x is None:
            sizes.append(max(shape) - min(shape))
            shape = []
        else:
            shape.append(x)
    return sizes


def test_words_of_tokens_are_text_and_never_markup():
    figure = tree_figure(TREE)
    words = [text for trace in figure.data for text in trace.text or ()]
    assert "&lt;s&gt; &amp; more" in words
    assert {"the", "cat", "✓", "✕", "−0.7", "+1", "last token"} <= set(words)
    hints = trace_of(figure, hoverinfo="text").hovertext
    assert hints[0] == (
        "<b>&lt;s&gt; &amp; more</b> at +1, accepted<br>p 0.50 · q 1<br>−0.7<br>first"
    )


def test_bars_and_edges_show_p_and_q():
    figure = tree_figure(TREE)
    assert lengths(trace_of(figure, fillcolor=P)) == [26, 13]
    assert lengths(trace_of(figure, fillcolor=Q)) == [52, 13]
    widths = {trace.line.color: trace.line.width for trace in figure.data if not trace.fill}
    assert widths[BOTH] == 6
    assert widths[Q] == 2


def test_figure_has_only_colours_that_the_page_can_translate():
    known = {*COLOURS.values(), "#000000"}
    assert set(re.findall(r"#[0-9a-f]{6}", str(tree_figure(TREE).data))) <= known


def test_siblings_are_in_their_order_and_each_has_a_row():
    points = trace_of(tree_figure(TREE), hoverinfo="text")
    assert points.x[0] > points.x[1], "in the middle of a wider pill"
    assert points.y[1] - points.y[0] == 44


@pytest.mark.parametrize("edges", [[(0, 1), (1, 0)], [(0, 2), (1, 2)]])
def test_graph_that_is_not_a_tree_is_refused(edges):
    with pytest.raises(ValueError, match="not a tree"):
        tree_figure(nx.DiGraph(edges))


def test_round_of_a_run_is_a_tree_with_its_verdicts_and_its_last_token():
    trace = Trace.read(FOLDER / "05-eagle3.jsonl")
    graph = round_graph(trace, 2)
    states = nx.get_node_attributes(graph, "state")
    judged = {each.node: each.accepted for each in trace.rounds[2].judged}
    assert {node: state == "accepted" for node, state in states.items() if node in judged} == judged
    assert states["last"] == trace.rounds[2].drew.kind
    assert len(graph) == len(trace.rounds[2].proposed.guesses) + 2
    assert len(trace_of(tree_figure(graph), hoverinfo="text").x) == len(graph) - 1
    with pytest.raises(IndexError):
        round_graph(trace, 99)
