"""Verdicts that a GPU computes in one recorded graph equal the rules' own, bit for bit.

The device is simulated (`pretend`): a replay repeats the recorded operations at their addresses.
"""

from __future__ import annotations

from itertools import product

import pytest
import tiny
import torch
from pretend import pretended, refuse_graph

from specviz.engine import judging
from specviz.engine.judging import judge, sample
from specviz.engine.protocol import Proposal
from specviz.models import graphs
from specviz.models.network import prepare
from specviz.models.passes import CaptureSpec
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling
from specviz.verification import RULES, Drawn
from specviz.verification.base import PrecomputedRule
from specviz.verification.distributions import draw, logits_to_probs
from specviz.verification.tree import DraftTree

TOKENS = 300  # more than a draw searches at first
LENGTHS = (4, 2, 0, 7, 5, 3)  # of successive drafts: rows of longer ones remain in the memory
TREES = (  # parents
    (-1, 0, 0, 0, 1, 1, 3),
    (-1, 0, 0, 1, 1, 3, 3, 3, 3),
    (-1, 0, 1, 2),
    (-1, 0, 0),
    (-1,),
    (-1, 0, 1, 1, 3, 3, 3),
)
KINDS = [
    (name, drawn)
    for name, rule in RULES.items()
    if isinstance(rule, PrecomputedRule)
    for drawn in Drawn  # in a fixed order, for all workers
    if drawn in rule.spec.accepts
]


@pytest.fixture
def gpu():
    with pretended() as device_log:
        model = tiny.llama().to("cuda")
        prepare(model)
        yield Target(model, tiny.tokenizer(), tiny.target().card).start(CaptureSpec()), device_log


def made(drawn, parents, seed, dtype, peak):
    """Return a draft of this shape, and logits that often agree with it."""
    random = torch.Generator().manual_seed(seed)
    shape = DraftTree((1,) * len(parents), tuple(parents)).children
    scores = torch.randn(len(parents), TOKENS, generator=random) * peak
    sampled = scores + torch.randn(len(parents), TOKENS, generator=random) * 0.3
    q, tokens = sampled.softmax(-1).to(dtype), [1] * len(parents)
    for node, kids in enumerate(shape):
        again = drawn is Drawn.SAMPLED
        guesses = torch.multinomial(q[node].float(), max(len(kids), 1), again, generator=random)
        if drawn is Drawn.POINT_MASS:
            guesses = scores[node].topk(max(len(kids), 1)).indices
        for kid, guess in zip(kids, guesses.tolist(), strict=False):
            tokens[kid] = guess
    rows = {node: q[node].to("cuda") for node, kids in enumerate(shape) if kids}
    tree = DraftTree(tuple(tokens), tuple(parents))
    return Proposal(tree, drawn, {} if drawn is Drawn.POINT_MASS else rows), scores.to("cuda")


def chain(length):
    return range(-1, length)


def flatten(verdict):
    """Return a verdict as numbers, which can be compared."""
    decisions = [
        (
            each.node, each.u, each.threshold, dict(each.inputs), each.distributions.reach,
            each.distributions.p.tolist(),
            None if each.distributions.q is None else each.distributions.q.tolist(),
        )
        for each in verdict.decisions
    ]  # fmt: skip
    final = verdict.final
    return decisions, verdict.path, final.parent, final.kind, final.drawn, final.probs.tolist()


@pytest.mark.parametrize(("name", "drawn"), KINDS, ids=str)
def test_recorded_verdict_equals_the_rules_own_bit_for_bit(gpu, name, drawn):
    run, device_log = gpu
    rule, ends, tried = RULES[name], set(), set()
    temperatures = (0.0,) if rule.spec.temperature_zero else (0.0, 0.8, 3.0)
    shapes = [*map(chain, LENGTHS), *(() if rule.chains_only else TREES)]
    for seed, temperature in enumerate(temperatures):
        sampling = Sampling(temperature)
        for number, parents in enumerate(shapes):
            dtype = (torch.float64, torch.float32)[number % 2]
            proposal, logits = made(drawn, parents, 20 * seed + number, dtype, 1 + number % 3)
            chance = Chance(seed, number)
            p, found = judge(run, rule, proposal, logits, sampling, chance)
            found, p = flatten(found), p.tolist()
            wanted_p = logits_to_probs(logits, sampling)
            wanted = rule.judge(proposal.tree, drawn, wanted_p, proposal.q, chance)
            assert p == wanted_p.tolist()
            assert found == flatten(wanted)
            ends.add((number, len(wanted.path)))
            tried |= {
                proposal.tree.children[proposal.tree.parents[each.node]].index(each.node)
                for each in wanted.decisions
            }
        peaked = logits * 9  # so that a draw ends among the first tokens
        before = device_log.counts.copy()
        judge(run, rule, proposal, peaked, sampling, Chance(0, 0))
        made_now = device_log.counts - before
        assert made_now["reads"] == 1
        assert made_now["launches"] <= 5
    if len(temperatures) > 1:
        assert len(ends) > len(shapes)
        assert rule.chains_only or max(tried) > 0, "no second sibling was judged"


def test_other_rules_trees_and_failed_recordings_use_the_rules_own_way(gpu, monkeypatch, caplog):
    run, _ = gpu
    tree = DraftTree((1, 5, 6), (-1, 0, 0))
    logits = torch.randn(3, TOKENS).to("cuda")
    loaded = set(run.cache.memory.recordings)
    draft = Proposal(tree, Drawn.POINT_MASS)
    for rule in ("traversal", "typical"):
        judge(run, RULES[rule], draft, logits, Sampling(), Chance(0, 1))
    monkeypatch.setattr(judging, "MOST_NUMBERS", 2 * 4 * TOKENS - 1)
    judge(run, RULES["point-mass"], draft, logits, Sampling(), Chance(0, 1))
    assert set(run.cache.memory.recordings) == loaded
    monkeypatch.setattr(judging, "MOST_NUMBERS", 2 * 4 * TOKENS)
    judge(run, RULES["point-mass"], draft, logits, Sampling(), Chance(0, 1))
    assert len(run.cache.memory.recordings) == len(loaded) + 1

    kinds = (Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT)  # each has recordings of its own
    for drawn, seed in product(kinds, range(8)):
        draft, _ = made(drawn, TREES[0], seed, torch.float64, 2)
        _, logits = made(drawn, TREES[0], seed + 50, torch.float64, 2)  # most guesses are rejected
        found = judge(run, RULES["ensemble"], draft, logits, Sampling(0.8), Chance(seed, 3))[1]
        probs = logits_to_probs(logits, Sampling(0.8))
        wanted = RULES["ensemble"].judge(draft.tree, drawn, probs, draft.q, Chance(seed, 3))
        assert flatten(found) == flatten(wanted)

    monkeypatch.setattr(graphs, "record_graph", refuse_graph)
    guesses, logits = made(Drawn.SAMPLED, chain(3), 5, torch.float64, 1)
    for _ in range(2):
        found = judge(run, RULES["speculative"], guesses, logits, Sampling(0.8), Chance(0, 1))[1]
    probs = logits_to_probs(logits, Sampling(0.8))
    wanted = RULES["speculative"].judge(guesses.tree, guesses.drawn, probs, guesses.q, Chance(0, 1))
    assert flatten(found) == flatten(wanted)
    assert [each.message.split(":")[0] for each in caplog.records] == [
        "verdicts run without CUDA graphs from here on"
    ]
    assert run.cache.memory.recorder.works, "passes are still recorded"


@pytest.mark.parametrize("sampling", [Sampling(0.8), Sampling(3.0), Sampling(1.0, 20, 0.9)])
def test_plain_decoding_samples_the_token_of_a_usual_draw(gpu, sampling):
    run, _ = gpu
    for seed in range(30):
        logits, u = torch.randn(1, TOKENS).to("cuda"), Chance(seed, 0).baseline()
        probs = logits_to_probs(logits, sampling)[0]
        assert sample(run, logits, sampling, u) == draw(probs, u).token
    keys = [key for key in run.cache.memory.recordings if "point-mass" in key]
    assert len(keys) == 1
