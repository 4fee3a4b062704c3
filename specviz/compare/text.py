"""The honest sentence of a lane: faster or slower here, and why, in the lane's own numbers.

Rule: shown numbers agree with each other: brings divided by costs is the speed-up, and the parts
of a cost add up to it. Standard library only.

Whether the texts of a race are the same is said too: a difference is never passed over, and one
that is right is said to be right, with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from specviz.compare.equality import Equality, Verdict
from specviz.compare.parts import Part, Sentence, Whose, number, opening
from specviz.compare.race import PLAIN
from specviz.compare.report import Costs, LaneReport
from specviz.texts import count
from specviz.trace.noise import EVEN, VERDICT, WIDE

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


def badge(lanes: Sequence[LaneReport]) -> tuple[bool | None, Sentence]:
    """All texts at once: whether they are the same (None where they are not all there), and what
    is said of it.

    At temperature 0 the lanes that differ are named; with sampling, why they may and the law not.
    """
    others = [lane for lane in lanes if lane.name != PLAIN]
    if not others or len(others) == len(lanes) or any(_unfinished(lane) for lane in lanes):
        return None, [opening("Not compared:"), " a lane did not come to its end."]
    apart = [lane for lane in others if lane.equality.verdict != "same"]
    greedy = lanes[0].settings["sampling"]["temperature"] == 0
    return not apart, _greedy(lanes, apart) if greedy else _sampled(lanes, apart)


def _unfinished(lane: LaneReport) -> bool:
    return lane.equality.verdict in UNFINISHED


def _greedy(lanes: Sequence[LaneReport], apart: Sequence[LaneReport]) -> Sentence:
    """Temperature 0: the same, or which lane is not and where."""
    if apart:
        each = [f" {other.name}: {words(other)}" for other in apart]
        return [opening(_differing(lanes, apart)), *each]
    many = count(lanes[0].tokens, "token id")
    rest = (
        f" {lanes[0].tokens} of {many}, compared one by one. "
        "Temperature 0; speculation changes when words arrive, not which."
    )
    return [opening(f"All {len(lanes)} texts are identical:"), rest]


def _sampled(lanes: Sequence[LaneReport], apart: Sequence[LaneReport]) -> Sentence:
    """Sampling: how many texts differ, why they may, and whether the law is the same."""
    first = _differing(lanes, apart) or f"All {len(lanes)} texts happen to be identical."
    other = " ".join(
        f"{lane.name} draws from another law: its rule, {lane.rule!r}, is not lossless."
        for lane in lanes
        if not lane.lossless
    )
    return [opening(first), f" {WHY_DIFFERENT} {other or SAME_LAW}"]


def _differing(lanes: Sequence[LaneReport], apart: Sequence[LaneReport]) -> str:
    """How many of the lanes' texts differ; empty where none does."""
    if not apart:
        return ""
    of = f"{len(apart)} of {count(len(lanes) - 1, 'text')}"
    return f"{of} {'differs' if len(apart) == 1 else 'differ'} from plain decoding's."


ROUGH: Final = 1.5  # said where a lane's longest run took so many times its shortest
SELDOM: Final = 0.5  # said where a smaller share of the rounds had anything to check
USUAL, MOST = 2, 4  # decimals: of a sentence's numbers, and where they do not agree otherwise


def sentence(lane: LaneReport) -> Sentence:
    """Why this lane is faster or slower here, or why that cannot be said."""
    if lane.name == PLAIN:
        return _plain(lane)
    if lane.ended in (None, "stopped"):
        return [opening(f"Stopped after {_tokens(lane)}, so nothing is said of its speed.")]
    if lane.speedup is None or lane.costs is None or lane.brings is None:
        return [opening("Plain decoding was not measured to its end, so nothing is said of this "
                        "speed.")]  # fmt: skip
    if lane.noise is not None:
        return [opening(f"{VERDICT}:"), f" {lane.noise}."]
    why = _why(lane, lane.costs, lane.brings)
    return [opening(f"{_verdict(lane.speedup)}:"), " ", *why, _seldom(lane)]


def headline(lanes: Sequence[LaneReport]) -> str:
    """The race in one sentence: what wins, and what is slower than no drafter at all.

    A lane whose seconds are too noisy neither wins nor loses.
    """
    told = {lane.name: lane for lane in lanes if lane.name != PLAIN and lane.speedup}
    found = {name: lane.speedup or 0.0 for name, lane in told.items() if lane.noise is None}
    rough = [name for name in told if name not in found]
    if not told:
        return "Nothing can be compared: plain decoding and a lane must come to their ends."
    if not found:
        return f"{VERDICT}: no lane's seconds make sense."
    return f"{_winner(found)}{f' {VERDICT}: {_listed(rough)}.' if rough else ''}"


def _winner(found: Mapping[str, float]) -> str:
    """found: speed-ups by lane."""
    best = max(found, key=lambda name: found[name])
    slow = [name for name, ratio in found.items() if ratio <= 1 - EVEN]
    if found[best] < 1 + EVEN:
        return (
            "No lane is faster than plain decoding here; "
            f"{best} comes nearest, at {found[best]:.2f} times its speed."
        )
    first = f"{best} wins here, at {found[best]:.2f} times plain decoding's speed"
    verb = "is" if len(slow) == 1 else "are"
    return (
        f"{first}; {_listed(slow)} {verb} slower than no drafter at all." if slow else f"{first}."
    )


def caution(lanes: Sequence[LaneReport]) -> str:
    """Said beside the headline where a lane's seconds are the machine's doing; empty elsewhere."""
    faults = {lane.name: _fault(lane) for lane in lanes}
    said = "; ".join(f"{name}: {fault}" for name, fault in faults.items() if fault)
    noisy = any(lane.noise is not None for lane in lanes)
    first = VERDICT if noisy else "The speeds here are rough; measure again"
    return said and f"{first} when this machine is idle. {said}."


def _fault(lane: LaneReport) -> str:
    """What in a lane's seconds the lane cannot have done; empty where there is nothing."""
    if lane.noise is not None:
        return lane.noise
    if (lane.uneven or 0) >= WIDE:
        return f"passes that do the same work took unlike times, {lane.uneven:.1f} times as long"
    if lane.runs and max(lane.runs) >= ROUGH * min(lane.runs):
        return f"one run took {min(lane.runs):.2f} s, another {max(lane.runs):.2f} s"
    return ""


def _plain(lane: LaneReport) -> Sentence:
    """Plain decoding's own."""
    if lane.ended == "stopped":
        return [opening(f"Stopped after {_tokens(lane)}, so there is no measure of the others.")]
    return [
        opening("The measure of the others:"),
        " a target pass brings one token and costs one plain token.",
    ]


def _tokens(lane: LaneReport) -> str:
    return count(lane.tokens, "token")


def _verdict(speedup: float) -> str:
    """Faster, slower or neither, and by how much."""
    word = "Faster" if speedup >= 1 + EVEN else "Slower" if speedup <= 1 - EVEN else "No gain"
    return f"{word} here, {speedup:.2f} × plain"


def _why(lane: LaneReport, costs: Costs, brings: float) -> list[Part]:
    """What a round brings and what it costs; where it costs too much, what the culprit is."""
    digits = decimals(lane)
    check = costs.target + costs.overhead
    draft, checked, prompt = (
        number(f"{seconds:.{digits}f}", whose) for seconds, whose in _owned(costs)
    )
    whole: list[Part] = [
        number(f"{brings:.{digits}f}", "k"),
        " tokens for the price of ",
        number(f"{costs.total:.{digits}f}", "k"),
        " plain tokens",
    ]
    if not lane.guesses or lane.kept is None:
        rounds = count(lane.passes, "round")
        return [f"nothing was guessed in {rounds}: a round brings ", *whole, "."]
    many = f"{lane.guesses:.1f} guesses a round"
    if brings >= costs.total * (1 - EVEN):
        parts = [": ", draft, f" to draft {many}, ", checked, " to check them, ", prompt]
        return ["a round brings ", *whole, *parts, " to read the prompt."]
    few = ["only ", number(f"{lane.kept:.{digits}f}", "k"), " guesses a round are kept"]
    kept = [*(few if lane.kept else ["no guess is kept"]), ": a round brings ", *whole, "."]
    dear = [("drafting", draft), ("checking", checked)]
    if costs.draft < check + costs.prefill - 1:
        dear.reverse()
    (first, most), (second, less) = dear
    paid = [f"{first} {many} costs ", most, f" plain tokens, {second} them ", less]
    return [*paid, ", reading the prompt ", prompt, ", and ", *kept]


def _owned(costs: Costs) -> tuple[tuple[float, Whose], ...]:
    """The costs that add up to the whole, each with whose it is."""
    return (costs.draft, "q"), (costs.target + costs.overhead, "p"), (costs.prefill, "prefill")


def _seldom(lane: LaneReport) -> str:
    """Said of a drafter that mostly finds nothing to guess."""
    rounds = lane.passes - 1
    if not lane.drafting or lane.drafting >= SELDOM * rounds:
        return ""
    return f" It found something to guess in {lane.drafting} of {rounds} rounds."


def decimals(lane: LaneReport) -> int:
    """Two decimals, or as many up to four as it takes for what is shown to agree."""
    costs, brings, speedup = lane.costs, lane.brings, lane.speedup
    if costs is None or brings is None or speedup is None:
        return USUAL

    def agree(digits: int) -> bool:
        shown = round(costs.total, digits)
        adds = abs(sum(round(part, digits) for part, _ in _owned(costs)) - shown) < 1e-9
        return adds and shown > 0 and f"{round(brings, digits) / shown:.2f}" == f"{speedup:.2f}"

    return next(filter(agree, range(USUAL, MOST)), MOST)


def _listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))
