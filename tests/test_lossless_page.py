"""The answers of the Lossless? tab: known numbers, sentences and rejected requests."""

import json

import pytest
from asking import ask

from specviz.engine.decode import Tally
from specviz.frames.scene import flat
from specviz.settings.settings import Settings
from specviz.shipped import FOLDER
from specviz.trace.file import Trace
from specviz.ui.lossless import proof
from specviz.ui.lossless.coins import answer as coins
from specviz.ui.lossless.gallery import answer as gallery
from specviz.ui.lossless.sandbox import PRESETS
from specviz.ui.lossless.sandbox.answer import answer

P, Q = PRESETS[0]["p"], PRESETS[0]["q"]
WITH_Q = "speculative"
ASKED = {"p": P, "q": Q, "drawn": "sampled", "candidates": 1, "rule": "auto"}


def told(of=answer, **more):
    return ask(of, {**ASKED, **more})


@pytest.mark.parametrize(
    ("more", "kept", "tv"),
    [
        ({}, "0.6500", "0"),
        ({"rule": "point-mass"}, "0.2100", "0"),
        ({"rule": "accept-reject"}, "0.2500", "0"),
        ({"candidates": 2}, "0.7350", "0"),
        ({"candidates": 2, "rule": "k-seq"}, "0.7500", "0"),
        ({"candidates": 3}, "0.7615", "0"),
        ({"candidates": 2, "drawn": "without-replacement"}, "0.7564", "0"),
        ({"candidates": 2, "drawn": "without-replacement", "rule": WITH_Q}, "0.7869", ".0305"),
        ({"candidates": 2, "rule": "without-replacement"}, "0.7168", ".0182"),
        ({"drawn": "top"}, "0.2500", "0"),
        ({"drawn": "top", "candidates": 2}, "0.3500", "0"),
        ({"drawn": "top", "rule": "speculative"}, "0.5556", ".3056"),
        ({"rule": "lenience:0.5"}, "0.9500", ".3000"),
        ({"rule": "lenience:0.75"}, "0.7667", ".1167"),
        ({"rule": "ensemble:0.9"}, "0.6850", ".0350"),
        ({"rule": "unverified"}, "1.0000", ".3500"),
    ],
)  # fmt: skip
def test_acceptance_and_distance_of_the_worked_example_equal_known_values(more, kept, tv):
    """Acceptance and distance are defined as in the papers 2211.17192 and 2310.15141."""
    found = told(**more)
    assert found["numbers"]["kept"] == kept
    assert found["numbers"]["tv"] == (tv if tv == "0" else "0" + tv)
    assert found["verdict"] == ("exact" if tv == "0" else "lossy")
    assert (found["worst"] is None) == (tv == "0")
    assert sum(found["kept"]) + sum(found["filled"]) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset["name"])
def test_automatically_selected_rule_is_exact_on_every_preset(preset):
    for drawn in ("sampled", "without-replacement", "top"):
        for candidates in (1, 3):
            asked = {"p": preset["p"], "q": preset["q"], "drawn": drawn, "candidates": candidates}
            assert told(**asked)["verdict"] == "exact", asked


def test_displayed_acceptance_ceiling_and_tokens_per_round_equal_known_values():
    """Tokens by equation 1 of Leviathan et al. (2211.17192): 1 + α + … + α⁴ at α = 0.65."""
    assert told()["numbers"]["tokens"] == f"{sum(0.65**i for i in range(5)):.3f}" == "2.526"
    found = told(candidates=3, drawn="without-replacement")["numbers"]
    assert (found["kept"], found["ceiling"]) == ("0.8297", "1.0000")
    assert told(candidates=2)["numbers"]["ceiling"] == "0.7900"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"p": [1.0]}, "2 to 6"),
        ({"p": [0.5, 0.6, 0.1, 0.1, 0.1]}, "sum to 1.4"),
        ({"p": [0.5, -0.1, 0.2, 0.2, 0.2]}, "from 0 to 1"),
        ({"p": [True, 0, 0, 0, 0]}, "from 0 to 1"),
        ({"p": [0.5, 0.5]}, "for the same tokens"),
        ({"p": "abc"}, "2 to 6"),
        ({"drawn": "by magic"}, "one of these ways"),
        ({"candidates": 4}, "1 to 3"),
        ({"candidates": 1.5}, "whole number"),
        ({"rule": "<b>none</b>"}, "There is no rule"),
        ({"rule": "lenience:7"}, "must be between"),
        ({"rule": 3}, "80 characters"),
    ],
)
def test_invalid_request_returns_readable_error(more, words):
    for of in (answer, coins.answer):
        assert words in told(of, **{"throws": 10, **more})["problem"]


def test_malformed_request_returns_readable_error():
    for of in (answer, coins.answer, gallery.answer):
        for text in ("null", "", "{", "[]", "x" * 5000, '{"p": NaN}'):
            assert ask(of, text)["problem"], text[:9]
    for throws in (-5, 10**9, "many", None):
        assert "number of rounds" in told(coins.answer, throws=throws)["problem"]
    for more in ({"asked": "nothing"}, {"asked": "evidence", "key": "x"}):
        assert told(gallery.answer, **more)["problem"], more
    assert told(gallery.answer, asked="list", p=[2])["problem"]
    with pytest.raises(ValueError, match="no recorded run"):
        proof.respond({"run": "../x", "counts": None})
    with pytest.raises(ValueError, match="cannot be repeated"):
        proof.wanted(None, "../x")
    for result in (None, [], {"rows": [["a", "b", 1]]}, {"rows": [["a", 1, 1]]}):
        with pytest.raises(ValueError, match="cannot be read"):
            proof.checked(result)


@pytest.mark.slow
def test_simulated_rounds_add_up_and_show_the_expected_noise_or_a_lossy_rule():
    found = told(coins.answer, throws=20_000)
    steps = found["steps"]
    assert [sum(p["kept"]) + sum(p["filled"]) for p in steps] == [p["thrown"] for p in steps]
    assert steps[-1]["thrown"] == 20_000
    assert found["numbers"]["exact"] == "0"
    assert found["numbers"]["noise"] == "0.0052"
    assert all(low <= p <= high for (low, high), p in zip(found["intervals"], P, strict=True))
    assert told(coins.answer, throws=20_000)["steps"][-1] != steps[-1], "each time others"
    none = told(coins.answer, throws=0, rule="accept-reject")
    assert (len(none["darts"]["darts"]), none["steps"]) == (coins.DARTS, [])
    lossy = told(coins.answer, throws=20_000, drawn="top", rule="speculative")
    assert "do not follow p" in lossy["sentence"]
    assert lossy["numbers"]["exact"] == "0.3056"
    sure = told(coins.answer, throws=100, p=[0.0, 1.0, 0, 0, 0], rule="unverified")
    assert "Luck cannot explain" in sure["sentence"]


def test_share_of_experiments_is_never_rounded_to_all_or_none():
    shares = [coins.often(chance) for chance in (1.0, 0.9951, 0.874, 0.012, 0.001)]
    said = ("more than 99", "more than 99", "about 87", "about 1", "less than 1")
    assert shares == [f"{each} of 100 experiments" for each in said]


def test_repeated_runs_are_tested_only_if_some_begin_with_the_same_tokens():
    alike, rare = {(1, 2, 3): 200}, {(1, 2, 3): 1, (4, 5, 6): 1}
    for done, counts in ((200, alike), (2, rare)):
        said = proof.counted(Tally(done, 200, counts, counts), greedy=False)
        assert "of 100" not in said
    even = {(1, 2, 3): 100, (4, 5, 6): 100}
    said = proof.counted(Tally(200, 200, even, even), greedy=False)
    assert "more than 99 of 100 experiments" in said
    assert "no sign" in said
    other = {(1, 2, 3): 190, (4, 5, 6): 10}
    assert "very likely changes" in proof.counted(Tally(200, 200, even, other), greedy=False)


@pytest.mark.slow
def test_gallery_shows_which_code_of_the_eagle_issue_is_lossy():
    """SafeAILab/EAGLE issue 329: the code as it is is exact, the code suggested there is lossy."""
    found = {one["key"]: one for one in told(gallery.answer, asked="list", p=None)["exhibits"]}
    assert len(found) >= 12
    assert found["top-k-masked"]["verdict"] == "exact"
    assert found["suggested-fix"]["verdict"] == "lossy"
    assert (found["half-a-fix"]["tv"], found["sampled-masked"]["tv"]) == ("0.3171", "0")
    assert all(one["source"][1].startswith("https://") for one in found.values())
    assert (tuple(found["half-a-fix"]["p"]), tuple(found["half-a-fix"]["q"])) == (P, Q)


@pytest.mark.slow
def test_gallery_recomputes_verdicts_for_other_distributions():
    same = told(gallery.answer, asked="list", p=P, q=P)["exhibits"]
    by_key = {one["key"]: one["verdict"] for one in same}
    assert by_key["resample-from-p"] == "exact", "nothing falls where p and q are the same"
    assert by_key["first-unseen"] == "lossy"
    found = told(gallery.answer, asked="evidence", key="one-coin")["evidence"]
    assert set(found) == {"lead", "draft", "p", "out", "intervals", "strings"}
    assert abs(float(found["strings"][0][3].split()[0].replace("−", "-"))) > 8


@pytest.mark.slow
def test_every_verdict_of_a_recorded_run_is_exact():
    found, trace = proof.verdicts("01-chain"), Trace.read(FOLDER / "01-chain.jsonl")
    assert len(found.judged) == sum(len(played.judged) for played in trace.rounds)
    assert "rounding" in found.sentence
    for number, verdict in enumerate(found.judged):
        assert verdict.output < 1e-12 < verdict.draft
        assert verdict.row[-1] == "0"
        handed = json.loads(proof.for_sandbox("01-chain", number))
        assert verdict.word in [flat(word) for word in handed["words"]]
        laws = {name: handed[name] for name in ("p", "q", "drawn")}
        assert told(**laws)["verdict"] == "exact"
    assert proof.for_sandbox("01-chain", 999) == proof.for_sandbox("01-chain", "0") == ""


def test_figures_of_a_run_have_its_distances_and_counts():
    run, counts = "01-chain", {"title": "A <b>run</b>", "sentence": "said", "rows": [("<s>", 3, 4)]}
    found = proof.respond({"run": run, "counts": None})
    assert not found["counted"].visible
    assert "bars" not in found
    draft, output = json.loads(found["distances"])["data"]
    judged = proof.verdicts(run).judged
    assert draft["y"] == pytest.approx([one.draft for one in judged])
    assert output["y"] == pytest.approx([max(one.output, 1e-17) for one in judged], abs=0)
    found = proof.respond({"run": run, "counts": counts})
    assert found["said"].startswith("**A &#60;b&#62;run")
    bars = json.loads(found["bars"])["data"]
    assert [(bar["y"], bar["x"]) for bar in bars] == [(["&lt;s&gt;"], [3]), (["&lt;s&gt;"], [4])]


@pytest.mark.slow
def test_repeated_runs_report_their_distance_at_the_end(tiny_target, tiny_draft):
    from specviz.engine.decode import repeat

    ids = tiny_target.encode("The cat", 8)
    tallies = repeat(tiny_target, tiny_draft, ids, Settings(max_new_tokens=8), 12)
    said = proof.lines(tallies, False, "1", "A run", tiny_target)
    lines = [json.loads(one) for one in said if one]
    assert [line.get("done") for line in lines] == [5, 10, 12]
    assert ["result" in line for line in lines] == [False, False, True]
    assert lines[1]["sentence"] == "10 of 12 pairs of runs"
    result = proof.checked(lines[-1]["result"])
    assert result["sentence"].split().count("12") == 2
    assert len(result["rows"]) <= 8
    assert result["rows"] == sorted(result["rows"], key=lambda row: (-row[1] - row[2], row[0]))
