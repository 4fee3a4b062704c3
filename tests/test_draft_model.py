"""The draft model: its trees, distributions and draws, and its cache."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
import tiny
import torch
from driven import grid, session_after, turns
from test_engine import traced
from test_layerskip import deep, logits_by_layer

from specviz.drafters.common.candidates import TopCandidates, limit_widths
from specviz.drafters.layerskip import LayerSkip
from specviz.engine.loop import schedule
from specviz.models.passes import CaptureSpec, States
from specviz.settings.chance import Chance
from specviz.settings.settings import MAX_GUESSES, Sampling, Settings, tree_size
from specviz.trace.check import check
from specviz.verification import Drawn
from specviz.verification.distributions import draw, logits_to_probs

TEXT = [3, 5, 7, 9, 11]
SHAPES = [[], [3, 2], [1, 3], [2, 2, 2]]
WARM = Settings(Sampling(1.1), gamma=4, siblings=[3, 2], max_new_tokens=40, exit_layer=2)
both = pytest.mark.parametrize("kind", ["draft-model", "layerskip"])


def plain_logits(model, tokens):
    """Return logits after `tokens` from a plain forward pass: no cache, mask or positions."""
    with torch.inference_mode():
        return model(torch.tensor([tokens])).logits[0, -1]


def subject(kind):
    """Return a target, a drafter of static trees, and the logits that it drafts from."""
    if kind == "draft-model":
        drafter = tiny.draft()
        return tiny.target(), drafter, partial(plain_logits, drafter.model)
    target = tiny.target(deep(layers=4))
    return target, LayerSkip(target), lambda text: logits_by_layer(target.model, text)[2]


def proposed(settings, kind="draft-model", room=9, eos=None, chance=None):
    target, drafter, _ = subject(kind)
    target.eos = target.eos if eos is None else eos
    session = session_after(TEXT, drafter, settings, target)
    proposal = session.propose(TEXT, tiny.max_tokens(settings, room), chance or Chance(1, 1))
    proposal.check(proposal.drawn, tiny.max_tokens(settings, room), target.eos)
    return proposal


def alone(model, text, tree, nodes):
    """Return logits after the path to each node without a cache, by path length."""
    found = {}
    for depth in {tree.depths[node] for node in nodes}:
        level = [node for node in nodes if tree.depths[node] == depth]
        rows = [[*text, *(tree.tokens[n] for n in tree.path(node))] for node in level]
        with torch.inference_mode():
            found |= zip(level, model(torch.tensor(rows)).logits[:, -1], strict=True)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "attention", "siblings"),
    grid([tiny.llama, tiny.gpt2, tiny.neox], ["sdpa", "eager"], SHAPES, every=5),
)
def test_q_of_a_node_depends_only_on_its_path(make, attention, siblings):
    drafter = tiny.draft(tiny.blurred(make(), noise=0.05))
    drafter.model.set_attn_implementation(attention)
    settings = replace(WARM, siblings=siblings)
    kept = set()
    for text, turn in turns(tiny.target(make()), drafter, settings):
        tree = turn.proposal.tree
        laws = turn.proposal.q
        for node, logits in alone(drafter.model, text[:-1], tree, laws).items():
            q = laws[node]
            assert torch.allclose(q, logits_to_probs(logits, settings.sampling), rtol=0, atol=1e-5)
            soft = logits.softmax(-1)
            for child in tree.children[node]:
                score = turn.proposal.score[child]
                assert score == pytest.approx(soft[tree.tokens[child]].item(), abs=1e-5)
        kept.add(turn.verdict.path)
    assert len(kept) > 1
    assert not siblings or any(path != tuple(range(1, len(path) + 1)) for path in kept)


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SHAPES)
def test_draft_takes_one_pass_per_level_and_reads_no_token_twice(siblings):
    drafter = tiny.draft()
    passes = []
    forward = drafter.model.forward
    drafter.model.forward = lambda **given: (
        passes.append(given["input_ids"].shape[1]) or forward(**given)
    )
    before = 0
    for text, turn in turns(tiny.target(), drafter, replace(WARM, siblings=siblings)):
        tree = turn.proposal.tree
        levels = Counter(tree.depths)
        assert len(passes) == max(tree.depths)
        assert passes[1:] == [levels[depth] for depth in range(1, max(tree.depths))]
        if before:  # the new token, and an accepted guess of the last level, not read before
            assert passes[0] == len(text) - before <= 2
        before = len(text) + min(len(turn.verdict.path), max(tree.depths) - 1)
        passes.clear()
    assert before


@both
def test_siblings_are_sampled_without_replacement(kind):
    chance = Chance(3, 2)
    for sampling in (Sampling(1.1), Sampling(1.3, top_k=5, top_p=0.9)):
        proposal = proposed(replace(WARM, sampling=sampling), kind, chance=chance)
        assert proposal.drawn is Drawn.WITHOUT_REPLACEMENT
        for node, kids in enumerate(proposal.tree.children):
            left = proposal.q[node].clone() if kids else None
            for kid in kids:
                made = proposal.draws[kid]
                assert made.token == proposal.tree.tokens[kid]
                again = draw(left, chance.draft(kid))
                assert (made.token, made.u) == (again.token, again.u)
                assert (made.lo, made.hi) == pytest.approx((again.lo, again.hi), abs=1e-12)
                left[made.token] = 0
                left /= left.sum()


@both
def test_greedy_siblings_are_the_top_tokens_in_order(kind):
    proposal = proposed(replace(WARM, candidates="greedy", gamma=3), kind)
    tree, (_, _, logits_after) = proposal.tree, subject(kind)
    assert tree.parents == (-1, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9)
    assert proposal.drawn is Drawn.POINT_MASS
    assert not proposal.q
    assert not proposal.draws
    for node, kids in enumerate(tree.children):
        path = [tree.tokens[n] for n in tree.path(node)]
        best = logits_after([*TEXT[:-1], *path]).topk(len(kids)).indices.tolist()
        assert [tree.tokens[kid] for kid in kids] == best


@pytest.mark.slow
def test_one_guess_per_node_gives_a_chain():
    for candidates in ("sampled", "greedy"):
        chain = replace(WARM, siblings=[], candidates=candidates)
        first = proposed(chain)
        assert first.tree.is_chain
        for siblings in ([1], [1, 1, 1], [1, 1, 1, 1, 5]):
            tree = replace(chain, siblings=siblings)
            assert not tree.branches
            other = proposed(tree)
            assert (first.tree, first.draws, first.score) == (other.tree, other.draws, other.score)
            assert first.drawn is other.drawn is not Drawn.WITHOUT_REPLACEMENT


def test_chain_that_may_branch_later_declares_draws_without_replacement():
    settings = replace(WARM, gamma=2, siblings=[1, 1, 2], schedule="learning")
    assert settings.branches
    session = tiny.draft().begin(tiny.target().start(CaptureSpec()), settings)
    first = session.propose(TEXT, 3, Chance(1, 1))
    assert session.drawn is first.drawn is Drawn.WITHOUT_REPLACEMENT
    session.commit([*first.tree.tokens[1:], 1], States())
    assert session.propose([*TEXT, *first.tree.tokens[1:], 1], 5, Chance(1, 2)).tree.parents == (
        -1, 0, 1, 2, 2, 3, 4,
    )  # fmt: skip


@both
def test_distribution_with_few_tokens_gives_few_siblings(kind):
    few = replace(WARM, sampling=Sampling(1.1, top_k=2), siblings=[4, 4], gamma=2)
    assert proposed(few, kind).tree.parents == (-1, 0, 0, 1, 1, 2, 2)
    one = proposed(replace(few, sampling=Sampling(1.1, top_p=1e-9), siblings=[4]), kind)
    assert one.tree.parents == (-1, 0, 1)
    assert one.drawn is Drawn.WITHOUT_REPLACEMENT


def test_widths_are_limited_by_the_number_of_possible_tokens():
    laws = torch.tensor([[0.0, 0.3, 0.0, 0.7], [0.1, 0.2, 0.3, 0.4]])
    assert limit_widths(laws, [4, 3]) == [2, 3]
    rows = torch.tensor([[-torch.inf, 3.0, 4.0], [5.0, 1.0, 2.0]])
    every, first = (TopCandidates(rows, [size] * 2) for size in (8, 1))
    assert every.resolve(every.pending, "it").tokens == [[2, 1], [0, 2, 1]]
    found, sure = first.resolve(first.pending, "it"), rows[0].softmax(-1)[2].item()
    assert (found.tokens[0], found.probs[0]) == ([2], pytest.approx([sure]))


@both
@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
def test_end_of_text_ends_its_own_path_but_not_those_of_its_siblings(candidates, kind):
    settings = replace(WARM, gamma=3, candidates=candidates)
    whole, (_, _, logits_after) = proposed(settings, kind).tree, subject(kind)
    proposal = proposed(settings, kind, eos=(whole.tokens[2],))
    tree = proposal.tree
    assert tree.tokens[:4] == whole.tokens[:4]
    assert [len(tree.children[n]) for n in (1, 2, 3)] == [2, 0, 2]
    for node, q in proposal.q.items():
        path = [tree.tokens[n] for n in tree.path(node)]
        wanted = logits_to_probs(logits_after([*TEXT[:-1], *path]), settings.sampling)
        assert torch.allclose(q, wanted, rtol=0, atol=1e-4)
    assert proposed(settings, kind, eos=whole.tokens[1:4]).tree.parents == (-1, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("early", "candidates", "siblings"),
    grid([False, True], ["sampled", "greedy"], [[], [3, 2]], every=3),
)
def test_low_confidence_guess_is_proposed_and_ends_its_path(
    tiny_target, early, candidates, siblings
):
    ends = set()
    settings = replace(
        WARM, siblings=siblings, candidates=candidates, confidence=0.3, exit_layer=1, gamma=3
    )
    drafter = LayerSkip(tiny_target) if early else tiny.draft()
    trace = traced(tiny_target, drafter, tiny.PROMPT, settings, baseline=False)
    check(trace)
    for turn in trace.rounds[1:-4]:  # the last few rounds allow no full tree
        guesses = turn.proposed.guesses
        depths = [0]
        for node, guess in enumerate(guesses, 1):
            depths.append(depths[guess.parent] + 1)
            if depths[node] < 3:
                goes_on = any(other.parent == node for other in guesses)
                assert goes_on == (guess.score >= 0.3)
                ends.add(goes_on)
    assert ends == {True, False}


def test_learning_schedule_keeps_the_tree_small_enough_for_one_pass():
    learning = schedule(Settings(gamma=3, siblings=[8, 2], schedule="learning"))
    for _ in range(40):
        learning.observe(learning.gamma, learning.gamma)
    assert learning.gamma == 8
    assert tree_size([8, 2], 8) <= MAX_GUESSES < tree_size([8, 2], 9)
    chain = schedule(Settings(schedule="learning"))
    for _ in range(40):
        chain.observe(chain.gamma, chain.gamma)
    assert chain.gamma == 64
