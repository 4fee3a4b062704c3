"""Predict the speed-up for every γ from a server's acceptance and a roofline (simulated).

The roofline is fitted to the time between the server's outputs, if it reports that.

For drafts that are shorter than the server's, acceptance was counted. For longer ones, the
acceptance at the last position is assumed for all further ones. If only an average is reported, the
same α is assumed at every position. What a server does not report is in the `Deployment`: machine,
model, drafter, context and batch size, as names of presets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from specviz.cost import formula, sources
from specviz.cost.roofline import DraftPlan, ModelShape, Prediction, Serving, predict
from specviz.cost.server.stats import (
    PositionAcceptance,
    ServerStats,
    UnreadableStats,
    acceptance_by_position,
    tokens_per_pass,
)
from specviz.cost.sources import at_default_efficiency, at_extremes, drafters
from specviz.settings.specs import MAX_GAMMA
from specviz.settings.suggestion import did_you_mean

CLOSE = 1.02  # relative difference up to which times count as equal


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a roofline was fitted. Times are in seconds.

    Attributes:
        measured: Time between two outputs of a sequence.
        roofline: Time of a round as predicted before the fit.
        passes: Number of passes in a round, including the drafter's.
        overhead: Time added to every pass; 0 if the server is faster than predicted.
        faster: Factor by which both efficiencies were increased; 1 if the server is slower than
            predicted.
        possible: Whether the fitted round takes the measured time; if not, the peaks are too low.
    """

    measured: float
    roofline: float
    passes: int
    overhead: float
    faster: float
    possible: bool


SHOWN_GAMMA: Final = 16  # options are shown at least up to this γ
NEARLY_BEST: Final = 0.99  # speed-ups within this share of the best count as equal


@dataclass(frozen=True, slots=True)
class AcceptanceModel:
    """Acceptance probability by position, given that all earlier positions were accepted.

    Attributes:
        conditional: For each position: as counted, or the α that gives the reported average.
        rest: Acceptance that is assumed at all later positions.
        by_position: Whether `conditional` was counted by position.
    """

    conditional: tuple[float, ...]
    rest: float
    by_position: bool

    def tokens(self, gamma: int) -> float:
        """Return the tokens per round for a draft of γ tokens."""
        padded = (*self.conditional[:gamma], *[self.rest] * (gamma - len(self.conditional)))
        return formula.tokens_by_depth(padded)


@dataclass(frozen=True, slots=True)
class GammaOption:
    """One draft length. counted: whether `tokens` was counted rather than extrapolated."""

    gamma: int
    tokens: float
    speedup: float
    counted: bool


@dataclass(frozen=True, slots=True)
class Outlook:
    """Every γ from 0 to MAX_GAMMA on one machine at one batch size.

    Attributes:
        options: One option per γ.
        current: The server's γ; None if it is unknown or above MAX_GAMMA.
        best: The smallest γ with the best speed-up.
        best_interval: The best γ for the lower ends of all confidence intervals, and for their
            upper ends, the smaller γ first; None without intervals.
        round: The predicted round at `current`.
        calibration: How predicted times were fitted to the server's; None if it reports no times.
        best_otherwise: The lowest and the highest best γ under other assumptions about times: all
            passes slower by one factor or, without a calibration, all efficiencies that the sources
            report.
        fits: Whether weights and caches fit in memory with `best`.
    """

    options: tuple[GammaOption, ...]
    current: GammaOption | None
    best: GammaOption
    best_interval: tuple[int, int] | None
    round: Prediction | None
    calibration: Calibration | None
    best_otherwise: tuple[int, int]
    fits: bool

    @property
    def near_best(self) -> tuple[int, int]:
        """The smallest and the largest γ within 1% of the best speed-up."""
        good = [c.gamma for c in self.options if c.speedup >= NEARLY_BEST * self.best.speedup]
        return min(good), max(good)

    @property
    def shown(self) -> tuple[GammaOption, ...]:
        """The options to show: some beyond the best γ and the server's."""
        current = self.current.gamma if self.current else 0
        return self.options[: 1 + max(SHOWN_GAMMA, self.best.gamma + 2, current)]

    @property
    def advised(self) -> GammaOption:
        """The γ to use: the server's own if it is nearly the best, otherwise the best one."""
        now = self.current
        keeps = now and now.gamma and now.speedup >= NEARLY_BEST * self.best.speedup
        return now if now and keeps and self.best.gamma else self.best

    @property
    def gain(self) -> float | None:
        """Speed-up of the best γ over the server's γ; None if the server's γ is unknown."""
        return self.best.speedup / self.current.speedup if self.current else None


def acceptance_model(stats: ServerStats, gamma: int | None) -> AcceptanceModel:
    """Return the acceptance by position, computed from a server's statistics.

    gamma: the draft length, needed if only an average is reported. Raises UnreadableStats if the
    acceptance cannot be computed.
    """
    found = [
        position.conditional.share
        for position in acceptance_by_position(stats)
        if position.conditional
    ]
    if found:
        return AcceptanceModel(tuple(found), found[-1], True)
    if gamma is None:
        raise UnreadableStats(
            f"{stats.program} does not report its draft length: enter the γ it was started with."
        )
    mean = tokens_per_pass(stats, gamma).mean
    if mean > gamma + 1:
        raise UnreadableStats(
            f"{gamma} draft tokens yield at most {gamma + 1} tokens per pass, but {stats.program} "
            f"reports {mean:.2f}: its γ is larger."
        )
    alpha = formula.solve_alpha(mean, gamma)
    return AcceptanceModel((alpha,) * gamma, alpha, False)


def outlook(
    stats: ServerStats,
    serving: Serving,
    batch: int,
    draft: ModelShape | None,
    gamma: int | None = None,
) -> Outlook:
    """Predict the speed-up for each draft length γ.

    Raises UnreadableStats if nothing can be predicted.

    Args:
        stats: The server's statistics.
        serving: The target on its machine.
        batch: Sequences per pass.
        draft: The drafter's shape; None if drafting takes no time.
        gamma: The draft length, if the server does not report it.
    """
    if (stats.siblings or 1) > 1:
        raise UnreadableStats(
            "This server drafts trees, and its statistics do not show which siblings "
            "were accepted, so other shapes cannot be predicted."
        )
    present = stats.draft_length or gamma
    expected = acceptance_model(stats, present)
    before = serving
    serving, calibration = _calibrated(stats, serving, batch, draft, expected, present)
    others = [before] if calibration else at_extremes(serving)

    def gains(each: AcceptanceModel, serving: Serving = serving) -> list[float]:
        return [_predicted(serving, batch, draft, each, g).speedup for g in range(MAX_GAMMA + 1)]

    otherwise = [_best(gains(expected, other)) for other in others]

    made = tuple(
        GammaOption(
            g, expected.tokens(g), gain, expected.by_position and g <= len(expected.conditional)
        )
        for g, gain in enumerate(gains(expected))
    )
    best = made[_best([choice.speedup for choice in made])]
    now = made[present] if present is not None and present <= MAX_GAMMA else None
    return Outlook(
        made,
        now,
        best,
        _best_interval(acceptance_by_position(stats), gains),
        _predicted(serving, batch, draft, expected, now.gamma) if now else None,
        calibration,
        (min(otherwise), max(otherwise)),
        _predicted(serving, batch, draft, expected, best.gamma).fits,
    )


def _calibrated(
    stats: ServerStats,
    serving: Serving,
    batch: int,
    draft: ModelShape | None,
    expected: AcceptanceModel,
    gamma: int | None,
) -> tuple[Serving, Calibration | None]:
    # Fit the deployment to the measured time of a round, if the server reports it.
    if gamma is None or not (stats.output_gaps and all(stats.output_gaps)):
        return serving, None
    seconds, count = stats.output_gaps
    measured, passes = seconds / count, 1 + (gamma if draft else 0)
    round = _predicted(serving, batch, draft, expected, gamma)
    roofline = round.draft + round.verify
    overhead = max(0.0, (measured - roofline) / passes)
    most = 1 / max(serving.reading, serving.computing)
    wanted = max(1.0, roofline / measured)
    faster = min(wanted, most)
    fitted = replace(
        serving,
        overhead=serving.overhead + overhead,
        reading=serving.reading * faster,
        computing=serving.computing * faster,
    )
    possible = wanted <= most * CLOSE
    return fitted, Calibration(measured, roofline, passes, overhead, faster, possible)


def _predicted(
    serving: Serving, batch: int, draft: ModelShape | None, each: AcceptanceModel, gamma: int
) -> Prediction:
    return predict(serving, DraftPlan(each.tokens(gamma), (1,) * gamma, draft), batch)


def _best(gains: Sequence[float]) -> int:
    most = max(gains)
    return next(at for at, gain in enumerate(gains) if gain >= most * (1.0 - formula.TOLERANCE))


def _best_interval(
    found: Sequence[PositionAcceptance], gains: Callable[[AcceptanceModel], list[float]]
) -> tuple[int, int] | None:
    # One γ is best for the lower ends of all confidence intervals, the other for the upper ends.
    rates = [place.conditional for place in found if place.conditional]
    if not rates:
        return None
    ends = ([rate.low for rate in rates], [rate.high for rate in rates])
    low, high = (_best(gains(AcceptanceModel(tuple(end), end[-1], True))) for end in ends)
    return min(low, high), max(low, high)


LIMITS: Final[Mapping[str, tuple[str, int, int]]] = {  # name in errors, minimum, maximum
    "cards": ("The number of devices", 1, 64),
    "context": ("The context", 0, 131_072),
    "batch": ("The batch size", 1, 512),
    "gamma": ("γ", 1, 64),
}


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where a server runs, as names of presets; invalid values raise ValueError.

    Attributes:
        drafter: Name of a drafter for that target.
        cards: Number of devices that share the work of a pass.
        context: Tokens in each KV cache.
        batch: Sequences per pass; None for the number that the server reports.
        gamma: The draft length; None for the length that the server reports.
    """

    hardware: str
    model: str
    dtype: str
    drafter: str
    cards: int = 1
    context: int = 512
    batch: int | None = None
    gamma: int | None = None

    def __post_init__(self) -> None:
        for name, known in (("hardware", sources.machines()), ("model", sources.models())):
            _known(getattr(self, name), list(known), name)
        _known(
            self.dtype,
            list(sources.machines()[self.hardware].peak),
            "number format of this machine",
        )
        _known(self.drafter, list(drafters(self.model)), f"drafter for {self.model}")
        for name, (called, least, most) in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{called} must be between {least} and {most:,}, not {value:,}.")

    @property
    def serving(self) -> Serving:
        """The target on the machine, at the default efficiency."""
        machine = sources.machines()[self.hardware].hardware
        shape = sources.models()[self.model].shape
        return at_default_efficiency(Serving(shape, machine, self.dtype, self.context, self.cards))

    @property
    def draft(self) -> ModelShape | None:
        """The drafter's shape; None if drafting takes no time."""
        return drafters(self.model)[self.drafter][1]

    def batch_of(self, stats: ServerStats) -> int:
        """Return the chosen batch size, or that reported by the server, or 1."""
        return self.batch or min(stats.batch or 1, LIMITS["batch"][2])

    def outlook(self, stats: ServerStats) -> Outlook:
        """Predict the speed-up for each γ. Raises UnreadableStats if that is impossible."""
        gamma = stats.draft_length or self.gamma
        return outlook(stats, self.serving, self.batch_of(stats), self.draft, gamma)


def _known(value: str, names: list[str], kind: str) -> None:
    if value not in names:
        listed, hint = ", ".join(names), did_you_mean(value, names)
        raise ValueError(f"{value!r:.60} is not a known {kind}; choose one of {listed}.{hint}")
