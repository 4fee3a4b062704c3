"""One round, as live objects: what the loop yields and the recorder reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from specviz.engine.protocol import Proposal
from specviz.models.passes import Scores
from specviz.settings.chance import Chance
from specviz.verification import Decision, Verdict
from specviz.verification.alpha import AcceptanceProbability, acceptance_probability


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds of one round's four stages."""

    draft: float
    score: float
    judge: float
    commit: float


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One round, as live objects. Round 0 is the prefill: an empty proposal, one plain token.

    p: (n, V), by node, the law of what follows it. tokens: what the round added to the text; the
    verdict's last token is not among them where the text ended before it.
    """

    number: int
    chance: Chance
    proposal: Proposal
    scores: Scores
    p: Tensor
    verdict: Verdict
    tokens: tuple[int, ...]
    clocks: Clocks


@dataclass(frozen=True, slots=True)
class PlainStep:
    """One pass of plain decoding. top: the target's top logit; margin: that minus the second."""

    token: int
    seconds: float
    margin: float
    top: float


Stop = Callable[[], bool]


def never() -> bool:
    """Nobody stops this run."""
    return False


def alpha(played: RoundResult, decision: Decision) -> AcceptanceProbability:
    """The chance that a position keeps one of its candidates; told at the first candidate only."""
    tree = played.proposal.tree
    siblings = tree.children[tree.parents[decision.node]]
    if decision.node != siblings[0]:
        return AcceptanceProbability(None, None)
    return acceptance_probability(
        decision.distributions, [tree.tokens[n] for n in siblings], played.proposal.drawn
    )
