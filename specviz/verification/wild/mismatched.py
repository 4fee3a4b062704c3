"""Candidates drawn in one way, tested as if in another: the q of the test is not theirs."""

from __future__ import annotations

from functools import partial

from specviz.trace.promises import Drawn
from specviz.verification import RULES
from specviz.verification.exact.drawing import Drawing, itself, tempered, truncated
from specviz.verification.wild.exhibit import Exhibit, Ruled, Source

TEMPERATURE = 0.7
TOP = 2
BOTH = partial(truncated, many=TOP)
SAMPLING = Source(
    "vllm-project/vllm pull request 10198: sampling parameters in rejection sampling",
    "https://github.com/vllm-project/vllm/pull/10198",
)
WITHIN = Source(
    "vllm-project/vllm pull request 56724: draft within the top-k / top-p support",
    "https://github.com/vllm-project/vllm/pull/56724",
)
TEXTBOOK = "Keep x with chance min(1, p/q); else draw from (p − q)₊, scaled."

EXHIBITS = (
    Exhibit(
        key="argmax-tested-soft",
        name="Argmax drafts, tested with softmax q",
        claimed="Both models decode greedily here; how come the text is not the target's? (The "
        "author found the reason and changed the code.)",
        source=Source(
            "jaymody/speculative-sampling issue 3: question about the code",
            "https://github.com/jaymody/speculative-sampling/issues/3",
        ),
        drawn="The token that q likes best.",
        judged=TEXTBOOK,
        why="The top token was not drawn with chance q(x): it always comes, so it is kept too "
        "often. An argmax is a point mass: test it with p(x), and mask it.",
        case=Ruled(RULES["speculative"], Drawing(Drawn.POINT_MASS, itself)),
    ),
    Exhibit(
        key="draft-temperature",
        name=f"Drafted at temperature {TEMPERATURE}, tested at 1",
        claimed="One has the freedom to sample the draft model however one likes.",
        source=SAMPLING,
        drawn=f"One token drawn from q at temperature {TEMPERATURE}.",
        judged=f"{TEXTBOOK} q is that of temperature 1.",
        why="One has that freedom, as long as the test reads the q that was drawn from. Here the "
        "sharper q draws its favourites more often than the test accounts for.",
        case=Ruled(
            RULES["speculative"],
            Drawing(Drawn.SAMPLED, source=partial(tempered, temperature=TEMPERATURE)),
        ),
    ),
    Exhibit(
        key="truncated-tested-full",
        name=f"Drafted from the top {TOP}, tested with the full q",
        claimed="A drafter may cut its law to the top-k; the output does not change.",
        source=WITHIN,
        drawn=f"One token drawn from the top {TOP} of q, scaled to 1.",
        judged=f"{TEXTBOOK} q is the whole one.",
        why="The scaled q of a top token is larger than the one the test divides by, so it is kept "
        "too often; and what the cut never drafts is taken off the residual all the same.",
        case=Ruled(RULES["speculative"], Drawing(Drawn.SAMPLED, source=BOTH)),
    ),
    Exhibit(
        key="truncated-tested-truncated",
        name=f"Drafted from the top {TOP}, tested with the cut q",
        claimed="A drafter may cut its law to the top-k; the output does not change.",
        source=WITHIN,
        drawn=f"One token drawn from the top {TOP} of q, scaled to 1.",
        judged=f"{TEXTBOOK} q is the cut one, scaled to 1.",
        why="Any q will do that the candidates are really drawn from, the cut one too.",
        case=Ruled(RULES["speculative"], Drawing(Drawn.SAMPLED, told=BOTH, source=BOTH)),
    ),
    Exhibit(
        key="unmasked-siblings",
        name="Siblings without replacement, tested with unmasked q",
        claimed="Since the siblings are drawn without replacement, a mask must adjust the draft's "
        "law. (This is what comes of leaving it out.)",
        source=Source(
            "SafeAILab/EAGLE issue 20: is the rejection implementation different?",
            "https://github.com/SafeAILab/EAGLE/issues/20",
        ),
        drawn="Two tokens drawn from q, the second from what the first left.",
        judged="Keep x with chance min(1, p/q), each against the whole q.",
        why="The second token was drawn from q without the first, scaled to 1: a larger chance "
        "than the test divides by. The fault is small: thousands of throws before it shows.",
        case=Ruled(RULES["speculative"], Drawing(Drawn.WITHOUT_REPLACEMENT), (-1, 0, 0)),
    ),
)
