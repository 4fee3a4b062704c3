"""Candidates that do not fit the test: no q, or a q from which they were not sampled.

Some of these rules ignore q (they set qx = 1), or compare with a token sampled from the target. In
the remaining rules, the candidates are fixed, filtered, or never tested.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification import RULES
from specviz.verification.distributions import residual
from specviz.verification.exact.candidates import (
    CandidateMethod,
    as_method,
    at_temperature,
    identity,
    truncate,
)
from specviz.verification.exact.enumeration import StringDistribution
from specviz.verification.published_rules.case_study import (
    CaseStudy,
    PatchedRule,
    RuleProcedure,
    Source,
    p_itself,
    p_without_token,
    token_counts,
)

EAGLE = Source(
    "SafeAILab/EAGLE issue 329: non-greedy rejection sampling ignores draft (q)",
    "https://github.com/SafeAILab/EAGLE/issues/329",
)


@dataclass(frozen=True)
class SampleAndCompare:
    """A token is sampled from the target, and the only candidate is accepted if it is equal."""

    length: int = 1

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`: sum over all pairs of guess and sample."""
        out: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for guess, draft_q in enumerate(q.tolist()):
            for own, target_p in enumerate(p.tolist()):
                out[(guess if guess == own else own,)] += draft_q * target_p
        return dict(out)

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`: Σ p q."""
        return float((p * q).sum())

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample`."""
        generator = torch.Generator().manual_seed(seed)
        guess, own = (
            torch.multinomial(probs, throws, replacement=True, generator=generator)
            for probs in (q, p)
        )
        return token_counts(torch.where(guess == own, guess, own), len(p))


WITHOUT_Q = (
    CaseStudy(
        key="top-k-masked",
        name="Ignoring q for top-k guesses, as EAGLE-2 and EAGLE-3 do",
        claimed="EAGLE's sampling path never reads q, so it cannot be lossless. (This is false for "
        "top-k guesses, which EAGLE-2 and EAGLE-3 take; EAGLE-1 sampled them and read q.)",
        source=EAGLE,
        drawn="The two tokens with the highest q, every time.",
        judged="Accept x with probability p(x). If rejected, remove x from p, rescale, and test "
        "the next guess.",
        why="A guess that is fixed in advance has q = 1 at its own token. x appears with "
        "probability p(x), and any other y with (1 − p(x)) · p(y)/(1 − p(x)) = p(y). "
        "This holds for every guess, so the rule needs no q.",
        premise="The guesses are the drafter's top-k, not samples (EAGLE's issue 93). Each is "
        "proposed with certainty, so q(x) = 1: a point mass, for which the rule is "
        "lossless.",
        lines="""
for x in top_k(q, 2):        # the same guesses every time
    px, qx = p[x], 1.0
    if random() <= px / qx:
        return x
    p[x] = 0                 # mask x, and try the next
    p = p / sum(p)
return sample(p)
""",
        answer="EAGLE's authors: drafting takes the top-k, so a guess that is reached has "
        "probability 1.",
        answered=Source(
            "SafeAILab/EAGLE issue 93: why qx = 1.0 in EAGLE-2",
            "https://github.com/SafeAILab/EAGLE/issues/93",
        ),
        case=RuleProcedure(RULES["point-mass"], as_method(Drawn.POINT_MASS), (-1, 0, 0)),
    ),
    CaseStudy(
        key="suggested-fix",
        name="The textbook test, used on top-k guesses",
        claimed="Lossless means min(1, p/q) with the residual (p − q)₊, so EAGLE's code should "
        "do that. (This is false for top-k guesses, which were not sampled from q.)",
        source=EAGLE,
        drawn="The two tokens with the highest q, every time.",
        judged="Accept x with probability min(1, p/q). If rejected, continue with (p − q)₊, "
        "rescaled.",
        why="The proof assumes that x was sampled with probability q(x). Here the top tokens "
        "are always guessed and the others never, so the top tokens appear too often.",
        premise="The test with p/q needs guesses that were sampled from q. These are the top-k.",
        lines="""
for x in top_k(q, 2):        # not sampled
    if random() <= p[x] / q[x]:
        return x
    p = normalize(max(p - q, 0))
return sample(p)
""",
        answer="EAGLE's authors: with top-k guesses, qx = 1 is what speculative sampling "
        "prescribes.",
        answered=Source(
            "SafeAILab/EAGLE issue 171: question about evaluate_posterior",
            "https://github.com/SafeAILab/EAGLE/issues/171",
        ),
        case=RuleProcedure(
            RULES["speculative"], CandidateMethod(Drawn.POINT_MASS, identity), (-1, 0, 0)
        ),
    ),
    CaseStudy(
        key="sampled-masked",
        name="Ignoring q for sampled guesses, a fallback in vLLM",
        claimed="Without the draft's probabilities, the sampler falls back to a path that is not "
        "the intended p/q logic. (It is another test, but a lossless one.)",
        source=Source(
            "vllm-project/vllm pull request 40269: wire draft_probs into rejection",
            "https://github.com/vllm-project/vllm/pull/40269",
        ),
        drawn="One token sampled from q.",
        judged="Accept x with probability p(x). If rejected, remove x from p and sample from "
        "the rest.",
        why="The rule is exact for every x, so it is exact for a sampled x too. It is only "
        "wasteful: it accepts a share Σ p q of the guesses, while the test with q accepts Σ "
        "min(p, q).",
        premise="A guess may be judged as a point mass, however it was chosen, if the same "
        "token is masked.",
        lines="""
x = sample(q)
qx = 1.0                     # draft_probs is None
if random() <= p[x] / qx:
    return x
p[x] = 0
return sample(p / sum(p))
""",
        answer="vLLM on its one-hot rule: accept with p(x), otherwise sample from p without "
        "x, as the target does.",
        answered=Source(
            "vllm-project/vllm pull request 40651: acceptance rate of rejection sampling",
            "https://github.com/vllm-project/vllm/pull/40651",
        ),
        case=RuleProcedure(RULES["point-mass"], as_method(Drawn.SAMPLED)),
    ),
    CaseStudy(
        key="half-a-fix",
        name="Ignoring q, with the residual (p − q)₊",
        claimed="The replacement must be sampled from norm(max(0, p − q)). (That is true after the "
        "test min(1, p/q), and false after this one.)",
        source=EAGLE,
        drawn="One token sampled from q.",
        judged="Accept x with probability p(x). If rejected, sample from (p − q)₊, rescaled.",
        why="This combines halves of two rules. The residual (p − q)₊ completes the test "
        "min(1, p/q), not the test p(x). So too much probability goes to the "
        "tokens where p exceeds q most, and too little to the others.",
        premise="Test and replacement must belong together. qx = 1 leaves p without x, and "
        "p/q leaves (p − q)₊.",
        lines="""
x = sample(q)
qx = 1.0                     # the test of one rule
if random() <= p[x] / qx:
    return x
return sample(normalize(max(p - q, 0)))  # the residual of another
""",
        answer="EAGLE's authors: with top-k guesses, q is not the distribution that they are "
        "drawn from.",
        answered=Source(
            "SafeAILab/EAGLE issue 110: question about EAGLE-2",
            "https://github.com/SafeAILab/EAGLE/issues/110",
        ),
        case=RuleProcedure(
            PatchedRule("point-mass", lambda dists, token: residual(dists.p, _q(dists.q))),
            CandidateMethod(Drawn.SAMPLED),
        ),
    ),
    CaseStudy(
        key="draw-and-compare",
        name="Sample from the target, then compare",
        claimed="If a guess is accepted only when it equals a token sampled from the target, the "
        "text is biased towards what both models like. (This is false: the text is the target's "
        "own sample.)",
        source=Source(
            "ml-explore/mlx-swift-lm pull request 459: preserve the target distribution",
            "https://github.com/ml-explore/mlx-swift-lm/pull/459",
        ),
        drawn="One token sampled from q.",
        judged="Sample y from p. Accept x if it equals y; output y in either case.",
        why="Every output token is a fresh sample from p, whatever was guessed, so nothing "
        "is biased. The price is that only a share Σ p q of the guesses is accepted.",
        premise="The target's own sample is output in both cases; the guess only decides "
        "whether to go on.",
        lines="""
x = sample(q)
y = sample(p)
output(y)
if x != y:
    stop()                   # later guesses continue another text
""",
        answer="vLLM calls it strict: it respects the target's distribution and accepts "
        "fewer guesses.",
        answered=Source(
            "vllm-project/vllm pull request 35461: probabilistic rejection sampling",
            "https://github.com/vllm-project/vllm/pull/35461",
        ),
        case=SampleAndCompare(),
    ),
)


def _q(q: Tensor | None) -> Tensor:
    assert q is not None
    return q


TEMPERATURE = 0.7
TOP = 2
BOTH = partial(truncate, count=TOP)
SAMPLING = Source(
    "vllm-project/vllm pull request 10198: sampling parameters in rejection sampling",
    "https://github.com/vllm-project/vllm/pull/10198",
)
WITHIN = Source(
    "vllm-project/vllm pull request 56724: draft within the top-k / top-p support",
    "https://github.com/vllm-project/vllm/pull/56724",
)
TEXTBOOK = "Accept x with probability min(1, p/q). If rejected, sample from (p − q)₊, rescaled."

SURE = 0.2
DISCARD = Source(
    "ikawrakow/ik_llama.cpp pull request 1820: discard last drafted token with low prob",
    "https://github.com/ikawrakow/ik_llama.cpp/pull/1820",
)


def unsure(probs: Tensor, token: int) -> bool:
    """Return whether the drafter gave its guess a probability below SURE."""
    return probs[token].item() < SURE


WITH_OTHER_Q = (
    CaseStudy(
        key="resample-from-p",
        name="Resampling from p itself",
        claimed="After a rejection, why not sample from p itself, without a correction?",
        source=Source(
            "eth-sri/language-model-arithmetic issue 14: speculative sampling",
            "https://github.com/eth-sri/language-model-arithmetic/issues/14",
        ),
        drawn="One token sampled from q.",
        judged="Accept x with probability min(1, p/q). If rejected, sample from p.",
        why="Accepted guesses already contribute min(p, q). Sampling from p after a rejection "
        "adds the same share of p to every token, whatever it still lacks: too much where q is "
        "close to p or above it, too little where q is far below p.",
        premise="The replacement must supply exactly what the accepted guesses leave of p.",
        lines="""
x = sample(q)
if random() <= p[x] / q[x]:
    return x
return sample(p)             # not normalize(max(p - q, 0))
""",
        answer="The same question about other code: there, the test has already changed p to "
        "the residual.",
        answered=Source(
            "NJUNLP/MCSD issue 5: sampling from the residual distribution",
            "https://github.com/NJUNLP/MCSD/issues/5",
        ),
        case=RuleProcedure(PatchedRule("speculative", p_itself), CandidateMethod(Drawn.SAMPLED)),
    ),
    CaseStudy(
        key="mask-the-rejected",
        name="Masking only the rejected token",
        claimed="Why does the code mask only the rejected token, and not subtract q from every "
        "token? (The code masked only that token, and was changed later.)",
        source=Source(
            "SafeAILab/EAGLE issue 20: is the rejection implementation different?",
            "https://github.com/SafeAILab/EAGLE/issues/20",
        ),
        drawn="One token sampled from q.",
        judged="Accept x with probability min(1, p/q). If rejected, remove x from p and sample "
        "from the rest.",
        why="Masking belongs to the test with p(x). After the test min(1, p/q), the missing "
        "probability lies on the tokens where p exceeds q, not on all tokens except x.",
        premise="Masking one token is the residual of a point mass. This guess was sampled "
        "and tested with its q.",
        lines="""
x = sample(q)
if random() <= p[x] / q[x]:
    return x
p[x] = 0                     # not max(p - q, 0) for all tokens
return sample(p / sum(p))
""",
        answer="EAGLE's authors: right is to subtract the two distributions; the code has "
        "been changed.",
        case=RuleProcedure(
            PatchedRule("speculative", p_without_token), CandidateMethod(Drawn.SAMPLED)
        ),
    ),
    CaseStudy(
        key="argmax-tested-soft",
        name="Argmax guesses, tested with softmax q",
        claimed="Both models decode greedily here, so why is the text not the target's? (The "
        "author found the reason and changed the code.)",
        source=Source(
            "jaymody/speculative-sampling issue 3: question about the code",
            "https://github.com/jaymody/speculative-sampling/issues/3",
        ),
        drawn="The token with the highest q.",
        judged=TEXTBOOK,
        why="The guess was not sampled with probability q(x): the top token is guessed every "
        "time, so it appears too often. An argmax is a point mass: test it with p(x), "
        "and mask it after a rejection.",
        premise="q in the test must be the distribution of the guess. For an argmax it is 1 "
        "on one token.",
        lines="""
x = argmax(q)                # always the same token
if random() <= p[x] / q[x]:  # but q[x] < 1
    return x
return sample(normalize(max(p - q, 0)))
""",
        answer="The author: the proof assumes a sample from q; at temperature 0, q itself is "
        "1 on one token.",
        answered=Source(
            "jaymody/speculative-sampling pull request 4: recover the target distribution",
            "https://github.com/jaymody/speculative-sampling/pull/4",
        ),
        case=RuleProcedure(RULES["speculative"], CandidateMethod(Drawn.POINT_MASS, identity)),
    ),
    CaseStudy(
        key="draft-temperature",
        name=f"Guessed at temperature {TEMPERATURE}, tested at 1",
        claimed="You are free to sample from the draft model however you like.",
        source=SAMPLING,
        drawn=f"One token sampled from q at temperature {TEMPERATURE}.",
        judged=f"{TEXTBOOK} The test uses q at temperature 1.",
        why="The claim holds if the test uses the q from which the guess was sampled. Here the "
        "guess is sampled from a sharper q, so the favourite tokens of q are guessed more often "
        "than the test assumes.",
        premise="The drafter may have any temperature, if q in the test has it, too.",
        lines="""
x = sample(softmax(draft_logits / 0.7))
q = softmax(draft_logits)    # another distribution
if random() <= p[x] / q[x]:
    return x
return sample(normalize(max(p - q, 0)))
""",
        answer="vLLM: ignoring sampling parameters when drafting changes only how many "
        "guesses are accepted. That holds if the test has the same q.",
        answered=Source(
            "vllm-project/vllm pull request 15729: EAGLE proposer",
            "https://github.com/vllm-project/vllm/pull/15729",
        ),
        case=RuleProcedure(
            RULES["speculative"],
            CandidateMethod(
                Drawn.SAMPLED, sampled_from=partial(at_temperature, temperature=TEMPERATURE)
            ),
        ),
    ),
    CaseStudy(
        key="truncated-tested-full",
        name=f"Guessed from the top {TOP}, tested with the full q",
        claimed="A drafter may truncate its distribution to the top-k; the output does not change.",
        source=WITHIN,
        drawn=f"One token sampled from the top {TOP} of q, rescaled to sum to 1.",
        judged=f"{TEXTBOOK} The test uses the full q.",
        why="After rescaling, a top token is guessed more often than the full q says, so it "
        "is accepted too often. And tokens that are never guessed still have their q "
        "subtracted from the residual.",
        premise="q in the test must be the distribution that was sampled from, after top-k "
        "and top-p.",
        lines="""
x = sample(normalize(keep_top(q, 2)))
if random() <= p[x] / q[x]:  # the q before top-k
    return x
return sample(normalize(max(p - q, 0)))
""",
        answer="EAGLE's authors: what counts is the actual distribution that each guess was "
        "sampled from.",
        answered=Source(
            "SafeAILab/EAGLE issue 74: question about sampling",
            "https://github.com/SafeAILab/EAGLE/issues/74",
        ),
        case=RuleProcedure(RULES["speculative"], CandidateMethod(Drawn.SAMPLED, sampled_from=BOTH)),
    ),
    CaseStudy(
        key="truncated-tested-truncated",
        name=f"Guessed from the top {TOP}, tested with the truncated q",
        claimed="A drafter may truncate its distribution to the top-k; the output does not change.",
        source=WITHIN,
        drawn=f"One token sampled from the top {TOP} of q, rescaled to sum to 1.",
        judged=f"{TEXTBOOK} The test uses the truncated q, rescaled to sum to 1.",
        why="Any q works if the guesses are really sampled from it, a truncated q too.",
        premise="q in the test is the distribution that was sampled from, after top-k.",
        lines="""
q = normalize(keep_top(q, 2))
x = sample(q)
if random() <= p[x] / q[x]:
    return x
return sample(normalize(max(p - q, 0)))
""",
        answer="EAGLE's authors: what counts is the actual distribution that each guess was "
        "sampled from.",
        answered=Source(
            "SafeAILab/EAGLE issue 74: question about sampling",
            "https://github.com/SafeAILab/EAGLE/issues/74",
        ),
        case=RuleProcedure(
            RULES["speculative"], CandidateMethod(Drawn.SAMPLED, reported_q=BOTH, sampled_from=BOTH)
        ),
    ),
    CaseStudy(
        key="unmasked-siblings",
        name="Siblings without replacement, tested with unmasked q",
        claimed="Siblings are sampled without replacement, so q must be masked before the next "
        "test. (This variant leaves out the mask.)",
        source=Source(
            "SafeAILab/EAGLE issue 20: is the rejection implementation different?",
            "https://github.com/SafeAILab/EAGLE/issues/20",
        ),
        drawn="Two tokens sampled from q; the second cannot repeat the first.",
        judged="Accept x with probability min(1, p/q), testing both tokens with the whole q.",
        why="The second token was sampled from q without the first token. Its probability there is "
        "higher than in q, which the test uses. The error is small: it takes thousands of rounds "
        "to show.",
        premise="A second guess that cannot repeat the first is sampled from q without the first.",
        lines="""
for x in sample_without_replacement(q, 2):
    if random() <= p[x] / q[x]:
        return x
    p = normalize(max(p - q, 0))
    # missing: q[x] = 0; q = q / sum(q)
return sample(p)
""",
        answer="EAGLE's authors: guesses are sampled without replacement, which requires "
        "adjusting q.",
        answered=Source(
            "SafeAILab/EAGLE issue 74: question about sampling",
            "https://github.com/SafeAILab/EAGLE/issues/74",
        ),
        case=RuleProcedure(
            RULES["speculative"], CandidateMethod(Drawn.WITHOUT_REPLACEMENT), (-1, 0, 0)
        ),
    ),
    CaseStudy(
        key="dropped-when-unsure",
        name="Dropping low-confidence guesses",
        claimed="The last drafted token is often improbable: discard it and save its check.",
        source=DISCARD,
        drawn=f"One token sampled from q, and dropped if its q is below {SURE}.",
        judged="Accept x with probability min(1, p/q). If rejected, sample from (p − q)₊, "
        "rescaled. If the guess was dropped, sample from p.",
        why="The remaining guesses are no longer samples of q: only likely tokens are left, "
        "yet each is tested as if unlikely ones could have been guessed too.",
        premise="A draft may end for any reason, except because of the token that ends it.",
        lines="""
x = sample(q)
if q[x] < p_min:
    return sample(p)         # x is thrown away
if random() <= p[x] / q[x]:
    return x
return sample(normalize(max(p - q, 0)))
""",
        answer="It was taken over from llama.cpp. Both threads are about speed: drafts of "
        "recurrent models are rolled back less often.",
        answered=Source(
            "ggml-org/llama.cpp pull request 22506: discard the last drafted token "
            "with low probability",
            "https://github.com/ggml-org/llama.cpp/pull/22506",
        ),
        case=RuleProcedure(RULES["speculative"], CandidateMethod(Drawn.SAMPLED, drop=unsure)),
    ),
    CaseStudy(
        key="dropped-and-masked",
        name="Dropping low-confidence guesses, ignoring q",
        claimed="The last drafted token is often improbable: discard it and save its check.",
        source=DISCARD,
        drawn=f"One token sampled from q, and dropped if its q is below {SURE}.",
        judged="Accept x with probability p(x). If rejected, remove x from p and sample from "
        "the rest. If the guess was dropped, sample from p.",
        why="The rule without q is exact for every guess, so also for every way of choosing "
        "which guesses it sees. (The program in the thread compares the guess with "
        "a token sampled from the target.)",
        premise="The rule is exact for every guess, so it does not matter which guesses it gets.",
        lines="""
x = sample(q)
if q[x] < p_min:
    return sample(p)
qx = 1.0                     # q is not read
if random() <= p[x] / qx:
    return x
p[x] = 0
return sample(p / sum(p))
""",
        answer="It was taken over from llama.cpp. Both threads are about speed: drafts of "
        "recurrent models are rolled back less often.",
        answered=Source(
            "ggml-org/llama.cpp pull request 22506: discard the last drafted token "
            "with low probability",
            "https://github.com/ggml-org/llama.cpp/pull/22506",
        ),
        case=RuleProcedure(
            RULES["point-mass"], CandidateMethod(Drawn.SAMPLED, reported_q=None, drop=unsure)
        ),
    ),
    CaseStudy(
        key="first-unseen",
        name="The first guess is never tested",
        claimed="Speculative decoding is supposed to be exact. (The issue reports that it was "
        "not.)",
        source=Source(
            "ohdearquant/lattice issue 243: n-gram speculative decoding is lossy",
            "https://github.com/ohdearquant/lattice/issues/243",
        ),
        drawn="The token with the highest q.",
        judged="Accept it without a test. (The guesses after it are compared with the target's "
        "tokens.)",
        why="The logits at a guess predict the token after it; whether the guess itself is "
        "right is decided by the logits one row earlier. The code is off by one row, so "
        "the drafter decides one token of every round.",
        premise="A token is judged by the logits of the row before it.",
        lines="""
for i, x in enumerate(draft):
    logits = forward(x)      # predicts the token after x
    accept(x)
    if argmax(logits) != draft[i + 1]:
        break                # draft[0] was never compared
""",
        answer="The fix: the last token of the text is read first, so that the first guess "
        "is checked, too.",
        answered=Source(
            "ohdearquant/lattice pull request 258: exactly greedy-equivalent",
            "https://github.com/ohdearquant/lattice/pull/258",
        ),
        case=RuleProcedure(
            PatchedRule("unverified", p_itself, False),
            CandidateMethod(Drawn.POINT_MASS, reported_q=None),
        ),
    ),
)
