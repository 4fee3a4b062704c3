"""The draft model: its trees, distributions and draws, and its cache."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import tiny
import torch
from test_engine import joint, traced

from specviz.drafters.common.candidates import limit_widths, top_candidates
from specviz.drafters.layerskip import LayerSkip
from specviz.engine.loop import rounds, schedule
from specviz.models.passes import CaptureSpec, States
from specviz.settings.chance import FINAL, Chance, u_key
from specviz.settings.settings import MAX_GUESSES, Sampling, Settings, tree_size
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.verification import Drawn, MismatchedRule
from specviz.verification.distributions import draw, logits_to_probs
from specviz.verification.exact import g_test

TEXT = [3, 5, 7, 9, 11]
SHAPES = [[], [3, 2], [1, 3], [2, 2, 2]]
WARM = Settings(Sampling(1.1), gamma=4, siblings=[3, 2], max_new_tokens=40)


def proposed(settings, text=TEXT, room=9, target=None, chance=None):
    session = tiny.draft().begin((target or tiny.target()).start(CaptureSpec()), settings)
    return session.propose(text, tiny.max_tokens(settings, room), chance or Chance(1, 1))


def plain_logits(model, tokens):
    """Return logits after `tokens` from a plain forward pass: no cache, mask or positions."""
    with torch.inference_mode():
        return model(torch.tensor([tokens])).logits[0, -1]


def played(target, drafter, settings, prompt=tiny.PROMPT):
    """Return the rounds after the prefill, each with the text before it."""
    text = target.encode(prompt, settings.max_new_tokens)
    for turn in rounds(target, drafter, list(text), settings):
        if turn.number:
            yield list(text), turn
        text += turn.tokens


@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
def test_nodes_are_numbered_by_level_with_distinct_siblings(candidates):
    settings = replace(WARM, gamma=3, candidates=candidates)
    tree = proposed(settings).tree
    assert tree.parents == (-1, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9)
    for kids in tree.children:
        assert len({tree.tokens[kid] for kid in kids}) == len(kids)
    assert tree_size([3, 2], 3) == len(tree) - 1


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
@pytest.mark.parametrize("siblings", SHAPES)
@pytest.mark.parametrize("make", [tiny.llama, tiny.gpt2, tiny.neox])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_q_of_a_node_depends_only_on_its_path(make, attention, siblings):
    drafter = tiny.draft(tiny.blurred(make(), noise=0.05))
    drafter.model.set_attn_implementation(attention)
    settings = replace(WARM, siblings=siblings)
    kept = set()
    for text, turn in played(tiny.target(make()), drafter, settings):
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
    for text, turn in played(tiny.target(), drafter, replace(WARM, siblings=siblings)):
        tree = turn.proposal.tree
        levels = Counter(tree.depths)
        assert len(passes) == max(tree.depths)
        assert passes[1:] == [levels[depth] for depth in range(1, max(tree.depths))]
        if before:  # the new token, and an accepted guess of the last level, not read before
            assert passes[0] == len(text) - before <= 2
        before = len(text) + min(len(turn.verdict.path), max(tree.depths) - 1)
        passes.clear()
    assert before


@pytest.mark.parametrize("sampling", [Sampling(1.1), Sampling(1.3, top_k=5, top_p=0.9)])
def test_siblings_are_sampled_without_replacement(sampling):
    chance = Chance(3, 2)
    proposal = proposed(replace(WARM, sampling=sampling), chance=chance)
    assert proposal.drawn is Drawn.WITHOUT_REPLACEMENT
    tree = proposal.tree
    for node, kids in enumerate(tree.children):
        left = proposal.q[node].clone() if kids else None
        for kid in kids:
            made = proposal.draws[kid]
            assert made.token == tree.tokens[kid]
            again = draw(left, chance.draft(kid))
            assert (made.token, made.u) == (again.token, again.u)
            assert (made.lo, made.hi) == pytest.approx((again.lo, again.hi), abs=1e-12)
            left[made.token] = 0
            left /= left.sum()


@pytest.mark.slow
def test_greedy_siblings_are_the_top_tokens_in_order():
    proposal = proposed(replace(WARM, candidates="greedy", gamma=2))
    tree = proposal.tree
    assert proposal.drawn is Drawn.POINT_MASS
    assert not proposal.q
    assert not proposal.draws
    for node, kids in enumerate(tree.children[:4]):
        path = [tree.tokens[n] for n in tree.path(node)]
        logits = plain_logits(tiny.draft().model, [*TEXT[:-1], *path])
        assert [tree.tokens[kid] for kid in kids] == logits.topk(len(kids)).indices.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
@pytest.mark.parametrize("siblings", [[1], [1, 1, 1], [1, 1, 1, 1, 5]])
def test_one_guess_per_node_gives_a_chain(siblings, candidates):
    chain = replace(WARM, siblings=[], candidates=candidates)
    tree = replace(chain, siblings=siblings)
    assert not tree.branches
    first, other = proposed(chain), proposed(tree)
    assert first.tree.is_chain
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


def test_distribution_with_few_tokens_gives_few_siblings():
    tree = proposed(replace(WARM, sampling=Sampling(1.1, top_k=2), siblings=[4, 4], gamma=2)).tree
    assert tree.parents == (-1, 0, 0, 1, 1, 2, 2)
    one = proposed(replace(WARM, sampling=Sampling(1.1, top_p=1e-9), siblings=[4], gamma=2))
    assert one.tree.parents == (-1, 0, 1)
    assert one.drawn is Drawn.WITHOUT_REPLACEMENT
    laws = torch.tensor([[0.0, 0.3, 0.0, 0.7], [0.1, 0.2, 0.3, 0.4]])
    assert limit_widths(laws, [4, 3]) == [2, 3]
    rows = torch.tensor([[-torch.inf, 3.0, 4.0], [5.0, 1.0, 2.0]])
    assert [tokens for tokens, _ in top_candidates(rows, 8, "it")] == [[2, 1], [0, 2, 1]]
    (first, sure), _ = top_candidates(rows, 1, "it")
    assert (first, sure) == ([2], pytest.approx([rows[0].softmax(-1)[2].item()]))


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
def test_end_of_text_ends_its_own_path_but_not_those_of_its_siblings(candidates):
    settings = replace(WARM, gamma=3, candidates=candidates)
    target = tiny.target()
    whole = proposed(settings).tree
    target.eos = (whole.tokens[2],)
    proposal = proposed(settings, target=target)
    tree = proposal.tree
    proposal.check(proposal.drawn, 9, target.eos)
    assert tree.tokens[:4] == whole.tokens[:4]
    assert not tree.children[2]
    assert [len(tree.children[n]) for n in (1, 3)] == [2, 2]
    for node, q in proposal.q.items():
        path = [tree.tokens[n] for n in tree.path(node)]
        logits = plain_logits(tiny.draft().model, [*TEXT[:-1], *path])
        assert torch.allclose(q, logits_to_probs(logits, settings.sampling), rtol=0, atol=1e-5)
    target.eos = whole.tokens[1:4]
    assert proposed(settings, target=target).tree.parents == (-1, 0, 0, 0)


@pytest.mark.parametrize(("room", "depth"), [(1, 0), (2, 1), (3, 2), (9, 4)])
def test_draft_tree_is_no_deeper_than_the_token_budget(room, depth):
    tree = proposed(WARM, room=room).tree
    assert max(tree.depths) == depth
    assert len(tree) - 1 == tree_size([3, 2], depth)


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
@pytest.mark.parametrize("schedule", ["fixed", "learning"])
def test_traces_with_accepted_later_siblings_pass_check(tiny_target, candidates, schedule):
    later = 0
    for seed in range(4):
        settings = replace(WARM, seed=seed, candidates=candidates, schedule=schedule, gamma=2)
        trace = traced(tiny_target, tiny.draft(), tiny.PROMPT, settings, baseline=False)
        check(trace)
        for turn in trace.rounds[1:]:
            parents = [guess.parent for guess in turn.proposed.guesses]
            kept = [judged.node for judged in turn.judged if judged.accepted]
            later += sum(parents.index(parents[node - 1]) != node - 1 for node in kept)
            assert len(parents) <= MAX_GUESSES
    assert later


@pytest.mark.slow
@pytest.mark.parametrize("siblings", [[], [3, 2]])
@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
@pytest.mark.parametrize("early", [False, True])
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


@pytest.mark.slow
def test_tokens_follow_the_target_if_confidence_ends_drafts_early():
    """Test 400 whole runs, two levels deep, after a forced token; the false alarm rate is 0.001."""
    target, drafter = tiny.target(), tiny.draft(tiny.blurred(tiny.llama(), noise=0.1))
    coins = {u_key(0, FINAL, 0): 0.1}
    sampling = Sampling(1.3, top_k=4, top_p=0.97)
    settings = Settings(sampling, max_new_tokens=4, siblings=[3, 2], coins=coins, confidence=0.4)
    ids = target.encode("The cat", 4)
    counts: Counter[tuple[int, ...]] = Counter()
    first = 0
    for seed in range(400):
        text: list[int] = []
        for turn in rounds(target, drafter, ids, replace(settings, seed=seed)):
            text += turn.tokens
            if len(text) > 3:
                break
        first = text[0]
        counts[tuple(text[1:4])] += 1
    laws = joint(target, [*ids, first], sampling)
    cells = sorted(laws)
    assert set(counts) <= set(cells)
    assert g_test([counts[c] for c in cells], [laws[c] for c in cells]).p_value > 1e-3


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


def test_rule_for_independent_draws_is_refused_for_distinct_siblings(tiny_target):
    with pytest.raises(MismatchedRule, match="without replacement"):
        traced(tiny_target, tiny.draft(), "cat", replace(WARM, rule="speculative"))


@pytest.mark.slow
def test_trace_header_stores_the_siblings_setting(tiny_target, tmp_path):
    trace = traced(tiny_target, tiny.draft(), "cat", WARM, baseline=False)
    trace.write(tmp_path / "tree.jsonl")
    found = Trace.read(tmp_path / "tree.jsonl").header.settings
    warm = WARM.at_depth(tiny_target.layers)
    assert Settings.from_json(found) == warm
    del found["siblings"]  # as in traces from before trees
    assert Settings.from_json(found) == replace(warm, siblings=[])
