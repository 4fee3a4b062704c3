"""What has become of every guess at a step. Its one rule: nothing here looks past the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from specviz.frames.scene import Scene, Step
from specviz.trace import Judged

State = Literal["waiting", "accepted", "rejected", "unreached"]


def judged_by(scene: Scene, step: Step) -> list[Judged]:
    """The verdicts that have fallen at this step."""
    if step.kind == "judge":
        return scene.round.judged[: step.at + 1]
    return scene.round.judged if step.kind in ("draw", "commit") else []


def states(scene: Scene, step: Step) -> dict[int, State]:
    """The state of each guess on screen, by node, from the verdicts so far alone."""
    depth = step.at if step.kind == "propose" else max(scene.depths)
    found: dict[int, State] = {}
    verdicts = {j.node: j.accepted for j in judged_by(scene, step)}
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
    """The node under which the round's last token will stand, once no guess is left to judge.

    It follows from the verdicts so far: a rejection with no sibling left, or a kept guess that
    nothing was drafted after.
    """
    if step.kind in ("draw", "commit"):
        return scene.round.drew.parent if scene.round.drew else None
    if step.kind != "judge":
        return None
    judged = scene.round.judged[step.at]
    guess = scene.guesses[judged.node - 1]
    if judged.accepted:
        over = scene.children[judged.node] or guess.token in scene.header.eos
        return None if over else judged.node
    left = states(scene, step)
    siblings = scene.children[guess.parent]
    return None if any(left[n] == "waiting" for n in siblings) else guess.parent
