"""Published numbers on the page: sources, escaped text, our own columns, the nearest report."""

import gzip
import json
import re
from dataclasses import replace

import pytest

from specviz.cost.measured_costs_text import (
    FAMILIES,
    Setup,
    nearest_report,
    reported_speedups,
    same_machine,
    unstated_facts,
)
from specviz.cost.sources import (
    EVIDENCE,
    NOT_STATED,
    Published,
    Source,
    boards,
    published_numbers,
)
from specviz.shipped import measured
from specviz.ui.component import script
from specviz.ui.cost import published as section
from specviz.ui.cost.published import NAME, config, drafters, ours, row
from specviz.ui.routes import HALF, configs

HOSTILE = "<img src=x onerror=alert(1)>${alert(1)}</script>"
FACTS = {
    "machine": {"device": "2 CPU cores"},
    "threads": 2,
    "dtype": "float32",
    "prompts": 3,
    "new_tokens": 64,
    "rows": [
        {"name": "eagle", "domain": domain, "temperature": t, "ratio_to_plain": ratio,
         "tokens_per_pass": 3.0, "alpha": 0.8}
        for domain, t, ratio in (("stories", 0.0, 1.0), ("maths", 0.0, 2.0), ("maths", 1.0, 9.0))
    ],
}  # fmt: skip


def published(**changes):
    """A made-up number from a made-up paper."""
    source = Source("A paper", "https://example.org/paper", "S", "")
    usual = Published("EAGLE", "Fast.", 2.0, 3.0, "×", "m", "t", "h", "c", source)
    return replace(usual, **changes)


def test_every_published_number_has_its_source_and_evidence():
    rows = config()["rows"]
    assert len(rows) == len(published_numbers()) > 20
    for made, known in zip(rows, published_numbers(), strict=True):
        assert made["method"] == known.method
        assert f"{known.high:g}" in made["number"]
        assert made["source"]["title"]
        assert made["source"]["url"].startswith("https://")
        assert made["source"]["evidence"] in EVIDENCE
    assert dict(config()["evidence"]) == EVIDENCE


def test_published_numbers_are_displayed_as_in_their_source():
    for low, high, unit, said, kind in (
        (2.8, 2.8, "×", "2.8 ×", "speed-up"),
        (2.7, 3.5, "×", "2.7 to 3.5 ×", "speed-up"),
        (1.8, 1.8, "× slower", "1.8 × slower", "slower"),
        (80, 80, "%", "80%", "accepted"),
    ):
        each = published(low=low, high=high, unit=unit)
        assert (each.number, row(each)["kind"]) == (said, kind)
    slower, gain = published(low=1.4, high=1.4, unit="× slower"), published(low=1.01, high=1.01)
    assert row(slower)["gain"] < 1.0 < row(gain)["gain"], "by which they are sorted"
    assert row(published(model=NOT_STATED))["model"] == ""


def test_published_rows_have_unique_ids_and_second_hand_rows_are_counted():
    known = config()
    places = [row["place"] for row in known["rows"]]
    places += [row["place"] for board in known["boards"] for row in board["rows"]]
    assert len(set(places)) == len(places)
    number = sum(row["source"]["evidence"] == "2" for row in known["rows"])
    assert known["secondhand"].startswith(f"{number} of these {len(published_numbers())} numbers")


def test_leaderboard_lists_every_method_fastest_first():
    for made, known in zip(config()["boards"], boards(), strict=True):
        assert {r["method"] for r in made["rows"]} == {r.method for r in known.rows}
        overall = [float(r["overall"]) for r in made["rows"]]
        assert overall == sorted(overall, reverse=True)
        assert all(len(r["speedups"]) == len(made["tasks"]) for r in made["rows"])
        assert made["source"]["url"].startswith("https://")


def test_our_own_numbers_have_separate_columns_naming_the_machine():
    own = ours(FACTS, [published(), published(low=1.5, high=1.5, unit="× slower")])
    (only,) = own["rows"]
    assert only["published"] == "1.5 × slower to 3 ×"
    assert only["speedup"] == "1.33 ×"  # the harmonic mean of 1 and 2
    assert only["apart"] == "1.00 × (stories) to 2.00 × (maths)"
    assert (only["passes"], only["alpha"]) == ("3.00", "0.80")
    (other,) = ours(FACTS, [published(method="Hydra", unit="%")])["rows"]
    assert (other["published"], other["apart"]) == ("", "not measured")


def test_every_published_family_has_a_drafter_that_we_measured():
    names = {found["name"] for found in measured()["rows"]}
    for each in published_numbers():
        assert drafters()[each.method] in names


def test_unreadable_measurements_remove_our_column(tmp_path, monkeypatch):
    path = tmp_path / "measured.json"
    monkeypatch.setattr(section, "measured", lambda: measured(path))
    for text in (None, "{", "[]"):
        if text is not None:
            path.write_text(text)
        assert config()["ours"] is None, text


def test_html_in_published_data_is_sent_as_data(monkeypatch):
    names = ("method", "says", "model", "task", "hardware", "conditions")
    hostile = published(**dict.fromkeys(names, HOSTILE))
    monkeypatch.setattr(section, "published_numbers", lambda: (hostile,))
    facts = config()
    text = script(NAME, "cost/published/published", facts)
    assert "<" not in text
    address = re.search(r"sections/([\w-]+\.json)", text)
    inline = text.split("watch, trigger, ")[1].removesuffix("));")
    data = json.loads(gzip.decompress(configs[address[1]]) if address else inline)
    assert {data["rows"][0][name] for name in names} == {HOSTILE}


def test_browser_code_never_inserts_html():
    paths = [*HALF.rglob("*.ts*"), *HALF.rglob("*.html")]
    assert len(paths) > 50
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|InnerHTML|insertAdjacent|eval\(", text), path
        assert path.suffix != ".html" or "${" not in text, path


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


def test_heavy_load_counts_as_a_large_batch_size():
    busy = found("n-gram", 512)
    assert (busy.number, busy.load) == ("1.8 × slower", "heavy")
    assert unstated_facts(busy) == ["batch"]
    assert found("model", 256).number == "1.4 × slower"
    assert found("n-gram", 1, "llama-3.1-70b").number == "2.8 ×"


def test_reports_with_equal_batch_size_are_chosen_by_model_and_machine():
    a100, rtx = (found("model", 1, machine=name) for name in ("a100-sxm", "h100-sxm"))
    assert "A100" in a100.hardware
    assert a100.model == rtx.model == "Vicuna-7B-v1.3"
    assert "33B" in found("head", 1, "llama-3.1-70b", "a100-sxm").model
    assert same_machine("4 × H100", "h100-sxm")
    assert not same_machine("NVIDIA GeForce RTX 3090", "rtx-4090")
    assert not same_machine("one TPU v4", "laptop-cpu")
    assert found("head", 1, "house") is found("n-gram", 8, "house-draft") is None


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_reported_number_equals_its_published_row(kind):
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
