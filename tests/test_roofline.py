"""The roofline: parameters and bytes computed by hand, pass times, and free tokens."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.cost import sources
from specviz.cost.roofline import (
    BATCHES,
    DraftPlan,
    Hardware,
    ModelShape,
    PassTime,
    Serving,
    best_gamma,
    bytes_per_number,
    first_losing_batch,
    free_tokens,
    memory_needed,
    pass_time,
    predict,
)

BIG = sources.models()["llama-3.1-8b"].shape
H100 = sources.machines()["h100-sxm"].hardware
T4 = sources.machines()["t4"].hardware
SERVED = Serving(BIG, H100, "bf16")
TOY = ModelShape(2, 8, 4, 2, 2, 16, 32, tied=False, qk_norm=False)
TABLE = Hardware("a table", {"fp32": 1000.0}, 100.0, 1e9)  # ten operations a byte

every_serving = st.builds(
    lambda model, machine, context: Serving(
        sources.models()[model].shape,
        (found := sources.machines()[machine].hardware),
        next(iter(found.peak)),
        context,
    ),
    st.sampled_from(sorted(sources.models())),
    st.sampled_from(sorted(sources.machines())),
    st.integers(0, 5000),
)


def test_model_shapes_have_as_many_parameters_as_their_checkpoints():
    """Of Qwen3, keras-hub pull request 2455 lists embedding models with a smaller vocabulary."""
    known = {
        "house": 10_688_768,  # these two: as their traces' headers say
        "house-draft": 1_672_128,
        "llama-3.1-8b": 8_030_261_248,
        "llama-3.1-70b": 70_553_706_496,
        "llama-3.2-1b": 1_235_814_400,
    }
    models = sources.models()
    assert {name: models[name].shape.parameters for name in known} == known
    larger = replace(models["qwen3-4b"].shape, vocabulary=151_665)
    smaller = replace(models["qwen3-0.6b"].shape, vocabulary=151_669)
    assert (larger.parameters, smaller.parameters) == (4_021_774_336, 595_776_512)


def test_parameters_of_a_tiny_model_equal_hand_count():
    attention = 8 * 8 + 8 * 8 + 2 * (8 * 4)  # q, o; k and v of two heads
    matrices = 2 * (attention + 3 * 8 * 16) + 8 * 32
    norms = 2 * (8 + 8) + 8
    assert TOY.matrices == matrices
    assert TOY.parameters == matrices + norms + 8 * 32
    assert replace(TOY, tied=True).parameters == matrices + norms
    assert replace(TOY, qk_norm=True).parameters == TOY.parameters + 2 * (2 + 2)
    assert TOY.weight_bytes("fp32") == 4 * (matrices + norms)  # of the table only rows are read
    assert TOY.cache_bytes("bf16") == 2 * (2 * 2 * 2) * 2  # keys, values; layers, heads, head size


def test_operations_are_two_per_weight_and_four_per_attended_token_and_channel():
    """One token attends to itself and ten tokens before it; three tokens to thirteen each."""
    channels = 2 * 4 * 2
    assert TOY.flops(1, 10) == 2 * TOY.matrices + 4 * channels * 11
    assert TOY.flops(3, 10) == 3 * (2 * TOY.matrices + 4 * channels * 13)
    assert TOY.flops(0, 10) == 0


def test_missing_config_values_are_derived_from_the_others():
    config = {"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 4}
    config |= {"intermediate_size": 16, "vocab_size": 32}
    shape = ModelShape.of_config(config)
    assert shape == ModelShape(2, 8, 4, 4, 2, 16, 32, tied=False, qk_norm=False)
    assert ModelShape.of_config(config | {"head_dim": None, "num_key_value_heads": 2}) == TOY
    assert ModelShape.of_config(config | {"model_type": "qwen3"}).qk_norm


def test_plain_pass_of_8b_reads_15_gigabytes_in_4_5_milliseconds():
    """(8.03 − 0.53) × 10⁹ weights, two bytes each, at 3.35 TB/s; about 222 tokens a second.

    EAGLE-3's paper has 158 tokens a second for plain decoding of this model on this chip.
    """
    alone = pass_time(replace(SERVED, context=0), 1)
    assert alone.bound == "memory"
    assert alone.seconds == pytest.approx(15.01e9 / 3.35e12, rel=1e-3)
    assert H100.ridge("bf16") == pytest.approx(295, abs=0.5)
    assert 158 < 1 / pass_time(SERVED, 1).seconds < 2 * 158


def test_pass_of_a_tiny_model_equals_hand_calculation():
    serving = Serving(TOY, TABLE, "fp32", context=10)
    time = pass_time(serving, 3, 2)
    moved = TOY.weight_bytes("fp32") + 3 * 12 * TOY.cache_bytes("fp32")
    assert time == PassTime(moved / 100, 3 * TOY.flops(2, 10) / 1000)
    assert time.seconds == max(time.memory, time.compute)
    late = pass_time(replace(serving, overhead=7.0), 3, 2)
    assert late.seconds == time.seconds + 7
    shared = pass_time(replace(serving, cards=4), 3, 2)
    assert shared.seconds == pytest.approx(time.seconds / 4)


@pytest.mark.slow
@given(every_serving, st.integers(1, 512), st.integers(1, 300))
def test_more_tokens_sequences_or_context_never_shorten_a_pass(serving, batch, tokens):
    now = pass_time(serving, batch, tokens)
    longer = (
        pass_time(serving, batch, tokens + 1),
        pass_time(serving, batch + 1, tokens),
        pass_time(replace(serving, context=serving.context + 1), batch, tokens),
    )
    for later in longer:
        assert later.memory > now.memory
        assert later.compute > now.compute
        assert later.seconds > now.seconds


@pytest.mark.slow
@given(every_serving, st.integers(1, 512))
def test_free_tokens_end_where_compute_time_exceeds_memory_time(serving, batch):
    free = free_tokens(serving, batch)
    assert free == 0 or pass_time(serving, batch, free).bound == "memory"
    assert pass_time(serving, batch, free + 1).bound == "compute"


def test_larger_batch_size_leaves_fewer_and_a_longer_context_more_free_tokens():
    """Reading the cache of a long context takes most of the time, and all guesses share it."""
    free = [free_tokens(SERVED, batch) for batch in BATCHES]
    assert free == sorted(free, reverse=True)
    assert free[0] > 280
    assert free[-1] < 3
    assert free_tokens(replace(SERVED, context=32_000), 256) > 2 * free_tokens(SERVED, 256)


def test_deployment_fits_only_within_its_memory():
    assert memory_needed(replace(SERVED, context=0), 1) == 2 * BIG.parameters + 131_072
    plain = DraftPlan.chain(0.8, 0)
    assert predict(SERVED, plain, 512).fits
    assert not predict(replace(SERVED, context=8192), plain, 512).fits
    seventy = Serving(sources.models()["llama-3.1-70b"].shape, H100, "bf16")
    assert not predict(seventy, plain, 1).fits
    assert predict(replace(seventy, cards=2), plain, 1).fits


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: bytes_per_number("int3"), "int3 must be one of fp32, bf16, fp16."),
        (lambda: replace(TOY, layers=0), "The model's layers must be greater than 0, not 0."),
        (lambda: ModelShape.of_config({}), "This config lacks 'num_attention_heads'."),
        (lambda: TOY.flops(-1, 0), "The number of tokens must be at least 0"),
        (lambda: Hardware("x", {}, 1, 1), "x needs a peak for at least one dtype."),
        (lambda: Hardware("x", {"bf16": 1}, 0, 1), "Every figure of x must be greater than 0"),
        (lambda: replace(SERVED, dtype="fp8"), "has no peak for fp8, only for bf16, fp16, fp32."),
        (lambda: replace(SERVED, context=-1), "The context must be at least 0"),
        (lambda: replace(SERVED, cards=0), "The number of devices must be greater than 0"),
        (lambda: replace(SERVED, overhead=-1.0), "The overhead must be at least 0"),
        (lambda: pass_time(SERVED, 0), "The batch size must be greater than 0"),
        (lambda: pass_time(SERVED, 1, 0), "The number of tokens must be greater than 0"),
        (lambda: memory_needed(SERVED, 0), "The batch size must be greater than 0"),
        (lambda: replace(SERVED, reading=0), "share of the"),
        (lambda: replace(SERVED, computing=-0.5), "share of the"),
        (lambda: replace(SERVED, reading=1.01), "share of the"),
        (lambda: replace(SERVED, computing=float("nan")), "share of the"),
        (lambda: Serving(BIG, T4, "bf16"), "16 GB has no peak for bf16, only for fp16, fp32"),
        (lambda: DraftPlan(2.0, (0,)), "Every level of a draft needs at least one token."),
        (lambda: DraftPlan(3.5, (1, 1)), "A round yields 1 to 3 tokens here, not 3.5."),
        (lambda: DraftPlan(0.5, (1, 1)), "A round yields 1 to 3 tokens here, not 0.5."),
        (lambda: DraftPlan.chain(1.5, 2), "α must be a probability"),
        (lambda: best_gamma(SERVED, 0.5, 1, limit=-1), "The longest chain must be at least 0"),
    ],
)
def test_invalid_values_raise_readable_error(call, sentence):
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        call()
    assert sentence in str(refusal.value)


SMALL = sources.models()["llama-3.2-1b"].shape


def test_predicted_speedup_equals_hand_calculation():
    guessing = DraftPlan.chain(0.8, 4, SMALL)
    found = predict(SERVED, guessing, 8)
    plain, verify = pass_time(SERVED, 8).seconds, pass_time(SERVED, 8, 5).seconds
    draft = 4 * pass_time(replace(SERVED, shape=SMALL), 8).seconds
    tokens = 1 + 0.8 + 0.64 + 0.512 + 0.4096
    assert (found.plain, found.draft, found.verify) == pytest.approx((plain, draft, verify))
    assert found.speedup == pytest.approx(tokens * plain / (draft + verify))
    assert found.tokens_per_second == pytest.approx(8 * tokens / (draft + verify))
    assert found.plain_tokens_per_second == pytest.approx(8 / plain)


def test_prediction_equals_plain_decoding_without_a_draft_and_the_formula_if_it_is_free():
    for draft in (None, SMALL):
        found = predict(SERVED, DraftPlan.chain(0.8, 0, draft), 16)
        assert (found.speedup, found.draft) == (1, 0)
    alone = replace(SERVED, context=0)
    found = predict(alone, DraftPlan.chain(0.8, 4), 1)
    assert found.speedup == pytest.approx(1 + 0.8 + 0.64 + 0.512 + 0.4096, rel=1e-3)


def test_predicted_tree_cost_is_one_verification_and_one_draft_pass_per_level():
    guessing = DraftPlan(1 + 0.8 + 0.64, (2, 4), SMALL)
    found = predict(SERVED, guessing, 2)
    assert found.verify == pass_time(SERVED, 2, 7).seconds
    drafter = replace(SERVED, shape=SMALL)
    assert found.draft == pass_time(drafter, 2, 1).seconds + pass_time(drafter, 2, 2).seconds


def test_speedup_falls_with_batch_size_below_1_from_the_first_losing_batch_on():
    guessing = DraftPlan.chain(0.6, 5)
    gains = [predict(SERVED, guessing, batch).speedup for batch in BATCHES]
    assert gains[0] > 2.3
    assert gains[-1] < 0.8
    assert gains == sorted(gains, reverse=True)
    lost = first_losing_batch(SERVED, guessing)
    assert 200 < lost < 256
    assert predict(SERVED, guessing, lost).speedup < 1
    assert predict(SERVED, guessing, lost - 1).speedup >= 1
    assert first_losing_batch(SERVED, guessing, limit=lost - 1) is None
    assert first_losing_batch(SERVED, DraftPlan.chain(0.6, 0)) is None
    assert first_losing_batch(SERVED, DraftPlan.chain(0.0, 1, SMALL)) == 1


def test_optimal_gamma_matches_brute_force_and_falls_with_the_batch_size():
    for batch, draft in product((1, 16, 64, 256, 512), (None, SMALL)):
        gains = [predict(SERVED, DraftPlan.chain(0.7, g, draft), batch).speedup for g in range(13)]
        best = best_gamma(SERVED, 0.7, batch, draft, limit=12)
        assert gains[best] == pytest.approx(max(gains))
        assert all(gain < gains[best] for gain in gains[:best])
    best = [best_gamma(SERVED, 0.7, batch) for batch in BATCHES]
    assert best == sorted(best, reverse=True)
    assert best[0] > 20
    assert best[-1] <= 1


def test_predicted_memory_includes_the_drafter():
    tight = Hardware("tight", H100.peak, H100.bandwidth, memory_needed(SERVED, 1, 5))
    serving = replace(SERVED, hardware=tight)
    assert predict(serving, DraftPlan.chain(0.7, 4), 1).fits
    assert not predict(serving, DraftPlan.chain(0.7, 5), 1).fits
    assert not predict(serving, DraftPlan.chain(0.7, 4, SMALL), 1).fits
