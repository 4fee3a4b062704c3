"""A verdict of a rule that judges from the leaf up: what it weighs, and what follows from it.

A guess with none after it weighs its reach times p against q. One whose guesses after it all fell
weighs what the target is still owed there against how much too often the draft came so far. A
guess that is kept keeps all before it.
"""

from __future__ import annotations

from typing import Any

from specviz.frames.numbers import LEAST, Form, coin_forms, first, numbers, read, spoken
from specviz.frames.scene import Scene
from specviz.texts import Part, listed, number
from specviz.trace.events import Judged
from specviz.trace.metrics import path_after
from specviz.trace.thresholds import speculative_threshold


def explained(scene: Scene, judged: Judged) -> Judged:
    """The verdict whose laws explain this one: where guesses after it fell, that on the last."""
    after = scene.children[judged.node]
    fell = [event for event in scene.round.judged if after and event.node == after[-1]]
    return fell[0] if scene.leaf_first and fell else judged


def weighs_owed(scene: Scene, judged: Judged) -> bool:
    """Whether a verdict weighs what is owed after the guess, not the guess itself."""
    return scene.leaf_first and "left" in judged.inputs


def weighed(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """What is weighed and the chance that follows, up to the coin."""
    if scene.greedy:
        return _at_zero(scene, judged, token)
    weigh = _owed if weighs_owed(scene, judged) else _reached
    return [*weigh(scene, judged, token), ". "]


def _at_zero(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """At temperature 0, where a guess counts if all up to it are top tokens."""
    every = "every guess up to " if judged.accepted else "not every guess up to "
    end = f"kept{kept_with(scene, judged)}" if judged.accepted else "rejected"
    top = "At temperature 0 only the target's top tokens count, and "
    return [top, every, token, f" is one: {end}."]


def _chance(scene: Scene, judged: Judged, sum_: str) -> list[Part]:
    """The chance, with the sum that it is where a reader can redo that."""
    chance = number(spoken(judged.threshold, numbers(scene, judged).text["threshold"]), "both")
    if sum_ and judged.threshold == 1.0:
        return [f": {sum_} is 1 or more, so it is kept with chance ", chance]
    return [": keep with chance ", *([f"{sum_} = "] if sum_ else []), chance]


def _reached(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """A guess with none after it: reach × p ÷ q."""
    reach, text = judged.rows.share, numbers(scene, judged).text
    covers: list[Part] = ["The target covers ", spoken(reach, text["reach"]), " of the way here ("]
    covers += [{"t": "reach", "term": "reach"}, ")"]
    if reach == 0.0:
        return [*covers, ", so ", token, " cannot be kept", *_chance(scene, judged, "")]
    if scene.left_of_p(judged):
        after = ["; after ", *_fallen(scene, judged), " fell, what is left of p (p′)"]
        start = [*covers, *after, " gives ", token, " "]
    else:
        start = [*covers, " and gives ", token, " "]
    return [*start, *_given(scene, judged), *_chance(scene, judged, product(scene, judged))]


def _given(scene: Scene, judged: Judged) -> list[Part]:
    """p of a guess, and the q beside it."""
    text, inputs = numbers(scene, judged).text, judged.inputs
    gave = "what was left of q (q′)" if scene.left_of_q(judged) else "the draft"
    if times := multiple(judged):
        return [f"{times} times what {gave} gave it"]
    found: list[Part] = [number(spoken(inputs["p"], text["p"]), "p")]
    if "q" in inputs:
        found += [f", {gave} gave it ", number(spoken(inputs["q"], text["q"]), "q")]
    return found


def _fallen(scene: Scene, judged: Judged) -> list[Part]:
    words = [{"w": scene.word(scene.guesses[e.node - 1].token)} for e in scene.fallen(judged)]
    return listed(words)


def multiple(judged: Judged) -> str:
    """p ÷ q where neither can be weighed alone and reach × that is the chance; else empty."""
    p, q, reach = judged.inputs["p"], judged.inputs.get("q", 1.0), judged.rows.share
    bar, _ = coin_forms(judged.threshold, judged.u)
    if min(p, q) >= LEAST or min(reach, judged.threshold) < LEAST or q <= 0.0:
        return ""

    def multiplies(form: Form) -> bool:
        shown = read(form(reach)) * read(form(p / q))
        return bar(min(1.0, shown)) == bar(judged.threshold)

    return first(multiplies)[1](p / q)


def product(scene: Scene, judged: Judged) -> str:
    """Reach × p ÷ q in the digits shown; empty where that shows nothing."""
    text, inputs = numbers(scene, judged).text, judged.inputs
    if times := multiple(judged):
        return f"{text['reach']} × {times}"
    told = [spoken(value) for value in (inputs["p"], inputs.get("q", 1.0), judged.threshold)]
    if judged.threshold == 0.0 or any(each.startswith("about 0") for each in told):
        return ""
    reached = f"{text['reach']} × {text['p']}" if judged.rows.share < 1.0 else text["p"]
    return f"{reached} ÷ {text['q']}" if "q" in inputs else reached


def _owed(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """A guess whose guesses after it all fell: owed ÷ (owed + too often)."""
    text, inputs = numbers(scene, judged).text, judged.inputs
    many = len(below(scene, judged.node))
    fell = {1: "The guess after ", 2: "Both guesses after "}.get(many, f"All {many} guesses after ")
    start: list[Part] = [fell, token, " fell. "]
    if inputs["reach"] in (0.0, 1.0):
        often = "no more often than the target would" if inputs["reach"] else "where it never would"
        return [*start, f"The draft came so far {often}", *_chance(scene, judged, "")]
    if (owing := spoken(judged.threshold)).startswith("about 0") or not judged.threshold:
        little = "Nothing" if owing == "0" else "Next to nothing"
        return [*start, f"{little} is owed there", *_chance(scene, judged, "")]
    owed: list[Part] = ["Of ", text["all"], " that is left there the target is owed "]
    owed += [number(text["left"], "residual"), "; by the other ", number(text["beyond"], "q")]
    sum_ = "" if owing.startswith("about") else f"{text['left']} ÷ {text['all']}"
    return [*start, *owed, " the draft came so far too often", *_chance(scene, judged, sum_)]


def below(scene: Scene, node: int) -> list[int]:
    """All guesses after a node, on every branch of it."""
    found = list(scene.children[node])
    for child in scene.children[node]:
        found += below(scene, child)
    return found


def kept_with(scene: Scene, judged: Judged) -> str:
    """What else a guess that is kept keeps: all before it, and none of these by a coin."""
    many = len(path_after(scene.round, [judged])) - 1 if scene.leaf_first and judged.accepted else 0
    if many <= 0:
        return ""
    return f", and with it the {'guess' if many == 1 else f'{many} guesses'} before it"


def from_the_root(scene: Scene, judged: Judged) -> list[Part]:
    """Which of the kept guesses would have fallen by their own coins, judged from the root on."""
    if scene.greedy or not judged.accepted or scene.round.scored is None:
        return []
    for node in path_after(scene.round, [judged]):
        guess, p = scene.guesses[node - 1], scene.round.scored.p[node - 1]
        if scene.children[guess.parent][0] != node:
            return []  # what it would have met hangs on its siblings
        chance = speculative_threshold({"p": p, "q": 1.0 if guess.q is None else guess.q})
        if guess.u >= chance:
            bar, coin = coin_forms(chance, guess.u)
            said: list[Part] = [" From the root on, ", {"w": scene.word(guess.token)}]
            said += [" would have fallen: chance ", number(bar(chance), "both"), ", coin "]
            return [*said, number(coin(guess.u), "u"), "."]
    return []


def asked(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """The question before a verdict: what is weighed, without the chance."""
    if scene.greedy:
        return ["Is every guess up to ", token, " the target's top token?"]
    text, inputs = numbers(scene, judged).text, judged.inputs
    will: list[Part] = ["Will ", token, " be kept? "]
    if weighs_owed(scene, judged):
        owed = number(spoken(inputs["left"], text["left"]), "residual")
        beyond = number(spoken(1.0 - inputs["reach"], text["beyond"]), "q")
        more: list[Part] = ["; the draft came so far too often by ", beyond]
        return [*will, "All after it fell, and the target is still owed ", owed, *more, "."]
    p = "what is left of p (p′)" if scene.left_of_p(judged) else "the target"
    reach: list[Part] = ["The reach of its place is ", spoken(judged.rows.share, text["reach"])]
    will += [*reach, f"; {p} gives it ", number(text["p"], "p")]
    if "q" in inputs:
        gave = "what was left of q (q′)" if scene.left_of_q(judged) else "the draft"
        return [*will, f", {gave} gave it ", number(text["q"], "q"), "."]
    return [*will, ", and it has no q."]


def because(scene: Scene, judged: Judged) -> list[Part]:
    """Why the chance is what it is, as a clause; where no coin could change the verdict, as one
    that says so."""
    sure = judged.threshold in (0.0, 1.0)
    if scene.greedy:
        which = "all up to it are" if judged.accepted else "not all up to it are"
        return [f"{which} the target's top tokens, and at temperature 0 that decides."]
    share = number(numbers(scene, judged).text["threshold"], "both")
    if weighs_owed(scene, judged):
        if sure:
            full = "the draft came so far no more often than the target would: it is always kept."
            return [full if judged.threshold else "nothing is owed there: it is never kept."]
        return [share, " of what is left there is owed"]
    p = "p′" if scene.left_of_p(judged) else "p"
    p = f"reach × {p}" if judged.rows.share < 1.0 else p
    if sure:
        q = "q" if "q" in judged.inputs else "1"
        return [f"{p} ≥ {q}: it is always kept." if judged.threshold else f"{p} is 0: never kept."]
    return [f"{p} is ", share, " of q" if "q" in judged.inputs else ", and there is no q"]


def bars(scene: Scene, judged: Judged) -> dict[str, Any]:
    """What a trial's panel shows in the place of p and q, and the sum under its coin."""
    inputs, text = judged.inputs, dict(numbers(scene, judged).text)
    why = because(scene, judged)
    if weighs_owed(scene, judged):
        left, beyond = inputs["left"], 1.0 - inputs["reach"]
        named = {"p": "owed", "q": "all left", "left": [], "owed": True}
        whole = {"p": round(left, 6), "q": round(left + beyond, 6), "laws": named}
        text |= {"p": text["left"], "q": text["all"], "sum": text["threshold"]}
        if judged.threshold >= LEAST:
            text["sum"] = f"{text['left']} ÷ {text['all']} = {text['threshold']}"
        return whole | {"text": text, "because": why}
    reach = judged.rows.share
    found = {"p": round(reach * inputs["p"], 6), "because": why}
    if reach == 1.0:
        return found | {"text": text}
    sum_ = product(scene, judged)
    more = reach * inputs["p"] >= inputs.get("q", 1.0)
    equals = f"{sum_} ≥ 1" if more else f"{sum_} = {text['threshold']}"
    text["sum"] = equals if sum_ else text["threshold"]
    text["p"] = f"{text['reach']} × {text['p']}"
    return found | {"text": text}


def next_on_trial(scene: Scene, node: int) -> int:
    """Who is judged once a guess fell: the end of its next sibling's branch, or its parent; 0 where
    none is left."""
    parent = scene.guesses[node - 1].parent
    later = [sibling for sibling in scene.children[parent] if sibling > node]
    if not later:
        return parent
    end = later[0]
    while scene.children[end]:
        end = scene.children[end][0]
    return end


def after_falling(scene: Scene, node: int) -> list[Part]:
    """What would follow had a guess fallen."""
    then = next_on_trial(scene, node)
    if not then:
        return ["No guess is left: a token would be drawn from what the target is still owed."]
    word: Part = {"w": scene.word(scene.guesses[then - 1].token)}
    return ["Next on trial would be ", word, "."]


def after_keeping(scene: Scene, judged: Judged) -> list[Part]:
    """What would follow had it been kept."""
    from_what = "what is still owed after it" if scene.children[judged.node] else "p"
    before = "All before it would stay too, and a" if scene.depths[judged.node] > 1 else "A"
    return [f"{before} token would be drawn from {from_what}."]


def ways(scene: Scene) -> dict[str, list[list[int]]]:
    """For every guess, the verdicts that would keep it: all judged before it that do not stand
    after it fall, and it is kept, unless one after it is."""
    order = judging_order(scene, 0)
    found = {}
    for at, node in enumerate(order):
        own = set(below(scene, node))
        found[node] = [*([other, 0] for other in order[:at] if other not in own), [node, 1]]
    return {str(node): found[node] for node in sorted(found)}


def judging_order(scene: Scene, node: int) -> list[int]:
    """All guesses after a node as they would be judged, were none kept."""
    order: list[int] = []
    for child in scene.children[node]:
        order += [*judging_order(scene, child), child]
    return order


def chances(scene: Scene) -> dict[int, tuple[float, float]]:
    """Between what the chances lie that follow from scores alone: those of first siblings.

    A guess with none after it has its reach; for another that is the most, since what is owed is
    never more than the reach. No reach leaves no chance, and a full one is sure.
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
