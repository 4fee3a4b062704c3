"""Fit a roofline to the time between a server's outputs, which is the time of one round.

One time cannot tell a fixed cost per pass from passes that are slow by a constant factor. Time
beyond the roofline is counted as overhead of every pass, since launches, sampling and scheduling
are paid per pass; a server that is faster gets a higher efficiency.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specviz.cost.roofline import Prediction, Serving

CLOSE = 1.02  # relative difference that counts as equal


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a roofline was fitted. Times are in seconds.

    Attributes:
        measured: Between two outputs of a sequence.
        roofline: A round as predicted before the fit.
        passes: Passes of a round, the drafter's included.
        overhead: Added to every pass; 0 if the server is faster than predicted.
        faster: Factor by which both efficiencies were raised; 1 if it is slower.
        possible: Whether the fitted round takes the measured time, or the peaks are too low.
    """

    measured: float
    roofline: float
    passes: int
    overhead: float
    faster: float
    possible: bool


def calibrate(
    serving: Serving, predicted: Prediction, passes: int, measured: float
) -> tuple[Serving, Calibration]:
    """Fit a deployment to the measured time of a round.

    Args:
        serving: The target on its machine.
        predicted: The round that is measured, as predicted there.
        passes: Passes of that round.
        measured: Its seconds.
    """
    roofline = predicted.draft + predicted.verify
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
