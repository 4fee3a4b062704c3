"""The sandbox's choices: ways of choosing a guess, and rules in groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specviz import texts
from specviz.trace.rule_specs import RULE_SPECS, RuleParameter

DRAWN: Final = (
    ("sampled", "sampled from q"),
    ("without-replacement", "sampled, no word twice"),
    ("top", "the top words of q"),
)
FITS, EXACT, LOSSY = "Automatic", "Lossless for the right guesses", "Lossy on purpose"
# By rule, its title. What a lossless rule does is said in the template, a lossy one says it itself.
TITLES: Final[Mapping[str, str]] = {
    "auto": "The rule that fits",
    "speculative": "Speculative sampling: min(1, p/q)",
    "without-replacement": "Speculative sampling without repeats",
    "point-mass": "Point mass: p(x), then remove x",
    "accept-reject": "Accept-reject (von Neumann, 1951)",
    "k-seq": "k-SEQ (SpecTr)",
    "lenience": "Lenience",
    "ensemble": "Average of both models",
    "typical": "Typical acceptance (Medusa)",
    "relaxed": "Relaxed acceptance (TensorRT-LLM)",
    "thresholds": "Thresholds (SGLang)",
    "unverified": "No verification at all",
}


def rules() -> list[dict[str, Any]]:
    """List the rules for the page: name, title, group, what each does, and its parameters."""
    found: list[dict[str, Any]] = []
    for name, title in TITLES.items():
        spec = RULE_SPECS.get(name)
        group = FITS if spec is None else EXACT if spec.lossless else LOSSY
        numbers = [] if spec is None else [_parameter(each) for each in spec.parameters]
        own = spec.tradeoff if spec is not None and not spec.lossless else ""
        about = own or texts.text("lossless", f"rule_{name.replace('-', '_')}")
        shown = {"name": name, "title": title, "group": group, "about": about}
        found.append(shown | {"parameters": numbers})
    return found


def _parameter(parameter: RuleParameter) -> dict[str, Any]:
    """Return a parameter as the page's script reads it."""
    return {
        "name": parameter.name,
        "default": parameter.default,
        "least": parameter.least,
        "most": parameter.most,
        "meaning": parameter.meaning,
    }
