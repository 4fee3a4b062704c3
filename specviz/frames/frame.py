"""Frames: everything that the screen shows at one step, and the question before a verdict.

A question is the frame before a verdict, in which the reader predicts it. The guess is marked as
being judged; p and q are shown, but not u (the coin), and nothing that is shown depends on u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, NotRequired, TypedDict, cast

from specviz.frames.caption import Caption, caption
from specviz.frames.inspector import AskedPanel, Panel, bar_labels, inspector, softmax_of
from specviz.frames.leaf_first import bars, explaining_verdict
from specviz.frames.leaf_first import question as leaf_first_question
from specviz.frames.memory_limit import memory_sentence
from specviz.frames.numbers import format_nonzero, format_verdict
from specviz.frames.scene import Cursor, MayHaveState, Scene, Step, StepKind, TokenState, Word, flat
from specviz.frames.simple import simple_end, simple_sentence
from specviz.frames.table import table
from specviz.frames.target_pass import TargetPass, target_pass
from specviz.frames.tree import Chip, Tree, chips, tree
from specviz.texts import Part, number, say, term
from specviz.trace import metrics
from specviz.trace.events import Judged
from specviz.trace.file import Trace
from specviz.trace.metrics import VERDICT, explain_noise


class StepName(MayHaveState):
    """A step's names; for a verdict also the guess w and its state.

    Attributes:
        label: Name of the step when it is shown.
        next: Name on the button that leads to the step.
    """

    id: str
    kind: StepKind | Literal["end"]
    label: str
    next: str
    w: NotRequired[Word]


# "pass" is a keyword of Python. The entry is missing if the trace does not have the most probable
# tokens.
MayHavePass = TypedDict("MayHavePass", {"pass": NotRequired[TargetPass]})


class FrameParts(MayHavePass):
    """A frame without its tree."""

    step: StepName
    caption: Caption
    chips: list[Chip]
    panel: Panel


class Frame(FrameParts):
    """Everything that the screen shows at a step, before `figures.frame` draws the tree."""

    tree: Tree


END_STEP: Final[StepName] = {"id": "end", "kind": "end", "label": "end", "next": "the end"}


def frame(trace: Trace, cursor: Cursor) -> Frame:
    """Build the frame at a cursor. Raises IndexError if the trace has no such step."""
    scene = Scene.of(trace, cursor.round)
    return frame_at(scene, scene.steps[cursor.step])


def frames(scene: Scene) -> list[Frame]:
    """Build all frames of a round, in order."""
    return [frame_at(scene, step) for step in scene.steps]


def frame_at(scene: Scene, step: Step) -> Frame:
    """Build the frame of one step."""
    shown: Frame = {
        "step": step_names(scene, step),
        "caption": caption(scene, step) | {"simple": simple_sentence(scene, step)},
        "chips": chips(scene, step),
        "tree": tree(scene, step),
        "panel": inspector(scene, step),
    }
    answers = target_pass(scene, step)
    if answers is not None:
        shown["pass"] = answers
    return shown


def step_names(scene: Scene, step: Step) -> StepName:
    """Return the names of a step."""
    match step.kind:
        case "propose":
            label = f"propose +{step.at}" if step.at else "propose"
            return {"id": f"propose-{step.at}", "kind": "propose", "label": label, "next": label}
        case "judge":
            judged = scene.round.judged[step.at]
            word = scene.word(scene.guesses[judged.node - 1].token)
            state: TokenState = "accepted" if judged.accepted else "rejected"
            return {
                "id": f"judge-{judged.node}", "kind": "judge", "label": flat(word),
                "next": "judge ", "w": word, "is": state,
            }  # fmt: skip
        case "draw":
            assert scene.round.drew is not None
            kind = scene.round.drew.kind
            label = "recover" if kind == "recovered" else kind
            return {"id": "draw", "kind": "draw", "label": label, "next": label}
        case _:
            return {"id": step.kind, "kind": step.kind, "label": step.kind, "next": step.kind}


def end_card(trace: Trace, last: FrameParts) -> FrameParts:
    """Build the frame at the end of a run: the last frame with a summary as its caption."""
    caption: Caption = {
        "is": "end",
        "label": "The end",
        "parts": _totals(trace),
        "simple": simple_end(trace),
    }
    panel = cast("Panel", last["panel"] | {"times": _times(trace)})  # the panel of a round
    return {**last, "step": END_STEP, "caption": caption, "panel": panel}


def _totals(trace: Trace) -> list[Part]:
    numbers = metrics.summary(trace)
    accepted = numbers["acceptance_rate"]
    return say(
        "step",
        "end",
        tokens=numbers["tokens"],
        passes=numbers["target_passes"],
        per_pass=f"{numbers['tokens_per_pass']:.1f}",
        tokens_per_pass=term("tokens per pass", "tokens per pass"),
        accepted="" if accepted is None else f"{accepted:.0%}",
        against=_against_plain(trace, numbers["speedup"]),
    )


def _times(trace: Trace) -> list[Part]:
    # The cost of a pass is left out if measured times vary too much.
    numbers = metrics.summary(trace)
    total, draft = numbers["total_seconds"], numbers["draft_seconds"]
    if total <= 0:
        return []
    target = sum(played.scored.seconds for played in trace.rounds if played.scored)
    shares = {"draft": draft, "target": target, "rest": max(0.0, total - draft - target)}
    percents = {name: f"{seconds / total:.0%}" for name, seconds in shares.items()}
    plain, speedup = trace.baseline, numbers["speedup"]
    known = plain is not None and speedup is not None and not explain_noise(trace, plain)
    tokens = numbers["tokens_per_pass"]
    cost = f"{tokens / speedup:.2f}" if known else ""
    limit = memory_sentence(trace.header, plain) if known else ""
    percents["draft"] = percents["draft"] if draft else ""
    return say("step", "end_times", **percents, cost=cost, tokens=f"{tokens:.2f}", limit=limit)


def _against_plain(trace: Trace, speedup: float | None) -> list[Part]:
    if trace.baseline is None or speedup is None:
        stopped = trace.finished is not None and trace.finished.reason == "stopped"
        return say("step", "end_stopped" if stopped else "end_plain_follows")
    if why := explain_noise(trace, trace.baseline):
        return say("step", "end_noisy", verdict=VERDICT, why=why)
    shown = f"{speedup:.2f}"
    verdict = "slower" if float(shown) < 1 else "faster" if float(shown) > 1 else "about as fast"
    return say("step", "end_speedup", verdict=verdict, speedup=shown)


HIDDEN: Final = -1.0  # below every threshold, so that no digit depends on the real u


def questions(scene: Scene, shown: Sequence[Frame]) -> dict[int, Frame]:
    """Build the questions of a round.

    Returns for each verdict, by the index of its step, the frame that asks for it.
    """
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
                "panel": _asked(scene, judged),
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


def _asked(scene: Scene, judged: Judged) -> AskedPanel:
    # At temperature 0, p would reveal the verdict: only the softmax at temperature 1 is shown.
    guess = scene.guesses[judged.node - 1]
    panel: AskedPanel = {
        "kind": "trial",
        "asked": True,
        "w": scene.word(guess.token),
        "at": scene.depths[judged.node],
        "tries": len(scene.rejected_before(judged)) + 1,
        "labels": bar_labels(scene, judged),
    }
    if scene.greedy:
        soft = softmax_of(judged, guess.token)
        if soft is not None:
            panel |= {"soft": round(soft, 6), "text": {"p": format_nonzero(soft)}}
        return panel
    if "q" in judged.inputs:
        panel["q"] = round(judged.inputs["q"], 6)
    source = table(scene, explaining_verdict(scene, judged))
    panel |= {"p": round(judged.inputs["p"], 6), "table": source}
    text = format_verdict(scene, judged).text
    if scene.leaf_first:
        panel = {**panel, **bars(scene, judged)}
        text = panel["text"]
    panel["text"] = {name: text[name] for name in ("p", "q") if name in text}
    return panel
