"""Guesses that are dropped after they were seen, or kept before they were."""

from __future__ import annotations

from torch import Tensor

from specviz.trace.promises import Drawn
from specviz.verification import RULES
from specviz.verification.exact.drawing import Drawing
from specviz.verification.wild.exhibit import Exhibit, Ruled, Source
from specviz.verification.wild.made import Patched, p_itself

SURE = 0.2
DISCARD = Source(
    "ikawrakow/ik_llama.cpp pull request 1820: discard last drafted token with low prob",
    "https://github.com/ikawrakow/ik_llama.cpp/pull/1820",
)


def unsure(law: Tensor, token: int) -> bool:
    """Whether the drafter gave its guess less than it should."""
    return law[token].item() < SURE


EXHIBITS = (
    Exhibit(
        key="dropped-when-unsure",
        name="Dropping guesses of low confidence",
        claimed="The last drafted token is often improbable: discard it, and save its check.",
        source=DISCARD,
        drawn=f"One token drawn from q, and dropped where q gave it less than {SURE}.",
        judged="Keep x with chance min(1, p/q), else draw from (p − q)₊, scaled. Where the guess "
        "was dropped, draw from p.",
        why="What is left after the drop is no sample of q any more: only its likely tokens come, "
        "and each is tested as if the others could have come too.",
        case=Ruled(RULES["speculative"], Drawing(Drawn.SAMPLED, drops=unsure)),
    ),
    Exhibit(
        key="dropped-and-masked",
        name="Dropping guesses of low confidence, with qx = 1",
        claimed="The last drafted token is often improbable: discard it, and save its check.",
        source=DISCARD,
        drawn=f"One token drawn from q, and dropped where q gave it less than {SURE}.",
        judged="Keep x with chance p(x), else take it out of p. Where the guess was dropped, draw "
        "from p.",
        why="The rule that needs no q is exact for every proposal, so for any way of choosing "
        "which guesses are shown to it. (That project compares with the target's own draw.)",
        case=Ruled(RULES["point-mass"], Drawing(Drawn.SAMPLED, told=None, drops=unsure)),
    ),
    Exhibit(
        key="first-unseen",
        name="The first guess is never checked",
        claimed="Speculation is supposed to be exact. (The issue reports that it was not.)",
        source=Source(
            "ohdearquant/lattice issue 243: n-gram speculative decoding is lossy",
            "https://github.com/ohdearquant/lattice/issues/243",
        ),
        drawn="The token that q likes best.",
        judged="Keep it. (The ones after it are compared with what the target says.)",
        why="The pass that scores a guess says what follows it, not whether it is right: the row "
        "before it does. One row off, and the drafter writes a token of every round.",
        case=Ruled(Patched("unverified", p_itself, False), Drawing(Drawn.POINT_MASS, told=None)),
    ),
)
