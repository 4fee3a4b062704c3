"""The roofline section of the Cost tab: its numbers are exactly those of `specviz.cost`."""

import re
from dataclasses import replace

import pytest
from asking import ask
from test_figures import check_plotly

from specviz.cost import sources
from specviz.cost.figures.roofline import MAX_GAMMA
from specviz.cost.formatting import format_speedup
from specviz.cost.roofline import (
    BATCHES,
    DraftPlan,
    Serving,
    best_gamma,
    first_losing_batch,
    free_tokens,
    memory_needed,
    pass_time,
    predict,
)
from specviz.cost.sources import HEAD, NGRAM, at_default_efficiency, drafters, speedup_range
from specviz.ui.cost import published
from specviz.ui.cost.roofline import QUESTIONS, config, section_facts
from specviz.ui.cost.roofline import USUAL as ASKED
from specviz.ui.cost.roofline.answer import _factor, duration, figures, quantity
from specviz.ui.cost.roofline.question import LIMITS, LONGEST, Ask

EIGHT = sources.models()["llama-3.1-8b"].shape
H100 = sources.machines()["h100-sxm"].hardware
SERVED = at_default_efficiency(Serving(EIGHT, H100, "bf16", 512))


ONE_LAYER = replace(EIGHT, layers=1, tied=True)


def said(**changes):
    """Return the answer to the page's initial request with some changes."""
    return ask(section_facts, {**ASKED, **changes}, LONGEST)


def sentence(answer):
    return "".join(part if isinstance(part, str) else part["n"] for part in answer["said"])


def values(answer, figure, name, axis="y"):
    return answer["figures"][figure]["data"][name][axis]


# Numbers


@pytest.mark.parametrize("batch", [1, 64, 83, 512])
def test_numbers_on_the_page_equal_the_formulas(batch):
    answer = said(batch=batch)
    guessing = DraftPlan.chain(0.7, 4, ONE_LAYER)
    found = predict(SERVED, guessing, batch)
    draft, verify = found.draft / found.plain, found.verify / found.plain
    assert f" {verify:.2f} plain passes" in sentence(answer)
    assert f"{found.speedup:.2f} ×" in sentence(answer)
    assert f"from batch size {first_losing_batch(SERVED, guessing)} on." in sentence(answer)
    assert answer["round"]["said"] == [f"{found.tokens:.2f}", f"{draft + verify:.2f}"]
    assert answer["round"]["costs"] == f"{draft:.2f} for drafting, {verify:.2f} for verification"
    rows = {name: row for name, *row in answer["facts"]}
    rates = found.plain_tokens_per_second, found.tokens_per_second
    assert rows["Whole batch, tokens/s"] == [f"{rate:,.0f}" for rate in rates]
    assert rows["Target pass"] == [duration(found.plain), duration(found.verify)]
    assert rows["Memory"][0] == quantity(memory_needed(SERVED, batch), "B")


def test_nearest_published_measurement_is_a_row_of_the_page():
    report = said()["beside"]["report"]
    rows = {row["place"]: row for row in published.config()["rows"]}
    assert rows[report["place"]]["number"] == report["number"] == "1.38 ×"
    assert _factor("2 to 2.5 ×") == 2.5
    assert _factor("1.4 × slower") < 1
    house = said(model="house", drafter="house-draft", hardware="laptop-cpu", dtype="fp32")
    assert house["beside"]["report"] is None


@pytest.mark.slow
def test_efficiencies_scale_peak_bandwidth_and_peak_arithmetic():
    full = said(reading=100, computing=100)
    slow = said(reading=50, computing=100)
    memory = [made["figures"]["pass"]["data"]["10-memory"]["y"][0] for made in (full, slow)]
    assert memory[1] == pytest.approx(2 * memory[0])
    both = said(reading=50, computing=50)
    assert both["beside"]["speedup"] == full["beside"]["speedup"], "the same share of both"
    few = said(computing=40)
    serving = replace(SERVED, computing=0.4)
    guessing = DraftPlan.chain(0.7, 4, ONE_LAYER)
    assert few["beside"]["speedup"] == format_speedup(predict(serving, guessing, 64).speedup)
    assert predict(serving, guessing, 64).speedup < predict(SERVED, guessing, 64).speedup


@pytest.mark.parametrize("batch", [64, 128, 512])
def test_predicted_speedup_has_a_range_over_published_efficiencies(batch):
    answer, plan = said(batch=batch), DraftPlan.chain(0.7, 4, ONE_LAYER)
    low, high = speedup_range(SERVED, plan, batch)
    shares = [(0.55, 0.5), (0.55, 0.8), (0.9, 0.5), (0.9, 0.8)]
    serving = [
        replace(SERVED, reading=reading, computing=computing) for reading, computing in shares
    ]
    gains = [predict(each, plan, batch).speedup for each in serving]
    assert (low, high) == (min(gains), max(gains))
    assert f"({low:.2f} to {high:.2f} ×" in sentence(answer)
    area = answer["figures"]["speed"]["data"]["02-efficiencies"]
    ends = {y for x, y in zip(area["x"], area["y"], strict=True) if x == batch}
    assert ends == {low, high}


def test_default_efficiency_is_that_of_the_sources():
    for name, found in sources.efficiencies().items():
        assert ASKED[name] == found.default
        assert f"{found.low} to {found.high}%" in config()["efficiencies"][name]["reported"]


@pytest.mark.slow
def test_speedup_curve_equals_the_predictions():
    answer = said(drafter="llama-3.2-1b")
    guessing = DraftPlan.chain(0.7, 4, sources.models()["llama-3.2-1b"].shape)
    sizes = values(answer, "speed", "20-fits", "x")
    gains = [predict(SERVED, guessing, b).speedup for b in sizes]
    assert values(answer, "speed", "20-fits") == pytest.approx(gains)
    free = [predict(SERVED, DraftPlan.chain(0.7, 4), b).speedup for b in sizes]
    assert values(answer, "speed", "11-costless")[: len(free)] == pytest.approx(free)
    assert values(answer, "speed", "41-loss", "x") == [first_losing_batch(SERVED, guessing)]
    assert "11-costless" not in said(drafter=NGRAM)["figures"]["speed"]["data"]


def test_pass_time_curve_equals_the_roofline():
    answer = said(batch=8, overhead=2)
    serving = replace(SERVED, overhead=0.002)
    places = values(answer, "pass", "20-pass", "x")
    times_of = [pass_time(serving, 8, n) for n in places]
    assert values(answer, "pass", "20-pass") == pytest.approx([1e3 * t.seconds for t in times_of])
    assert values(answer, "pass", "10-memory") == pytest.approx([1e3 * t.memory for t in times_of])
    compute = [1e3 * t.compute for t in times_of]
    assert values(answer, "pass", "11-compute") == pytest.approx(compute)
    assert values(answer, "pass", "12-ridge", "x") == [free_tokens(serving, 8)] * 2
    assert values(answer, "pass", "40-round", "x") == [5]


def test_displayed_best_draft_lengths_equal_best_gamma():
    best = [best_gamma(SERVED, 0.7, b, ONE_LAYER, MAX_GAMMA) for b in BATCHES]
    assert values(said(), "gamma", "10-best") == best


@pytest.mark.slow
def test_out_of_memory_is_stated_and_drawn():
    answer = said(context=4096)
    room = next(b for b in range(1, 513) if not predict(*asked(context=4096), b).fits)
    area = values(answer, "speed", "00-unfit", "x")
    assert room - 1 < area[0] < room
    assert max(values(answer, "speed", "20-fits", "x")) == room - 1
    assert min(values(answer, "speed", "21-not", "x")) == room - 1
    assert answer["alert"] is None
    assert said(context=4096, batch=room - 1)["alert"] is None
    assert said(context=4096, batch=room)["alert"]
    assert said(model="llama-3.1-70b", cards=2)["alert"] is None


def asked(**changes):
    ask = Ask.from_data({**ASKED, **changes})
    return ask.serving, ask.guessing


def test_tree_prediction_divides_alpha_among_siblings_and_verifies_all():
    _, chain = asked()
    _, tree = asked(siblings="3, 2")
    assert tree.tokens == pytest.approx(chain.tokens)
    assert (chain.widths, tree.widths) == ((1, 1, 1, 1), (3, 6, 6, 6))
    assert set(values(said(gamma=0), "speed", "20-fits")) == {1.0}, "plain decoding"


@pytest.mark.slow
def test_every_machine_and_model_gives_a_prediction():
    for machine in sources.machines().values():
        assert "problem" not in said(hardware=machine.name, dtype=[*machine.peak][-1]), machine
    for model in sources.models():
        assert "problem" not in said(model=model, drafter=[*drafters(model)][-1], cards=8), model


@pytest.mark.slow
def test_figures_are_valid_plotly_with_escaped_labels():
    questions = [dict(example["set"]) for example in QUESTIONS]
    for changes in ({}, *questions, {"context": 131_072, "batch": 512}, {"gamma": 0}):
        for figure in said(**changes)["figures"].values():
            check_plotly(figure)
            for trace in figure["data"].values():
                words = [*trace.get("text", []), *trace.get("hovertext", [])]
                assert not re.search("[<>&]", "".join(words))


def test_offered_draft_models_are_smaller_and_share_the_vocabulary():
    assert list(drafters("house")) == [HEAD, NGRAM, "house-draft"]
    assert list(drafters("qwen3-4b")) == [HEAD, NGRAM, "qwen3-0.6b"]
    assert list(drafters("llama-3.1-70b")) == [HEAD, NGRAM, "llama-3.1-8b", "llama-3.2-1b"]
    assert list(drafters("qwen3-0.6b")) == [HEAD, NGRAM]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"hardware": "abacus"}, "No hardware is called 'abacus' here."),
        ({"hardware": ["h100-sxm"]}, "No hardware is called ['h100-sxm'] here."),
        ({"model": None}, "No model is called None here."),
        ({"hardware": "t4"}, "For NVIDIA T4, 16 GB only fp16, fp32 can be chosen."),
        ({"dtype": "{0}"}, "For NVIDIA H100 SXM, 80 GB only bf16, fp16, fp32 can be chosen."),
        ({"drafter": "qwen3-0.6b"}, "'qwen3-0.6b' is not a drafter for llama-3.1-8b."),
        ({"drafter": "<img src=x onerror=a(1)>"}, "'<img src=x onerror=a(1)>' is not a drafter"),
        ({"siblings": "a tree"}, "Siblings at each depth must be whole numbers like 3, 2."),
        ({"siblings": "8, 8, 8"}, "Siblings 8, 8, 8 with γ 4 make a tree of 1,096 guesses"),
        ({"siblings": "0"}, "A node can have 1 to 8 guesses after it, not 0."),
        ({"batch": None}, "The batch size must be a number."),
        ({"batch": 0}, "The batch size must be between 1 and 512, not 0."),
        ({"batch": 1.5}, "The batch size must be a whole number, not 1.5."),
        ({"batch": float("inf")}, "The batch size must be a finite number."),
        ({"gamma": 17}, "γ must be between 0 and 16, not 17."),
        ({"cards": -1}, "The number of devices must be between 1 and 64, not -1."),
        ({"context": 10**9}, "The context must be between 0 and 131,072"),
        ({"alpha": 1.2}, "α must be a probability from 0 to 1, not 1.2."),
        ({"alpha": float("nan")}, "α must be a finite number."),
        ({"reading": 0}, "The share of the peak bandwidth must be between 5 and 100"),
        ({"computing": 101}, "The share of the peak arithmetic must be between 5 and 100"),
        ({"overhead": -1}, "The overhead must be between 0 and 1,000 ms."),
    ],
)
def test_invalid_values_return_readable_error(changes, sentence):
    answer = said(**changes)
    assert sentence in answer["problem"]
    assert answer["problem"].endswith(".")


def test_malformed_request_returns_readable_error():
    for text in ("null", "3", "", "{", "[]", "[" * 1500, "x" * 5000, "{}"):
        assert ask(section_facts, text, LONGEST)["problem"].endswith("."), text[:9]


# The page


def test_page_config_lists_every_preset_with_its_sources():
    known = config()
    assert known["machines"].keys() == sources.machines().keys()
    assert known["models"].keys() == sources.models().keys()
    for machine in sources.machines().values():
        facts = known["machines"][machine.name]
        assert facts["facts"].keys() == machine.peak.keys()
        assert [row[1] for row in facts["sources"]] == [one.url for one in machine.sources]


@pytest.mark.slow
def test_initial_values_and_limits_are_valid_requests():
    assert "problem" not in said()
    for name, (_, least, most) in LIMITS.items():
        assert "problem" not in said(**{name: least})
        assert "problem" not in said(**{name: most})


def test_numbers_are_formatted_with_units():
    assert [duration(value) for value in (5.766e-3, 0.99999e-3, 4.2e-7, 1744)] == [
        "5.77 ms", "1.00 ms", "0.420 µs", "1,744 s",
    ]  # fmt: skip
    assert [figures(value) for value in (11_100.6, 65.0, 99.99)] == ["11,101", "65.0", "100"]
    speeds = {2.0713: "2.07 ×", 0.9996: "0.9996 ×", 1: "1.00 ×"}
    assert {value: format_speedup(value) for value in speeds} == speeds
