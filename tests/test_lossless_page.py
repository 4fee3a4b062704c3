"""The answers of the Lossless? tab: known numbers, sentences and rejected requests."""

import json

import pytest

from specviz.engine.decode import Tally
from specviz.frames.scene import flat
from specviz.settings.settings import Settings
from specviz.shipped import FOLDER
from specviz.trace.file import Trace
from specviz.ui.lossless import coins, gallery, proof
from specviz.ui.lossless.sandbox import PRESETS, rules
from specviz.ui.lossless.sandbox.answer import answer, reply
from specviz.verification.published_rules import GALLERY, find_case_study

P, Q = PRESETS[0]["p"], PRESETS[0]["q"]
WITH_Q = "speculative"
ASKED = {"p": P, "q": Q, "drawn": "sampled", "candidates": 1, "rule": "auto"}


def told(**more):
    return answer(json.loads(json.dumps({**ASKED, **more})))


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


def tossed(throws, **more):
    """Return the outputs for the usual experiment with some changes, after random rounds."""
    run = throws and coins.started(throws, {})["run"]
    experiment = {**ASKED, "words": PRESETS[0]["words"], **more}
    return coins.respond({"run": run, "sandbox": json.dumps(experiment)})


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
    assert words in reply({**json.loads(json.dumps(ASKED | more)), "number": 1})["problem"]
    with pytest.raises(ValueError, match=words):
        tossed(10, **more)


def test_malformed_request_returns_readable_error():
    for wrong in ({}, {"p": float("nan")}):
        with pytest.raises(ValueError, match="2 to 6"):
            answer(wrong)
    with pytest.raises(ValueError, match="2 to 6"):
        studied(borrows=True, sandbox='{"p": [2], "q": [1], "words": []}')
    with pytest.raises(ValueError, match="No rule of this list has"):
        studied(find="nothing of the sort")
    with pytest.raises(ValueError, match="no recorded run"):
        proof.respond({"run": "../x", "counts": None})
    with pytest.raises(ValueError, match="cannot be repeated"):
        proof.wanted("../x")
    for result in (None, [], {"rows": [["a", "b", 1]]}, {"rows": [["a", 1, 1]]}):
        with pytest.raises(ValueError, match="cannot be read"):
            proof.checked(result)


@pytest.mark.slow
def test_simulated_rounds_add_up_and_show_the_expected_noise_or_a_lossy_rule():
    found = tossed(20_000)
    kept, filled, outline, whiskers = json.loads(found["columns"])["data"]
    assert sum(kept["y"]) + sum(filled["y"]) == pytest.approx(1)
    assert filled["base"] == kept["y"]
    assert tuple(outline["y"]) == P
    for p, out, above, below in zip(P, whiskers["y"], *intervals(whiskers), strict=True):
        assert out - below <= p <= out + above
    assert "| exact distance, computed | 0 |" in found["numbers"]
    assert "luck alone | 0.0052 |" in found["numbers"]
    assert tossed(20_000)["columns"] != found["columns"], "each time others"
    assert not found["board"]["visible"]
    none = tossed(0, rule="accept-reject")
    *_, accepted, rejected = json.loads(none["darts"])["data"]
    assert len(accepted["x"]) + len(rejected["x"]) == coins.DARTS
    assert (none["board"]["visible"], none["counted"]["visible"]) == (True, False)
    lossy = tossed(20_000, drawn="top", rule="speculative")
    assert "do not follow p" in lossy["answer"]
    assert "computed | 0.3056 |" in lossy["numbers"]
    sure = tossed(100, p=[0.0, 1.0, 0, 0, 0], rule="unverified")
    assert "Luck cannot explain" in sure["answer"]
    assert coins.respond({"run": None, "sandbox": "null"}) == {}, "before the sandbox has started"


def intervals(trace):
    return trace["error_y"]["array"], trace["error_y"]["arrayminus"]


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


def studied(**changes):
    """Return the gallery's outputs for its initial values with some changes."""
    usual = {"find": "", "rule": gallery.FIRST, "borrows": False, "sandbox": "null"}
    return gallery.respond(usual | changes)


def listed(found):
    """Return the verdict and the distance of each listed rule by its name."""
    return {name: (verdict, tv) for verdict, name, tv in found["rules"]["value"]["data"]}


@pytest.mark.slow
def test_gallery_shows_which_code_of_the_eagle_issue_is_lossy():
    """SafeAILab/EAGLE issue 329: the code as it is is exact, the code suggested there is lossy."""
    found = studied()
    assert len(listed(found)) == len(GALLERY)
    assert found["answer"].startswith("**Ignoring q for top-k guesses, as EAGLE-2 and EAGLE-3 do**")
    assert "is exact" in found["answer"]
    for part in ("issues/329)", "issues/93)"):
        assert part in found["threads"]
    assert "px, qx = p[x], 1.0" in found["case"]
    assert "top-k, not samples" in found["why"]
    lossy = studied(rule="half-a-fix")
    assert "is lossy: the distance of the output from p is 0.3171" in lossy["answer"]
    columns, outline, differences = json.loads(lossy["output"])["data"]
    assert sum(columns["y"]) == pytest.approx(1)
    assert tuple(outline["y"]) == P
    assert differences["text"][0] == "<b>0.717</b><br>+0.317"


@pytest.mark.slow
def test_gallery_finds_rules_by_their_texts_lines_and_threads():
    found = studied(find="QX")
    assert gallery.named(next(iter(listed(found)))) == "top-k-masked"
    assert 4 < len(listed(found)) < 10
    assert studied(find="issue 93")["rule"] == "top-k-masked"
    only = studied(find="pull request 7808", rule="top-k-masked")
    assert (only["rule"], len(listed(only))) == ("cumulative-uniform", 1)


@pytest.mark.slow
def test_gallery_search_leads_to_the_exact_rules_and_to_those_of_the_menu():
    found = studied(find="block verification")
    assert found["rule"] == "block"
    assert listed(found)["Block verification, as in the paper"] == ("✓ exact", 0.0)
    assert "1.125 guesses" in found["answer"]
    for each in rules():
        try:
            said = studied(find=each["title"])["answer"]
        except ValueError as problem:
            said = str(problem)
        assert f"“{each['title']}”" in said
    with pytest.raises(ValueError, match="has further rules"):
        studied(find="no such rule")


@pytest.mark.slow
def test_gallery_recomputes_verdicts_for_other_distributions():
    words = PRESETS[0]["words"]
    same = studied(borrows=True, sandbox=json.dumps({"p": P, "q": P, "words": words}))
    rules = listed(same)
    assert rules["Resampling from p itself"] == ("✓ exact", 0.0), "where p and q are the same"
    assert rules["The first guess is never tested"][0] == "✕ lossy"


@pytest.mark.slow
def test_find_the_fault_names_the_rule_only_after_the_choice():
    quiz = {"key": "one-coin", "seed": 3, "offered": ["deferred", "one-coin", "half-a-fix",
            "draft-temperature", ""], "choice": None, "right": 0, "tried": 0}  # fmt: skip
    found = gallery.respond_quiz({"quiz": quiz})
    assert found["solution"] == ""
    assert abs(float(found["strings"].split("σ")[0].split()[-1].replace("−", "-"))) > 8
    assert found["option 4"]["value"] == gallery.SOUND
    for choice, right in ((1, 1), (4, 0)):
        chosen = gallery.choose(choice, {"quiz": quiz})["quiz"]
        solved = gallery.respond_quiz({"quiz": chosen})
        assert solved["answer"] == f"Solved: {right} of 1."
        assert solved["solution"].startswith("Correct." if right else "No, it was this one.")
        assert "One random number for the whole chain" in solved["solution"]
        assert not solved["option 0"]["visible"]
    for _ in range(20):
        new = gallery.new_quiz(quiz)
        assert new["key"] != "one-coin"
        lossy = gallery.own(find_case_study(new["key"])).verdict == "lossy"
        assert (new["key"] in new["offered"]) == lossy
        assert len(set(new["offered"])) == gallery.OFFERED + 1


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
