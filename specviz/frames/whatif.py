"""What if a random number u (a coin) were different: the next event, and what can change.

Only the next event is certain. Everything after it needs a new run, in which u is set by hand (see
`Settings.coins`). Some u accepts a guess unless its probability is 0, and some u rejects it unless
its probability is 1. Bounds of these probabilities are computed from the numbers on screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NotRequired, TypedDict

from specviz.frames.leaf_first import Need, after_acceptance, after_rejection
from specviz.frames.leaf_first import acceptance_bounds as leaf_first_acceptance_bounds
from specviz.frames.leaf_first import required_verdicts as leaf_first_required_verdicts
from specviz.frames.scene import Scene
from specviz.settings.chance import JUDGE, u_key
from specviz.texts import Part, say
from specviz.trace.events import Judged
from specviz.trace.rule_specs import (
    RULE_SPECS,
    AfterRejection,
    fly_own_threshold,
    point_mass_threshold,
    speculative_threshold,
)

NEXT_DRAW: Final = {
    AfterRejection.RESIDUAL: "then_residual",
    AfterRejection.ITSELF: "then_p",
    AfterRejection.TOP: "then_top",
    AfterRejection.BEYOND: "then_beyond",
}

U_TO_ACCEPT: Final = 0.0  # below any threshold except 0
U_TO_REJECT: Final = 0.999  # not below any threshold except those near 1
NEAR: Final = 1e-9  # tolerance of computed probabilities


class WhatIf(TypedDict):
    """What would come next if a guess were accepted, and if it were rejected."""

    coin: str
    kept: list[Part]
    rejected: list[Part]
    stuck: NotRequired[list[Part]]


def outcomes(scene: Scene, judged: Judged) -> WhatIf:
    """Return what would come next after each verdict on a guess."""
    found: WhatIf = {
        "coin": u_key(scene.round.number, JUDGE, judged.node),
        "kept": _if_accepted(scene, judged),
        "rejected": _if_rejected(scene, judged),
    }
    if is_certain(judged):
        chance = f"{judged.threshold:.0f}"
        found["stuck"] = say(
            "step", "no_coin_changes", token=scene.chip(judged.node), chance=chance
        )
    return found


def is_certain(judged: Judged) -> bool:
    """Return whether the verdict is the same for every u."""
    return judged.threshold in (0.0, 1.0)


def _if_accepted(scene: Scene, judged: Judged) -> list[Part]:
    node = judged.node
    if scene.guesses[node - 1].token in scene.header.eos:
        return say("step", "then_text_ends")
    if scene.leaf_first:
        return after_acceptance(scene, judged)
    if children := scene.children[node]:
        return say("step", "then_next", token=scene.chip(children[0]))
    return say("step", "then_bonus")


def _if_rejected(scene: Scene, judged: Judged) -> list[Part]:
    node = judged.node
    if scene.leaf_first:
        return after_rejection(scene, node)
    if (earlier := _overruled_before(scene, judged)) is not None:
        return say("step", "then_overruling_fails", token=scene.chip(earlier))
    siblings = scene.children[scene.guesses[node - 1].parent]
    if later := [sibling for sibling in siblings if sibling > node]:
        remainder = scene.after_rejection is AfterRejection.RESIDUAL
        return say("step", "then_sibling", token=scene.chip(later[0]), remainder=remainder)
    return say("step", NEXT_DRAW[scene.after_rejection])


def _overruled_before(scene: Scene, judged: Judged) -> int | None:
    # FLy overruled its rejection because this guess (and others) passed.
    if scene.header.rule != "fly" or judged.u >= fly_own_threshold(judged.inputs):
        return None
    for other in scene.round.judged:
        near = other.node < judged.node <= other.node + other.inputs["window"]
        if near and other.accepted and other.u >= fly_own_threshold(other.inputs):
            return other.node
    return None


def required_verdicts(scene: Scene) -> dict[str, list[Need]]:
    """Return, for every guess, the verdicts that would put it into the text.

    All guesses on its path must be accepted, and all siblings before them rejected. For rules that
    judge from the leaf up, see `leaf_first.required_verdicts`. Returns the verdicts as text, by
    node.
    """
    if scene.leaf_first:
        return leaf_first_required_verdicts(scene)
    found: dict[int, list[Need]] = {0: []}
    for node, guess in enumerate(scene.guesses, 1):
        before = [s for s in scene.children[guess.parent] if s < node]
        found[node] = [*found[guess.parent], *((s, 0) for s in before), (node, 1)]
    return {str(node): way for node, way in found.items() if node}


Bounds = tuple[float, float]


def acceptance_bounds(scene: Scene, known: Sequence[Judged]) -> dict[str, Bounds]:
    """Return bounds of each guess's acceptance probability, given the verdicts before it.

    Returns the bounds, with node numbers as text keys; both are equal if the probability is known
    exactly. Guesses without a bound are left out.
    """
    if scene.round.scored is None or scene.greedy:
        return {}
    found: dict[int, Bounds] = leaf_first_acceptance_bounds(scene) if scene.leaf_first else {}
    for siblings in scene.children:
        found |= _sibling_bounds(scene, siblings)
    for judged in known:
        siblings = scene.children[scene.guesses[judged.node - 1].parent]
        for node, (p, q) in zip(siblings, judged.tries or [], strict=False):
            found[node] = _exact_bounds(speculative_threshold({"p": p, "q": q}))
    found |= {judged.node: _exact_bounds(judged.threshold) for judged in known}
    return {str(node): bounds for node, bounds in sorted(found.items())}


def _exact_bounds(chance: float) -> Bounds:
    return chance, chance


def _sibling_bounds(scene: Scene, siblings: Sequence[int]) -> dict[int, Bounds]:
    spec = RULE_SPECS.get(scene.header.rule)
    if spec is None or spec.temperature_zero or not spec.has_alpha:
        return {}
    return _bounds_from_ratio(scene, siblings) if spec.reads_q else _bounds_from_p(scene, siblings)


def _bounds_from_p(scene: Scene, siblings: Sequence[int]) -> dict[int, Bounds]:
    found: dict[int, Bounds] = {}
    left, rejected = 1.0, set[int]()
    for node in siblings:
        token, p = scene.guesses[node - 1].token, _p(scene, node)
        again = token in rejected
        chance = 0.0 if again or p <= 0 else point_mass_threshold({"p": p / max(left, p)})
        found[node] = _exact_bounds(1.0 if chance > 1 - NEAR else chance)
        left -= 0.0 if again else p
        rejected.add(token)
    return found


def _bounds_from_ratio(scene: Scene, siblings: Sequence[int]) -> dict[int, Bounds]:
    # A rejection leaves (p − q)₊ / Z, where Z sums (p − q)₊ over the vocabulary. Only the siblings'
    # p and q are known here, so Z is known to be at most 1 − Σ min(p, q) over the siblings, which
    # bounds the second sibling's probability from below. Of later ones, only whether it is 0 is
    # known.
    found: dict[int, Bounds] = {}
    overlap: dict[int, float] = {}  # by token
    before = 0.0  # mass removed from q so far, if siblings are sampled without replacement
    for rank, node in enumerate(siblings):
        guess, p = scene.guesses[node - 1], _p(scene, node)
        given = guess.q or 0.0
        q = given * (1.0 - before)
        before += q if scene.header.rule == "without-replacement" else 0.0
        overlap[guess.token] = min(p, q)
        if rank == 0:
            found[node] = _exact_bounds(speculative_threshold({"p": p, "q": given}))
        elif p <= q * (1.0 - NEAR):
            found[node] = _exact_bounds(0.0)
        elif rank == 1 and p > q * (1.0 + NEAR):
            most = given * max(1.0 - sum(overlap.values()), NEAR)
            found[node] = (min(1.0, (p - q) / most * (1.0 - NEAR)), 1.0)
    return found


def _p(scene: Scene, node: int) -> float:
    assert scene.round.scored is not None
    return scene.round.scored.p[node - 1]
