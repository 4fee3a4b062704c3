"""`check` and forged traces: each is consistent except for one lie, which the error names."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import tiny
import torch
from fakes import Branching, Recording
from made import RUNS, made
from test_trace import damage, find

from specviz.engine.decode import run
from specviz.engine.protocol import Proposal
from specviz.models.passes import CaptureSpec
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import CheckFailed, check, list_assumptions
from specviz.trace.events import Baseline, Committed, Judged, Vocabulary
from specviz.trace.file import Trace
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import probability_any_accepted
from specviz.verification import Drawn
from specviz.verification.distributions import Draw
from specviz.verification.tree import DraftTree


def traced(target, drafter, settings):
    header, *events = run(target, drafter, tiny.PROMPT, settings)
    return Trace(header, events)


@pytest.fixture(scope="module")
def sampled(tiny_target, tiny_draft):
    """Return a run of chains sampled from q at temperature 1.1."""
    return traced(tiny_target, tiny_draft, Settings(Sampling(1.1), max_new_tokens=24, gamma=3))


@pytest.fixture(scope="module")
def greedy(tiny_target, tiny_draft):
    """Return a run at temperature 0 with its margins."""
    return traced(tiny_target, tiny_draft, Settings(Sampling(0.0), max_new_tokens=24, gamma=3))


@pytest.fixture(scope="module", params=[Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT])
def siblings(request, tiny_target):
    """Return a run with three guesses after the root, sampled from q."""
    drafter = Branching(request.param, (-1, 0, 0, 0, 1))
    return traced(tiny_target, drafter, Settings(Sampling(1.2), max_new_tokens=40))


def refused(trace, event, change, says):
    """Assert that `check` refuses this change to the first such event after the prefill."""
    lines = list(trace.lines())
    number = 1 if event == "header" else find(lines, event)
    with pytest.raises(CheckFailed, match=says):
        check(Trace.parse(damage(lines, number, change)))


def edited(trace, old, new):
    """Return the trace with one event replaced."""
    return Trace(trace.header, [new if event is old else event for event in trace.events])


def other_kind(event):
    """Declare the guesses as point masses without q and u, although the rule compares p / q."""
    event["drawn"] = "point-mass"
    for guess in event["guesses"]:
        guess.update(q=None, drawn=None)


def negative(rows):
    """Keep the totals of the rows, but make values negative."""
    p, q = rows["p"], rows["q"]
    one, other = len(p) - 2, len(p) - 1
    p[one], p[other] = p[one] - 5.0, p[other] + 5.0
    rows["overlap"] = sum(map(min, p, q)) + rows["rest_both"]
    rows["residual"] = sum(max(a - b, 0) for a, b in zip(p, q, strict=True)) + rows["rest_residual"]


def wider(guess):
    """Change q and widen the interval around u to match."""
    guess["q"] += 0.01
    guess["drawn"]["hi"] += 0.01


LIES = {
    "the rule does not take such candidates": ("proposed", other_kind, "needs candidates sampled"),
    "auto takes another rule": (
        "header", lambda d: d.update(rule="point-mass"), "'speculative' fits the candidates",
    ),
    "another rule was chosen": (
        "header", lambda d: d["settings"].update(rule="point-mass"), "'point-mass' was chosen",
    ),
    "the temperature is 0": (
        "header",
        lambda d: d["settings"]["sampling"].update(temperature=0.0),
        "softmax at temperature 0 and only there",
    ),
    "the rule is lossless": ("header", lambda d: d.update(lossless=False), "the header denies it"),
    "a guess without its draw": (
        "proposed", lambda d: d["guesses"][0].update(drawn=None), "a draw must be given",
    ),
    "q of a guess": ("proposed", lambda d: wider(d["guesses"][0]), "the guess's q is"),
    "p of −5": ("judged", lambda d: negative(d["rows"]), "p contains -.*not a probability"),
    "a rest below 0": (
        "judged", lambda d: d["rows"].update(rest_q=-0.5), "q contains -0.5, which is not",
    ),
    "what all others share": (
        "judged",
        lambda d: d["rows"].update(
            rest_both=d["rows"]["rest_both"] + 0.02, overlap=d["rows"]["overlap"] + 0.02
        ),
        "the overlap of the other tokens exceeds",
    ),
    "the residual of all others": (
        "judged",
        lambda d: d["rows"].update(
            rest_residual=d["rows"]["rest_residual"] + 0.1, residual=d["rows"]["residual"] + 0.1
        ),
        "the residual of all others",
    ),
    "a token more": (
        "judged",
        lambda d: d["rows"].update(rest_tokens=d["rows"]["rest_tokens"] + 1),
        "the whole vocabulary",
    ),
    "the likeliest tokens": (
        "scored", lambda d: d["top"][0][0].__setitem__(1, d["top"][0][0][1] + 1e-3), "token",
    ),
    "drafting before it began": ("proposed", lambda d: d.update(seconds=-1.0), "took -1.0"),
    "a pass before it began": ("scored", lambda d: d.update(seconds=-1.0), "took -1.0"),
    "a pass that took no time": ("scored", lambda d: d.update(seconds=0.0), "no measured time"),
    "judging before it began": ("committed", lambda d: d.update(judge_seconds=-1.0), "took -1.0"),
    "keeping before it began": ("committed", lambda d: d.update(commit_seconds=-1.0), "took -1.0"),
    "recording before it began": ("finished", lambda d: d.update(trace_seconds=-1), "took -1"),
    "less memory than none": ("finished", lambda d: d.update(held_bytes=-1), "-1 bytes of memory"),
    "a plain pass before it began": (
        "baseline", lambda d: d["seconds"].__setitem__(3, -1.0), "took -1.0",
    ),
    "a plain pass that nobody timed": (
        "baseline", lambda d: d["seconds"].pop(), "a time for every token",
    ),
    "plain decoding that stops": (
        "baseline",
        lambda d: d.update(token_ids=d["token_ids"][:5], seconds=d["seconds"][:5]),
        "stops before the text ends",
    ),
    "margins where nothing is greedy": (
        "baseline", lambda d: d.update(margins=[1.0] * len(d["seconds"])), "it must have margins",
    ),
    "an end of text": ("finished", lambda d: d.update(reason="eos"), "but should be 'limit'"),
    "a person who stopped it": (
        "finished", lambda d: d.update(reason="stopped"), "but should be 'limit'",
    ),
    "a prompt of unknown tokens": (
        "header", lambda d: d["prompt_ids"].__setitem__(0, 10**6), "outside the vocabulary",
    ),
}  # fmt: skip


@pytest.mark.slow
def test_unchanged_runs_pass_check(sampled, greedy, siblings):
    for trace in (sampled, greedy, siblings, *map(unmeasured, RUNS.values())):
        check(trace)


def unmeasured(recipe):
    """Remove the baseline and the prompt's text, which these runs do not really have."""
    trace = made(recipe)
    text = b"".join(trace.vocabulary[token] for token in trace.header.prompt_ids).decode()
    header = trace.header if recipe.chat else replace(trace.header, prompt=text)
    return Trace(header, [e for e in trace.events if not isinstance(e, Baseline)])


@pytest.mark.parametrize("lie", LIES)
def test_check_detects_each_forgery(sampled, lie):
    refused(sampled, *LIES[lie])


class Argmax(Recording):
    """A drafter that takes the top token of q and claims to have sampled it."""

    taps = CaptureSpec()
    drawn = Drawn.SAMPLED

    def propose(self, context, room, chance):
        if room < 2:
            return super().propose(context, room, chance)
        far = (torch.arange(self.target.target.vocab_size, dtype=torch.float64) - 7).abs()
        q, u = (-far / 2).softmax(-1), chance.draft(1)
        wide = q.max().item()
        lo = min(max(u - wide / 2, 0.0), 1.0 - wide)
        draws = {1: Draw(7, u, lo, lo + wide)}
        return Proposal(DraftTree.chain(context[-1], [7]), self.drawn, {0: q}, draws)


@pytest.mark.slow
def test_check_detects_top_token_guesses_judged_as_samples(tiny_target):
    """The run is real but lossy; only the positions of the intervals reveal it."""
    trace = traced(tiny_target, Argmax(), Settings(Sampling(1.0), max_new_tokens=30))
    assert trace.header.lossless
    with pytest.raises(CheckFailed, match="the interval's lower end"):
        check(trace)


def test_check_detects_a_moved_interval_of_a_sampled_token(sampled):
    """Keep u inside the interval, and keep the width of the interval."""
    drew = next(r.drew for r in sampled.rounds if r.drew and r.drew.token != r.drew.tokens[-1])
    half = (drew.drawn.u - drew.drawn.lo) / 2
    moved = replace(drew.drawn, lo=drew.drawn.lo + half, hi=drew.drawn.hi + half)
    with pytest.raises(CheckFailed, match="the interval's lower end"):
        check(edited(sampled, drew, replace(drew, drawn=moved)))


def test_check_detects_a_score_that_contradicts_the_top_tokens(sampled):
    played = next(r for r in sampled.rounds if r.judged and not r.judged[0].accepted)
    p = [*played.scored.p[:-1], 0.999]  # of a guess that was never reached
    with pytest.raises(CheckFailed, match=r"the score of token|among the top tokens"):
        check(edited(sampled, played.scored, replace(played.scored, p=p)))


def test_check_detects_missing_and_doubled_rounds(sampled):
    numbers = [r.number for r in sampled.rounds]

    def without(*rounds):
        events = [e for e in sampled.events if getattr(e, "round", None) not in rounds]
        return Trace(sampled.header, events)

    with pytest.raises(CheckFailed, match="round 3 is missing"):
        check(without(3))
    with pytest.raises(CheckFailed, match="'limit' but should be 'stopped'"):
        check(without(numbers[-1]))
    with pytest.raises(CheckFailed, match="the run has no rounds"):
        check(without(*numbers))
    last = next(e for e in sampled.events if isinstance(e, Committed) and e.round == 2)
    at = sampled.events.index(last)
    twice = [*sampled.events[:at], last, *sampled.events[at:]]
    with pytest.raises(CheckFailed, match="Round 2: it has a second 'committed' event"):
        check(Trace(sampled.header, twice))
    late = [e for e in sampled.events if e is not sampled.finished]
    early = [late[0], sampled.finished, *late[1:]]
    with pytest.raises(CheckFailed, match="it comes after the run's end"):
        check(Trace(sampled.header, early))


def test_check_detects_a_round_without_its_last_token(sampled):
    played = next(r for r in sampled.rounds if r.drew and len(r.committed.tokens) > 1)
    fewer = replace(played.committed, tokens=played.committed.tokens[:-1])
    events = [fewer if e is played.committed else e for e in sampled.events if e is not played.drew]
    with pytest.raises(CheckFailed, match="a last token must be drawn unless the text ended"):
        check(Trace(sampled.header, events))


def test_check_detects_a_rejection_that_contradicts_p_and_q(sampled):
    drew = next(r.drew for r in sampled.rounds if r.drew and r.drew.kind == "recovered")
    for change in ({"at_p": drew.at_p + 0.01, "at_q": drew.at_q + 0.01}, {"at_q": None}):
        with pytest.raises(CheckFailed, match=r"of the rejection is|at_q must be"):
            check(edited(sampled, drew, replace(drew, **change)))


def test_check_detects_two_texts_for_one_token_id(sampled):
    token = str(sampled.rounds[0].committed.tokens[0])
    for word, says in ((token, f"token {token} has two spellings"), ("-3", "is not a token id")):
        with pytest.raises(CheckFailed, match=says):
            check(Trace(sampled.header, [*sampled.events, Vocabulary({word: "another"})]))


def test_check_detects_text_after_an_end_token(sampled):
    token = sampled.rounds[0].committed.tokens[0]
    header = replace(sampled.header, eos=[token])
    with pytest.raises(CheckFailed, match="continues after its end"):
        check(Trace(header, sampled.events))


# Temperature 0: the text equals plain decoding's


def apart(trace, margin, **header):
    """Return the trace whose plain text differs from new token 4 on, with this margin there."""
    plain = trace.baseline
    ids, margins, tops = [*plain.token_ids], [*plain.margins], [12.0] * len(plain.margins)
    ids[3], margins[3] = next(token for token in ids if token != ids[3]), margin
    other = Baseline(ids, plain.seconds, margins, tops)
    return replace_header(edited(trace, plain, other), **header)


def tied(trace, at, margin):
    """Return the trace with a softmax that has this margin at new token `at`."""
    played, before = next(
        (r, n) for r, n in with_lengths(trace) if n <= at < n + len(r.committed.tokens)
    )
    parent = [0, *accepted_path(played)][at - before]
    share = 1 / (1 + math.exp(-margin))

    def changed(event):
        if event in played.judged and guess_of(played, event).parent == parent:
            first, second, *others = event.rows.soft
            soft = [share * (first + second), (1 - share) * (first + second), *others]
            return replace(event, rows=replace(event.rows, soft=soft))
        if event is played.scored:
            return replace(event, soft=rescored(played, parent, share))
        if event is played.drew and played.drew.parent == parent:
            return replace(event, soft=[share * sum(first_two(played, parent))])
        return event

    return Trace(trace.header, list(map(changed, trace.events)))


def with_lengths(trace):
    """Yield every round and the number of new tokens before it."""
    before = 0
    for played in trace.rounds:
        yield played, before
        before += len(played.committed.tokens)


def guess_of(played, event):
    return played.proposed.guesses[event.node - 1]


def first_two(played, parent):
    """Return the softmax of the top two tokens after a node, from its first verdict."""
    rows = next(e.rows for e in played.judged if guess_of(played, e).parent == parent)
    return rows.soft[:2]


def rescored(played, parent, share):
    """Return the scores' softmax after the top two tokens of a node were made equal."""
    rows = next(e.rows for e in played.judged if guess_of(played, e).parent == parent)
    both = sum(rows.soft[:2])
    new = {rows.tokens[0]: share * both, rows.tokens[1]: (1 - share) * both}
    pairs = zip(played.proposed.guesses, played.scored.soft, strict=True)
    return [new.get(g.token, soft) if g.parent == parent else soft for g, soft in pairs]


def replace_header(trace, **header):
    return Trace(replace(trace.header, **header), trace.events)


def test_check_detects_text_that_differs_from_plain_decoding(greedy):
    check(apart(tied(greedy, 3, 0.0009), 0.0009))
    with pytest.raises(CheckFailed, match=r"new token 4 is 0\.0009, but the run shows"):
        check(apart(greedy, 0.0009))
    for dtype, margin in (("float32", 0.06), ("bfloat16", 0.2), ("float16", 0.06)):
        with pytest.raises(
            CheckFailed, match="new token 4 differs from plain decoding's, with logits"
        ):
            check(apart(greedy, margin, dtype=dtype))
    check(apart(greedy, 0.06, dtype="bfloat16"))


def test_check_detects_missing_and_negative_logit_margins(greedy):
    refused(greedy, "baseline", lambda d: d.update(margins=None), "it must have margins")
    refused(greedy, "baseline", lambda d: d["margins"].pop(), "a margin for every token")
    refused(greedy, "baseline", lambda d: d["tops"].pop(), "a margin for every token")
    refused(greedy, "baseline", lambda d: d["margins"].__setitem__(2, -1.0), "below 0")


# α of siblings


def untried_decision(trace):
    """Return a decision with recorded siblings of which the later ones were not tried."""
    first = (r.judged[0] for r in trace.rounds if r.judged)
    return next(event for event in first if event.accepted and event.tries)


def test_check_recomputes_alpha_of_siblings_from_their_p_and_q(siblings):
    event = untried_decision(siblings)
    with pytest.raises(CheckFailed, match="α is"):
        check(edited(siblings, event, replace(event, alpha=event.alpha / 2)))


@pytest.mark.parametrize(("at", "what"), [(0, "p"), (1, "p"), (0, "q"), (1, "q"), (2, "q")])
def test_check_recomputes_p_and_q_of_every_sibling(siblings, at, what):
    """Include the next sibling, although it was not tried."""
    event = untried_decision(siblings)
    tries = [[*each] for each in event.tries]
    tries[at][what == "q"] += 0.01 if tries[at][what == "q"] < 0.9 else -0.01
    forged = replace(event, tries=tries, alpha=probability_any_accepted(tries))
    with pytest.raises(CheckFailed, match=f"{what} of a try"):
        check(edited(siblings, event, forged))


def test_check_detects_a_sibling_without_recorded_p_and_q(siblings):
    event = untried_decision(siblings)
    forged = replace(
        event, tries=event.tries[:-1], alpha=probability_any_accepted(event.tries[:-1])
    )
    with pytest.raises(CheckFailed, match="not every sibling has a try"):
        check(edited(siblings, event, forged))


def test_check_detects_sibling_probabilities_recorded_for_a_single_guess(sampled):
    event = next(e for e in sampled.events if isinstance(e, Judged) and e.alpha is not None)
    with pytest.raises(CheckFailed, match="for fewer than two sampled guesses"):
        check(edited(sampled, event, replace(event, tries=[[0.5, 0.5]])))


def test_trace_without_recorded_sibling_probabilities_passes_check(siblings):
    older = [replace(e, tries=None) if isinstance(e, Judged) else e for e in siblings.events]
    trace = Trace.parse(Trace(siblings.header, older).lines())
    assert not any('"tries"' in line for line in trace.lines())
    check(trace)
    several = sum(isinstance(e, Judged) and e.tries is not None for e in siblings.events)
    assert several > 3
    assert list_assumptions(trace)[1].startswith(f"α cannot be recomputed at {several} positions")
    assert len(list_assumptions(siblings)) == 1


def test_check_lists_what_it_cannot_prove(sampled):
    assert list_assumptions(sampled) == [
        "A file cannot prove its times, or that these models gave its scores."
    ]
