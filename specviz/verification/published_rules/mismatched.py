"""Candidates that do not match the q of the test: fixed, filtered, or never checked."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification import RULES
from specviz.verification.exact.candidates import (
    CandidateMethod,
    at_temperature,
    identity,
    truncate,
)
from specviz.verification.published_rules.case_study import (
    CaseStudy,
    PatchedRule,
    RuleProcedure,
    Source,
    p_itself,
    p_without_token,
)

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
    """Return whether the drafter gave its guess less than SURE."""
    return probs[token].item() < SURE


CASE_STUDIES = (
    CaseStudy(
        key="resample-from-p",
        name="Resampling from p itself",
        claimed="Why correct p after a rejection, instead of sampling from it directly?",
        source=Source(
            "eth-sri/language-model-arithmetic issue 14: speculative sampling",
            "https://github.com/eth-sri/language-model-arithmetic/issues/14",
        ),
        drawn="One token sampled from q.",
        judged="Accept x with probability min(1, p/q). If rejected, sample from p.",
        why="Accepted guesses already contribute min(p, q). Sampling from p after a "
        "rejection gives the tokens that q likes a second share, and leaves the tokens "
        "with p above q too little.",
        case=RuleProcedure(PatchedRule("speculative", p_itself), CandidateMethod(Drawn.SAMPLED)),
    ),
    CaseStudy(
        key="mask-the-rejected",
        name="Masking only the rejected token",
        claimed="Should q not be subtracted from every token, instead of masking only the "
        "rejected one? (The code masked it, and was then changed.)",
        source=Source(
            "SafeAILab/EAGLE issue 20: is the rejection implementation different?",
            "https://github.com/SafeAILab/EAGLE/issues/20",
        ),
        drawn="One token sampled from q.",
        judged="Accept x with probability min(1, p/q). If rejected, remove x from p and sample "
        "from the rest.",
        why="Masking belongs to the test with p(x). After the test min(1, p/q), the missing "
        "probability lies on the tokens with p above q, not on all tokens except x.",
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
        case=RuleProcedure(RULES["speculative"], CandidateMethod(Drawn.POINT_MASS, identity)),
    ),
    CaseStudy(
        key="draft-temperature",
        name=f"Guessed at temperature {TEMPERATURE}, tested at 1",
        claimed="You are free to sample from the draft model however you like.",
        source=SAMPLING,
        drawn=f"One token sampled from q at temperature {TEMPERATURE}.",
        judged=f"{TEXTBOOK} The test uses q at temperature 1.",
        why="That is true if the test uses the q that was sampled from. Here the sharper q "
        "samples its favourite tokens more often than the test assumes.",
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
        why="The second token was sampled from q without the first token, rescaled: with a "
        "higher probability than the test assumes. The error is small: it takes "
        "thousands of rounds to show.",
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
        case=RuleProcedure(RULES["speculative"], CandidateMethod(Drawn.SAMPLED, drop=unsure)),
    ),
    CaseStudy(
        key="dropped-and-masked",
        name="Dropping low-confidence guesses, with qx = 1",
        claimed="The last drafted token is often improbable: discard it and save its check.",
        source=DISCARD,
        drawn=f"One token sampled from q, and dropped if its q is below {SURE}.",
        judged="Accept x with probability p(x). If rejected, remove x from p and sample from "
        "the rest. If the guess was dropped, sample from p.",
        why="The rule without q is exact for every guess, so also for every way of choosing "
        "which guesses it sees. (That project compares with a token sampled from the "
        "target.)",
        case=RuleProcedure(
            RULES["point-mass"], CandidateMethod(Drawn.SAMPLED, reported_q=None, drop=unsure)
        ),
    ),
    CaseStudy(
        key="first-unseen",
        name="The first guess is never checked",
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
        case=RuleProcedure(
            PatchedRule("unverified", p_itself, False),
            CandidateMethod(Drawn.POINT_MASS, reported_q=None),
        ),
    ),
)
