"""A load that is stopped ends between two weights and leaves nothing behind."""

from __future__ import annotations

from itertools import count

import pytest
import tiny
import tiny_gguf

from specviz.catalog import load_drafter, load_target, loading
from specviz.models.errors import Stopped
from specviz.models.load_control import stoppable
from specviz.models.memory import ModelCache


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Empty the model cache, so that no test uses a model that another one loaded."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    monkeypatch.setattr(loading, "HEADS", ModelCache())


@pytest.fixture(params=["folder", "gguf"])
def place(request, tmp_path):
    """Save a model in each of the two layouts."""
    if request.param == "gguf":
        return tiny_gguf.write(tmp_path / "a.gguf", tiny_gguf.llama())
    return tiny.save(tiny.llama(), tmp_path / "model")


def times_asked(load):
    """Return how often a load checks whether to stop."""
    asked = count()
    with stoppable(lambda: next(asked) < 0):
        load()
    return next(asked)


def test_load_checks_for_stop_at_every_weight(place):
    weights = len(list(tiny.llama().parameters()))
    assert times_asked(lambda: load_target(str(place), "cpu")) > 2 * weights


def test_stopped_load_leaves_nothing_and_can_be_repeated(place):
    often = times_asked(lambda: load_target(str(place), "cpu"))
    loading.MODELS = ModelCache()
    for last in range(0, often, 3):
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
    from hostile import head

    folder = head(tmp_path / "head")
    target = tiny.target()
    asked = count()
    with stoppable(lambda: next(asked) >= 3), pytest.raises(Stopped):
        load_drafter(str(folder), target)
    assert loading.HEADS.entries() == []
    assert load_drafter(str(folder), target).card.family == "eagle3"


def test_stopping_one_load_leaves_the_others_running(place):
    with stoppable(lambda: True):
        pass
    load_target(str(place), "cpu")
