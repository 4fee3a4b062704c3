"""Candidates with no q, or a q that nobody reads: qx = 1, and drawing first to compare after."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.trace.promises import Drawn
from specviz.verification import RULES
from specviz.verification.distributions import residual
from specviz.verification.exact.drawing import Drawing, itself, plainly
from specviz.verification.exact.enumeration import Law
from specviz.verification.wild.exhibit import Exhibit, Ruled, Source
from specviz.verification.wild.made import Patched

EAGLE = Source(
    "SafeAILab/EAGLE issue 329: non-greedy rejection sampling ignores draft (q)",
    "https://github.com/SafeAILab/EAGLE/issues/329",
)


@dataclass(frozen=True)
class Matched:
    """The target draws its own token; a guess is kept where it is that token. One candidate.

    The token said is the target's own draw either way, so nothing of q can come into it.
    """

    length: int = 1

    def law(self, p: Tensor, q: Tensor) -> Law:
        """See `Case`: every guess beside every draw."""
        out: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for guess, given in enumerate(q.tolist()):
            for own, chance in enumerate(p.tolist()):
                out[(guess if guess == own else own,)] += given * chance
        return dict(out)

    def kept(self, p: Tensor, q: Tensor) -> float:
        """See `Case`: Σ p q."""
        return float((p * q).sum())

    def thrown(self, p: Tensor, q: Tensor, throws: int, seed: int) -> Law:
        """See `Case`."""
        coins = torch.Generator().manual_seed(seed)
        guess, own = (
            torch.multinomial(law, throws, replacement=True, generator=coins) for law in (q, p)
        )
        said = torch.where(guess == own, guess, own)
        counts = torch.bincount(said, minlength=len(p)).tolist()
        return {(token,): float(count) for token, count in enumerate(counts) if count}


EXHIBITS = (
    Exhibit(
        key="top-k-masked",
        name="qx = 1 with masking, on the top-k",
        claimed="EAGLE's non-greedy path reads no q, so it cannot be lossless.",
        source=EAGLE,
        drawn="The two tokens that q likes best, whatever the coins.",
        judged="Keep x with chance p(x); else take x out of p, scale, and go on.",
        why="What is fixed beforehand has q = 1 at itself: x comes with p(x), and any other y with "
        "(1 − p(x)) · p(y)/(1 − p(x)) = p(y). It holds for every proposal, so no q is needed.",
        case=Ruled(RULES["point-mass"], plainly(Drawn.POINT_MASS), (-1, 0, 0)),
    ),
    Exhibit(
        key="suggested-fix",
        name="The textbook test, put on top-k drafts",
        claimed="Lossless behaviour is min(1, p/q) with the residual (p − q)₊, so EAGLE's code "
        "should do that.",
        source=EAGLE,
        drawn="The two tokens that q likes best, whatever the coins.",
        judged="Keep x with chance min(1, p/q); else go on with (p − q)₊, scaled.",
        why="The proof weighs every x by the chance q(x) of having been drawn. Here the top tokens "
        "always come and the others never do, so the top ones are said too often.",
        case=Ruled(RULES["speculative"], Drawing(Drawn.POINT_MASS, itself), (-1, 0, 0)),
    ),
    Exhibit(
        key="sampled-masked",
        name="qx = 1 with masking, on sampled drafts",
        claimed="Without the draft's probabilities the sampler falls back on a path that is not "
        "the intended p/q logic.",
        source=Source(
            "vllm-project/vllm pull request 40269: wire draft_probs into rejection",
            "https://github.com/vllm-project/vllm/pull/40269",
        ),
        drawn="One token drawn from q.",
        judged="Keep x with chance p(x); else take x out of p and draw from the rest.",
        why="The rule is exact for every x, so it is for a drawn one too. It is only wasteful: it "
        "keeps Σ p q where the test with q keeps Σ min(p, q).",
        case=Ruled(RULES["point-mass"], plainly(Drawn.SAMPLED)),
    ),
    Exhibit(
        key="half-a-fix",
        name="qx = 1 with the residual (p − q)₊",
        claimed="The replacement must come from norm(max(0, p − q)).",
        source=EAGLE,
        drawn="One token drawn from q.",
        judged="Keep x with chance p(x); else draw from (p − q)₊, scaled.",
        why="Half of each rule. The residual repairs what min(1, p/q) leaves open; the test with "
        "p(x) leaves another hole, so tokens above q get too much and all others too little.",
        case=Ruled(
            Patched("point-mass", lambda law, token: residual(law.p, _q(law.q))),
            Drawing(Drawn.SAMPLED),
        ),
    ),
    Exhibit(
        key="draw-and-compare",
        name="Draw from the target, then compare",
        claimed="Keeping a draft only where it equals a token sampled from the target biases the "
        "text towards what both models like.",
        source=Source(
            "ml-explore/mlx-swift-lm pull request 459: preserve the target distribution",
            "https://github.com/ml-explore/mlx-swift-lm/pull/459",
        ),
        drawn="One token drawn from q.",
        judged="Draw y from p. Keep x where it is y; say y in any case.",
        why="Every token said is a fresh draw from p, whatever was guessed. Nothing is biased; the "
        "price is that only Σ p q of the guesses are kept.",
        case=Matched(),
    ),
)


def _q(q: Tensor | None) -> Tensor:
    assert q is not None
    return q
