"""Dynamic trees: the drafter's probability of each path, and its rank among all considered."""

from __future__ import annotations

from specviz.frames.evidence.forms import (
    Block,
    Remark,
    evidence,
    facts,
    format_count,
    guessed,
    path_to,
    rows,
    shown_nodes,
)
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Scene, Step
from specviz.texts import Part, count, say

BEST = 5


def dynamic(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The likeliest paths on screen, and the settings that limit the tree's size."""
    nodes = shown_nodes(scene, step)
    if not nodes:
        return None
    evidences = {node: evidence(scene.guesses[node - 1]) for node in nodes}
    best = sorted(nodes, key=lambda node: evidences[node]["place"])[:BEST]
    shown = [
        {
            "at": str(evidences[node]["place"]),
            "words": [guessed(scene, each) for each in path_to(scene, node)],
            "bar": round(evidences[node]["path"], 6),
            "text": [format_nonzero(evidences[node]["path"])],
        }
        for node in best
    ]
    listed = rows(["rank", "path", "its probability"], shown, len(nodes))
    why = _chosen(remark["weighed"], remark["kept"])
    return {"say": why, "blocks": [listed, _size(scene, remark), *_taps(scene, remark)]}


def _chosen(considered: int, kept: int) -> list[Part]:
    """How many of the guesses considered are in the tree."""
    if considered == kept:
        return say("evidence", "dynamic_all", n=kept)
    return say("evidence", "dynamic_best", considered=considered, kept=kept)


def _size(scene: Scene, remark: Remark) -> Block:
    settings = scene.header.settings
    named = (("budget", "budget"), ("depth γ", "gamma"), ("top-k", "fan_out"))
    limits = [(name, settings[key]) for name, key in named if key in settings]
    return facts(*limits, ("passes of the head", remark["passes"]))


def _taps(scene: Scene, remark: Remark) -> list[Block]:
    """What the head reads of the target, if it says so, and which tokens it may propose."""
    if "memory" in remark:  # Mixture of Attentions
        held = count(remark["memory"], "token")
        mixed = f"keys and values of {count(remark['layers'], 'layer')}"
        return [facts(("memory", held), ("made of", mixed))]
    if "tap_layers" not in remark:
        return []
    layers = ", ".join(map(str, remark["tap_layers"]))
    proposable = format_count(remark["draft_vocabulary"])
    possible = f"{proposable} of {format_count(scene.header.vocab_size)} tokens"
    return [facts(("reads the output of layers", layers), ("can propose", possible))]
