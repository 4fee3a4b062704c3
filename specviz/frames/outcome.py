"""The end card: the last step of a run, with its totals and a comparison with plain decoding."""

from __future__ import annotations

from specviz.frames.frame import Frame
from specviz.texts import Part, say, term
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.trace.noise import VERDICT, explain_noise

STEP = {"id": "end", "kind": "end", "label": "end", "next": "the end"}


def outcome(trace: Trace, last: Frame) -> Frame:
    """Return the frame that follows a run's last one: only its step and caption are new."""
    caption = {"is": "end", "label": "The end", "parts": _sentences(trace)}
    return last | {"step": STEP, "caption": caption}


def _sentences(trace: Trace) -> list[Part]:
    numbers = metrics.summary(trace)
    alpha = numbers["alpha"]
    return say(
        "step",
        "end",
        tokens=numbers["tokens"],
        passes=numbers["target_passes"],
        per_pass=f"{numbers['tokens_per_pass']:.1f}",
        a_pass=term("per pass", "tokens per pass"),
        accepted="" if alpha is None else f"{numbers['acceptance_rate']:.0%}",
        alpha="" if alpha is None else f"{alpha:.2f}",
        alpha_term=term("α", "alpha"),
        against=_against_plain(trace, numbers["speedup"]),
    )


def _against_plain(trace: Trace, speedup: float | None) -> list[Part]:
    if trace.baseline is None or speedup is None:
        stopped = trace.finished is not None and trace.finished.reason == "stopped"
        return say("step", "end_stopped" if stopped else "end_plain_follows")
    if why := explain_noise(trace, trace.baseline):
        return say("step", "end_noisy", verdict=VERDICT, why=why)
    return say("step", "end_speedup", speedup=f"{speedup:.2f}")
