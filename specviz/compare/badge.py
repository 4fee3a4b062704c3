"""Whether the texts of a race are the same, in words: one sentence a lane, one for all of them.

Rule: a difference is never passed over, and one that is right is said to be right, with its reason.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from specviz.compare.equality import Equality, Verdict
from specviz.compare.lanes import PLAIN
from specviz.compare.report import LaneReport
from specviz.frames.numbers import count

UNFINISHED: Final[tuple[Verdict, ...]] = ("stopped", "unknown")
WHY_DIFFERENT: Final = (
    "With sampling they may differ, and that is right: every lane spends its coins on other "
    "decisions, so it draws other tokens."
)
SAME_LAW: Final = (
    "The law does not differ: every rule here is lossless, so each text is as likely as in plain "
    "decoding."
)


def words(lane: LaneReport) -> str:
    """One lane's text beside plain decoding's."""
    found = lane.equality
    match found.verdict:
        case "same":
            return f"All {found.tokens} of {count(found.tokens, 'token id')} are plain decoding's."
        case "stopped" | "unknown":
            return "Not compared: this lane and plain decoding must both come to their ends."
        case "length":
            return (
                f"It parts from plain decoding at its end, after {_at(found) - 1} tokens: a fault."
            )
        case "sampled":
            return f"It parts from plain decoding at new token {_at(found)}: another draw, one law."
        case "lossy":
            rule = f"the rule {lane.rule!r} does not promise its text"
            return f"It parts from plain decoding at new token {_at(found)}: {rule}."
        case _:
            return _tie(found, lane.dtype)


def _tie(found: Equality, dtype: str) -> str:
    """A difference at temperature 0: how near the target's top two were, and what that means."""
    reason = (
        "a near-tie, which rounding decides"
        if found.verdict == "near-tie"
        else (
            "no near-tie, so a fault"
            if dtype == "float32"
            else f"more than a near-tie in float32; {dtype} rounds more coarsely, or it is a fault"
        )
    )
    return (
        f"It parts from plain decoding at new token {_at(found)}, where the target's top two "
        f"logits are {found.margin:.2g} apart: {reason}."
    )


def _at(found: Equality) -> int:
    """The number, from 1, of the first new token that differs."""
    return 1 + (found.position or 0)


def badge(lanes: Sequence[LaneReport]) -> dict[str, Any]:
    """All texts at once: `same` (None where they are not all there), and the sentence.

    At temperature 0 the lanes that differ are named; with sampling, why they may and the law not.
    """
    others = [lane for lane in lanes if lane.name != PLAIN]
    if not others or len(others) == len(lanes) or any(_unfinished(lane) for lane in lanes):
        return {"same": None, "sentence": "Not compared: a lane did not come to its end."}
    apart = [lane for lane in others if lane.equality.verdict != "same"]
    greedy = lanes[0].settings["sampling"]["temperature"] == 0
    text = _greedy(lanes, apart) if greedy else _sampled(lanes, apart)
    return {"same": not apart, "sentence": text}


def _unfinished(lane: LaneReport) -> bool:
    return lane.equality.verdict in UNFINISHED


def _greedy(lanes: Sequence[LaneReport], apart: Sequence[LaneReport]) -> str:
    """Temperature 0: the same, or which lane is not and where."""
    if apart:
        return " ".join([_differing(lanes, apart), *(f"{o.name}: {words(o)}" for o in apart)])
    many = count(lanes[0].tokens, "token id")
    return (
        f"All {len(lanes)} texts are identical: {lanes[0].tokens} of {many}, compared one by one. "
        "Temperature 0; speculation changes when words arrive, not which."
    )


def _sampled(lanes: Sequence[LaneReport], apart: Sequence[LaneReport]) -> str:
    """Sampling: how many texts differ, why they may, and whether the law is the same."""
    said = _differing(lanes, apart) or f"All {len(lanes)} texts happen to be identical."
    other = " ".join(
        f"{lane.name} draws from another law: its rule, {lane.rule!r}, is not lossless."
        for lane in lanes
        if not lane.lossless
    )
    return f"{said} {WHY_DIFFERENT} {other or SAME_LAW}"


def _differing(lanes: Sequence[LaneReport], apart: Sequence[LaneReport]) -> str:
    """How many of the lanes' texts differ; empty where none does."""
    if not apart:
        return ""
    of = f"{len(apart)} of {count(len(lanes) - 1, 'text')}"
    return f"{of} {'differs' if len(apart) == 1 else 'differ'} from plain decoding's."
