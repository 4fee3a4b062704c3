"""The benchmark and the machine sweep: rows, equal work of all methods, measurements and figure."""

import asyncio
import json
import re
import signal
from dataclasses import asdict, replace

import pytest
import tiny
from reader import stop_jobs
from reader import texts as texts_of

from specviz import engine
from specviz.adapters import llamacpp
from specviz.bench import methods as entrants
from specviz.bench import reference
from specviz.bench.measure import Row, TimedCall, measure, take_turns
from specviz.bench.methods import Entrant, Method, Outcome, Prompt, all_methods
from specviz.bench.noise import explain_row_noise, noise_text
from specviz.bench.outcomes import DepthTally, Tally, sum_tallies, tally_rounds
from specviz.bench.sweep import (
    MAX_ROUNDS,
    MIN_ROUNDS,
    PRODUCT,
    READ,
    PassTimer,
    SweepPlan,
    SweepRun,
)
from specviz.catalog import NotAvailable, entries, loading
from specviz.commands import progress
from specviz.commands.bench import row_cells
from specviz.commands.cli import main
from specviz.compare.report import count_by_depth
from specviz.cost import sweep_text
from specviz.cost.figures.sweep import OVERHEAD, ROOFLINE, sweep_figure
from specviz.cost.roofline import Hardware, ModelShape, Serving, pass_time
from specviz.cost.sweep import SIZES, PassSamples, Sweep, SweepError
from specviz.drafters.layerskip import LayerSkip
from specviz.drafters.ngram import NGram
from specviz.glossary import GLOSSARY
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import ASSETS
from specviz.trace.file import Trace
from specviz.trace.metrics import summary, token_ids
from specviz.ui.cost import sweep
from specviz.ui.cost.sweep import LIVE, pictured
from specviz.ui.task import Machine
from specviz.ui.worker import Worker

GREEDY = Settings(Sampling(temperature=0), max_new_tokens=16, gamma=3)
NAMES = ["plain", "tiny-draft", "tiny-draft, traced", "ngram", "ngram, traced"]
NAMES += [f"transformers {way}" for way in ("generate", "assisted generation", "prompt lookup")]


@pytest.fixture(autouse=True)
def without_llama_cpp(monkeypatch):
    """Hide llama.cpp, so that rows are the same everywhere; see test_llamacpp.py."""
    monkeypatch.setattr(llamacpp, "is_installed", lambda: False)


def ways_of(target, drafters, settings):
    """Return all methods, every drafter with the same settings."""
    return all_methods(target, [Entrant(drafter, settings) for drafter in drafters], settings)


@pytest.fixture
def prompt(tiny_target):
    return Prompt(tiny.PROMPT, tuple(tiny_target.encode(tiny.PROMPT, 16)))


@pytest.mark.slow
def test_benchmark_has_a_row_for_every_method_and_domain(tiny_target, tiny_draft, prompt):
    ways = ways_of(tiny_target, [tiny_draft, NGram()], GREEDY)
    rows = list(measure(tiny_target, ways, {"a": [prompt], "b": [prompt]}, repeats=2))
    assert [(row.domain, row.name) for row in rows] == [(d, n) for d in "ab" for n in NAMES]
    for row in rows:
        assert row.runs == 2
        assert row.tokens_per_second > 0
        assert row.ratio_to_plain > 0
        assert row.tokens_per_pass >= 1
        assert (row.dtype, row.temperature, row.gamma) == ("float32", 0, 3)
        assert (row.ratio_to_transformers is None) == row.name.startswith("transformers")
    draft = next(row for row in rows if row.name == "tiny-draft")
    assert draft.draft_cost > 0
    assert draft.round_draft_cost > 0
    assert draft.round_check_cost > 0
    assert draft.tokens_per_pass > 1
    assert 0 < draft.alpha <= 1
    assert len(draft.kept_by_depth) == len(draft.judged_by_depth) == 3
    assert rows[0].alpha is None


@pytest.mark.slow
@pytest.mark.parametrize("law", [Sampling(temperature=0), Sampling(0.7, top_k=20, top_p=0.9)])
def test_assisted_generation_needs_an_assistant_model(tiny_target, prompt, law):
    ways = ways_of(tiny_target, [NGram()], Settings(law, max_new_tokens=8))
    needed = [name for name in NAMES if "draft" not in name and "assisted" not in name]
    assert [way.name for way in ways] == needed
    for way in ways:
        assert 1 <= way.decode(prompt).tokens <= 8


@pytest.mark.slow
def test_transformers_methods_need_as_many_passes_as_ours_at_temperature_0(
    tiny_target, tiny_draft, prompt
):
    """Compare the number of tokens, and of passes except for our separate prefill."""
    ways = {way.name: way for way in ways_of(tiny_target, [tiny_draft], GREEDY)}
    ours, theirs = ways["tiny-draft"], ways["transformers assisted generation"]
    assert ways["plain"].decode(prompt).tokens == theirs.decode(prompt).tokens
    assert abs(ours.decode(prompt).passes - theirs.decode(prompt).passes) <= 1
    generated = ways["transformers generate"].decode(prompt)
    assert generated.passes == generated.tokens == ways["plain"].decode(prompt).passes


@pytest.mark.slow
def test_config_of_the_assistant_model_is_restored(tiny_target, prompt):
    small = tiny.draft().model
    config, whole, seen = small.generation_config, small.generate, []
    before = config.to_dict()
    small.generate = lambda **options: seen.append(config.to_dict()) or whole(**options)
    reference.assisted(tiny_target, prompt.ids, replace(GREEDY, confidence=0.25), small)
    assert config.to_dict() == before
    name = "num_assistant_tokens"
    assert (seen[0][name], seen[0][f"{name}_schedule"]) == (3, "constant")
    assert seen[0]["assistant_confidence_threshold"] == 0.25


def test_methods_take_turns_in_rotating_order(tiny_target, prompt):
    order = []

    def way(name):
        return Method(name, lambda _: order.append(name) or Outcome(1, 1), GREEDY)

    turns = take_turns(tiny_target, [way("a"), way("b"), way("c")], [prompt] * 3)
    assert order == [*"abc", *"bca", *"cab"]
    assert [len(calls) for calls in turns.values()] == [3, 3, 3]


def test_speedup_is_the_median_of_the_ratios_within_each_turn(tiny_target, prompt, monkeypatch):
    """The ratios are 0.5, 2 and 4; the ratio of the medians (1) or of the sums would differ."""
    clock = iter([2.0, 4.0, 2.0, 4.0, 40.0, 10.0])  # plain, fast; fast, plain; plain, fast

    def timed(_target, method, prompt):
        return TimedCall(method.decode(prompt), next(clock))

    monkeypatch.setattr("specviz.bench.measure._timed", timed)
    ways = [Method(name, lambda _: Outcome(4, 4), GREEDY, "plain") for name in ("plain", "fast")]
    plain, fast = measure(tiny_target, ways, {"a": [prompt]}, repeats=3)
    assert (plain.ratio_to_plain, fast.ratio_to_plain, fast.ratio_to_transformers) == (1, 2, 2)
    assert (plain.tokens_per_second, fast.tokens_per_second) == (1, 1)


def test_costs_are_given_in_units_of_a_plain_pass(tiny_target, prompt):
    plain = Method("plain", lambda _: Outcome(9, 9, pass_seconds=0.02), GREEDY)
    made = Outcome(9, 3, draft_seconds=0.005, drafting=0.03, checking=0.05)
    draft = Method("draft", lambda _: made, GREEDY)
    rows = list(measure(tiny_target, [plain, draft], {"a": [prompt]}, repeats=1))
    assert [row.draft_cost for row in rows] == [None, 0.25]
    assert [row.round_draft_cost for row in rows] == [None, 1.5]
    assert [row.round_check_cost for row in rows] == [None, 2.5]
    assert rows[1].tokens_per_pass == 3


MADE_ROW = Row(
    name="drafter", domain="a", device="cpu", dtype="float32", threads=1, temperature=0.0, gamma=3,
    runs=6, tokens_per_second=9.0, ratio_to_plain=1.0, ratio_to_transformers=None,
    tokens_per_pass=3.0, draft_cost=None, round_draft_cost=None, round_check_cost=None, alpha=None,
    accepted_length=None, guesses_per_round=None, kept_by_depth=None, judged_by_depth=None,
    reliability=None, held_bytes=None,
)  # fmt: skip


def calls(*seconds, **outcome):
    """Return calls of these durations."""
    return [TimedCall(Outcome(9, 3, **outcome), each) for each in seconds]


def tallied(**outcome):
    """Return six calls of a drafter, whose rounds have three guesses."""
    return calls(*[1.0] * 6, tally=Tally(rounds=3, guesses=6), **outcome)


EVEN_PLAIN = calls(*[2.0] * 6)
COSTS = {"ratio_to_plain": 2.0, "round_check_cost": 1.2, "guesses_per_round": 3.0}
NOISY = {
    "spread": (tallied(spread=1.4), EVEN_PLAIN, {}, "passes of the same size differ"),
    "repeats": (calls(*[1.0, 2.0] * 3), EVEN_PLAIN, {}, "repeats of the same prompt differ"),
    "plain": (tallied(), calls(*[1.0, 9.0] * 3), {}, "plain decoding is uneven: repeats"),
    "cheap check": (tallied(), EVEN_PLAIN, {"round_check_cost": 0.5}, "took 0.50 plain passes"),
    "slow check": (tallied(), EVEN_PLAIN, {"round_check_cost": 90.0}, "over 4.0 rows took 90.0"),
    "no gain": (tallied(), EVEN_PLAIN, {"tokens_per_pass": 1.0}, "although no pass added"),
}


@pytest.mark.parametrize("case", NOISY.values(), ids=NOISY)
def test_row_with_implausible_times_is_explained(case):
    mine, plain, changes, reason = case
    row = replace(MADE_ROW, **COSTS | changes)
    assert reason in explain_row_noise(row, mine, plain, 3)
    assert explain_row_noise(replace(MADE_ROW, **COSTS), tallied(), EVEN_PLAIN, 3) is None


def test_a_drafter_without_weights_may_make_the_checking_pass_cheaper():
    row = replace(MADE_ROW, **COSTS | {"round_check_cost": 0.5})
    assert explain_row_noise(row, tallied(borrows=True), EVEN_PLAIN, 3) is None
    assert explain_row_noise(row, tallied(), EVEN_PLAIN, 3)


def test_table_marks_unreliable_rows_and_says_why(tiny_target, prompt, monkeypatch):
    clock = iter([1.0, 100.0, 1.0, 2.0])  # plain, slow; slow, plain
    monkeypatch.setattr(
        "specviz.bench.measure._timed",
        lambda _, way, text: TimedCall(way.decode(text), next(clock)),
    )
    ways = [Method(name, lambda _: Outcome(4, 4), GREEDY) for name in ("plain", "slow")]
    rows = [asdict(row) for row in measure(tiny_target, ways, {"a": [prompt]}, repeats=2)]
    assert rows[1]["noise"] == "repeats of the same prompt differ in speed by 100.0 ×"
    assert row_cells(rows[1])[-1] == "unreliable"
    assert row_cells(rows[1] | {"partial": True})[-1] == "partial, unreliable"
    assert row_cells(rows[1] | {"noise": None})[-1] == ""
    assert "slow on a: repeats of the same prompt" in noise_text(rows)
    assert "2 more, whose reasons" in noise_text(rows[1:] * 5)
    assert noise_text([rows[1] | {"noise": None}]) == ""


TREE = Settings(Sampling(0.9), max_new_tokens=32, gamma=3, siblings=[3, 2])


def both_ways(target, drafter, settings):
    """Return the rounds of a run without a trace, and the trace of the same run."""
    ids = target.encode(tiny.PROMPT, settings.max_new_tokens)
    header, *events = engine.run(target, drafter, tiny.PROMPT, settings, baseline=False)
    return list(engine.rounds(target, drafter, ids, settings)), Trace(header, events)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [GREEDY, TREE, replace(TREE, candidates="greedy")])
def test_acceptance_statistics_equal_those_computed_from_a_trace(tiny_target, tiny_draft, settings):
    """The tokens too: only then do the rows with and without a trace show its cost."""
    rounds, trace = both_ways(tiny_target, tiny_draft, settings)
    found, said = tally_rounds(rounds), summary(trace)
    assert [t for each in rounds for t in each.tokens] == token_ids(trace)
    assert found.alpha == pytest.approx(said["alpha"])
    assert found.accepted_length == pytest.approx(said["accepted_length"])
    assert found.rounds == said["target_passes"]
    judged = sum(depth.judged for depth in found.depths)
    assert sum(depth.accepted for depth in found.depths) / judged == said["acceptance_rate"]
    assert found.guesses == sum(len(r.proposed.guesses) for r in trace.rounds if r.proposed)
    again = sum_tallies([found, found])
    assert (again.alpha, again.kept_by_depth) == (found.alpha, found.kept_by_depth)
    assert again.guesses == 2 * found.guesses


@pytest.mark.slow
def test_compare_bench_and_model_card_count_acceptances_by_depth_alike(tiny_target):
    """Compare with the events: siblings share a position, and a guess has the depth of its path."""
    tiny_draft = tiny.draft(tiny.blurred(tiny.llama(), noise=0.2))  # often wrong
    rounds, trace = both_ways(tiny_target, tiny_draft, TREE)
    found, expected = tally_rounds(rounds), {}
    for played in trace.rounds[1:]:
        parents = [-1, *(guess.parent for guess in played.proposed.guesses)]
        for event in played.judged:
            depth, node = 0, event.node
            while node:
                depth, node = depth + 1, parents[node]
            new = DepthTally(1, int(event.alpha is not None), int(event.accepted))
            expected[depth] = expected.get(depth, DepthTally()) + new
    assert dict(enumerate(found.depths, 1)) == expected
    first = found.depths[0]
    assert first.judged > first.positions > first.accepted > 0
    assert found.kept_by_depth[0] == first.accepted / first.positions
    counted = [(depth.judged, depth.positions, depth.kept) for depth in count_by_depth(trace)]
    assert counted == [(depth.judged, depth.positions, depth.accepted) for depth in found.depths]
    assert "positions" in GLOSSARY["kept by depth"]
    card = (ASSETS / "models/README.md").read_text(encoding="utf-8")
    for term in ("kept by depth", "plain pass", "extra files"):
        assert GLOSSARY[term][1:] in card


def test_transformers_methods_use_the_settings_of_the_matching_drafter(tiny_target, tiny_draft):
    taking = [
        Entrant(tiny_draft, replace(GREEDY, gamma=4)),
        Entrant(NGram(), replace(GREEDY, gamma=2)),
        Entrant(LayerSkip(tiny_target), replace(GREEDY, exit_layer=1, gamma=6)),
    ]
    found = {}  # values of γ, with and without a trace
    for way in all_methods(tiny_target, taking, GREEDY):
        found.setdefault(way.name.removesuffix(", traced"), set()).add(way.settings.gamma)
    assert found == {
        "plain": {3}, "tiny-draft": {4}, "ngram": {2}, "layerskip": {6},
        "transformers generate": {3}, "transformers assisted generation": {4},
        "transformers early exit": {6}, "transformers prompt lookup": {2},
    }  # fmt: skip


@pytest.mark.slow
def test_transformers_early_exit_gives_the_same_greedy_text():
    model = tiny.llama(num_hidden_layers=4)
    for layer in model.model.layers[2:]:  # these add little, so that an exit is often right
        layer.self_attn.o_proj.weight.mul_(0.1)
        layer.mlp.down_proj.weight.mul_(0.1)
    deep_target = tiny.target(model)
    settings = replace(GREEDY, exit_layer=2, max_new_tokens=32)
    for text in (tiny.PROMPT, "The dog", "A red house"):
        ids = deep_target.encode(text, 32)
        played = list(engine.rounds(deep_target, LayerSkip(deep_target), ids, settings))
        ours = [token for each in played for token in each.tokens]
        assert reference.new_tokens(deep_target, ids, settings, assistant_early_exit=2) == ours
        tokens, passes, _ = reference.early_exit(deep_target, ids, settings)
        assert tokens == len(ours)
        assert abs(passes - len(played)) <= 2  # passes of all layers; those of two are drafts
    assert tokens / passes > 1


def test_failed_early_exit_restores_all_layers(monkeypatch):
    target = tiny.target(tiny.llama(seed=5))
    model, before = target.model, target.model.generation_config.to_dict()

    def fail(*_args, **_options):
        model.config.num_hidden_layers = 1
        raise RuntimeError("as if in the middle of a draft")

    monkeypatch.setattr(model, "generate", fail)
    with pytest.raises(RuntimeError, match="middle"):
        reference.early_exit(target, [1, 2, 3], replace(GREEDY, exit_layer=1))
    assert model.config.num_hidden_layers == 2
    assert model.generation_config.to_dict() == before


@pytest.mark.slow
def test_bench_command_prints_rows_and_what_it_left_out(pair, capsys, monkeypatch):
    texts = {"stories": ["The cat sat", "The dog"]}
    monkeypatch.setattr(entrants, "prompts", lambda: texts)
    options = ["--prompts", "1", "--repeats", "1", "--max-new-tokens", "4", "--json", "-"]
    options += ["--gamma", "2"]
    assert main(["bench", "--target", str(pair[0]), "--drafter", str(pair[1]), *options]) == 0
    said = capsys.readouterr()
    assert "transformers MTP is left out: Could not find `num_mtp_layers`" in said.err
    rows = json.loads(said.out)
    names = [n.replace("tiny-draft", "small") for n in NAMES if not n.startswith("ngram")]
    assert [row["name"] for row in rows] == names
    assert rows[0].keys() >= {
        "name", "domain", "device", "dtype", "tokens_per_second", "ratio_to_plain",
        "ratio_to_transformers", "tokens_per_pass", "draft_cost", "threads", "held_bytes",
    }  # fmt: skip
    assert {row["temperature"] for row in rows} == {0}
    assert {row["gamma"] for row in rows} == {2}


def interrupted(pair, monkeypatch, after, *options):
    """Run `bench` with two methods, two prompts per domain and one turn; return its exit status."""
    texts, asked = {"stories": ["The cat", "The dog"], "python": ["def", "import"]}, []

    def decode(prompt):
        asked.append(prompt)
        if len(asked) == after:
            signal.raise_signal(signal.SIGINT)
        return Outcome(4, 4)

    ways = [Method(name, decode, GREEDY) for name in ("plain", "other")]
    monkeypatch.setattr(entrants, "prompts", lambda: texts)
    monkeypatch.setattr(entrants, "all_methods", lambda *_: ways)
    return main(
        ["bench", "--target", str(pair[0]), "--drafter", "ngram", "--repeats", "1", *options]
    )


STOPS = {  # by the number of the last call: domain, runs, and whether they are too few
    1: [],  # while it warms up
    3: [],  # in the first turn: no ratio within a turn yet
    5: [("stories", 1, True)],  # in the second turn
    8: [("stories", 2, False), ("python", 1, True)],
}


@pytest.mark.parametrize(("after", "rows"), STOPS.items())
def test_stopped_bench_prints_finished_rows(pair, monkeypatch, capsys, after, rows):
    assert interrupted(pair, monkeypatch, after, "--json", "-") == 130
    said = capsys.readouterr()
    found = [(row["domain"], row["runs"], row["partial"]) for row in json.loads(said.out)]
    assert found == [row for row in rows for _ in ("plain", "other")]
    assert "Stopped: rows marked partial have fewer turns" in said.err


def test_table_marks_partial_rows_and_progress_has_the_time_left(pair, monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    assert interrupted(pair, monkeypatch, 8) == 130
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["Domain", "Method", "Tokens/s"]
    assert ["  partial" in line for line in lines[:4]] == [False, False, True, True]
    assert interrupted(pair, monkeypatch, 99) == 0
    said = capsys.readouterr().err
    assert "1 of 10 calls, 10%, about 0 s left\n" in said
    assert "10 of 10 calls, 100%\n" in said
    assert "Stopped" not in said


def test_bench_measures_every_drafter_that_fits_the_target():
    drafters = [entry for entry in entries() if entry.kind == "drafter"]
    fitting = sorted(e.name for e in drafters if e.made_for in ("house", None))
    assert sorted(entrants.drafter_names("house", None)) == fitting
    anywhere = [entry.name for entry in drafters if entry.made_for is None]
    assert entrants.drafter_names("some/model", None) == anywhere
    assert {"ngram", "suffix", "lookahead"} <= {*anywhere}
    assert entrants.drafter_names("some/model", "small/model") == ["small/model"]


@pytest.mark.slow
def test_bench_uses_the_default_settings_of_each_drafter(capsys, monkeypatch, tiny_target):
    taken = []

    def spied(_target, names, settings, **_):
        taken.append({name: settings(name).gamma for name in names})
        return [Entrant(NGram(), settings("ngram"))], {}

    monkeypatch.setattr(entrants, "load_entrants", spied)
    monkeypatch.setattr(entrants, "prompts", lambda: {"a": ["The"]})
    monkeypatch.setattr(loading, "load_target", lambda *_: tiny_target)
    for told in ([], ["--gamma", "3"]):
        assert main(["bench", "--repeats", "1", "--max-new-tokens", "2", *told]) == 0
    usual = {e.name: e.usual.get("gamma", Settings().gamma) for e in entries()}
    assert taken[0].items() <= usual.items()
    assert len({*taken[0].values()}) > 1
    assert {*taken[1].values()} == {3}


def test_missing_weights_are_reported_or_an_error_if_required(tiny_target, monkeypatch):
    def load(name, _target):
        if name == "eagle":
            raise NotAvailable("'eagle' is not on this machine.")
        return NGram()

    monkeypatch.setattr(entrants, "load_drafter", load)
    found, absent = entrants.load_entrants(tiny_target, ["eagle", "ngram"], lambda _: GREEDY)
    assert [entrant.name for entrant in found] == ["ngram"]
    assert absent == {"eagle": "'eagle' is not on this machine."}
    with pytest.raises(NotAvailable):
        entrants.load_entrants(tiny_target, ["eagle"], lambda _: GREEDY, must=True)


# The machine sweep


SHAPE = ModelShape(12, 256, 4, 4, 64, 704, 4096, tied=True, qk_norm=False)


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
def test_sweep_measures_every_size_as_often_as_planned_and_round_trips(tiny_target):
    sweeping = SweepRun(tiny_target, SweepPlan(budget=0.0))
    steps = list(sweeping.steps())
    sweep = sweeping.sweep()
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
    assert Sweep.from_text(sweep.to_text()) == sweep
    assert not {"date", "time", "host"} & set(json.loads(sweep.to_text()))


@pytest.mark.slow
def test_order_is_shuffled_each_round_by_the_seed_and_followed(tiny_target, monkeypatch):
    orders = [SweepPlan(seed=7).order(number) for number in range(4)]
    assert orders == [SweepPlan(seed=7).order(number) for number in range(4)]
    assert all(set(order) == {*SIZES, PRODUCT, READ} for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert orders != [SweepPlan(seed=8).order(number) for number in range(4)]
    assert all([turn for turn in order if turn in SIZES] != list(SIZES) for order in orders)
    sweeping, met = SweepRun(tiny_target, SweepPlan(seed=3, budget=0.0)), []
    monkeypatch.setattr(sweeping, "_seconds", lambda turn: met.append(turn) or 0.001)
    list(sweeping.steps())
    plan = sweeping.plan
    assert met == [turn for number in range(MIN_ROUNDS + 1) for turn in plan.order(number)]


@pytest.mark.slow
def test_time_budget_and_limit_determine_the_number_of_rounds(tiny_target):
    plan = SweepPlan(budget=4.0)
    assert [plan.rounds(seconds) for seconds in (10.0, 0.5, 0.001)] == [MIN_ROUNDS, 8, MAX_ROUNDS]
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
    pictured(sweep, here=True)


def test_measuring_a_pass_leaves_the_cache_unchanged(tiny_target):
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
def test_damaged_sweep_raises_readable_error(change, said):
    text = change if isinstance(change, str) else json.dumps(json.loads(made().to_text()) | change)
    with pytest.raises(SweepError, match=said) as refused:
        Sweep.from_text(text)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_predicted_pass_times_equal_the_roofline_at_the_measured_peaks():
    sweep = made(flops=[5e10, 1e11], bandwidth=[2e10, 1e10])
    here = Hardware("here", {"fp32": 1e11}, 2e10, 1e9)
    for tokens in SIZES:
        wanted = pass_time(Serving(SHAPE, here, "fp32", 128), 1, tokens)
        assert sweep.predicted(tokens) == wanted
    line = sweep.predicted(1)
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
    recorded = sweep_text.sweep_sentences(sweep, here=False)["memory"]
    assert recorded.startswith("On 2 CPU cores (Some Chip, recorded), a plain pass reaches")
    for changes in ({"bandwidth": []}, {"points": [PassSamples(5, [0.1])]}):
        assert made(**changes).share_of_memory_speed is None
        assert sweep_text.memory_sentence(made(**changes)) == ""


def test_headline_says_if_times_are_too_noisy():
    noisy = sweep_text.sweep_sentences(made(spread=0.9))
    assert noisy["answer"].startswith("The machine was too busy to measure")
    assert "On this machine, a pass over 5 tokens" in noisy["caution"]
    assert not any(noisy[name] for name in ("must", "memory", "gap", "grows"))
    quiet = sweep_text.sweep_sentences(made(spread=0.05))
    assert quiet["answer"].startswith("On this machine, a pass")
    assert not quiet["caution"]
    assert all(quiet[name] for name in ("must", "gap"))


def test_figure_of_a_sweep_can_be_drawn_from_few_measurements():
    few = [[], [PassSamples(5, [0.1])], [PassSamples(1, [0.1])]]
    for changes in ({"flops": []}, *({"points": points} for points in few)):
        told = pictured(made(**changes), here=True)
        assert told["answer"]
        json.dumps(told, allow_nan=False)
    assert sweep.recorded()["where"].startswith("**Recorded earlier:**")
    assert sweep.respond({"live": None}) == sweep.recorded()
    with pytest.raises(ValueError, match="not a sweep"):
        sweep.received({})


def test_figure_draws_measured_values_as_markers_and_simulated_ones_dashed():
    sweep = made()
    data = {trace.name: trace for trace in sweep_figure(sweep).data}
    marks = data["measured: median and middle 50%"]
    assert marks.mode == "markers"
    assert list(marks.y) == pytest.approx([5.0 + 0.1 * n for n in SIZES])
    for name, over in ((ROOFLINE, 0.0), (OVERHEAD, sweep.overhead)):
        assert data[name].line.dash != "solid"
        last = sweep.predicted(data[name].x[-1], over)
        assert data[name].y[-1] == pytest.approx(1000 * last.seconds)


async def heard(runs, stop_at=None):
    text = ""
    async for text in texts_of(runs, LIVE, "me", 1.0):
        if stop_at is not None and text.count('"progress"') >= stop_at:
            stop_jobs(runs.line, "me")
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
def test_page_receives_progress_and_the_finished_or_stopped_sweep(runs):
    said = asyncio.run(heard(runs))
    kinds = [each.get("state", each["kind"]) for each in said]
    assert kinds[:2] == ["loading", "measuring"]
    assert kinds[-2:] == ["progress", "done"]
    measured = sweep.received(said[-2]["result"])
    assert [point.tokens for point in measured.points] == list(SIZES)
    assert "Measured just now" in sweep.respond({"live": measured})["where"]
    assert {each["id"] for each in said} == {"1"}
    assert len(runs.line) == 0
    *said, measured, last = asyncio.run(heard(runs, stop_at=len(SIZES) + 2 + 20))
    assert last["state"] == "stopped"
    assert sweep.received(measured["result"]).points
    progress = [each for each in said if each["kind"] == "progress"]
    assert progress[-1]["done"] < progress[-1]["of"]


@pytest.mark.slow
def test_sweep_command_writes_a_file_that_the_page_reads(pair, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("specviz.bench.sweep.MAX_ROUNDS", MIN_ROUNDS)
    path = tmp_path / "sweep.json"
    assert main(["sweep", "--target", str(pair[0]), "--device", "cpu", "--json", str(path)]) == 0
    assert Sweep.from_text(path.read_text()).complete
    assert "Plain passes" in capsys.readouterr().out
