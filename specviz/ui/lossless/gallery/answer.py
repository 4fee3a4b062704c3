"""The gallery's answers: every exhibit on its own laws or the sandbox's, and evidence of one.

Text in, text out. A verdict is the exhibit's own computation; nothing about it is typed here.
"""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any, Final

from specviz.ui.lossless.coins.answer import SURE, seldom
from specviz.ui.lossless.sandbox.answer import tensor
from specviz.ui.lossless.sandbox.presets import WORDS
from specviz.ui.lossless.sandbox.question import law, whole
from specviz.ui.question import Unasked, number_of, packed, read
from specviz.verification.exact.statistics import g_test, wilson_each
from specviz.verification.wild import EXACT, GALLERY, Exhibit, Result, evidence, exhibit

THROWS: Final = 20_000
STRANGEST: Final = 6  # strings that are listed where single words hide the fault
ASKED: Final = ("list", "evidence")
seeds = count(1)


def answer(text: Any) -> str:
    """JSON for the page: the list, or coins thrown for one exhibit; or what is wrong with it."""
    try:
        data = read(text)
        number = whole(data.get("id"), "The number of a question", -(2**53), 2**53)
        if data.get("asked") not in ASKED:
            raise Unasked(f"The gallery is asked for one of these: {', '.join(ASKED)}.")
        if data["asked"] == "list":
            return packed({"id": number, "exhibits": exhibits(data.get("p"), data.get("q"))})
        return packed({"id": number, "evidence": thrown(chosen(data.get("key")), next(seeds))})
    except Unasked as problem:
        return packed({"id": number_of(text), "problem": str(problem)})


def chosen(key: Any) -> Exhibit:
    """The exhibit of this key. Raises Unasked with a sentence."""
    try:
        return exhibit(str(key))
    except KeyError as problem:
        raise Unasked("The gallery has no such exhibit.") from problem


def exhibits(p: Any, q: Any) -> list[dict[str, Any]]:
    """All exhibits as the page shows them, on these laws, or each on its own where none are given.

    Raises Unasked with a sentence where the laws are none.
    """
    if p is None:
        return [told(each, result) for each, result in own()]
    target, draft = law(p, "p"), law(q, "q")
    if len(target) != len(draft):
        raise Unasked("p and q are laws over the same words, so they are equally long.")
    laws = tensor(target), tensor(draft)
    return [told(each, each.result(*laws)) for each in GALLERY]


@cache
def own() -> tuple[tuple[Exhibit, Result], ...]:
    """Every exhibit with what it comes to on its own laws."""
    return tuple((each, each.result()) for each in GALLERY)


def told(each: Exhibit, result: Result) -> dict[str, Any]:
    """An exhibit's texts, its verdict, and its law by first word."""
    out, p = result.first()
    rounding = result.tv < EXACT
    return {
        "key": each.key,
        "name": each.name,
        "claimed": each.claimed,
        "source": {"title": each.source.title, "url": each.source.url},
        "drawn": each.drawn,
        "judged": each.judged,
        "why": each.why,
        "is": result.verdict,
        "tv": "0" if rounding else f"{result.tv:.4f}",
        "kept": f"{result.kept:.3f}",
        "together": each.case.length,
        "out": out,
        "p": p,
    }


def thrown(each: Exhibit, seed: int) -> dict[str, Any]:
    """What a detective sees: how often each first word came, the oddest strings, and no name."""
    p, q = each.laws()
    seen = evidence(each, THROWS, seed)
    firsts = [0] * len(p)
    for string, many in seen.items():
        firsts[string[0]] += round(many)
    chance = g_test(firsts, p.tolist()).p_value
    return {
        "throws": THROWS,
        "p": p.tolist(),
        "q": q.tolist(),
        "out": [many / THROWS for many in firsts],
        "intervals": [[one.low, one.high] for one in wilson_each(firsts)],
        "firsts": fit(chance),
        "strings": strings(each, seen) if each.case.length > 1 else [],
    }


def fit(chance: float) -> str:
    """How well single words fit p, in words. chance: of a worse fit by luck."""
    if chance >= SURE:
        return f"Word by word, luck alone would fit p worse {100 * chance:.1f} % of the time."
    return f"Word by word, luck alone would miss p so far {seldom(chance)}."


def strings(each: Exhibit, seen: dict[tuple[int, ...], float]) -> list[list[str]]:
    """The strings of words whose counts lie furthest from p's, by standard deviations of luck."""
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
        [
            "".join(WORDS[token] for token in string).strip(),
            f"{many:,.0f}",
            f"{chance * THROWS:,.0f}",
            f"{off:+.1f} σ".replace("-", "−"),
        ]
        for _, string, many, chance, off in rows[:STRANGEST]
    ]
