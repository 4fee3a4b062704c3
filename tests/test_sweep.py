"""The machine sweep: the measurements and their order, its file, sentences and figure."""

import asyncio
import json
import re
from dataclasses import replace

import pytest
import tiny
from reader import texts as texts_of

from specviz.bench.sweep import MAX_ROUNDS, MIN_ROUNDS, PRODUCT, READ, SweepPlan, SweepRun
from specviz.commands.cli import main
from specviz.cost import sweep_text
from specviz.cost.figures.measured import sweep_figure
from specviz.cost.roofline import Hardware, ModelShape, Serving, pass_time
from specviz.cost.sweep import SIZES, PassSamples, Sweep, SweepError
from specviz.ui.cost import sweep
from specviz.ui.cost.sweep import LIVE, picture
from specviz.ui.task import Machine
from specviz.ui.worker import Worker

SHAPE = ModelShape(12, 256, 4, 4, 64, 704, 4096, tied=True, qk_norm=False)


@pytest.fixture(scope="module")
def swept(tiny_target):
    """A whole sweep of the tiny target, and its steps."""
    sweeping = SweepRun(tiny_target, SweepPlan(budget=0.0))
    steps = list(sweeping.steps())
    return sweeping.sweep(), steps


def made(seconds=None, spread=0.0, **changes):
    """A sweep with given medians in ms by tokens."""
    given = seconds or {n: 5.0 + 0.1 * n for n in SIZES}
    points = [
        PassSamples(n, [ms / 1000 * f for f in (1 - spread, 1, 1 + spread)])
        for n, ms in given.items()
    ]
    usual = Sweep(
        "house", SHAPE, "2 CPU cores", "", "float32", 2, {"torch": "2"}, 128, 1, 3,
        [1e11], [2e10], points,
    )  # fmt: skip
    return replace(usual, **changes)


@pytest.mark.slow
def test_sweep_measures_every_size_as_often_as_planned_and_round_trips(swept, tmp_path):
    sweep, steps = swept
    assert [point.tokens for point in sweep.points] == list(SIZES)
    assert {len(point.seconds) for point in sweep.points} == {MIN_ROUNDS} == {sweep.rounds}
    assert len(sweep.flops) == len(sweep.bandwidth) == MIN_ROUNDS
    assert sweep.complete
    warming = [step for step in steps if step.of is None]
    turns = len(SIZES) + 2
    assert len(warming) == turns
    assert [(s.done, s.of) for s in steps[turns:]] == [
        (n + 1, turns * MIN_ROUNDS) for n in range(turns * MIN_ROUNDS)
    ]
    sweep.write(tmp_path / "sweep.json")
    assert Sweep.read(tmp_path / "sweep.json") == sweep
    again = json.loads((tmp_path / "sweep.json").read_text())
    assert not {"date", "time", "host"} & set(again)


def test_measurement_order_is_shuffled_each_round_and_depends_on_the_seed():
    orders = [SweepPlan(seed=7).order(number) for number in range(4)]
    assert orders == [SweepPlan(seed=7).order(number) for number in range(4)]
    assert all(set(order) == {*SIZES, PRODUCT, READ} for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert orders != [SweepPlan(seed=8).order(number) for number in range(4)]
    assert all([turn for turn in order if turn in SIZES] != list(SIZES) for order in orders)


@pytest.mark.slow
def test_sizes_are_timed_in_the_shuffled_order(tiny_target, monkeypatch):
    sweeping, met = SweepRun(tiny_target, SweepPlan(seed=3, budget=0.0)), []
    monkeypatch.setattr(sweeping, "_seconds", lambda turn: met.append(turn) or 0.001)
    list(sweeping.steps())
    plan = sweeping.plan
    assert met == [turn for number in range(MIN_ROUNDS + 1) for turn in plan.order(number)]


def test_time_budget_determines_the_number_of_rounds():
    plan = SweepPlan(budget=4.0)
    assert [plan.rounds(seconds) for seconds in (10.0, 0.5, 0.001)] == [MIN_ROUNDS, 8, MAX_ROUNDS]


@pytest.mark.slow
def test_sweep_on_a_slow_machine_stops_after_the_round_that_exceeds_its_time(tiny_target):
    sweeping = SweepRun(tiny_target, SweepPlan(longest=0.0))
    list(sweeping.steps())
    sweep = sweeping.sweep()
    assert {len(point.seconds) for point in sweep.points} == {1}
    assert sweep.complete


def test_stopped_sweep_keeps_finished_measurements(tiny_target):
    sweeping = SweepRun(tiny_target, SweepPlan(budget=0.0))
    seen = []
    for step in sweeping.steps(lambda: len(seen) == len(SIZES) + 2 + 6):
        seen.append(step)
    sweep = sweeping.sweep()
    order = sweeping.plan.order(1)[:6]
    assert {point.tokens for point in sweep.points} == {n for n in order if n in SIZES}
    assert not sweep.complete
    quiet = [PassSamples(point.tokens, [0.1]) for point in sweep.points]
    assert "stopped" in sweep_text.caution(replace(sweep, points=quiet))
    assert Sweep.from_text(sweep.to_text()) == sweep
    picture(sweep, "live")


def test_measuring_a_pass_leaves_the_cache_unchanged(tiny_target):
    from specviz.bench.sweep import PassTimer

    passes = PassTimer(tiny_target, 16, 8)
    before = [layer.keys.clone() for layer in passes.run.cache.layers]
    for tokens in (8, 1, 3):
        assert passes.seconds(tokens) > 0.0
    after = [layer.keys for layer in passes.run.cache.layers]
    assert all(a.shape == b.shape and (a == b).all() for a, b in zip(before, after, strict=True))


def test_target_without_room_or_of_another_architecture_raises_readable_error():
    with pytest.raises(ValueError, match="can see 150 tokens, and a sweep needs 192"):
        SweepRun(tiny.target(tiny.llama(max_position_embeddings=150)))
    with pytest.raises(ValueError, match="config lacks"):
        SweepRun(tiny.target(tiny.gpt2()))


BROKEN = [
    ("", "not valid JSON"),
    ("[" * 100_000, "not valid JSON"),
    ("[]", "not a sweep"),
    ('{"format": "specviz-trace", "version": 1}', "not a sweep"),
    ('{"format": "specviz-sweep", "version": 2}', "not a sweep"),
    ('{"format": "specviz-sweep", "version": 1}', "missing"),
    ({"points": "many"}, "points"),
    ({"points": [{"tokens": 1, "seconds": []}]}, "need a measurement"),
    ({"points": [{"tokens": 1, "seconds": [-1.0]}]}, "greater than 0"),
    ({"points": [{"tokens": 0, "seconds": [1.0]}]}, "greater than 0"),
    ({"points": [{"tokens": 2, "seconds": [1.0]}, {"tokens": 1, "seconds": [1.0]}]}, "increasing"),
    ({"flops": [float("nan")]}, "greater than 0"),
    ({"bandwidth": [float("inf")]}, "greater than 0"),
    ({"dtype": "int4"}, "int4"),
    ({"threads": "two"}, "threads"),
    ({"shape": {}}, "missing"),
    ({"<b>": 1}, "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), BROKEN)
def test_damaged_sweep_file_raises_readable_error(change, said, tmp_path):
    path = tmp_path / "sweep.json"
    text = change if isinstance(change, str) else json.dumps(json.loads(made().to_text()) | change)
    path.write_text(text)
    with pytest.raises(SweepError, match=said) as refused:
        Sweep.read(path)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("bytes", "nothing"):
        with pytest.raises(SweepError, match="cannot be read"):
            Sweep.read(tmp_path / name)


def test_predicted_pass_times_equal_the_roofline_at_the_measured_peaks():
    sweep = made(flops=[5e10, 1e11], bandwidth=[2e10, 1e10])
    here = Hardware("here", {"fp32": 1e11}, 2e10, 1e9)
    for tokens in SIZES:
        wanted = pass_time(Serving(SHAPE, here, "fp32", 128), 1, tokens)
        assert sweep.predicted(tokens) == wanted
    line = sweep.predicted(1)
    assert line.origin == "simulated"
    assert sweep.overhead == pytest.approx(0.0051 - line.seconds)
    assert sweep.predicted(1, sweep.overhead).seconds == pytest.approx(sweep.plain)


def test_sentences_of_a_sweep_agree_with_its_numbers():
    sweep = made({1: 10.0, 5: 12.0, 17: 17.0, 64: 40.0})
    told = sweep_text.summarize(sweep)
    assert re.findall(r"\d+\.?\d*", told) == ["5", "1.20", "17", "1.70"]
    assert sweep_text.summarize(sweep, here=False).startswith("On 2 CPU cores, a pass")
    needed = sweep_text.required_tokens(sweep)
    assert re.findall(r"\d+\.?\d*", needed) == ["4", "1.20", "16", "1.70"]
    assert "Verification is free" in sweep_text.required_tokens(made({1: 10.0, 5: 9.9, 17: 10.0}))
    line = 1000 * sweep.predicted(1).seconds
    overhead = sweep_text.overhead_sentence(sweep)
    assert f"takes 10.0 ms; the roofline predicts {line:.2f} ms (simulated)" in overhead
    assert f"The other {10.0 - line:.2f} ms are overhead, most of the pass" in overhead
    growths = {60.0: "below the peak", 24.0: "per pass", 17.0: "overlaps", 9.0: "hidden"}
    for large, said in growths.items():
        assert said in sweep_text.overhead_growth_sentence(made({1: 10.0, 64: large}))


def test_bandwidth_share_is_bytes_over_bandwidth_over_pass_time():
    """2e10 bytes a second: the peak; 10 ms a pass; weights, and 128 tokens of context and one."""
    sweep = made({1: 10.0, 5: 12.0}, bandwidth=[1e10, 2e10], processor="Some Chip")
    read = SHAPE.weight_bytes("fp32") + 129 * SHAPE.cache_bytes("fp32")
    share = read / 2e10 / 0.010
    assert sweep.share_of_memory_speed == pytest.approx(share)
    assert f"a plain pass reaches {share:.2f} of the memory" in sweep_text.memory_sentence(sweep)
    recorded = sweep_text.sweep_facts(sweep, here=False)["memory"]
    assert recorded.startswith("On 2 CPU cores (Some Chip, recorded), a plain pass reaches")
    for changes in ({"bandwidth": []}, {"points": [PassSamples(5, [0.1])]}):
        assert made(**changes).share_of_memory_speed is None
        assert sweep_text.memory_sentence(made(**changes)) == ""


def test_headline_says_if_times_are_too_noisy():
    noisy = sweep_text.sweep_facts(made(spread=0.9))
    assert noisy["restless"]
    assert noisy["answer"].startswith("The machine was too busy to measure")
    assert "On this machine, a pass over 5 tokens" in noisy["caution"]
    assert not any(noisy[name] for name in ("must", "memory", "gap", "grows"))
    quiet = sweep_text.sweep_facts(made(spread=0.05))
    assert quiet["answer"].startswith("On this machine, a pass")
    assert not quiet["restless"]
    assert not quiet["caution"]
    assert all(quiet[name] for name in ("must", "gap"))


def test_figure_of_a_sweep_can_be_drawn_from_few_measurements():
    few = [[], [PassSamples(5, [0.1])], [PassSamples(1, [0.1])]]
    for changes in ({"flops": []}, *({"points": points} for points in few)):
        told = picture(made(**changes), "live")
        assert told["answer"]
        json.dumps(told, allow_nan=False)
    assert sweep.recorded()["source"] == "recorded"


def test_figure_draws_measured_values_as_markers_and_simulated_ones_dashed():
    sweep = made()
    data = sweep_figure(sweep)["data"]
    assert data["30-measured"]["mode"] == "markers"
    assert data["30-measured"]["y"] == pytest.approx([5.0 + 0.1 * n for n in SIZES])
    for name, over in (("10-roofline", 0.0), ("11-overhead", sweep.overhead)):
        assert data[name]["line"]["dash"] != "solid"
        assert data[name]["y"][-1] == pytest.approx(1000 * sweep.predicted(64, over).seconds)


async def heard(runs, stop_at=None):
    text = ""
    async for text in texts_of(runs, LIVE, "me", 1.0):
        if stop_at is not None and text.count('"progress"') >= stop_at:
            runs.line.stop("me")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def runs(tiny_target, monkeypatch):
    """Runs whose house target is the tiny one, and which send every line at once."""
    monkeypatch.setattr("specviz.ui.stream.PAUSE", -1.0)
    monkeypatch.setattr("specviz.ui.stream.DRAWING", 0.0)
    monkeypatch.setattr(Machine, "load", lambda *_: (tiny_target, []))
    monkeypatch.setattr(sweep, "OFTEN", -1.0)
    monkeypatch.setattr("specviz.bench.sweep.MAX_ROUNDS", MIN_ROUNDS)
    return Worker(Machine("cpu"))


@pytest.mark.slow
def test_page_receives_progress_and_the_finished_sweep(runs):
    said = asyncio.run(heard(runs))
    kinds = [each.get("state", each["kind"]) for each in said]
    assert kinds[:2] == ["loading", "measuring"]
    assert kinds[-2:] == ["sweep", "done"]
    assert [row["tokens"] for row in said[-2]["rows"]] == list(SIZES)
    assert {each["id"] for each in said} == {"1"}
    assert len(runs.line) == 0


@pytest.mark.slow
def test_stopped_sweep_sends_its_finished_measurements(runs):
    said = asyncio.run(heard(runs, stop_at=len(SIZES) + 2 + 20))
    assert said[-1]["state"] == "stopped"
    assert said[-2]["kind"] == "sweep"
    progress = [each for each in said if each["kind"] == "progress"]
    assert progress[-1]["done"] < progress[-1]["of"]
    assert said[-2]["rows"]


def test_rejected_sweep_is_reported_in_one_sentence(runs, monkeypatch):
    monkeypatch.setattr(Machine, "load", lambda *_: (tiny.target(tiny.gpt2()), []))
    said = asyncio.run(heard(runs))
    assert said[-1]["kind"] == "error"
    assert "config lacks" in said[-1]["sentence"]


@pytest.mark.slow
def test_sweep_command_writes_a_file_that_the_page_reads(pair, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("specviz.bench.sweep.MAX_ROUNDS", MIN_ROUNDS)
    path = tmp_path / "sweep.json"
    assert main(["sweep", "--target", str(pair[0]), "--device", "cpu", "--json", str(path)]) == 0
    assert Sweep.read(path).complete
    assert "Plain passes" in capsys.readouterr().out
