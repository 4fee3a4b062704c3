"""A made-up race for tests of the page: JSON lines as from the server, without a model.

Its numbers are consistent (tokens with passes; tokens per pass and costs with the speed-up), and
its names and words contain markup. Never shipped as a recorded race.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from specviz.compare.summary import number
from specviz.frames.scene import word

HOSTILE: Final = "<img src=x onerror=window.hacked=1> ${1} {{x}} <b>head</b>"
PROMPT: Final = "Once upon a time, <script>window.hacked=1</script> a small fox"
STORY: Final = (
    "lived in a quiet wood . Every morning she went to the river to drink . One day she met a "
    "little frog . The frog was sad . Why are you sad ?"
)
TEXT: Final = STORY.split()
APART: Final = "It parts from plain decoding at new token 3."
TOKENS: Final = len(TEXT)
# By lane: title, settings, seconds of a pass (draft, target, rest), and tokens of each pass after
# the first one, which adds one token.
LANES: Final[dict[str, tuple[str, str, tuple[float, float, float], int]]] = {
    "eagle3": (HOSTILE, "tree of 15, depth 6", (0.007, 0.031, 0.002), 4),
    "n-gram": ("N-gram lookup", "last 2 to 4 tokens, γ 4", (0.0, 0.029, 0.001), 2),
    "draft": ("Draft model", "chain, γ 2", (0.045, 0.029, 0.002), 3),
    "plain": ("Plain decoding", "the baseline", (0.0, 0.026, 0.0), 1),
}
ORDER: Final = ["draft", "plain", "n-gram", "eagle3"]


def many_passes(name: str) -> int:
    """Return how many passes a lane takes for all tokens."""
    return 1 + -(-(TOKENS - 1) // LANES[name][3])


def seconds_of(name: str) -> float:
    """Return how many seconds a lane takes."""
    return sum(map(sum, passes(name)))


def passes(name: str) -> list[list[float]]:
    """Return a lane's passes; the first reads the prompt in twice the time and drafts nothing."""
    draft, target, rest = LANES[name][2]
    return [[0.0, 2 * target, rest], *([draft, target, rest] for _ in range(many_passes(name) - 1))]


def brought(name: str) -> list[list[list[Any]]]:
    """Return the new tokens of each pass, each as pieces and state."""
    most, words, found = LANES[name][3], [_pieces(text) for text in TEXT], []
    found.append([[words[0], "plain"]])
    for start in range(1, TOKENS, most):
        group = words[start : start + most]
        last = "plain" if most == 1 else "bonus" if start % 2 else "recovered"
        kinds = ["accepted"] * (len(group) - 1) + [last]
        found.append([list(pair) for pair in zip(group, kinds, strict=True)])
    return found


def _pieces(text: str) -> list[Any]:
    return word((text if text in ".?" else f" {text}").encode())


def tokens_at(name: str, seconds: float) -> int:
    """Return how many tokens a lane has after this many seconds."""
    done, at = 0, 0.0
    for spent, new in zip(passes(name), brought(name), strict=True):
        at += sum(spent)
        done += len(new) if at <= seconds + 1e-9 else 0
    return done


def summary(apart: str | None = None, caution: str | None = None) -> dict[str, Any]:
    """Return the numbers of the race. apart: a lane whose text differs. caution: a warning."""
    same = f"All 4 texts are identical: {TOKENS} of {TOKENS} token ids, compared one by one."
    other = f"1 of 3 texts differs from plain decoding's. {apart}: it parts at new token 3."
    return {
        "headline": "eagle3 wins here, at 2.35 times plain decoding's speed.",
        "caution": caution,
        "texts": _badge(other if apart else same, apart is None),
        "lanes": [_numbers(name, name == apart) for name in LANES],
    }


def _badge(sentence: str, same: bool) -> dict[str, Any]:
    """Return the sentence on all texts; its bold opening ends at the first colon or full stop."""
    cut = re.search(r"[:.](\s|$)", sentence).start() + 1
    parts = [{"b": sentence[:cut]}, sentence[cut:]]
    return {"same": same, "sentence_parts": parts}


def _numbers(name: str, apart: bool) -> dict[str, Any]:
    """Return a lane's numbers, computed from its passes."""
    done, brings = many_passes(name), TOKENS / many_passes(name)
    unit = done * seconds_of("plain") / TOKENS
    first, later = passes(name)[0], passes(name)[1:]
    draft, target, rest = (sum(each[i] for each in later) / unit for i in range(3))
    costs = {"draft": draft, "target": target, "overhead": rest, "prefill": sum(first) / unit}
    costs["total"] = sum(costs.values())
    plain = name == "plain"
    parts = [
        {"b": f"Faster here, {brings / costs['total']:.2f} × plain decoding:"},
        " a round adds ",
        number(f"{brings:.2f}", "k"),
        " tokens in the time of ",
        number(f"{costs['total']:.2f}", "k"),
        " plain tokens: ",
        number(f"{costs['draft']:.2f}", "q"),
        " for drafting.",
    ]
    measure = [{"b": "The baseline:"}]
    return {
        "name": name,
        "sentence_parts": measure if plain else parts,
        "shown": {"brings": f"{brings:.2f}", "cost": f"{costs['total']:.2f}"},
        "speedup": brings / costs["total"],
        "brings": brings,
        "costs": costs,
        "alpha": None if plain else 0.74,
        "depths": [] if plain else _depths(),
        "rule": "greedy",
        "guesses": None if plain else 2.5,
        "runs": [seconds_of(name) * share for share in ((1,) if plain else (1, 0.9, 1.2))],
        "speedups": None
        if plain
        else (brings / costs["total"] / 1.2, brings / costs["total"] / 0.9),
        "tokens_per_second": TOKENS / seconds_of(name),
        "flops_per_token": None if name == "n-gram" else 2.2e7,
        "bytes": 0 if name in ("plain", "n-gram") else 9_400_000,
        "held_bytes": {"plain": 0, "n-gram": None}.get(name, 39_200_000),
        "noise": None,
        "equality": {
            "verdict": "near-tie" if apart else "same",
            "position": 2 if apart else None,
            "sentence": APART if apart else "All the same.",
        },
        "point": None if plain else {"alpha": 0.74, "gamma": 3.0, "c": 0.1, "speedup": 2.0},
    }


def _depths() -> list[dict[str, int]]:
    """Return counts of guesses at four depths."""
    return [{"positions": 9 - d, "kept": 8 - 2 * d} for d in range(4)]


def opening(number: str, source: str = "recorded") -> dict[str, Any]:
    """Return the race's first line."""
    lanes = [
        {"name": name, "title": title, "shape": shape}
        for name, (title, shape, _, _) in LANES.items()
    ]
    return {
        "kind": "race",
        "source": source,
        "id": number,
        "prompt": PROMPT,
        "where": "House · 2 CPU cores · float32",
        "settings": "T 0 · 31 tokens · seed 1",
        "order": ORDER,
        "lanes": lanes,
    }


def ended(name: str) -> dict[str, Any]:
    """Return the line of a finished lane."""
    done = {"passes": passes(name), "brought": brought(name)}
    return {"kind": "ended", "lane": name, "chat": False, **done}


def lines(*facts: dict[str, Any]) -> str:
    """Return the objects as JSON lines."""
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in facts)


def recorded(name: str = "made", apart: str | None = None) -> str:
    """Return the lines of a complete recorded race."""
    whole = {"kind": "summary", "whole": summary(apart)}
    done = {"kind": "state", "state": "done", "id": name}
    return lines(opening(name), *map(ended, ORDER), whole, done)
