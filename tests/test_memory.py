"""Memory: that of a drafter without its target, and the speed limit that it sets."""

from __future__ import annotations

from time import perf_counter

import circle
import pytest
import tiny
import torch
from torch import nn

from specviz import engine
from specviz.adapters.torch import ONEDNN
from specviz.bench import limit
from specviz.bench.limit import MemoryLimit, make_limiter
from specviz.bench.measure import TimedCall, measure
from specviz.bench.methods import GENERATE, Entrant, Method, Outcome, Prompt, all_methods
from specviz.bench.sweep import read_workload, shape_of
from specviz.drafters.layerskip import LayerSkip
from specviz.drafters.ngram import NGram
from specviz.drafters.oracle import Oracle
from specviz.engine.loop import Decoding
from specviz.models.memory import unique_bytes
from specviz.models.memory_speed import MAX_READ_BYTES
from specviz.models.passes import bytes_read
from specviz.models.products import DEFAULT_PLAN, Backend, Plan, Product, can_pack
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Finished

GREEDY = Settings(Sampling(temperature=0), gamma=3, max_new_tokens=12)


def decoded(target, drafter, settings=GREEDY):
    decoding = Decoding(target, drafter, target.encode(tiny.PROMPT, 12), settings)
    for _ in decoding.rounds():
        pass
    return decoding


def weights(model):
    """Return the bytes of a model's parameters and buffers; tied ones count once."""
    return sum(each.nbytes for each in [*model.parameters(), *model.buffers()])


def buffer_bytes(*layers):
    """Return the bytes of a cache's layers, including their spare rows."""
    return sum(half.nbytes for layer in layers for half in layer.buffer)


def test_memory_is_that_of_a_drafters_own_tensors_and_its_cache(tiny_target, tiny_draft):
    decoding = decoded(tiny_target, tiny_draft)
    layers = decoding.session.reader.cache.layers
    assert buffer_bytes(*layers) > sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)
    assert decoding.held_bytes == weights(tiny_draft.model) + buffer_bytes(*layers)
    alone = decoded(tiny_target, Oracle(tiny_target))  # a draft model that is the target
    assert alone.held_bytes == buffer_bytes(*alone.session.reader.cache.layers) > 0
    drafter = NGram()
    assert decoded(tiny_target, drafter).held_bytes == 0
    drafter.table = torch.ones(10)  # which its session does not hold
    assert decoded(tiny_target, drafter).held_bytes == 40


@pytest.mark.slow
def test_memory_of_eagle_excludes_weights_shared_with_the_target():
    """Its session uses the target's embeddings and output head."""
    target = circle.target()
    drafter = circle.drafters(target)["eagle"]
    decoding = decoded(target, drafter)
    reader = decoding.session.reader
    borrowed = target.model.get_output_embeddings().weight.nbytes
    assert reader.embed is target.model.get_input_embeddings()
    states = (
        decoding.held_bytes - weights(drafter.head) - buffer_bytes(*reader.layers.cache._layers)
    )
    assert 0 < states < borrowed, "includes the states stored for the next round"
    assert unique_bytes([decoding.session], excluding=[]) > 2 * borrowed


@pytest.mark.slow
def test_memory_of_early_exit_is_only_the_last_states():
    target = tiny.target(tiny.llama(num_hidden_layers=4))
    settings = Settings(Sampling(temperature=0), gamma=3, max_new_tokens=12, exit_layer=2)
    found = decoded(target, LayerSkip(target), settings).held_bytes
    a_row = target.layers * target.model.config.hidden_size * 4
    assert 0 < found <= (1 + settings.gamma) * a_row


@pytest.mark.skipif(not can_pack(), reason="this build of torch has no oneDNN")
def test_packed_weight_is_counted_with_its_packed_size():
    layer = nn.Linear(37, 65).eval().requires_grad_(False)
    usual = Product(layer.weight, layer.bias, DEFAULT_PLAN)
    assert unique_bytes([usual], excluding=[]) == 4 * (37 * 65 + 65)
    packed = Product(layer.weight, layer.bias, Plan(False, *[Backend.ONEDNN] * 4))
    copy = unique_bytes([packed], excluding=[layer])
    assert copy == ONEDNN._nbytes(packed.packed) >= layer.weight.nbytes
    assert unique_bytes([packed], excluding=[packed]) == 0


class Slotted:
    __slots__ = ("kept",)

    def __init__(self, kept):
        self.kept = kept


def circular(block):
    """An object that refers to itself."""
    made = [block]
    made.append(made)
    return made


WAYS = {
    "a list": lambda block: [1, "a", (block,)],
    "a dictionary": lambda block: {"a": {"b": block}},
    "slots": Slotted,
    "a function's own": lambda block: lambda: block,
    "a bound method": lambda block: Slotted(block).__init__,
    "a module": lambda block: nn.ParameterDict({"a": nn.Parameter(block)}),
    "twice": lambda block: [block, block],
    "views": lambda block: (block[2:], block.view(2, 5)),
    "round a circle": circular,
    "a sparse tensor": lambda block: block.to_sparse(),
}


def test_tensor_in_any_container_is_counted_once():
    for way, make in WAYS.items():
        found = make(torch.ones(10))
        places = 80 if way == "a sparse tensor" else 0
        assert unique_bytes([found], excluding=[]) == 40 + places, way
        assert unique_bytes([found], excluding=[found]) == 0, way
    both, mine = torch.ones(10), torch.ones(7)
    assert unique_bytes([{"a": both[3:], "b": mine}], excluding=[both]) == 28, "the unshared part"


@pytest.mark.slow
def test_finished_event_records_the_memory_of_the_drafter(tiny_target, tiny_draft):
    events = engine.run(tiny_target, tiny_draft, tiny.PROMPT, GREEDY, baseline=False)
    ended = [event for event in events if isinstance(event, Finished)]
    assert [each.held_bytes for each in ended] == [decoded(tiny_target, tiny_draft).held_bytes]


# The speed limit set by memory: bytes of a pass, and the share of the limit, without timings.

PROMPT = Prompt(tiny.PROMPT, (5, 9, 77, 31))


@pytest.mark.parametrize("tied", [True, False])
def test_bytes_of_a_pass_count_each_weight_once_without_lookup_tables(tied):
    """Count by hand: 2 layers of width 48 (96 inside), 4 heads, 2 of keys and values, 280 words."""
    target = tiny.target(tiny.llama(tie_word_embeddings=tied))
    attention = 48 * 48 + 2 * 48 * 24 + 48 * 48
    layer = attention + 3 * 48 * 96 + 2 * 48
    numbers = 2 * layer + 48 + 280 * 48
    assert bytes_read(target.model) == 4 * numbers
    assert shape_of(target).weight_bytes("fp32") == 4 * numbers  # as counted by the roofline
    other = tiny.gpt2()
    every = sum(weight.nbytes for weight in other.parameters())
    assert bytes_read(other) == every - other.transformer.wpe.weight.nbytes  # its head is tied


def test_speed_limit_is_the_best_bandwidth_over_the_bytes_of_an_average_pass(
    tiny_target, monkeypatch
):
    seconds = iter([0.5, 0.25, 1.0, 2.0, 4.0])
    monkeypatch.setattr(limit, "time_seconds", lambda _device, _do: next(seconds))
    found = make_limiter(tiny_target, new_tokens=8)(PROMPT)
    weights = bytes_read(tiny_target.model)
    assert read_workload(tiny_target).size == weights < MAX_READ_BYTES
    assert found.bandwidth == weights / 0.25
    cache = (len(PROMPT.ids) + 4) * 2 * 2 * 2 * 12 * 4  # keys, values; layers; heads; size; bytes
    assert found.passes == pytest.approx(found.bandwidth / (weights + cache))
    monkeypatch.setattr(tiny_target.model.config, "num_local_experts", 8, raising=False)
    assert make_limiter(tiny_target, 8) is None, "the bytes read by experts are not known"


PLAIN_OUTCOME = Outcome(4, 4, text=(1, 2, 3, 4), decode_seconds=1.5)


def rows_of(target, monkeypatch, limits):
    """Return rows of plain decoding at 1 and 2 tokens/s, a drafter, and an equal method."""
    clock = iter([4.0] * 3 + [2.0] * 3)

    def timed(_target, method, prompt):
        return TimedCall(method.decode(prompt), next(clock))

    monkeypatch.setattr("specviz.bench.measure._timed", timed)
    ways = [
        Method("plain", lambda _: PLAIN_OUTCOME, GREEDY, one_by_one=True),
        Method("drafter", lambda _: Outcome(4, 2), GREEDY),
        Method("other", lambda _: Outcome(4, 4, text=(1, 2, 3, 5)), GREEDY, one_by_one=True),
    ]
    taken = iter(limits)
    measured = (lambda _: next(taken)) if limits else None
    return list(measure(target, ways, {"a": [PROMPT]}, repeats=2, limiter=measured))


def test_share_of_the_speed_limit_is_the_median_over_turns(tiny_target, monkeypatch):
    """Use 1 of 2 and 2 of 8 tokens per second."""
    plain, drafter, other = rows_of(
        tiny_target, monkeypatch, [MemoryLimit(10.0, 2.0), MemoryLimit(30.0, 8.0)]
    )
    assert (plain.memory_bandwidth, plain.limit_tokens_per_second) == (20.0, 5.0)
    assert plain.share_of_limit == other.share_of_limit == (0.5 + 0.25) / 2
    assert plain.tokens_per_second_after_prompt == 2.0  # 3 tokens in 1.5 s
    assert plain.share_of_limit_after_prompt == (2 / 2 + 2 / 8) / 2
    assert other.tokens_per_second_after_prompt is other.share_of_limit_after_prompt is None
    assert drafter.limit_tokens_per_second == 5.0
    assert drafter.share_of_limit is None
    assert (plain.same_text, drafter.same_text, other.same_text) == (None, None, False)
    for row in rows_of(tiny_target, monkeypatch, []):  # the limit is unknown
        assert row.memory_bandwidth is row.limit_tokens_per_second is row.share_of_limit is None


def test_methods_with_one_token_per_pass_give_tokens_and_a_speed(tiny_target, tiny_draft):
    taking = [Entrant(tiny_draft, GREEDY), Entrant(NGram(), GREEDY)]
    ways = all_methods(tiny_target, taking, GREEDY)
    plain, generate = (way for way in ways if way.one_by_one)
    assert (plain.name, generate.name) == ("plain", GENERATE)
    ids = torch.tensor([PROMPT.ids])
    made = tiny_target.model.generate(ids, do_sample=False, max_new_tokens=12, pad_token_id=0)
    assert list(plain.decode(PROMPT).text) == made[0, len(PROMPT.ids) :].tolist()
    for method in (plain, generate):
        start = perf_counter()
        outcome = method.decode(PROMPT)
        assert 0 < outcome.decode_seconds < perf_counter() - start, "measured within the call"
