"""A load reports its stages in order and its bytes up to the total, if someone listens."""

from __future__ import annotations

import gc
import subprocess
import sys
from itertools import groupby, pairwise
from pathlib import Path

import pytest
import tiny
import tiny_gguf
from gguf import GGMLQuantizationType
from test_console import on_terminal
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.catalog import load_target, loading
from specviz.models import files, load_control
from specviz.models import gguf as gguf_model
from specviz.models.errors import Unsuitable
from specviz.models.file_checks import StoredWeights
from specviz.models.load_control import (
    FINGERPRINT,
    LIBRARIES,
    NETWORK,
    PRODUCTS,
    TOKENIZER,
    WARM_UP,
    WEIGHTS,
    LoadStage,
    advance,
    begin_stage,
    check_size,
    collection_paused,
    listening,
)
from specviz.models.memory import ModelCache

ROOT = Path(__file__).resolve().parent.parent
STAGES = [TOKENIZER, WEIGHTS, PRODUCTS, WARM_UP, FINGERPRINT]
OF_GGUF = [TOKENIZER, WEIGHTS, NETWORK, *STAGES[2:]]  # weights are converted first


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Empty the caches of models and checksums, so that tests are independent."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    files._sha256.cache_clear()


@pytest.fixture(params=["folder", "gguf"])
def place(request, tmp_path):
    """Save a model in each of the two layouts."""
    if request.param == "gguf":
        return tiny_gguf.write(tmp_path / "a.gguf", tiny_gguf.llama())
    return tiny.save(tiny.llama(), tmp_path / "model")


def stages_of(load):
    """Return everything that a listener receives during a load."""
    heard = []
    with listening(heard.append):
        load()
    return heard


@pytest.mark.slow
def test_load_reports_its_stages_in_order_and_then_its_end(place):
    *heard, end = stages_of(lambda: load_target(str(place), "cpu"))
    found = [title for title, _ in groupby(stage.title for stage in heard)]
    assert found == (OF_GGUF if place.is_file() else STAGES)
    assert {stage.model for stage in heard} == {place.name}
    assert end is None


@pytest.mark.parametrize("title", [WEIGHTS, FINGERPRINT])
def test_load_reports_bytes_that_grow_to_the_total(place, title):
    heard = stages_of(lambda: load_target(str(place), "cpu"))
    own = [stage for stage in heard if stage is not None and stage.title == title]
    assert own[0].done == 0 < own[0].total
    assert all(one.done < other.done for one, other in pairwise(own))
    assert (own[-1].done, own[-1].total) == (own[0].total, own[0].total)


def test_each_loaded_weight_increases_the_reported_bytes(place):
    heard = stages_of(lambda: load_target(str(place), "cpu"))
    counted = [stage for stage in heard if stage is not None and stage.title == WEIGHTS]
    assert len(counted) > len({*tiny.llama().state_dict()}) / 2


def test_removed_listener_receives_no_reports(place):
    heard = []
    with listening(heard.append):
        pass
    load_target(str(place), "cpu")
    assert heard == []


def test_no_stage_is_reported_outside_a_load():
    assert stages_of(lambda: (begin_stage(WEIGHTS, 4), advance(2))) == []


def test_load_within_another_load_does_not_end_it():
    def load():
        with load_control.loading("outer"):
            with load_control.loading("inner"):
                begin_stage(WEIGHTS)
            begin_stage(WARM_UP)

    heard = stages_of(load)
    assert [(stage.model, stage.title) for stage in heard[:-1]] == [
        ("inner", WEIGHTS),
        ("outer", WARM_UP),
    ]
    assert heard[-1] is None


def test_estimated_time_left_follows_the_rate_so_far(monkeypatch):
    monkeypatch.setattr(load_control, "monotonic", lambda: 12.0)
    stage = LoadStage(WEIGHTS, "small", 25_000_000, 100_000_000, begun=10.0)
    assert stage.left == 6.0
    assert stage.text == "Loading small: reading the weights, 25 of 100 MB, about 6 s left"


@pytest.mark.parametrize(("done", "begun"), [(0, 10.0), (25, 11.9)])
def test_time_left_is_unknown_before_a_rate_is_measured(monkeypatch, done, begun):
    monkeypatch.setattr(load_control, "monotonic", lambda: 12.0)
    assert LoadStage(WEIGHTS, "small", done, 100, begun=begun).left is None


@pytest.mark.slow
def test_importing_the_libraries_is_a_stage_and_can_be_stopped():
    """Run in a process that has not imported the libraries."""
    code = (
        "import gc, sys\n"
        "from specviz.models.errors import Stopped\n"
        "from specviz.models.load_control import start_libraries\n"
        "from specviz.models.load_control import listening\n"
        "from specviz.models.load_control import stoppable\n"
        "heard = []\n"
        "try:\n"
        "    with listening(heard.append), stoppable(lambda: 'torch' in sys.modules):\n"
        "        start_libraries()\n"
        "except Stopped:\n"
        "    assert 'transformers.modeling_utils' not in sys.modules\n"
        "    assert gc.isenabled()\n"
        "    print(heard[0].title, heard[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"{LIBRARIES} [None]\n", "")


@pytest.mark.parametrize("before", [True, False])
def test_garbage_collector_setting_is_restored_after_a_pause(before):
    try:
        gc.enable() if before else gc.disable()
        with collection_paused():
            assert not gc.isenabled()
        assert gc.isenabled() == before
    finally:
        gc.enable()


def test_tensor_converted_in_chunks_equals_the_whole_tensor(monkeypatch, tmp_path):
    """Test quantized tensors too, with any size of the last chunk."""
    path = tmp_path / "a.gguf"
    tiny_gguf.write(path, tiny_gguf.llama(), kind=GGMLQuantizationType.Q8_0)
    whole = gguf_model.read_model("a", path).tensors
    monkeypatch.setattr(gguf_model, "CHUNK", 96)
    pieces = gguf_model.read_model("a", path).tensors
    assert all(pieces[name].equal(values) for name, values in whole.items())
    assert all(values.data_ptr() % 64 == 0 for values in whole.values())


def test_tied_embeddings_are_counted_once():
    """The embeddings have more numbers than the slack, as SmolLM2's do."""
    sizes = {"vocab_size": 70_000, "hidden_size": 64, "intermediate_size": 64}
    config = LlamaConfig(**sizes, num_hidden_layers=1, num_attention_heads=1)
    config.tie_word_embeddings = True
    held = StoredWeights(70_000 * 64 + 7 * 64 * 64 + 3 * 64, 11)
    assert check_size("tied", config, LlamaForCausalLM, held) == held.elements
    config.tie_word_embeddings = False
    with pytest.raises(Unsuitable, match="describes a larger network"):
        check_size("untied", config, LlamaForCausalLM, held)


SHOWN = """
from specviz.commands.progress import LoadProgress
from specviz.models.load_control import *
with LoadProgress() as progress, listening(progress.show), loading("small[b]"):
    begin_stage(WEIGHTS, 100_000_000)
    advance(61_000_000)
    begin_stage(WARM_UP)
print("after")
"""


@pytest.mark.slow
def test_terminal_shows_the_stage_until_the_load_ends():
    said = on_terminal(sys.executable, "-c", SHOWN)
    assert "Loading small[b]: reading the weights, 0 of 100 MB" in said
    assert "Loading small[b]: warming up" in said
    assert said.endswith("after\n")


@pytest.mark.slow
def test_load_progress_is_not_printed_to_a_pipe():
    command = [sys.executable, "-c", SHOWN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("after\n", "")
