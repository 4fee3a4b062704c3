"""The data of the Models tab: rows in words, loaded models, and the progress of downloads."""

import json
from html import unescape
from statistics import harmonic_mean

import huggingface_hub
import pytest
import tiny
import tiny_gguf
import torch
from gguf import GGMLQuantizationType as Kind
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import save_file

from specviz.catalog import load_target, loading, public, sources
from specviz.models.errors import NotAvailable, Stopped
from specviz.models.files import size_in_float32
from specviz.models.memory import ModelCache
from specviz.shipped import measured
from specviz.ui import models
from specviz.ui.models import heads, rows
from specviz.ui.task import Failure, JobContext, Machine, StopFlag, performed


@pytest.fixture(autouse=True)
def _nothing_here(monkeypatch):
    """Simulate a machine that has fetched and loaded nothing."""

    def absent(*_, **__):
        raise LocalEntryNotFoundError("not here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", absent)
    monkeypatch.setattr(sources, "find_spec", lambda _: None)  # no wheel either
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    monkeypatch.setattr(loading, "HEADS", ModelCache())


def answered(any_model=True):
    return rows.offered(any_model, Machine())


def told(task, stopped=False):
    """Return the lines of a download, as objects; a Failure as text."""
    context = JobContext(Machine(), "1", StopFlag())
    context.unwanted.set(stopped)
    texts = list(performed(context, task))
    return [text if isinstance(text, Failure) else json.loads(text) for text in texts]


def test_rows_say_if_a_model_and_its_target_fit_in_memory(monkeypatch):
    def fitting(free):
        monkeypatch.setattr(rows, "free_bytes", lambda _: free)
        return {row.name: row.fits for row in answered()}

    small, unknown = fitting(10**9), fitting(None)
    assert small["house"] is True
    assert small["eagle3"] is True
    assert small["Qwen/Qwen3-4B"] is False
    assert small["z-lab/Qwen3-4B-DFlash-b16"] is False, "its own size is unknown, its target's not"
    assert fitting(10**11)["z-lab/Qwen3-4B-DFlash-b16"] is None
    assert set(unknown.values()) == {None}
    monkeypatch.undo()
    whole, half = (rows.free_bytes(Machine("cpu", dtype)) for dtype in ("float32", "bfloat16"))
    assert half == pytest.approx(2 * whole, rel=0.2)


def test_models_section_lists_every_model_once():
    listed = answered()
    names = [(row.kind, row.name) for row in listed]
    assert len(set(names)) == len(names)
    assert {("target", "house"), ("drafter", "eagle3"), ("target", "Qwen/Qwen3-4B")} <= set(names)
    assert ("drafter", "eagle2") not in names  # the same weights as eagle's
    assert "EAGLE-1, EAGLE-2" in [row.title for row in listed]
    known = {row.name: row for row in listed}
    slim = known["AngelSlim/Qwen3-4B_eagle3"]
    assert (slim.size, slim.licence, slim.gated) == ("not checked",) * 3
    assert (slim.tried, known["house"].tried) == ("nothing", "weights and layout")
    assert known["smollm2"].tried == "weights and layout", "its heads were measured on it"
    assert known["Qwen/Qwen3-4B"].tried == "layout only, with a tiny checkpoint"
    public = next(row for row in rows.public_rows() if row["verified"]["layout"])
    tested = public | {"verified": {"layout": True, "weights": True}}
    assert rows.other(tested).tried == "weights and layout"
    assert known["meta-llama/Llama-3.2-1B-Instruct"].gated.startswith("gated")
    assert known["Qwen/Qwen3-4B"].memory == "16.00 GB"
    assert known["house"].memory == "42.8 MB"  # by its parameters
    drafter = known["draft-model"]
    assert drafter.memory != drafter.size  # its file is of 16 bits


def test_hosted_app_offers_local_models_only_and_no_downloads(monkeypatch):
    hosted, local = answered(any_model=False), answered()
    assert not any(row.fetch for row in hosted)
    assert {row.name for row in hosted if row.use} == {"house"}
    can = {row.name for row in local if row.fetch}
    assert {"smollm2", "Qwen/Qwen3-4B", "AngelSlim/Qwen3-4B_eagle3"} <= can
    assert not can & {"google/gemma-4-E2B-it-assistant", "house", "eagle3"}
    known = rows.public_rows()
    here = [row | {"on_this_machine": row["name"] == "Qwen/Qwen3-4B"} for row in known]
    monkeypatch.setattr(rows, "public_rows", lambda: here)
    for any_model in (False, True):
        row = next(r for r in answered(any_model) if r.name == "Qwen/Qwen3-4B")
        assert (row.here, row.fetch, row.use) == (True, False, any_model)


def test_displayed_memory_is_that_of_float32_even_if_files_are_smaller(tmp_path):
    tensors = {"a": torch.ones(3, 5, dtype=torch.bfloat16), "b": torch.ones(7), "c": torch.ones(2)}
    tensors |= {"d2t": torch.ones(4, dtype=torch.int64), "t2d": torch.ones(9, dtype=torch.bool)}
    save_file(tensors | {"c": tensors["c"].half()}, tmp_path / "model.safetensors")
    path = tmp_path / "model.safetensors"
    assert size_in_float32([path, path]) == 2 * (4 * (15 + 7 + 2) + 32 + 9)
    assert size_in_float32([path, tmp_path / "model.gguf"]) is None
    assert size_in_float32([]) is None


@pytest.mark.slow
def test_loaded_models_are_listed_with_their_memory(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "small one")
    target = load_target(str(folder), "cpu")
    weights = {p.data_ptr(): p.nbytes for p in target.model.parameters()}
    (only,) = loading.loaded_models()
    assert (only.title, only.device, only.dtype) == ("small one", "cpu", "torch.float32")
    assert sum(weights.values()) <= only.bytes < 3 * sum(weights.values())
    listed = models.loaded()
    assert "- **small one** " in listed
    assert "cpu, float32)" in listed
    assert only.file == (folder / "model.safetensors").stat().st_size
    assert 0 <= only.packed <= only.bytes - sum(weights.values())


@pytest.mark.slow
def test_loaded_gguf_file_is_listed_with_its_device_and_quantization(tmp_path, monkeypatch):
    """In the Hub's cache it is a link to a file whose name is a hash, so its id is shown."""
    own = tiny_gguf.write(tmp_path / "own.gguf", tiny_gguf.llama(), Kind.Q8_0)
    load_target(str(own), "cpu")
    listed = unescape(models.loaded())
    assert "- **own.gguf** " in listed
    assert "cpu, float32, with quantized weights from a GGUF file: Q8_0, F32)" in listed
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    blob = tiny_gguf.write(tmp_path / "0123abcd", tiny_gguf.llama())
    snapshot = tmp_path / "models--me--mine" / "snapshots" / "beef"
    (snapshot / "q8").mkdir(parents=True)
    (snapshot / "q8" / "mine.gguf").symlink_to(blob)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(snapshot))
    target = load_target("me/mine/q8/mine.gguf", "cpu")
    assert target.card.name == "me/mine/q8/mine.gguf"
    assert "- **me/mine/q8/mine.gguf** " in unescape(models.loaded())


def test_download_reports_its_steps_bytes_and_errors_unless_it_was_cancelled(monkeypatch):
    def fetch(name, say, watch):
        say("Trying it.")
        watch.report(10**6, 4 * 10**6)
        watch.report(2 * 10**6, 4 * 10**6)  # too soon after the other
        watch.report(4 * 10**6, 4 * 10**6)

    def raising(problem):
        def fail(name, say, watch):
            raise problem

        return fail

    monkeypatch.setattr(public, "fetch", fetch)
    task = models.wanted("SmolLM2")
    state, step, *bytes_, end = told(task)
    assert (state["state"], step["sentence"]) == ("fetching", "Trying it.")
    assert (end["end"], end["result"]) == ("SmolLM2 is on this machine now.", {})
    assert [(line["done"], line["of"]) for line in bytes_] == [(1e6, 4e6), (4e6, 4e6)]
    assert [line["sentence"] for line in bytes_] == ["1.0 of 4.0 MB", "4.0 of 4.0 MB"]
    monkeypatch.setattr(public, "fetch", lambda *_: pytest.fail("it was requested"))
    assert len(told(task, stopped=True)) == 1
    monkeypatch.setattr(public, "fetch", raising(Stopped("The fetch was stopped.")))
    assert len(told(task)) == 1
    monkeypatch.setattr(public, "fetch", raising(NotAvailable("Nobody has it.")))
    assert "Nobody has it" in told(task)[-1]


def asked(any_model=True, **values):
    """Return what the tab shows, and the rows of its table by title."""
    found = models.respond(any_model, Machine(), {**models.START, **values})
    value = found["table"]["value"]
    return found, {row[0]: row for row in value["data"]}


def test_table_is_filtered_and_details_are_those_of_the_chosen_model(monkeypatch):
    monkeypatch.setattr(rows, "free_bytes", lambda _: 10**9)
    found, listed = asked()
    assert len(listed) == len(answered()), "titles are unique"
    assert listed["House"][3] == "ready"
    assert listed["Qwen/Qwen3-4B"][3] == "can be downloaded"
    assert listed["Qwen/Qwen3-4B"][4:6] == pytest.approx([8050, 16000])
    assert next(iter(listed)) == "House"
    assert f"{len(listed)} models:" in found["answer"]
    assert "Drafters without weights: N-gram" in unescape(found["answer"])
    assert "None yet." in found["memory"]
    _, fitting = asked(fit="fitting")
    assert "House" in fitting
    assert "Qwen/Qwen3-4B" not in fitting
    heads = asked(find="Eagle-3 QWEN34B")[1]
    assert "AngelSlim/Qwen3-4B_eagle3" in heads
    assert not {"Medusa", "EAGLE-3"} & heads.keys()
    assert "EAGLE-3" in asked(find="eagle3")[1]
    _, targets = asked(kind="target")
    assert {row[1] for row in targets.values()} == {"target"}
    found, listed = asked(any_model=False)
    assert "can be downloaded" not in {row[3] for row in listed.values()}
    found, _ = asked(model="Qwen/Qwen3-4B")
    assert (found["use"].visible, found["download"]) == (False, "")
    assert "(https://huggingface.co/Qwen/Qwen3-4B/" in found["details"]
    assert found["diagram"] == {"visible": False, "__type__": "update"}
    with pytest.raises(ValueError, match="There is no such model"):
        asked(model="<b>")


def test_diagram_has_a_mark_for_each_interval_of_the_predictions():
    found, _ = asked(model="DSpark")
    drawn = json.loads(found["diagram"]["value"])
    row = next(row for row in answered() if row.title == "DSpark")
    _, *marks = drawn["data"]
    for trace, each in zip(marks, row.reliability, strict=True):
        assert trace["name"] == f"temperature {each['temperature']:g}"
        points = list(zip(trace["customdata"], trace["x"], trace["y"], strict=True))
        assert points == [tuple(part) for part in each["bins"]]
        assert f"{each['error']:.3f} at temperature" in drawn["layout"]["meta"]
        assert f"{each['error']:.3f} at temperature" in found["details"]


def test_reliability_of_predictions_is_that_of_the_measurements():
    """The mean prediction and the mean outcome over all intervals are those over all guesses."""
    found = {row.name: row.reliability for row in answered()}
    assert found["eagle3"] == found["Qwen/Qwen3-4B"] == []
    cold, warm = found["dspark"]
    assert (cold["temperature"], warm["temperature"]) == (0, 1)
    for each in (cold, warm):
        mine_of = {"name": "dspark", "temperature": each["temperature"]}
        rows_of = [row for row in measured()["rows"] if mine_of.items() <= row.items()]
        mine = [part for row in rows_of for part in row["reliability"]]
        assert each["guesses"] == sum(count for count, _, _ in mine) > 100
        for at in (1, 2):
            total = sum(part[0] * part[at] for part in each["bins"])
            assert total == pytest.approx(sum(part[0] * part[at] for part in mine))
        apart = sum(count * abs(mean - kept) for count, mean, kept in each["bins"])
        assert each["error"] == pytest.approx(apart / each["guesses"])


def test_heads_are_compared_by_the_measurements_of_their_card():
    found = heads.respond({"temperature": 1})
    facts = measured()
    lines = [line.split(" | ") for line in found["table"].splitlines()]
    cells = {line[0].strip("| *"): [each.strip(" |") for each in line[1:]] for line in lines}
    for at, name in enumerate(heads.NAMES):
        rows_of = [r for r in facts["rows"] if (r["name"], r["temperature"]) == (name, 1.0)]
        mean = harmonic_mean(row["tokens_per_pass"] for row in rows_of)
        assert cells["Tokens per pass"][at] == f"**{mean:.2f}**"
        assert f"{heads.entry_of(name).title} {mean:.2f}" in found["answer"]
        for shown, key in (("Drafting", "round_draft_cost"), ("Checking", "round_check_cost")):
            cost = sum(row[key] for row in rows_of) / len(rows_of)
            assert cells[f"{shown}, in plain passes"][at] == f"{cost:.2f}"
    assert [cell.startswith("sampled") for cell in cells["Guesses at temperature 1"]] == [
        True, False, False, False, True,
    ]  # fmt: skip
    assert cells["Shape of a draft"][3:] == ["a fixed tree, at most 4 deep", "a chain of 6"]
    assert "arxiv.org/abs/2412.19437" in lines[0][-1]
    with pytest.raises(ValueError, match="no measurement"):
        heads.respond({"temperature": 0.5})
