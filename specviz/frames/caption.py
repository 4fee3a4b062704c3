"""The sentence under the text: what this step is, and why. A list of parts, see parts.py."""

from __future__ import annotations

from typing import Any

from specviz.frames.ending import ending
from specviz.frames.evidence import guess_sentence, no_guess
from specviz.frames.numbers import seconds, spoken
from specviz.frames.scene import Scene, Step
from specviz.frames.verdict import verdict
from specviz.texts import FEW, Part, count, number
from specviz.trace.metrics import path


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
            return _said(state, state.capitalize(), verdict(scene, judged))
        case "draw":
            assert scene.round.drew is not None
            kind = scene.round.drew.kind
            return _said(kind, kind.capitalize(), ending(scene, scene.round.drew))
        case "commit":
            return _said("commit", "Commit", _commit(scene))


def _said(state: str, label: str, parts: list[Part]) -> dict[str, Any]:
    return {"is": state, "label": label, "parts": parts}


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
        given = number(spoken(guess.q), "q")
        return ["The drafter draws ", *listed, f" at +{depth}, to which it gave ", given, "."]
    if sentence := guess_sentence(scene, node, listed):
        return sentence
    if guess.score is not None:
        own = f", with a chance of {spoken(guess.score)} of its own that no verdict will use."
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
    if scene.leaf_first:
        return _from_the_leaf(scene, many)
    if max(scene.depths) == many:
        return "Now they are judged in turn, up to the first that falls."
    if max(scene.depths) == 1:
        return "Now they are tried in turn, until one is kept."
    return "At each place they are tried until one is kept, and then those that follow it."


def _from_the_leaf(scene: Scene, many: int) -> str:
    """The same where judging goes from the leaf up."""
    if max(scene.depths) == many:
        return "Now the last is judged first, and the first that is kept keeps all before it."
    return "Each branch is judged from its end, and the first that is kept keeps all before it."


def _commit(scene: Scene) -> list[Part]:
    committed = scene.round.committed
    assert committed is not None
    accepted = len(path(scene.round))
    kept = min(accepted, len(committed.tokens))  # a round can end early, at the limit or the end
    drew = scene.round.drew
    made = f"Round {scene.round.number} adds {count(len(committed.tokens), 'token')}"
    ends = f"1 {drew.kind}" if drew and len(committed.tokens) > kept else ""
    how = " + ".join(filter(None, [f"{kept} kept" if scene.guesses else "", ends]))
    return [f"{made} for one target pass: {how}." if how else f"{made} for one target pass."]
