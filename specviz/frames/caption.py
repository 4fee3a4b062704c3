"""The sentence under the text: what this step is, with the numbers to recompute it by hand.

A sentence is a list of parts: text, {"w": word}, or {"n": number, "as": whose number it is}.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal

from specviz.frames.evidence import guess_sentence, no_guess
from specviz.frames.numbers import (
    Form,
    count,
    first,
    interval,
    numbers,
    read,
    seconds,
    visible,
)
from specviz.frames.scene import Scene, Step
from specviz.frames.table import left_text
from specviz.frames.whatif import stuck
from specviz.trace.events import Drew, Judged
from specviz.trace.metrics import path

Part = str | dict[str, Any]


Whose = Literal["p", "q", "both", "residual", "u"]


FEW = 3


def caption(scene: Scene, step: Step) -> dict[str, Any]:
    """The badge (`is`: a state or the step's kind, and its label) and the sentence of a step."""
    match step.kind:
        case "propose":
            return _said("propose", "Propose", _propose(scene, step.at))
        case "score":
            return _said("score", "Score", _score(scene))
        case "judge":
            judged = scene.round.judged[step.at]
            state = "accepted" if judged.accepted else "rejected"
            return _said(state, state.capitalize(), _judge(scene, judged))
        case "draw":
            assert scene.round.drew is not None
            kind = scene.round.drew.kind
            return _said(kind, kind.capitalize(), _draw(scene, scene.round.drew))
        case "commit":
            return _said("commit", "Commit", _commit(scene))


def _said(state: str, label: str, parts: list[Part]) -> dict[str, Any]:
    return {"is": state, "label": label, "parts": parts}


def number(text: str, whose: Whose) -> Part:
    """A number in a sentence, marked with whose it is."""
    return {"n": text, "as": whose}


def _propose(scene: Scene, depth: int) -> list[Part]:
    nodes = [n for n, d in enumerate(scene.depths) if n and d == depth]
    if not nodes:
        return [f"{_nothing(scene)}: this round is one step of plain decoding."]
    listed: list[Part] = []
    for place, node in enumerate(nodes[:FEW]):
        listed += [", " if place else "", {"w": scene.word(scene.guesses[node - 1].token)}]
    if len(nodes) > FEW:
        listed.append(f" and {len(nodes) - FEW} more")
    if len(nodes) > 1:
        return [f"The drafter puts {len(nodes)} guesses at +{depth}: ", *listed, "."]
    return _guess(scene, nodes[0], listed)


def _nothing(scene: Scene) -> str:
    """Why there is no guess, as far as the text and the drafter say."""
    if scene.room == 1:
        return "One token is left to write, and the target's pass gives it, so there is no guess"
    return no_guess(scene) or "The drafter has no guess here"


def _guess(scene: Scene, node: int, listed: list[Part]) -> list[Part]:
    """One guess: how it was drawn, or why it is the guess."""
    guess, depth = scene.guesses[node - 1], scene.depths[node]
    if guess.q is not None:
        given = number(visible(guess.q), "q")
        return ["The drafter draws ", *listed, f" at +{depth}, to which it gave ", given, "."]
    if sentence := guess_sentence(scene, node, listed):
        return sentence
    if guess.score is not None:
        own = f", with a chance of {visible(guess.score)} of its own that no verdict will use."
        return ["The drafter's top token at ", f"+{depth} is ", *listed, own]
    return ["The drafter puts ", *listed, f" at +{depth}."]


def _score(scene: Scene) -> list[Part]:
    assert scene.round.scored is not None
    took = seconds(scene.round.scored.seconds)
    many = len(scene.round.scored.p)
    if not many:
        if scene.round.number == 0:
            return [f"The target reads the prompt in one pass ({took}). Nothing is drafted yet."]
        return [f"One target pass ({took}), with no guess to check."]
    checked = "the guess" if many == 1 else f"all {many} guesses at once"
    gives = "scores" if scene.greedy else "gives p for"
    return [f"One target pass ({took}) {gives} {checked}. {_trial(scene, many)}"]


def _trial(scene: Scene, many: int) -> str:
    """How the guesses will be judged, and that not all need be."""
    if many == 1:
        return "Is it the target's top token?" if scene.greedy else "Now it is judged."
    if max(scene.depths) == many:
        return "Now they are judged in turn, up to the first that falls."
    if max(scene.depths) == 1:
        return "Now they are tried in turn, until one is kept."
    return "At each place they are tried until one is kept, and then those that follow it."


def _judge(scene: Scene, judged: Judged) -> list[Part]:
    token: Part = {"w": scene.word(scene.guesses[judged.node - 1].token)}
    if scene.greedy:
        is_it = "that is" if judged.accepted else "that is not"
        return [f"At temperature 0 the target keeps only its top token, and {is_it} ", token, "."]
    coin = numbers(scene, judged).text
    p, u = number(coin["p"], "p"), number(coin["u"], "u")
    keep = number(coin["threshold"], "both")
    coin_is = "The coin was laid at " if scene.laid(judged.node) else "The coin fell at "
    in_vain = scene.laid(judged.node) and stuck(judged)
    over = ", but no coin can do otherwise." if in_vain else "."
    end: list[Part] = [": keep with chance ", keep, f". {coin_is}", u, over]
    law = _law_in_force(scene, judged, token)
    if "q" not in judged.inputs:
        fixed = "This guess was fixed before any coin, so q is 1."
        reason = fixed if scene.point_mass else "This rule takes the guess as if q were 1."
        start = law or [f"{reason} The target gives ", token]
        return [*start, " ", p, *end]
    middle: list[Part] = [", the draft gave it ", number(coin["q"], "q")]
    return [*(law or ["The target gives ", token]), " ", p, *middle, *end]


def _law_in_force(scene: Scene, judged: Judged, token: Part) -> list[Part]:
    """How the sentence starts for a second or later sibling: its target is what is left of p."""
    fallen = scene.fallen(judged)
    if not fallen:
        return []
    last: Part = {"w": scene.word(scene.guesses[fallen[-1].node - 1].token)}
    return ["After ", last, " fell, the target is what was left of p. It gives ", token]


def _draw(scene: Scene, drew: Drew) -> list[Part]:
    token: Part = {"w": scene.word(drew.token)}
    if scene.greedy:
        return [*_greedy_draw(scene, drew), token, "."]
    at = number(interval(drew.drawn.u, drew.drawn.lo, drew.drawn.hi).text["u"], "u")
    end: list[Part] = [" at ", at, ": ", token, "."]
    if drew.kind == "recovered":
        return [*_left(scene, scene.round.judged[-1], drew), " Drawn from it", *end]
    if drew.kind == "bonus":
        return [
            f"{_all_kept(scene)}, and the same pass has scored what follows. Drawn from p",
            *end,
        ]
    return ["Nothing was drafted, so the next token is drawn from p itself", *end]


def _left(scene: Scene, last: Judged, drew: Drew) -> list[Part]:
    """What the rejections at the last place have left to draw from."""
    if last.rows.q is None:
        return _without(scene, last, drew)
    left = number(left_text(scene, last, drew), "residual")
    who = "What was left of p still had " if scene.fallen(last) else "The target still had "
    return [who, left, " to give that the draft had not covered."]


def _without(scene: Scene, last: Judged, drew: Drew) -> list[Part]:
    """Of a point mass: the mass of p outside of all siblings that fell. Each rejection leaves its
    share of what was left before, so that is the product."""
    fell = [*scene.fallen(last), last]
    shares = [judged.rows.residual for judged in fell]
    tokens = list(dict.fromkeys(scene.guesses[judged.node - 1].token for judged in fell))
    if len(fell) == 1:
        left: list[Part] = [number(left_text(scene, last, drew), "residual")]
    else:
        left = _product(shares)
    named: list[Part] = [{"w": scene.word(token)} for token in tokens]
    return ["Without ", *_listed(named), " the target has ", *left, " left."]


def _listed(words: Sequence[Part]) -> list[Part]:
    """A, B and C; of many the first few, and how many more."""
    shown, more = words[:FEW], len(words) - FEW
    if more > 0:
        shown = [*shown, f"{more} more"]
    parts: list[Part] = []
    for place, word in enumerate(shown):
        joint = "" if not place else " and " if place == len(shown) - 1 else ", "
        parts += [joint, word] if joint else [word]
    return parts


def _product(shares: Sequence[float]) -> list[Part]:
    """Shares and their product, in digits that multiply; of many shares the product alone."""
    whole = prod(shares)

    def multiplies(form: Form) -> bool:
        shown = [read(form(share)) for share in shares]
        seen = all((s < 1) == (t < 1) for s, t in zip(shown, shares, strict=True))
        agrees = form(prod(shown)) == form(whole)
        return seen and agrees and (read(form(whole)) > 0) == (whole > 0)

    form = first(multiplies)[1]
    product = number(form(whole), "residual")
    if len(shares) > FEW:
        return [product]
    factors: list[Part] = []
    for share in shares:
        factors += [" × " if factors else "", number(form(share), "residual")]
    return [*factors, " = ", product]


def _all_kept(scene: Scene) -> str:
    """That nothing fell at the branch's end; of the whole try only where it was that branch."""
    kept = len(path(scene.round.judged))
    whole = kept == len(scene.guesses)
    if kept == 1:
        return "The guess was kept" if whole else "The one guess on this branch was kept"
    return f"All {kept} guesses{'' if whole else ' on this branch'} were kept"


def _greedy_draw(scene: Scene, drew: Drew) -> list[Part]:
    if drew.kind == "recovered":
        fell = len(scene.fallen(scene.round.judged[-1])) + 1
        return [f"In {'its' if fell == 1 else 'their'} place stands the target's top token, "]
    if drew.kind == "bonus":
        after = "it" if len(path(scene.round.judged)) == 1 else "them"
        return [f"{_all_kept(scene)}, and the same pass gives the top token after {after}: "]
    return ["Nothing was drafted: the target gives its top token, "]


def _commit(scene: Scene) -> list[Part]:
    committed = scene.round.committed
    assert committed is not None
    accepted = len(path(scene.round.judged))
    kept = min(accepted, len(committed.tokens))  # a round can end early, at the limit or the end
    drew = scene.round.drew
    made = f"Round {scene.round.number} adds {count(len(committed.tokens), 'token')}"
    ends = f"1 {drew.kind}" if drew and len(committed.tokens) > kept else ""
    how = " + ".join(filter(None, [f"{kept} kept" if scene.guesses else "", ends]))
    return [f"{made} for one target pass: {how}." if how else f"{made} for one target pass."]
