"""The bench: the shape of its rows and the sameness of the work. Never its timings."""

import json

import pytest
import tiny

from specviz import engine
from specviz.bench import reference
from specviz.bench.measure import Timed, measure, take_turns
from specviz.bench.methods import Method, Outcome, Prompt, methods
from specviz.cli import main
from specviz.commands import bench
from specviz.drafters.ngram import NGram
from specviz.settings import Sampling, Settings

GREEDY = Settings(Sampling(temperature=0), max_new_tokens=16, gamma=3)
NAMES = [
    "plain",
    "tiny-draft",
    "tiny-draft, traced",
    "ngram",
    "ngram, traced",
    "transformers generate",
    "transformers assisted generation",
    "transformers prompt lookup",
]


@pytest.fixture
def prompt(tiny_target):
    return Prompt(tiny.PROMPT, tuple(tiny_target.encode(tiny.PROMPT, 16)))


def test_every_method_has_a_row_in_every_domain(tiny_target, tiny_draft, prompt):
    ways = methods(tiny_target, [tiny_draft, NGram()], GREEDY)
    rows = list(measure(tiny_target, ways, {"a": [prompt], "b": [prompt]}, GREEDY, repeats=2))
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
    assert draft.tokens_per_pass > 1


@pytest.mark.parametrize("law", [Sampling(temperature=0), Sampling(0.7, top_k=20, top_p=0.9)])
def test_without_a_model_to_assist_there_is_no_assisted_row(tiny_target, prompt, law):
    settings = Settings(law, max_new_tokens=8)
    ways = methods(tiny_target, [NGram()], settings)
    assert [way.name for way in ways] == [
        "plain",
        "ngram",
        "ngram, traced",
        "transformers generate",
        "transformers prompt lookup",
    ]
    for way in ways:
        assert 1 <= way.decode(prompt).tokens <= 8


def test_transformers_does_the_same_work_at_temperature_0(tiny_target, tiny_draft, prompt):
    """The same number of tokens; and of target passes, but for our separate prefill."""
    ways = {way.name: way for way in methods(tiny_target, [tiny_draft], GREEDY)}
    ours, theirs = ways["tiny-draft"], ways["transformers assisted generation"]
    assert ways["plain"].decode(prompt).tokens == theirs.decode(prompt).tokens
    assert abs(ours.decode(prompt).passes - theirs.decode(prompt).passes) <= 1
    generated = ways["transformers generate"].decode(prompt)
    assert generated.passes == generated.tokens == ways["plain"].decode(prompt).passes


def test_the_assistant_is_left_as_it_was(tiny_target, prompt):
    small = tiny.draft().model
    config, whole, seen = small.generation_config, small.generate, []
    before = config.to_dict()
    small.generate = lambda **options: seen.append(config.to_dict()) or whole(**options)
    reference.assisted(tiny_target, small, prompt.ids, GREEDY)
    assert config.to_dict() == before
    assert seen[0]["num_assistant_tokens"] == 3
    assert seen[0]["num_assistant_tokens_schedule"] == "constant"
    assert seen[0]["assistant_confidence_threshold"] == 0


def test_methods_take_turns_and_the_first_rotates(tiny_target, prompt):
    order = []

    def way(name):
        return Method(name, lambda _: order.append(name) or Outcome(1, 1))

    turns = take_turns(tiny_target, [way("a"), way("b"), way("c")], [prompt] * 3)
    assert order == [*"abc", *"bca", *"cab"]
    assert [len(calls) for calls in turns.values()] == [3, 3, 3]


def test_a_ratio_is_the_median_of_ratios_within_a_turn(tiny_target, prompt, monkeypatch):
    """0.5, 2 and 4: neither the ratio of the two medians, which is 1, nor that of the sums."""
    clock = iter([2.0, 4.0, 2.0, 4.0, 40.0, 10.0])  # plain, fast; fast, plain; plain, fast

    def timed(_target, method, prompt):
        return Timed(method.decode(prompt), next(clock))

    monkeypatch.setattr("specviz.bench.measure._timed", timed)
    ways = [Method(name, lambda _: Outcome(4, 4), "plain") for name in ("plain", "fast")]
    plain, fast = measure(tiny_target, ways, {"a": [prompt]}, GREEDY, repeats=3)
    assert (plain.ratio_to_plain, fast.ratio_to_plain) == (1, 2)
    assert fast.ratio_to_transformers == 2
    assert (plain.tokens_per_second, fast.tokens_per_second) == (1, 1)


def test_draft_cost_is_one_drafted_token_by_one_plain_pass(tiny_target, prompt):
    plain = Method("plain", lambda _: Outcome(9, 9, pass_seconds=0.02))
    draft = Method("draft", lambda _: Outcome(9, 3, draft_seconds=0.005))
    rows = list(measure(tiny_target, [plain, draft], {"a": [prompt]}, GREEDY, repeats=1))
    assert [row.draft_cost for row in rows] == [None, 0.25]
    assert rows[1].tokens_per_pass == 3


def test_the_command_prints_rows(pair, capsys, monkeypatch):
    monkeypatch.setattr(bench, "prompts", lambda: {"stories": ["The cat sat", "The dog"]})
    options = ["--prompts", "1", "--repeats", "1", "--max-new-tokens", "4", "--json", "-"]
    assert main(["bench", "--target", str(pair[0]), "--drafter", str(pair[1]), *options]) == 0
    rows = json.loads(capsys.readouterr().out)
    names = [n.replace("tiny-draft", "small") for n in NAMES if not n.startswith("ngram")]
    assert [row["name"] for row in rows] == names
    assert rows[0].keys() >= {
        "name", "domain", "device", "dtype", "tokens_per_second", "ratio_to_plain",
        "ratio_to_transformers", "tokens_per_pass", "draft_cost", "threads",
    }  # fmt: skip
    assert {row["temperature"] for row in rows} == {0}


def test_the_command_measures_what_was_made_for_the_target_and_what_fits_any():
    anywhere = ["ngram", "suffix", "lookahead", "oracle", "uniform"]
    assert bench.drafters_for("house", None) == ["draft-model", "layerskip", *anywhere]
    assert bench.drafters_for("some/model", None) == anywhere
    assert bench.drafters_for("some/model", "small/model") == ["small/model"]


def test_nothing_to_measure_is_one_sentence(capsys):
    assert main(["bench", "--repeats", "0"]) == 2
    assert "must be 1 or more" in capsys.readouterr().err


def test_the_unrecorded_loop_and_the_recorded_run_give_the_same_tokens(tiny_target, tiny_draft):
    """So that the two rows that show what tracing costs compare like with like."""
    settings = Settings(Sampling(0.8), max_new_tokens=24)
    ids = tiny_target.encode(tiny.PROMPT, 24)
    bare = [t for r in engine.rounds(tiny_target, tiny_draft, ids, settings) for t in r.tokens]
    events = engine.run(tiny_target, tiny_draft, tiny.PROMPT, settings, baseline=False)
    traced = [t for event in events if event.event == "committed" for t in event.tokens]
    assert traced == bare
