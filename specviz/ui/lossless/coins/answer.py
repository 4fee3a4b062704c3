"""Coins that really fall for what stands in the sandbox, and what they say of its rule.

Rule: nothing is kept between two answers but the seed, which counts on, so that no two throws are
the same.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Final

import torch

from specviz.ui.lossless.coins.throws import THROWS
from specviz.ui.lossless.sandbox.answer import EXACT, round_of
from specviz.ui.lossless.sandbox.question import SandboxQuestion, whole
from specviz.ui.question import Unasked, number_of, packed, read
from specviz.verification import MismatchedRule
from specviz.verification.exact import Round, answer
from specviz.verification.exact.darts import darts
from specviz.verification.exact.enumeration import played
from specviz.verification.exact.masses import Throws
from specviz.verification.exact.monte_carlo import Thrown

DARTS: Final = 600  # as many as one can tell apart
PARTS: Final = 25  # pictures of one pour
SURE: Final = 1e-3  # a fit worse than this by luck is not luck
seeds = count(1)


def thrown(text: Any) -> str:
    """JSON for the page: what came of so many rounds; or the sentence that says what is wrong."""
    try:
        asked = SandboxQuestion.from_text(text)
        throws = read(text).get("throws")
        many = whole(throws, "The number of rounds", 1, max(THROWS))
        round_ = round_of(asked)
    except (Unasked, MismatchedRule) as problem:
        return packed({"id": number_of(text), "problem": str(problem)})
    pours = poured(round_, many, next(seeds))
    last = pours[-1]
    counts = [kept + rest for kept, rest in zip(last["kept"], last["filled"], strict=True)]
    found = Thrown(counts, list(asked.p), sum(last["kept"]))
    return packed(
        {
            "id": asked.number,
            "pours": pours,
            "intervals": [[one.low, one.high] for one in found.intervals],
            "said": said(found),
            "told": told(found, answer(round_).tv),
            "darts": board(round_, next(seeds)),
        }
    )


def board(round_: Round, seed: int) -> dict[str, Any] | None:
    """Von Neumann's picture of his rule: darts under M q, kept under p; None for other rules.

    Also None where q misses a word of p: no M is large enough.
    """
    if round_.rule.promise.name != "accept-reject":
        return None
    p, q = round_.target(()), round_.draft(())
    try:
        thrown = darts(p, q, DARTS, seed)
    except ValueError:
        return None
    return {
        "high": (thrown.bound * q).tolist(),
        "p": p.tolist(),
        "bound": f"{thrown.bound:.2f}",
        "darts": [
            [token, round(height, 4), int(kept)]
            for token, height, kept in zip(
                thrown.tokens.tolist(), thrown.heights.tolist(), thrown.kept.tolist(), strict=True
            )
        ],
    }


def poured(round_: Round, throws: int, seed: int) -> list[dict[str, Any]]:
    """After each part of the throws, by word, how many came through the draft, and instead."""
    coins = torch.Generator().manual_seed(seed)
    size = len(round_.target(()))
    kept, filled = torch.zeros(size, dtype=torch.long), torch.zeros(size, dtype=torch.long)
    ends = sorted({max(1, throws * part // PARTS) for part in range(1, PARTS + 1)})
    found, before = [], 0
    for end in ends:
        for mass, tree, verdict in played(round_, Throws(end - before, coins)):
            if verdict.path:
                kept[tree.tokens[verdict.path[0]]] += mass.size
            else:
                filled += torch.tensor([each.size for each in mass.spread(verdict.final.law)])
        found.append({"thrown": end, "kept": kept.tolist(), "filled": filled.tolist()})
        before = end
    return found


def said(found: Thrown) -> str:
    """What the throws say of the rule; what they cannot say is not said."""
    if found.impossible:
        return f"{found.impossible:,} times a word came that p never says: no luck explains that."
    chance = found.test.p_value
    if chance < SURE:
        return f"These rounds do not follow p: luck alone would do this {seldom(chance)}."
    return (
        f"{found.throws:,} rounds say nothing against this rule: luck alone would fit worse "
        f"{100 * chance:.0f} % of the time."
    )


def seldom(chance: float) -> str:
    """A small chance in words."""
    if chance < 1e-12:
        return "less than once in a million million times"
    return f"once in {round(1 / chance, -2):,.0f} times"


def told(found: Thrown, exact: float) -> dict[str, str]:
    """The numbers beside the columns, as they are shown."""
    chance = found.test.p_value
    return {
        "seen": f"{found.tv:.4f}",
        "noise": f"{found.noise:.4f}",
        "exact": "0" if exact < EXACT else f"{exact:.4f}",
        "chance": f"{chance:.3f}" if chance >= SURE else f"{chance:.0e}",
    }
