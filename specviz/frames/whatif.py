"""What another coin would have led to, and what no coin can do, from what is on screen alone.

Only the very next thing follows from a verdict with certainty; what comes after it is for a new
run to tell, with these coins laid by hand (see `Settings.coins`). A coin keeps what has a chance
above 0, and fells what has one below 1: where a trace tells the chance, that is checked first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from specviz.frames.leaf_first import after_falling, after_keeping
from specviz.frames.leaf_first import chances as leaf_first_chances
from specviz.frames.leaf_first import ways as leaf_first_ways
from specviz.frames.scene import Scene
from specviz.settings.chance import JUDGE, u_key
from specviz.trace.events import Judged
from specviz.trace.rule_specs import RULE_SPECS, AfterRejection
from specviz.trace.thresholds import point_mass_threshold, speculative_threshold

REPLACED: Final = {
    AfterRejection.RESIDUAL: "A token would be drawn from what is left of p.",
    AfterRejection.ITSELF: "A token would be drawn from p.",
    AfterRejection.TOP: "The target's top token would stand in its place.",
    AfterRejection.BEYOND: "A token would be drawn from what p has beyond ρ q.",
}
Parts = list[str | dict[str, Any]]


KEPT: Final = 0.0  # below any threshold but 0
FALLEN: Final = 0.999  # not below any threshold but those next to 1
NEAR: Final = 1e-9  # rounding, where a chance is computed from others


def outcomes(scene: Scene, judged: Judged) -> dict[str, Any]:
    """What would come next had this candidate been kept, had it fallen; its coin's name; and
    `stuck`, where no coin can change the verdict.
    """
    found = {
        "coin": u_key(scene.round.number, JUDGE, judged.node),
        "kept": _after_keeping(scene, judged),
        "rejected": _after_falling(scene, judged.node),
    }
    if stuck(judged):
        end = f" is kept with chance {judged.threshold:.0f}."
        found["stuck"] = ["No coin can do otherwise: ", _named(scene, judged.node), end]
    return found


def stuck(judged: Judged) -> bool:
    """Whether the verdict is the same wherever the coin falls."""
    return judged.threshold in (0.0, 1.0)


def _after_keeping(scene: Scene, judged: Judged) -> Parts:
    node = judged.node
    if scene.guesses[node - 1].token in scene.header.eos:
        return ["The text would end with it."]
    if scene.leaf_first:
        return after_keeping(scene, judged)
    children = scene.children[node]
    if children:
        return ["Next on trial would be ", _named(scene, children[0]), "."]
    return ["No guess follows it: a bonus token would be drawn from p."]


def _after_falling(scene: Scene, node: int) -> Parts:
    if scene.leaf_first:
        return after_falling(scene, node)
    siblings = scene.children[scene.guesses[node - 1].parent]
    later = [sibling for sibling in siblings if sibling > node]
    if later:
        law = "what is left of p" if scene.after_rejection is AfterRejection.RESIDUAL else "p"
        return ["Its sibling ", _named(scene, later[0]), f" would be tried next, against {law}."]
    return [REPLACED[scene.after_rejection]]


def _named(scene: Scene, node: int) -> dict[str, Any]:
    return {"w": scene.word(scene.guesses[node - 1].token)}


def ways(scene: Scene) -> dict[str, list[list[int]]]:
    """For every guess, the verdicts that would lead to it and keep it: [node, 1 kept or 0 fallen].

    A guess is kept where all on its path are, and each sibling tried before one of them fell; from
    the leaf up, see `leaf_first.ways`.
    """
    if scene.leaf_first:
        return leaf_first_ways(scene)
    found: dict[int, list[list[int]]] = {0: []}
    for node, guess in enumerate(scene.guesses, 1):
        before = [s for s in scene.children[guess.parent] if s < node]
        found[node] = [*found[guess.parent], *([s, 0] for s in before), [node, 1]]
    return {str(node): way for node, way in found.items() if node}


Bounds = tuple[float, float]


def chances(scene: Scene, known: Sequence[Judged]) -> dict[str, list[float]]:
    """By guess, between what its chance to be kept lies once the verdicts before it in its way
    have fallen so: [least, most], which are one where the trace tells it. Nothing is said of a
    guess whose chance may be any. known: the verdicts that are on screen.
    """
    if scene.round.scored is None or scene.greedy:
        return {}
    found: dict[int, Bounds] = leaf_first_chances(scene) if scene.leaf_first else {}
    for siblings in scene.children:
        found |= _untried(scene, siblings)
    for judged in known:
        siblings = scene.children[scene.guesses[judged.node - 1].parent]
        for node, (p, q) in zip(siblings, judged.tries or [], strict=False):
            found[node] = _exactly(speculative_threshold({"p": p, "q": q}))
    found |= {judged.node: _exactly(judged.threshold) for judged in known}
    return {str(node): list(bounds) for node, bounds in sorted(found.items())}


def _exactly(chance: float) -> Bounds:
    return chance, chance


def _untried(scene: Scene, siblings: Sequence[int]) -> dict[int, Bounds]:
    """What p and q of the siblings at one place tell of their chances, before any is judged."""
    promise = RULE_SPECS.get(scene.header.rule)
    if promise is None or promise.temperature_zero or not promise.has_alpha:
        return {}
    return _against_q(scene, siblings) if promise.reads_q else _masked(scene, siblings)


def _masked(scene: Scene, siblings: Sequence[int]) -> dict[int, Bounds]:
    """Each against p without those that fell before it: all of it is known."""
    found: dict[int, Bounds] = {}
    left, fallen = 1.0, set[int]()
    for node in siblings:
        token, p = scene.guesses[node - 1].token, _p(scene, node)
        again = token in fallen
        chance = 0.0 if again or p <= 0 else point_mass_threshold({"p": p / max(left, p)})
        found[node] = _exactly(1.0 if chance > 1 - NEAR else chance)
        left -= 0.0 if again else p
        fallen.add(token)
    return found


def _against_q(scene: Scene, siblings: Sequence[int]) -> dict[int, Bounds]:
    """The first against q. What its rejection leaves is (p − q)₊ over their sum Z, of which only
    a bound is known here, Z ≤ 1 − Σ min(p, q) of the siblings: so it is with the second's chance.
    Of any later one it is known whether something can be left of p for it.
    """
    found: dict[int, Bounds] = {}
    overlap: dict[int, float] = {}  # by token
    before = 0.0  # the mass that was taken out of q where it is drawn without replacement
    for place, node in enumerate(siblings):
        guess, p = scene.guesses[node - 1], _p(scene, node)
        given = guess.q or 0.0
        q = given * (1.0 - before)
        before += q if scene.header.rule == "without-replacement" else 0.0
        overlap[guess.token] = min(p, q)
        if place == 0:
            found[node] = _exactly(speculative_threshold({"p": p, "q": given}))
        elif p <= q * (1.0 - NEAR):
            found[node] = _exactly(0.0)
        elif place == 1 and p > q * (1.0 + NEAR):
            most = given * max(1.0 - sum(overlap.values()), NEAR)
            found[node] = (min(1.0, (p - q) / most * (1.0 - NEAR)), 1.0)
    return found


def _p(scene: Scene, node: int) -> float:
    assert scene.round.scored is not None
    return scene.round.scored.p[node - 1]
