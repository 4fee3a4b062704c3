"""Enumeration catches each classic mistake in a rule's source.

A mutant is a module's own source with one piece replaced, run as another module.
"""

from __future__ import annotations

import importlib
import sys
import types
from functools import cache
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

RULE_MODULE = "specviz.verification.rules"
LEAF_MODULE = "specviz.verification.leaf_first"
SAMPLED, REPLACED, FIXED = Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT, Drawn.POINT_MASS
TARGET, DRAFT = model(1, 3, WARPERS[0]), model(2, 3, WARPERS[0])


@cache
def plain(length):
    return plain_distribution(TARGET, length)


def tv(law):
    return float((law - P).abs().sum() / 2)


def worst(rule, drawn):
    """Return the largest distance from the target in checks of one and two tokens."""
    alone = [tv(output_distribution(rule, P, Q, drawn, candidates)) for candidates in (1, 2)]
    joint = joint_distribution(rule, TARGET, DRAFT, [-1, 0, 0, 1], drawn, 2)
    return max(*alone, distance(joint, plain(2)))


# By name of the rules that a mistake affects: their distance from the target.
LOSSES = {
    "recursive": lambda made: max(
        worst(made.RecursiveRejection("speculative"), SAMPLED),
        worst(made.RecursiveRejection("without-replacement"), REPLACED),
    ),
    "point mass": lambda made: worst(made.PointMass(), FIXED),
    "independent": lambda made: max(
        tv(output_distribution(rule, P, Q, SAMPLED, 2))
        for rule in (made.AcceptReject("accept-reject"), made.KSeq("k-seq"))
    ),
    "leaf first": lambda made: max(
        distance(
            joint_distribution(
                made.LeafFirst("traversal"), TARGET, DRAFT, [-1, 0, 0, 1, 1], how, 3
            ),
            plain(3),
        )
        for how in (REPLACED, CandidateMethod(FIXED, identity))  # a point mass that reports a q
    ),
}
MODULES = {name: LEAF_MODULE if name == "leaf first" else RULE_MODULE for name in LOSSES}
BEFORE = "judged.first_accepted(kids[1:], rejections, inputs)"
STALE = "judged.first_accepted(kids[1:], [dists, *rejections], [first[node], *inputs])"
MISTAKES = {  # the affected rules, a piece of their source, and what replaces it
    "p and q swapped in the test": (
        "recursive", 'inputs = [dict(zip("pq"', 'inputs = [dict(zip("qp"',
    ),
    "p and q swapped in the residual": (
        "recursive", "residual(dists.p, dists.q)", "residual(dists.q, dists.p)",
    ),
    "no residual": ("recursive", "left = residual(dists.p, dists.q)", "left = dists.p"),
    "bonus from the wrong row": (
        "recursive", "path, p[node], chance)", "path, p[node - 1], chance)",
    ),
    "sibling's residual skipped": (
        "recursive", "for part in (dists.p, dists.q)", "for part in (rejections[-1].p, dists.q)",
    ),
    "sibling judged by the distributions before a rejection": ("recursive", BEFORE, STALE),
    "q not masked without replacement": ("recursive", "remove_token(dists.q, x) if", "dists.q if"),
    "point mass not masked": (
        "point mass", "NodeDistributions(remove_token(dists.p, x), None)", "dists",
    ),
    "point mass judged by the distribution before a rejection": ("point mass", BEFORE, STALE),
    "point mass with the wrong row": (
        "point mass", "NodeDistributions(p[node], q.get(node))",
        "NodeDistributions(p[0], q.get(node))",
    ),
    "reach not passed to children": ("leaf first", "own = distributions.reach * p", "own = p"),
    "remainder without the reach": (
        "leaf first", "distributions.reach * distributions.p - guess", "distributions.p - guess",
    ),
    "new reach divided by 1": ("leaf first", "left / (left + beyond) if", "left / 1.0 if"),
    "q not masked by traversal": ("leaf first", "return remove_token(q, x)", "return q"),
    "p not replaced by the remainder": (
        "leaf first", "normalize(rest, distributions.p),", "distributions.p,",
    ),
    "a node judged as if it were a leaf": ("leaf first", ', "left": left}', "}"),
    "point mass read as sampled": ("leaf first", "self.drawn is not Drawn.POINT_MASS", "True"),
    "least ratio from q": ("independent", "where(p > 0, p / q,", "where(q > 0, q / p,"),
    "rho of one sibling": ("independent", "least_rho(p, q, candidates)}", "least_rho(p, q, 1)}"),
    "residual of k-SEQ without rho": (
        "independent", 'dists.p - extra["rho"] * dists.q', "dists.p - dists.q",
    ),
}  # fmt: skip


def mutant(module: str, old: str, new: str) -> types.ModuleType:
    """Run the module with `old` replaced by `new`; `old` must occur exactly once."""
    source = Path(importlib.import_module(module).__file__ or "").read_text()
    assert source.count(old) == 1, f"{module} has no single {old!r}"
    made = types.ModuleType("mutant")
    made.__dict__["__name__"] = "mutant"
    sys.modules["mutant"] = made
    exec(compile(source.replace(old, new), "mutant", "exec"), made.__dict__)  # noqa: S102
    return made


@pytest.mark.parametrize("mistake", MISTAKES)
def test_enumeration_catches_each_classic_mistake(mistake):
    rules, old, new = MISTAKES[mistake]
    least = 0.001 if rules in ("leaf first", "independent") else 0.005
    assert LOSSES[rules](mutant(MODULES[rules], old, new)) > least


@pytest.mark.parametrize("rules", LOSSES)
def test_rules_are_exact_without_an_injected_mistake(rules):
    assert LOSSES[rules](importlib.import_module(MODULES[rules])) < 1e-14


def test_refused_pairs_of_rule_and_candidates_are_lossy():
    """Enumerate the pairs that are refused, and show that they are lossy."""
    unmasked = output_distribution(RULES["speculative"], P, Q, REPLACED, 2)
    assert tv(unmasked) == pytest.approx(0.0305, abs=5e-5)
    as_if_replaced = output_distribution(RULES["without-replacement"], P, Q, SAMPLED, 2)
    assert tv(as_if_replaced) == pytest.approx(0.0182, abs=5e-5)
    assert torch.allclose(
        output_distribution(RULES["speculative"], P, Q, SAMPLED, 2), P, atol=1e-14
    )
