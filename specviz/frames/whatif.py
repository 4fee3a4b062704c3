"""What another coin would have led to, from the tree and one threshold alone: nothing is foretold.

Only the very next thing follows from a verdict with certainty; what comes after it is for a new
run to tell, with these coins laid by hand (see `Settings.coins`).
"""

from __future__ import annotations

from typing import Any, Final

from specviz.frames.scene import Scene
from specviz.settings.chance import JUDGE, key
from specviz.trace.events import Judged

Parts = list[str | dict[str, Any]]


KEPT: Final = 0.0  # below any threshold but 0
FALLEN: Final = 0.999  # not below any threshold but those next to 1


def outcomes(scene: Scene, judged: Judged) -> dict[str, Any]:
    """What would come next had this candidate been kept, had it fallen; and its coin's name."""
    return {
        "coin": key(scene.round.number, JUDGE, judged.node),
        "kept": _after_keeping(scene, judged.node),
        "rejected": _after_falling(scene, judged.node),
    }


def _after_keeping(scene: Scene, node: int) -> Parts:
    if scene.guesses[node - 1].token in scene.header.eos:
        return ["The text would end with it."]
    children = scene.children[node]
    if children:
        return ["Next on trial would be ", _named(scene, children[0]), "."]
    return ["No guess follows it: a bonus token would be drawn from p."]


def _after_falling(scene: Scene, node: int) -> Parts:
    siblings = scene.children[scene.guesses[node - 1].parent]
    later = [sibling for sibling in siblings if sibling > node]
    if later:
        left = " would be tried next, against what is left of p."
        return ["Its sibling ", _named(scene, later[0]), left]
    return ["A token would be drawn from what is left of p."]


def _named(scene: Scene, node: int) -> dict[str, Any]:
    return {"w": scene.word(scene.guesses[node - 1].token)}


def ways(scene: Scene) -> dict[str, list[list[int]]]:
    """For every guess, the verdicts that would lead to it and keep it: [node, 1 kept or 0 fallen].

    A guess is kept where all on its path are, and each sibling tried before one of them fell.
    """
    found: dict[int, list[list[int]]] = {0: []}
    for node, guess in enumerate(scene.guesses, 1):
        before = [s for s in scene.children[guess.parent] if s < node]
        found[node] = [*found[guess.parent], *([s, 0] for s in before), [node, 1]]
    return {str(node): way for node, way in found.items() if node}
