"""Packed linear layers: the same numbers, only where they can be, and the usual ones on request."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import tiny
import torch
from made import Recipe
from made import made as whole_run
from torch import nn

from specviz import engine
from specviz.adapters import torch as adapter
from specviz.bench import methods
from specviz.bench.methods import Entrant
from specviz.catalog import entries, load_drafter, load_target
from specviz.models import packed
from specviz.models.packed import PackedLinear, can_pack, is_packed, pack, packing_of, unpacked
from specviz.settings.settings import Sampling, Settings
from specviz.trace.file import Trace

pytestmark = pytest.mark.skipif(not can_pack(), reason="this build of torch has no oneDNN")


def layers(bias=True, dtype=torch.float32):
    """Two layers of odd sizes, one of them inside another module."""
    torch.manual_seed(3)
    made = nn.Sequential(nn.Linear(37, 65, bias=bias), nn.Sequential(nn.SiLU(), nn.Linear(65, 9)))
    return made.to(dtype).eval().requires_grad_(False)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(37,), (1, 37), (3, 37), (17, 37), (2, 5, 37), (300, 37)])
def test_it_gives_what_the_usual_product_gives(shape, bias):
    model = layers(bias)
    rows = torch.randn(shape)
    with torch.inference_mode():
        usual = model(rows)
        pack(model)
        found = model(rows)
    assert is_packed(model)
    assert found.shape == usual.shape
    torch.testing.assert_close(found, usual, rtol=1e-5, atol=1e-5)


def test_it_is_onednns_product_that_is_used(monkeypatch):
    model, calls = layers(), []
    pack(model)

    def product(rows, weights, *rest):
        calls.append(weights)
        return torch.ops.mkldnn._linear_pointwise(rows, weights, *rest)

    monkeypatch.setattr(adapter, "ONEDNN", SimpleNamespace(_linear_pointwise=product))
    with torch.inference_mode():
        model(torch.randn(2, 37))
        with unpacked(model):
            model(torch.randn(2, 37))
    assert [id(weights) for weights in calls] == [id(model[0].packed), id(model[1][1].packed)]


def test_weights_and_their_names_stay_and_what_is_tied_stays_tied():
    model = tiny.llama()
    before = {name: weight.data_ptr() for name, weight in model.state_dict().items()}
    pack(model)
    assert {name: weight.data_ptr() for name, weight in model.state_dict().items()} == before
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert isinstance(model.lm_head, PackedLinear)


class Seconds:
    """A clock by which a product costs what the test says: by way (packed) and rows."""

    def __init__(self, costs, monkeypatch):
        self.costs, self.now, self.products = costs, 0.0, []
        usual, other = nn.Linear.forward, PackedLinear.forward
        monkeypatch.setattr(nn.Linear, "forward", lambda layer, x: self.spend(usual, layer, x))
        monkeypatch.setattr(PackedLinear, "forward", lambda layer, x: self.spend(other, layer, x))
        monkeypatch.setattr(packed, "MEASURED", {})

    def spend(self, product, layer, given):
        way, rows = product.__qualname__ == "PackedLinear.forward", given.shape[0]
        self.products.append((way, rows))
        self.now += self.costs.get((way, rows), 0.0)
        return given @ layer.weight.T

    def __call__(self):
        return self.now


@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("many", [True, False])
def test_what_is_slower_here_is_not_used(one, few, many, monkeypatch):
    """A plain pass has one row, a check has more: each goes the way that is faster for it."""
    costs = dict.fromkeys(((one, 1), (few, 3), (many, 10)), 1.0)
    costs |= {(not way, rows): 1.1 for way, rows in costs}
    model = layers()
    with monkeypatch.context() as patch:
        pack(model, Seconds(costs, patch))
    assert packing_of(model) == packed.Packing(one, few, many)
    used = one or few or many
    assert is_packed(model) is used
    assert hasattr(model[0], "packed") is used, "a copy that nobody reads takes memory"
    calls = []

    def product(rows, weights, *rest):
        calls.append(len(rows))
        return torch.ops.mkldnn._linear_pointwise(rows, weights, *rest)

    monkeypatch.setattr(adapter, "ONEDNN", SimpleNamespace(_linear_pointwise=product))
    with torch.inference_mode():
        for rows in (1, 2, 3, 4):
            model(torch.ones(rows, 37))
    assert calls == [1, 1] * one + [2, 2, 3, 3] * few + [4, 4] * many


def test_it_is_measured_in_turns_and_once_for_a_shape_and_a_number_of_threads(monkeypatch):
    clock = Seconds({}, monkeypatch)
    pack(layers(), clock)
    first = len(clock.products)
    ones = [way for way, rows in clock.products if rows == 1][::2]  # of two layers, the first
    assert [set(pair) for pair in zip(ones[::2], ones[1::2], strict=True)] == [{True, False}] * (
        packed.TURNS + 1
    )
    assert ones[:4] == [False, True, True, False], "the order turns too"
    pack(layers(), clock)
    assert len(clock.products) == first
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    pack(layers(), clock)
    assert len(clock.products) == 2 * first


def test_one_slow_moment_decides_nothing(monkeypatch):
    costs = {(True, 1): 1.0, (False, 1): 1.1, (True, 10): 1.0, (False, 10): 1.1}
    clock = Seconds(costs, monkeypatch)
    spend = clock.spend

    def late(product, layer, given):
        clock.now += 50.0 * (len(clock.products) == 18)  # once, in a packed turn
        return spend(product, layer, given)

    clock.spend = late
    pack(layers(), clock)
    assert list(packed.MEASURED.values()) == [packed.ALWAYS]


@pytest.mark.parametrize(("ways", "words"), packed.WORDS.items())
def test_a_trace_says_how_the_products_were_made(ways, words, monkeypatch):
    target, settings = tiny.target(), Settings(Sampling(0.0), max_new_tokens=2)
    chosen = packed.Packing(*ways)
    monkeypatch.setattr(packed, "choose", lambda *_: chosen)
    pack(target.model)
    first = next(engine.run(target, tiny.draft(), tiny.PROMPT, settings))
    assert first.packing == words


def test_a_trace_without_a_word_on_packing_reads_and_is_written_as_it_was():
    trace = whole_run(Recipe(rounds=1))
    said = replace(trace.header, packing="usual")
    assert '"packing":"usual"' in next(Trace(said).lines())
    assert Trace.parse(Trace(said).lines()).header == said
    older = list(Trace(replace(said, packing=None)).lines())
    assert "packing" not in older[0]
    assert list(Trace.parse(older).lines()) == older


def test_gradients_flow_through_it():
    model = layers()
    pack(model)
    rows = torch.randn(4, 37, requires_grad=True)
    model(rows).sum().backward()
    assert rows.grad is not None
    assert bool(rows.grad.any())


def test_what_cannot_be_packed_is_left_alone(monkeypatch):
    half = layers(dtype=torch.bfloat16)
    pack(half)
    assert not is_packed(half)
    elsewhere = layers().to("meta")
    pack(elsewhere)
    assert not is_packed(elsewhere)
    large = layers()
    size = sum(layer.weight.nbytes for layer in (large[0], large[1][1]))
    monkeypatch.setattr(packed, "MOST_BYTES", size - 1)
    pack(large)
    assert not is_packed(large)
    monkeypatch.setattr(packed, "MOST_BYTES", size)
    pack(large)
    assert is_packed(large)


@pytest.mark.parametrize(
    "operations",
    [
        SimpleNamespace(),
        SimpleNamespace(_reorder_linear_weight=lambda weight: weight),
        SimpleNamespace(
            _reorder_linear_weight=lambda weight, rows: weight,
            _linear_pointwise=lambda rows, weight, *_: rows @ weight.T + 1e-3,
        ),
    ],
)
def test_a_torch_that_has_it_otherwise_or_wrong_packs_nothing(operations, monkeypatch):
    monkeypatch.setattr(adapter, "ONEDNN", operations)
    can_pack.cache_clear()
    try:
        model = layers()
        pack(model)
        assert not is_packed(model)
    finally:
        can_pack.cache_clear()


def test_to_find_out_takes_no_random_numbers():
    can_pack.cache_clear()
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    assert can_pack()
    assert torch.equal(torch.rand(1), expected)


def test_unpacked_ends_also_after_an_error():
    model = layers()
    pack(model)
    with pytest.raises(ZeroDivisionError), unpacked(model):
        1 / is_packed(model)
    assert is_packed(model)


def test_everything_of_the_catalogue_that_has_weights_is_packed():
    target = load_target("house", "cpu")
    assert is_packed(target.model)
    own = [e for e in entries() if e.made_for == "house"]
    assert len(own) > 9
    for entry in own:
        drafter = load_drafter(entry.name, target)
        parts = [v for v in vars(drafter).values() if isinstance(v, nn.Module)]
        linear = [m for part in parts for m in part.modules() if isinstance(m, nn.Linear)]
        assert linear, entry.name
        assert {type(layer) for layer in linear} == {PackedLinear}, entry.name


def test_transformers_is_measured_as_it_is_and_again_on_packed_weights():
    target, small = tiny.target(), tiny.draft()
    settings = Settings(Sampling(0.0), max_new_tokens=8, gamma=3)
    prompt = methods.Prompt(tiny.PROMPT, tuple(target.encode(tiny.PROMPT, 8)))
    names = lambda: [way.name for way in methods.methods(target, entrants, settings)]  # noqa: E731
    entrants = [Entrant(small, settings)]
    assert not any(name.endswith(methods.PACKED) for name in names())
    for model in (target.model, small.model):
        pack(model)
    stock = {methods.GENERATE, methods.ASSISTED, methods.LOOKUP}
    assert stock | {name + methods.PACKED for name in stock} <= set(names())
    seen = {}

    def watch(module, *_):
        seen.setdefault(way.name, set()).add((is_packed(target.model), is_packed(small.model)))

    with (
        small.model.register_forward_pre_hook(watch),
        target.model.register_forward_pre_hook(watch),
    ):
        for way in methods.methods(target, entrants, settings):
            way.decode(prompt)
    for name, states in seen.items():
        assert states == {(name not in stock,) * 2}, name
    assert stock < seen.keys()
