"""Candidates sampled in one way and tested as if in another, and wrong replacements."""

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
)
