"""Summarize a race: its sentences, and all its numbers and sentences as one JSON object.

The displayed numbers agree with each other: tokens per round divided by cost gives the speed-up,
and the parts of a cost sum to it. The wording is in `texts/compare.jinja`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor
from typing import Any, Final, Literal, TypedDict, cast, final

from specviz.compare.lanes import TITLE, LaneLabel, join_names, lane_labels
from specviz.compare.measures import Verdict
from specviz.compare.race import PLAIN, Results
from specviz.compare.report import Costs, LaneReport, reports
from specviz.cost.formula import measured_point
from specviz.texts import say, text
from specviz.trace.file import Trace
from specviz.trace.metrics import EVEN, MAX_SPREAD, VERDICT

Owner = Literal["q", "p", "prefill", "k"]  # drafter, target, prompt, or none of these (k)


@final
class BoldPart(TypedDict):
    """Bold text."""

    b: str


NumberPart = TypedDict("NumberPart", {"n": str, "as": Owner})
Part = str | BoldPart | NumberPart
Sentence = Sequence[Part]

UNFINISHED: Final[tuple[Verdict, ...]] = ("stopped", "unknown")
ROUGH: Final = 1.5  # warn if a lane's longest run took this many times as long as its shortest
SELDOM: Final = 0.5  # mention the share of rounds with a guess if it is smaller
DECIMALS, MOST_DECIMALS = 2, 4  # decimals of numbers in a sentence; more than 2 only if needed


def number(shown: str, owner: Owner) -> NumberPart:
    """Return a number as it is shown, in the colour of what it belongs to."""
    return {"n": shown, "as": owner}


def plain_text(parts: Sentence) -> str:
    """Join the parts of a sentence to one text."""
    return "".join(
        part if isinstance(part, str) else part["n"] if "n" in part else part["b"] for part in parts
    )


def headline(lanes: Sequence[LaneReport]) -> str:
    """Return which lane is the fastest, and which are slower than plain decoding.

    Lanes whose times vary too much are named without a speed. If some times vary, all lanes are
    first ranked by tokens per pass, which does not depend on time. If something other than memory
    limits plain passes, a sentence says so.
    """
    compared = {lane.name: lane for lane in lanes if lane.name != PLAIN and lane.speedup}
    speedups = {name: lane.speedup or 0.0 for name, lane in compared.items() if lane.noise is None}
    noisy = [name for name in compared if name not in speedups]
    if not compared:
        return text("compare", "headline_nothing")
    limit = [lane.limit for lane in lanes if lane.limit][:1]
    if not noisy and not caution(lanes):
        return " ".join([_fastest(speedups), *limit])
    if not noisy:
        found = [_fastest(speedups), *limit]
    elif speedups:
        shown = text("compare", "headline_noisy", names=join_names(noisy))
        found = [_fastest(speedups), shown]
    else:
        found = [text("compare", "headline_all_noisy")]
    ranked = sorted(compared.values(), key=lambda lane: -(lane.brings or 0))
    lengths = [f"{lane.name} {lane.brings or 0:.2f}" for lane in ranked]
    return " ".join([text("compare", "headline_ranking", lanes=", ".join(lengths)), *found])


def _fastest(speedups: Mapping[str, float]) -> str:
    best = max(speedups, key=lambda name: speedups[name])
    shown = {"name": best, "speedup": f"{speedups[best]:.2f}"}
    if speedups[best] < 1 + EVEN:
        return text("compare", "headline_no_gain", **shown)
    slower = [name for name, ratio in speedups.items() if ratio <= 1 - EVEN]
    names = {"slower": len(slower), "slower_names": join_names(slower)}
    return text("compare", "headline_fastest", **shown, **names)


def caution(lanes: Sequence[LaneReport]) -> str:
    """Return a warning about lanes whose times other work distorted; empty if there are none."""
    names: dict[str, list[str]] = {}  # of the lanes, by reason
    for lane in lanes:
        if cause := _distortion(lane):
            names.setdefault(cause, []).append(TITLE if lane.name == PLAIN else lane.name)
    if not names:
        return ""
    reasons = [
        text("compare", "lane_reason", names=join_names(named), reason=cause)
        for cause, named in names.items()
    ]
    noisy = any(lane.noise is not None for lane in lanes)
    verdict = VERDICT if noisy else text("compare", "rough")
    return text("compare", "caution", verdict=verdict, reasons="; ".join(reasons))


def _distortion(lane: LaneReport) -> str:
    if lane.noise is not None:
        return lane.noise
    if lane.uneven is not None and lane.uneven >= MAX_SPREAD:
        return text("compare", "uneven", factor=f"{lane.uneven:.1f}")
    if lane.runs and max(lane.runs) >= ROUGH * min(lane.runs):
        shown = {"shortest": f"{min(lane.runs):.2f}", "longest": f"{max(lane.runs):.2f}"}
        return text("compare", "unequal_runs", **shown)
    return ""


def speed_sentence(lane: LaneReport) -> Sentence:
    """Return why this lane is faster or slower, or why this is unknown."""
    if lane.name == PLAIN:
        stopped = lane.ended == "stopped"
        return _say("baseline_stopped", tokens=lane.tokens) if stopped else _say("baseline")
    if lane.ended in (None, "stopped"):
        return _say("lane_stopped", tokens=lane.tokens)
    if lane.speedup is None or lane.costs is None or lane.brings is None:
        return _say("lane_without_baseline")
    if lane.noise is not None:
        return _say("lane_noisy")
    return [*_reason(lane, lane.speedup, lane.costs, lane.brings), *_seldom(lane)]


def _say(macro: str, **values: Any) -> list[Part]:
    return cast("list[Part]", say("compare", macro, **values))


def _reason(lane: LaneReport, speedup: float, costs: Costs, brings: float) -> list[Part]:
    # If the round does not pay off, the larger cost comes first.
    shown = round_numbers(lane)
    assert shown is not None
    assert shown.cost is not None
    digits, parts = shown.digits, _cost_parts(costs)
    rounded = round_parts([value for value, _ in parts], digits, float(shown.cost))
    draft, check, prompt = (
        number(f"{value:.{digits}f}", owner)
        for value, (_, owner) in zip(rounded, parts, strict=True)
    )
    known: dict[str, Any] = {
        "verdict": _verdict(speedup),
        "speedup": f"{speedup:.2f}",
        "brings": number(shown.brings, "k"),
        "cost": number(shown.cost, "k"),
    }
    if not lane.guesses or lane.kept is None:
        return _say("lane_never_guesses", rounds=lane.passes, **known)
    known |= {"guesses": f"{lane.guesses:.1f}", "draft": draft, "check": check, "prompt": prompt}
    if brings >= costs.total * (1 - EVEN):
        return _say("lane_pays", **known)
    known["accepted"] = number(f"{lane.kept:.{digits}f}", "k") if lane.kept else ""
    drafting_first = costs.draft >= costs.target + costs.overhead + costs.prefill - 1
    return _say("lane_drafting_too_slow" if drafting_first else "lane_checking_too_slow", **known)


def _verdict(speedup: float) -> str:
    return "faster" if speedup >= 1 + EVEN else "slower" if speedup <= 1 - EVEN else "even"


def _cost_parts(costs: Costs) -> tuple[tuple[float, Owner], ...]:
    return (costs.draft, "q"), (costs.target + costs.overhead, "p"), (costs.prefill, "prefill")


def _seldom(lane: LaneReport) -> list[Part]:
    rounds = lane.passes - 1
    if not lane.drafting or lane.drafting >= SELDOM * rounds:
        return []
    return [" ", *_say("lane_seldom_guesses", drafting=lane.drafting, rounds=rounds)]


@dataclass(frozen=True, slots=True)
class RoundNumbers:
    """Tokens and cost of a lane's round as they are shown; cost: None if it was not measured."""

    digits: int
    brings: str
    cost: str | None


def round_numbers(lane: LaneReport) -> RoundNumbers | None:
    """Round tokens and cost so that tokens divided by cost give the speed-up shown.

    Two decimals are used if this works with the cost rounded up or down; otherwise more are used.
    The tokens are counted, so they are rounded to the nearest. None if the lane has no rounds.
    """
    if lane.brings is None:
        return None
    if lane.costs is None or lane.speedup is None:
        return RoundNumbers(DECIMALS, f"{lane.brings:.{DECIMALS}f}", None)
    for digits in range(DECIMALS, MOST_DECIMALS + 1):
        tokens = round(lane.brings, digits)
        for cost in _neighbours(lane.costs.total, digits):
            if cost > 0 and f"{tokens / cost:.2f}" == f"{lane.speedup:.2f}":
                return RoundNumbers(digits, f"{tokens:.{digits}f}", f"{cost:.{digits}f}")
    digits = MOST_DECIMALS
    return RoundNumbers(digits, f"{lane.brings:.{digits}f}", f"{lane.costs.total:.{digits}f}")


def _neighbours(value: float, digits: int) -> list[float]:
    # The nearer one first.
    scaled = value * 10**digits
    both = [count / 10**digits for count in (floor(scaled), ceil(scaled))]
    return sorted(both, key=lambda rounded: abs(rounded - value))


def round_parts(values: Sequence[float], digits: int, total: float | None = None) -> list[float]:
    """Round numbers so that they add up to their sum as it is shown.

    Each is rounded down or up; those with the largest remainders are rounded up, as many as the sum
    needs. total: their sum as it is shown; None: rounded to the nearest.
    """
    unit = 10.0**-digits
    floors = [floor(value / unit) for value in values]
    missing = round((sum(values) if total is None else total) / unit) - sum(floors)
    by_remainder = sorted(range(len(values)), key=lambda at: floors[at] - values[at] / unit)
    for at in by_remainder[:missing]:
        floors[at] += 1
    return [count * unit for count in floors]


def texts_sentence(lanes: Sequence[LaneReport]) -> tuple[bool | None, Sentence]:
    """Return whether all texts are the same, and a sentence that says so.

    At temperature 0, the sentence names the lanes that differ. With sampling, it says why texts may
    differ, and whether the distribution is the same. Returns the answer, None if a lane did not
    finish, and the sentence.
    """
    others = [lane for lane in lanes if lane.name != PLAIN]
    unfinished = any(lane.equality.verdict in UNFINISHED for lane in lanes)
    if not others or len(others) == len(lanes) or unfinished:
        return None, _say("texts_unfinished")
    different = [lane for lane in others if lane.equality.verdict != "same"]
    greedy = lanes[0].settings["sampling"]["temperature"] == 0
    return not different, _greedy(lanes, different) if greedy else _sampled(lanes, different)


def _greedy(lanes: Sequence[LaneReport], different: Sequence[LaneReport]) -> Sentence:
    if not different:
        return _say("texts_identical", lanes=len(lanes), tokens=lanes[0].tokens)
    each = [
        text("compare", "lane_difference", name=lane.name, sentence=equality_sentence(lane))
        for lane in different
    ]
    counts = {"different": len(different), "others": len(lanes) - 1}
    return _say("texts_differ", **counts, lanes=" ".join(each))


def _sampled(lanes: Sequence[LaneReport], different: Sequence[LaneReport]) -> Sentence:
    lossy = [
        text("compare", "other_distribution", name=lane.name, rule=repr(lane.rule))
        for lane in lanes
        if not lane.lossless
    ]
    distribution = " ".join(lossy) or text("compare", "same_distribution")
    counts = {"different": len(different), "others": len(lanes) - 1, "lanes": len(lanes)}
    return _say("texts_sampled", **counts, distribution=distribution)


def equality_sentence(lane: LaneReport) -> str:
    """Return the sentence that compares a lane's text with plain decoding's."""
    found = lane.equality
    position = found.position or 0
    values: dict[str, Any] = {"token": position + 1}
    match found.verdict:
        case "same":
            macro, values = "text_same", {"tokens": found.tokens}
        case "stopped" | "unknown":
            macro, values = "text_unfinished", {}
        case "length":
            macro, values = "text_length", {"tokens": position}
        case "sampled":
            macro = "text_sampled"
        case "lossy":
            macro, values["rule"] = "text_lossy", repr(lane.rule)
        case "near-tie":
            macro, values["margin"] = "text_near_tie", f"{found.margin:.2g}"
        case "fault":
            values |= {"margin": f"{found.margin:.2g}", "dtype": lane.dtype}
            macro = "text_error"
    return text("compare", macro, **values)


def race_summary(results: Results) -> dict[str, Any]:
    """Return the data that `specviz compare --json` prints; `lanes` has only the lanes that ran."""
    race, lanes, labels = results.race, reports(results), lane_labels(results.race)
    same, texts = texts_sentence(lanes)
    head = next(iter(results.traces.values())).header if results.traces else None
    return {
        "prompt": race.prompt,
        "chat": head is not None and head.chat is not None,
        "prompt_tokens": len(head.prompt_ids) if head else None,
        "target": head.target.name if head else None,
        "machine": head.machine if head else None,
        "device": head.device if head else None,
        "dtype": head.dtype if head else None,
        "threads": head.threads if head else None,
        "sampling": asdict(race.sampling),
        "seed": race.shared.seed,
        "max_new_tokens": race.shared.max_new_tokens,
        "order_seed": race.order_seed,
        "order": list(results.order),
        "complete": results.complete,
        "headline": headline(lanes),
        "caution": caution(lanes) or None,
        "texts": {"same": same, "sentence": plain_text(texts), "sentence_parts": texts},
        "lanes": [
            _lane(lane, labels[lane.name], results.with_baseline(lane.name)) for lane in lanes
        ],
    }


def _lane(lane: LaneReport, label: LaneLabel, trace: Trace) -> dict[str, Any]:
    why, shown = speed_sentence(lane), round_numbers(lane)
    data = asdict(lane)
    if lane.costs is not None:
        data["costs"] |= {"total": lane.costs.total}
    data["equality"] |= {"sentence": equality_sentence(lane)}
    return {
        "name": data.pop("name"),
        "title": label.title,
        "said": label.shape,
        "sentence": plain_text(why),
        "sentence_parts": why,
        "decimals": shown.digits if shown else DECIMALS,
        "point": None if lane.name == PLAIN else _point(trace),
    } | data


def _point(trace: Trace) -> dict[str, Any] | None:
    point = measured_point(trace)
    return None if point is None else asdict(point) | {"predicted": point.predicted}
