"""The published measurement nearest to a question: same drafter, then batch, model and machine."""

import pytest

from specviz.cost.nearest_report import (
    FAMILIES,
    Setup,
    nearest_report,
    reported_speedups,
    same_machine,
    unstated_facts,
)
from specviz.cost.sources import NOT_STATED, boards, published_numbers


def found(kind, batch, model="llama-3.1-8b", machine="h100-sxm"):
    return nearest_report(Setup(kind, batch, model, machine))


def test_nearest_report_prefers_the_same_batch():
    server = found("head", 64)
    assert (server.method, server.number, server.batch) == ("EAGLE-3", "1.38 ×", 64)
    assert unstated_facts(server) == ["model", "hardware"]
    assert found("head", 512) == server
    alone = found("head", 1)
    assert (alone.number, alone.model, alone.hardware) == ("2.36 ×", "Llama-3.1-8B", "H100")
    assert unstated_facts(alone) == []


def test_heavy_load_counts_as_a_large_batch():
    busy = found("n-gram", 512)
    assert (busy.number, busy.load) == ("1.8 × slower", "heavy")
    assert unstated_facts(busy) == ["batch"]
    assert found("model", 256).number == "1.4 × slower"
    assert found("n-gram", 1, "llama-3.1-70b").number == "2.8 ×"


def test_model_and_machine_break_ties_of_the_batch():
    a100, rtx = (found("model", 1, machine=name) for name in ("a100-sxm", "h100-sxm"))
    assert "A100" in a100.hardware
    assert a100.model == rtx.model == "Vicuna-7B-v1.3"
    assert "33B" in found("head", 1, "llama-3.1-70b", "a100-sxm").model
    assert same_machine("4 × H100", "h100-sxm")
    assert not same_machine("NVIDIA GeForce RTX 3090", "rtx-4090")
    assert not same_machine("one TPU v4", "laptop-cpu")


def test_no_published_report_covers_the_house_models():
    assert found("head", 1, "house") is None
    assert found("n-gram", 8, "house-draft") is None


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_report_equals_the_number_in_its_published_row(kind):
    for each in reported_speedups(kind):
        word, at, *method = each.row_id.split("-", 2)
        if word == "row":
            row = published_numbers()[int(at)]
            assert row.unit != "%"
            assert (row.number, row.conditions) == (each.number, each.conditions)
        else:
            rows = {row.method: row.overall for row in boards()[int(at)].rows}
            assert each.number == f"{rows[method[0]]:.2f} ×"
        assert each.number.endswith(("×", "slower"))
        assert each.model != NOT_STATED or "model" in unstated_facts(each)
