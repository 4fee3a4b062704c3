"""The command line: its output, its files, and errors of one sentence."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from specviz import engine
from specviz.commands.cli import COMMANDS, main
from specviz.commands.output import printable
from specviz.trace import metrics
from specviz.trace.events import Committed, Finished
from specviz.trace.file import Trace


@pytest.fixture
def models(pair):
    """Return the options that name the tiny target and drafter."""
    return ["--target", str(pair[0]), "--drafter", str(pair[1])]


def run(models, *options, prompt=tiny.PROMPT, tokens=12):
    """Return the exit status of a short run."""
    return main(["run", *models, "--prompt", prompt, "--max-new-tokens", str(tokens), *options])


@pytest.fixture(scope="module")
def trace(pair, tmp_path_factory):
    """Return a trace file of the tiny target and drafter."""
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    names = ["--target", str(pair[0]), "--drafter", str(pair[1])]
    assert run(names, "--trace", str(path), "--gamma", "3") == 0
    return path


def assert_one_sentence(capsys, status, pattern):
    """Assert status 2, nothing on standard output and one line on standard error."""
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert re.search(pattern, said.err), said.err


def emitted(path):
    """Return the new tokens of a trace file."""
    events = Trace.read(path).events
    return [token for e in events if isinstance(e, Committed) for token in e.tokens]


@pytest.mark.slow
def test_run_prints_a_summary_and_writes_the_documented_json_and_trace(models, tmp_path, capsys):
    out, trace = tmp_path / "run.json", tmp_path / "run.jsonl"
    assert run(models, "--json", str(out), "--trace", str(trace), "--temperature", "0") == 0
    said = capsys.readouterr().out
    assert said.startswith(tiny.PROMPT)
    assert "the text equals that of plain decoding, token for token" in said
    header = json.loads(trace.read_text().split("\n")[0])
    assert (header["format"], header["version"]) == ("specviz-trace", 1)
    data = json.loads(out.read_text())
    assert data["token_ids"] == emitted(trace)
    assert list(data) == ["text", "prompt_ids", "token_ids", "rounds", "summary"]
    assert data["prompt_ids"] == tiny.tokenizer()(tiny.PROMPT).input_ids
    assert data["token_ids"] == [t for played in data["rounds"] for t in played["emitted"]]
    assert data["rounds"][0] == {"drafted": [], "accepted": [], "emitted": data["token_ids"][:1]}
    assert data["summary"].keys() == {
        "tokens", "target_passes", "tokens_per_pass", "accepted_length", "acceptance_rate",
        "alpha", "draft_seconds", "verify_seconds", "total_seconds", "baseline_seconds", "speedup",
    }  # fmt: skip
    assert data["summary"]["tokens"] == len(data["token_ids"]) <= 12
    assert run(models, "--json", "-", "--temperature", "0") == 0
    assert json.loads(capsys.readouterr().out)["token_ids"] == data["token_ids"]


def test_run_writes_counts_in_the_format_of_vllm(models, tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    options = ["--trace", str(path), "--gamma", "3", "--siblings", "2,1", "--metrics", "-"]
    assert run(models, *options) == 0
    counts = json.loads(capsys.readouterr().out)["metrics"]["speculative_decoding"]
    accepted, drafted = counts["per_step_accepted"], counts["per_step_drafted"]
    whole = metrics.report(Trace.read(path))["rounds"]
    assert accepted == [len(played["accepted"]) for played in whole if played["drafted"]]
    assert drafted == [len(played["drafted"]) for played in whole if played["drafted"]]
    assert len(accepted) == counts["num_spec_steps"] > 1
    assert counts["num_accepted_draft_tokens"] == sum(accepted)
    assert counts["num_draft_tokens"] == sum(drafted)
    assert counts["num_spec_tokens"] == 3
    assert counts["acceptance_histogram"] == [accepted.count(length) for length in range(4)]
    assert counts["mean_acceptance_length"] == 1 + sum(accepted) / len(accepted)
    assert counts["draft_acceptance_rate"] == sum(accepted) / sum(drafted)


@pytest.mark.slow
def test_trace_contains_the_value_of_every_option_of_run(models, tmp_path):
    path = tmp_path / "run.jsonl"
    options = {
        "--temperature": "0.5", "--top-k": "7", "--top-p": "0.9", "--seed": "-3", "--gamma": "4",
        "--siblings": "3, 2",
        "--schedule": "learning", "--candidates": "greedy", "--ngram-min": "2",
        "--ngram-max": "4", "--rule": "point-mass",
    }  # fmt: skip
    words = [word for option in options.items() for word in option]
    assert run(models, "--trace", str(path), *words, "--dtype", "float32", "--device", "cpu") == 0
    found = Trace.read(path).header.settings
    assert found == found | {
        "sampling": {"temperature": 0.5, "top_k": 7, "top_p": 0.9},
        "seed": -3,
        "max_new_tokens": 12,
        "gamma": 4,
        "siblings": [3, 2],
        "schedule": "learning",
        "candidates": "greedy",
        "ngram_min": 2,
        "ngram_max": 4,
        "rule": "point-mass",
    }


@pytest.mark.slow
def test_equal_seeds_give_equal_runs(models, tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(paths, "778", strict=True):
        assert run(models, "--seed", seed, "--trace", str(path), tokens=30) == 0
    a, b, c = map(emitted, paths)
    assert a == b != c


@pytest.mark.slow
def test_disjoint_vocabularies_are_an_error_of_one_sentence(pair, tmp_path, capsys):
    words = Tokenizer(WordLevel({"</s>": 0, "zyx": 1}, unk_token="</s>"))
    strange = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>")
    other = tiny.save(tiny.llama(), tmp_path / "strange", strange)
    status = run(["--target", str(pair[0]), "--drafter", str(other)])
    assert_one_sentence(capsys, status, "'big' and 'strange' have no token in common")


@pytest.mark.slow
def test_nan_scores_are_an_error_of_one_sentence(tmp_path, capsys):
    model = tiny.llama()
    model.model.norm.weight.fill_(torch.nan)
    broken = tiny.save(model, tmp_path / "broken")
    capsys.readouterr()  # how saving went
    assert_one_sentence(capsys, run(["--target", str(broken), "--drafter", "ngram"]), "not numbers")


@pytest.mark.parametrize(
    ("error", "pattern"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "ran out of memory"),
        (ValueError("a\n  b\x1b[1m\nc"), "specviz: a b\ufffd.1m c$"),
    ],
    ids=["out of memory", "several lines"],
)
def test_error_of_a_run_is_printed_on_one_line(models, capsys, monkeypatch, error, pattern):
    monkeypatch.setattr(engine, "run", raising(error))
    assert_one_sentence(capsys, run(models), pattern)


def test_an_unexpected_exception_is_not_caught(models, monkeypatch):
    monkeypatch.setattr(engine, "run", raising(RuntimeError("shapes do not match")))
    with pytest.raises(RuntimeError, match="shapes"):
        run(models)


def raising(error):
    """Return a function that raises the error."""

    def fail(*_args, **_options):
        raise error

    return fail


def test_output_paths_are_checked_before_the_run(models, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(engine, "run", raising(AssertionError("the run has begun")))
    for option in ("--trace", "--json"):
        for path in (tmp_path / "no" / "file", tmp_path):
            assert_one_sentence(capsys, run(models, option, str(path)), "cannot be written")


def test_failed_run_leaves_existing_files_unchanged(models, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("precious")
    assert run(models, "--prompt", " ", "--trace", str(old), "--json", str(new)) == 2
    assert old.read_text() == "precious"
    assert not new.exists()


def interrupt_after(monkeypatch, is_last):
    """Press Ctrl-C in the next run after the first event for which `is_last` is true."""
    whole = engine.run

    def interrupted(*args, **options):
        for event in whole(*args, **options):
            yield event
            if is_last(event):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(engine, "run", interrupted)


def test_an_interrupted_run_writes_its_finished_rounds(models, tmp_path, monkeypatch, capsys):
    interrupt_after(monkeypatch, lambda e: isinstance(e, Committed) and e.round == 2)
    path = tmp_path / "run.jsonl"
    before = signal.getsignal(signal.SIGINT)
    assert run(models, "--trace", str(path), tokens=60) == 130
    assert signal.getsignal(signal.SIGINT) is before
    trace = Trace.read(path)
    assert trace.finished.reason == "stopped"
    assert [played.number for played in trace.rounds] == [0, 1, 2]
    assert trace.baseline is None
    assert main(["check", str(path)]) == 0
    assert "agree" in capsys.readouterr().out


@pytest.mark.slow
def test_interrupting_the_baseline_keeps_the_complete_run(models, tmp_path, monkeypatch):
    interrupt_after(monkeypatch, lambda event: isinstance(event, Finished))
    path = tmp_path / "run.jsonl"
    assert run(models, "--trace", str(path)) == 130
    assert Trace.read(path).finished.reason == "limit"
    assert main(["check", str(path)]) == 0


def test_a_second_ctrl_c_exits_at_once(models, monkeypatch, capsys):
    def deaf(*_args, **_options):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        yield

    monkeypatch.setattr(engine, "run", deaf)
    assert run(models) == 130
    assert capsys.readouterr().err == "specviz: Stopped.\n"


def test_check_reports_a_changed_threshold_and_exits_with_1(trace, tmp_path, capsys):
    lines = trace.read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if '"event":"judged"' in line)
    event = json.loads(lines[at])
    event["threshold"] = 0.123456
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("\n".join([*lines[:at], json.dumps(event), *lines[at + 1 :]]))
    assert main(["check", str(wrong)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    place = f"Round {event['round']}, node {event['node']}"
    assert place in said.err
    assert "0.123456" in said.err


DAMAGES = [
    (lambda lines: [], "Line 1: The file is empty"),
    (lambda lines: lines[1:], "Line 1"),
    (lambda lines: [*lines[:3], lines[3][:40], *lines[4:]], "Line 4: This is not complete JSON"),
    (lambda lines: [*lines[:2], "[]", *lines[2:]], "Line 3"),
    (lambda lines: [lines[0], *lines], "Line 2: This is a second header"),
]


def test_check_reports_the_line_number_of_a_damaged_line(trace, tmp_path, capsys):
    broken, lines = tmp_path / "broken.jsonl", trace.read_text().split("\n")
    for damage, pattern in DAMAGES:
        broken.write_text("\n".join(damage(lines)))
        assert main(["check", str(broken)]) == 1, pattern
        said = capsys.readouterr().err
        assert said.startswith("specviz: ")
        assert said.count("\n") == 1
        assert pattern in said


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_check_never_raises_on_a_damaged_trace(trace, tmp_path, data):
    """Change, remove or repeat one line; `check` returns 0 or 1."""
    lines = trace.read_text().split("\n")[:-1]
    at = data.draw(st.integers(0, len(lines) - 1))
    event = json.loads(lines[at])
    key = data.draw(st.sampled_from(sorted(event)))
    junk = st.sampled_from([None, -1, 0, 2, 1e9, "x", [], {}, [None], [[]], [1, 2], {"p": 2}, True])
    event[key] = data.draw(junk)
    lines[at : at + 1] = data.draw(st.sampled_from([[json.dumps(event)], [], [lines[at]] * 2]))
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("\n".join(lines))
    assert main(["check", str(damaged)]) in (0, 1)


def test_models_command_lists_the_documented_fields(capsys):
    assert main(["models", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"house", "draft-model", "ngram"} <= {row["name"] for row in rows}
    wanted = {"name", "kind", "family", "layout", "licence", "bytes", "on_this_machine"}
    assert all(wanted <= row.keys() for row in rows)
    assert main(["models"]) == 0
    assert re.search("^ngram +any ", capsys.readouterr().out, re.MULTILINE)


def test_every_command_prints_its_help(capsys):
    for command in COMMANDS:
        with pytest.raises(SystemExit) as exit:
            main([command, "--help"])
        assert exit.value.code == 0
        assert f"specviz {command}" in capsys.readouterr().out


@pytest.mark.slow
def test_python_m_specviz_accepts_a_trace_written_by_run(trace):
    command = [sys.executable, "-m", "specviz", "check", str(trace)]
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"\d+ rounds and \d+ decisions agree", done.stdout)


def test_printed_text_has_control_characters_replaced():
    assert printable("a\x1b[2Jb\n\tc\x00é") == "a\ufffd[2Jb\n\tc\ufffdé"
