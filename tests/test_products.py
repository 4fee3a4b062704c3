"""Fast layers: backends of products agree, the fastest is chosen, weights are stored once."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import tiny
import torch
from torch import nn
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from specviz import engine
from specviz.adapters import torch as adapter
from specviz.bench import methods
from specviz.bench.methods import Entrant
from specviz.catalog import entries, load_drafter, load_target
from specviz.models import fast_layers, products
from specviz.models.fast_layers import (
    FastLinear,
    FusedPart,
    describe_products,
    fuse_norms,
    optimize_linears,
    unoptimized_copy,
)
from specviz.models.memory import unique_bytes
from specviz.models.network import network_of, prepare
from specviz.models.numpy_llama import NumpyLlama
from specviz.models.products import Backend, Plan, Product, can_pack
from specviz.settings.settings import Sampling, Settings
from specviz.trace.file import Trace

WAYS = [way for way in Backend if can_pack() or not way.packed]


def network(bias=True, dtype=torch.float32):
    """Return two layers of odd sizes, one of them inside another module."""
    torch.manual_seed(3)
    made = nn.Sequential(nn.Linear(37, 65, bias=bias), nn.Sequential(nn.SiLU(), nn.Linear(65, 9)))
    return made.to(dtype).eval().requires_grad_(False)


def linear_layers(model):
    return [module for module in model.modules() if isinstance(module, nn.Linear)]


@pytest.fixture
def forget(monkeypatch):
    """Forget the measurements of other tests."""
    monkeypatch.setattr(products, "MEASURED_PLANS", {})


@pytest.mark.parametrize("way", WAYS)
def test_all_backends_give_the_same_product(way):
    torch.manual_seed(1)
    shapes = [(576, 960), (576, 576), (37, 65), (704, 256), (256, 4096)]
    for (width, out), transposed, bias in product(shapes, (True, False), (True, False)):
        weight = torch.randn(out, width)
        own = torch.randn(out) if bias else None
        laid = weight.t().contiguous().t() if transposed else weight
        made = Product(laid, own, Plan(transposed, *[way] * 4))
        for rows in (1, 2, 3) if way is Backend.PADDED else (1, 2, 3, 4, 30):
            given = torch.randn(rows, width)
            expected = nn.functional.linear(
                given.double(), weight.double(), None if own is None else own.double()
            )
            atol = 4e-4  # relative to sums of some hundred products
            found = made.multiply_tensor(given)
            torch.testing.assert_close(found.double(), expected, rtol=0, atol=atol)
            again = torch.from_numpy(made(given.numpy()))
            torch.testing.assert_close(again.double(), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("bias", [True, False])
def test_optimized_layer_equals_original(bias):
    model = network(bias)
    given = [torch.randn(s) for s in ((37,), (1, 37), (3, 37), (17, 37), (2, 5, 37), (1, 1, 37))]
    with torch.inference_mode():
        usual = list(map(model, given))
        optimize_linears(model)
        found = list(map(model, given))
    assert {type(layer) for layer in linear_layers(model)} == {FastLinear}
    torch.testing.assert_close(found, usual, rtol=1e-5, atol=1e-5)


class Seconds:
    """A clock that takes each product's time from the test, by layout, backend and rows."""

    def __init__(self, costs, monkeypatch):
        self.costs, self.now, self.products = costs, 0.0, []
        spend = lambda own, way, rows: self.spend(own, way, rows)  # noqa: E731, PLW0108
        monkeypatch.setattr(Product, "multiply", spend)

    def spend(self, product, way, rows):
        transposed = product.weight.stride(0) == 1
        self.products.append((transposed, way, len(rows)))
        self.now += self.costs.get((transposed, way, len(rows)), 5.0)
        return rows @ product.matrix.T

    def __call__(self):
        return self.now


CHOICES = [
    Plan(transposed, one, two, few, many)
    for transposed in (True, False)
    for one in WAYS
    for two, few in zip(WAYS, reversed(WAYS), strict=True)
    for many in WAYS
    if many not in (Backend.NUMPY, Backend.PADDED)
    if not (transposed and one.packed)  # it reads its own copy in either layout
]


def test_fastest_backend_and_memory_layout_are_chosen(monkeypatch):
    for plan in CHOICES:
        costs = {
            (plan.transposed, plan.one, 1): 1.0,
            (plan.transposed, plan.two, 2): 1.0,
            (plan.transposed, plan.few, products.FEW_ROWS): 1.0,
            (plan.transposed, plan.many, products.TREE_ROWS): 1.0,
            # the other layout is faster for more rows, but one row decides
            (not plan.transposed, Backend.TORCH, products.TREE_ROWS): 0.1,
        }
        model = network()
        with monkeypatch.context() as patch:
            patch.setattr(products, "MEASURED_PLANS", {})
            optimize_linears(model, clock=Seconds(costs, patch))
        for layer in linear_layers(model):
            assert layer.product.plan == plan
            assert (layer.weight.stride(0) == 1) is plan.transposed
            packs = {plan.one, plan.two, plan.few, plan.many} & {Backend.ONEDNN, Backend.PADDED}
            assert (layer.product.packed is not None) is bool(packs), "keeps an unused copy"


def test_backends_are_measured_in_turns_once_per_shapes_and_threads(monkeypatch, forget):
    """A clearly slower one is dropped early."""
    slow = (False, Backend.TORCH, 1)
    costs = {(False, Backend.NUMPY, 1): 1.0, slow: 1.5, (True, Backend.NUMPY, 1): 1.1}
    clock = Seconds(costs, monkeypatch)
    optimize_linears(network(), clock=clock)
    first = len(clock.products)
    one_row = [(layout, way) for layout, way, rows in clock.products if rows == 1]
    each = {(layout, way) for layout in (True, False) for way in WAYS if not way.packed}
    each |= {(False, way) for way in WAYS if way.packed}
    turn = 2 * len(each)  # two shapes
    assert set(one_row[:turn]) == set(one_row[turn : 2 * turn]) == each
    assert one_row[0] != one_row[turn], "the order must rotate too"
    assert clock.products.count(slow) == 2 * (products.MEASUREMENTS_OF_SLOW + 1)
    assert clock.products.count((True, Backend.NUMPY, 1)) == 2 * (products.MEASUREMENTS + 1)
    optimize_linears(network(), clock=clock)
    assert len(clock.products) == first
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    monkeypatch.setattr(products, "share_with_numpy", lambda large: 1)
    optimize_linears(network(), clock=clock)
    assert len(clock.products) == 2 * first


def test_only_the_first_outputs_of_a_large_matrix_are_measured(monkeypatch, forget):
    clock, sizes = Seconds({}, monkeypatch), set()
    monkeypatch.setattr(products, "SAMPLE_BYTES", 4 * 37 * 20)
    spend = clock.spend
    clock.spend = lambda own, way, rows: sizes.add(own.out_features) or spend(own, way, rows)
    model = network()
    assert optimize_linears(model, clock=clock) == []
    assert sizes == {20, 9}
    assert [layer.product.out_features for layer in linear_layers(model)] == [65, 9]


def test_single_slow_measurement_does_not_change_the_choice_of_backend(monkeypatch, forget):
    best = (True, Backend.NUMPY, 1)
    clock = Seconds({best: 1.0, (True, Backend.TORCH, 1): 1.1}, monkeypatch)
    spend = clock.spend

    def late(product, way, rows):
        out = spend(product, way, rows)
        clock.now += 50.0 * (clock.products[-1] == best and clock.products.count(best) == 5)
        return out

    clock.spend = late
    optimize_linears(network(), clock=clock)
    assert clock.products.count(best) > 5
    assert {plan.one for plan in next(iter(products.MEASURED_PLANS.values())).values()} == {
        Backend.NUMPY
    }


def test_optimized_weights_keep_their_names_values_and_sharing():
    model = tiny.llama()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    prepare(model)
    after = model.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert isinstance(model.lm_head, FastLinear)


def test_weight_is_stored_once_in_addition_to_its_packed_copy():
    model = tiny.llama()
    size = sum(weight.nbytes for weight in model.parameters())
    prepare(model)
    made = network_of(model)
    copies = [p.packed for p in [*made.products, made.output_head] if p.packed is not None]
    slack = 64 * len(copies) + 8192  # alignment; rotary frequencies
    assert size <= unique_bytes([model], excluding=copies) <= size + slack
    attention = model.model.layers[0].self_attn
    storages = {attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight}
    assert len({weight.untyped_storage().data_ptr() for weight in storages}) == 1
    assert np.shares_memory(attention.q_proj.weight.numpy(), made.layers[0].attention.qkv.matrix)


def test_memory_of_the_original_weights_is_freed():
    """A file's tensors may be views of one block, which the norms alone would keep allocated."""
    model = tiny.llama()
    size = sum(weight.nbytes for weight in model.parameters())
    block = torch.empty(size // 4)
    first = 0
    for weight in model.parameters():
        there = block[first : first + weight.numel()].view(weight.shape).copy_(weight.data)
        weight.data, first = there, first + weight.numel()
    old = block.untyped_storage().data_ptr()
    prepare(model)
    assert old not in {w.untyped_storage().data_ptr() for w in model.parameters()}
    made = network_of(model)
    arrays = [made.norm, *(layer.input_norm for layer in made.layers)]
    assert not any(np.shares_memory(array, block.numpy()) for array in arrays)


def test_unoptimized_copy_is_an_independent_ordinary_network():
    model = tiny.llama()
    untouched = tiny.llama()
    prepare(model)
    copy = unoptimized_copy(model)
    assert {type(layer) for layer in linear_layers(copy)} == {nn.Linear}
    assert all(weight.is_contiguous() for weight in copy.parameters())
    assert not isinstance(network_of(copy), NumpyLlama)
    assert isinstance(network_of(model), NumpyLlama)
    ids = torch.tensor([[5, 6, 7]])
    with torch.inference_mode():
        assert torch.equal(copy(input_ids=ids).logits, untouched(input_ids=ids).logits)
        copy.lm_head.weight.fill_(0.0)
        assert bool(model.lm_head.weight.any())
    assert copy.lm_head.weight is copy.model.embed_tokens.weight


@pytest.mark.parametrize("numpy_seconds", [3.0, 1.0])
def test_all_matrix_shapes_use_the_library_with_the_faster_pass(numpy_seconds, monkeypatch, forget):
    """Each library is faster for one of two shapes; the faster pass decides for both."""

    def measured(ready, rows, choices, clock):
        fast = {(37, 65): Backend.NUMPY, (65, 9): Backend.TORCH}
        return {
            shape: {c: 0.5 if c[1] is fast[shape] else 1.0 for c in choices[shape]}
            for shape in ready
        }

    def pass_seconds(ready, choices, clock):
        [numpy] = {backend is Backend.NUMPY for _, backend in choices.values()}
        return numpy_seconds if numpy else 2.0

    monkeypatch.setattr(products, "_measure", measured)
    monkeypatch.setattr(products, "_pass_seconds", pass_seconds)
    monkeypatch.setattr(products, "share_with_numpy", lambda large: 2)
    model = network()
    optimize_linears(model)
    plans = [layer.product.plan for layer in linear_layers(model)]
    assert {plan.one is Backend.NUMPY for plan in plans} == {numpy_seconds < 2.0}
    assert not any(Backend.NUMPY in (plan.two, plan.few, plan.many) for plan in plans)


def test_description_lists_the_backends_with_their_share_of_weights(monkeypatch, forget):
    model = network(bias=False)
    rows = {1: Backend.NUMPY, 2: Backend.NUMPY, 3: Backend.TORCH, 10: Backend.TORCH}
    costs = {(True, way, count): 1.0 for count, way in rows.items()}
    with monkeypatch.context() as patch:
        optimize_linears(model, clock=Seconds(costs, patch))
    assert describe_products(model) == "one row: NumPy; two: NumPy; three: torch; more: torch"
    _, small = linear_layers(model)
    small.product.plan = replace(small.product.plan, one=Backend.TORCH)
    share = 65 * 9 / (37 * 65 + 65 * 9)
    assert describe_products(model).startswith(f"one row: NumPy, torch ({share:.0%}); ")
    assert describe_products(tiny.llama()) == "torch"


def test_trace_records_product_backends_or_omits_them():
    target, settings = tiny.target(), Settings(Sampling(0.0), max_new_tokens=2)
    prepare(target.model)
    first = next(engine.run(target, tiny.draft(), tiny.PROMPT, settings))
    assert first.packing == describe_products(target.model) != "torch"
    assert Trace.parse(Trace(first).lines()).header == first
    older = list(Trace(replace(first, packing=None)).lines())
    assert "packing" not in older[0]
    assert list(Trace.parse(older).lines()) == older


def test_gradients_flow_through_an_optimized_layer():
    model = network()
    optimize_linears(model)
    rows = torch.randn(4, 37, requires_grad=True)
    model(rows).sum().backward()
    assert rows.grad is not None
    assert bool(rows.grad.any())


def test_unsupported_networks_are_left_unchanged(monkeypatch):
    half = network(dtype=torch.bfloat16)
    assert optimize_linears(half) is None
    elsewhere = network().to("meta")
    assert optimize_linears(elsewhere) is None
    large = network()
    size = sum(layer.weight.nbytes for layer in linear_layers(large))
    monkeypatch.setattr(fast_layers, "MOST_BYTES", size - 1)
    assert optimize_linears(large) is None
    for model in (half, elsewhere, large):
        assert {type(layer) for layer in linear_layers(model)} == {nn.Linear}
    monkeypatch.setattr(fast_layers, "MOST_BYTES", size)
    assert optimize_linears(large) == []
    monkeypatch.setattr(fast_layers, "process_count", lambda: 2)
    assert optimize_linears(network()) is None


class Wrong:
    """Simulate a build whose operations give another result."""

    @staticmethod
    def _reorder_linear_weight(weight, _rows):
        return weight

    @staticmethod
    def _linear_pointwise(rows, weight, *_):
        return rows @ weight.T + 1e-3


@pytest.mark.parametrize("operations", [object, Wrong], ids=["missing", "wrong"])
def test_packed_product_that_is_missing_or_wrong_is_not_used(operations, monkeypatch, forget):
    monkeypatch.setattr(adapter, "ONEDNN", operations)
    can_pack.cache_clear()
    try:
        model = network()
        rows = torch.randn(4, 37)
        with torch.inference_mode():
            usual = model(rows)
            optimize_linears(model)
            torch.testing.assert_close(model(rows), usual)
        for layer in linear_layers(model):
            plan = layer.product.plan
            assert not {plan.one, plan.two, plan.few, plan.many} & {Backend.ONEDNN, Backend.PADDED}
    finally:
        can_pack.cache_clear()


def test_measuring_backends_leaves_the_random_state_unchanged(forget):
    can_pack.cache_clear()
    model = network()
    before = torch.get_rng_state()
    optimize_linears(model)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.slow
def test_linear_layers_of_all_catalogue_models_are_optimized():
    target = load_target("house", "cpu")
    assert isinstance(network_of(target.model), NumpyLlama)
    own = [e for e in entries() if e.made_for == "house"]
    assert len(own) > 9
    for entry in own:
        drafter = load_drafter(entry.name, target)
        parts = [v for v in vars(drafter).values() if isinstance(v, nn.Module)]
        linear = [m for part in parts for m in linear_layers(part)]
        assert linear, entry.name
        if entry.name == "draft-model":
            assert isinstance(network_of(drafter.model), NumpyLlama)
        elif entry.name != "layerskip":  # its layers are the target's
            grouped = {
                id(layer)
                for part in parts
                for module in part.modules()
                if isinstance(module, FusedPart) and module.fast is not None
                for group in module.product_groups()
                for layer in group
            }
            alone = [layer for layer in linear if id(layer) not in grouped]
            assert {type(layer) for layer in alone} <= {FastLinear}, entry.name


def test_benchmark_runs_transformers_on_unoptimized_copies():
    target, small = tiny.target(), tiny.draft()
    settings = Settings(Sampling(0.0), max_new_tokens=8, gamma=3)
    prompt = methods.Prompt(tiny.PROMPT, tuple(target.encode(tiny.PROMPT, 8)))
    for model in (target.model, small.model):
        prepare(model)
    passes = []
    ways = methods.all_methods(target, [Entrant(small, settings)], settings)
    for model in (target.model, small.model):
        model.register_forward_pre_hook(lambda *_: passes.append(1))
    counts = {way.name: way.decode(prompt).tokens for way in ways}
    assert not passes, "neither transformers' ways nor ours call the forward of what ours uses"
    assert set(counts.values()) == {8}
    assert {methods.GENERATE, methods.ASSISTED, methods.LOOKUP} < counts.keys()


# Fused norms


GPU, CPU = torch.device("cuda", 0), torch.device("cpu")


def holder(norm):
    """Return a network with this norm and random norm weights."""
    norm.weight.data = torch.linspace(-2, 3, len(norm.weight))
    return nn.Sequential(norm).eval().requires_grad_(False)


def test_llama_on_gpu_has_fused_norms_and_same_logits():
    model = tiny.llama()
    assert fuse_norms(model, CPU) == 0
    assert any(isinstance(module, LlamaRMSNorm) for module in model.modules())
    ids = torch.arange(1, 20)[None]
    before, names = model(ids).logits, list(model.state_dict())
    assert fuse_norms(model, GPU) == 2 * model.config.num_hidden_layers + 1
    assert not any(isinstance(module, LlamaRMSNorm) for module in model.modules())
    torch.testing.assert_close(model(ids).logits, before, rtol=1e-4, atol=1e-5)
    assert list(model.state_dict()) == names


def test_norms_that_are_not_equivalent_are_unchanged():
    for norm in (
        GemmaRMSNorm(8, 1e-6),  # adds one to the weight
        nn.LayerNorm(8, 1e-6, bias=False),  # subtracts the mean
        nn.LayerNorm(8, 1e-6),
    ):
        model = holder(norm)
        assert fuse_norms(model, GPU) == 0
        assert model[0] is norm


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_fused_norm_differs_only_by_rounding(dtype):
    model = holder(LlamaRMSNorm(16, 1e-5)).to(dtype)
    rows = torch.randn(4, 16, generator=torch.Generator().manual_seed(3)).to(dtype)
    before = model(rows)
    assert fuse_norms(model, GPU) == 1
    after = model(rows)
    assert after.dtype == dtype
    error = 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(after, before, rtol=error, atol=error)
