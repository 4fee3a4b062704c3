"""Enumeration catches each classic mistake in a rule's source.

A mutant is a module's own source with one piece replaced, run as another module.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import pytest
import torch
from example import WARPERS, P, Q, model

from specviz.verification import RULES, Drawn
from specviz.verification.exact import (
    CandidateMethod,
    distance,
    joint_distribution,
    output_distribution,
    plain_distribution,
)
from specviz.verification.exact.candidates import identity

MODULE = "specviz.verification.rules"
RECURSIVE, POINT = "RecursiveRejection", "PointMass"  # the rules in it that are mutated
SAMPLED, REPLACED, FIXED = Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT, Drawn.POINT_MASS

MUTANTS = {
    "p and q swapped in the test": (
        RECURSIVE,
        'inputs = [dict(zip("pq"',
        'inputs = [dict(zip("qp"',
    ),
    "p and q swapped in the residual": (
        RECURSIVE,
        "residual(dists.p, dists.q)",
        "residual(dists.q, dists.p)",
    ),
    "no residual": (RECURSIVE, "left = residual(dists.p, dists.q)", "left = dists.p"),
    "bonus from the wrong row": (
        RECURSIVE,
        "path, p[node], chance)",
        "path, p[node - 1], chance)",
    ),
    "sibling's residual skipped": (
        RECURSIVE,
        "for part in (dists.p, dists.q)",
        "for part in (rejections[-1].p, dists.q)",
    ),
    "sibling judged by the distributions before a rejection": (
        RECURSIVE,
        "judged.first_accepted(kids[1:], rejections, inputs)",
        "judged.first_accepted(kids[1:], [dists, *rejections], [first[node], *inputs])",
    ),
    "q not masked without replacement": (RECURSIVE, "remove_token(dists.q, x) if", "dists.q if"),
    "point mass not masked": (
        POINT,
        "NodeDistributions(remove_token(dists.p, x), None)",
        "dists",
    ),
    "point mass judged by the distribution before a rejection": (
        POINT,
        "judged.first_accepted(kids[1:], rejections, inputs)",
        "judged.first_accepted(kids[1:], [dists, *rejections], [first[node], *inputs])",
    ),
    "point mass with the wrong row": (
        POINT,
        "NodeDistributions(p[node], q.get(node))",
        "NodeDistributions(p[0], q.get(node))",
    ),
}


def mutant(old: str, new: str, module: str = MODULE) -> types.ModuleType:
    """Run the module with `old` replaced by `new`; `old` must occur exactly once."""
    source = Path(importlib.import_module(module).__file__ or "").read_text()
    assert source.count(old) == 1, f"{module} has no single {old!r}"
    made = types.ModuleType("mutant")
    made.__dict__["__name__"] = "mutant"
    sys.modules["mutant"] = made
    exec(compile(source.replace(old, new), "mutant", "exec"), made.__dict__)  # noqa: S102
    return made


def rules(made: types.ModuleType, rule: str) -> list[tuple[object, Drawn]]:
    """Return the rules of a (possibly mutated) module with the candidates that they take."""
    if rule == POINT:
        return [(made.PointMass(), FIXED)]
    make = made.RecursiveRejection
    return [
        (make("speculative"), SAMPLED),
        (make("without-replacement"), REPLACED),
    ]


def worst(pairs: list[tuple[object, Drawn]]) -> float:
    """Return the largest distance from the target in checks of one and two tokens."""
    found = []
    for rule, drawn in pairs:
        for candidates in (1, 2):
            output = output_distribution(rule, P, Q, drawn, candidates)
            found.append(float((output - P).abs().sum() / 2))
        target, draft = model(1, 3, WARPERS[0]), model(2, 3, WARPERS[0])
        joint = joint_distribution(rule, target, draft, [-1, 0, 0, 1], drawn, 2)
        found.append(distance(joint, plain_distribution(target, 2)))
    return max(found)


@pytest.mark.parametrize("mistake", MUTANTS)
def test_enumeration_catches_each_classic_mistake(mistake):
    rule, old, new = MUTANTS[mistake]
    assert worst(rules(mutant(old, new), rule)) > 0.005


@pytest.mark.parametrize("rule", [RECURSIVE, POINT])
def test_rules_are_exact_without_an_injected_mistake(rule):
    assert worst(rules(importlib.import_module(MODULE), rule)) < 1e-14


LEAF_FIRST = "specviz.verification.leaf_first"
SIBLINGS = "specviz.verification.rules"
FURTHER = {
    "reach not passed to children": (
        LEAF_FIRST,
        "own = distributions.reach * p",
        "own = p",
    ),
    "remainder without the reach": (
        LEAF_FIRST,
        "(distributions.reach * distributions.p - guess)",
        "(distributions.p - guess)",
    ),
    "new reach divided by 1": (
        LEAF_FIRST,
        "left / (left + beyond) if",
        "left / 1.0 if",
    ),
    "q not masked by traversal": (LEAF_FIRST, "return remove_token(q, x)", "return q"),
    "p not replaced by the remainder": (
        LEAF_FIRST,
        "normalize(rest, distributions.p),",
        "distributions.p,",
    ),
    "a node judged as if it were a leaf": (LEAF_FIRST, ', "left": left}', "}"),
    "point mass read as sampled": (LEAF_FIRST, "self.drawn is not Drawn.POINT_MASS", "True"),
    "least ratio from q": (SIBLINGS, "where(p > 0, p / q,", "where(q > 0, q / p,"),
    "rho of one sibling": (SIBLINGS, "least_rho(p, q, candidates)}", "least_rho(p, q, 1)}"),
    "residual of k-SEQ without rho": (
        SIBLINGS,
        'dists.p - extra["rho"] * dists.q',
        "dists.p - dists.q",
    ),
}


def further(made: types.ModuleType, module: str) -> float:
    """Return the largest distance from the target of the module's rules."""
    target, draft = model(1, 3, WARPERS[0]), model(2, 3, WARPERS[0])
    if module == SIBLINGS:
        made_rules = [made.AcceptReject("accept-reject"), made.KSeq("k-seq")]
        outputs = [output_distribution(rule, P, Q, SAMPLED, 2) for rule in made_rules]
        return max(float((output - P).abs().sum() / 2) for output in outputs)
    rule, plain = made.LeafFirst("traversal"), plain_distribution(target, 3)
    shape = [-1, 0, 0, 1, 1]
    with_q = CandidateMethod(FIXED, identity)  # a point mass that reports a q
    return max(
        distance(joint_distribution(rule, target, draft, shape, how, 3), plain)
        for how in (REPLACED, with_q)
    )


@pytest.mark.parametrize("mistake", FURTHER)
def test_enumeration_catches_each_mistake_in_other_rules(mistake):
    module, old, new = FURTHER[mistake]
    assert further(mutant(old, new, module), module) > 0.001


@pytest.mark.parametrize("module", [LEAF_FIRST, SIBLINGS])
def test_other_rules_are_exact_without_an_injected_mistake(module):
    assert further(importlib.import_module(module), module) < 1e-14


def test_refused_pairs_of_rule_and_candidates_are_lossy():
    """Enumerate the pairs that are refused, and show that they are lossy."""
    unmasked = output_distribution(RULES["speculative"], P, Q, REPLACED, 2)
    assert float((unmasked - P).abs().sum() / 2) == pytest.approx(0.0305, abs=5e-5)
    as_if_replaced = output_distribution(RULES["without-replacement"], P, Q, SAMPLED, 2)
    assert float((as_if_replaced - P).abs().sum() / 2) == pytest.approx(0.0182, abs=5e-5)
    assert torch.allclose(
        output_distribution(RULES["speculative"], P, Q, SAMPLED, 2), P, atol=1e-14
    )
