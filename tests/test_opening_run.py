"""The run that plays when the page opens: it is faster and has a decision worth watching."""

import pytest

from specviz.trace import metrics
from specviz.trace.metrics import explain_noise
from specviz.ui.step.recorded import names, trace


@pytest.fixture(scope="module")
def opening():
    return trace(names()[0])


def test_opening_run_is_measurably_faster_than_plain_decoding(opening):
    assert metrics.summary(opening)["speedup"] >= 1.6
    assert explain_noise(opening, opening.baseline) is None


def test_opening_run_soon_shows_a_rejection_that_another_u_would_change(opening):
    early = [played for played in opening.rounds if played.number in (1, 2)]
    rejected = [event for played in early for event in played.judged if not event.accepted]
    assert any(
        min(event.inputs["p"], event.inputs["q"]) >= 0.05 and 0.2 <= event.threshold <= 0.8
        for event in rejected
    )
