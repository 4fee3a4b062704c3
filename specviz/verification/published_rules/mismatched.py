"""Candidates drawn in one way, tested as if in another: the q of the test is not theirs."""

from __future__ import annotations

from functools import partial

from specviz.trace.rule_specs import Drawn
from specviz.verification import RULES
from specviz.verification.exact.candidates import (
    CandidateMethod,
    at_temperature,
    identity,
    truncate,
)
from specviz.verification.published_rules.case_study import CaseStudy, RuleProcedure, Source

TEMPERATURE = 0.7
TOP = 2
BOTH = partial(truncate, many=TOP)
SAMPLING = Source(
    "vllm-project/vllm pull request 10198: sampling parameters in rejection sampling",
    "https://github.com/vllm-project/vllm/pull/10198",
)
WITHIN = Source(
    "vllm-project/vllm pull request 56724: draft within the top-k / top-p support",
    "https://github.com/vllm-project/vllm/pull/56724",
)
TEXTBOOK = "Accept x with probability min(1, p/q). If rejected, sample from (p − q)₊, rescaled."

CASE_STUDIES = (
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
)
