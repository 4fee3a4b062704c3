"""Assumptions about transformers and torch: detected by behaviour, each with a fallback."""

import functools
import logging
import warnings
from types import SimpleNamespace

import pytest
import tiny
import torch
from torch import nn
from transformers import DynamicCache, LlamaConfig, MambaConfig

from specviz.adapters import torch as torch_adapter
from specviz.adapters import transformers as adapter
from specviz.adapters import warn_once
from specviz.adapters.transformers import construction
from specviz.models.attention import PreallocatedCache


def old(self, input_ids, position_ids=None, past_key_values=None, logits_to_keep=0):
    """Imitate a forward of transformers before 5.24."""


def new(self, input_ids, position_ids=None, cache=None, logits_to_keep=0):
    """Imitate a forward of transformers 5.24."""


@functools.wraps(new)
def renamed(*args, **kwargs):
    """Imitate a forward whose decorator accepts the old name too."""


def without(self, input_ids, position_ids=None):
    """Imitate a forward without a cache."""


def network(forward):
    """Return a network with this forward."""
    return type("Network", (nn.Module,), {"forward": forward})()


@pytest.mark.parametrize(
    ("forward", "name"),
    [(old, "past_key_values"), (new, "cache"), (renamed, "cache"), (without, None)],
)
def test_name_of_the_cache_argument_is_read_from_the_network(forward, name):
    kept, made = DynamicCache(), network(forward)
    assert adapter.cache_name(made) == name
    assert adapter.with_cache(made, kept) == ({name: kept} if name else {}) | {"use_cache": True}
    assert adapter.with_cache(made, None) == {"use_cache": False}
    assert adapter.takes_tree_nodes(made) == (name is not None)


def test_installed_llama_accepts_the_preallocated_cache_without_a_warning():
    model, kept = tiny.llama(), PreallocatedCache()
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("error")
        model(input_ids=torch.tensor([[1, 2, 3]]), **adapter.with_cache(model, kept))
    assert [layer.get_seq_length() for layer in kept.layers] == [3, 3]
    assert adapter.has_plain_cache(model, PreallocatedCache())


def test_network_with_a_state_or_another_cache_is_detected():
    class Recurrent(nn.Module):
        config, device = LlamaConfig(), torch.device("cpu")

        def forward(self, input_ids, cache=None, use_cache=None):
            """A layer that stores its state outside the cache."""

    assert not adapter.has_plain_cache(Recurrent(), PreallocatedCache())
    assert adapter.plans_plain_cache(tiny.llama().config)
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
            """Return a tuple, as layers of older releases do."""
            return hidden + 1, None

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


def test_module_whose_hooks_cannot_be_read_counts_as_hooked():
    layer = nn.Linear(2, 2)
    assert not torch_adapter.has_hooks(layer)
    layer.register_forward_hook(lambda *_: None)
    assert torch_adapter.has_hooks(layer)
    assert torch_adapter.has_hooks(SimpleNamespace())


def test_size_of_a_packed_weight_falls_back_to_its_shape(monkeypatch):
    monkeypatch.setattr(torch_adapter, "ONEDNN", SimpleNamespace())
    weight = torch.ones(3, 5)
    assert torch_adapter.packed_block(weight) == (id(weight), 60)
