"""Races: order, events, traces, and numbers that can be computed by hand, without timings."""

from __future__ import annotations

import json
from dataclasses import replace

import circle
import pytest
import tiny
from test_flops_heads import counted, weights_met

from specviz import engine
from specviz.compare import run as racing
from specviz.compare import storage
from specviz.compare.measures import count_flops, total_seconds
from specviz.compare.race import (
    PLAIN,
    Lane,
    LaneEnded,
    LaneEvent,
    LaneProgress,
    LaneStarted,
    Race,
    RaceStarted,
    Results,
    unique_names,
)
from specviz.compare.report import report, reports
from specviz.compare.run import run
from specviz.compare.summary import race_summary
from specviz.drafters.ngram import NGram
from specviz.engine.decode import WARM_UP_ROUNDS
from specviz.models.passes import causal_lm_weights
from specviz.settings.settings import BadSettings, Sampling, Settings
from specviz.trace.check import check
from specviz.trace.events import Proposed
from specviz.trace.file import Trace
from specviz.trace.metrics import summary, token_ids

GREEDY = Settings(Sampling(temperature=0), max_new_tokens=24, gamma=3)
WARM = replace(GREEDY, sampling=Sampling(0.9))
NAMES = ["chain", "tree", "ngram"]


@pytest.fixture(scope="module", autouse=True)
def once():
    """Run every lane once, however short it is; repeated lanes have their own tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(racing, "MAX_TURNS", 1)
        yield


@pytest.fixture(scope="module")
def drafters(tiny_target):
    """Return drafters by lane: the same small model twice, often wrong, and prompt lookup."""
    small = tiny.draft(tiny.blurred(tiny.llama(), 0.1))
    return {"chain": small, "tree": small, "ngram": NGram()}


def made(settings=GREEDY, order_seed=1):
    """Return a race of a chain, a tree and prompt lookup."""
    lanes = (
        Lane("chain", "small", settings),
        Lane("tree", "small", replace(settings, siblings=[3, 2])),
        Lane("ngram", "ngram", settings),
    )
    return Race(tiny.PROMPT, "tiny", lanes, order_seed)


def raced(target, drafters, race, stop=engine.never, said=None):
    """Run a race; return its events, also in `said` as they come, and its results."""
    results, said = Results(race), [] if said is None else said
    for event in run(target, drafters, race, stop):
        said.append(event)
        results.add(event)
    return said, results


@pytest.fixture(scope="module")
def greedy(tiny_target, drafters):
    return raced(tiny_target, drafters, made())


@pytest.fixture(scope="module")
def sampled(tiny_target, drafters):
    return raced(tiny_target, drafters, made(WARM, 2))


# Lanes


def test_order_seed_determines_the_shuffled_order_of_lanes():
    orders = {made(order_seed=seed).order for seed in range(200)}
    assert all(sorted(order) == sorted([*NAMES, PLAIN]) for order in orders)
    assert len(orders) == 24  # every order of four
    assert made(order_seed=7).order == made(order_seed=7).order


def one(name="a", **changes):
    return Lane(name, "ngram", replace(GREEDY, **changes))


WRONG = [
    ([one()], "2 to 4 lanes besides plain decoding, not 1"),
    ([one(name) for name in "abcde"], "2 to 4 lanes besides plain decoding, not 5"),
    ([one(), one()], "Two lanes are called 'a'"),
    ([one(), one(PLAIN)], "Two lanes are called 'plain'"),
    ([one(), one("")], "1 to 120 characters"),
    ([one(), one("b", seed=2)], "the same seed; those of 'a' and 'b' differ"),
    ([one(), one("b", max_new_tokens=8)], "the same number of new tokens"),
    ([one(), one("b", sampling=Sampling(0.5))], "the same temperature"),
    ([one(), one("b", coins={"1 judge 1": 0.5})], "the same coins"),
]


def test_race_whose_lanes_are_not_comparable_is_rejected():
    for lanes, sentence in WRONG:
        with pytest.raises(BadSettings, match=sentence):
            Race("Once", "tiny", tuple(lanes), 1)


def test_lanes_may_differ_in_rule_and_shape_of_the_draft_but_not_in_name():
    lanes = [one(), one("b", gamma=8, siblings=[2], rule="greedy", candidates="greedy")]
    assert Race("Once", "tiny", tuple(lanes), 1).shared.gamma == Settings().gamma
    assert unique_names(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
    assert unique_names(["a", "a (2)", "a", "plain"]) == ["a", "a (2)", "a (3)", "plain (2)"]


# Running


@pytest.mark.slow
def test_lanes_run_one_at_a_time_in_the_announced_order_and_report_every_pass(greedy):
    said, results = greedy
    assert isinstance(said[0], RaceStarted)
    assert said[0].order == results.race.order == tuple(results.traces)
    running, places = None, []
    for event in said[1:]:
        if isinstance(event, LaneStarted):
            assert running is None
            running = event.lane
            places.append((event.number, event.lane))
        assert event.lane == running
        if isinstance(event, LaneEnded):
            running = None
    assert places == list(enumerate(said[0].order, 1))
    assert running is None
    for lane in reports(results):
        steps = [e for e in said if isinstance(e, LaneProgress) and e.lane == lane.name]
        assert [step.tokens for step in steps] == [tokens for _, tokens in lane.timeline]
        seconds = [seconds for seconds, _ in lane.timeline]
        assert [step.seconds for step in steps] == pytest.approx(seconds)
        assert seconds == sorted(seconds)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["greedy", "sampled"])
def test_every_lane_produces_a_valid_trace(which, request, tiny_target, drafters, tmp_path):
    """Assert that the trace passes `check`, round-trips, and decides like a separate run."""
    said, results = request.getfixturevalue(which)
    assert results.complete
    for name, bare in results.traces.items():
        events = [e.event for e in said if isinstance(e, LaneEvent) and e.lane == name]
        assert events[1:] == bare.events
        for trace in (bare, results.with_baseline(name)):
            trace.write(tmp_path / "lane.jsonl")
            again = Trace.read(tmp_path / "lane.jsonl")
            assert again == trace
            check(again)
        assert results.with_baseline(name).baseline == results.plain
        assert {*results.plain.token_ids} <= results.with_baseline(name).vocabulary.keys()
    for lane in results.race.lanes:
        header, *events = engine.run(
            tiny_target, drafters[lane.name], tiny.PROMPT, lane.settings, baseline=False
        )
        assert token_ids(Trace(header, events)) == token_ids(results.traces[lane.name])
        assert results.traces[lane.name].header == header
    settings = results.race.shared
    steps = list(engine.plain(tiny_target, header.prompt_ids, settings))
    assert results.plain.token_ids == [step.token for step in steps]
    margins = [s.margin for s in steps] if settings.sampling.greedy else None
    assert results.plain.margins == margins


@pytest.mark.slow
def test_warm_up_of_a_lane_is_excluded_from_its_time(tiny_target, drafters, monkeypatch):
    passes = []

    def counted(whole):
        def rounds(*args, **options):
            passes.append(0)
            for step in whole(*args, **options):
                passes[-1] += 1
                yield step

        return rounds

    monkeypatch.setattr(engine, "plain", counted(engine.plain))
    monkeypatch.setattr(racing.Decoding, "rounds", counted(racing.Decoding.rounds))
    _, results = raced(tiny_target, drafters, made())
    for (name, trace), cold, hot in zip(
        results.traces.items(), passes[::2], passes[1::2], strict=True
    ):
        assert cold == WARM_UP_ROUNDS
        assert hot == (24 if name == PLAIN else len(trace.rounds))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_stopped_race_keeps_its_finished_rounds(place, tiny_target, drafters):
    race, said = made(order_seed=3), []
    name = race.order[place]

    def enough():
        return sum(isinstance(e, LaneProgress) and e.lane == name for e in said) >= 2

    _, results = raced(tiny_target, drafters, race, enough, said)
    assert tuple(results.traces) == race.order[: place + 1]
    assert [e.lane for e in said if isinstance(e, LaneStarted)] == list(race.order[: place + 1])
    assert not results.complete
    last = report(results, name)
    verdict = "unknown" if results.plain is None and name != PLAIN else "stopped"
    assert (last.ended, last.passes, last.equality.verdict) == ("stopped", 2, verdict)
    assert last.tokens == len(last.token_ids) > 0
    assert (last.speedup, last.costs) == (None, None)
    for lane in reports(results):
        check(results.with_baseline(lane.name))
        half = lane.ended == "stopped" and lane.name != PLAIN
        assert not half or results.with_baseline(lane.name).baseline is None
        compared = lane.ended != "stopped" and results.plain is not None
        assert (lane.speedup is not None) == compared
    whole = race_summary(results)
    json.dumps(whole, allow_nan=False)
    assert whole["complete"] is False
    assert whole["texts"]["same"] is None


def test_race_stopped_before_its_start_has_an_order_and_no_lanes(tiny_target, drafters):
    said, results = raced(tiny_target, drafters, made(), stop=lambda: True)
    assert [type(event) for event in said] == [RaceStarted]
    whole = race_summary(results)
    assert (whole["lanes"], whole["order"]) == ([], list(made().order))
    assert "Nothing to compare" in whole["headline"]


def test_invalid_lane_is_reported_before_any_lane_runs(tiny_target, drafters):
    lanes = [Lane("a", "x", GREEDY), Lane("b", "x", replace(GREEDY, rule="speculative"))]
    race = Race(tiny.PROMPT, "tiny", tuple(replace(x, settings=x.settings) for x in lanes), 1)
    events = run(tiny_target, {"a": drafters["chain"], "b": NGram()}, race)
    with pytest.raises(BadSettings, match=r"^Lane 'b': The rule 'speculative' needs"):
        next(events)


# Turns


def turning(monkeypatch, turns=3, short=float("inf")):
    monkeypatch.setattr(racing, "MAX_TURNS", turns)
    monkeypatch.setattr(racing, "SHORT_SECONDS", short)


@pytest.mark.slow
def test_short_lanes_run_three_times_and_report_the_median_run(
    tiny_target, drafters, monkeypatch, tmp_path
):
    turning(monkeypatch)
    said, results = raced(tiny_target, drafters, made())
    began = [(e.turn, e.number, e.lane) for e in said if isinstance(e, LaneStarted)]
    order = list(enumerate(results.order, 1))
    assert began == [(turn, *each) for turn in (1, 2, 3) for each in order]
    assert results.complete
    for name, trace in results.traces.items():
        runs = [e.trace for e in said if isinstance(e, LaneEnded) and e.lane == name]
        assert results.seconds[name] == list(map(total_seconds, runs))
        assert total_seconds(trace) == sorted(results.seconds[name])[1]
        lane = report(results, name)
        assert lane.runs == results.seconds[name]
        assert lane.seconds == pytest.approx(sorted(lane.runs)[1])
    storage.write(tmp_path, results)
    assert storage.read(tmp_path) == results
    data = json.loads((tmp_path / storage.FILE).read_text())
    data["seconds"][PLAIN] = [9.0, 8.0, 7.0]
    (tmp_path / storage.FILE).write_text(json.dumps(data))
    with pytest.raises(storage.SavedError, match=r"the seconds of .* do not"):
        storage.read(tmp_path)


@pytest.mark.slow
def test_long_lane_runs_once(tiny_target, drafters, monkeypatch):
    turning(monkeypatch, short=0.0)
    said, results = raced(tiny_target, drafters, made())
    assert [e.turn for e in said if isinstance(e, LaneStarted)] == [1] * 4
    assert {len(runs) for runs in results.seconds.values()} == {1}
    assert [lane.speedups for lane in reports(results)] == [None] * 4


@pytest.mark.slow
def test_stopping_a_repeated_lane_keeps_its_complete_runs(tiny_target, drafters, monkeypatch):
    turning(monkeypatch)
    results, again = Results(made()), []
    for event in run(tiny_target, drafters, made(), lambda: len(again) > 3):
        results.add(event)
        if again or (isinstance(event, LaneStarted) and event.turn == 2):
            again.append(event)
    assert isinstance(again[-1], LaneEnded)
    assert again[-1].trace.finished.reason == "stopped"
    assert results.complete
    assert all(len(runs) == 1 for runs in results.seconds.values())
    assert report(results, "chain").speedup is not None


# Numbers


@pytest.mark.slow
def test_numbers_of_a_lane_equal_those_of_its_trace(greedy):
    _, results = greedy
    plain = results.plain
    a_pass = sum(plain.seconds) / len(plain.seconds)
    for name in NAMES:
        lane, trace = report(results, name), results.with_baseline(name)
        numbers, rounds = summary(trace), trace.rounds
        assert lane.tokens == numbers["tokens"] == 24
        assert lane.passes == numbers["target_passes"] == len(rounds)
        assert lane.brings == numbers["tokens_per_pass"]
        assert lane.kept == numbers["accepted_length"]
        assert lane.alpha == numbers["alpha"]
        assert lane.seconds == pytest.approx(numbers["total_seconds"])
        assert lane.speedup == pytest.approx(numbers["speedup"])
        assert lane.speedup == pytest.approx(lane.brings / lane.costs.total)
        assert lane.costs.draft == pytest.approx(numbers["draft_seconds"] / len(rounds) / a_pass)
        first = rounds[0].scored.seconds
        target = sum(r.scored.seconds for r in rounds) - first
        assert lane.costs.target == pytest.approx(target / len(rounds) / a_pass)
        read = first + rounds[0].committed.judge_seconds + rounds[0].committed.commit_seconds
        assert lane.costs.prefill == pytest.approx(read / len(rounds) / a_pass)
        guesses = [len(r.proposed.guesses) for r in rounds[1:]]
        assert lane.guesses == sum(guesses) / len(rounds)
        assert lane.drafting == sum(many > 0 for many in guesses)
        assert lane.timeline[-1] == (pytest.approx(lane.seconds), 24)
        assert len(lane.timeline) == len(lane.parts) == len(rounds)
        assert lane.tokens_per_second == pytest.approx(24 / lane.seconds)


@pytest.mark.slow
def test_plain_decoding_has_speedup_1(greedy):
    lane = report(greedy[1], PLAIN)
    assert (lane.brings, lane.passes, lane.tokens) == (1, 24, 24)
    assert (lane.speedup, lane.costs.total) == (pytest.approx(1), pytest.approx(1))
    assert (lane.guesses, lane.kept, lane.alpha, lane.depths) == (None, None, None, [])
    assert lane.token_ids == greedy[1].plain.token_ids
    head = greedy[1].traces[PLAIN].header
    assert (head.drafter.name, head.drafter.parameters, head.rule) == (PLAIN, 0, "greedy")


@pytest.mark.slow
def test_lanes_write_one_text_at_temperature_0_and_other_samples_above_it(greedy, sampled):
    for lane in reports(greedy[1]):
        assert (lane.equality.verdict, lane.equality.tokens) == ("same", 24)
    assert race_summary(greedy[1])["texts"]["same"] is True
    assert race_summary(sampled[1])["texts"]["same"] is False
    plain = sampled[1].plain.token_ids
    for lane in reports(sampled[1])[:-1]:
        at = lane.equality.position
        assert lane.equality.verdict == "sampled"
        assert lane.token_ids[:at] == plain[:at]
        assert lane.token_ids[at] != plain[at]


# Arithmetic


SHORT = replace(GREEDY, max_new_tokens=8)
DEEP = replace(SHORT, gamma=4, siblings=[3, 2])


@pytest.mark.slow
def test_computed_flops_are_right_for_other_models_and_plain_decoding(tiny_target, greedy):
    target = circle.target()
    head = circle.eagle3_head(target, vocabulary=4)
    assert DEEP.fan_out > 4
    cases = [(target, circle.Eagle3(head, tiny.card(head, "tiny-eagle3", "eagle3")), DEEP)]
    for model in (tiny.llama(tie_word_embeddings=False), tiny.gpt2()):  # a lookup counts nothing
        cases.append((tiny.target(model), tiny.draft(), SHORT))
    for case in cases:
        derived, truth = counted(*case)
        assert derived.total == truth
    ids = greedy[1].traces[PLAIN].header.prompt_ids
    truth = weights_met(lambda: list(engine.plain(tiny_target, ids, GREEDY)))
    lane = report(greedy[1], PLAIN)
    assert (lane.flops.total, lane.flops_per_token) == (truth, truth / 24)


@pytest.mark.slow
def test_flops_are_unknown_if_a_round_records_no_drafter_work(greedy, tiny_target):
    trace = greedy[1].traces["chain"]
    last = next(e for e in reversed(trace.events) if isinstance(e, Proposed))
    silent = [replace(e, work=None) if e is last else e for e in trace.events]
    weights = causal_lm_weights(tiny_target.model)
    found = count_flops(Trace(trace.header, silent), weights, weights)
    assert (found.drafter, found.total) == (None, None)
    assert found.target > 0
