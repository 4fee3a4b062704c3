"""The decoding loop: greedy output equals plain decoding, limits are exact, contracts are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
import torch
from fakes import Branching, Recording, Riding

from specviz.drafters.contract import Case, check_drafter
from specviz.drafters.contract.harness import greedy_tokens
from specviz.drafters.ngram import NGram
from specviz.engine.decode import run
from specviz.engine.loop import plain
from specviz.engine.protocol import BadProposal, Proposal
from specviz.models.errors import BadPrompt
from specviz.settings.chance import JUDGE, u_key
from specviz.settings.settings import BadSettings, Sampling, Settings
from specviz.trace.check import CheckFailed, check
from specviz.trace.events import Baseline, Finished, Header
from specviz.trace.file import Trace
from specviz.trace.metrics import token_ids
from specviz.verification import Drawn, MismatchedRule
from specviz.verification.distributions import BadScores
from specviz.verification.tree import DraftTree

PROMPTS = [
    tiny.PROMPT,
    "The dog saw",
    "the cat and the cat and the cat and",
    "ü 🦊\n\tx",
]
GREEDY = Settings(Sampling(0.0), max_new_tokens=16, gamma=4)
WARM = Settings(Sampling(0.9, top_k=40, top_p=0.95), max_new_tokens=16, gamma=4)


def drafters():
    """Return drafters that the contract tests lack: extra rows, early exit."""
    return {
        "nothing": Recording(),
        "riding": Riding(),
        "point-mass tree": Branching(Drawn.POINT_MASS),
        "sampled tree": Branching(Drawn.SAMPLED),
        "tree without replacement": Branching(Drawn.WITHOUT_REPLACEMENT),
    }


def traced(target, drafter, prompt, settings, **options):
    header, *events = run(target, drafter, prompt, settings, **options)
    assert isinstance(header, Header)
    return Trace(header, events)


@pytest.mark.slow
@pytest.mark.parametrize("name", drafters())
def test_runs_with_proposals_that_no_family_makes_keep_the_contract(name):
    checks = ["greedy output equals `generate`", "sampled runs replay", "a run stops at its limit"]
    model = tiny.llama()
    case = Case(
        lambda: tiny.target(model), lambda _: drafters()[name], PROMPTS[1:4], sampling=WARM.sampling
    )
    check_drafter(case, checks)


@pytest.mark.slow
def test_greedy_output_equals_generate_for_other_architectures():
    for make in (tiny.gpt2, tiny.neox):
        target, drafter = tiny.target(make()), tiny.draft(tiny.blurred(make()))
        for prompt in PROMPTS[:3]:
            trace = traced(target, drafter, prompt, GREEDY)
            assert token_ids(trace) == greedy_tokens(target, prompt, GREEDY.max_new_tokens)


class Copying(Recording):
    """Drafts a fixed continuation, so that an end-of-text token can be drafted."""

    def __init__(self, script, start):
        super().__init__()
        self.script, self.start = script, start

    def propose(self, context, room, chance):
        new = len(context) - self.start
        return Proposal(DraftTree.chain(context[-1], self.script[new:][: room - 1]), self.drawn)


def test_text_ends_at_a_drafted_end_token():
    target = tiny.target()
    ids = target.encode(tiny.PROMPT, 24)
    text = [step.token for step in plain(target, ids, GREEDY)]
    for ends_at in (1, 2, 5):
        target.eos = (text[ends_at],)
        end = text.index(text[ends_at])
        drafter = Copying(text[: end + 1], len(ids))
        trace = traced(target, drafter, tiny.PROMPT, replace(GREEDY, gamma=6))
        assert token_ids(trace) == text[: end + 1] == trace.baseline.token_ids
        assert trace.finished.reason == "eos"
        assert trace.rounds[-1].drew is None or end == 0
        check(trace)


@pytest.mark.slow
def test_committed_hidden_states_are_those_that_predicted_the_tokens(tiny_target):
    early = Branching(Drawn.SAMPLED)
    early.capture = Riding.capture
    for drafter in (early, Recording(), Riding()):
        trace = traced(tiny_target, drafter, tiny.PROMPT, GREEDY, baseline=False)
        text = [*trace.header.prompt_ids, *token_ids(trace)]
        with torch.inference_mode():
            whole = tiny_target.model(torch.tensor([text]), output_hidden_states=True)
        seen = 0
        for tokens, states in drafter.committed:
            assert states.layers[1].shape[0] == len(tokens)
            rows = slice(seen, seen + len(tokens))
            assert torch.allclose(states.layers[1], whole.hidden_states[1][0, rows], atol=2e-4)
            assert torch.allclose(states.final, whole.hidden_states[2][0, rows], atol=2e-4)
            assert tuple(text[seen + 1 : seen + 1 + len(tokens)]) == tokens
            seen += len(tokens)
        assert seen == len(text) - 1
    assert {rows.logits.shape for rows in drafter.extra_rows} == {(2, tiny_target.vocab_size)}


def test_stopped_run_keeps_finished_rounds_and_a_stopped_baseline_is_omitted(tiny_target):
    asked = iter([False, False, True])
    trace = traced(tiny_target, NGram(), tiny.PROMPT, WARM, stop=lambda: next(asked))
    assert trace.finished == Finished("stopped", trace.finished.trace_seconds, held_bytes=0)
    assert trace.baseline is None
    assert len(trace.rounds) == 3
    check(trace)
    asked = iter(range(100))
    settings = replace(GREEDY, max_new_tokens=8)
    passes = len(traced(tiny_target, NGram(), tiny.PROMPT, settings, baseline=False).rounds)
    trace = traced(
        tiny_target, NGram(), tiny.PROMPT, settings, stop=lambda: next(asked) > passes + 2
    )
    assert trace.finished.reason == "limit"
    assert trace.baseline is None


@pytest.mark.slow
def test_baseline_is_the_last_event_and_only_on_request(tiny_target):
    assert isinstance([*run(tiny_target, NGram(), tiny.PROMPT, WARM)][-1], Baseline)
    events = run(tiny_target, NGram(), "A", WARM, baseline=False)
    assert not [event for event in events if isinstance(event, Baseline)]


def test_invalid_input_is_refused_before_computation(tiny_target):
    for change, prompt, error in (
        ({}, "", BadPrompt),
        ({"max_new_tokens": 4000}, "cat", BadPrompt),
        ({"sampling": Sampling(top_k=301)}, "cat", BadSettings),
        ({"rule": "speculative"}, "cat", MismatchedRule),
        ({"rule": "greedy"}, "cat", MismatchedRule),
        ({"rule": "nonsense"}, "cat", MismatchedRule),
    ):
        with pytest.raises(error):
            next(run(tiny_target, NGram(), prompt, replace(WARM, **change)))


def test_nan_logits_raise_readable_error():
    model = tiny.llama()
    model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(BadScores, match="tiny returned logits that are not numbers"):
        list(run(tiny.target(model), NGram(), "cat", WARM))
    with pytest.raises(BadScores, match="tiny-draft"):
        list(run(tiny.target(), tiny.draft(model), "cat", WARM))


def test_drafter_that_proposes_too_many_tokens_raises_an_error(tiny_target):
    class Greedy(Recording):
        def propose(self, context, room, chance):
            return Proposal(DraftTree.chain(context[-1], [5] * room), self.drawn)

    with pytest.raises(BadProposal, match="allows at most"):
        list(run(tiny_target, Greedy(), "cat", WARM))


@pytest.mark.slow
def test_forced_u_changes_its_decision_and_none_before_it(tiny_target, tiny_draft):
    """A run with a forced u is a separate run, whose trace passes `check`."""
    first = traced(tiny_target, tiny_draft, tiny.PROMPT, WARM, baseline=False)
    played = next(r for r in first.rounds if r.judged and not r.judged[-1].accepted)
    last = played.judged[-1]
    assert last.threshold > 0
    settings = replace(WARM, coins={u_key(played.number, JUDGE, last.node): last.threshold / 2})
    other = traced(tiny_target, tiny_draft, tiny.PROMPT, settings, baseline=False)
    check(other)
    same = [r.committed.tokens for r in first.rounds[: played.number]]
    assert [r.committed.tokens for r in other.rounds[: played.number]] == same
    verdicts = [(j.node, j.accepted) for j in played.judged[:-1]] + [(last.node, True)]
    found = other.rounds[played.number].judged
    assert [(j.node, j.accepted) for j in found[: len(verdicts)]] == verdicts
    with pytest.raises(CheckFailed, match="u is"):
        check(Trace(first.header, other.events))
