"""All that follows from a server's words, in one place: for the page and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specviz.cost import sources
from specviz.cost.formatting import describe_machines, format_speedup
from specviz.cost.server.acceptance import (
    PositionAcceptance,
    Rate,
    TokensPerPass,
    acceptance_by_position,
    tokens_per_pass,
)
from specviz.cost.server.deployment import Deployment
from specviz.cost.server.outlook import MAX_GAMMA, Outlook
from specviz.cost.server.parsing import parse_stats
from specviz.cost.server.stats import ServerStats, UnreadableStats, difference, shorten

SHORTER: Final = 0.98  # of γ: drafts shorter than that on average are said to be

Row = tuple[str, str]


def facts(told: ServerStats, found: TokensPerPass) -> list[Row]:
    """What was counted: name and value."""
    rows = [("Who says it", f"{told.program}, {told.place}")]
    if told.model:
        rows.append(("Model", shorten(told.model)))
    rows.append(("Tokens per pass", _tokens(found)))
    if told.drafted is not None and told.accepted is not None:
        format_rate = f"{format_percent(told.accepted / told.drafted)}" if told.drafted else "none"
        rows.append(("Guesses kept", f"{told.accepted:,.0f} of {told.drafted:,.0f}, {format_rate}"))
    if told.rounds is not None:
        rows.append(("Drafts", f"{told.rounds:,.0f}"))
    if told.length:
        rows.append(("γ, guesses in a draft", _gamma(told, told.length)))
    if told.running is not None:
        rows.append(("Sequences at that moment", _running(told)))
    if told.between and told.between[1]:
        rows.append(("Between two outputs", f"{1000 * told.between[0] / told.between[1]:.1f} ms"))
    return rows


def _tokens(found: TokensPerPass) -> str:
    if found.low is None or found.high is None:
        return f"{found.mean:.2f}"
    return f"{found.mean:.2f}, 95 %: {found.low:.2f} to {found.high:.2f}"


def _gamma(told: ServerStats, gamma: int) -> str:
    mean = _drafted(told)
    return f"{gamma}" if mean is None else f"{gamma}, on average {mean:.2f} made"


def _drafted(told: ServerStats) -> float | None:
    """Guesses that a draft held on average, where that is clearly less than γ."""
    if not (told.rounds and told.drafted and told.length):
        return None
    mean = told.drafted / told.rounds
    return mean if mean < SHORTER * told.length else None


def _running(told: ServerStats) -> str:
    copies = f" on each of {told.engines} copies" if told.engines > 1 else ""
    return f"{told.running:.3g}{copies}"


def format_rate(found: Rate | None) -> str:
    """A share in per cent with its interval."""
    if found is None:
        return "nobody came so far"
    low, high = (100 * end for end in (found.low, found.high))
    return f"{format_percent(found.share)}, {low:.1f} to {high:.1f}"


def format_percent(share: float) -> str:
    """A share as people write it."""
    return f"{100 * share:.1f} %"


def limitations(told: ServerStats, found: TokensPerPass) -> list[str]:
    """What the server leaves out or leaves open, a sentence each."""
    said = list(told.notes)
    if found.assumed:
        said.append("Drafts were not counted: every one is taken to have γ guesses.")
    if not acceptance_by_position(told):
        said.append(
            f"{told.program} says nothing by position in its {told.place}, so there is none here: "
            "an average tells neither at which guess a draft falls, nor how sure it is."
        )
    else:
        said.append(
            "Intervals hold 95 of 100 times for rounds that are independent; rounds of one text "
            "are alike, so the true ones are wider."
        )
    mean = _drafted(told)
    if mean is not None:
        said.append(
            f"Drafts held {mean:.2f} guesses on average, fewer than γ: a guess that was never made "
            "counts as not kept here, and a longer draft is taken to cost all its guesses."
        )
    if told.running is None or not told.batch:
        said.append("How many sequences it decodes at once it does not say, or none ran just then.")
    return said


def describe_deployment(site: Deployment, told: ServerStats) -> str:
    """The machine and the batch."""
    cards = describe_machines(sources.machines()[site.hardware].title, site.cards)
    model = sources.models()[site.model].title
    return f"{model} on {cards} at batch {site.batch_of(told)}"


def advice(site: Deployment, told: ServerStats, found: Outlook) -> list[str]:
    """What follows for γ: simulated, every word of it."""
    best, now = found.best, found.now
    said = [_verdict(describe_deployment(site, told), found)]
    low, high = found.close
    if best.gamma and low < high:
        among = now is not None and low <= now.gamma <= high and now.gamma != best.gamma
        yours = ", yours among them" if among else ""
        said.append(f"γ {low} to {high} come within a hundredth of it{yours}.")
    if found.likely and found.likely[0] < found.likely[1]:
        said.append(
            f"With the ends of the counts’ intervals the best lies from γ {found.likely[0]} to "
            f"{found.likely[1]}."
        )
    if not found.fits:
        said.append("Weights and caches do not fit there; the numbers go on as if they did.")
    said += _assumed(told, found)
    if now and found.round and told.between and told.between[1]:
        real, least = told.between[0] / told.between[1], found.round.draft + found.round.verify
        said.append(
            f"A round takes {1000 * least:.2f} ms on the roofline, and {1000 * real:.2f} ms passed "
            f"between two outputs of the server: {real / least:.1f} times as long."
        )
    return said


def _verdict(place: str, found: Outlook) -> str:
    best, now = found.best, found.now
    if best.gamma == 0:
        end = f"; your γ {now.gamma} runs at {format_speedup(now.speedup)} of it" if now else ""
        return f"For {place}, no draft pays: plain decoding is the fastest{end}."
    longest = ", the longest looked at," if best.gamma == MAX_GAMMA else ""
    said = f"For {place}, γ {best.gamma}{longest} is best: {format_speedup(best.speedup)} plain decoding"
    if now is None:
        return f"{said}."
    if now.gamma == best.gamma:
        return f"{said}. It is the one you have."
    return (
        f"{said}, and {format_speedup(found.gain or 1.0)} what your γ {now.gamma} brings, which is at "
        f"{format_speedup(now.speedup)}."
    )


def _assumed(told: ServerStats, found: Outlook) -> list[str]:
    """What a prediction takes for granted."""
    best = found.best
    if not acceptance_by_position(told):
        return ["One chance α at every position is assumed, the one that the average stands for."]
    if best.gamma and not best.counted:
        last = [place for place in acceptance_by_position(told) if place.given][-1]
        chance = format_percent(last.given.share) if last.given else ""
        sentence = f"Beyond position {last.number} nothing was counted: the chance there, "
        return [f"{sentence}{chance}, is assumed to hold."]
    return []


@dataclass(frozen=True, slots=True)
class Report:
    """facts, places: counted by the server. unsaid: what it leaves out.

    outlook, advice: simulated; None and () where no machine was named, or where `open` says why
    nothing can be predicted.
    """

    told: ServerStats
    tokens: TokensPerPass
    places: tuple[PositionAcceptance, ...]
    facts: tuple[Row, ...]
    unsaid: tuple[str, ...]
    outlook: Outlook | None = None
    advice: tuple[str, ...] = ()
    open: str = ""


def build_report(
    text: str,
    before: str = "",
    model: str | None = None,
    gamma: int | None = None,
    site: Deployment | None = None,
) -> Report:
    """What a text says. before: an earlier snapshot; then only what happened since counts.

    model: which, where there are several. gamma: the drafts' length, where the server does not say
    it. site: where it runs. Raises Unreadable with a sentence.
    """
    told = parse_stats(text, model)
    if before.strip():
        told = difference(parse_stats(before, model), told)
    found = tokens_per_pass(told, told.length or gamma)
    counted = Report(
        told,
        found,
        tuple(acceptance_by_position(told)),
        tuple(facts(told, found)),
        tuple(limitations(told, found)),
    )
    return counted if site is None else _with(counted, site)


def _with(counted: Report, site: Deployment) -> Report:
    """With what the site's roofline says; with the reason where it can say nothing."""
    told = counted.told
    made = (told, counted.tokens, counted.places, counted.facts, counted.unsaid)
    try:
        outlook = site.outlook(told)
    except UnreadableStats as problem:
        return Report(*made, open=str(problem))
    return Report(*made, outlook, tuple(advice(site, told, outlook)))
