"""The sentences of a race, from made-up lanes with given seconds, checked by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from made import Recipe
from made import made as whole_run
from recorded_runs import LANES, RUNS, read

from specviz.commands.compare import lane_cells
from specviz.compare.race import PLAIN, Lane, Race, Results
from specviz.compare.report import reports
from specviz.compare.summary import (
    RoundNumbers,
    caution,
    equality_sentence,
    headline,
    plain_text,
    race_summary,
    round_numbers,
    round_parts,
    speed_sentence,
    texts_sentence,
)
from specviz.frames.numbers import format_bytes
from specviz.settings.settings import Sampling, Settings
from specviz.texts import say
from specviz.trace.events import Baseline, Committed, Finished, Guess, Judged, Proposed, Scored
from specviz.trace.file import Trace
from specviz.trace.metrics import MAX_SPREAD, VERDICT, explain_noise, run_spread
from specviz.ui.step.lines import RunLines

HEADER = whole_run(Recipe(greedy=True, rounds=0)).header
ROWS = next(
    e.rows for e in whole_run(Recipe(greedy=True, rounds=1)).events if isinstance(e, Judged)
)


def drafted_run(kept, guesses=4, draft=0.25, target=1.25, prompt=1.0, reason="limit", **header):
    """Return a lane whose rounds accept these numbers of guesses; its token ids count from 0.

    draft, target: seconds of every round. prompt: seconds of the prefill.
    """
    events, newest = [Scored(0, [], [], 1, prompt, None), Committed(0, [0], 0.0, 0.0)], 0
    for number, many in enumerate(kept, 1):
        chain = [
            Guess(newest + i, i - 1, 0.5, None, None, None, None) for i in range(1, guesses + 1)
        ]
        events.append(Proposed(number, newest, "point-mass", chain, None, draft))
        events.append(Scored(number, [1.0] * guesses, [], guesses + 1, target, None))
        for node in range(1, min(many + 1, guesses) + 1):
            threshold = 1.0 if node <= many else 0.0
            events.append(Judged(number, node, 0.5, threshold, {"p": threshold}, ROWS, threshold))
        tokens = [newest + i for i in range(1, many + 2)]
        events.append(Committed(number, tokens, 0.0, 0.0))
        newest = tokens[-1]
    events.append(Finished(reason, 0.0))
    return Trace(replace(HEADER, **header), events)


def plain_run(tokens, margins=9.0, seconds=1.0, reason="limit"):
    """Return plain decoding of these tokens, one second each."""
    margins = [margins] * len(tokens) if isinstance(margins, float) else margins
    measured = Baseline(list(tokens), [seconds] * len(tokens), margins)
    return Trace(HEADER, [Finished(reason, 0.0), measured])


def race(traces, temperature=0.0):
    """Return the results of a race with these traces; plain decoding has 11 tokens by default."""
    settings = Settings(Sampling(temperature))
    names = [name for name in traces if name != PLAIN]
    names += [name for name in ("idle", "idler") if len(names) < 2]
    lanes = tuple(Lane(name, "ngram", settings) for name in names)
    results = Results(Race("Once", "made up", lanes, 1))
    results.traces |= {PLAIN: plain_run(range(11))} | traces
    return results


def lanes(traces, **options):
    """Return the reports of such a race by lane."""
    return {lane.name: lane for lane in reports(race(traces, **options))}


def lane_sentence(trace, **others):
    """Return the sentence of one lane."""
    return plain_text(speed_sentence(lanes({"it": trace} | others)["it"]))


KEPT = (2, 2, 1, 1)  # 11 tokens in 5 passes: 2.20 a round; 6 kept: 1.20 a round; 16 guesses: 3.2


# By name: a lane's rounds, plain decoding's tokens, the sentence's phrase, and all its decimals.
SPEEDS = {
    "fast": ({}, 11, "Faster here", [1.57, 2.20, 1.40, 0.20, 3.2, 1.00, 0.20]),
    "no gain": (
        {"draft": 0.5, "target": 2.0}, 11, "No gain here", [1.0, 2.2, 2.2, 0.4, 3.2, 1.6, 0.2],
    ),
    "expensive drafting": (
        {"draft": 2.5}, 11, "plain decoding: drafting 3.2 guesses takes as long as 2.00",
        [0.69, 3.2, 2.00, 1.00, 0.20, 1.20, 2.20, 3.20],
    ),
    "expensive checking": (
        {"target": 3.0}, 11, "plain decoding: checking 3.2 guesses takes as long as 2.40",
        [0.79, 3.2, 2.40, 0.20, 0.20, 1.20, 2.20, 2.80],
    ),
    "nothing accepted": (
        {"kept": (0, 0, 0, 0), "draft": 0.5}, 5, "No guess is accepted.",
        [0.62, 3.2, 0.40, 1.00, 0.20, 1.00, 1.60],
    ),
    "nothing to guess": (
        {"kept": (0, 0, 0, 0), "guesses": 0, "draft": 0.0}, 5,
        "the drafter found nothing to guess in 5 rounds", [0.83, 1.00, 1.20],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rounds", "tokens", "phrase", "decimals"), SPEEDS.values(), ids=SPEEDS)
def test_sentence_of_a_lane_gives_its_speedup_and_costs(rounds, tokens, phrase, decimals):
    text = lane_sentence(drafted_run(**{"kept": KEPT} | rounds), plain=plain_run(range(tokens)))
    assert phrase in text
    assert text.startswith("Slower here") is (decimals[0] < 0.95)
    assert [float(each) for each in re.findall(r"\d+\.\d+", text)] == decimals


def test_sentence_mentions_that_guesses_are_rare():
    trace = drafted_run(KEPT)
    events = [
        replace(e, guesses=[]) if isinstance(e, Proposed) and e.round > 1 else e
        for e in trace.events
        if not (isinstance(e, Judged) and e.round > 1)
    ]
    assert lane_sentence(Trace(trace.header, events)).endswith(
        " The drafter found something to guess in only 1 of 4 rounds."
    )
    assert "It found" not in lane_sentence(trace)


def test_displayed_costs_add_up_and_tokens_over_cost_equal_the_speedup():
    """Check the rounded numbers of the sentence, each marked with the quantity it states."""
    for draft in (0.006, 0.123, 0.256, 0.2571, 2.5, 2.5714):
        for target in (0.987, 1.25, 1.257, 1.3333, 2.3, 3.0, 3.3333):
            trace = drafted_run(KEPT, draft=draft, target=target, prompt=0.777)
            bold, *parts = speed_sentence(lanes({"it": trace})["it"])
            ratio = re.search(r"here, (\d\.\d\d) × plain decoding:", bold["b"])[1]
            named = [part for part in parts if isinstance(part, dict)]
            shown = {part["as"]: float(part["n"]) for part in named}
            assert shown.keys() == {"k", "q", "p", "prefill"}
            *accepted, tokens, cost = (float(part["n"]) for part in named if part["as"] == "k")
            assert [tokens - 1] == pytest.approx(accepted or [tokens - 1]), "a round, not a share"
            assert bool(accepted) is bold["b"].startswith("Slower")
            assert f"{shown['q'] + shown['p'] + shown['prefill']:.4f}" == f"{cost:.4f}"
            assert f"{tokens / cost:.2f}" == ratio


def test_speed_is_not_compared_if_a_lane_or_plain_decoding_was_stopped():
    half = plain_run(range(6), reason="stopped")
    assert "did not finish" in lane_sentence(drafted_run(KEPT), plain=half)
    assert "not compared" in lane_sentence(drafted_run(KEPT, reason="stopped"))
    plain = lanes({"it": drafted_run(KEPT), PLAIN: half})[PLAIN]
    assert "no baseline" in plain_text(speed_sentence(plain))


def test_headline_names_the_fastest_and_the_slower_lanes():
    fast, slow = drafted_run(KEPT), drafted_run(KEPT, draft=2.5)
    several = headline([*lanes({"a": fast, "b": slow, "c": slow}).values()])
    assert several.startswith("a is the fastest here, 1.57 times")
    assert several.endswith("; b and c are slower than plain decoding.")
    assert headline([*lanes({"a": fast}).values()]).endswith("times as fast as plain decoding.")
    none = headline([*lanes({"b": slow}).values()])
    assert none.endswith("; b comes closest, with a speed-up of 0.69.")
    assert headline([]).startswith("Nothing to compare")
    idle = drafted_run(KEPT, weight_bytes=10**6, memory_speed=1e7)  # plain passes take a second
    told = headline([*lanes({"a": idle}).values()])
    assert "plain decoding. Something other than memory limits these passes" in told
    assert "reads its 1.0 MB of weights in 0.10 s." in told


OTHER = [0, 1, 2, 3, 4, 77, 6, 7, 8, 9, 10]
WARM = {"settings": HEADER.settings | {"sampling": {"temperature": 0.8, "top_k": 0, "top_p": 1.0}}}
LOSSY = {"rule": "typical", "lossless": False}


def apart(margin):
    """Return plain decoding whose token 6 differs, with this margin between its best two."""
    return plain_run(OTHER, [9.0] * 5 + [margin] + [9.0] * 5)


STOPPED = plain_run(range(5), reason="stopped")
# The lane's header, plain decoding; verdict, position and margin; a phrase about the lane's text,
# and one about all texts.
TEXTS = [
    ({}, plain_run(range(11)), "same", None, None, "11 of 11 token ids", "2 texts are identical"),
    ({}, apart(0.0004), "near-tie", 5, 0.0004, "new token 6, where the target", "1 of 1 text"),
    ({}, apart(0.0004), "near-tie", 5, 0.0004, "two highest logits are 0.0004 apart", "it: "),
    ({}, plain_run(OTHER), "fault", 5, 9.0, "9 apart: more than float32 rounding", "1 of 1 text"),
    ({"dtype": "bfloat16"}, plain_run(OTHER), "fault", 5, 9.0, "more than bfloat16", "1 of 1"),
    # In bfloat16 logits between 8 and 16 lie 0.0625 apart.
    ({}, apart(0.0625), "fault", 5, 0.0625, "is an error", "1 of 1 text"),
    ({"dtype": "float16"}, apart(0.0625), "fault", 5, 0.0625, "is an error", "1 of 1 text"),
    ({"dtype": "bfloat16"}, apart(0.0625), "near-tie", 5, 0.0625, "near-tie", "1 of 1 text"),
    # A longer text has a margin of 0, which is no near-tie.
    ({}, plain_run(range(9), 0.0), "length", 9, None, "texts agree for 9 tokens", "1 of 1 text"),
    ({}, plain_run(range(13), 0.0), "length", 11, None, "texts agree for 11 tokens", "1 of 1 text"),
    (LOSSY, plain_run(OTHER), "lossy", 5, 9.0, "'typical' does not promise", "1 of 1 text"),
    (WARM | LOSSY, plain_run(OTHER, None), "lossy", 5, None, "'typical'", "different distribution"),
    (WARM, plain_run(OTHER, None), "sampled", 5, None, "another sample", "every rule here is"),
    (WARM, plain_run(range(11), None), "same", None, None, "11 of 11", "happen to be identical"),
    ({"reason": "stopped"}, plain_run(range(11)), "stopped", None, None, "Not compared", "did not"),
    ({}, STOPPED, "unknown", None, None, "Not compared", "Not compared: a lane did not finish."),
]


@pytest.mark.parametrize(("head", "plain", "verdict", "position", "margin", "one", "every"), TEXTS)
def test_texts_are_compared_by_token_ids(head, plain, verdict, position, margin, one, every):
    found = lanes({"it": drafted_run(KEPT, **{"dtype": "float32"} | head), PLAIN: plain})
    equality = found["it"].equality
    assert (equality.verdict, equality.position) == (verdict, position)
    assert equality.margin == margin
    assert one in equality_sentence(found["it"])
    same, parts = texts_sentence([*found.values()])
    assert same is {"same": True, "stopped": None, "unknown": None}.get(verdict, False)
    assert every in plain_text(parts)
    assert verdict != "lossy" or "The distribution is the same" not in plain_text(parts)


def test_timing_spread_compares_only_passes_of_equal_size():
    trace = drafted_run(KEPT)
    assert run_spread(trace) == 1
    assert caution([*lanes({"it": trace}).values()]) == ""
    slow = [replace(e, seconds=6.25) if isinstance(e, Scored) and e.round == 2 else e
            for e in trace.events]  # fmt: skip
    rough = Trace(trace.header, slow)
    assert run_spread(rough) == 2  # 1.25 thrice and 6.25 are 10; four of 1.25 are 5
    assert re.search("it: .*up to 2.0 ×", caution([*lanes({"it": rough}).values()]))
    wide = drafted_run((2,), guesses=40, target=8.0).events
    both = [*trace.events, *(replace(e, round=9) for e in wide if getattr(e, "round", 0) == 1)]
    assert run_spread(Trace(trace.header, both)) == 1, "a larger pass"


def verdicts(trace, plain):
    """Return what Compare's sentence, headline and table, and Step say about a lane's speed."""
    whole = race_summary(race({"it": trace, PLAIN: plain}))
    lane = next(lane for lane in whole["lanes"] if lane["name"] == "it")
    step = RunLines(trace.header, "recorded")
    step.trace.events.extend([*trace.events, plain.baseline])
    noisy = lane["sentence"] == plain_text(say("compare", "lane_noisy"))
    assert noisy is bool(lane["noise"])
    return whole["caution"] or "", whole["headline"], lane_cells(lane)[1], step._summary()


def test_speedup_without_a_saved_pass_is_reported_as_noise():
    """Each of 40 passes for 40 tokens takes half as long as a plain pass: this is noise."""
    trace, plain = drafted_run((0,) * 39, draft=0.001, target=0.5, prompt=0.5), plain_run(range(40))
    one, first, line, step = verdicts(trace, plain)
    assert one.endswith(f" it: {explain_noise(trace, plain.baseline)}.")
    assert "a speed-up of 2.00" in one
    assert "exactly): it 1.00. " in first
    assert line == ""
    assert step.endswith(f"s. {VERDICT}")


def test_verification_faster_than_a_plain_pass_is_reported_as_noise():
    plain = plain_run(range(25))
    for target, rough in ((0.94, True), (0.96, False)):
        found = verdicts(drafted_run((2,) * 8, draft=0.0, target=target), plain)
        assert all((VERDICT in text) is rough for text in (found[0], found[3]))
        assert bool(found[2]) is not rough
        assert ("a checking pass took 0.94 plain passes" in found[0]) is rough
    # Early exit drafts with the target's own layers, so its drafting is part of the check.
    for parameters, why in ((7, "a checking pass took 0.60"), (0, "None")):
        drafter = replace(HEADER.drafter, parameters=parameters)
        trace = drafted_run((2,) * 8, draft=0.5, target=0.6, drafter=drafter)
        assert why in str(explain_noise(trace, plain.baseline))


@pytest.mark.parametrize("where", ["lane", "plain"])
def test_uneven_pass_times_are_reported_as_noise(where):
    trace, plain = drafted_run((2,) * 8, target=1.25), plain_run(range(25))
    assert explain_noise(trace, plain.baseline) is None
    if where == "lane":  # every third pass doubles: many slow passes, which the median hides
        events = [
            replace(e, seconds=e.seconds * 2) if isinstance(e, Scored) and e.round % 3 == 0 else e
            for e in trace.events
        ]
        trace = Trace(trace.header, events)
    else:
        seconds = [2.0 if place % 3 == 0 else 1.0 for place in range(25)]
        plain = Trace(HEADER, [Finished("limit", 0.0), replace(plain.baseline, seconds=seconds)])
    found = verdicts(trace, plain)
    names = {"lane": "it", "plain": "it and Plain decoding"}[where]
    assert f"idle. {names}: passes of the same size differ in time" in found[0]
    assert found[0].count("passes of the same size") == 1
    assert VERDICT in found[3]


def test_warning_and_headline_name_noisy_lanes_without_ranking_them():
    rough = drafted_run((0,) * 10, draft=0.001, target=0.5, prompt=0.5)
    found = [*lanes({"a": drafted_run(KEPT), "b": rough}).values()]
    said = headline(found)
    assert "tokens per target pass (counted exactly): a 2.20, b 1.00. a is the fastest" in said
    assert said.endswith("Not compared: b.")
    assert caution(found) == f"{VERDICT} when this machine is idle. b: {found[1].noise}."


def test_rounded_parts_add_up_to_the_rounded_sum():
    assert round_parts([0.7181, 1.2950, 0.0894], 2) == pytest.approx([0.72, 1.29, 0.09])
    assert round_parts([0.005, 0.005], 2) == pytest.approx([0.01, 0.0])
    random = Random(7)
    for _ in range(500):
        values = [random.random() * 3 for _ in range(3)]
        shown = round_parts(values, 2)
        assert sum(shown) == pytest.approx(round(sum(values), 2))
        assert all(abs(a - b) < 0.01 for a, b in zip(values, shown, strict=True))


def test_fast_lanes_are_shown_with_more_decimals_than_others():
    """Two would not divide: 9.14 tokens at a cost of 1.80 or 1.81 are 5.08 or 5.05, not 5.07."""
    found = lanes({"it": drafted_run(KEPT)} | {PLAIN: plain_run(range(11))})["it"]
    costs = replace(found.costs, draft=1.8037537, target=0.0, overhead=0.0, prefill=0.0)
    fast = replace(found, brings=9.142857, costs=costs, speedup=9.142857 / 1.8037537)
    assert round_numbers(fast) == RoundNumbers(3, "9.143", "1.804")
    costs = replace(found.costs, draft=1.6570486, target=0.0, overhead=0.0, prefill=0.0)
    slow = replace(found, brings=2.0, costs=costs, speedup=2.0 / 1.6570486)
    assert round_numbers(slow) == RoundNumbers(2, "2.00", "1.65"), "2.00 / 1.66 would be 1.20"


def in_turns(mine, plain=(11.0,)):
    """Return a race whose lane takes 7 s and is 1.57 times as fast, with these seconds per run."""
    found = race({"it": drafted_run(KEPT)})
    found.seconds |= {"it": list(mine), PLAIN: list(plain)}
    return reports(found)


def test_repeated_runs_give_a_range_of_speedups():
    assert in_turns([7.0])[0].speedups is None
    alone, three = in_turns([7.0, 5.5, 8.0])[0], in_turns([7.0, 5.5, 8.0], [11.0, 11.0, 12.0])[0]
    assert alone.speedups == (pytest.approx(11 / 8), pytest.approx(2))
    assert three.speedups == (pytest.approx(12 / 8), pytest.approx(2)), "each beside its own turn"
    assert in_turns([7.0], [11.0, 10.0, 14.0])[0].speedups == (10 / 7, 2)
    found = race({"it": drafted_run(KEPT)})
    found.seconds |= {"it": [7.0, 5.5, 8.0], PLAIN: [11.0]}
    assert lane_cells(race_summary(found)["lanes"][0])[1] == "1.57 (1.38 to 2.00)"


def test_contradictory_or_very_different_runs_cause_a_warning():
    found = in_turns([7.0, 6.0, 12.0])
    why = "the speed-up was 0.92 in one run and 1.83 in another"
    assert speed_sentence(found[0]) == say("compare", "lane_noisy")
    assert headline(found).endswith("it 2.20. No measured speed is plausible.")
    assert caution(found) == f"{VERDICT} when this machine is idle. it: {why}."
    assert in_turns([7.0, 6.0, 10.4])[0].noise is None, "no gain is not slower"
    assert caution(in_turns([7.0, 7.5, 8.0])) == ""
    assert caution(in_turns([7.0, 5.0, 8.0])).endswith("it: one run took 5.00 s, another 8.00 s.")


@pytest.mark.slow
def test_recorded_runs_and_races_are_not_noisy():
    assert len(RUNS + LANES) > 30
    for path in [*RUNS, *LANES]:
        trace = read(path)
        assert run_spread(trace) is None or run_spread(trace) < MAX_SPREAD, path.name
        if trace.rounds and trace.baseline:
            assert explain_noise(trace, trace.baseline) is None, path.name


def test_size_of_a_drafter_excludes_files_of_the_target():
    own = replace(HEADER.drafter, bytes=70, hash="a")
    for drafter in (own, replace(own, hash=None)):  # as a model in memory, which has no files
        assert lanes({"it": drafted_run(KEPT, drafter=drafter)})["it"].bytes == 70
    trace = drafted_run(KEPT)
    itself = replace(trace.header, drafter=own, target=replace(HEADER.target, hash="a"))
    assert lanes({"it": Trace(itself, trace.events)})["it"].bytes == 0


def test_memory_of_a_drafter_comes_from_the_trace_or_is_unknown():
    known, older = drafted_run(KEPT), drafted_run(KEPT)
    known.events[-1] = replace(known.events[-1], held_bytes=33_000)
    found = lanes({"known": known, "older": older})
    assert (found["known"].held_bytes, found["older"].held_bytes) == (33_000, None)
    assert "held_bytes" not in "".join(older.lines())
    assert Trace.parse(known.lines()).finished.held_bytes == 33_000


SHOWN = {0: "none", 7: "7 B", 999: "999 B", 1000: "1.0 kB", 9_949: "9.9 kB", 9_950: "10 kB",
         33_000: "33 kB", 999_600: "1.0 MB", 7_649_280: "7.6 MB", 5e15: "5000 TB"}  # fmt: skip


def test_bytes_are_formatted_with_units():
    assert {number: format_bytes(number) for number in SHOWN} == SHOWN
