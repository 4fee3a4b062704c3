"""Statistics that servers report: each format is read, and each fault raises one sentence."""

import json
import re
import time

import pytest

from specviz.cost.server.formats import MAX_LINES
from specviz.cost.server.loading import MAX_CHARACTERS, example, parse_stats
from specviz.cost.server.programs import CHAIN_OR_TREE
from specviz.cost.server.report import build_report
from specviz.cost.server.stats import (
    ServerStats,
    SeveralModels,
    UnreadableStats,
    acceptance_by_position,
    accepted_by_length,
    difference,
    tokens_per_pass,
)
from specviz.shipped import FOLDER
from specviz.trace.file import Trace
from specviz.trace.metrics import accepted_path, request_metrics


def vllm(
    drafts=100, drafted=400, accepted=180, kept=(80, 60, 40, 0), model="m", engine=0, end="_total"
):
    """Return the counters of one vLLM engine."""
    labels = f'engine="{engine}",model_name="{model}"'
    lines = ["# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts."]
    counts = {"drafts": drafts, "draft_tokens": drafted, "accepted_tokens": accepted}
    for name, value in counts.items():
        lines.append(f"vllm:spec_decode_num_{name}{end}{{{labels}}} {value:.1f}")
        lines.append(f"vllm:spec_decode_num_{name}_created{{{labels}}} 1.7567367987e+09")
    for at, value in enumerate(kept):
        name = f"vllm:spec_decode_num_accepted_tokens_per_pos{end}"
        lines.append(f'{name}{{{labels},position="{at}"}} {value:.1f}')
    return "\n".join(lines)


GAUGES = """
vllm:num_requests_running{engine="0",model_name="m"} 6.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="m"} 30.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 2000.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",model_name="m"} 7.0
vllm:cache_config_info{block_size="16",path="a \\"b\\", {c}"} 1.0
vllm:unused_gauge NaN
"""
REQUEST = {
    "mean_acceptance_length": 1.23, "draft_acceptance_rate": 0.08,
    "acceptance_histogram": [39, 1, 0, 3], "num_spec_steps": 43,
    "num_accepted_draft_tokens": 10, "num_draft_tokens": 129, "num_spec_tokens": 3,
}  # fmt: skip
DETAILED = {
    "acceptance_histogram": [1, 1, 1, 0, 0], "num_spec_steps": 3, "num_draft_tokens": 9,
    "num_accepted_draft_tokens": 3, "num_spec_tokens": 4,
    "per_step_accepted": [1, 2, 0], "per_step_drafted": [2, 4, 3],
}  # fmt: skip
INFO = {
    "served_model_name": "m", "speculative_num_steps": 4, "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 5, "admin_api_key": "secret",
    "internal_states": [{"avg_spec_accept_length": 2.5}, {"avg_spec_accept_length": 3.5}],
}  # fmt: skip
ANSWER = {
    "text": "a", "meta_info": {
        "id": "1", "completion_tokens": 90, "spec_verify_ct": 43, "spec_num_correct_drafts": 10,
        "spec_num_proposed_drafts": 129, "spec_correct_drafts_histogram": [39, 1, 0, 3],
        "spec_accept_histogram": [39, 1, 0, 3],
    },
}  # fmt: skip
OLD_ANSWER = {
    "choices": [
        {"meta_info": {"spec_verify_ct": 4, "spec_draft_token_num": 20, "spec_accept_histogram": h}}
        for h in ([1, 1, 2], [4])
    ]
}
SGLANG = """sglang:spec_accept_length{dp_rank="0",model_name="m",tp_rank="0"} 2.5
sglang:spec_accept_length{dp_rank="0",model_name="m",tp_rank="1"} 2.5
sglang:spec_accept_length{dp_rank="1",model_name="m",tp_rank="0"} 3.5
sglang:spec_accept_rate{dp_rank="0",model_name="m",tp_rank="0"} 0.7
sglang:spec_num_steps{dp_rank="0",model_name="m",tp_rank="0"} 4
sglang:spec_num_draft_tokens{dp_rank="0",model_name="m",tp_rank="0"} 5
sglang:num_running_reqs{dp_rank="0",model_name="m",tp_rank="0"} 8
sglang:num_running_reqs{dp_rank="0",model_name="m",tp_rank="0",priority="1"} 50
sglang:num_running_reqs{dp_rank="1",model_name="m",tp_rank="0"} 4
"""
TRT = """trtllm_spec_decode_drafted_tokens_total{model_name="m",token_position="0"} 50
trtllm_spec_decode_drafted_tokens_total{model_name="m",token_position="1"} 50
trtllm_spec_decode_drafted_tokens_total{model_name="m",token_position="2"} 20
trtllm_spec_decode_accepted_tokens_total{model_name="m",token_position="0"} 30
trtllm_spec_decode_accepted_tokens_total{model_name="m",token_position="1"} 10
trtllm_num_generation_requests{model_name="m"} 7
"""
LLAMA = """llamacpp:spec_decode_num_draft_tokens_total 339
llamacpp:spec_decode_num_accepted_tokens_total 172
llamacpp:spec_decode_num_drafts_total 113
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 94
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 78
llamacpp:requests_processing 2
"""
TRT_TOTALS = """trtllm_spec_decode_num_draft_tokens_total 8
trtllm_spec_decode_num_accepted_tokens_total 4
"""
TIMINGS = {"timings": {"predicted_n": 100, "draft_n": 80, "draft_n_accepted": 60}}


def iteration(drafted, accepted, drafts):
    stats = {"numDraftTokens": drafted, "numAcceptedTokens": accepted}
    stats |= {"numRequestsWithDraftTokens": drafts, "acceptanceLength": 2.0}
    return {"iter": 1, "inflightBatchingStats": {"numGenRequests": 8}, "specDecodingStats": stats}


TRT_JSON = [iteration(24, 12, 8), iteration(0, 0, 0), iteration(24, 16, 8)]

# text, program, tokens per pass, γ, sequences per pass, accepted by position
READ = {
    "vllm": (vllm() + GAUGES, "vLLM", 2.8, 4, 10, (80, 60, 40, 0)),
    "vllm, engines": (
        vllm() + "\n" + vllm(engine=1, drafts=300, accepted=60, kept=(30, 20, 10, 0)) + GAUGES,
        "vLLM", 1.6, 4, 5, (110, 80, 50, 0),
    ),
    "vllm, no _total": (vllm(end=""), "vLLM", 2.8, 4, None, (80, 60, 40, 0)),
    "vllm, no positions": (vllm(kept=()), "vLLM", 2.8, 4, None, ()),
    "vllm, one request": (
        json.dumps({"choices": [], "metrics": {"speculative_decoding": REQUEST}}),
        "vLLM", 1 + 10 / 43, 3, None, (4, 3, 3),
    ),
    "vllm, its core": (json.dumps(REQUEST), "vLLM", 1 + 10 / 43, 3, None, (4, 3, 3)),
    "sglang info": (json.dumps(INFO), "SGLang", 3.0, 4, None, ()),
    "sglang": (SGLANG, "SGLang", 3.0, 4, 6, ()),
    "sglang, one answer": (json.dumps(ANSWER), "SGLang", 1 + 10 / 43, 3, None, (4, 3, 3)),
    "sglang, its core": (
        json.dumps(ANSWER["meta_info"]), "SGLang", 1 + 10 / 43, 3, None, (4, 3, 3),
    ),
    "sglang, choices of an older release": (
        json.dumps(OLD_ANSWER), "SGLang", 1 + 5 / 8, None, None, (3, 2),
    ),
    "sglang, lines": (f"{json.dumps(ANSWER)}\n" * 2, "SGLang", 1 + 10 / 43, 3, None, (8, 6, 6)),
    "trt": (TRT, "TensorRT-LLM", 1.8, 3, 7, (30, 10, 0)),
    "trt, iterations": (json.dumps(TRT_JSON), "TensorRT-LLM", 1 + 28 / 16, 3, 8, ()),
    "llama": (LLAMA, "llama.cpp", 1 + 172 / 113, 2, 2, (94, 78)),
    "llama, one request": (json.dumps(TIMINGS), "llama.cpp", 2.5, None, 1, ()),
}  # fmt: skip


@pytest.mark.parametrize("case", READ.values(), ids=READ)
def test_statistics_of_each_server_program_are_read(case):
    text, program, mean, gamma, batch, kept = case
    told = parse_stats(text)
    found = told.program, told.draft_length, told.batch, told.accepted_by_position
    assert found == (program, gamma, batch, kept)
    assert tokens_per_pass(told, 4).mean == pytest.approx(mean)


def test_values_that_the_server_does_not_report_stay_unknown():
    made = build_report(json.dumps(INFO))
    assert not made.positions
    assert made.tokens.low is None
    assert made.stats.rounds is made.stats.drafted is made.stats.running is None
    assert "secret" not in repr(made)
    with pytest.raises(UnreadableStats, match="enter γ"):
        tokens_per_pass(parse_stats(TRT_TOTALS))


def test_time_between_outputs_is_the_mean_of_the_reported_histogram():
    assert ("Time between outputs", "15.0 ms") in build_report(vllm() + GAUGES).facts


def test_draft_with_more_tokens_than_levels_is_recognised_as_a_tree():
    deep = SGLANG.replace('tp_rank="0"} 5', 'tp_rank="0"} 9')
    assert (parse_stats(SGLANG).siblings, parse_stats(deep).siblings) == (1, 2)
    assert parse_stats(json.dumps(INFO | {"speculative_eagle_topk": 4})).siblings == 4


def test_draft_length_of_sglang_answers_is_unknown_unless_a_whole_draft_was_accepted():
    stats = parse_stats(json.dumps(OLD_ANSWER))
    assert (stats.drafted, stats.accepted, stats.siblings, stats.draft_length) == (
        40,
        5,
        None,
        None,
    )
    assert stats.notes == (CHAIN_OR_TREE,)
    assert parse_stats(json.dumps(ANSWER)).notes == ()


def test_infinite_or_negative_counts_are_refused():
    for value in (-1.0, float("nan"), float("inf"), 1e16):
        with pytest.raises(UnreadableStats, match="which is impossible"):
            ServerStats("vLLM", "/metrics", rounds=value)


def change(old, new):
    """Return vLLM's text with one change."""
    assert old in vllm()
    return vllm().replace(old, new)


ONE = 'position="1"} 60.0'
REFUSED = {
    "nothing": ("  \n ", "The text is empty"),
    "a page": ("<!doctype html><html>", "This is a web page"),
    "prose": ("hello there", "This is other text, which begins with “hello there”; expected are"),
    "a log": ("(Engine pid=2) INFO 09-12 ready\nmore", "This is a log, which begins with “(Engine"),
    "a dated log": ("[2026-11-25 10:00:00] ready", "This is a log"),
    "an error of curl": ("curl: (7) Failed to connect", "This is a message of curl"),
    "an answer's head": ("HTTP/1.1 404 Not Found", "of a web server, “HTTP/1.1 404 Not Found”"),
    "comments": ("# HELP vllm:drafts Drafts.", "comments or buckets of metrics without any count"),
    "another exporter": ("node_load1 0.5", "These are metrics of node_exporter; expected are"),
    "another program": ("shop_sales 3", "metrics of another program, such as “shop_sales”"),
    "another JSON": ('{"a": 1}', "This is JSON without counts of draft tokens; expected are"),
    "a list": ("[1, 2]", "This is other text"),
    "half JSON": ('{"timings": {"draft_n": 8', "not valid JSON"),
    "deep JSON": ("[" * 100_000, "not valid JSON"),
    "NaN in JSON": ('{"timings": {"draft_n": NaN}}', "not valid JSON"),
    "plain vLLM": ("vllm:num_requests_running 3.0", "reports no drafts"),
    "plain SGLang": ("sglang:num_running_reqs 3.0", "decodes plainly"),
    "plain SGLang info": ('{"internal_states": [{"last_gen_throughput": 9}]}', "decodes plainly"),
    "idle SGLang": ("sglang:spec_accept_length 0.0", "nothing was decoded yet"),
    "plain TensorRT-LLM": ("trtllm_num_requests_running 3.0", "reports no draft tokens"),
    "plain iterations": (json.dumps([{"iter": 1}]), "reports no draft tokens"),
    "idle iterations": (json.dumps([iteration(0, 0, 0)]), "reports no draft tokens"),
    "plain llama.cpp": ("llamacpp:spec_decode_num_drafts_total 0", "drafted nothing"),
    "plain timings": ('{"timings": {"predicted_n": 9}}', "drafted nothing"),
    "two programs": (vllm() + "\n" + LLAMA, "These metrics are from llamacpp and vllm"),
    "idle vLLM": (vllm(0, 0, 0, (0, 0)), "has drafted nothing yet"),
    "too long": ("x" * (MAX_CHARACTERS + 1), "characters; at most 400,000 are read"),
    "too many lines": ("\n".join(["a 1"] * (MAX_LINES + 1)), "more than 20,000 lines"),
    "a long line": (vllm() + "\n" + "a" * 9_000 + " 1", "not in Prometheus’ text format"),
    "a cut line": (vllm()[:-8], "not in Prometheus’ text format"),
    "a label twice": ('vllm:a{b="1",b="2"} 1', "a label twice"),
    "no number": (change(ONE, 'position="1"} sixty'), "the line “vllm:spec"),
    "infinite": (change(ONE, 'position="1"} +Inf'), "which is impossible"),
    "not a number": (change(ONE, 'position="1"} NaN'), "which is impossible"),
    "negative": (change(ONE, 'position="1"} -1'), "which is impossible"),
    "a huge count": (change(ONE, 'position="1"} 1e300'), "which is impossible"),
    "told twice": (vllm() + "\n" + vllm(), "appears twice"),
    "more accepted": (vllm(accepted=500, kept=()), "500 accepted of 400 drafted"),
    "more than drafts": (vllm(drafts=70), "accepted at position 1, but only 70"),
    "rising": (change(ONE, 'position="1"} 90'), "accepted at position 2, but only 80"),
    "a gap": (change('position="1"', 'position="7"'), "has no position 1"),
    "no position": (change('position="1"', 'position="x"'), "a position that is not a number"),
    "a line missing": (vllm(kept=(80, 60)), "a line is missing"),
    "many positions": (vllm(accepted=0, kept=[0] * 129), "more than 128 positions"),
    "a short pass": ('{"internal_states": [{"avg_spec_accept_length": 0.5}]}', "at least 1"),
    "words as a count": (
        '{"internal_states": [{"avg_spec_accept_length": "<b>3</b>"}]}', "must be a number",
    ),
    "states as words": ('{"internal_states": "no"}', "must be a list"),
    "a histogram that is none": (json.dumps(REQUEST | {"acceptance_histogram": 3}), "a list of 1"),
    "a histogram cut": (
        json.dumps(REQUEST | {"acceptance_histogram": [39, 1, 0]}), "sums to 40 rounds",
    ),
    "steps of two lengths": (
        json.dumps(DETAILED | {"per_step_drafted": [2, 4]}), "need a count for each step",
    ),
    "a step with more than its draft": (
        json.dumps(DETAILED | {"per_step_drafted": [2, 1, 3]}), "accept more tokens than it",
    ),
    "steps beside the histogram": (
        json.dumps(DETAILED | {"acceptance_histogram": [0, 2, 1, 0, 0]}), "contradicts",
    ),
    "a step that is no count": (
        json.dumps(DETAILED | {"per_step_accepted": [1, 2.5, 0]}), "must have integers",
    ),
    "an SGLang histogram cut": (
        json.dumps({"meta_info": ANSWER["meta_info"] | {"spec_verify_ct": 40}}),
        "gives 43 and “spec_verify_ct” is 40",
    ),
    "an SGLang sum": (
        json.dumps({"meta_info": ANSWER["meta_info"] | {"spec_num_correct_drafts": 9}}),
        "gives 10 and “spec_num_correct_drafts” is 9",
    ),
    "an SGLang histogram that is none": (
        json.dumps({"meta_info": {"spec_accept_histogram": {"0": 1}}}), "must be a list of 1",
    ),
    "half a draft": (json.dumps(REQUEST | {"num_spec_tokens": 2.5}), "must be an integer"),
    "no drafts beside guesses": (
        json.dumps([{"specDecodingStats": {"numDraftTokens": 9}}]), "is missing",
    ),
    "too few tokens": (
        '{"timings": {"predicted_n": 9, "draft_n": 20, "draft_n_accepted": 9}}', "pass adds one",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_each_error_is_one_readable_sentence(case):
    text, sentence = case
    begun = time.process_time()
    with pytest.raises(UnreadableStats, match=re.escape(sentence)) as refused:
        build_report(text)
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)
    assert time.process_time() - begun < 2


def test_long_lines_are_parsed_quickly():
    for line in ('a{b="' + "\\a" * 3_900, 'a{b="c",' * 900 + "} 1", "a " + " " * 7_900):
        begun = time.process_time()
        with pytest.raises(UnreadableStats):
            parse_stats(line)
        assert time.process_time() - begun < 0.5


def test_one_of_several_models_can_be_chosen():
    text = vllm() + "\n" + vllm(model="n", drafts=200)
    with pytest.raises(SeveralModels, match="several models: m, n") as asked:
        parse_stats(text)
    assert asked.value.models == ("m", "n")
    assert parse_stats(text, "n").rounds == 200
    with pytest.raises(UnreadableStats, match="has no model 'x'"):
        parse_stats(text, "x")


def test_two_snapshots_give_the_difference_of_their_counts():
    after = parse_stats(vllm(160, 640, 250, (120, 80, 50, 0)) + GAUGES)
    made = difference(parse_stats(vllm()), after)
    assert (made.rounds, made.drafted, made.accepted) == (60, 240, 70)
    assert made.accepted_by_position == (40, 20, 10, 0)
    assert made.batch == 10  # of the later snapshot
    assert tokens_per_pass(made).mean == pytest.approx(1 + 70 / 60)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (vllm(160, 640, 250, (120, 80, 50, 0)), vllm(), "A counter decreased"),
        (vllm(), vllm(), "Nothing was drafted between"),
        (vllm(model="n"), vllm(), "from different servers"),
        (LLAMA, vllm(), "from different servers"),
        (SGLANG, SGLANG, "does not report counters"),
        (json.dumps(REQUEST), json.dumps(REQUEST), "does not report counters"),
        (vllm(kept=(80, 60, 40, 0, 0)), vllm(200, 800), "fewer positions"),
        ("prose", vllm(), "This is other text"),
    ],
)
def test_snapshots_that_cannot_be_subtracted_are_refused(before, after, sentence):
    with pytest.raises(UnreadableStats, match=sentence):
        build_report(after, before)


def test_shipped_example_has_the_counts_of_its_measurement():
    made = build_report(example().text)
    assert (made.stats.program, made.stats.rounds) == ("vLLM", 527)
    assert made.stats.accepted_by_position == (424, 343, 277, 228)
    assert [place.number for place in acceptance_by_position(made.stats)] == [1, 2, 3, 4]


def test_detailed_metrics_of_a_request_keep_each_step():
    stats = parse_stats(json.dumps({"metrics": {"speculative_decoding": DETAILED}}))
    assert stats.steps == ((1, 2), (2, 4), (0, 3))
    assert list(accepted_by_length(stats).items()) == [(2, [1]), (3, [0]), (4, [2])]
    assert parse_stats(json.dumps(REQUEST)).steps == ()


def test_counts_of_several_requests_in_json_lines_are_added():
    answers = [{"metrics": {"speculative_decoding": each}} for each in (DETAILED, REQUEST)]
    stats = parse_stats("\n".join(map(json.dumps, answers)) + "\n")
    assert stats == parse_stats(json.dumps(answers))
    assert (stats.rounds, stats.drafted, stats.accepted) == (46, 138, 13)
    assert stats.accepted_by_position == (6, 4, 3, 0)
    assert (stats.endpoint, stats.gamma) == ("answers to 2 requests", 4)
    assert len(stats.steps) == 3


def test_metrics_of_a_specviz_run_are_read_like_those_of_a_vllm_request():
    trace = Trace.read(FOLDER / "01-chain.jsonl")
    stats = parse_stats(json.dumps(request_metrics(trace)))
    steps = [len(accepted_path(each)) for each in trace.rounds if each.judged]
    assert [accepted for accepted, _ in stats.steps] == steps
    assert stats.accepted == sum(steps)
    assert tokens_per_pass(stats).mean == pytest.approx(1 + sum(steps) / len(steps))
