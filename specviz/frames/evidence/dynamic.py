"""Dynamic trees: how likely the drafter holds each path, and its place among all weighed."""

from __future__ import annotations

from specviz.frames.evidence.forms import (
    Block,
    Part,
    Remark,
    evidence,
    facts,
    guessed,
    number,
    path_to,
    rows,
    visible,
)
from specviz.frames.numbers import visible as digits
from specviz.frames.scene import Scene, Step
from specviz.texts import count

BEST = 5


def dynamic(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The likeliest paths on screen, and what the tree's size was decided by."""
    nodes = visible(scene, step)
    if not nodes:
        return None
    said = {node: evidence(scene.guesses[node - 1]) for node in nodes}
    best = sorted(nodes, key=lambda node: said[node]["place"])[:BEST]
    shown = [
        {
            "at": str(said[node]["place"]),
            "words": [guessed(scene, each) for each in path_to(scene, node)],
            "bar": round(said[node]["path"], 6),
            "text": [digits(said[node]["path"])],
        }
        for node in best
    ]
    say: list[Part] = [_chosen(remark["weighed"], remark["kept"])]
    listed = rows(["place", "path", "its probability"], shown, len(nodes))
    return {"say": say, "blocks": [listed, _size(scene, remark), *_taps(scene, remark)]}


def _chosen(weighed: int, kept: int) -> str:
    """How many of the guesses weighed are in the tree."""
    if weighed == kept:
        return f"All {kept} guesses weighed are checked." if kept > 1 else "One guess is weighed."
    those = f"{number(kept)} on the likeliest paths are" if kept > 1 else "likeliest is"
    return f"Of {number(weighed)} guesses weighed, the {those} checked."


def _size(scene: Scene, remark: Remark) -> Block:
    settings = scene.header.settings
    named = (("budget", "budget"), ("depth γ", "gamma"), ("top-k", "fan_out"))
    told = [(name, settings[key]) for name, key in named if key in settings]
    return facts(*told, ("passes of the head", remark["passes"]))


def _taps(scene: Scene, remark: Remark) -> list[Block]:
    """What the head reads of the target, where it says so, and which tokens it may propose."""
    if "memory" in remark:  # Mixture of Attentions'
        held = count(remark["memory"], "token")
        mixed = f"keys and values of {count(remark['layers'], 'layer')}"
        return [facts(("memory", held), ("made of", mixed))]
    if "tap_layers" not in remark:
        return []
    layers = ", ".join(map(str, remark["tap_layers"]))
    possible = f"{number(remark['draft_vocabulary'])} of {number(scene.header.vocab_size)} tokens"
    return [facts(("taps: reads after layers", layers), ("can propose", possible))]
