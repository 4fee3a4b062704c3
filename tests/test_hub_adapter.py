"""The adapters of huggingface_hub and spaces, also after these libraries have changed."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import get_session

from specviz.adapters import hub, spaces, warn_once
from specviz.models.errors import Stopped
from specviz.models.files import FetchMonitor, _progress_bar


@pytest.fixture
def warned(caplog):
    """Return what the adapters have logged in this test."""
    caches = (warn_once, hub.http_errors, hub.timeout_errors, hub.connection_errors)
    for cached in caches:
        cached.cache_clear()
    yield lambda: [each.message for each in caplog.records if each.name == "specviz.adapters"]
    for cached in caches:
        cached.cache_clear()


def test_requests_to_the_hub_get_one_timeout(warned):
    for _ in range(2):
        hub.limit_silence()
    client = get_session()
    assert client.event_hooks["request"].count(hub._set_timeout) == 1
    request = client.build_request("GET", "http://localhost", timeout=None)
    hub._set_timeout(request)
    limits = dict.fromkeys(("read", "write", "pool"), hub.TIMEOUT)
    assert request.extensions["timeout"] == limits | {"connect": hub.CONNECT_TIMEOUT}
    own = client.build_request("GET", "http://localhost", timeout=3)
    hub._set_timeout(own)
    assert set(own.extensions["timeout"].values()) == {3}
    assert warned() == []


def test_error_classes_of_the_hub_client_are_found(warned):
    (error,), (late,), (gone,) = hub.http_errors(), hub.timeout_errors(), hub.connection_errors()
    assert issubclass(late, gone)
    assert issubclass(gone, error)
    assert warned() == []


@pytest.mark.parametrize("client", [SimpleNamespace(), SimpleNamespace(event_hooks=None), None])
def test_hub_client_without_hooks_logs_one_warning(monkeypatch, warned, client):
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: client)
    for _ in range(2):
        hub.limit_silence()
    assert len(warned()) == 1


def test_missing_hub_session_logs_warnings_and_raises_no_error(monkeypatch, warned):
    monkeypatch.setattr(huggingface_hub, "get_session", None)
    hub.limit_silence()
    assert hub.http_errors() == hub.timeout_errors() == ()
    assert len(warned()) == 3
    hub._set_timeout(SimpleNamespace())  # a request without settings is sent unchanged
    assert len(warned()) == 4


def test_private_client_factory_of_the_hub_is_not_needed(monkeypatch, warned):
    monkeypatch.delattr("huggingface_hub.utils._http.default_client_factory")
    hub.limit_silence()
    assert len(hub.http_errors()) == 1
    assert warned() == []


def test_only_progress_bars_that_count_bytes_report_progress():
    told = []
    kind = _progress_bar(FetchMonitor(report=lambda *both: told.append(both)))
    files, data = kind(total=2), kind(total=10, unit="B", disable=True)
    files.update(1)
    data.update(4)
    data.update(6)
    assert told == [(4, 10), (10, 10)]
    files.close()
    data.close()


def test_progress_bar_can_cancel_a_download():
    bar = _progress_bar(FetchMonitor(stop=lambda: True))(total=1)
    with pytest.raises(Stopped):
        bar.update()
    bar.close()


def test_without_tqdm_there_is_no_progress_bar(monkeypatch, warned):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert _progress_bar(FetchMonitor()) is None
    assert _progress_bar(None) is None
    assert len(warned()) == 1


# ZeroGPU.


def anew():
    """Import the adapter afresh."""
    found = importlib.util.spec_from_file_location("spaces_anew", spaces.__file__)
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def test_zerogpu_is_off_outside_a_space_and_without_the_package(monkeypatch, warned):
    monkeypatch.setitem(sys.modules, "spaces", None)
    for found in (spaces, anew()):
        assert not found.ZEROGPU
        assert found.gpu_task(lambda: 1.0)(anew) is anew
    assert warned() == []


@pytest.mark.parametrize("value", ["true", "1", "false", None])
def test_environment_variable_decides_if_spaces_config_is_missing(monkeypatch, warned, value):
    package = ModuleType("spaces")
    package.GPU = lambda duration: lambda function: (function, duration)
    monkeypatch.setitem(sys.modules, "spaces", package)
    monkeypatch.setitem(sys.modules, "spaces.config", None)
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)
    if value is not None:
        monkeypatch.setenv("SPACES_ZERO_GPU", value)
    made = anew()
    assert made.ZEROGPU is (value in {"true", "1"})
    assert len(warned()) == 1
    assert (made.gpu_task(max)(anew) == (anew, max)) == made.ZEROGPU


def test_broken_spaces_package_logs_one_warning(monkeypatch, warned, tmp_path):
    (tmp_path / "spaces.py").write_text("assert False, 'not here'")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "spaces")
    assert not anew().ZEROGPU
    assert len(warned()) == 1
