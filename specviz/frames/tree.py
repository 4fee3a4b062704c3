"""The draft tree as data: every guess on screen, its state, and its p and q if known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from specviz.frames.leaf_first import next_judged
from specviz.frames.scene import Scene, Step
from specviz.frames.whatif import chances, ways
from specviz.trace.events import Judged, Scored
from specviz.trace.metrics import path_after

State = Literal["waiting", "accepted", "rejected", "unreached"]


def verdicts_at(scene: Scene, step: Step) -> list[Judged]:
    """The verdicts that are known at this step."""
    if step.kind == "judge":
        return scene.round.judged[: step.at + 1]
    return scene.round.judged if step.kind in ("draw", "commit") else []


def states(scene: Scene, step: Step) -> dict[int, State]:
    """The state of each guess on screen, by node, from the verdicts so far alone."""
    depth = step.at if step.kind == "propose" else max(scene.depths)
    found: dict[int, State] = {}
    known = verdicts_at(scene, step)
    verdicts = {j.node: j.accepted for j in known}
    verdicts |= dict.fromkeys(path_after(scene.round, known), True)  # kept by a later one
    over = step.kind in ("draw", "commit")
    for node, guess in enumerate(scene.guesses, 1):
        if scene.depths[node] > depth:
            continue
        if node in verdicts:
            found[node] = "accepted" if verdicts[node] else "rejected"
        elif over or _out_of_reach(found, guess.parent, scene.children[guess.parent], verdicts):
            found[node] = "unreached"
        else:
            found[node] = "waiting"
    return found


def _out_of_reach(
    found: dict[int, State], parent: int, siblings: Sequence[int], verdicts: dict[int, bool]
) -> bool:
    if found.get(parent) in ("rejected", "unreached"):
        return True
    return any(verdicts.get(sibling) for sibling in siblings)


def open_slot(scene: Scene, step: Step) -> int | None:
    """The parent of the round's last token, once no guess is left to judge.

    It follows from the verdicts so far: a rejection with no sibling left, or an accepted guess with
    none after it; judged from the leaf up, any accepted guess, or the last one's rejection.
    """
    if step.kind in ("draw", "commit"):
        return scene.round.drew.parent if scene.round.drew else None
    if step.kind != "judge":
        return None
    judged = scene.round.judged[step.at]
    guess = scene.guesses[judged.node - 1]
    if judged.accepted:
        goes_on = scene.children[judged.node] and not scene.leaf_first
        return None if goes_on or guess.token in scene.header.eos else judged.node
    if scene.leaf_first:
        return None if next_judged(scene, judged.node) else 0
    left = states(scene, step)
    siblings = scene.children[guess.parent]
    return None if any(left[n] == "waiting" for n in siblings) else guess.parent


Node = dict[str, Any]


def nodes(scene: Scene, step: Step) -> dict[str, Node]:
    """The guesses by node number as text, since a patch is keyed by text.

    With p from scoring on, and from a later sibling's verdict on with the remainders it used.
    """
    scored = scene.round.scored if step.kind != "propose" else None
    found: dict[str, Node] = {}
    verdicts = {judged.node: judged for judged in verdicts_at(scene, step)}
    for node, state in states(scene, step).items():
        guess = scene.guesses[node - 1]
        view: Node = {
            "w": scene.word(guess.token),
            "parent": guess.parent,
            "depth": scene.depths[node],
            "is": state,
        }
        if node in scene.q:
            view["q"] = round(scene.q[node], 6)
        if scored is not None:
            view |= seen(scene, scored, node)
        if node in verdicts:
            view |= remainders(scene, verdicts[node])
        found[str(node)] = view
    return found


def remainders(scene: Scene, judged: Judged) -> dict[str, float]:
    """p′ of a second or later sibling, and q′ if siblings are sampled without replacement."""
    found: dict[str, float] = {}
    if scene.uses_p_remainder(judged):
        found["left"] = round(judged.inputs["p"], 6)
    if scene.uses_q_remainder(judged):
        found["left_q"] = round(judged.inputs["q"], 6)
    return found


def seen(scene: Scene, scored: Scored, node: int) -> Node:
    """What the target's pass gives for a guess: p, and the likeliest tokens after it.

    At temperature 0 these would be verdicts, so it is the softmax at temperature 1 instead.
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
    shape = [guess.parent for guess in scene.guesses]  # of the whole draft, so that nothing moves
    view: dict[str, Any] = {"root": scene.word(root), "nodes": nodes(scene, step), "shape": shape}
    if not scene.greedy:
        view["ways"] = ways(scene)
    if step.kind != "propose" and (bounds := chances(scene, verdicts_at(scene, step))):
        view["chances"] = bounds
    if step.kind == "judge":
        view["here"] = scene.round.judged[step.at].node
    slot = open_slot(scene, step)
    if slot is not None:
        view["slot"] = {"parent": slot, "depth": scene.depths[slot] + 1}
        if step.kind in ("draw", "commit") and scene.round.drew:
            drew = scene.round.drew
            view["slot"] |= {"w": scene.word(drew.token), "is": drew.kind}
    return view
