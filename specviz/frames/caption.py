"""The caption of a step: a badge, and a sentence that says what happens and why."""

from __future__ import annotations

from typing import Any

from specviz.frames.draw import draw_sentence
from specviz.frames.evidence import guess_sentence, no_guess
from specviz.frames.numbers import format_seconds, round_for_text
from specviz.frames.scene import Scene, Step
from specviz.frames.verdict import verdict
from specviz.texts import Part, number, say
from specviz.trace.metrics import accepted_path


def caption(scene: Scene, step: Step) -> dict[str, Any]:
    """The badge (`is`: a state or the step's kind, and its label) and the sentence of a step."""
    match step.kind:
        case "propose":
            return _caption("propose", _propose(scene, step.at))
        case "score":
            return _caption("score", _score(scene))
        case "judge":
            judged = scene.round.judged[step.at]
            state = "accepted" if judged.accepted else "rejected"
            return _caption(state, verdict(scene, judged))
        case "draw":
            assert scene.round.drew is not None
            return _caption(scene.round.drew.kind, draw_sentence(scene, scene.round.drew))
        case "commit":
            return _caption("commit", _commit(scene))


def _caption(state: str, parts: list[Part]) -> dict[str, Any]:
    return {"is": state, "label": state.capitalize(), "parts": parts}


def _propose(scene: Scene, depth: int) -> list[Part]:
    nodes = [n for n, d in enumerate(scene.depths) if n and d == depth]
    if not nodes:
        return say("step", "propose_nothing", reason=_why_nothing(scene))
    if len(nodes) == 1:
        return _propose_one(scene, nodes[0])
    tokens = [scene.chip(node) for node in nodes]
    return say("step", "propose_several", n=len(nodes), depth=depth, tokens=tokens)


def _why_nothing(scene: Scene) -> list[Part]:
    """Why there is no guess, as far as the text and the drafter say."""
    if scene.tokens_left == 1:
        return say("step", "propose_last_token")
    return no_guess(scene)


def _propose_one(scene: Scene, node: int) -> list[Part]:
    """One guess: how it was sampled, or why it was chosen."""
    guess, token, depth = scene.guesses[node - 1], scene.chip(node), scene.depths[node]
    if guess.q is not None:
        q = number(round_for_text(guess.q), "q")
        return say("step", "propose_sampled", token=token, depth=depth, q=q)
    if sentence := guess_sentence(scene, node):
        return sentence
    if guess.score is not None:
        own = round_for_text(guess.score)
        return say("step", "propose_top", token=token, depth=depth, own=own)
    return say("step", "propose_fixed", token=token, depth=depth)


def _score(scene: Scene) -> list[Part]:
    assert scene.round.scored is not None
    time = format_seconds(scene.round.scored.seconds)
    n = len(scene.round.scored.p)
    if not n:
        first = scene.round.number == 0
        return say("step", "score_prompt" if first else "score_nothing", time=time)
    if n == 1:
        return say("step", "score_one", time=time, greedy=scene.greedy)
    order = say("step", _order(scene, n))
    return say("step", "score_several", time=time, n=n, greedy=scene.greedy, order=order)


def _order(scene: Scene, n: int) -> str:
    """The sentence about the order in which `n` guesses will be judged."""
    is_chain = max(scene.depths) == n
    if scene.leaf_first:
        return "order_leaf_chain" if is_chain else "order_leaf_tree"
    if is_chain:
        return "order_chain"
    return "order_siblings" if max(scene.depths) == 1 else "order_tree"


def _commit(scene: Scene) -> list[Part]:
    committed, drew = scene.round.committed, scene.round.drew
    assert committed is not None
    tokens = len(committed.tokens)
    # A round can end early, at the token limit or at the end of the text.
    accepted = min(len(accepted_path(scene.round)), tokens)
    kinds = [f"{accepted} accepted"] if scene.guesses else []
    if drew and tokens > accepted:
        kinds.append(f"1 {drew.kind}")
    parts = " + ".join(kinds)
    return say("step", "commit", round=str(scene.round.number), tokens=tokens, parts=parts)
