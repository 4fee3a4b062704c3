"""`check` and forged traces: each is consistent except for one lie, which the error names."""

from __future__ import annotations

import forged_numbers
import forged_settings
import pytest
from forging import lines_of, refused

from specviz.settings.settings import Sampling
from specviz.trace.check import CheckFailed
from specviz.trace.check.sampling import check_q, check_temperature
from specviz.trace.file import Trace

FORGERIES = [*forged_numbers.FORGERIES, *forged_settings.FORGERIES]


@pytest.mark.parametrize(
    ("name", "change", "says"),
    FORGERIES,
    ids=[f"{name}: {says[:40]}" for name, _, says in FORGERIES],
)
def test_check_detects_each_forgery_of_a_shipped_trace(name, change, says):
    refused(name, change, says)


def test_check_detects_a_q_that_contradicts_top_k_or_top_p():
    trace = Trace.parse(lines_of("06a"))
    size, rounds = trace.header.vocab_size, [r for r in trace.rounds if r.judged]

    def hold(cut):
        for played in rounds:
            check_q(played, played.proposed.guesses, cut, size, "Round")

    hold(Sampling(0.8))
    for cut, says in ((Sampling(0.8, 3), "q has more tokens"), (Sampling(0.8, 0, 0.5), "q keeps")):
        with pytest.raises(CheckFailed, match=says):
            hold(cut)


def test_check_detects_a_temperature_that_contradicts_the_top_token():
    check_temperature(0.6, 0.5, 0.0, Sampling(0.8), "here")
    check_temperature(0.4, 0.5, 0.0, Sampling(1.5), "here")
    check_temperature(0.4, 0.5, 0.3, Sampling(0.8), "here")
    check_temperature(0.6, 0.5, 0.0, Sampling(1.5, 5), "here")
    for q, temperature, says in ((0.4, 0.8, "below"), (0.6, 1.5, "above"), (0.6, 1.0, "at temp")):
        with pytest.raises(CheckFailed, match=says):
            check_temperature(q, 0.5, 0.0, Sampling(temperature), "here")
