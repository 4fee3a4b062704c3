"""`check` and live runs: real ones pass, and one that is lossy or was changed is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import tiny
import torch
from fakes import Branching, Recording
from forging import edited, refused, setting, traced
from made import RUNS, made

from specviz.engine.protocol import Proposal
from specviz.models.passes import CaptureSpec
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import CheckFailed, check, list_assumptions
from specviz.trace.events import Baseline, Committed, Judged
from specviz.trace.file import Trace
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import probability_any_accepted
from specviz.verification import Drawn
from specviz.verification.distributions import Draw
from specviz.verification.tree import DraftTree

WARM = Settings(Sampling(1.1), max_new_tokens=24, gamma=3)


@pytest.fixture(scope="module")
def sampled(tiny_target, tiny_draft):
    """Return a run of chains sampled from q at temperature 1.1."""
    return traced(tiny_target, tiny_draft, WARM)


@pytest.fixture(scope="module")
def greedy(tiny_target, tiny_draft):
    """Return a run at temperature 0 with its margins."""
    return traced(tiny_target, tiny_draft, replace(WARM, sampling=Sampling(0.0)))


@pytest.fixture(scope="module", params=[Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT])
def siblings(request, tiny_target):
    """Return a run with three guesses after the root, sampled from q."""
    drafter = Branching(request.param, (-1, 0, 0, 0, 1))
    return traced(tiny_target, drafter, Settings(Sampling(1.2), max_new_tokens=40))


def refuses(trace, says):
    """Assert that `check` refuses this trace."""
    with pytest.raises(CheckFailed, match=says):
        check(trace)


@pytest.mark.slow
def test_unchanged_runs_pass_check(sampled, greedy, siblings):
    for trace in (sampled, greedy, siblings, *map(unmeasured, RUNS.values())):
        check(trace)
    assert (sampled.header.rule, sampled.header.lossless) == ("speculative", True)
    assert list_assumptions(sampled) == [
        "A file cannot prove its times, or that these models gave its scores."
    ]


def unmeasured(recipe):
    """Remove the baseline and the prompt's text, which these runs do not really have."""
    trace = made(recipe)
    text = b"".join(trace.vocabulary[token] for token in trace.header.prompt_ids).decode()
    header = trace.header if recipe.chat else replace(trace.header, prompt=text)
    return Trace(header, [e for e in trace.events if not isinstance(e, Baseline)])


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
    refuses(trace, "the interval's lower end")


def test_check_detects_extra_accepted_tokens(sampled):
    """Move a rejected token into the text, the obvious forgery."""
    at, played = next(
        (i, r) for i, r in enumerate(sampled.rounds) if r.judged and not r.judged[-1].accepted
    )
    more = replace(played.committed, tokens=[*played.committed.tokens, 5])
    events = [more if isinstance(e, Committed) and e.round == at else e for e in sampled.events]
    refuses(Trace(sampled.header, events), f"Round {at}: the committed tokens")
    refused(sampled, setting(max_new_tokens=5), "more tokens than the limit")


@pytest.mark.slow
@pytest.mark.parametrize("drawn", list(Drawn))
def test_check_derives_p_of_a_later_sibling_from_the_rejection_before(tiny_target, drawn):
    settings = Settings(Sampling(1.2), max_new_tokens=40)
    trace = traced(tiny_target, Branching(drawn), settings, baseline=False)
    check(trace)
    rejected = next(
        (before, after)
        for r in trace.rounds
        for before, after in pairwise(r.judged)
        if not before.accepted and after.accepted  # otherwise the last distribution would reveal it
    )[1]
    judged = next(r for r in trace.rounds if r.number == rejected.round).proposed.guesses
    one, other = [
        i
        for i, token in enumerate(rejected.rows.tokens)
        if token != judged[rejected.node - 1].token and rejected.rows.p[i] > 0
    ][:2]
    p = [*rejected.rows.p]
    p[one], p[other] = p[one] - p[other] * 0.5, p[other] * 1.5
    forged = replace(rejected, rows=replace(rejected.rows, p=p))
    with pytest.raises(CheckFailed):
        check(edited(trace, rejected, forged))


@pytest.mark.slow
def test_check_detects_a_round_that_stops_judging_early(tiny_target):
    """Omit a judged candidate at temperature 0, with everything else consistent."""
    settings = Settings(Sampling(0.0), max_new_tokens=40, gamma=4)
    drafter = tiny.draft(tiny.blurred(tiny.llama(), noise=0.05))
    trace = traced(tiny_target, drafter, settings)
    played = next(r for r in trace.rounds if len(r.judged) > 1 and not r.judged[-1].accepted)
    dropped = played.judged[-1]
    bonus = replace(played.drew, kind="bonus", at_p=None, at_q=None)
    kept = [e for e in edited(trace, played.drew, bonus).events if e is not dropped]
    refuses(Trace(trace.header, kept), "not judged")


# Temperature 0: the text equals plain decoding's


def apart(trace, margin, **header):
    """Return the trace whose plain text differs from new token 4 on, with this margin there."""
    plain = trace.baseline
    ids, margins, tops = [*plain.token_ids], [*plain.margins], [12.0] * len(plain.margins)
    ids[3], margins[3] = next(token for token in ids if token != ids[3]), margin
    other = edited(trace, plain, Baseline(ids, plain.seconds, margins, tops))
    return Trace(replace(trace.header, **header), other.events)


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
            return replace(event, soft=[share * sum(first_rows(played, parent).soft[:2])])
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


def first_rows(played, parent):
    """Return the rows of the first verdict after a node."""
    return next(e.rows for e in played.judged if guess_of(played, e).parent == parent)


def rescored(played, parent, share):
    """Return the scores' softmax after the top two tokens of a node were made equal."""
    rows = first_rows(played, parent)
    both = sum(rows.soft[:2])
    new = {rows.tokens[0]: share * both, rows.tokens[1]: (1 - share) * both}
    pairs = zip(played.proposed.guesses, played.scored.soft, strict=True)
    return [new.get(g.token, soft) if g.parent == parent else soft for g, soft in pairs]


def test_check_detects_text_that_differs_from_plain_decoding(greedy):
    check(apart(tied(greedy, 3, 0.0009), 0.0009))
    refuses(apart(greedy, 0.0009), r"new token 4 is 0\.0009, but the run shows")
    for dtype, margin in (("float32", 0.06), ("bfloat16", 0.2), ("float16", 0.06)):
        says = "new token 4 differs from plain decoding's, with logits"
        refuses(apart(greedy, margin, dtype=dtype), says)
    check(apart(greedy, 0.06, dtype="bfloat16"))


# α of siblings


def untried_decision(trace):
    """Return a decision with recorded siblings of which the later ones were not tried."""
    first = (r.judged[0] for r in trace.rounds if r.judged)
    return next(event for event in first if event.accepted and event.tries)


def test_check_recomputes_alpha_of_siblings_from_p_and_q_of_each(siblings):
    """Include the next sibling, although it was not tried."""
    event = untried_decision(siblings)
    refuses(edited(siblings, event, replace(event, alpha=event.alpha / 2)), "α is")
    for at, what in [(0, "p"), (1, "p"), (0, "q"), (1, "q"), (2, "q")]:
        tries = [[*each] for each in event.tries]
        tries[at][what == "q"] += 0.01 if tries[at][what == "q"] < 0.9 else -0.01
        forged = replace(event, tries=tries, alpha=probability_any_accepted(tries))
        refuses(edited(siblings, event, forged), f"{what} of a try")
    fewer = event.tries[:-1]
    forged = replace(event, tries=fewer, alpha=probability_any_accepted(fewer))
    refuses(edited(siblings, event, forged), "not every sibling has a try")


def test_check_detects_sibling_probabilities_recorded_for_a_single_guess(sampled):
    event = next(e for e in sampled.events if isinstance(e, Judged) and e.alpha is not None)
    forged = edited(sampled, event, replace(event, tries=[[0.5, 0.5]]))
    refuses(forged, "for fewer than two sampled guesses")


def test_trace_without_recorded_sibling_probabilities_passes_check(siblings):
    older = [replace(e, tries=None) if isinstance(e, Judged) else e for e in siblings.events]
    trace = Trace.parse(Trace(siblings.header, older).lines())
    assert not any('"tries"' in line for line in trace.lines())
    check(trace)
    several = sum(isinstance(e, Judged) and e.tries is not None for e in siblings.events)
    assert several > 3
    assert list_assumptions(trace)[1].startswith(f"α cannot be recomputed at {several} positions")
    assert len(list_assumptions(siblings)) == 1
