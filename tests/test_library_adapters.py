"""Assumptions about transformers, torch, huggingface_hub and spaces: each has a fallback."""

from __future__ import annotations

import functools
import importlib.util
import logging
import sys
import warnings
from types import ModuleType, SimpleNamespace

import huggingface_hub
import pytest
import tiny
import torch
from huggingface_hub import get_session
from torch import nn
from transformers import DynamicCache, LlamaConfig, MambaConfig

from specviz.adapters import hub, spaces, warn_once
from specviz.adapters import torch as torch_adapter
from specviz.adapters import transformers as adapter
from specviz.adapters.transformers import construction
from specviz.models.attention import PreallocatedCache
from specviz.models.errors import Stopped
from specviz.models.files import FetchMonitor, _progress_bar


def new(self, input_ids, position_ids=None, cache=None, logits_to_keep=0):
    """Imitate a forward of transformers 5.24."""


FORWARDS = {  # and the name of its argument for the cache
    "before 5.24": (
        lambda self, ids, position_ids=None, past_key_values=None, logits_to_keep=0: None,
        "past_key_values",
    ),
    "5.24": (new, "cache"),
    "accepts both": (functools.wraps(new)(lambda *args, **kwargs: None), "cache"),
    "no cache": (lambda self, input_ids, position_ids=None: None, None),
}


@pytest.mark.parametrize(("forward", "name"), FORWARDS.values(), ids=FORWARDS)
def test_name_of_the_cache_argument_is_read_from_the_network(forward, name):
    kept, made = DynamicCache(), type("Network", (nn.Module,), {"forward": forward})()
    assert adapter.cache_name(made) == name
    assert adapter.with_cache(made, kept) == ({name: kept} if name else {}) | {"use_cache": True}
    assert adapter.with_cache(made, None) == {"use_cache": False}
    assert adapter.takes_tree_nodes(made) == (name is not None)


def test_installed_llama_accepts_the_preallocated_cache_and_recurrent_networks_do_not():
    model, kept = tiny.llama(), PreallocatedCache()
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("error")
        model(input_ids=torch.tensor([[1, 2, 3]]), **adapter.with_cache(model, kept))
    assert [layer.get_seq_length() for layer in kept.layers] == [3, 3]
    assert adapter.has_plain_cache(model, PreallocatedCache())
    assert adapter.plans_plain_cache(model.config)

    class Recurrent(nn.Module):
        config, device = LlamaConfig(), torch.device("cpu")

        def forward(self, input_ids, cache=None, use_cache=None):
            """A layer that stores its state outside the cache."""

    assert not adapter.has_plain_cache(Recurrent(), PreallocatedCache())
    assert not adapter.plans_plain_cache(MambaConfig(num_hidden_layers=2))
    assert adapter.keeps_state(SimpleNamespace(_is_stateful=True))
    assert not adapter.keeps_state(SimpleNamespace())


def test_missing_undocumented_modules_of_transformers_have_a_fallback(monkeypatch, caplog):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(construction, "import_module", refuse)
    warn_once.cache_clear()
    found = construction._llama_classes()
    assert found == (adapter.LlamaDecoderLayer, adapter.LlamaRMSNorm, adapter.LlamaRotaryEmbedding)
    assert adapter.tensor_parallel_options() == {"tp_plan": "auto"}
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            with adapter.without_initialization():
                assert nn.Linear(2, 2).weight.shape == (2, 2)
    assert len(caplog.records) == 1, "one warning, that random models take longer"
    warn_once.cache_clear()


def test_layers_run_one_by_one_equal_the_whole_model():
    """Compare hidden states of layers run with a cache and of their parts run without one."""
    model, ids = tiny.llama(), torch.tensor([[5, 9, 2, 7]])
    decoder = adapter.steppable_decoder(model)
    positions = torch.arange(4)[None]
    mask = torch.full((4, 4), torch.finfo(torch.float32).min).triu(1)[None, None]
    with torch.inference_mode():
        expected = model.model(ids, output_hidden_states=True).last_hidden_state
        hidden = parts = decoder.embed_tokens(ids)
        angles, kept = adapter.rotary_angles(decoder, hidden, positions), PreallocatedCache()
        for layer in adapter.decoder_layers(model):
            hidden = adapter.run_layer(layer, hidden, angles, mask, kept, positions)
            queries, keys, values = adapter.attention_inputs(layer, parts, angles)
            keys, values = (
                rows.repeat_interleave(queries.shape[1] // rows.shape[1], 1)
                for rows in (keys, values)
            )
            mixed = nn.functional.scaled_dot_product_attention(
                queries, keys, values, attn_mask=mask, scale=adapter.attention_scale(layer)
            )
            parts = adapter.layer_output(layer, parts, mixed)
    norm = adapter.final_norm(model)
    torch.testing.assert_close(norm(hidden), expected)
    torch.testing.assert_close(norm(parts), expected)
    assert [layer.get_seq_length() for layer in kept.layers] == [4, 4]


def test_layers_that_return_tuples_are_supported():
    class Pair(nn.Module):
        def forward(self, hidden, attention_mask, position_embeddings, cache=None, use_cache=None):
            return hidden + 1, None  # as layers of older releases do

    rows = torch.zeros(1, 2, 3)
    assert torch.equal(adapter.run_layer(Pair(), rows, (rows, rows), rows), rows + 1)


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        ({"get_capabilities": lambda: {"avx512_bf16": True}}, True),
        ({"get_capabilities": lambda: {"amx_bf16": True, "avx512_bf16": False}}, True),
        ({"get_capabilities": dict}, False),
        ({"_is_amx_tile_supported": lambda: True}, True),
        ({"_is_avx512_bf16_supported": lambda: False}, False),
        ({}, False),
    ],
)
def test_bf16_support_is_read_from_whichever_function_torch_has(monkeypatch, cpu, expected):
    monkeypatch.setattr(torch_adapter.torch, "cpu", SimpleNamespace(**cpu))
    assert torch_adapter.has_bf16_instructions() is expected


def test_unreadable_hooks_and_sizes_of_packed_weights_have_a_fallback(monkeypatch):
    layer = nn.Linear(2, 2)
    assert not torch_adapter.has_hooks(layer)
    layer.register_forward_hook(lambda *_: None)
    assert torch_adapter.has_hooks(layer)
    assert torch_adapter.has_hooks(SimpleNamespace())
    monkeypatch.setattr(torch_adapter, "ONEDNN", SimpleNamespace())
    weight = torch.ones(3, 5)
    assert torch_adapter.packed_block(weight) == (id(weight), 60), "its size follows its shape"


# huggingface_hub and spaces.


@pytest.fixture
def warned(caplog):
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


def test_only_progress_bars_that_count_bytes_report_progress(monkeypatch, warned):
    told = []
    kind = _progress_bar(FetchMonitor(report=lambda *both: told.append(both)))
    files, data = kind(total=2), kind(total=10, unit="B", disable=True)
    files.update(1)
    data.update(4)
    data.update(6)
    assert told == [(4, 10), (10, 10)]
    stopped = _progress_bar(FetchMonitor(stop=lambda: True))(total=1)
    with pytest.raises(Stopped):
        stopped.update()
    for bar in (files, data, stopped):
        bar.close()
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


def test_zerogpu_is_off_outside_a_space_and_without_the_package(monkeypatch, warned, tmp_path):
    monkeypatch.setitem(sys.modules, "spaces", None)
    for found in (spaces, anew()):
        assert not found.ZEROGPU
        assert found.gpu_task(lambda: 1.0)(anew) is anew
    assert warned() == []
    (tmp_path / "spaces.py").write_text("assert False, 'not here'")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "spaces")
    assert not anew().ZEROGPU, "also if the package is broken"
    assert len(warned()) == 1


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
