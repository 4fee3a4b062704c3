"""Run the sandbox's experiment with random numbers, and test the counts against p.

No state is kept between answers. The seed is increased each time, so that no two experiments are
the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Final, TypedDict

import torch

from specviz import texts
from specviz.frames.numbers import significant
from specviz.ui.lossless.coins import DARTS_RULE, THROWS
from specviz.ui.lossless.sandbox.answer import SandboxQuestion, round_of, whole
from specviz.verification.exact import RoundSetup, enumerate_position
from specviz.verification.exact.enumeration import SampledMass, play_round
from specviz.verification.exact.monte_carlo import SampleCounts, throw_darts
from specviz.verification.published_rules import EXACT

DARTS: Final = 600  # number of darts; more could not be distinguished on screen
PARTS: Final = 25  # number of animation steps
SURE: Final = 1e-3  # a smaller p-value counts as a proven difference
RARE: Final = 0.05  # a smaller p-value should be checked by one more experiment
TINY: Final = 1e-12  # smaller probabilities are all shown alike
seeds = count(1)


class Step(TypedDict):
    """Counts after a step of the animation.

    Attributes:
        kept: For each word, how often a guess was accepted.
        filled: For each word, how often a replacement was sampled.
    """

    thrown: int
    kept: list[int]
    filled: list[int]


class Board(TypedDict):
    """Von Neumann's dartboard.

    Attributes:
        high: M q of each word.
        darts: Word and height of each dart, and 1 if it was accepted.
    """

    high: list[float]
    p: list[float]
    darts: list[tuple[int, float, int]]
    caption: str


class Answer(TypedDict):
    """The counts of random rounds; without rounds, only the dartboard.

    Attributes:
        intervals: Confidence interval of each word's share.
    """

    steps: list[Step]
    intervals: list[tuple[float, float]]
    sentence: str
    numbers: dict[str, str]
    darts: Board | None


def answer(data: Mapping[str, Any]) -> Answer:
    """Run random rounds and return their counts. Raises BadRequest or MismatchedRule."""
    question = SandboxQuestion.from_data(data)
    many = whole(data.get("throws"), "The number of rounds", 0, max(THROWS))
    round_ = round_of(question)
    if not many:
        darts = board(round_, next(seeds))
        return {"steps": [], "intervals": [], "sentence": "", "numbers": {}, "darts": darts}
    steps = count_steps(round_, many, next(seeds))
    last = steps[-1]
    counts = [kept + rest for kept, rest in zip(last["kept"], last["filled"], strict=True)]
    found = SampleCounts(counts, list(question.p), sum(last["kept"]))
    return {
        "steps": steps,
        "intervals": [(one.low, one.high) for one in found.intervals],
        "sentence": sentence(found),
        "numbers": format_numbers(found, enumerate_position(round_).tv),
        "darts": board(round_, next(seeds)),
    }


def board(round_: RoundSetup, seed: int) -> Board | None:
    """Return von Neumann's dartboard: darts under M q, accepted under p; None for other rules.

    Also None if q is 0 for a word that p has, because no M is large enough then.
    """
    if round_.rule.spec.name != DARTS_RULE:
        return None
    p, q = round_.target(()), round_.draft(())
    try:
        thrown = throw_darts(p, q, DARTS, seed)
    except ValueError:
        return None
    accepted = int(thrown.kept.sum())
    caption = texts.text(
        "lossless",
        "dartboard",
        darts=DARTS,
        bound=f"{thrown.bound:.2f}",
        accepted=accepted,
        share=f"{accepted / DARTS:.2f}",
        expected=f"{1 / thrown.bound:.2f}",
    )
    return {
        "high": (thrown.bound * q).tolist(),
        "p": p.tolist(),
        "caption": caption,
        "darts": [
            (token, round(height, 4), int(kept))
            for token, height, kept in zip(
                thrown.tokens.tolist(), thrown.heights.tolist(), thrown.kept.tolist(), strict=True
            )
        ],
    }


def count_steps(round_: RoundSetup, throws: int, seed: int) -> list[Step]:
    """Return counts of accepted guesses and of replacements by word, after each animation step."""
    coins = torch.Generator().manual_seed(seed)
    size = len(round_.target(()))
    kept, filled = torch.zeros(size, dtype=torch.long), torch.zeros(size, dtype=torch.long)
    ends = sorted({max(1, throws * part // PARTS) for part in range(1, PARTS + 1)})
    found: list[Step] = []
    before = 0
    for end in ends:
        for mass, tree, verdict in play_round(round_, SampledMass(end - before, coins)):
            if verdict.path:
                kept[tree.tokens[verdict.path[0]]] += mass.size
            else:
                filled += torch.tensor([each.size for each in mass.spread(verdict.final.probs)])
        found.append({"thrown": end, "kept": kept.tolist(), "filled": filled.tolist()})
        before = end
    return found


def sentence(found: SampleCounts) -> str:
    """Return what the counts show about the rule."""
    if found.impossible:
        return texts.text("lossless", "coins_impossible", times=found.impossible)
    chance = found.test.p_value
    if chance < SURE:
        return texts.text("lossless", "coins_differ", odds=seldom(chance))
    macro = "coins_agree" if chance >= RARE else "coins_rare"
    return texts.text("lossless", macro, rounds=found.throws, often=often(chance))


def often(chance: float) -> str:
    """Return a probability in words, as a share of experiments; never rounded to 100 of 100."""
    percent = "more than 99" if chance > 0.99 else "less than 1" if chance < 0.01 else None
    return texts.text("lossless", "often", percent=percent or f"about {100 * chance:.0f}")


def seldom(chance: float) -> str:
    """Return a small probability in words."""
    if chance < TINY:
        return texts.text("lossless", "less_than_odds")
    return texts.text("lossless", "odds", experiments=round(1 / chance / 100) * 100)


def _small(chance: float) -> str:
    """Format a small probability."""
    return "< 10⁻¹²" if chance < TINY else significant(1)(chance)


def format_numbers(found: SampleCounts, exact: float) -> dict[str, str]:
    """Format the numbers that are shown beside the columns."""
    chance = found.test.p_value
    return {
        "seen": f"{found.tv:.4f}",
        "noise": f"{found.noise:.4f}",
        "exact": "0" if exact < EXACT else f"{exact:.4f}",
        "chance": f"{chance:.3f}" if chance >= SURE else _small(chance),
    }
