"""The sentence under the text: what this step is, with the numbers to recompute it by hand.

A sentence is a list of parts: text, {"w": word}, or {"n": number, "as": whose number it is}.
"""

from __future__ import annotations

from typing import Any, Literal

from specviz.frames.numbers import count, interval, numbers, seconds, visible
from specviz.frames.scene import Scene, Step
from specviz.frames.table import left_text
from specviz.trace.events import Drew, Guess, Judged
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
        reason = _nothing(_remark(scene))
        return [f"{reason}: this round is one step of plain decoding."]
    listed: list[Part] = []
    for place, node in enumerate(nodes[:FEW]):
        listed += [", " if place else "", {"w": scene.word(scene.guesses[node - 1].token)}]
    if len(nodes) > FEW:
        listed.append(f" and {len(nodes) - FEW} more")
    if len(nodes) > 1:
        return [f"The drafter puts {len(nodes)} guesses at +{depth}: ", *listed, "."]
    return _guess(scene, scene.guesses[nodes[0] - 1], depth, listed)


def _nothing(remark: dict[str, Any]) -> str:
    """Why there is no guess, as far as the drafter has said."""
    if remark.get("filling"):
        return "The window is still filling, so there is no n-gram to try"
    if "ngrams" in remark:
        return "No n-gram in the pool begins with the last token, so there is no guess"
    if ("min" in remark or "factor" in remark) and "length" not in remark:
        return "No earlier place in the text ends as it does now, so there is no guess"
    return "The drafter has no guess here"


def _guess(scene: Scene, guess: Guess, depth: int, listed: list[Part]) -> list[Part]:
    """One guess: how it was drawn, or why it is the guess."""
    if guess.q is not None:
        given = number(visible(guess.q), "q")
        return ["The drafter draws ", *listed, f" at +{depth}, to which it gave ", given, "."]
    found = _found(scene, guess, depth, listed)
    if found:
        return found
    if guess.score is not None:
        own = f", with a chance of {visible(guess.score)} of its own that no verdict will use."
        return ["The drafter's top token at ", f"+{depth} is ", *listed, own]
    return ["The drafter puts ", *listed, f" at +{depth}."]


def _found(scene: Scene, guess: Guess, depth: int, listed: list[Part]) -> list[Part]:
    """The sentence of a guess that stood somewhere before; none for other guesses."""
    remark = _remark(scene)
    if "ngrams" in remark:
        return ["An n-gram of the pool goes on with ", *listed, f", the guess at +{depth}."]
    if "length" not in remark:
        return []
    many = count(remark["length"], "token")
    if guess.evidence and "total" in guess.evidence:
        seen, total = guess.evidence["count"], guess.evidence["total"]
        times = "The one time" if total == 1 else f"{seen} of the {total} times"
        those = f"the last {many.removeprefix('1 ')}" if depth == 1 else "all this"
        return [f"{times} that {those} stood earlier, ", *listed, f" followed: it is +{depth}."]
    if depth > 1:
        return ["Next after them stood ", *listed, f", the guess at +{depth}."]
    stood = "stands" if many.startswith("1 ") else "stand"
    return [f"The last {many} {stood} earlier in the text too; there followed ", *listed, "."]


def _remark(scene: Scene) -> dict[str, Any]:
    """The drafter's evidence about the whole try."""
    return (scene.round.proposed.remark if scene.round.proposed else None) or {}


def _score(scene: Scene) -> list[Part]:
    assert scene.round.scored is not None
    took = seconds(scene.round.scored.seconds)
    if not scene.round.scored.p:
        if scene.round.number == 0:
            return [f"The target reads the prompt in one pass ({took}). Nothing is drafted yet."]
        return [f"One target pass ({took}), with no guess to check."]
    many = len(scene.round.scored.p)
    checked = "the guess" if many == 1 else f"all {many} guesses at once"
    if scene.greedy:
        return [f"One target pass ({took}) scores {checked}. Is each the target's top token?"]
    return [f"One target pass ({took}) gives p for {checked}. Now each is judged in turn."]


def _judge(scene: Scene, judged: Judged) -> list[Part]:
    token: Part = {"w": scene.word(scene.guesses[judged.node - 1].token)}
    if scene.greedy:
        is_it = "that is" if judged.accepted else "that is not"
        return [f"At temperature 0 the target keeps only its top token, and {is_it} ", token, "."]
    coin = numbers(scene, judged).text
    p, u = number(coin["p"], "p"), number(coin["u"], "u")
    keep = number(coin["threshold"], "both")
    coin_is = "The coin was laid at " if scene.laid(judged.node) else "The coin fell at "
    end: list[Part] = [": keep with chance ", keep, f". {coin_is}", u, "."]
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
        last = scene.round.judged[-1]
        left = number(left_text(scene, last, drew), "residual")
        if last.rows.q is None:
            fallen: Part = {"w": scene.word(scene.guesses[last.node - 1].token)}
            return ["Without ", fallen, " the target has ", left, " left. Drawn from it", *end]
        reason = " to give that the draft had not covered. Drawn from it"
        who = "What was left of p still had " if scene.fallen(last) else "The target still had "
        return [who, left, reason, *end]
    if drew.kind == "bonus":
        kept = len(path(scene.round.judged))
        all_kept = "The guess was kept" if kept == 1 else f"All {kept} guesses were kept"
        return [f"{all_kept}, and the same pass has scored what follows. Drawn from p", *end]
    return ["Nothing was drafted, so the next token is drawn from p itself", *end]


def _greedy_draw(scene: Scene, drew: Drew) -> list[Part]:
    if drew.kind == "recovered":
        return ["In its place stands the target's top token, "]
    if drew.kind == "bonus":
        return ["Every guess was kept, and the same pass gives the top token after them: "]
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
