"""The roofline section of the Cost tab: its numbers are exactly those of `specviz.cost`."""

import json
import re
from dataclasses import replace
from itertools import cycle

import pytest

from specviz.cost import sources
from specviz.cost.formatting import format_duration, format_figures, format_quantity, format_speedup
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
from specviz.cost.sources import (
    HEAD,
    NGRAM,
    at_default_efficiency,
    drafters,
    published_numbers,
    speedup_range,
)
from specviz.settings.specs import MAX_GAMMA
from specviz.ui.cost.roofline import EXAMPLES, LIMITS, Ask, respond, sources_list, start

EIGHT = sources.models()["llama-3.1-8b"].shape
H100 = sources.machines()["h100-sxm"].hardware
SERVED = at_default_efficiency(Serving(EIGHT, H100, "bf16", 512))
ONE_LAYER = replace(EIGHT, layers=1, tied=True)
ASKED = start()


def said(**changes):
    """Return what is shown for the initial values with some changes; figures as dicts."""
    found = respond({**ASKED, **changes})
    drawn = {name: json.loads(found[name]) for name in ("speed", "pass", "gamma", "round")}
    return found | drawn


def trace(figure, name):
    """Return the trace whose name begins with this."""
    return next(each for each in figure["data"] if each.get("name", "").startswith(name))


def speedup(found):
    """Return the speed-up of the answer, as it is shown."""
    return found["answer"].partition(": ")[2].partition(" plain")[0]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "**Yes:** 2.07 ×"),
        ({"batch": 330}, "**Probably:** 1.02 ×"),
        ({"batch": 512}, "**Probably not:** 0.89 ×"),
        ({"alpha": 0}, "**No:** 0.75 ×"),
        ({"gamma": 0}, "**Nothing is drafted**"),
        ({"batch": 512, "context": 8192}, "**No:** Llama-3.1-8B at batch size 512 does not fit"),
    ],
)
def test_tab_says_first_whether_drafting_pays(changes, verdict):
    assert said(**changes)["verdict"].startswith(verdict)


# Numbers


@pytest.mark.parametrize("batch", [1, 64, 83, 512])
def test_numbers_on_the_page_equal_the_formulas(batch):
    made = said(batch=batch)
    plan = DraftPlan.chain(0.7, 4, ONE_LAYER)
    found = predict(SERVED, plan, batch)
    draft, verify = found.draft / found.plain, found.verify / found.plain
    assert f" {verify:.2f} plain passes" in made["said"]
    assert speedup(made) == f"{found.speedup:.2f} ×"
    slower = (
        f"from batch size {first_losing_batch(SERVED, plan)} on; with γ = 1, up to 512 it is not."
    )
    assert slower in made["said"]
    bars = [each["x"][0] for each in made["round"]["data"]]
    assert bars == pytest.approx([found.tokens, draft, verify])
    rates = found.plain_tokens_per_second, found.tokens_per_second
    needed = format_quantity(memory_needed(SERVED, batch), "B")
    assert f"| Whole batch, tokens/s | {rates[0]:,.0f} | {rates[1]:,.0f} |" in made["table"]
    passes = f"{format_duration(found.plain)} | {format_duration(found.verify)}"
    assert f"| Target pass | {passes} |" in made["table"]
    assert f"| Memory | {needed} |" in made["table"]


def test_nearest_published_measurement_is_shown_with_its_source():
    found = said()["published"]
    nearest = next(each for each in published_numbers() if each.number == "1.38 ×")
    assert "\n- **1.38 ×** (EAGLE-3" in found
    assert f"]({nearest.source.url})" in found
    answers = said(model="llama-3.1-70b", cards=4, batch=32)
    assert "2.50 × plain decoding (the same over the efficiencies" in answers["answer"]
    large = answers["published"]
    assert "\n- **1.4 × slower** (draft model: Llama-3-70B, 4 × H100" in large
    assert "under light load it was **1.5 ×**" in large
    assert "another kind of drafter" in large
    assert large.count("It is below all that is simulated here (2.50 × and more).") == 2
    house = said(model="house", drafter="house-draft", hardware="laptop-cpu", dtype="fp32")
    assert house["published"].endswith("There is no published measurement of this target.")


@pytest.mark.slow
def test_efficiencies_scale_peak_bandwidth_and_peak_arithmetic():
    full = said(reading=100, computing=100)
    slow = said(reading=50, computing=100)
    memory = [trace(made["pass"], "memory")["y"][0] for made in (full, slow)]
    assert memory[1] == pytest.approx(2 * memory[0])
    assert speedup(said(reading=50, computing=50)) == speedup(full), "the same share of both"
    serving, plan = replace(SERVED, computing=0.4), DraftPlan.chain(0.7, 4, ONE_LAYER)
    gain = predict(serving, plan, 64).speedup
    assert speedup(said(computing=40)) == format_speedup(gain)
    assert gain < predict(SERVED, plan, 64).speedup


@pytest.mark.parametrize("batch", [64, 128, 512])
def test_predicted_speedup_has_a_range_over_published_efficiencies(batch):
    made, plan = said(batch=batch), DraftPlan.chain(0.7, 4, ONE_LAYER)
    low, high = speedup_range(SERVED, plan, batch)
    shares = [(0.55, 0.5), (0.55, 0.8), (0.9, 0.5), (0.9, 0.8)]
    gains = [predict(replace(SERVED, reading=r, computing=c), plan, batch).speedup
             for r, c in shares]  # fmt: skip
    assert (low, high) == (min(gains), max(gains))
    assert f" ({low:.2f} to {high:.2f} × over the efficiencies" in made["answer"]
    lows, highs = made["speed"]["data"][:2]
    at = highs["x"].index(batch)
    assert (lows["y"][at], highs["y"][at]) == (low, high)


def test_default_efficiency_is_the_middle_of_what_sources_report():
    for name, found in sources.efficiencies().items():
        assert ASKED[name] == found.default
        assert abs(found.default - (found.low + found.high) / 2) <= 2.5
        assert found.default % 5 == 0


@pytest.mark.slow
def test_speedup_curve_equals_the_predictions():
    made = said(drafter="llama-3.2-1b")["speed"]
    plan = DraftPlan.chain(0.7, 4, sources.models()["llama-3.2-1b"].shape)
    curve = trace(made, "this drafter")
    gains = [predict(SERVED, plan, b).speedup for b in curve["x"]]
    assert curve["y"] == pytest.approx(gains)
    free = [predict(SERVED, DraftPlan.chain(0.7, 4), b).speedup for b in curve["x"]]
    assert trace(made, "drafting free")["y"][: len(free)] == pytest.approx(free)
    assert trace(made, "slower from")["x"] == [first_losing_batch(SERVED, plan)]
    names = [each.get("name") for each in said(drafter=NGRAM)["speed"]["data"]]
    assert "drafting free" not in names


def test_pass_time_curve_equals_the_roofline():
    made = said(batch=8, overhead=2)["pass"]
    serving = replace(SERVED, overhead=0.002)
    curve = trace(made, "the pass")
    times = [pass_time(serving, 8, n) for n in curve["x"]]
    assert curve["y"] == pytest.approx([1e3 * t.seconds for t in times])
    assert trace(made, "memory")["y"] == pytest.approx([1e3 * t.memory for t in times])
    assert trace(made, "arithmetic")["y"] == pytest.approx([1e3 * t.compute for t in times])
    assert made["layout"]["shapes"][0]["x0"] == free_tokens(serving, 8)
    assert trace(made, "this round")["x"] == [5]


def test_displayed_best_draft_lengths_equal_best_gamma():
    best = [best_gamma(SERVED, 0.7, b, ONE_LAYER, MAX_GAMMA) for b in BATCHES]
    assert said()["gamma"]["data"][0]["y"] == best


@pytest.mark.slow
def test_out_of_memory_is_stated_and_drawn():
    made = said(context=4096)
    ask = Ask.from_values({**ASKED, "context": 4096})
    room = next(b for b in range(1, 513) if not predict(ask.serving, ask.plan, b).fits)
    area = next(each for each in made["speed"]["layout"]["shapes"] if each["type"] == "rect")
    assert room - 1 < area["x0"] < room
    assert max(trace(made["speed"], "this drafter")["x"]) == room - 1
    assert min(trace(made["speed"], "out of memory")["x"]) == room - 1
    assert not made["alert"].visible
    assert not said(context=4096, batch=room - 1)["alert"].visible
    assert "does not fit" in said(context=4096, batch=room)["alert"].value
    assert not said(model="llama-3.1-70b", cards=2)["alert"].visible


def test_alpha_of_a_tree_is_priced_with_a_tree_of_that_size():
    published = {"alpha": 0.931, "gamma": 6, "source": "eagle3"}
    made, plan = said(**published), DraftPlan.chain(0.931, 6, ONE_LAYER)
    tree = predict(SERVED, replace(plan, widths=(10, 10, 10, 10, 10, 9)), 64)
    assert made["verdict"].startswith(f"**No:** {format_speedup(tree.speedup)} plain decoding")
    assert "so a round checks 59 guesses. Choose" in made["verdict"], "no chain is recommended"
    assert "If a chain had this α, its best γ would be" in made["said"]
    assert "this α is a tree’s" in made["flags"]
    chain = said(**published, siblings="1")
    assert chain["verdict"].startswith(
        f"**Yes:** {format_speedup(predict(SERVED, plan, 64).speedup)}"
    )
    assert "a round checks 30 guesses" in said(**published | {"gamma": 3})["verdict"]
    assert "Nothing is drafted" in said(**published | {"gamma": 0})["verdict"]
    run = dict.fromkeys(("alpha", "gamma", "c", "verify", "tokens", "speedup"), 1) | {"guesses": 7}
    measured = said(gamma=1, source="step", runs=json.dumps({"step": run}))
    assert "a round checks 7 guesses" in measured["verdict"]
    with pytest.raises(ValueError, match="more than 128 draft tokens"):
        said(source="step", runs=json.dumps({"step": run | {"guesses": 1e6}}))


def test_alpha_that_is_not_the_drafters_is_said():
    medusa = {"alpha": 0.62, "source": "medusa"}
    assert said(**medusa)["note"].value.startswith("This α belongs to Medusa; drafting is priced")
    published = {"alpha": 0.401, "gamma": 10, "source": "pld"}
    for changes in ({}, published | {"drafter": NGRAM}, {"alpha": 0.4, "drafter": NGRAM}):
        assert not said(**changes)["note"].visible, changes
    assert "belongs to prompt lookup" in said(**published)["note"].value
    assert "is 0.40 (prompt lookup on" in said(drafter=NGRAM)["note"].value


def test_tree_prediction_divides_alpha_among_siblings_and_verifies_all():
    chain, tree = (Ask.from_values({**ASKED, "siblings": each}).plan for each in ("", "3, 2"))
    assert tree.tokens == pytest.approx(chain.tokens)
    assert (chain.widths, tree.widths) == ((1, 1, 1, 1), (3, 6, 6, 6))
    plain = said(gamma=0)
    assert set(trace(plain["speed"], "this drafter")["y"]) == {1.0}, "plain decoding"
    assert "nothing is drafted" in plain["answer"]


@pytest.mark.slow
def test_every_machine_model_example_and_limit_gives_a_prediction():
    models = cycle(sources.models())
    for machine, model in zip(sources.machines().values(), models, strict=False):
        drafter = [*drafters(model)][-1]
        found = said(hardware=machine.name, model=model, drafter=drafter, cards=8)
        assert found["dtype"].get("value", ASKED["dtype"]) in machine.peak
        assert found["answer"]
    assert len(sources.models()) <= len(sources.machines()), "each was used"
    for values in EXAMPLES.values():
        assert Ask.from_values({**ASKED, **values})
    least, most = ({name: limit[end] for name, limit in LIMITS.items()} for end in (1, 2))
    for values in (least, least | {"gamma": 1}, most, most | {"context": 0}):
        assert said(**values)["answer"]


def test_claims_about_batch_sizes_end_where_memory_does():
    ask = Ask.from_values({**ASKED, "context": 8192})
    fits = [b for b in range(1, 513) if predict(ask.serving, ask.plan, b).fits]
    assert (
        f"not slower at any batch size up to {fits[-1]}, the largest that fits in memory"
        in (said(context=8192)["said"])
    )
    assert "no batch size fits in memory." in said(model="llama-3.1-70b")["said"]
    assert "not slower at any batch size up to 512." in said(alpha=1, gamma=1)["said"]


def test_impossible_choices_are_replaced_and_gamma_rounded():
    assert list(drafters("house")) == [HEAD, NGRAM, "house-draft"]
    assert list(drafters("qwen3-4b")) == [HEAD, NGRAM, "qwen3-0.6b"]
    assert list(drafters("llama-3.1-70b")) == [HEAD, NGRAM, "llama-3.1-8b", "llama-3.2-1b"]
    assert list(drafters("qwen3-0.6b")) == [HEAD, NGRAM]
    made = said(hardware="t4", drafter="qwen3-0.6b")
    assert [name for _, name in made["dtype"]["choices"]] == ["fp16", "fp32"]
    assert (made["dtype"]["value"], made["drafter"]["value"]) == ("fp16", HEAD)
    assert [name for _, name in made["drafter"]["choices"]] == list(drafters("llama-3.1-8b"))
    assert "value" not in said(drafter=NGRAM)["drafter"], "a late answer undoes no other choice"
    assert "With γ = 5, " in (made := said(gamma=4.63))["said"]
    assert made["said"].endswith("so it uses γ = 5.")
    assert "With γ = 40, " in said(gamma=40)["said"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"hardware": "abacus"}, "No hardware is called 'abacus' here."),
        ({"hardware": ["h100-sxm"]}, "No hardware is called ['h100-sxm'] here."),
        ({"model": None}, "No model is called None here."),
        ({"siblings": "a tree"}, "Siblings at each depth must be whole numbers like 3, 2."),
        ({"siblings": "8, 8, 8"}, "Siblings 8, 8, 8 with γ 4 make a tree of 1,096 guesses"),
        ({"siblings": "0"}, "A node can have 1 to 8 guesses after it, not 0."),
        ({"batch": None}, "The batch size must be a number."),
        ({"batch": 0}, "The batch size must be between 1 and 512, not 0."),
        ({"batch": 1.5}, "The batch size must be a whole number, not 1.5."),
        ({"batch": float("inf")}, "The batch size must be a finite number."),
        ({"gamma": -1}, "γ must be between 0 and 64, not -1."),
        ({"cards": -1}, "The number of devices must be between 1 and 64, not -1."),
        ({"context": 10**9}, "The context must be between 0 and 131,072"),
        ({"alpha": 1.2}, "α must be a probability from 0 to 1, not 1.2."),
        ({"alpha": float("nan")}, "α must be a finite number."),
        ({"reading": 0}, "The share of the peak bandwidth must be between 5 and 100"),
        ({"computing": 101}, "The share of the peak arithmetic must be between 5 and 100"),
        ({"overhead": -1}, "The overhead must be between 0 and 1,000 ms."),
    ],
)
def test_invalid_values_are_refused_with_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        said(**changes)


def test_sources_of_every_preset_are_listed():
    listed = sources_list()
    for kind in (sources.machines(), sources.models(), sources.efficiencies()):
        for preset in kind.values():
            assert all(f"({one.url})" in listed for one in preset.sources), preset.title


def test_numbers_are_formatted_with_units():
    assert [format_duration(value) for value in (5.766e-3, 0.99999e-3, 4.2e-7, 1744)] == [
        "5.77 ms", "1.00 ms", "0.420 µs", "1,744 s",
    ]  # fmt: skip
    assert [format_figures(value) for value in (11_100.6, 65.0, 99.99)] == ["11,101", "65.0", "100"]
    speeds = {2.0713: "2.07 ×", 0.9996: "0.9996 ×", 1: "1.00 ×"}
    assert {value: format_speedup(value) for value in speeds} == speeds
