"""The draft tree as data: every guess on screen, its state, and p and q where they are known."""

from __future__ import annotations

from typing import Any

from specviz.frames.scene import Scene, Step
from specviz.frames.states import open_slot, states
from specviz.frames.whatif import ways
from specviz.trace import Scored

Node = dict[str, Any]


def nodes(scene: Scene, step: Step) -> dict[str, Node]:
    """The guesses by node number, as text, since a patch is keyed by text. p from scoring on."""
    scored = scene.round.scored if step.kind != "propose" else None
    found: dict[str, Node] = {}
    for node, state in states(scene, step).items():
        guess = scene.guesses[node - 1]
        view: Node = {
            "w": scene.word(guess.token),
            "parent": guess.parent,
            "depth": scene.depths[node],
            "is": state,
        }
        if guess.q is not None:
            view["q"] = round(guess.q, 6)
        if scored is not None:
            view |= seen(scene, scored, node)
        found[str(node)] = view
    return found


def seen(scene: Scene, scored: Scored, node: int) -> Node:
    """What the target's pass tells of a guess: p, and the likeliest tokens after it.

    At temperature 0 both are verdicts already; the softmax at temperature 1 stands in their place.
    """
    if scored.soft is not None:
        return {"soft": round(scored.soft[node - 1], 6)}
    found: Node = {"p": round(scored.p[node - 1], 6)}
    return found | ({"top": top(scene, scored.top[node])} if node < len(scored.top) else {})


def top(scene: Scene, pairs: list[list[float]]) -> list[list[Any]]:
    """The likeliest next tokens after a node, as [word, p]."""
    return [[scene.word(int(token)), round(p, 6)] for token, p in pairs]


def tree(scene: Scene, step: Step) -> dict[str, Any]:
    """The tree at a step: its root, its guesses, the one on trial and the slot to fill."""
    root = scene.round.proposed.root if scene.round.proposed else scene.header.prompt_ids[-1]
    shape = [guess.parent for guess in scene.guesses]  # of the whole try, so that nothing moves
    view: dict[str, Any] = {"root": scene.word(root), "nodes": nodes(scene, step), "shape": shape}
    if not scene.greedy:
        view["ways"] = ways(scene)
    if step.kind == "judge":
        view["here"] = scene.round.judged[step.at].node
    slot = open_slot(scene, step)
    if slot is not None:
        view["slot"] = {"parent": slot, "depth": scene.depths[slot] + 1}
        if step.kind in ("draw", "commit") and scene.round.drew:
            drew = scene.round.drew
            view["slot"] |= {"w": scene.word(drew.token), "is": drew.kind}
    return view
