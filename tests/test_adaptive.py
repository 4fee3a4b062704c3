"""Adaptive verification: the chosen guesses against a search over all choices, and the section."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from specviz.cost.adaptive import Load, RequestGroup, deal, measured_drafters
from specviz.cost.measured_costs import FOLDER, load_shipped
from specviz.cost.roofline import DraftPlan, pass_time, predict, shared_pass_time
from specviz.ui.cost.adaptive import (
    LOADS,
    SETUPS,
    START,
    Ask,
    answer,
    deployment,
    drafters,
    respond,
    setups,
)


def random_load(seed):
    """Return three requests with drafts of two or three guesses, and random pass times."""
    chance = Random(seed)
    groups = tuple(
        RequestGroup(str(at), 1, [chance.random() for _ in range(chance.choice((2, 3)))])
        for at in range(3)
    )
    times = [0.0]
    for _ in range(20):
        times.append(times[-1] + 0.1 + chance.random() ** 3)
    return Load(groups, lambda requests, tokens: times[tokens], chance.random())


def every_choice(load):
    """Yield the checked guesses and the expected tokens of every way to shorten each draft."""
    for lengths in product(*(range(len(group.acceptance) + 1) for group in load.groups)):
        kept = [sum(g.survival[:n]) for g, n in zip(load.groups, lengths, strict=True)]
        yield sum(lengths), load.requests + sum(kept)


def test_plans_are_the_best_of_all_possible_plans():
    for load in map(random_load, range(20)):
        choices = list(every_choice(load))
        for slots in range(7):
            best = max(tokens for count, tokens in choices if count == slots)
            plan = load.budget(slots)
            assert (plan.slots, plan.tokens) == (slots, pytest.approx(best))
        speeds = [
            tokens / (load.drafting + load.pass_seconds(3, 3 + slots)) for slots, tokens in choices
        ]
        fastest = max([*speeds, load.plain().tokens_per_second])
        assert load.best().tokens_per_second == pytest.approx(fastest)
        assert load.best_static()[1].tokens_per_second <= fastest * (1 + 1e-12)


def test_static_plan_verifies_the_same_number_of_guesses_in_every_request():
    groups = (RequestGroup("a", 2, [0.5, 0.5]), RequestGroup("b", 1, [0.8]))
    load = Load(groups, lambda requests, tokens: 1.0 + tokens, 0.5)
    plan = load.static(2)
    assert plan.checked == ((2, 2), (1,))
    assert plan.tokens == pytest.approx(3 + 2 * 0.75 + 0.8)
    assert plan.seconds == 0.5 + 1.0 + 3 + 5
    assert load.plain().seconds == 4.0


def test_confident_late_guess_is_checked_before_a_doubtful_first_guess():
    groups = (RequestGroup("sure", 1, [0.9] * 5), RequestGroup("unsure", 1, [0.5]))
    load = Load(groups, lambda requests, tokens: 1.0, 0.0)
    assert load.budget(5).checked == ((1, 1, 1, 1, 1), (0,))  # 0.9^5 is 0.59


def test_requests_are_divided_evenly_among_domains():
    assert [group.requests for group in deal(7, {"a": [0.5], "b": [0.5], "c": [0.5]})] == [3, 2, 2]


def test_measured_deployments_have_the_measured_speeds_and_overhead():
    file = load_shipped(FOLDER / "cpu-2-cores.json")
    sweep = file.sweep(file.models[0], file.models[0].places[0])
    found = deployment("cpu-2-cores/smollm2-135m")
    speeds = found.hardware.peak_in(found.dtype), found.hardware.bandwidth
    assert (speeds, found.overhead) == (sweep.peaks, sweep.overhead)
    plain = replace(found, context=sweep.context)
    assert pass_time(plain, 1, 1).seconds == pytest.approx(sweep.plain)
    assert "SmolLM2-135M on 2 CPU cores" in setups()["cpu-2-cores/smollm2-135m"]


def test_every_load_fits_in_memory_and_shared_pass_time_agrees_with_that_of_one_token():
    assert all(
        predict(deployment(setup), DraftPlan.chain(0.8, 7), LOADS[-1]).fits for setup in SETUPS
    )
    serving = deployment("h100")
    alone, shared = pass_time(serving, 16, 1), shared_pass_time(serving, 16, 16)
    assert shared.memory == pytest.approx(alone.memory)
    assert shared.compute == pytest.approx(alone.compute, rel=0.01)


def test_measured_acceptance_omits_rarely_judged_positions():
    for drafter in measured_drafters(0.0).values():
        assert all(0 <= kept <= 1 for row in drafter.domains.values() for kept in row)
        assert all(drafter.domains.values())
    assert "dspark" in drafters()


def test_numbers_on_the_page_equal_those_of_the_plan():
    ask = Ask.from_values({**START, "slots": 100})
    found, load = answer(ask), ask.load(ask.requests)
    plan = load.budget(100)
    (cells,) = found["grid"].data
    for words, counts in zip(cells.text, plan.checked, strict=True):
        checked = [int(word.split("<br>")[1].split()[0]) for word in words if word]
        assert checked == list(counts)
    assert len(found["grid"].layout.shapes) == sum(n > 0 for row in plan.checked for n in row)
    speed = plan.tokens_per_second / load.plain().tokens_per_second
    assert f"{speed:.2f} ×" in found["answer"]
    here = found["speeds"].data[-1]
    assert (here.x, here.y) == ((160,), (speed,))
    assert f"| The likeliest tokens | 100 | {plan.tokens:,.0f} |" in found["plans"]


def test_slider_shows_the_best_number_of_tokens_until_another_is_chosen():
    load = Ask.from_values(START).load(START["requests"])
    best = respond({**START, "best": True, "slots": 0})
    assert (best["slots"].value, best["slots"].interactive) == (load.best().slots, False)
    nothing = respond({**START, "best": False, "slots": 0})
    assert nothing["slots"].interactive
    assert "plain decoding is fastest" in nothing["answer"]


def test_invalid_values_raise_readable_error():
    for change, says in (
        ({"drafter": "ngram"}, "not measured"),
        ({"temperature": 0.5}, "must be 0 or 1"),
        ({"setup": "moon"}, "no such deployment"),
        ({"requests": 3}, "must be one of 5, 10"),
        ({"drafting": 9}, "between 0 and 3"),
        ({"slots": -1}, "whole number"),
        ({"slots": True}, "whole number"),
    ):
        with pytest.raises(ValueError, match=says):
            Ask.from_values({**START, **change})
