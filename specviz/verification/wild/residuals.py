"""The right test with the wrong replacement: what is drawn from after a rejection."""

from __future__ import annotations

from specviz.trace.promises import Drawn
from specviz.verification.exact.drawing import Drawing
from specviz.verification.wild.exhibit import Exhibit, Ruled, Source
from specviz.verification.wild.made import Patched, p_itself, without_it

EXHIBITS = (
    Exhibit(
        key="resample-from-p",
        name="Resampling from p itself",
        claimed="Why correct p after a rejection, instead of drawing from it directly?",
        source=Source(
            "eth-sri/language-model-arithmetic issue 14: speculative sampling",
            "https://github.com/eth-sri/language-model-arithmetic/issues/14",
        ),
        drawn="One token drawn from q.",
        judged="Keep x with chance min(1, p/q); else draw from p.",
        why="Kept guesses already carry min(p, q). Drawing from p again gives tokens that q likes "
        "a second share, which the tokens above q then lack.",
        case=Ruled(Patched("speculative", p_itself), Drawing(Drawn.SAMPLED)),
    ),
    Exhibit(
        key="mask-the-rejected",
        name="Masking only the token that fell",
        claimed="Should the draft not be subtracted everywhere, and not at the rejected token "
        "alone? (It was so in the code, and was then changed.)",
        source=Source(
            "SafeAILab/EAGLE issue 20: is the rejection implementation different?",
            "https://github.com/SafeAILab/EAGLE/issues/20",
        ),
        drawn="One token drawn from q.",
        judged="Keep x with chance min(1, p/q); else take x out of p and draw from the rest.",
        why="The mask belongs to the test with p(x). After min(1, p/q) what is missing is spread "
        "over all tokens above q, not over all but x.",
        case=Ruled(Patched("speculative", without_it), Drawing(Drawn.SAMPLED)),
    ),
)
