"""Predictions from a server's counts: intervals and speed-ups against hand calculations."""

import json
import re
from dataclasses import replace
from html import unescape
from math import sqrt

import pytest
from test_server_texts import DETAILED, GAUGES, INFO, READ, REQUEST, vllm

from specviz.cost import sources
from specviz.cost.roofline import Serving, pass_time
from specviz.cost.server.flags import launch_flags
from specviz.cost.server.loading import MAX_CHARACTERS, example, parse_stats, strip_settings
from specviz.cost.server.outlook import Deployment, acceptance_model, outlook
from specviz.cost.server.report import Report, advice, build_report, describe_deployment
from specviz.cost.server.stats import (
    ServerStats,
    UnreadableStats,
    acceptance_by_position,
    tokens_per_pass,
    wilson_interval,
)
from specviz.cost.sources import at_default_efficiency, drafters
from specviz.ui.cost.server import START, example_values, respond, taken
from specviz.ui.instrument import verbatim

COUNTS = {"rounds": 100, "drafted": 200, "accepted": 110, "accepted_by_position": (80, 30)}
COUNTED = ServerStats("vLLM", "/metrics", **COUNTS, gamma=2)
MEAN = ServerStats("SGLang", "/server_info", mean=2.44, gamma=3)
EIGHT = sources.models()["llama-3.1-8b"].shape
SERVING = at_default_efficiency(Serving(EIGHT, sources.machines()["h100-sxm"].hardware, "bf16"))
SITE = Deployment("h100-sxm", "llama-3.1-8b", "bf16", "n-gram")


def test_wilson_interval_matches_the_textbook():
    """Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20."""
    for kept, many, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
    ):
        found = wilson_interval(kept, many)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    with pytest.raises(ValueError, match="not a share"):
        wilson_interval(3, 2)


def test_each_position_has_overall_and_conditional_acceptance():
    first, second = acceptance_by_position(COUNTED)
    assert (first.cumulative.share, second.cumulative.share) == (0.8, 0.3)
    assert second.conditional.share == pytest.approx(30 / 80)
    (_, gone) = acceptance_by_position(replace(COUNTED, accepted_by_position=(0, 0), accepted=0))
    assert gone.conditional is None


def test_variance_of_tokens_per_pass_is_that_of_accepted_lengths():
    """20 rounds accepted none, 50 one, 30 two: mean 1.1, mean square 1.7."""
    found = tokens_per_pass(COUNTED)
    half = 1.959964 * sqrt((1.7 - 1.1**2) / 100)
    assert (found.mean, found.low, found.high) == pytest.approx((2.1, 2.1 - half, 2.1 + half))


def test_prediction_for_a_shorter_draft_uses_the_counts_of_its_positions():
    found = acceptance_model(COUNTED, 2)
    assert [found.tokens(gamma) for gamma in (0, 1, 2)] == pytest.approx([1, 1.8, 2.1])


def test_acceptance_of_the_last_position_is_assumed_for_later_ones():
    found = outlook(COUNTED, SERVING, 1, None)
    assert found.options[4].tokens == pytest.approx(1 + 0.8 + 0.3 + 0.3 * 0.375 + 0.3 * 0.375**2)
    assert [choice.counted for choice in found.options[:4]] == [True, True, True, False]


def report_of(told, site=SITE):
    """Return the report about counts that come without a text."""
    found = site.outlook(told)
    where = describe_deployment(site, told)
    said = tuple(advice(where, told, found))
    return Report(told, tokens_per_pass(told), (), (), (), found, where, said)


def test_mean_tokens_per_pass_give_one_alpha_for_all_positions():
    """Expect 1 + 0.6 + 0.36 + 0.216 = 2.176 tokens."""
    found = acceptance_model(replace(MEAN, mean=2.176), 3)
    assert found.rest == pytest.approx(0.6)
    assert not any(choice.counted for choice in outlook(MEAN, SERVING, 1, None).options)
    with pytest.raises(UnreadableStats, match="at most 4 tokens"):
        acceptance_model(replace(MEAN, mean=4.5), 3)
    with pytest.raises(UnreadableStats, match="enter the γ it was started"):
        acceptance_model(replace(MEAN, gamma=None), None)


@pytest.mark.parametrize(("drafter", "batch"), [("n-gram", 1), ("head", 64), ("llama-3.2-1b", 256)])
def test_speedup_is_tokens_per_round_divided_by_its_time_in_plain_passes(drafter, batch):
    draft = drafters("llama-3.1-8b")[drafter][1]
    found = outlook(COUNTED, SERVING, batch, draft)
    plain = pass_time(SERVING, batch).seconds
    one = pass_time(replace(SERVING, shape=draft), batch).seconds if draft else 0.0
    for gamma, brought in ((1, 1.8), (2, 2.1)):
        costs = gamma * one + pass_time(SERVING, batch, gamma + 1).seconds
        assert found.options[gamma].speedup == pytest.approx(brought * plain / costs)
    most = max(choice.speedup for choice in found.options)
    assert found.best.speedup == pytest.approx(most)
    assert found.current == found.options[2]
    assert found.gain == pytest.approx(most / found.current.speedup)
    low, high = found.near_best
    assert low <= found.best.gamma <= high


def test_drafting_never_pays_if_the_drafter_costs_as_much_as_the_target():
    found = outlook(COUNTED, SERVING, 1, EIGHT)
    assert found.best.gamma == 0
    assert found.current.speedup < 1


def test_best_draft_length_is_given_for_both_ends_of_the_interval():
    few = replace(COUNTED, rounds=10, drafted=20, accepted=11, accepted_by_position=(8, 3))
    low, high = outlook(few, SERVING, 32, None).best_interval
    counts = {"rounds": 1e6, "drafted": 2e6, "accepted": 1.1e6}
    many = replace(COUNTED, **counts, accepted_by_position=(8e5, 3e5))
    sure = outlook(many, SERVING, 32, None).best_interval
    assert low < high
    assert sure[0] == sure[1] == outlook(many, SERVING, 32, None).best.gamma
    assert outlook(MEAN, SERVING, 32, None).best_interval is None


def test_batch_size_defaults_to_the_one_that_the_server_reports():
    busy = replace(COUNTED, running=37.6)
    assert SITE.batch_of(busy) == 38
    assert replace(SITE, batch=8).batch_of(busy) == 8
    assert SITE.batch_of(COUNTED) == 1


def fitted(milliseconds, drafter="llama-3.2-1b", told=COUNTED):
    """Return the report of a server with this time between outputs."""
    timed = replace(told, output_gaps=(milliseconds, 1000.0))
    return report_of(timed, replace(SITE, drafter=drafter))


def test_predicted_costs_are_calibrated_to_the_measured_time_per_output():
    """A round has two passes of the drafter and one of the target, so each takes a third."""
    draft = drafters("llama-3.1-8b")["llama-3.2-1b"][1]
    one = pass_time(replace(SERVING, shape=draft), 1).seconds
    least = 2 * one + pass_time(SERVING, 1, 3).seconds
    made = fitted(40.0)
    slow = replace(SERVING, overhead=(0.040 - least) / 3)
    assert made.outlook.calibration.overhead == pytest.approx(slow.overhead)
    assert made.outlook.round.draft + made.outlook.round.verify == pytest.approx(0.040)
    assert made.outlook.options == outlook(COUNTED, slow, 1, draft).options
    said = " ".join(made.advice)
    assert f"predicts {1000 * least:.2f} ms per round" in said
    assert f"3 passes has {1000 * slow.overhead:.2f} ms of overhead" in said


def test_calibration_to_the_server_can_change_the_best_gamma():
    """A fixed cost per pass makes drafting more expensive, since it needs one pass per token."""
    good = replace(COUNTED, accepted_by_position=(95, 90), accepted=185)
    ideal, slow = fitted(0.1, told=good), fitted(200.0, told=good)
    assert slow.outlook.best.gamma < ideal.outlook.best.gamma
    assert slow.outlook.best_otherwise == (ideal.outlook.best.gamma,) * 2


def test_efficiency_is_raised_for_a_server_faster_than_predicted():
    least = pass_time(SERVING, 1, 3).seconds
    made = fitted(900 * least, "n-gram")
    assert made.outlook.round.verify == pytest.approx(0.9 * least)
    assert "passes are 1.11 times as fast as predicted." in " ".join(made.advice)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"hardware": "toaster"}, "'toaster' is not a known hardware; choose one of h100-sxm"),
        ({"model": "gpt"}, "is not a known model"),
        ({"dtype": "int4"}, "is not a known number format of this machine; choose one of bf16"),
        ({"drafter": "qwen3-0.6b"}, "is not a known drafter for llama-3.1-8b"),
        ({"batch": 0}, "The batch size must be between 1 and 512"),
        ({"gamma": 65}, "γ must be between 1 and 64"),
        ({"cards": 65}, "The number of devices must be between"),
        ({"context": -1}, "The context must be between"),
    ],
)
def test_invalid_deployment_is_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SITE, **changes)


def test_server_counts_are_reported_even_if_no_prediction_is_possible():
    text = '{"timings": {"predicted_n": 100, "draft_n": 80, "draft_n_accepted": 60}}'
    made = build_report(text, site=SITE)
    assert made.tokens.mean == 2.5
    assert made.outlook is None
    assert "llama.cpp does not report its draft length" in made.not_predicted
    assert build_report(text, gamma=4, site=replace(SITE, gamma=4)).outlook is not None


TEXT = example().text


def said(**changes):
    """Return what is shown for the example on the machine that is selected initially."""
    found = respond({**START, "now": TEXT, **changes})
    drawn = {name: json.loads(found[name]) for name in ("places", "outlook", "steps")
             if name in found}  # fmt: skip
    return found | drawn


def trace(figure, name):
    return next(each for each in figure["data"] if each["name"].startswith(name))


def test_numbers_on_the_page_equal_the_formulas():
    made = said(batch=256)
    site = Deployment("h100-sxm", "llama-3.1-8b", "bf16", "head", batch=256)
    found = build_report(TEXT, site=site)
    assert "a pass of your server yielded **3.41** tokens on average." in made["said"]
    assert all(verbatim(each) in made["said"] for each in found.advice)
    assert "| Drafts | 527 |" in made["facts"]
    assert "| 2 | 65.1%, 60.9 to 69.0 | 80.9%, 76.9 to 84.4 |" in made["table"]
    outlook, options = made["outlook"], found.outlook.options
    counted = trace(outlook, "from counted")["y"]
    assert counted == pytest.approx([c.speedup for c in options[:5]])
    assert trace(outlook, "from assumed")["x"] == list(range(4, 17))
    assert (trace(outlook, "best")["x"], trace(outlook, "yours")["x"]) == ([1], [4])
    shares = trace(made["places"], "of all")
    assert shares["y"] == pytest.approx([kept / 527 for kept in (424, 343, 277, 228)])
    high = shares["y"][0] + shares["error_y"]["array"][0]
    assert high == pytest.approx(found.positions[0].cumulative.high)
    assert (made["batch"].info, made["gamma"].info) == ("reported: 1", "reported: 4")


def test_heading_advice_and_options_agree_on_one_gamma():
    for changes, gamma in (({"batch": 256}, "γ = 1"), (example_values({}), "γ = 4")):
        found = respond({**START, "now": TEXT, **changes})
        keeps = gamma == "γ = 4"
        heading = unescape(found["answer"])
        assert (f"keep {gamma}: " if keeps else f"{gamma} is best: ") in heading
        assert f"**{'Keep' if keeps else 'Start your server with'} {gamma}**" in found["flags"]
        assert ("so keep that" in found["said"]) is keeps
        assert heading.startswith("An example, not yours: vLLM")
    mine = respond({**START, "now": TEXT + "\n"})["answer"]
    assert mine.startswith("Your vLLM yielded 3.41 tokens per pass")


def test_numbers_for_the_other_sections_are_those_of_the_server():
    found = taken({**START, "now": TEXT, "context": 2048, "hardware": "t4"})
    alpha = found["tab_alpha"]
    assert sum(alpha**i for i in range(5)) == pytest.approx(3.4137, abs=0.005)
    site = {name: found[f"tab_{name}"] for name in ("gamma", "batch", "context", "hardware")}
    assert site == {"gamma": 4, "batch": 1, "context": 2048, "hardware": "t4"}
    assert found["tab_dtype"]["value"] == "fp16", "a format of this machine"
    assert taken({**START, "now": vllm() + GAUGES, "gamma": 4})["tab_batch"] == 10, "as reported"
    assert taken({**START, "now": TEXT, "batch": 7})["tab_batch"] == 7
    assert said()["take"].value.startswith(f"Use α = {alpha:.2f}, γ = 4 and this machine")


def test_server_that_reports_only_a_mean_has_no_figure_by_position():
    made = said(now=json.dumps(INFO))
    assert not made["places_column"].visible
    assert made["table"] == ""
    assert made["outlook_column"].visible
    assert "no acceptance by position" in made["limitations"]
    tree = said(now=json.dumps(INFO | {"speculative_eagle_topk": 4}))
    assert "drafts trees" in tree["said"]
    assert not tree["outlook_column"].visible
    assert tree["flags"] == ""
    assert not tree["take"].visible


def test_page_offers_a_choice_if_the_server_has_several_models():
    empty = said(now=" \n")
    assert empty["answer"].startswith("An example, not yours: vLLM")
    assert not empty["report"].visible
    text = vllm() + "\n" + vllm(model="<n>")
    assert [name for name, _ in said(now=text)["named"].choices] == ["<n>", "m"]
    assert "| Model | &#60;n&#62; |" in said(now=text, named="<n>")["facts"]


def test_steps_are_drawn_and_grouped_by_draft_length():
    made = said(now=f"{json.dumps(DETAILED)}\n{json.dumps(REQUEST)}\n")
    assert trace(made["steps"], "accepted")["y"] == [1, 2, 0]
    assert trace(made["steps"], "not accepted")["y"] == [1, 2, 3]
    assert "| 4 | 1 | 2.00 |" in made["lengths"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"now": "hello"}, "This is other text, which begins with “hello”"),
        ({"now": "a" * (MAX_CHARACTERS + 1)}, "at most 400,000 are read"),
        ({"before": "a" * (MAX_CHARACTERS + 1)}, "at most 400,000 are read"),
        ({"before": TEXT}, "Nothing was drafted between"),
    ],
)
def test_text_that_cannot_be_read_hides_the_report(changes, sentence):
    made = said(**changes)
    assert verbatim(sentence) in made["problem"].value
    assert not made["report"].visible


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cards": None}, "The number of devices must be a number."),
        ({"cards": 1.5}, "The number of devices must be a whole number, not 1.5."),
        ({"batch": "many"}, "The batch size must be a number, not 'many'."),
        ({"batch": 1e300}, "The batch size must be"),
        ({"cards": 0}, "The number of devices must be between 1 and 64, not 0."),
        ({"hardware": "<b>"}, "No hardware is called '<b>' here."),
    ],
)
def test_invalid_deployment_on_the_page_is_refused_with_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        said(**changes)


OPTIONS = {
    "head": """\
--speculative-config '{"method": "eagle3", "model": "YOUR-EAGLE-3-HEAD", \
"num_speculative_tokens": 3}'
--speculative-algorithm EAGLE3 \\
--speculative-draft-model-path YOUR-EAGLE-3-HEAD \\
--speculative-num-steps 3 \\
--speculative-eagle-topk 1 \\
--speculative-num-draft-tokens 4
--spec-type draft-eagle3 --spec-draft-model YOUR-EAGLE-3-HEAD.gguf --spec-draft-n-max 3""",
    "n-gram": """\
--speculative-config '{"method": "ngram", "num_speculative_tokens": 3}'
--speculative-algorithm NGRAM \\
--speculative-ngram-max-bfs-breadth 1 \\
--speculative-num-draft-tokens 4
--spec-type ngram-simple --spec-ngram-simple-size-m 3""",
    "qwen3-0.6b": """\
--speculative-config '{"method": "draft_model", "model": "YOUR-DRAFT-MODEL", \
"num_speculative_tokens": 3}'
--speculative-algorithm STANDALONE \\
--speculative-draft-model-path YOUR-DRAFT-MODEL \\
--speculative-num-steps 3 \\
--speculative-eagle-topk 1 \\
--speculative-num-draft-tokens 4
--spec-type draft-simple --spec-draft-model YOUR-DRAFT-MODEL.gguf --spec-draft-n-max 3""",
}


@pytest.mark.parametrize("drafter", OPTIONS)
def test_options_to_copy_draft_a_chain_of_this_length(drafter):
    found = launch_flags(drafter, 3)
    assert list(found) == ["vLLM", "SGLang", "llama.cpp"]
    assert "\n".join(found.values()) == OPTIONS[drafter]


def test_report_ends_in_options_for_the_best_gamma():
    made = said(batch=256)
    assert made["flags"].count("```sh\n") == 3
    assert '"num_speculative_tokens": 1}' in made["flags"]
    bad = vllm(1000, 4000, 11, (10, 1, 0, 0))
    assert "without a drafter" in said(now=bad, batch=512, drafter="llama-3.2-1b")["flags"]


def test_json_keys_that_are_removed_are_never_needed():
    texts = [case[0] for case in READ.values() if case[0][0] in "{["]
    assert len(texts) == 9
    for text in texts:
        less = strip_settings(text)
        assert "secret" not in less
        assert parse_stats(less) == parse_stats(text)
