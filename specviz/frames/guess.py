"""Guess first: the question before a verdict, as a frame that tells nothing of it.

It is the frame before, with the guess in question on trial: its ring, p and q, and no coin. What
it says is the same wherever the coin falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from specviz.frames.frame import Frame
from specviz.frames.inspector import laws, soft_of
from specviz.frames.leaf_first import asked as asked_leaf_first
from specviz.frames.leaf_first import bars, explained
from specviz.frames.numbers import numbers, visible
from specviz.frames.scene import Scene
from specviz.frames.table import table
from specviz.texts import Part, listed, number
from specviz.trace.events import Judged

HIDDEN: Final = -1.0  # a coin below every threshold, so that no digit is owed to where it fell


def questions(scene: Scene, told: Sequence[Frame]) -> dict[int, Frame]:
    """By step of a verdict, the frame that asks for it. told: the frames of the round."""
    found: dict[int, Frame] = {}
    for index, step in enumerate(scene.steps):
        if step.kind == "judge" and index:
            judged = replace(scene.round.judged[step.at], u=HIDDEN)
            found[index] = told[index - 1] | {
                "caption": {"is": "ask", "label": "Your guess?", "parts": _ask(scene, judged)},
                "tree": told[index - 1]["tree"] | {"here": judged.node},
                "panel": _trial(scene, judged),
            }
    return found


def _ask(scene: Scene, judged: Judged) -> list[Part]:
    token: Part = {"w": scene.word(scene.guesses[judged.node - 1].token)}
    if scene.leaf_first:
        return asked_leaf_first(scene, judged, token)
    if scene.greedy:
        return ["Is ", token, " the target's top token?"]
    shown = numbers(scene, judged).text
    p = number(shown["p"], "p")
    asked: list[Part] = ["Will ", token, " be kept? ", *_law(scene, judged), p]
    if "q" in judged.inputs:
        gave = "what was left of q (q′)" if scene.left_of_q(judged) else "the draft"
        return [*asked, f", {gave} gave it ", number(shown["q"], "q"), "."]
    fixed = "it was not drawn by chance, so there is no q."
    return [*asked, "; " + (fixed if scene.point_mass else "this rule does not divide by q.")]


def _law(scene: Scene, judged: Judged) -> list[Part]:
    fallen = scene.fallen(judged)
    if not fallen:
        return ["The target gives it "]
    fell: list[Part] = [{"w": scene.word(scene.guesses[j.node - 1].token)} for j in fallen]
    return ["After ", *listed(fell), " fell, what is left of p (p′) gives it "]


def _trial(scene: Scene, judged: Judged) -> dict[str, Any]:
    """The guess on trial without its coin. At temperature 0 p is the verdict, and the softmax at
    temperature 1 stands alone.
    """
    guess = scene.guesses[judged.node - 1]
    panel: dict[str, Any] = {
        "kind": "trial",
        "asked": True,
        "w": scene.word(guess.token),
        "at": scene.depths[judged.node],
        "tries": len(scene.fallen(judged)) + 1,
        "laws": laws(scene, judged),
    }
    if scene.greedy:
        soft = soft_of(judged, guess.token)
        known = {} if soft is None else {"soft": round(soft, 6), "text": {"p": visible(soft)}}
        return panel | known
    if "q" in judged.inputs:
        panel["q"] = round(judged.inputs["q"], 6)
    panel |= {"p": round(judged.inputs["p"], 6), "table": table(scene, explained(scene, judged))}
    told = bars(scene, judged) if scene.leaf_first else {"text": numbers(scene, judged).text}
    told.pop("because", None)  # it names the chance
    panel |= told
    return panel | {
        "text": {name: panel["text"][name] for name in ("p", "q") if name in panel["text"]}
    }
