"""DFlash2 and JetSpec by enumeration: what a round commits has the target's joint distribution.

The sessions are real. Every draft that the random numbers can lead to is proposed and judged by the
rule that a run would use; plain decoding fills the string up to the same length.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache

import headed
import pytest
import test_dflash2
import test_jetspec
import torch
from driven import session_after

from specviz.settings.chance import DRAFT, Chance, u_key
from specviz.settings.settings import Sampling, Settings
from specviz.verification import Drawn, choose_rule
from specviz.verification.distributions import logits_to_probs
from specviz.verification.exact import distance, plain_distribution, verdicts
from specviz.verification.exact.candidates import path_tokens

pytestmark = pytest.mark.slow

TEXT = "The cat saw the"
EDGE = 1e-9  # distance of a random number from the edge of its interval
WARM = [Sampling(1.0, top_k=4), Sampling(1.6, top_k=4), Sampling(0.7, top_k=6, top_p=0.95)]


def model(sampling):
    """Return the target's distribution after `TEXT` and a context, by plain passes."""
    target = headed.target()
    text = target.encode(TEXT, 9)

    @cache
    def distribution(context):
        with torch.inference_mode():
            logits = target.model(torch.tensor([[*text, *context]])).logits[0, -1]
        return logits_to_probs(logits.double(), sampling)

    return distribution


def drafts(made, settings, room):
    """Yield every draft after `TEXT` with its probability.

    A token's probability is the length of the interval of u that selects it: the session proposes
    the token at both ends of the interval that q gives.
    """
    target = headed.target()
    text = target.encode(TEXT, 9)
    session = session_after(text, made, settings, target)
    waiting = [(1.0, {})]
    while waiting:
        mass, chosen = waiting.pop()
        proposal = session.propose(text, room, Chance(1, 1, chosen))
        node = len(chosen) + 1
        if proposal.drawn is Drawn.POINT_MASS or node == len(proposal.tree):
            yield mass, proposal
            continue
        values, tokens = proposal.q[node - 1].double().sort(descending=True, stable=True)
        ends = values.cumsum(0).tolist()
        for hi, q, token in zip(ends, values.tolist(), tokens.tolist(), strict=True):
            if q <= 3 * EDGE:
                assert q < 1e-15, "a token of small probability would not be followed"
                continue
            for u in (hi - q + EDGE, hi - EDGE):
                given = {**chosen, u_key(1, DRAFT, node): u}
                again = session.propose(text, room, Chance(1, 1, given))
                assert again.tree.tokens[node] == token
            waiting.append((mass * q, given))


def committed(made, settings, room):
    """Return the distribution of `room` tokens: one round, then plain decoding; and the drafts."""
    plain, out, found = (
        model(settings.sampling),
        defaultdict(float),
        list(drafts(made, settings, room)),
    )
    for mass, proposal in found:
        rule = choose_rule(settings.rule, proposal.drawn, settings.sampling)
        nodes = range(len(proposal.tree))
        p = torch.stack([plain(path_tokens(proposal.tree, node)) for node in nodes])
        for share, verdict in verdicts(rule, proposal.tree, proposal.drawn, p, proposal.q):
            kept = path_tokens(proposal.tree, verdict.path[-1]) if verdict.path else ()
            waiting = [(kept, mass * share, verdict.final.probs)]
            while waiting:
                string, size, probs = waiting.pop()
                for token in probs.nonzero()[:, 0].tolist():
                    new, part = (*string, token), size * probs[token].item()
                    if len(new) == room:
                        out[new] += part
                    else:
                        waiting.append((new, part, plain(new)))
    return out, found


@pytest.mark.parametrize("sampling", WARM, ids=str)
def test_tokens_committed_with_dflash2_have_the_distribution_of_the_target(sampling):
    head = test_dflash2.random_head()
    settings = Settings(sampling, gamma=9, max_new_tokens=40)
    out, found = committed(test_dflash2.drafter(head), settings, 3)
    assert {proposal.drawn for _, proposal in found} == {Drawn.SAMPLED}
    assert len(found) > 4
    assert sum(mass for mass, _ in found) == pytest.approx(1, abs=1e-12)
    assert distance(out, plain_distribution(model(sampling), 3)) < 1e-12


@pytest.mark.parametrize("sampling", [Sampling(0), *WARM], ids=str)
def test_tokens_committed_with_jetspec_have_the_distribution_of_the_target(sampling):
    settings = replace(test_jetspec.GREEDY, sampling=sampling)
    out, found = committed(test_jetspec.drafter(), settings, 3)
    assert [proposal.drawn for _, proposal in found] == [Drawn.POINT_MASS]
    assert max(found[0][1].tree.depths) == 2
    assert len(found[0][1].tree) == settings.budget + 1
    assert distance(out, plain_distribution(model(sampling), 3)) < 1e-12
