"""Drafts that end early, because of what was known before a token was sampled, or of the token.

A guess that is sampled from q and then dropped because its own q is low is no longer a sample of q:
the guesses that remain are the probable ones, and each of them occurs more often than q says. The
same happens if a prediction made from a guess decides whether this guess is sent or dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, product
from typing import Final

import torch
from torch import Tensor

from specviz.verification.distributions import residual
from specviz.verification.exact.closed_form import acceptance_ratio
from specviz.verification.exact.enumeration import StringDistribution
from specviz.verification.published_rules.blocks import sample_tokens
from specviz.verification.published_rules.case_study import CaseStudy, Source

LEAST: Final = 0.2  # a guess with a lower q ends the draft
FIRST: Final = 0.8  # predicted probability that the first guess is accepted
AFTER: Final = (0.5, 0.9)  # the same for later guesses, after an improbable and a probable token
MILLISECONDS: Final = (1.0, 1.25, 1.6, 1.7)  # of a pass over 0 to 3 guesses, with a jump

Counts = Callable[[Tensor], Tensor]  # maps q (V,) to how many guesses are sent, by sampled tokens


def stop_after_improbable(q: Tensor) -> Tensor:
    """Return how many guesses are sent if none is sampled after a first one with low q, (V, V)."""
    return torch.where(q < LEAST, 1, 2)[:, None].expand(len(q), len(q))


def drop_improbable(q: Tensor) -> Tensor:
    """Return how many guesses are sent if one with low q, and all after it, are dropped: (V, V)."""
    low = q < LEAST
    return torch.where(low[:, None], 0, torch.where(low, 1, 2)[None])


def gains(q: Tensor) -> Tensor:
    """Return the expected tokens per millisecond with 0 to 3 guesses, (4, V, V, V).

    The acceptance of a guess is predicted from the token before it, as by DSpark's head. The
    prediction has no relation to p and q, which are the same in every context; a rule must be exact
    anyway.
    """
    low, high = AFTER
    after = torch.where(q < LEAST, low, high).to(q.dtype)
    whole = (len(q),) * 3
    one = q.new_full(whole, FIRST)
    two = one * after[:, None, None]
    three = two * after[None, :, None]
    expected = torch.stack([torch.ones_like(one), one, two, three]).cumsum(0)
    return expected / q.new_tensor(MILLISECONDS)[:, None, None, None]


def until_first_loss(q: Tensor) -> Tensor:
    """Add guesses while each raises the expected tokens per ms; return their number, (V, V, V)."""
    better = [after > before for before, after in pairwise(gains(q))]
    return torch.stack(better).long().cumprod(0).sum(0)


def best_of_all(q: Tensor) -> Tensor:
    """Return the number of guesses with the most expected tokens per ms, (V, V, V)."""
    return gains(q).argmax(0)


@dataclass(frozen=True)
class CutDraft:
    """Speculative sampling in which only the first few sampled guesses are sent to the target.

    Attributes:
        sent: Returns how many guesses are sent to the target, for each combination of sampled
            tokens.
        gamma: The number of sampled guesses.
    """

    sent: Counts
    gamma: int = 2

    @property
    def length(self) -> int:
        """The number of tokens of a string: as many as one round can add."""
        return self.gamma + 1

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`."""
        ratio, left = acceptance_ratio(p, q), residual(p, q)
        sent, out = self.sent(q), torch.zeros((len(p),) * self.length, dtype=p.dtype)
        for accepted in range(self.gamma + 1):
            kept = [q * ratio] * accepted
            unread = self.gamma - accepted  # guesses that were dropped or not tested
            ended = outer(*kept, *[q] * unread) * (sent == accepted)
            out += outer(sum_last(ended, unread), *[p] * (unread + 1))
            if unread:
                rejected = outer(*kept, q * (1 - ratio), *[q] * (unread - 1)) * (sent > accepted)
                out += outer(sum_last(rejected, unread), left, *[p] * unread)
        strings = product(range(len(p)), repeat=self.length)
        return dict(zip(strings, out.flatten().tolist(), strict=True))

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`."""
        kept, sent = q * acceptance_ratio(p, q), self.sent(q)
        found = 0.0
        for count in range(1, self.gamma + 1):
            reached = outer(*[kept] * count, *[q] * (self.gamma - count))
            found += (reached * (sent >= count)).sum().item()
        return found

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample`."""
        generator = torch.Generator().manual_seed(seed)
        draft = sample_tokens(q, throws, self.gamma, generator)
        sent = self.sent(q)[tuple(draft.T)]
        u = torch.rand(throws, self.gamma, generator=generator, dtype=torch.float64)
        index = torch.arange(self.length)
        passed = (u <= acceptance_ratio(p, q)[draft]) & (index[: self.gamma] < sent[:, None])
        accepted = passed.long().cumprod(1).sum(1)
        bonus = sample_tokens(p, throws, self.length, generator)
        left = sample_tokens(residual(p, q), throws, 1, generator)
        text = torch.where(
            index < accepted[:, None], torch.cat([draft, bonus[:, :1]], dim=1), bonus
        )
        replaced = (index == accepted[:, None]) & (accepted < sent)[:, None]
        text = torch.where(replaced, left, text)
        strings, counts = text.unique(dim=0, return_counts=True)
        pairs = zip(strings.tolist(), counts.tolist(), strict=True)
        return {tuple(string): float(count) for string, count in pairs}


def sum_last(values: Tensor, count: int) -> Tensor:
    """Sum over the last `count` dimensions."""
    return values.flatten(-count).sum(-1) if count else values


def outer(*factors: Tensor) -> Tensor:
    """Return the outer product of tensors; their dimensions are concatenated in order."""
    return reduce(lambda one, other: one[(..., *[None] * other.ndim)] * other, factors)


SCHEDULED: Final = (
    "Three tokens sampled from q. From the token before each guess, a head predicts how likely the "
    f"guess is to be accepted: {FIRST} for the first, {AFTER[1]} after a token with q "
    f"of at least {LEAST}, otherwise {AFTER[0]}. A pass over 0, 1, 2 or 3 guesses takes "
    f"{', '.join(map(str, MILLISECONDS[:-1]))} or {MILLISECONDS[-1]} ms. "
)
TESTED: Final = (
    "Accept each token with probability min(1, p/q). If rejected, sample from (p − q)₊, rescaled."
)

CASE_STUDIES = (
    CaseStudy(
        key="cut-before-sampling",
        name="A draft that ends after an improbable guess",
        claimed="Stop drafting as soon as the draft model is unsure; the text stays lossless.",
        source=Source(
            "vllm-project/vllm pull request 35301: confidence-threshold early exit",
            "https://github.com/vllm-project/vllm/pull/35301",
        ),
        drawn=f"Tokens sampled from q, at most two. After a token with q below {LEAST}, no further "
        "one is sampled.",
        judged=TESTED,
        why="Whether the second token is sampled depends on the first one only. If it is sampled, "
        "it has probability q(x), as the proof requires; if not, the round is shorter, and plain "
        "decoding follows.",
        premise="What ends the draft must be known before the guess that it leaves out is sampled.",
        lines="""
draft = []
while len(draft) < 2:
    x = sample(q)
    draft.append(x)          # kept, whatever q[x] is
    if q[x] < threshold:
        break
""",
        answer="An earlier experiment in vLLM left open how to stop when guesses are sampled.",
        answered=Source(
            "vllm-project/vllm pull request 5914: stop speculating when confidence is low",
            "https://github.com/vllm-project/vllm/pull/5914",
        ),
        case=CutDraft(stop_after_improbable),
    ),
    CaseStudy(
        key="cut-after-sampling",
        name="A draft without its improbable guess",
        claimed="Discard the last drafted token if its probability is low, since it will rarely "
        "be accepted. (The program in the thread compares the guess with the target's own sample. "
        "That is lossless with any draft; here the guesses are tested with p/q.)",
        source=Source(
            "ggml-org/llama.cpp pull request 22506: discard the last drafted token with low "
            "probability",
            "https://github.com/ggml-org/llama.cpp/pull/22506",
        ),
        drawn=f"Tokens sampled from q, at most two. A token with q below {LEAST} is dropped, and "
        "the draft ends before it.",
        judged=TESTED,
        why="Whether a token is kept depends on the token. Only probable ones are kept, so they "
        "are guessed more often than q says, while the test still divides by q. A dropped token "
        "is replaced by a sample from p, and that can be a probable token again.",
        premise="What ends the draft must be known before the guess that it leaves out is sampled.",
        lines="""
draft = []
while len(draft) < 2:
    x = sample(q)
    if q[x] < p_min:
        break                # x is thrown away
    draft.append(x)
""",
        answer="The author of a fork asks whether it is faster, since the dropped token has "
        "been drafted already.",
        answered=Source(
            "ikawrakow/ik_llama.cpp pull request 1820: discard last drafted token with low prob",
            "https://github.com/ikawrakow/ik_llama.cpp/pull/1820",
        ),
        case=CutDraft(drop_improbable),
    ),
    CaseStudy(
        key="schedule-first-loss",
        name="Sending guesses until one no longer pays off",
        claimed="Verify more guesses while each of them raises the expected number of tokens per "
        "second, and stop at the first that does not: an early stop keeps the text lossless, and "
        "a search over all lengths would not.",
        source=Source(
            "DSpark, arXiv 2607.05147: the hardware-aware prefix scheduler",
            "https://arxiv.org/abs/2607.05147",
        ),
        drawn=SCHEDULED + "Guesses are sent until one does not raise the expected number of tokens "
        "per ms.",
        judged=TESTED,
        why="Whether a guess is sent depends on the predictions up to its own, and these are made "
        "from earlier tokens. So a guess that is sent has probability q(x), as the proof requires.",
        premise="Whether a guess is sent must not depend on the guess itself.",
        lines="""
best, n = 1 / ms[0], 0
while n < 3 and tokens(n + 1) / ms[n + 1] > best:
    n += 1                   # tokens(n + 1): predicted from
    best = tokens(n) / ms[n] # the guesses before it
send(draft[:n])
""",
        answer="TensorRT-LLM searches all numbers of guesses instead, since the cost of a "
        "pass rises in steps.",
        answered=Source(
            "NVIDIA/TensorRT-LLM pull request 17056: confidence-head verification scheduling",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/17056",
        ),
        case=CutDraft(until_first_loss, 3),
    ),
    CaseStudy(
        key="schedule-best-of-all",
        name="Sending the number of guesses that pays off most",
        claimed="Verify as many guesses as give the most expected tokens per second. The cost of a "
        "pass rises in steps, so the search must not stop at the first loss. Only the number of "
        "guesses changes, so the output distribution does not. (That is true if the drafter takes "
        "its top token, or if the number is chosen from an earlier round's predictions; here "
        "guesses are sampled and the predictions are this round's.)",
        source=Source(
            "NVIDIA/TensorRT-LLM pull request 17056: confidence-head verification scheduling",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/17056",
        ),
        drawn=SCHEDULED + "As many guesses are sent as give the most expected tokens per ms.",
        judged=TESTED,
        why="The prediction for the third guess is made from the second. If it is high, three "
        "guesses are sent, otherwise one: so the second guess decides whether it is itself sent, "
        "and the guesses that are sent are not samples of q. The first token is right; the second "
        "is not.",
        premise="Whether a guess is sent must not depend on the guess itself.",
        lines="""
n = argmax(tokens(n) / ms[n] for n in (0, 1, 2, 3))
send(draft[:n])              # tokens(3) was predicted from
                             # draft[1], which it may leave out
""",
        answer="DSpark's paper: an early stop is lossless, and a search over all numbers "
        "would not be.",
        answered=Source(
            "DSpark, arXiv 2607.05147: the hardware-aware prefix scheduler",
            "https://arxiv.org/abs/2607.05147",
        ),
        case=CutDraft(best_of_all, 3),
    ),
)
