"""Every family on the pretended GPU: no op mixes devices, the run is the CPU's, the counts stay.

The counts that ship are the pin: a new wait in a round shows here. Where one is meant, or one was
taken out, `PYTHONPATH=. python tests/counted.py` writes them anew.
"""

from __future__ import annotations

import json

import counted
import pytest

from specviz.catalog import load
from specviz.drafters.contract.trial import rounds_of, story

pytestmark = pytest.mark.slow

SHIPPED = json.loads(counted.PLACE.read_text(encoding="utf-8"))
ROWS = {(row["drafter"], row["temperature"]): row for row in SHIPPED["rows"]}
SAME_VERSIONS = SHIPPED["versions"] == counted.depends_on()


def pinned(row):
    """What no version of torch or transformers should change; and where they are the same, all."""
    return row if SAME_VERSIONS else {k: v for k, v in row.items() if k != "launches"}


@pytest.mark.parametrize("temperature", counted.TEMPERATURES)
@pytest.mark.parametrize("drafter", counted.DRAFTERS)
def test_a_run_is_the_cpus_and_asks_of_the_device_what_is_written_down(drafter, temperature):
    with counted.gpu() as meetings:
        row, told = counted.row(drafter, temperature, meetings)
    target, made = load("house", drafter, "cpu")
    ids = target.encode(counted.PROMPT, counted.NEW)
    assert told == story(rounds_of(target, made, ids, counted.asked(drafter, temperature)))
    assert pinned(row) == pinned(ROWS[drafter, temperature])


@pytest.mark.parametrize("temperature", counted.TEMPERATURES)
def test_plain_decoding_asks_what_is_written_down(temperature):
    with counted.gpu() as meetings:
        row = counted.plain_row(temperature, meetings)
    assert pinned(row) == pinned(ROWS[counted.PLAIN, temperature])


def test_the_table_has_every_drafter_at_every_temperature():
    names = {counted.PLAIN, *counted.DRAFTERS}
    assert set(ROWS) == {(name, t) for name in names for t in counted.TEMPERATURES}
    assert all(row["rounds"] > 0 for row in ROWS.values())
