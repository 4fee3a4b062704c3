"""Every rule by enumeration: the real rule runs on every possible outcome of its draws."""

from __future__ import annotations

import pytest
import torch
from example import WARPERS, P, Q, model
from hypothesis import given
from test_distributions import laws

from specviz.settings.settings import Sampling
from specviz.verification import RULES, Drawn, MismatchedRule, choose_rule
from specviz.verification.base import NodeDistributions, acceptance_probability
from specviz.verification.exact import (
    acceptance,
    accepted_length,
    distance,
    joint_distribution,
    output_distribution,
    plain_distribution,
    proposals,
    verdicts,
)
from specviz.verification.tree import DraftTree

SAMPLED, REPLACED, FIXED = Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT, Drawn.POINT_MASS
LOSSLESS = [
    ("speculative", SAMPLED),
    ("without-replacement", REPLACED),
    ("point-mass", FIXED),
    ("point-mass", SAMPLED),
    ("point-mass", REPLACED),
]
SHAPES = {
    "nothing": [-1],
    "chain": [-1, 0, 1],
    "siblings": [-1, 0, 0],
    "tree": [-1, 0, 0, 1],
}


@pytest.mark.parametrize(("rule", "drawn"), LOSSLESS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sampling", WARPERS, ids=str)
def test_two_tokens_follow_the_target_under_all_sampling_settings(rule, drawn, shape, sampling):
    target, draft = model(1, 3, sampling), model(2, 3, sampling)
    ours = joint_distribution(RULES[rule], target, draft, SHAPES[shape], drawn, 2)
    assert distance(ours, plain_distribution(target, 2)) < 1e-14


@pytest.mark.parametrize(("rule", "drawn"), LOSSLESS[:3])
def test_first_three_tokens_from_a_deeper_tree_follow_the_target(rule, drawn):
    target, draft = model(3, 3, Sampling(1.0)), model(4, 3, Sampling(1.0))
    ours = joint_distribution(RULES[rule], target, draft, [-1, 0, 0, 1, 1], drawn, 3)
    assert distance(ours, plain_distribution(target, 3)) < 1e-14


@pytest.mark.parametrize("drawn", [SAMPLED, FIXED])
@pytest.mark.parametrize("rule", ["greedy", "point-mass"])
def test_every_rule_gives_the_text_of_the_target_at_temperature_0(rule, drawn):
    target, draft = model(5, 3, Sampling(0.0)), model(6, 3, Sampling(1.0))
    ours = joint_distribution(RULES[rule], target, draft, [-1, 0, 0, 1], drawn, 3)
    assert ours == plain_distribution(target, 3)


@pytest.mark.parametrize(
    ("rule", "drawn", "expected"),
    [
        ("speculative", SAMPLED, (0.650, 0.7350, 0.7615)),
        ("without-replacement", REPLACED, (0.650, 0.7564, 0.8297)),
        ("point-mass", FIXED, (0.25, 0.35, 0.55)),
    ],
)
def test_acceptance_probability_equals_that_of_the_worked_example(rule, drawn, expected):
    for candidates, alpha in enumerate(expected, 1):
        found = acceptance(RULES[rule], P, Q, drawn, candidates)
        assert found == pytest.approx(alpha, abs=5e-5)
        exact = output_distribution(RULES[rule], P, Q, drawn, candidates)
        assert torch.allclose(exact, P, atol=1e-14)


def test_point_mass_rule_is_exact_for_sampled_candidates():
    assert acceptance(RULES["point-mass"], P, Q, SAMPLED) == pytest.approx(0.21, abs=1e-12)


def test_some_candidate_is_always_accepted_if_every_token_is_a_candidate():
    assert acceptance(RULES["without-replacement"], P, Q, REPLACED, 5) == pytest.approx(1.0)


@pytest.mark.slow
def test_accepted_length_on_the_worked_example_equals_known_values():
    rule = RULES["without-replacement"]
    found = accepted_length(rule, lambda _: P, lambda _: Q, [-1, 0, 0, 1, 1, 2, 2], REPLACED)
    assert found == pytest.approx(1.3284, abs=5e-5)
    chain = [accepted_length(RULES["speculative"], lambda _: P, lambda _: Q, c, SAMPLED)
             for c in ([-1, 0], [-1, 0, 1], [-1, 0, 1, 2])]  # fmt: skip
    assert [1 + length for length in chain] == pytest.approx([1.65, 2.0725, 2.3471], abs=5e-5)


@pytest.mark.slow
@given(laws(3), laws(3))
def test_every_rule_is_exact_for_zero_tied_and_nearly_equal_probabilities(p, q):
    for rule, drawn in LOSSLESS:
        for candidates in (1, 2):
            exact = output_distribution(RULES[rule], p, q, drawn, candidates)
            assert torch.allclose(exact, p, atol=1e-12), (rule, drawn, candidates)


def test_equal_p_and_q_always_accept_and_disjoint_p_and_q_never():
    p = torch.tensor([0.5, 0.5, 0.0, 0.0], dtype=torch.float64)
    assert acceptance(RULES["speculative"], p, p, SAMPLED) == pytest.approx(1.0)
    assert acceptance(RULES["speculative"], p, p.flip(0), SAMPLED) == 0.0
    assert torch.allclose(output_distribution(RULES["speculative"], p, p.flip(0), SAMPLED), p)


@pytest.mark.parametrize("rule", ["speculative", "without-replacement", "point-mass", "greedy"])
def test_u_of_zero_accepts_no_token_of_probability_zero(rule):
    p = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    q = {0: torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)}

    class Zero:
        def judge(self, node: int) -> float:
            return 0.0

        def final(self) -> float:
            return 0.0

    tree, drawn = DraftTree.chain(0, [0]), next(iter(RULES[rule].spec.accepts))
    verdict = RULES[rule].judge(tree, drawn, p, q, Zero())
    assert verdict.path == ()
    assert verdict.final.kind == "recovered"
    assert verdict.final.drawn.token == 1


@pytest.mark.parametrize(("rule", "drawn"), LOSSLESS[:3])
@pytest.mark.parametrize("candidates", [1, 2, 3])
def test_alpha_of_given_candidates_equals_enumeration(rule, drawn, candidates):
    """Compare α of given candidates; with one sampled candidate it is averaged over all draws."""
    tokens = [1, 3, 0][:candidates]
    tree = DraftTree((0, *tokens), (-1,) + (0,) * candidates)
    rows, laws = P.repeat(4, 1), {} if drawn is FIXED else {0: Q}
    found = acceptance_probability(NodeDistributions(P, laws.get(0)), tokens, drawn)
    kept = sum(w for w, v in verdicts(RULES[rule], tree, drawn, rows, laws) if v.path)
    alone = drawn is not FIXED and candidates == 1
    assert found.value == pytest.approx(0.65 if alone else kept, abs=1e-14)
    assert (found.tries is not None) == (drawn is not FIXED and candidates > 1)


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [(SAMPLED, (0.650, 0.7350, 0.7615)), (REPLACED, (0.650, 0.7564, 0.8297))],
)
def test_mean_of_alpha_over_all_draws_is_the_acceptance_probability(drawn, expected):
    for candidates, alpha in enumerate(expected, 1):
        shape = [-1] + [0] * candidates
        mean = sum(
            weight * acceptance_probability(NodeDistributions(P, Q), tree.tokens[1:], drawn).value
            for weight, tree, _ in proposals(lambda _: Q, shape, drawn)
        )
        assert mean == pytest.approx(alpha, abs=5e-5)
        rule = "speculative" if drawn is SAMPLED else "without-replacement"
        assert mean == pytest.approx(acceptance(RULES[rule], P, Q, drawn, candidates), abs=1e-13)


@pytest.mark.parametrize(
    ("name", "drawn", "sampling", "says"),
    [
        ("speculative", FIXED, Sampling(0.8), "not be lossless"),
        ("speculative", REPLACED, Sampling(0.8), "not be lossless"),
        ("without-replacement", SAMPLED, Sampling(0.8), "not be lossless"),
        ("greedy", SAMPLED, Sampling(0.8), "Use temperature 0"),
        ("hopeful", SAMPLED, Sampling(0.8), "There is no rule"),
    ],
)
def test_rule_that_does_not_fit_the_candidates_raises_readable_error(name, drawn, sampling, says):
    with pytest.raises(MismatchedRule, match=says) as refused:
        choose_rule(name, drawn, sampling)
    assert str(refused.value).endswith(".")


def test_rule_auto_selects_the_rule_that_fits_the_candidates():
    assert choose_rule("auto", SAMPLED, Sampling(0.8)).spec.name == "speculative"
    assert choose_rule("auto", REPLACED, Sampling(0.8)).spec.name == "without-replacement"
    assert choose_rule("auto", FIXED, Sampling(0.8)).spec.name == "point-mass"
    assert choose_rule("auto", SAMPLED, Sampling(0.0)).spec.name == "greedy"
