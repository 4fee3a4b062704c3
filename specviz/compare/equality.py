"""Whether a lane's text is plain decoding's, by token ids, and what it means where it is not.

Rule: at temperature 0 texts are the same or there is a reason; with sampling they may differ, since
what is the same is the law. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from specviz.compare.results import whole
from specviz.trace.events import Baseline
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids

Verdict = Literal["same", "near-tie", "fault", "length", "lossy", "sampled", "stopped", "unknown"]


@dataclass(frozen=True, slots=True)
class Equality:
    """A lane's token ids beside plain decoding's.

    verdict: "same": as many, and all the same. At temperature 0 otherwise "near-tie": rounding
    explains it; "length": one text ends where the other goes on; "fault": nothing explains it;
    "lossy": its rule does not promise the text. "sampled": they differ as two draws of one law do.
    "stopped", "unknown": the lane, or plain decoding, did not come to its end. position: of the
    first new token that differs, from 0; None where none does. margin: the target's top logit
    minus its second there, at temperature 0.
    """

    verdict: Verdict
    tokens: int
    position: int | None = None
    margin: float | None = None


def equality(trace: Trace, plain: Baseline | None) -> Equality:
    """How a lane's text compares. trace: with its baseline where it has one (`Results.measured`).

    plain: plain decoding, where it came to its end.
    """
    ours = token_ids(trace)
    if plain is None or not whole(trace):
        return Equality("unknown" if plain is None else "stopped", len(ours))
    position = first_difference(ours, plain.token_ids)
    if position is None:
        return Equality("same", len(ours))
    if plain.margins is None:
        return Equality("sampled" if trace.header.lossless else "lossy", len(ours), position)
    found = baseline_difference(trace)
    margin = found.margin if found else None
    if not trace.header.lossless:
        return Equality("lossy", len(ours), position, margin)
    if position >= min(len(ours), len(plain.token_ids)):
        return Equality("length", len(ours), position)
    near = found is not None and found.near_tie
    return Equality("near-tie" if near else "fault", len(ours), position, margin)


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Where two lists first differ, a missing end included; None where they are the same."""
    pairs = enumerate(zip_longest(ours, theirs))
    return next((i for i, (mine, other) in pairs if mine != other), None)
