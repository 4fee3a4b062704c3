"""The honest sentence of a lane: faster or slower here, and why, in the lane's own numbers.

Rule: shown numbers agree with each other: brings divided by costs is the speed-up, and the parts
of a cost add up to it. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from specviz.compare.equality import Equality, Verdict
from specviz.compare.race import PLAIN
from specviz.compare.report import Costs, LaneReport
from specviz.frames.numbers import Form, count

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
        else f"more than {dtype} rounds by, so a fault"
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


EVEN: Final = 0.05  # a speed-up this near to 1 is no gain: two measurements of one lane differ so
UNEVEN: Final = 1.25  # said where passes took so many times as long as the median of their size
SELDOM: Final = 0.5  # said where a smaller share of the rounds had anything to check


def sentence(lane: LaneReport) -> str:
    """Why this lane is faster or slower here, or why that cannot be said."""
    if lane.name == PLAIN:
        return _plain(lane)
    if lane.ended in (None, "stopped"):
        return f"Stopped after {count(lane.tokens, 'token')}, so nothing is said of its speed."
    if lane.speedup is None or lane.costs is None or lane.brings is None:
        return "Plain decoding was not measured to its end, so nothing is said of this speed."
    form = _form(lane.brings, lane.costs, lane.speedup)
    return f"{_opening(lane.speedup)}: {_why(lane, lane.costs, lane.brings, form)}{_seldom(lane)}"


def headline(lanes: Sequence[LaneReport]) -> str:
    """The race in one sentence: what wins, and what is slower than no drafter at all."""
    found = {lane.name: lane.speedup for lane in lanes if lane.name != PLAIN and lane.speedup}
    if not found:
        return "Nothing can be compared: plain decoding and a lane must come to their ends."
    best = max(found, key=lambda name: found[name])
    slow = [name for name, ratio in found.items() if ratio <= 1 - EVEN]
    if found[best] < 1 + EVEN:
        return (
            "No lane is faster than plain decoding here; "
            f"{best} comes nearest, at {found[best]:.2f} times its speed."
        )
    said = f"{best} wins here, at {found[best]:.2f} times plain decoding's speed"
    verb = "is" if len(slow) == 1 else "are"
    return f"{said}; {_listed(slow)} {verb} slower than no drafter at all." if slow else f"{said}."


def caution(lanes: Sequence[LaneReport]) -> str | None:
    """Said where a lane's passes took unlike times for the same work; None where none's did."""
    rough = {lane.name: lane.uneven for lane in lanes if (lane.uneven or 0) >= UNEVEN}
    if not rough:
        return None
    parts = _listed([f"{ratio:.1f} times in {name}" for name, ratio in rough.items()])
    return (
        f"Target passes took longer than the median one of their size, {parts}: this machine did "
        "other things too, so the speeds here are rough. Race again when it is idle."
    )


def _plain(lane: LaneReport) -> str:
    """Plain decoding's own."""
    if lane.ended == "stopped":
        return f"Stopped after {count(lane.tokens, 'token')}, so there is no measure of the others."
    return "The measure of the others: a target pass brings one token and costs one plain pass."


def _opening(speedup: float) -> str:
    """Faster, slower or neither, and by how much."""
    word = "Faster" if speedup >= 1 + EVEN else "Slower" if speedup <= 1 - EVEN else "No gain"
    return f"{word} here, {speedup:.2f} × plain"


def _why(lane: LaneReport, costs: Costs, brings: float, form: Form) -> str:
    """What a round brings and what it costs; where it costs too much, what the culprit is."""
    whole = f"{form(brings)} tokens for the price of {form(costs.total)} plain passes"
    if not lane.guesses or lane.kept is None:
        return f"nothing was guessed in {count(lane.passes, 'round')}: a round brings {whole}."
    check = costs.target + costs.overhead
    many = f"{lane.guesses:.1f} guesses a round"
    if brings >= costs.total * (1 - EVEN):
        parts = f"{form(costs.draft)} to draft {many}, {form(check)} to check them"
        return f"a round brings {whole}: {parts}, {form(costs.prefill)} to read the prompt."
    few = f"only {form(lane.kept)} of them are kept" if lane.kept else "none of them is kept"
    kept = f"{few}: a round brings {whole}."
    if costs.draft >= check + costs.prefill - 1:
        return f"drafting {many} costs {form(costs.draft)} plain passes, and {kept}"
    rest = f"drafting {form(costs.draft)}, reading the prompt {form(costs.prefill)}"
    return f"checking {many} costs {form(check)} plain passes, {rest}, and {kept}"


def _seldom(lane: LaneReport) -> str:
    """Said of a drafter that mostly finds nothing to guess."""
    rounds = lane.passes - 1
    if not lane.drafting or lane.drafting >= SELDOM * rounds:
        return ""
    return f" It found something to guess in {lane.drafting} of {rounds} rounds."


def _form(brings: float, costs: Costs, speedup: float) -> Form:
    """Two decimals, or as many up to four as it takes for what is shown to agree."""
    parts = (costs.draft, costs.target + costs.overhead, costs.prefill)

    def agrees(form: Form) -> bool:
        shown = float(form(costs.total))
        adds = abs(sum(float(form(part)) for part in parts) - shown) < 1e-9
        return adds and shown > 0 and f"{float(form(brings)) / shown:.2f}" == f"{speedup:.2f}"

    return next((form for form in map(_decimals, (2, 3, 4)) if agrees(form)), _decimals(4))


def _decimals(digits: int) -> Form:
    """So many decimals, always: 1.00 tokens, not 1."""
    return lambda value: f"{value:.{digits}f}"


def _listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))
