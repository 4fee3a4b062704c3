"""Answer a question of the gallery: a list of all published rules, or data for one of them.

The rules are applied to their own p and q, or to the sandbox's. Verdicts are computed, never
stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any, Final, NotRequired, TypedDict

from specviz import texts
from specviz.ui.lossless.coins.answer import SURE, often, seldom
from specviz.ui.lossless.sandbox import WORDS
from specviz.ui.lossless.sandbox.answer import distribution, tensor
from specviz.ui.questions import BadRequest
from specviz.verification.exact.monte_carlo import g_test, wilson_intervals
from specviz.verification.published_rules import (
    EXACT,
    GALLERY,
    CaseResult,
    CaseStudy,
    CaseVerdict,
    find_case_study,
    sample_counts,
)

THROWS: Final = 20_000
STRANGEST: Final = 6  # how many sequences are listed if single words do not show the error
ASKED: Final = ("list", "evidence")
seeds = count(1)


class CaseData(TypedDict):
    """A published rule, see `CaseStudy`.

    Attributes:
        source: Title and URL of the source.
        sentence: The result as a sentence.
        out: For each word, the probability that it is the first one.
        p: For each word, the correct probability.
        q: For each word, the probability that the drafter gives it.
    """

    key: str
    name: str
    claimed: str
    source: tuple[str, str]
    drawn: str
    judged: str
    why: str
    verdict: CaseVerdict
    tv: str
    sentence: str
    out: list[float]
    p: list[float]
    q: list[float]


class Evidence(TypedDict):
    """The data that "Find the fault" shows about a rule.

    Attributes:
        out: For each word, how often it was the first one.
        intervals: For each word, the confidence interval of its share.
        strings: The most unusual sequences, each with its count, the count expected from p, and the
            difference.
    """

    lead: str
    draft: str
    p: list[float]
    out: list[float]
    intervals: list[tuple[float, float]]
    strings: list[tuple[str, str, str, str]]


class Answer(TypedDict):
    """The list of rules, or data for one rule."""

    exhibits: NotRequired[list[CaseData]]
    evidence: NotRequired[Evidence]


def answer(data: Mapping[str, Any]) -> Answer:
    """Return the list of rules, or data for one rule. Raises BadRequest if it is unknown."""
    if data.get("asked") not in ASKED:
        raise BadRequest(f"A question to the gallery is one of these: {', '.join(ASKED)}.")
    if data["asked"] == "list":
        return {"exhibits": exhibits(data.get("p"), data.get("q"))}
    return {"evidence": thrown(chosen(data.get("key")), next(seeds))}


def chosen(key: Any) -> CaseStudy:
    """Return the rule with this key. Raises BadRequest if there is none."""
    try:
        return find_case_study(str(key))
    except KeyError as problem:
        raise BadRequest("The gallery has no such rule.") from problem


def exhibits(p: Any, q: Any) -> list[CaseData]:
    """Return all rules for the page, with results for this p and q, or for each rule's own.

    Raises:
        BadRequest: If p or q is not a distribution.
    """
    if p is None:
        return [describe_case(each, result, each.q) for each, result in own()]
    target, draft = distribution(p, "p"), distribution(q, "q")
    if len(target) != len(draft):
        raise BadRequest("p and q must have a probability for the same tokens.")
    pair = tensor(target), tensor(draft)
    return [describe_case(each, each.result(*pair), draft) for each in GALLERY]


@cache
def own() -> tuple[tuple[CaseStudy, CaseResult], ...]:
    """Return every rule with its result for its own p and q."""
    return tuple((each, each.result()) for each in GALLERY)


def describe_case(each: CaseStudy, result: CaseResult, q: Sequence[float]) -> CaseData:
    """Return a rule's texts, its verdict, and its output by first word for this q."""
    out, p = result.first()
    tv = "0" if result.tv < EXACT else f"{result.tv:.4f}"
    return {
        "key": each.key,
        "name": each.name,
        "claimed": each.claimed,
        "source": (each.source.title, each.source.url),
        "drawn": each.drawn,
        "judged": each.judged,
        "why": each.why,
        "verdict": result.verdict,
        "tv": tv,
        "sentence": found(result, each.case.length, tv),
        "out": out,
        "p": p,
        "q": list(q),
    }


def found(result: CaseResult, tokens: int, tv: str) -> str:
    """Return the sentence on the rule's output; sequences of `tokens` words are compared."""
    shown = {"tokens": tokens, "accepted": f"{result.accepted_length:.3f}"}
    if result.verdict == "exact":
        return texts.text("lossless", "published_exact", **shown)
    return texts.text("lossless", "published_lossy", tv=tv, **shown)


def thrown(each: CaseStudy, seed: int) -> Evidence:
    """Return data for one rule without its name: counts of first words, and unusual sequences."""
    p, q = each.distributions()
    seen = sample_counts(each, THROWS, seed)
    firsts = [0] * len(p)
    for string, many in seen.items():
        firsts[string[0]] += round(many)
    chance = g_test(firsts, p.tolist()).p_value
    draft = ", ".join(f"{WORDS[at].strip()} {share:.2f}" for at, share in enumerate(q.tolist()))
    return {
        "lead": texts.text("lossless", "evidence", rounds=THROWS, fit=fit(chance)),
        "draft": texts.text("lossless", "evidence_draft", words=draft),
        "p": p.tolist(),
        "out": [many / THROWS for many in firsts],
        "intervals": [(one.low, one.high) for one in wilson_intervals(firsts)],
        "strings": strings(each, seen) if each.case.length > 1 else [],
    }


def fit(chance: float) -> str:
    """Return how well single words fit p; `chance` is the probability of a worse fit by luck."""
    if chance >= SURE:
        return texts.text("lossless", "words_fit", often=often(chance))
    return texts.text("lossless", "words_do_not_fit", odds=seldom(chance))


def strings(each: CaseStudy, seen: dict[tuple[int, ...], float]) -> list[tuple[str, str, str, str]]:
    """Return the sequences of words whose counts differ most from p, in standard deviations."""
    plain = each.result().plain
    rows = []
    for string, chance in plain.items():
        if chance * THROWS < 5.0:
            continue
        many = seen.get(string, 0.0)
        off = (many - chance * THROWS) / (chance * (1.0 - chance) * THROWS) ** 0.5
        rows.append((abs(off), string, many, chance, off))
    rows.sort(reverse=True)
    return [
        (
            "".join(WORDS[token] for token in string).strip(),
            f"{many:,.0f}",
            f"{chance * THROWS:,.0f}",
            f"{off:+.1f} σ".replace("-", "−"),
        )
        for _, string, many, chance, off in rows[:STRANGEST]
    ]
