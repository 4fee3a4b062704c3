"""What the sandbox lets one choose, in words: ways of drawing, and rules in groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from specviz.trace.promises import PROMISES

DRAWN: Final = (
    ("sampled", "by chance, from q"),
    ("without-replacement", "by chance, no word twice"),
    ("top", "q’s top words, no chance"),
)
FITS, EXACT, LOSSY = "To begin with", "Exact for the right guesses", "Lossy on purpose"
# What a rule is called here, and what it does. Of a lossy rule the answer says it.
SAID: Final[Mapping[str, tuple[str, str]]] = {
    "auto": (
        "The rule that fits",
        (
            "It follows how the guess is drawn: by chance from q, by chance without a word twice, "
            "or with no chance at all."
        ),
    ),
    "speculative": (
        "Speculative sampling: min(1, p/q)",
        (
            "A guess is kept with chance min(1, p/q). What takes a fallen one’s place is drawn "
            "from what p has more than q, (p − q) above 0. It needs guesses drawn from this q."
        ),
    ),
    "without-replacement": (
        "The same, for guesses drawn without a word twice",
        "As speculative sampling, and each guess that fell is also taken out of q.",
    ),
    "point-mass": (
        "Point mass: p(x), then mask x",
        (
            "A guess is kept with chance p, whatever q was; a fallen one is taken out of p. Exact "
            "for every guess, drawn or not, and wasteful where it was drawn."
        ),
    ),
    "accept-reject": (
        "Accept-reject (von Neumann, 1951)",
        (
            "A guess is kept with chance p/(M q), where M is the largest p/q. Here nothing is "
            "drawn again: where all guesses fell, the word is drawn from p."
        ),
    ),
    "k-seq": (
        "k-SEQ (SpecTr)",
        (
            "Every guess passes the same test, min(1, p/(ρ q)), with the smallest ρ for which "
            "what is left to draw from is nowhere negative."
        ),
    ),
    "lenience": ("Lenience", ""),
    "ensemble": ("A mean of both models", ""),
    "typical": ("Typical acceptance (Medusa)", ""),
    "relaxed": ("Relaxed acceptance (TensorRT-LLM)", ""),
    "thresholds": ("Thresholds (SGLang)", ""),
    "unverified": ("No verification at all", ""),
}


def rules() -> list[dict[str, Any]]:
    """The rules as the page reads them: name, title, group, what each does, and its dials."""
    found: list[dict[str, Any]] = []
    for name, (title, about) in SAID.items():
        promise = PROMISES.get(name)
        group = FITS if promise is None else EXACT if promise.lossless else LOSSY
        dials = [] if promise is None else [asdict(dial) for dial in promise.dials]
        said = about or (promise.says if promise else "")
        found.append({"name": name, "title": title, "group": group, "about": said, "dials": dials})
    return found
