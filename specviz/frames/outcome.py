"""The last step of a run: what it came to, against plain decoding; all else stays as it is."""

from __future__ import annotations

from specviz.frames.frame import Frame
from specviz.frames.numbers import count
from specviz.frames.parts import Part
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.trace.noise import VERDICT, noise

STEP = {"id": "end", "kind": "end", "label": "end", "next": "the end"}


def outcome(trace: Trace, last: Frame) -> Frame:
    """The frame after a run's last one."""
    caption = {"is": "end", "label": "The end", "parts": _parts(trace)}
    return last | {"step": STEP, "caption": caption}


def _parts(trace: Trace) -> list[Part]:
    numbers = metrics.summary(trace)
    tokens, passes = numbers["tokens"], numbers["target_passes"]
    made = f"{count(tokens, 'token')} in {count(passes, 'target pass', 'target passes')}"
    said: list[Part] = [f"{made} instead of {tokens}: ", *_per_pass(numbers["tokens_per_pass"])]
    if numbers["alpha"] is not None:
        kept = f"{numbers['acceptance_rate']:.0%} of the judged guesses were kept ("
        said += [kept, {"t": "α", "term": "alpha"}, f" {numbers['alpha']:.2f}). "]
    return [*said, _against_plain(trace, numbers["speedup"])]


def _per_pass(value: float) -> list[Part]:
    return [f"{value:.1f} ", {"t": "a pass", "term": "tokens per pass"}, ". "]


def _against_plain(trace: Trace, speedup: float | None) -> str:
    if trace.baseline is None or speedup is None:
        stopped = trace.finished is not None and trace.finished.reason == "stopped"
        return "Plain decoding was not measured." if stopped else "Plain decoding is measured next."
    if rough := noise(trace, trace.baseline):
        return f"Against plain decoding: {VERDICT}: {rough}"
    return f"Plain decoding was measured after it: this was {speedup:.2f} × as fast."
