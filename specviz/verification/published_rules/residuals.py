"""The right test with the wrong replacement: what is drawn from after a rejection."""

from __future__ import annotations

from specviz.trace.rule_specs import Drawn
from specviz.verification.exact.candidates import CandidateMethod
from specviz.verification.published_rules.case_study import CaseStudy, RuleProcedure, Source
from specviz.verification.published_rules.patched import PatchedRule, p_itself, p_without_token

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
)
