"""Rules that do not keep the target's distribution, as used elsewhere: labelled and measured.

Their specs in `trace.rule_specs` say what each gives up. Lenience and the ensemble are speculative
sampling with another test: see `rules.RecursiveRejection`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.verification.base import Inputs, NodeDistributions, Walk
from specviz.verification.distributions import remove_token
from specviz.verification.transfer import to_host


def one_hot_top(p: Tensor) -> Tensor:
    """Return all mass on the most probable token of p (V,)."""
    return torch.zeros_like(p).scatter_(-1, p.argmax(dim=-1, keepdim=True), 1.0)


def entropy(p: Tensor) -> Tensor:
    """Return −Σ p ln p over the last axis, in nats."""
    terms: Tensor = torch.special.entr(p)
    return terms.sum(dim=-1)


class Typical(Walk):
    """Medusa's typical acceptance (2401.10774): accept x if p(x) > min(ε, δ e^−H(p)).

    It needs no q, and u does not matter. If it rejects all candidates, it takes the top token, as
    the paper's code does (`fast=True`). Not lossless: x passes whatever its probability above the
    threshold, so the output is the draft's distribution on the tokens that pass. Of the siblings
    that pass, the first is accepted; the paper's code takes the longest path. (Its two functions
    swap the defaults of ε and δ.)
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
    """Relaxed acceptance (TensorRT-LLM, for the thinking phase of DeepSeek-R1): x among the top N.

    Accept x if it is one of the target's N most probable tokens and p(x) ≥ p_max − Δ; otherwise
    take the top token. It relaxes greedy decoding, so its output should be compared with the top
    token, not with p.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: the top token's probability."""
        return {"top": dists.p.max().item()}

    def candidate_inputs(self, dists: NodeDistributions, token: int, extra: Inputs) -> Inputs:
        """Implement `Walk.candidate_inputs`: adds the rank; equally probable tokens share one."""
        p, above = (one.item() for one in to_host(dists.p[token], (dists.p > dists.p[token]).sum()))
        return {"p": p, "rank": above + 1}

    def final_probs(self, dists: NodeDistributions, extra: Inputs) -> Tensor:
        """Implement `Walk.final_probs`."""
        return one_hot_top(dists.p)

    def bonus_probs(self, p: Tensor) -> Tensor:
        """Implement `Walk.bonus_probs`."""
        return one_hot_top(p)


class Thresholds(Walk):
    """SGLang's two thresholds on the point-mass rule; with (1, 1) it is that rule, and lossless.

    Accept x if p(x) ≥ `single`, otherwise with probability p(x)/`together`. (SGLang uses one u for
    all siblings. Here each has its own u, with a threshold that gives the same distribution.) A
    rejection removes x from p, as in SGLang's kernel. With any threshold below 1, candidates are
    output more often than under p, and all other tokens less often.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: the mass of the siblings tried before, 0 at first."""
        return {"before": 0.0}

    def after_rejection(
        self, dists: NodeDistributions, token: int, extra: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """Implement `Walk.after_rejection`: x is removed."""
        before = extra["before"] + (1.0 - extra["before"]) * dists.p[token].item()
        return NodeDistributions(remove_token(dists.p, token), None), {"before": min(1.0, before)}


class Unverified(Walk):
    """Accepts the first candidate of every position: no verification.

    Multi-token heads do this where they "trade a little perplexity". The output is the draft's
    distribution.
    """
