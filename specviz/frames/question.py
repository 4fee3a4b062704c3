"""Predict first: the question before a verdict, as a frame that does not reveal it.

It is the frame before, with the guess in question on trial: its ring, p and q, and no coin. Its
content does not depend on the coin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from specviz.frames.frame import Frame
from specviz.frames.inspector import bar_labels, softmax_of
from specviz.frames.leaf_first import bars, explaining
from specviz.frames.leaf_first import question as leaf_first_question
from specviz.frames.numbers import format_nonzero, format_verdict
from specviz.frames.scene import Scene
from specviz.frames.table import table
from specviz.texts import Part, number, say
from specviz.trace.events import Judged

HIDDEN: Final = -1.0  # below every threshold, so that no digit depends on the real coin


def questions(scene: Scene, shown: Sequence[Frame]) -> dict[int, Frame]:
    """By step of a verdict, the frame that asks for it. shown: the frames of the round."""
    found: dict[int, Frame] = {}
    for index, step in enumerate(scene.steps):
        if step.kind == "judge" and index:
            judged = replace(scene.round.judged[step.at], u=HIDDEN)
            found[index] = shown[index - 1] | {
                "caption": {
                    "is": "ask",
                    "label": "Your prediction?",
                    "parts": _question(scene, judged),
                },
                "tree": shown[index - 1]["tree"] | {"here": judged.node},
                "panel": _trial(scene, judged),
            }
    return found


def _question(scene: Scene, judged: Judged) -> list[Part]:
    token = scene.chip(judged.node)
    if scene.leaf_first:
        return leaf_first_question(scene, judged)
    if scene.greedy:
        return say("step", "ask_zero", token=token)
    text = format_verdict(scene, judged).text
    p = number(text["p"], "p")
    after = scene.rejected_chips(judged) if scene.uses_p_remainder(judged) else []
    if "q" not in judged.inputs:
        sampled = not scene.point_mass
        return say("step", "ask_without_q", token=token, after=after, p=p, sampled=sampled)
    source = say("step", "remainder_of_q" if scene.uses_q_remainder(judged) else "the_drafter")
    drafter_gave = say("step", "drafter_gave", source=source, q=number(text["q"], "q"), only=False)
    return say("step", "ask_ratio", token=token, after=after, p=p, drafter_gave=drafter_gave)


def _trial(scene: Scene, judged: Judged) -> dict[str, Any]:
    """The guess on trial without its coin.

    At temperature 0 p is the verdict, so the softmax at temperature 1 is shown alone.
    """
    guess = scene.guesses[judged.node - 1]
    panel: dict[str, Any] = {
        "kind": "trial",
        "asked": True,
        "w": scene.word(guess.token),
        "at": scene.depths[judged.node],
        "tries": len(scene.rejected_before(judged)) + 1,
        "laws": bar_labels(scene, judged),
    }
    if scene.greedy:
        soft = softmax_of(judged, guess.token)
        if soft is None:
            return panel
        return panel | {"soft": round(soft, 6), "text": {"p": format_nonzero(soft)}}
    if "q" in judged.inputs:
        panel["q"] = round(judged.inputs["q"], 6)
    source = table(scene, explaining(scene, judged))
    panel |= {"p": round(judged.inputs["p"], 6), "table": source}
    if scene.leaf_first:
        panel |= bars(scene, judged)
        del panel["because"]  # it names the probability
    else:
        panel["text"] = format_verdict(scene, judged).text
    shown = {name: panel["text"][name] for name in ("p", "q") if name in panel["text"]}
    return panel | {"text": shown}
