"""Every drafter family on the simulated GPU: no mixed devices, the run of the CPU, known counts.

The shipped counts are the reference, so a new synchronisation in a round fails here. After an
intended change, `PYTHONPATH=. python tests/counted.py` writes them again.
"""

from __future__ import annotations

import json

import counted
import pytest
import tiny
import torch

from specviz.catalog import load
from specviz.drafters.contract.harness import rounds_of, run_trace, summarize
from specviz.models.target import TargetRun
from specviz.settings.settings import Sampling, Settings
from specviz.trace.metrics import token_ids

pytestmark = pytest.mark.slow

SHIPPED = json.loads(counted.PLACE.read_text(encoding="utf-8"))
ROWS = {(row["drafter"], row["temperature"]): row for row in SHIPPED["rows"]}
SAME_VERSIONS = SHIPPED["versions"] == counted.depends_on()


def pinned(row):
    """Return the counts that depend on no version; with the recorded versions, all counts."""
    return row if SAME_VERSIONS else {k: v for k, v in row.items() if k != "launches"}


@pytest.mark.parametrize("temperature", counted.TEMPERATURES)
@pytest.mark.parametrize("drafter", counted.DRAFTERS)
def test_run_on_simulated_gpu_equals_cpu_run_with_the_recorded_reads(drafter, temperature):
    with counted.gpu() as device_log:
        row, told = counted.row(drafter, temperature, device_log)
    target, made = load("house", drafter, "cpu")
    ids = target.encode(counted.PROMPT, counted.NEW)
    assert told == summarize(
        rounds_of(target, made, ids, counted.counted_settings(drafter, temperature))
    )
    assert pinned(row) == pinned(ROWS[drafter, temperature])


def test_plain_decoding_makes_the_recorded_number_of_device_reads():
    for temperature in counted.TEMPERATURES:
        with counted.gpu() as device_log:
            row = counted.plain_row(temperature, device_log)
        assert pinned(row) == pinned(ROWS[counted.PLAIN, temperature])
    names = {counted.PLAIN, *counted.DRAFTERS}
    assert set(ROWS) == {(name, t) for name in names for t in counted.TEMPERATURES}
    assert all(row["rounds"] > 0 for row in ROWS.values())


def test_weights_are_loaded_once_and_in_float32_only_if_small(pair):
    big, small = map(str, pair)
    with counted.gpu():
        target, drafter = load(big, big, "cuda", "float32")
        assert drafter.model is target.model
        assert load(big, "ngram", "cuda:0", "float32")[0].model is target.model
        assert load("house", "ngram", "cuda")[0].dtype is torch.float32
        assert load("house", "ngram", "cuda", "bfloat16")[0].dtype is torch.bfloat16
        assert load(big, small, "cuda")[0].dtype is torch.bfloat16


def test_gpu_warms_up_before_timing_without_changing_the_run(monkeypatch):
    prefill, prompts = TargetRun.prefill, []
    monkeypatch.setattr(
        TargetRun, "prefill", lambda run, ids: prompts.append(ids) or prefill(run, ids)
    )
    settings = counted.counted_settings("eagle", 0.8)
    with counted.gpu():
        there = run_trace(*load("house", "eagle", "cuda"), counted.PROMPT, settings)
    assert len(prompts) == 4, "the drafter and plain decoding each warm up once"
    here = run_trace(*load("house", "eagle", "cpu"), counted.PROMPT, settings)
    assert len(prompts) == 6
    assert token_ids(there) == token_ids(here)


@pytest.mark.parametrize("rule", ["k-seq", "lenience", "typical", "relaxed", "thresholds"])
def test_every_rule_gives_the_same_verdicts_on_device_and_cpu(pair, rule):
    def kept(device):
        target, drafter = load(str(pair[0]), str(pair[1]), device, "float32")
        settings = Settings(Sampling(1.1), max_new_tokens=12, gamma=3, rule=rule)
        return token_ids(run_trace(target, drafter, tiny.PROMPT, settings))

    with counted.gpu():
        told = kept("cuda")
    assert told == kept("cpu")
