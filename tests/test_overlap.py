"""Drafting while the target checks: the drafter's top tokens, recomputed, and what overlap saves.

`python tests/test_overlap.py` writes the tokens again after the runs were recorded again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from specviz.catalog.loading import load
from specviz.trace import metrics
from specviz.trace.events import Scored
from specviz.trace.overlap import all_accepted, overlap
from specviz.ui.learn.values import TOP_TOKENS
from specviz.ui.step.recorded import trace

NAMES = ("01-chain", "07-learning")  # runs of the draft model that a lesson simulates


def top_tokens(name):
    """Return the stored tokens of a run."""
    return {
        int(number): token for number, token in json.loads(TOP_TOKENS.read_text())[name].items()
    }


def recomputed(name):
    """Return the draft model's top token after each round that accepted all guesses."""
    run, (_, drafter) = trace(name), load("house", "draft-model")
    text, found = list(run.header.prompt_ids), {}
    for played in run.rounds:
        if all_accepted(played):
            guessed = [*text, *(guess.token for guess in played.proposed.guesses)]
            with torch.inference_mode():
                logits = drafter.model(torch.tensor([guessed])).logits[0, -1]
            found[played.number] = int(logits.argmax())
        text += played.committed.tokens
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_stored_top_tokens_are_those_of_the_draft_model(name):
    assert top_tokens(name) == recomputed(name)


@pytest.mark.parametrize("name", NAMES)
def test_overlap_saves_the_part_of_a_draft_that_fits_into_the_check_before(name):
    run = trace(name)
    found = overlap(run, top_tokens(name))
    saved = hits = 0
    rounds = [each for each in run.rounds if each.proposed and each.proposed.guesses]
    for played, after in pairwise(rounds):
        early = found.drafts[played.number]
        guesses, seconds = len(after.proposed.guesses), after.proposed.seconds
        room = played.scored.seconds + played.committed.judge_seconds
        assert early.seconds == min(room, seconds * (guesses + 1) / guesses)
        kept = len(played.committed.tokens) == len(played.proposed.guesses) + 1
        hit = kept and played.committed.tokens[-1] == top_tokens(name).get(played.number)
        assert early.outcome == ("hit" if hit else "other bonus" if kept else "rejected")
        assert early.saved <= (seconds if hit else 0.0)
        hits, saved = hits + hit, saved + early.saved
    assert (found.hits, found.saved) == (hits, pytest.approx(saved))
    assert hits > 0
    assert len(found.drafts) == len(rounds) - 1
    total = metrics.summary(run)["total_seconds"]
    before = metrics.summary(run)["speedup"]
    assert found.speedup == pytest.approx(before * total / (total - saved))


def test_draft_that_is_ready_within_the_check_costs_no_time():
    run = trace("01-chain")
    drafts = overlap(run, top_tokens("01-chain")).drafts
    number = next(number for number, each in drafts.items() if each.outcome == "hit")
    events = [
        replace(event, seconds=9.0)
        if isinstance(event, Scored) and event.round == number
        else event
        for event in run.events
    ]
    found = overlap(replace(run, events=events), top_tokens("01-chain")).drafts[number]
    after = next(each for each in run.rounds if each.number == number + 1)
    assert found.saved == pytest.approx(after.proposed.seconds)


if __name__ == "__main__":
    TOP_TOKENS.write_text(json.dumps({name: recomputed(name) for name in NAMES}) + "\n")
