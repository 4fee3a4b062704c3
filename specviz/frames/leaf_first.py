"""Verdicts of rules that judge from the leaf up: block and traversal verification.

A leaf is judged by reach × p ÷ q. Any other guess is judged after all guesses under it were
rejected, by comparing two numbers: the target's probability that those guesses do not cover (the
uncovered probability), and the amount by which the drafter's probability of reaching this guess
exceeds the target's (the excess). If a guess is accepted, so are all guesses before it. Block
verification: arXiv:2403.10444.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from specviz.frames.numbers import (
    NEGLIGIBLE,
    Format,
    coin_formats,
    format_verdict,
    parse_number,
    round_for_text,
    shortest_format,
)
from specviz.frames.scene import Scene
from specviz.texts import Part, number, say, term
from specviz.trace.events import Judged
from specviz.trace.metrics import path_after
from specviz.trace.rule_specs import speculative_threshold

Need = tuple[int, int]  # the node of a verdict, and 1 for accepted or 0 for rejected


class BarLabels(TypedDict):
    """Labels of the bars of a guess being judged.

    Attributes:
        left: "p" and "q", for the bars that show what remains after rejections.
        residual_bars: Whether the bars show the uncovered probability, first alone and then with
            the excess added.
    """

    p: str
    left: list[str]
    q: NotRequired[str]
    none: NotRequired[str]
    residual_bars: NotRequired[bool]


class LeafBars(TypedDict):
    """The bars that replace those of p and q in the panel, and their texts."""

    p: float
    q: NotRequired[float]
    labels: NotRequired[BarLabels]
    text: dict[str, str]


def explaining_verdict(scene: Scene, judged: Judged) -> Judged:
    """Return the verdict on the last rejected child, whose rows explain this one; else `judged`."""
    after = scene.children[judged.node]
    rejected = [event for event in scene.round.judged if after and event.node == after[-1]]
    return rejected[0] if scene.leaf_first and rejected else judged


def judged_by_residual(scene: Scene, judged: Judged) -> bool:
    """Return whether all children of the guess were rejected, so excess is compared."""
    return scene.leaf_first and "left" in judged.inputs


def leaf_verdict(scene: Scene, judged: Judged) -> list[Part]:
    """Return the sentence with the compared numbers and the probability, without u."""
    token = scene.chip(judged.node)
    if scene.greedy:
        along = accepted_with(scene, judged)
        accepted = judged.accepted
        return say("step", "leaf_zero", token=token, accepted=accepted, kept_with=along)
    if judged_by_residual(scene, judged):
        return _by_residual(scene, judged, token)
    return _by_reach(scene, judged, token)


def _chance(scene: Scene, judged: Judged) -> Part:
    text = format_verdict(scene, judged).text["threshold"]
    return number(round_for_text(judged.threshold, text), "both")


def _by_reach(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    reach, text = judged.rows.share, format_verdict(scene, judged).text
    chance, reach_term = _chance(scene, judged), term("reach", "reach")
    if reach == 0.0:
        return say("step", "leaf_reach_none", reach_term=reach_term, token=token, chance=chance)
    return say(
        "step",
        "leaf_reach",
        reach_term=reach_term,
        reach=round_for_text(reach, text["reach"]),
        rejected=scene.rejected_chips(judged) if scene.uses_p_remainder(judged) else [],
        token=token,
        given=_given(scene, judged),
        product=product(scene, judged),
        chance=chance,
    )


def _drafter(scene: Scene, judged: Judged) -> list[Part]:
    return say("step", "remainder_of_q" if scene.uses_q_remainder(judged) else "the_drafter")


def _given(scene: Scene, judged: Judged) -> list[Part]:
    text, inputs = format_verdict(scene, judged).text, judged.inputs
    source = _drafter(scene, judged)
    if times := multiple(judged):
        return say("step", "leaf_given_multiple", times=times, source=source)
    p = number(round_for_text(inputs["p"], text["p"]), "p")
    q = number(round_for_text(inputs["q"], text["q"]), "q") if "q" in inputs else ""
    return say("step", "leaf_given", p=p, source=source, q=q)


def multiple(judged: Judged) -> str:
    """Format p ÷ q as one number if p or q is too small to show; otherwise return ""."""
    p, q, reach = judged.inputs["p"], judged.inputs.get("q", 1.0), judged.rows.share
    bar, _ = coin_formats(judged.threshold, judged.u)
    if min(p, q) >= NEGLIGIBLE or min(reach, judged.threshold) < NEGLIGIBLE or q <= 0.0:
        return ""

    def multiplies(form: Format) -> bool:
        shown = parse_number(form(reach)) * parse_number(form(p / q))
        return bar(min(1.0, shown)) == bar(judged.threshold)

    return shortest_format(multiplies)[1](p / q)


def product(scene: Scene, judged: Judged) -> str:
    """Format the calculation reach × p ÷ q as shown; empty if the digits show only 0."""
    text, inputs = format_verdict(scene, judged).text, judged.inputs
    if times := multiple(judged):
        return f"{text['reach']} × {times}"
    values = (inputs["p"], inputs.get("q", 1.0), judged.threshold)
    if judged.threshold == 0.0 or any(round_for_text(v).startswith("about 0") for v in values):
        return ""
    reached = f"{text['reach']} × {text['p']}" if judged.rows.share < 1.0 else text["p"]
    return f"{reached} ÷ {text['q']}" if "q" in inputs else reached


def _by_residual(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    # uncovered ÷ (uncovered + excess); see the module's description
    text, inputs, chance = format_verdict(scene, judged).text, judged.inputs, _chance(scene, judged)
    after = say("step", "leaf_after", n=len(descendants(scene, judged.node)), token=token)
    if inputs["reach"] in (0.0, 1.0):
        which = "leaf_residual_full" if inputs["reach"] else "leaf_residual_never"
        return say("step", which, after=after, chance=chance)
    share = round_for_text(judged.threshold)
    if share.startswith("about 0") or not judged.threshold:
        nothing = share == "0"
        return say("step", "leaf_residual_empty", after=after, nothing=nothing, chance=chance)
    excess = text["beyond"] if parse_number(text["beyond"]) else ""
    shows_sum = excess and not share.startswith("about")
    return say(
        "step",
        "leaf_residual",
        after=after,
        uncovered=number(text["left"], "residual"),
        excess=number(excess, "q") if excess else "",
        quotient=f"{text['left']} ÷ ({text['left']} + {excess})" if shows_sum else "",
        chance=chance,
    )


def descendants(scene: Scene, node: int) -> list[int]:
    """Return all guesses under a node, on all branches."""
    found = list(scene.children[node])
    for child in scene.children[node]:
        found += descendants(scene, child)
    return found


def accepted_with(scene: Scene, judged: Judged) -> list[Part]:
    """Return the clause on how many guesses are accepted together with an accepted one."""
    kept = path_after(scene.round, [judged]) if scene.leaf_first and judged.accepted else []
    return say("step", "kept_with", n=len(kept) - 1) if len(kept) > 1 else []


def compare_with_root_first(scene: Scene, judged: Judged) -> list[Part]:
    """Return the sentence that names the first guess that a root-first rule would have rejected."""
    if scene.greedy or not judged.accepted or scene.round.scored is None:
        return []
    for node in path_after(scene.round, [judged]):
        guess, p = scene.guesses[node - 1], scene.round.scored.p[node - 1]
        if scene.children[guess.parent][0] != node:
            return []  # the probability of a later sibling would depend on earlier ones
        chance = speculative_threshold({"p": p, "q": 1.0 if guess.q is None else guess.q})
        if guess.u >= chance:
            bar, coin = coin_formats(chance, guess.u)
            return say(
                "step",
                "leaf_from_root",
                token=scene.chip(node),
                chance=number(bar(chance), "both"),
                u=number(coin(guess.u), "u"),
            )
    return []


def question(scene: Scene, judged: Judged) -> list[Part]:
    """Return the question before a verdict: the compared numbers, without the probability."""
    token = scene.chip(judged.node)
    if scene.greedy:
        return say("step", "ask_leaf_zero", token=token)
    text, inputs = format_verdict(scene, judged).text, judged.inputs
    if judged_by_residual(scene, judged):
        left, excess_mass = inputs["left"], 1.0 - inputs["reach"]
        uncovered = number(round_for_text(left, text["left"]), "residual")
        beyond = number(round_for_text(excess_mass, text["beyond"]), "q")
        excess = beyond if parse_number(text["beyond"]) else ""
        return say("step", "ask_leaf_residual", token=token, uncovered=uncovered, excess=excess)
    drafter_gave: list[Part] = []
    if "q" in inputs:
        source, q = _drafter(scene, judged), number(text["q"], "q")
        drafter_gave = say("step", "drafter_gave", source=source, q=q, only=False)
    return say(
        "step",
        "ask_leaf_reach",
        token=token,
        reach=round_for_text(judged.rows.share, text["reach"]),
        source=say("step", "remainder_of_p") if scene.uses_p_remainder(judged) else "the target",
        p=number(text["p"], "p"),
        drafter_gave=drafter_gave,
    )


def because(scene: Scene, judged: Judged) -> list[Part]:
    """Return a clause with the reason for the probability, and whether the verdict is certain."""
    certain = judged.threshold in (0.0, 1.0)
    if scene.greedy:
        return say("step", "because_zero", accepted=judged.accepted)
    share = number(format_verdict(scene, judged).text["threshold"], "both")
    if judged_by_residual(scene, judged):
        if certain:
            return say("step", "because_full" if judged.threshold else "because_empty")
        return say("step", "because_residual", chance=share)
    p = "p′" if scene.uses_p_remainder(judged) else "p"
    p = f"reach × {p}" if judged.rows.share < 1.0 else p
    has_q = "q" in judged.inputs
    if certain:
        q = "q" if has_q else "1"
        return say("step", "because_sure", p=p, q=q, accepted=bool(judged.threshold))
    return say("step", "because_share", p=p, chance=share, has_q=has_q)


def bars(scene: Scene, judged: Judged) -> LeafBars:
    """Return the bars that replace those of p and q in the panel, and the calculation below u."""
    inputs, text = judged.inputs, dict(format_verdict(scene, judged).text)
    if judged_by_residual(scene, judged):
        left, excess_mass = inputs["left"], 1.0 - inputs["reach"]
        text |= {"p": text["left"], "q": text["all"], "sum": text["threshold"]}
        if judged.threshold >= NEGLIGIBLE:
            text["sum"] = f"{text['left']} ÷ {text['all']} = {text['threshold']}"
        named: BarLabels = {"p": "uncovered", "q": "with excess", "left": [], "residual_bars": True}
        whole = round(left + excess_mass, 6)
        return {"p": round(left, 6), "q": whole, "labels": named, "text": text}
    reach = judged.rows.share
    if reach != 1.0:
        formula = product(scene, judged)
        more = reach * inputs["p"] >= inputs.get("q", 1.0)
        equals = f"{formula} ≥ 1" if more else f"{formula} = {text['threshold']}"
        text["sum"] = equals if formula else text["threshold"]
        text["p"] = f"{text['reach']} × {text['p']}"
    return {"p": round(reach * inputs["p"], 6), "text": text}


def next_judged(scene: Scene, node: int) -> int:
    """Return the guess judged next if `node` is rejected: a sibling's first leaf, or the parent."""
    parent = scene.guesses[node - 1].parent
    later = [sibling for sibling in scene.children[parent] if sibling > node]
    if not later:
        return parent
    end = later[0]
    while scene.children[end]:
        end = scene.children[end][0]
    return end


def after_rejection(scene: Scene, node: int) -> list[Part]:
    """Return the sentence on what would come next if a guess were rejected."""
    then = next_judged(scene, node)
    if not then:
        return say("step", "then_no_guess_left")
    return say("step", "then_next", token=scene.chip(then))


def after_acceptance(scene: Scene, judged: Judged) -> list[Part]:
    """Return the sentence on what would come next if a guess were accepted."""
    residual = bool(scene.children[judged.node])
    return say("step", "then_accepted", others=scene.depths[judged.node] > 1, residual=residual)


def required_verdicts(scene: Scene) -> dict[str, list[Need]]:
    """Return, for every guess, the verdicts that would put it into the text.

    The guess itself is accepted, and every guess that is judged earlier and is not under it is
    rejected. (A guess also gets into the text if a guess under it is accepted.) Returns the
    verdicts as text, by node.
    """
    order = judging_order(scene, 0)
    found: dict[int, list[Need]] = {}
    for at, node in enumerate(order):
        own = set(descendants(scene, node))
        found[node] = [*((other, 0) for other in order[:at] if other not in own), (node, 1)]
    return {str(node): found[node] for node in sorted(found)}


def judging_order(scene: Scene, node: int) -> list[int]:
    """Return all guesses under a node, in judging order, assuming that none is accepted."""
    order: list[int] = []
    for child in scene.children[node]:
        order += [*judging_order(scene, child), child]
    return order


def acceptance_bounds(scene: Scene) -> dict[int, tuple[float, float]]:
    """Return bounds of the acceptance probabilities of first siblings, from scores alone.

    The probability of a leaf is its reach. For other guesses the reach is an upper bound. A reach
    of 0 or 1 decides the verdict. Returns the lower and the upper bound, by node.
    """
    assert scene.round.scored is not None
    found: dict[int, tuple[float, float]] = {}
    reach = {0: 1.0}
    for siblings in scene.children:
        for node in siblings[:1]:
            guess, p = scene.guesses[node - 1], scene.round.scored.p[node - 1]
            if guess.parent not in reach:
                continue
            own = speculative_threshold(
                {"p": reach[guess.parent] * p, "q": 1.0 if guess.q is None else guess.q}
            )
            reach[node] = own
            sure = own in (0.0, 1.0) or not scene.children[node]
            found[node] = (own, own) if sure else (0.0, own)
    return found
