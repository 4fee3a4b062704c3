"""Rules that do not keep the target's distribution, as other programs use them.

What each gives up is in `trace.rule_specs`. Lenience and the ensemble are speculative sampling with
another test: see `rules.RecursiveRejection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Final

import torch
from torch import Tensor

from specviz.trace.rule_specs import RULE_SPECS, Drawn, fly_own_threshold
from specviz.verification.base import (
    Decision,
    Inputs,
    NodeDistributions,
    UniformSource,
    Verdict,
    Walk,
    decide,
    finish,
    refuse_tree,
)
from specviz.verification.distributions import remove_token, residual
from specviz.verification.transfer import to_host
from specviz.verification.tree import DraftTree

FLY_TOKENS: Final = 3  # how many top tokens FLy's entropy is computed from


def one_hot_top(p: Tensor) -> Tensor:
    """Return a one-hot distribution on the most probable token of p (V,)."""
    return torch.zeros_like(p).scatter_(-1, p.argmax(dim=-1, keepdim=True), 1.0)


def entropy(p: Tensor) -> Tensor:
    """Return −Σ p ln p over the last axis, in nats."""
    terms: Tensor = torch.special.entr(p)
    return terms.sum(dim=-1)


class Typical(Walk):
    """Medusa's typical acceptance (2401.10774): accept x if p(x) > min(ε, δ e^−H(p)).

    It uses neither q nor u. If it rejects all candidates, it takes the top token, as the paper's
    code does (`fast=True`). It is not lossless: every x above the threshold passes, whatever its
    probability, so among the tokens that pass, the output follows the draft's distribution. Of the
    siblings that pass, the first is accepted; the paper's code takes the longest path. (Its two
    functions swap the defaults of ε and δ.)
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: the target's uncertainty."""
        return {"entropy": entropy(dists.p).item()}

    def final_probs(self, dists: NodeDistributions, extra: Inputs) -> Tensor:
        """Implement `Walk.final_probs`."""
        return one_hot_top(dists.p)

    def bonus_probs(self, p: Tensor) -> Tensor:
        """Implement `Walk.bonus_probs`."""
        return one_hot_top(p)


class Relaxed(Walk):
    """Relaxed acceptance (TensorRT-LLM, for the thinking phase of DeepSeek-R1).

    Accept x if it is one of the target's N most probable tokens and p(x) ≥ p_max − Δ; otherwise
    take the top token. The rule relaxes greedy decoding, so its output should be compared with the
    top token, not with p.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: the top token's probability."""
        return {"top": dists.p.max().item()}

    def candidate_inputs(self, dists: NodeDistributions, token: int, extra: Inputs) -> Inputs:
        """Implement `Walk.candidate_inputs`: add the rank, equal for equally probable tokens."""
        p, above = (one.item() for one in to_host(dists.p[token], (dists.p > dists.p[token]).sum()))
        return {"p": p, "rank": above + 1}

    def final_probs(self, dists: NodeDistributions, extra: Inputs) -> Tensor:
        """Implement `Walk.final_probs`."""
        return one_hot_top(dists.p)

    def bonus_probs(self, p: Tensor) -> Tensor:
        """Implement `Walk.bonus_probs`."""
        return one_hot_top(p)


class Thresholds(Walk):
    """The point-mass rule with SGLang's two thresholds; lossless if both are 1.

    Accept x if p(x) ≥ `single`, otherwise with probability p(x)/`together`. (SGLang uses one u for
    all siblings. Here each has its own u, with a threshold that gives the same distribution.) A
    rejection removes x from p, as in SGLang's kernel. With any threshold below 1, candidates are
    output more often than under p, and all other tokens less often.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: p of the siblings tested before, 0 at first."""
        return {"before": 0.0}

    def after_rejection(
        self, dists: NodeDistributions, token: int, extra: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """Implement `Walk.after_rejection`: x is removed."""
        before = extra["before"] + (1.0 - extra["before"]) * dists.p[token].item()
        return NodeDistributions(remove_token(dists.p, token), None), {"before": min(1.0, before)}


class Fly:
    """FLy (2511.22972): overrules a rejection if the target is unsure and the next guesses pass.

    Every guess x of a chain has its own test, as in speculative sampling: u < p/q, or u < p if x
    was not sampled. If it fails, x is accepted nevertheless if the target is unsure, −Σ p ln p over
    its three most probable tokens ≥ `limit`, and the next `window` guesses exist and pass their own
    tests. Otherwise the round ends there, as without FLy, with a token from the residual. The rule
    is not lossless: the more often the later guesses pass, the closer the output is to q. vLLM's
    code (`rejection_sample_method: fly`) does the same with sampled guesses; at temperature 0 it
    takes the entropy of the unscaled distribution, while here p is one-hot and nothing is
    overruled.
    """

    def __init__(self, name: str, parameters: Mapping[str, float] | None = None) -> None:
        self.spec = RULE_SPECS[name]
        self.parameters = self.spec.defaults() | dict(parameters or {})

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`.

        Raises:
            MismatchedRule: If the tree has siblings.
        """
        if not tree.is_chain:
            refuse_tree(self.spec)
        nodes = range(1, len(tree))
        given = {} if drawn is Drawn.POINT_MASS else q
        pairs = [NodeDistributions(p[n - 1], given.get(n - 1)) for n in nodes]
        inputs = [self._inputs(pair, tree.tokens[n]) for n, pair in zip(nodes, pairs, strict=True)]
        bars, coins = [fly_own_threshold(each) for each in inputs], [chance.judge(n) for n in nodes]
        passed = [u < bar for u, bar in zip(coins, bars, strict=True)]
        decisions: list[Decision] = []
        for n, pair, own, u in zip(nodes, pairs, inputs, coins, strict=True):
            ahead = passed[n : n + int(self.parameters["window"])]
            following = sum(1 for _ in takewhile(bool, ahead))
            facts = {**own, "following": following, **self.parameters}
            decisions.append(decide(self.spec.name, n, u, facts, pair))
            if not decisions[-1].accepted:
                path = list(range(1, n))
                verdict = finish(decisions, path, _without_guess(pair, tree.tokens[n]), chance)
                return replace(verdict, bars=tuple(bars))
        return replace(finish(decisions, list(nodes), p[len(tree) - 1], chance), bars=tuple(bars))

    def _inputs(self, pair: NodeDistributions, token: int) -> Inputs:
        # p and q of the token, and the entropy of the top tokens, in one transfer.
        top = pair.p.topk(min(FLY_TOKENS, len(pair.p))).values
        rows = [pair.p[token], entropy(top), *([] if pair.q is None else [pair.q[token]])]
        p, unsure, *sampled = (each.item() for each in to_host(*rows))
        return {"p": p, "top_entropy": unsure, **({"q": sampled[0]} if sampled else {})}


def _without_guess(pair: NodeDistributions, token: int) -> Tensor:
    return remove_token(pair.p, token) if pair.q is None else residual(pair.p, pair.q)


class Unverified(Walk):
    """Accepts the first candidate of every position: no verification.

    Some programs use multi-token heads in this way, to "trade a little perplexity" for speed. The
    output follows the draft's distribution.
    """
