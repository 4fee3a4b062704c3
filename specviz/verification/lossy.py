"""Rules that do not keep the target's law, as others use them: labelled, and measured.

Their promises (`trace.rule_specs`) say in a sentence what each gives up. Lenience and the ensemble
are speculative sampling with another test: `rules.RecursiveRejection`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.verification.base import NodeDistributions
from specviz.verification.distributions import remove_token
from specviz.verification.transfer import to_host
from specviz.verification.walk import Inputs, Walk


def one_hot_top(p: Tensor) -> Tensor:
    """All mass on the likeliest token of p (V,)."""
    return torch.zeros_like(p).scatter_(-1, p.argmax(dim=-1, keepdim=True), 1.0)


def entropy(p: Tensor) -> Tensor:
    """−Σ p ln p over the last axis, in nats."""
    each: Tensor = torch.special.entr(p)
    return each.sum(dim=-1)


class Typical(Walk):
    """Medusa's typical acceptance (2401.10774): keep x where p(x) > min(ε, δ e^−H(p)).

    q is not needed and no coin matters. Everywhere else the top token is said, as the paper's code
    does (`fast=True`). Not lossless: x passes whatever chance p gives it beyond the bar, so the
    output is the draft's law on the tokens that pass. Of siblings that pass, the first is kept; the
    paper's code keeps the longest path. (Its two functions swap the defaults of ε and δ.)
    """

    def extra_inputs(self, law: NodeDistributions, candidates: int) -> Inputs:
        """See `Walk`: how unsure the target is."""
        return {"entropy": entropy(law.p).item()}

    def final_probs(self, law: NodeDistributions, facts: Inputs) -> Tensor:
        """See `Walk`."""
        return one_hot_top(law.p)

    def bonus_probs(self, p: Tensor) -> Tensor:
        """See `Walk`."""
        return one_hot_top(p)


class Relaxed(Walk):
    """Relaxed acceptance (TensorRT-LLM, for DeepSeek-R1's thinking phase): x among the top N.

    Keep x where it is one of the target's N likeliest and p(x) ≥ p_max − Δ; else say the top token.
    A relaxation of greedy decoding: what it gives up is to be compared with the top token, not p.
    """

    def extra_inputs(self, law: NodeDistributions, candidates: int) -> Inputs:
        """See `Walk`: the top token's chance."""
        return {"top": law.p.max().item()}

    def candidate_inputs(self, law: NodeDistributions, token: int, facts: Inputs) -> Inputs:
        """See `Walk`: also the candidate's rank; of equals, all have the best."""
        p, above = (one.item() for one in to_host(law.p[token], (law.p > law.p[token]).sum()))
        return {"p": p, "rank": above + 1}

    def final_probs(self, law: NodeDistributions, facts: Inputs) -> Tensor:
        """See `Walk`."""
        return one_hot_top(law.p)

    def bonus_probs(self, p: Tensor) -> Tensor:
        """See `Walk`."""
        return one_hot_top(p)


class Thresholds(Walk):
    """SGLang's two thresholds on the point-mass rule; (1, 1) is that rule, and lossless.

    Keep x where p(x) ≥ `single`, or with the siblings' summed p over `together` (there with one
    coin for all of them, here with a coin each and the same law). A rejection masks x, as SGLang's
    kernel does. Below 1 either gives the candidates more than p does, all others less.
    """

    def extra_inputs(self, law: NodeDistributions, candidates: int) -> Inputs:
        """See `Walk`: nothing was tried yet."""
        return {"before": 0.0}

    def after_rejection(
        self, law: NodeDistributions, token: int, facts: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """See `Walk`: x is masked."""
        before = facts["before"] + (1.0 - facts["before"]) * law.p[token].item()
        return NodeDistributions(remove_token(law.p, token), None), {"before": min(1.0, before)}


class Unverified(Walk):
    """Keeps the first candidate of every place unseen: no verification at all.

    What multi-token heads do where they "trade a little perplexity". The output is the draft's law.
    """
