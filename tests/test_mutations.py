"""The oracle can fail: each classic mistake, made in the source, is caught by enumeration.

A mutant is the module's own source with one piece exchanged, run in a module of its own.
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
        'told = [dict(zip("pq"',
        'told = [dict(zip("qp"',
    ),
    "p and q swapped in the residual": (
        RECURSIVE,
        "residual(law.p, law.q)",
        "residual(law.q, law.p)",
    ),
    "residual forgotten": (RECURSIVE, "left = residual(law.p, law.q)", "left = law.p"),
    "bonus from the wrong row": (
        RECURSIVE,
        "path, p[node], chance)",
        "path, p[node - 1], chance)",
    ),
    "sibling's residual skipped": (
        RECURSIVE,
        "for part in (law.p, law.q)",
        "for part in (laws[-1].p, law.q)",
    ),
    "sibling judged by the law before another fell": (
        RECURSIVE,
        "kept(kids[1:], laws, told)",
        "kept(kids[1:], [law, *laws], [first[node], *told])",
    ),
    "q not masked without replacement": (RECURSIVE, "without(law.q, x) if", "law.q if"),
    "point mass not masked": (POINT, "Law(without(law.p, x), None)", "law"),
    "point mass judged by the law before a sibling fell": (
        POINT,
        "kept(kids[1:], laws, told)",
        "kept(kids[1:], [law, *laws], [first[node], *told])",
    ),
    "point mass with the wrong row": (POINT, "Law(p[node], q.get(node))", "Law(p[0], q.get(node))"),
}


def mutant(old: str, new: str, module: str = MODULE) -> types.ModuleType:
    """The module with `old` exchanged for `new`; fails where the source has no such piece."""
    source = Path(importlib.import_module(module).__file__ or "").read_text()
    assert source.count(old) == 1, f"{module} has no single {old!r}"
    made = types.ModuleType("mutant")
    made.__dict__["__name__"] = "mutant"
    sys.modules["mutant"] = made
    exec(compile(source.replace(old, new), "mutant", "exec"), made.__dict__)  # noqa: S102
    return made


def rules(made: types.ModuleType, rule: str) -> list[tuple[object, Drawn]]:
    """A rule of a (possibly mutated) module, with the candidates that it takes."""
    if rule == POINT:
        return [(made.PointMass(), FIXED)]
    make = made.RecursiveRejection
    return [
        (make("speculative"), SAMPLED),
        (make("without-replacement"), REPLACED),
    ]


def worst(pairs: list[tuple[object, Drawn]]) -> float:
    """The largest distance from the target's law over the tests' one- and two-token checks."""
    found = []
    for rule, drawn in pairs:
        for candidates in (1, 2):
            law = output_distribution(rule, P, Q, drawn, candidates)
            found.append(float((law - P).abs().sum() / 2))
        target, draft = model(1, 3, WARPERS[0]), model(2, 3, WARPERS[0])
        joint = joint_distribution(rule, target, draft, [-1, 0, 0, 1], drawn, 2)
        found.append(distance(joint, plain_distribution(target, 2)))
    return max(found)


@pytest.mark.parametrize("mistake", MUTANTS)
def test_each_classic_mistake_is_caught(mistake):
    rule, old, new = MUTANTS[mistake]
    assert worst(rules(mutant(old, new), rule)) > 0.005


@pytest.mark.parametrize("rule", [RECURSIVE, POINT])
def test_the_source_as_it_is_passes(rule):
    assert worst(rules(importlib.import_module(MODULE), rule)) < 1e-14


LEAF_FIRST = "specviz.verification.leaf_first"
SIBLINGS = "specviz.verification.siblings"
FURTHER = {
    "reach not handed down": (LEAF_FIRST, "own = law.reach * p", "own = p"),
    "owed without the reach": (LEAF_FIRST, "(law.reach * law.p - guess)", "(law.p - guess)"),
    "divided by what is owed and 1": (
        LEAF_FIRST,
        "left / (left + beyond) if",
        "left / 1.0 if",
    ),
    "q not masked by traversal": (LEAF_FIRST, "return without(q, x)", "return q"),
    "p not what is owed": (LEAF_FIRST, "Law(scaled(rest, law.p),", "Law(law.p,"),
    "a node kept as if it were a leaf": (LEAF_FIRST, ', "left": left}', "}"),
    "point mass read as sampled": (LEAF_FIRST, "self.drawn is not Drawn.POINT_MASS", "True"),
    "least ratio from q": (SIBLINGS, "where(p > 0, p / q,", "where(q > 0, q / p,"),
    "rho of one sibling": (SIBLINGS, "least_rho(p, q, candidates)}", "least_rho(p, q, 1)}"),
    "residual of k-SEQ without rho": (SIBLINGS, 'law.p - facts["rho"] * law.q', "law.p - law.q"),
}


def further(made: types.ModuleType, module: str) -> float:
    """The largest distance from the target's law of the rules that a module makes."""
    target, draft = model(1, 3, WARPERS[0]), model(2, 3, WARPERS[0])
    if module == SIBLINGS:
        made_rules = [made.AcceptReject("accept-reject"), made.KSeq("k-seq")]
        laws = [output_distribution(rule, P, Q, SAMPLED, 2) for rule in made_rules]
        return max(float((law - P).abs().sum() / 2) for law in laws)
    rule, plain = made.LeafFirst("traversal"), plain_distribution(target, 3)
    shape = [-1, 0, 0, 1, 1]
    told = CandidateMethod(
        FIXED, identity
    )  # a q that is told though a point mass has no use for it
    return max(
        distance(joint_distribution(rule, target, draft, shape, how, 3), plain)
        for how in (REPLACED, told)
    )


@pytest.mark.parametrize("mistake", FURTHER)
def test_each_mistake_in_a_further_rule_is_caught(mistake):
    module, old, new = FURTHER[mistake]
    assert further(mutant(old, new, module), module) > 0.001


@pytest.mark.parametrize("module", [LEAF_FIRST, SIBLINGS])
def test_the_further_rules_as_they_are_pass(module):
    assert further(importlib.import_module(module), module) < 1e-14


def test_wrong_pairs_really_are_lossy():
    """What `refusal` refuses: enumeration shows that it is right to."""
    unmasked = output_distribution(RULES["speculative"], P, Q, REPLACED, 2)
    assert float((unmasked - P).abs().sum() / 2) == pytest.approx(0.0305, abs=5e-5)
    as_if_replaced = output_distribution(RULES["without-replacement"], P, Q, SAMPLED, 2)
    assert float((as_if_replaced - P).abs().sum() / 2) == pytest.approx(0.0182, abs=5e-5)
    assert torch.allclose(
        output_distribution(RULES["speculative"], P, Q, SAMPLED, 2), P, atol=1e-14
    )
