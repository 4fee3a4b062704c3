"""The speed limit set by memory: bytes of a pass, and the share of the limit, without timings."""

from __future__ import annotations

from time import perf_counter

import pytest
import tiny
import torch

from specviz.bench import limit
from specviz.bench.limit import MemoryLimit, make_limiter
from specviz.bench.measure import TimedCall, measure
from specviz.bench.methods import GENERATE, Entrant, Method, Outcome, Prompt, all_methods
from specviz.bench.sweep import MAX_READ_BYTES, read_workload, shape_of
from specviz.drafters.ngram import NGram
from specviz.models.passes import bytes_read
from specviz.settings.settings import Sampling, Settings

GREEDY = Settings(Sampling(temperature=0), max_new_tokens=8)
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


def test_only_methods_with_one_token_per_pass_have_a_share_of_the_limit(tiny_target, tiny_draft):
    taking = [Entrant(tiny_draft, GREEDY), Entrant(NGram(), GREEDY)]
    ways = all_methods(tiny_target, taking, GREEDY)
    assert [way.name for way in ways if way.one_by_one] == ["plain", GENERATE]


def test_plain_decoding_returns_its_tokens_and_its_speed_after_the_prompt(tiny_target):
    plain, generate, *_ = all_methods(tiny_target, [], GREEDY)
    ids = torch.tensor([PROMPT.ids])
    made = tiny_target.model.generate(ids, do_sample=False, max_new_tokens=8, pad_token_id=0)
    assert list(plain.decode(PROMPT).text) == made[0, len(PROMPT.ids) :].tolist()
    for method in (plain, generate):
        start = perf_counter()
        outcome = method.decode(PROMPT)
        assert 0 < outcome.decode_seconds < perf_counter() - start, "measured within the call"
