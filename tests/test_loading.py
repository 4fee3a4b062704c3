"""Loads report their stages and bytes to a listener; a stopped load leaves nothing behind."""

from __future__ import annotations

import gc
import sys
from io import StringIO
from itertools import count, groupby, pairwise

import pytest
import tiny
import tiny_gguf
from gguf import GGMLQuantizationType
from hostile import head

from specviz.catalog import load_drafter, load_target, loading
from specviz.commands.progress import LoadProgress
from specviz.models import files, load_control
from specviz.models import gguf as gguf_model
from specviz.models.errors import Stopped
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
    collection_paused,
    listening,
    start_libraries,
    stoppable,
)
from specviz.models.memory import ModelCache

STAGES = [TOKENIZER, WEIGHTS, PRODUCTS, WARM_UP, FINGERPRINT]
OF_GGUF = [TOKENIZER, WEIGHTS, NETWORK, *STAGES[2:]]  # weights are converted first


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Empty the caches of models and checksums, so that tests are independent."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    monkeypatch.setattr(loading, "HEADS", ModelCache())
    files._sha256.cache_clear()


@pytest.fixture(params=["folder", "gguf"])
def place(request, tmp_path):
    if request.param == "gguf":
        return tiny_gguf.write(tmp_path / "a.gguf", tiny_gguf.llama())
    return tiny.save(tiny.llama(), tmp_path / "model")


def stages_of(load):
    heard = []
    with listening(heard.append):
        load()
    return heard


@pytest.mark.slow
def test_load_reports_its_stages_in_order_and_bytes_that_grow_to_the_total(place):
    *heard, end = stages_of(lambda: load_target(str(place), "cpu"))
    found = [title for title, _ in groupby(stage.title for stage in heard)]
    assert found == (OF_GGUF if place.is_file() else STAGES)
    assert {stage.model for stage in heard} == {place.name}
    assert end is None
    for title in (WEIGHTS, FINGERPRINT):
        own = [stage for stage in heard if stage.title == title]
        assert own[0].done == 0 < own[0].total
        assert all(one.done < other.done for one, other in pairwise(own))
        assert (own[-1].done, own[-1].total) == (own[0].total, own[0].total)
    weights = [stage for stage in heard if stage.title == WEIGHTS]
    assert len(weights) > len({*tiny.llama().state_dict()}) / 2, "each weight is reported"


def test_load_within_another_load_does_not_end_it():
    def load():
        with load_control.loading("outer"):
            with load_control.loading("inner"):
                begin_stage(WEIGHTS)
            begin_stage(WARM_UP)

    *heard, end = stages_of(load)
    assert [(stage.model, stage.title) for stage in heard] == [
        ("inner", WEIGHTS), ("outer", WARM_UP),
    ]  # fmt: skip
    assert end is None
    assert stages_of(lambda: (begin_stage(WEIGHTS, 4), advance(2))) == [], "outside a load"


def test_estimated_time_left_follows_the_rate_so_far(monkeypatch):
    monkeypatch.setattr(load_control, "monotonic", lambda: 12.0)
    stage = LoadStage(WEIGHTS, "small", 25_000_000, 100_000_000, begun=10.0)
    assert stage.left == 6.0
    assert stage.text == "Loading small: reading the weights, 25 of 100 MB, about 6 s left"
    for done, begun in ((0, 10.0), (25, 11.9)):  # no rate is known yet
        assert LoadStage(WEIGHTS, "small", done, 100, begun=begun).left is None


def test_importing_the_libraries_is_a_stage_and_can_be_stopped(monkeypatch):
    imported, heard = [], []
    monkeypatch.setattr(load_control, "import_module", imported.append)
    monkeypatch.setattr(load_control, "MODULES", ("absent_one", "absent_two"))
    with pytest.raises(Stopped), listening(heard.append), stoppable(lambda: bool(imported)):
        start_libraries()
    assert imported == ["absent_one"]
    assert gc.isenabled()
    assert (heard[0].title, heard[1:]) == (LIBRARIES, [None])


def test_garbage_collector_setting_is_restored_after_a_pause():
    for change, before in ((gc.disable, False), (gc.enable, True)):
        change()
        with collection_paused():
            assert not gc.isenabled()
        assert gc.isenabled() == before


def test_tensor_converted_in_chunks_equals_the_whole_tensor(monkeypatch, tmp_path):
    """Test quantized tensors too, with any size of the last chunk."""
    path = tmp_path / "a.gguf"
    tiny_gguf.write(path, tiny_gguf.llama(), kind=GGMLQuantizationType.Q8_0)
    whole = gguf_model.read_model("a", path).tensors
    monkeypatch.setattr(gguf_model, "CHUNK", 96)
    pieces = gguf_model.read_model("a", path).tensors
    assert all(pieces[name].equal(values) for name, values in whole.items())
    assert all(values.data_ptr() % 64 == 0 for values in whole.values())


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [Terminal, StringIO])
def test_terminal_shows_the_stage_until_the_load_ends_and_a_file_nothing(kind, monkeypatch):
    monkeypatch.setattr(sys, "stderr", kind())
    monkeypatch.setenv("TERM", "xterm-256color")
    with LoadProgress() as progress, listening(progress.show), load_control.loading("small[b]"):
        begin_stage(WEIGHTS, 100_000_000)
        advance(61_000_000)
        begin_stage(WARM_UP)
    said = sys.stderr.getvalue()
    shown = [f"Loading small[b]: {what}" in said for what in (f"{WEIGHTS}, 0 of 100 MB", WARM_UP)]
    assert shown == [kind is Terminal] * 2
    assert said or kind is StringIO
    assert said.endswith("\x1b[2K") or not said, "the line is erased at the end"


def times_asked(load):
    """Return how often a load checks whether to stop."""
    asked = count()
    with stoppable(lambda: next(asked) < 0):
        load()
    return next(asked)


@pytest.mark.slow
def test_stopped_load_ends_between_two_weights_and_leaves_nothing(place):
    often = times_asked(lambda: load_target(str(place), "cpu"))
    assert often > 2 * len(list(tiny.llama().parameters())), "asked at every weight"
    loading.MODELS = ModelCache()
    for last in range(0, often, 7):
        asked = count()
        with (
            stoppable(lambda asked=asked, last=last: next(asked) >= last),
            pytest.raises(Stopped, match=r"^Loading was stopped\.$"),
        ):
            load_target(str(place), "cpu")
        assert loading.MODELS.entries() == []
        assert next(asked) <= last + 2, "the load must not go on after a stop"
    assert load_target(str(place), "cpu").card.parameters > 0


def test_load_of_head_can_be_stopped(tmp_path):
    folder = head(tmp_path / "head")
    target = tiny.target()
    asked = count()
    with stoppable(lambda: next(asked) >= 3), pytest.raises(Stopped):
        load_drafter(str(folder), target)
    assert loading.HEADS.entries() == []
    assert load_drafter(str(folder), target).card.family == "eagle3"
