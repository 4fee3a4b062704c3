"""The data of the Cost tab: positive numbers with sources, and the measured points of runs."""

import json
from dataclasses import replace
from statistics import mean

import pytest

from specviz.cost import formula, sources
from specviz.cost.formula import measured_point
from specviz.shipped import ASSETS
from specviz.trace import metrics
from specviz.trace.codec import from_plain
from specviz.trace.events import Baseline, Committed, Judged, Proposed, Scored
from specviz.trace.file import Trace

TRACES = sorted((ASSETS / "traces").glob("*.jsonl"))


# Presets


def test_every_machine_has_plausible_figures_with_sources():
    for machine in sources.machines().values():
        assert machine.title
        assert machine.sources, machine.name
        assert set(machine.peak) <= {"fp32", "bf16", "fp16"}
        assert all(5 < machine.hardware.ridge(dtype) < 500 for dtype in machine.peak)
        assert 1e9 < machine.bandwidth < 1e13, machine.name
        assert 8e9 <= machine.memory <= 2e11, machine.name
        assert machine.peak["fp32"] <= min(machine.peak.values())
        assert machine.sheet == "" or machine.sheet.startswith("https://")


def test_peak_flops_are_those_without_sparsity():
    """The data sheets of these machines state numbers with sparsity, which are twice as large."""
    peaks = {name: machine.peak.get("bf16") for name, machine in sources.machines().items()}
    known = {"h100-sxm": 989e12, "l4": 121e12, "a100-sxm": 312e12, "rtx-4090": 165.2e12}
    assert known.items() <= peaks.items()
    laptop = sources.machines()["laptop-cpu"]
    assert laptop.peak == {"fp32": pytest.approx(4 * 4.6e9 * 2 * 8 * 2)}
    assert laptop.bandwidth == 2 * 8 * 2400e6
    assert laptop.sources[0].evidence == "C"


def test_predictions_are_offered_for_the_shipped_pair_and_public_models():
    models = sources.models()
    assert list(models)[:2] == ["house", "house-draft"]
    assert {"llama-3.1-8b", "llama-3.1-70b", "qwen3-4b"} <= models.keys()
    header = Trace.read(TRACES[0]).header
    assert models["house"].shape.parameters == header.target.parameters
    assert models["house-draft"].shape.parameters == header.drafter.parameters
    for model in models.values():
        assert model.sources


def every_source():
    for machine in sources.machines().values():
        yield from machine.sources
    for model in sources.models().values():
        yield from model.sources
    yield from (row.source for row in sources.published_numbers())
    yield from (board.source for board in sources.boards())
    yield from (each.source for each in sources.acceptances())


def test_every_source_has_a_link_and_a_kind_of_evidence():
    for source in every_source():
        assert source.title
        assert source.url.startswith("https://") or (ASSETS.parent / source.url).exists()
        assert source.evidence in sources.EVIDENCE


def test_published_numbers_equal_those_in_the_papers():
    rows = {
        (row.method, row.low, row.high, row.unit)
        for row in sources.published_numbers()
        if row.source.evidence in ("S", "R", "A", "2")
    }
    assert rows >= {
        ("n-gram", 2.8, 2.8, "×"),
        ("n-gram", 1.8, 1.8, "× slower"),
        ("LayerSkip", 2.16, 2.16, "×"),
        ("LayerSkip", 1.82, 1.82, "×"),
        ("LayerSkip", 2.0, 2.0, "×"),
        ("Medusa", 2.2, 3.6, "×"),
        ("EAGLE-1", 2.7, 3.5, "×"),
        ("EAGLE-1", 80, 80, "%"),
        ("Medusa", 60, 60, "%"),
        ("EAGLE-2", 3.05, 4.26, "×"),
        ("EAGLE-3", 6.5, 6.5, "×"),
        ("EAGLE-3", 1.38, 1.38, "×"),
        ("draft model", 3.4, 3.4, "×"),
    }
    for row in sources.published_numbers():
        assert ("slower" in row.says) is (row.unit == "× slower"), row.says
        assert (row.method, row.low) != ("LayerSkip", 1.15), "only in a draft of the cited post"
        assert all((row.model, row.task, row.hardware, row.conditions))


def test_spec_bench_values_match_the_leaderboard():
    boards = {(board.device.split(" GPU")[0], board.model): board for board in sources.boards()}
    known = {
        ("a single NVIDIA GeForce RTX 3090", "Vicuna-7B-v1.3"): {
            "EAGLE2": (2.19, 4.35), "EAGLE": (2.03, 3.57), "SpS": (1.79, 2.28),
            "PLD": (1.64, 1.73), "Medusa": (1.44, 2.32), "REST": (1.28, 1.63),
            "Lookahead": (1.13, 1.64),
        },
        ("a single NVIDIA A100", "Vicuna-13B-v1.3"): {
            "EAGLE3": (3.02, 5.71), "EAGLE2": (2.46, 4.43), "Medusa": (1.80, 2.39),
        },
    }  # fmt: skip
    for place, values in known.items():
        found = {row.method: (row.overall, row.tokens_per_pass) for row in boards[place].rows}
        assert values.items() <= found.items()
    assert len(boards) == 4


def test_spec_bench_overall_speedup_is_within_the_range_of_its_tasks():
    for board in sources.boards():
        assert len(board.tasks) == 6
        for row in board.rows:
            assert min(row.speedups) <= row.overall <= max(row.speedups)
            assert row.overall == pytest.approx(mean(row.speedups), abs=0.15)
            assert row.overall < row.tokens_per_pass  # verification and drafting are never free


def raw(name):
    return json.loads((ASSETS / "cost" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("cls", "file", "change", "sentence"),
    [
        (sources.Machine, "hardware", {"sources": []}, "has no source."),
        (sources.Machine, "hardware", {"bandwidth": 0}, "must be greater than 0, not 0."),
        (sources.Machine, "hardware", {"peak": {}}, "needs a peak for at least one dtype."),
        (sources.Model, "shapes", {"sources": []}, "has no source."),
        (sources.Published, "headline", {"low": 0}, "must be greater than 0, not 0."),
        (sources.Published, "headline", {"low": 9, "high": 2}, "9 to 2 is not a range."),
        (sources.Board, "spec_bench", {"tasks": ["one"]}, "needs one speed-up per task."),
        (sources.Machine, "hardware", {"colour": "red"}, "unknown colour"),
        (sources.Published, "headline", {"load": "some"}, "light or heavy"),
        (sources.Acceptance, "acceptance", {"tokens": None}, "needs either α or tokens per pass."),
        (sources.Acceptance, "acceptance", {"alpha": 0.5}, "needs either α or tokens per pass."),
        (sources.Acceptance, "acceptance", {"gamma": None}, "α cannot be derived from tokens per"),
        (sources.Acceptance, "acceptance", {"tokens": 7.5}, "yield 1 to 7 tokens, not 7.5."),
        (sources.Acceptance, "acceptance", {"tokens": None, "alpha": 1.5}, "must be a probability"),
    ],
)
def test_invalid_cost_data_is_refused(cls, file, change, sentence):
    with pytest.raises(ValueError, match=r".") as refusal:
        from_plain(cls, raw(file)[0] | change)
    assert sentence in str(refusal.value)


def test_source_without_a_link_is_refused():
    for link in ("somewhere", "javascript:alert(1)"):
        with pytest.raises(ValueError, match=r"A source needs a title and a link"):
            sources.Source("hearsay", link, "2", "")


def test_published_alpha_is_quoted_or_derived_from_tokens_per_pass():
    """Derived α follow from numbers in Spec-Bench's tables by the inverted formula."""
    board = next(b for b in sources.boards() if b.model == "Vicuna-13B-v1.3")
    brought = {row.method: row.tokens_per_pass for row in board.rows}
    on_board = {"eagle3": "EAGLE3", "eagle2": "EAGLE2", "eagle": "EAGLE", "medusa": "Medusa"}
    on_board["pld"] = "PLD"
    found = {each.name: each for each in sources.acceptances()}
    for name, method in on_board.items():
        each = found.pop(name)
        assert (each.on, each.tokens, each.source.evidence) == (board.model, brought[method], "C")
        tokens = formula.expected_tokens(each.effective_alpha, each.gamma)
        assert tokens == pytest.approx(each.tokens)
        assert each.derived
    assert {name: each.effective_alpha for name, each in found.items()} == {
        "t5-small": 0.75, "t5-small-sampled": 0.62, "t5-large": 0.82, "deepseek-mtp": 0.85,
    }  # fmt: skip
    assert not any(each.derived for each in found.values())
    urls = {row.source.url for row in sources.published_numbers()}
    assert {each.source.url for each in found.values()} <= urls


def test_batch_and_load_agree_with_the_stated_conditions():
    for row in sources.published_numbers():
        assert ("batch" in row.conditions) is (row.batch is not None)
        assert row.batch is None or f"batch {row.batch}" in row.conditions
        assert (row.load == "heavy") is ("many requests" in row.conditions)
        assert (row.load == "light") is ("1 request per second" in row.conditions)
    assert all(f"batch size = {board.batch}" in board.conditions for board in sources.boards())
    chen = next(row for row in sources.published_numbers() if "Chen" in row.source.title)
    assert "distributed" in chen.conditions


# The measured point


@pytest.mark.slow
@pytest.mark.parametrize("path", TRACES[::4], ids=lambda path: path.stem)
def test_measured_point_of_a_recorded_run_has_the_numbers_of_its_trace(path):
    trace = Trace.read(path)
    point, numbers = measured_point(trace), metrics.summary(trace)
    if numbers["alpha"] is None:  # judged from the leaf to the root, so the formula does not apply
        assert point is None
        return
    assert point.alpha == numbers["alpha"]
    assert point.speedup == numbers["speedup"]
    proposed = (played.proposed for played in trace.rounds)
    drafts = [made for made in proposed if made and made.guesses]
    assert point.chain == all(len(made.guesses) == max(made.depths) for made in drafts)
    assert 1 <= point.tokens <= point.gamma + 1
    assert point.predicted == formula.speedup(point.alpha, point.gamma, point.c, point.verify)


def chain_of_two():
    """Return a header and two rounds that accept a chain of two, with hand-made times."""
    trace = Trace.read(ASSETS / "traces" / "01-chain.jsonl")
    proposed = next(e for e in trace.events if isinstance(e, Proposed) and e.guesses)
    scored = next(e for e in trace.events if isinstance(e, Scored))
    judged = next(e for e in trace.events if isinstance(e, Judged))
    guesses = [replace(proposed.guesses[0], parent=parent) for parent in (0, 1)]
    events = [Proposed(0, 0, "sampled", [], None, 0.5), Committed(0, [5], 0.0, 0.0)]
    for number in (1, 2):
        events += [
            replace(proposed, round=number, guesses=guesses, seconds=0.4),
            replace(scored, round=number, seconds=1.1),
            replace(judged, round=number, node=1, u=0.0, threshold=1.0, alpha=0.8),
            replace(judged, round=number, node=2, u=0.0, threshold=1.0, alpha=0.6),
            Committed(number, [1, 2, 3], judge_seconds=0.2, commit_seconds=0.1),
        ]
    return Trace(trace.header, [*events, Baseline([1] * 5, [9.0, 1.0, 1.0, 3.0, 3.0], None)])


def test_measured_point_of_a_run_equals_hand_calculation():
    """After the prefill a plain pass takes 2 s, drafting a level 0.2 s, verification 1.4 s."""
    trace = chain_of_two()
    point = measured_point(trace)
    assert (point.alpha, point.gamma, point.guesses) == pytest.approx((0.7, 2, 2))
    assert (point.c, point.verify, point.tokens) == pytest.approx((0.1, 0.7, 3))
    assert point.predicted == pytest.approx((1 + 0.7 + 0.49) / (0.2 + 0.7))
    assert point.chain
    first = next(e for e in trace.events if isinstance(e, Proposed) and e.guesses)
    wide = replace(first, guesses=[*first.guesses, first.guesses[0]])
    trace.events[trace.events.index(first)] = wide
    tree = measured_point(trace)
    assert (tree.gamma, tree.guesses, tree.chain) == (2, 2.5, False), "γ of a tree is its depth"
    assert tree.c == pytest.approx(0.1)


def test_run_without_baseline_or_draft_has_no_measured_point():
    whole = chain_of_two()
    without = [event for event in whole.events if not isinstance(event, Baseline)]
    assert measured_point(Trace(whole.header, without)) is None
    short = [*without, Baseline([1], [9.0], None)]
    assert measured_point(Trace(whole.header, short)) is None
    assert measured_point(Trace(whole.header, [*whole.events[:2], whole.events[-1]])) is None
    assert measured_point(Trace(whole.header)) is None
    unjudged = [event for event in whole.events if not isinstance(event, Judged)]
    assert measured_point(Trace(whole.header, unjudged)) is None
