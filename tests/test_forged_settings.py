"""Forged traces: settings that contradict the rounds. Each is refused with the reason."""

from __future__ import annotations

import json

import pytest
from forging import Forgery, Line, events, first, inside, recorded, refused, sampling, setting

from specviz.settings.settings import Sampling
from specviz.trace.check import CheckFailed
from specviz.trace.check.sampling import check_q, check_temperature
from specviz.trace.file import Trace


def remark(**values):
    """Change entries of the remark on the first proposal with guesses."""
    return lambda lines: first(lines, "proposed", lambda d: d["guesses"])["remark"].update(values)


def guess(name, value):
    """Change a value of the first guess."""
    return inside("proposed", "guesses", 0, name, value=value, having=lambda d: d["guesses"])


def evidence(name, value):
    """Change the evidence of the first guess."""
    having = lambda d: d["guesses"]  # noqa: E731
    return inside("proposed", "guesses", 0, "evidence", name, value=value, having=having)


def without_evidence(**values):
    """Change settings and remove the evidence of the guesses' ranks."""

    def change(lines):
        lines[0]["settings"].update(values)
        for line in events(lines, "proposed"):
            for each in line["guesses"]:
                each["evidence"] = None

    return change


def fork(lines):
    """Move an unreached guess beside its parent."""
    for line in events(lines, "proposed"):
        guesses, number = line["guesses"], line["round"]
        of_round = [d for d in lines if d.get("round") == number]
        reached = max((d["node"] for d in of_round if d["event"] == "judged"), default=0)
        scored = next(d for d in of_round if d["event"] == "scored")
        if len(guesses) > reached + 1 and scored["p"][-1] == 0.0:
            guesses[-1]["parent"] -= 1
            return


def follow_unsure(lines: list[Line]) -> None:
    """Set the confidence just above a score after which drafting continued."""
    guesses = first(lines, "proposed", lambda d: len(d["guesses"]) > 1)["guesses"]
    lines[0]["settings"]["confidence"] = min(0.99, guesses[0]["score"] + 0.01)


def other_match(lines: list[Line]) -> None:
    """Move a match one token earlier."""
    found = first(lines, "proposed", lambda d: "start" in (d["remark"] or {}) and d["guesses"])
    found["remark"]["start"] -= 1


def other_copy(lines):
    """Change the token of a guess without a verdict, and remove where it was copied from."""
    for line in events(lines, "proposed"):
        of_round = [d for d in lines if d.get("round") == line["round"]]
        judged = {d["node"] for d in of_round if d["event"] == "judged"}
        scored = next(d for d in of_round if d["event"] == "scored")
        likely = {token for top in scored["top"] for token, _ in top}
        for node, each in enumerate(line["guesses"], 1):
            if node not in judged and each["token"] not in likely:
                each["evidence"] = None
                each["token"] = next(t for t in lines[0]["prompt_ids"][1:] if t not in likely)
                return


def least_chance(lines):
    """Set the least probability above that of a guess, in settings and remarks."""
    lines[0]["settings"]["suffix_least"] = 1.0
    for line in events(lines, "proposed"):
        line["remark"]["least"] = 1.0


def shorter_ngrams(lines):
    """Set a smaller N and remove the remarks on the extra rows."""
    lines[0]["settings"]["lookahead_ngram"] = 3
    for line in events(lines, "proposed"):
        del line["remark"]["window"]


def claim_whole_window(lines: list[Line]) -> None:
    """Change the number of extra rows in the remark and in the pass."""
    drafted = first(lines, "proposed", lambda d: d["remark"]["rows_window"])
    drafted["remark"]["rows_window"] += 3
    passed = next(d for d in events(lines, "scored") if d["round"] == drafted["round"])
    passed["rows_in_pass"] += 3


DRAFTS: dict[str, Forgery] = {
    "a γ below the depth": ("06a", setting(gamma=2), "guesses are 4 deep, but γ and the limit"),
    "a γ below a tree's depth": ("03", setting(gamma=2), "3 deep, but γ and the limit allow 2"),
    "a γ below a head's depth": ("05", setting(gamma=2), "deep, but γ and the limit allow 2"),
    "a γ below a copy's length": ("02", setting(gamma=3), "deep, but γ and the limit allow 3"),
    "a γ that no draft reached": ("06a", setting(gamma=8), "0 guesses come after node 4, but"),
    "a γ that no head reached": ("15", setting(gamma=9), "but the settings give 1"),
    "a γ that no exit reached": ("24", setting(gamma=6), "but the settings give 1"),
    "a schedule that did not learn": ("06a", setting(schedule="learning"), "deep|but the settings"),
    "a schedule that learned": ("07", setting(schedule="fixed"), "deep|but the settings give"),
    "siblings of a chain": ("09", setting(siblings=[3]), "1 guesses come after node 0, but"),
    "no siblings of a tree": ("11", setting(siblings=[]), "3 guesses come after node 0.* allow 1"),
    "fewer siblings": ("11", setting(siblings=[2, 2]), "3 guesses come after node 0.* allow 2"),
    "more siblings": ("11", setting(siblings=[4, 2]), "0, but the settings give 4"),
    "sampled siblings of a chain": ("06a", setting(siblings=[2]), "should be without-repl"),
    "a chain of sampled siblings": ("03", setting(siblings=[]), "should be sampled"),
    "fewer siblings of EAGLE": ("12", setting(siblings=[2, 2]), "3 guesses come after node 0"),
    "more siblings of EAGLE": ("12", setting(siblings=[3, 3]), "1, but the settings give 3"),
    "siblings of counts": ("22", setting(siblings=[1], suffix_least=0.9), "suffix_least is 0.1"),
    "fewer siblings of heads": ("16", setting(siblings=[2]), "guesses come after node 1|rank path"),
    "a tree of a copy": ("29", fork, "ngram proposes a chain, but this is a tree"),
    "more heads than siblings": (
        "16",
        without_evidence(siblings=[1, 1]),
        "2 guesses come after node 0, but the siblings allow 1",
    ),
    "more guesses than rank paths": (
        "04",
        without_evidence(rank_paths=[[0], [1]]),
        "8 guesses exceed the 2 rank paths",
    ),
    "other rank paths": ("04", setting(rank_paths=[[0], [1]]), "which was not chosen"),
    "candidates that were sampled": ("06a", setting(candidates="greedy"), "should be point-mass"),
    "candidates that were not": ("10", setting(candidates="sampled"), "should be sampled"),
    "a smaller budget": ("05", setting(budget=5), "10 guesses exceed the budget of 5"),
    "a larger budget": ("05", setting(budget=24), "10 guesses but should have 18"),
    "a larger budget of EAGLE-2": ("13", setting(budget=12), "10 guesses but should have 12"),
    "a smaller fan-out": ("05", setting(fan_out=1), "guesses after a node exceed the fan-out of 1"),
    "a confidence": ("06a", follow_unsure, "a guess follows one with score"),
    "a confidence of a head": ("12", follow_unsure, "a guess follows one with score"),
    "another weighed number": ("13", remark(weighed=4), "10 guesses but should have 4"),
    "another kept number": ("18", remark(kept=3), "its remark gives another number of guesses"),
    "a weighed number that is none": ("13", remark(weighed="many"), "is 'many', which is not"),
    "a shorter n-gram": ("02", setting(ngram_max=1), "its ngram_max is 3, not 1"),
    "a longer n-gram": ("02", setting(ngram_min=2), "its ngram_min is 1, not 2"),
    "a match that is too long": ("20", remark(length=9), "its match of 9 tokens"),
    "a match elsewhere": ("20", other_match, "not the end of the text"),
    "a suffix factor": ("22", setting(suffix_factor=0.1), "its suffix_factor is 2.0, not 0.1"),
    "a remark on counts": ("22", remark(length=0), "deep, but the factor allows 0"),
    "a count of a suffix": (
        "22",
        inside("proposed", "guesses", 0, "score", value=0.25, having=lambda d: d["guesses"]),
        "its score is 0.25",
    ),
    "fewer n-grams tried": ("30", setting(lookahead_guesses=1), "but the settings allow 1"),
    "shorter n-grams tried": ("27", shorter_ngrams, "3 deep, but the n-grams allow 2"),
    "a narrower window": ("27", setting(lookahead_window=3), "the size that the settings give"),
    "a copy of another token": ("02", other_copy, "not what followed the match"),
    "a higher least chance": ("22", least_chance, "counts give less than the least probability"),
    "a wider window": ("27", setting(lookahead_window=6), "the size that the settings give"),
    "rows of a window": ("27", claim_whole_window, "another number of rows in the window"),
    "another exit": ("24", setting(exit_layer=3), "its exit_layer is 6, not 3"),
    "a longer limit": (
        "06a",
        setting(max_new_tokens=50),
        "'limit' but should be 'stopped'|but",
    ),
    "a shorter limit": ("02", setting(max_new_tokens=39), "more tokens|deep, but γ and the limit"),
    "an unknown setting": ("06a", setting(luck=7), "Unknown setting: luck"),
    "a setting that none can have": ("06a", setting(gamma=0), "must be between 1 and 64"),
}

EVIDENCE: dict[str, Forgery] = {
    "a score above 1": ("06a", guess("score", 1.7), "list of scores contains 1.7"),
    "a score below 0": ("12", guess("score", -3.0), "list of scores contains -3.0"),
    "the probability of a path": ("13", evidence("path", 0.001), "the probability of its path"),
    "a path that is a word": ("13", evidence("path", "x"), "parts do not fit"),
    "a place": ("18", evidence("place", 9), "places do not match"),
    "a rank of EAGLE": ("12", evidence("rank", 2), "its evidence is not {'rank': 0"),
    "guessed features": ("12", evidence("guessed_features", 5), "its evidence is not"),
    "where a copy stands": ("02", evidence("from", 0), "token 0 of the text is not its token"),
    "a total of 0": ("22", evidence("total", 0), "its total is not above 0"),
    "where a count was": ("22", evidence("from", 10**9), "token 1000000000 of the text"),
    "what counts follow": ("22", remark(start=0), "not the end of the text"),
    "rows of n-grams": ("27", remark(rows_verified=2), "another number of guesses"),
}

CUTS: dict[str, Forgery] = {
    "a top-k of a whole distribution": ("06a", sampling(top_k=3), "more tokens than top-k 3"),
    "a top-k of a tree": ("03", sampling(top_k=5), "more tokens than top-k 5"),
    "a top-k of heads": ("04", sampling(top_k=4), "p has more tokens than top-k 4"),
    "a smaller top-k": ("08", sampling(top_k=6), "more tokens than top-k 6"),
    "no top-k": ("08", sampling(top_k=0), "p of a token is 0, but the settings cut none"),
    "a top-p of a whole distribution": ("06a", sampling(top_p=0.5), "that top-p 0.5 cuts"),
    "a top-p of a copy": ("02", sampling(top_p=0.5), "p keeps a token of .* that top-p 0.5 cuts"),
    "a top-p of a tree": ("03", sampling(top_p=0.9), "that top-p 0.9 cuts"),
    "no top-p": ("06", sampling(top_p=1.0), "p of a token is 0, but the settings cut none"),
    "a temperature above 1": ("06a", sampling(temperature=1.5), "q of the top token is above"),
    "a temperature of 1": ("06a", sampling(temperature=1.0), "q at temperature 1"),
    "a temperature of 0": ("10", sampling(temperature=0.0), "greedy|temperature 0"),
    "a temperature below 0": ("06a", sampling(temperature=-1.0), "must be between 0 and 100"),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_check_detects_settings_that_contradict_the_drafts(name):
    refused(DRAFTS[name])


@pytest.mark.parametrize("name", EVIDENCE)
def test_check_detects_forged_evidence(name):
    refused(EVIDENCE[name])


@pytest.mark.parametrize("name", CUTS)
def test_check_detects_forged_sampling_settings(name):
    refused(CUTS[name])


def test_check_detects_a_q_that_contradicts_top_k_or_top_p():
    trace = Trace.parse(map(json.dumps, recorded("06a")))
    size, rounds = trace.header.vocab_size, [r for r in trace.rounds if r.judged]

    def hold(cut):
        for played in rounds:
            check_q(played, played.proposed.guesses, cut, size, "Round")

    hold(Sampling(0.8))
    for cut, says in ((Sampling(0.8, 3), "q has more tokens"), (Sampling(0.8, 0, 0.5), "q keeps")):
        with pytest.raises(CheckFailed, match=says):
            hold(cut)


def test_check_detects_a_temperature_that_contradicts_the_top_token():
    check_temperature(0.6, 0.5, 0.0, Sampling(0.8), "here")
    check_temperature(0.4, 0.5, 0.0, Sampling(1.5), "here")
    check_temperature(0.4, 0.5, 0.3, Sampling(0.8), "here")
    check_temperature(0.6, 0.5, 0.0, Sampling(1.5, 5), "here")
    for q, temperature, says in ((0.4, 0.8, "below"), (0.6, 1.5, "above"), (0.6, 1.0, "at temp")):
        with pytest.raises(CheckFailed, match=says):
            check_temperature(q, 0.5, 0.0, Sampling(temperature), "here")
