"""Report on a server's statistics, for the page and the command line.

Counted and simulated numbers are in separate fields. The sentences are in texts/server.jinja.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from specviz.cost import sources
from specviz.cost.formatting import describe_machines, format_speedup
from specviz.cost.server.loading import parse_stats
from specviz.cost.server.outlook import Deployment, Outlook
from specviz.cost.server.stats import (
    PositionAcceptance,
    Rate,
    ServerStats,
    TokensPerPass,
    UnreadableStats,
    acceptance_by_position,
    difference,
    shorten,
    tokens_per_pass,
)
from specviz.settings.specs import MAX_GAMMA
from specviz.texts import text

SHORT_DRAFTS: Final = 0.98  # the report mentions a mean draft length below this share of γ

Row = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """All results for one server.

    Attributes:
        tokens: Tokens per pass.
        positions: Acceptance by position; empty if the server does not report it.
        facts: The counted numbers, as names and values.
        outlook: Speed-up by γ, simulated; None if no machine was given or nothing can be
            predicted.
        deployment: The model, machine and batch size of the outlook in words.
        not_predicted: Why nothing can be predicted; empty otherwise.
    """

    stats: ServerStats
    tokens: TokensPerPass
    positions: tuple[PositionAcceptance, ...]
    facts: tuple[Row, ...]
    limitations: tuple[str, ...]
    outlook: Outlook | None = None
    deployment: str = ""
    advice: tuple[str, ...] = ()
    not_predicted: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the report as the JSON of `specviz server --json`; predictions are `simulated`."""
        stats = asdict(self.stats)
        notes = [*stats.pop("notes"), *self.limitations]
        simulated = self.outlook and {**asdict(self.outlook), "advice": list(self.advice)}
        return {
            "told": _json_keys(stats),
            "tokens_per_pass": asdict(self.tokens),
            "positions": [_json_keys(asdict(position)) for position in self.positions],
            "unsaid": list(dict.fromkeys(notes)),
            "simulated": simulated and _json_keys(simulated),
            "not_predicted": self.not_predicted or None,
        }


# JSON keys that differ from the names of the fields; other programs read them, so they must not
# change.
JSON_KEYS: Final = {
    "endpoint": "place",
    "accepted_by_position": "kept",
    "output_gaps": "between",
    "is_counter": "counting",
    "cumulative": "reached",
    "conditional": "given",
    "options": "choices",
    "current": "now",
    "best_interval": "likely",
}
RATE_KEYS: Final = {"accepted": "kept", "total": "many"}


def _json_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    found = {JSON_KEYS.get(name, name): value for name, value in data.items()}
    for name in ("reached", "given"):
        if found.get(name):
            found[name] = {RATE_KEYS.get(key, key): value for key, value in found[name].items()}
    return found


def build_report(
    now: str,
    before: str = "",
    model: str | None = None,
    gamma: int | None = None,
    site: Deployment | None = None,
) -> Report:
    """Parse a server's statistics and build the report.

    Args:
        now: The statistics as text.
        before: An earlier snapshot; if given, only later events are counted.
        model: The model to report on, if the server has several.
        gamma: The draft length, if the server does not report it.
        site: Where the server runs; needed for predictions only.

    Raises:
        UnreadableStats: If the text cannot be used.
    """
    stats = parse_stats(now, model)
    if before.strip():
        stats = difference(parse_stats(before, model), stats)
    tokens = tokens_per_pass(stats, stats.draft_length or gamma)
    counted = Report(
        stats,
        tokens,
        tuple(acceptance_by_position(stats)),
        tuple(facts(stats, tokens)),
        tuple(limitations(stats, tokens)),
    )
    return counted if site is None else _with_prediction(counted, site)


def _with_prediction(counted: Report, site: Deployment) -> Report:
    try:
        outlook = site.outlook(counted.stats)
    except UnreadableStats as problem:
        return replace(counted, not_predicted=str(problem))
    deployment = describe_deployment(site, counted.stats)
    said = tuple(advice(deployment, counted.stats, outlook))
    return replace(counted, outlook=outlook, deployment=deployment, advice=said)


def facts(stats: ServerStats, tokens: TokensPerPass) -> list[Row]:
    """Return the counted numbers as pairs of name and value."""
    rows = [("Source", f"{stats.program}, {stats.endpoint}")]
    if stats.model:
        rows.append(("Model", shorten(stats.model)))
    rows.append(("Tokens per pass", _format_tokens(tokens)))
    if stats.drafted is not None and stats.accepted is not None:
        share = format_percent(stats.accepted / stats.drafted) if stats.drafted else "none"
        accepted = f"{stats.accepted:,.0f} of {stats.drafted:,.0f}, {share}"
        rows.append(("Accepted draft tokens", accepted))
    if stats.rounds is not None:
        rows.append(("Drafts", f"{stats.rounds:,.0f}"))
    if stats.draft_length:
        rows.append(("γ, draft length", _format_gamma(stats, stats.draft_length)))
    if stats.running is not None:
        rows.append(("Running sequences", _format_running(stats)))
    if stats.output_gaps and stats.output_gaps[1]:
        milliseconds = 1000 * stats.output_gaps[0] / stats.output_gaps[1]
        rows.append(("Time between outputs", f"{milliseconds:.1f} ms"))
    return rows


def _format_tokens(tokens: TokensPerPass) -> str:
    if tokens.low is None or tokens.high is None:
        return f"{tokens.mean:.2f}"
    return f"{tokens.mean:.2f}, 95%: {tokens.low:.2f} to {tokens.high:.2f}"


def _format_gamma(stats: ServerStats, gamma: int) -> str:
    mean = _mean_of_short_drafts(stats)
    return f"{gamma}" if mean is None else f"{gamma}, on average {mean:.2f} drafted"


def _mean_of_short_drafts(stats: ServerStats) -> float | None:
    # None unless it is clearly below γ.
    if not (stats.rounds and stats.drafted and stats.draft_length):
        return None
    mean = stats.drafted / stats.rounds
    return mean if mean < SHORT_DRAFTS * stats.draft_length else None


def _format_running(stats: ServerStats) -> str:
    copies = f" on each of {stats.engines} copies" if stats.engines > 1 else ""
    return f"{stats.running:.3g}{copies}"


def format_rate(rate: Rate | None) -> str:
    """Format a share as a percentage with its interval."""
    if rate is None:
        return "no draft reached it"
    low, high = (100 * end for end in (rate.low, rate.high))
    return f"{format_percent(rate.share)}, {low:.1f} to {high:.1f}"


def format_percent(share: float) -> str:
    """Format a share as a percentage with one decimal."""
    return f"{100 * share:.1f}%"


def limitations(stats: ServerStats, tokens: TokensPerPass) -> list[str]:
    """Return sentences on what the server does not report."""
    found = list(stats.notes)
    if tokens.assumed:
        found.append(text("server", "drafts_assumed"))
    if acceptance_by_position(stats):
        found.append(text("server", "intervals"))
    else:
        found.append(text("server", "no_positions", program=stats.program, endpoint=stats.endpoint))
    mean = _mean_of_short_drafts(stats)
    if mean is not None:
        found.append(text("server", "short_drafts", tokens=f"{mean:.2f}"))
    if stats.running is None or not stats.batch:
        found.append(text("server", "no_batch"))
    return found


def describe_deployment(site: Deployment, stats: ServerStats) -> str:
    """Return the model, the machine and the batch size as text."""
    devices = describe_machines(sources.machines()[site.hardware].title, site.cards)
    model = sources.models()[site.model].title
    return f"{model} on {devices} at batch size {site.batch_of(stats)}"


def advice(deployment: str, stats: ServerStats, outlook: Outlook) -> list[str]:
    """Return sentences on the best γ, which is simulated."""
    best = outlook.best
    found = [_verdict(deployment, outlook)]
    low, high = outlook.near_best
    if best.gamma and low < high:
        found.append(text("server", "nearly_best", low=low, high=high))
    if outlook.best_interval and outlook.best_interval[0] < outlook.best_interval[1]:
        low, high = outlook.best_interval
        found.append(text("server", "best_interval", low=low, high=high))
    if not outlook.fits:
        found.append(text("server", "does_not_fit"))
    found += _assumptions(stats, outlook)
    return [*found, *_costs(outlook)]


def _costs(outlook: Outlook) -> list[str]:
    fit, (low, high) = outlook.calibration, outlook.best_otherwise
    shares = {name: one.default for name, one in sources.efficiencies().items()}
    if fit is None:
        span = f"{low} to {high}" if low < high else ""
        return [text("server", "not_calibrated", span=span, **shares)]
    same = low == high == outlook.best.gamma
    sentence = text(
        "server",
        "calibrated",
        measured=f"{1000 * fit.measured:.2f}",
        roofline=f"{1000 * fit.roofline:.2f}",
        overhead=f"{1000 * fit.overhead:.2f}" if fit.overhead else "",
        passes=fit.passes,
        faster=f"{fit.faster:.2f}",
        possible=fit.possible,
        **shares,
    )
    if not fit.overhead:
        return [sentence]
    return [sentence, text("server", "slow_by_a_factor", gamma=low, same=same)]


def _verdict(deployment: str, outlook: Outlook) -> str:
    best, now = outlook.best, outlook.current
    ranked = {"deployment": deployment, "calibrated": outlook.calibration is not None}
    if best.gamma == 0:
        yours = {
            "gamma": now.gamma if now else 0,
            "speedup": format_speedup(now.speedup if now else 1),
        }
        return text("server", "never_pays", **ranked, **yours)
    comparison = ""
    if now is not None and now.gamma == best.gamma:
        comparison = text("server", "is_yours")
    elif now is not None and outlook.advised is now:
        comparison = text("server", "keeps_yours", gamma=now.gamma)
    elif now is not None:
        gain = format_speedup(outlook.gain or 1.0)
        speedup = format_speedup(now.speedup)
        comparison = text("server", "than_yours", gain=gain, gamma=now.gamma, speedup=speedup)
    return text(
        "server",
        "best_gamma",
        **ranked,
        gamma=best.gamma,
        longest=best.gamma == MAX_GAMMA,
        speedup=format_speedup(best.speedup),
        comparison=comparison,
    )


def _assumptions(stats: ServerStats, outlook: Outlook) -> list[str]:
    positions = acceptance_by_position(stats)
    if not positions:
        return [text("server", "one_alpha")]
    if outlook.best.gamma and not outlook.best.counted:
        last = [position for position in positions if position.conditional][-1]
        share = format_percent(last.conditional.share) if last.conditional else ""
        return [text("server", "beyond_the_counts", position=last.number, share=share)]
    return []
