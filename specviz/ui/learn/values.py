"""The numbers and tokens that a lesson can use, read from a recorded run or computed.

They are formatted as on the page; the numbers of a step are those in its sentence.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

from specviz.cost.formula import MeasuredPoint, expected_tokens, measured_point, speedup
from specviz.frames.frame import frame_at
from specviz.frames.numbers import format_seconds
from specviz.frames.scene import Scene, flat
from specviz.shipped import ASSETS, read_shipped_json
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.trace.overlap import Overlap, overlap
from specviz.trees.rounding import EXAMPLES, load_study
from specviz.ui.lossless import sandbox
from specviz.ui.step import recorded

# By run and round: the drafter's most probable token after all guesses, if all were accepted.
TOP_TOKENS: Final = ASSETS / "lessons" / "top-tokens.json"


@cache
def read_trace(name: str) -> Trace:
    """Read a recorded run; the result is cached."""
    return recorded.trace(name)


@cache
def find_overlap(name: str) -> Overlap:
    """Simulate drafting during each check of a recorded run. Raises KeyError without its facts."""
    runs = read_shipped_json(TOP_TOKENS, dict)
    tops = {int(number): token for number, token in runs[name].items()}
    return overlap(read_trace(name), tops)


def find_frame(trace: str, number: int, step: str) -> Mapping[str, Any]:
    """Return what the page shows at a step. Raises ValueError if the run has no such step."""
    rounds = read_trace(trace).rounds
    for index, played in enumerate(rounds):
        if played.number != number:
            continue
        scene = Scene.of(read_trace(trace), index)
        for each in scene.steps:
            frame = frame_at(scene, each)
            if frame["step"]["id"] == step:
                return frame
    raise ValueError(f"the run {trace} has no step {step} in round {number}")


def find_preset(name: str) -> sandbox.Preset:
    """Return a preset of the sandbox. Raises ValueError if there is none with this name."""
    for preset in sandbox.PRESETS:
        if preset["name"] == name:
            return preset
    raise ValueError(f"the sandbox has no preset {name!r}")


@dataclass(frozen=True)
class Run:
    """The numbers of a whole recorded run, formatted as the page shows them."""

    name: str
    numbers: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", metrics.summary(read_trace(self.name)))

    @property
    def tokens(self) -> int:
        """Number of new tokens."""
        return int(self.numbers["tokens"])

    @property
    def passes(self) -> int:
        """Number of target passes."""
        return int(self.numbers["target_passes"])

    @property
    def per_pass(self) -> str:
        """New tokens per target pass."""
        return f"{self.numbers['tokens_per_pass']:.1f}"

    @property
    def alpha(self) -> str:
        """The mean probability of acceptance, α."""
        return f"{self.numbers['alpha']:.2f}"

    @property
    def speedup(self) -> str:
        """How many times as fast as plain decoding."""
        return f"{self.numbers['speedup']:.2f}"

    @property
    def predicted(self) -> str:
        """The formula's speed-up for the run's rounded α, γ and c, if a check costs one pass."""
        return f"{speedup(*self.rounded_point):.2f}"

    @property
    def predicted_checking(self) -> str:
        """The formula's speed-up with the cost of the run's checks."""
        return f"{speedup(*self.rounded_point, self._point.verify):.2f}"

    @property
    def checking(self) -> str:
        """The mean cost of a check, in plain passes."""
        return f"{self._point.verify:.2f}"

    @property
    def per_round(self) -> str:
        """The mean number of tokens of a round that drafted."""
        return f"{self._point.tokens:.2f}"

    @property
    def expected(self) -> str:
        """The number of tokens per round that the formula expects for the rounded α and γ."""
        alpha, gamma, _ = self.rounded_point
        return f"{expected_tokens(alpha, gamma):.2f}"

    @property
    def _point(self) -> MeasuredPoint:
        found = measured_point(read_trace(self.name))
        assert found is not None
        return found

    @property
    def rounded_point(self) -> tuple[float, int, float]:
        """The run's α, γ and c, as the figure of the speed-up shows them."""
        return round(self._point.alpha, 2), round(self._point.gamma), round(self._point.c, 2)

    @property
    def early_hits(self) -> str:
        """How many predictions come true if the drafter drafts during each check."""
        found = find_overlap(self.name)
        return f"{found.hits} of {len(found.drafts)}"

    @property
    def pass_time(self) -> str:
        """The median time of a plain pass after the prompt."""
        return format_seconds(self.pass_seconds)

    @property
    def pass_seconds(self) -> float:
        """The median seconds of a plain pass after the prompt."""
        baseline = read_trace(self.name).baseline
        assert baseline is not None
        later = sorted(baseline.seconds[1:])
        return later[len(later) // 2]

    def positions(self, number: int) -> int:
        """Return how many positions a round's target pass computed, including the last token."""
        return len(self._round(number).scored.p) + 1

    def scored(self, number: int) -> str:
        """Return the time of a round's target pass."""
        return format_seconds(self.seconds(number))

    def seconds(self, number: int) -> float:
        """Return the seconds of a round's target pass."""
        return float(self._round(number).scored.seconds)

    def setting(self, name: str) -> Any:
        """Return a setting of the run."""
        return read_trace(self.name).header.settings[name]

    def _round(self, number: int) -> Any:
        return next(each for each in read_trace(self.name).rounds if each.number == number)

    @property
    def layers(self) -> int:
        """The number of the target's layers, all of which the page shows in a run of LayerSkip."""
        first = find_frame(self.name, 1, "propose-1")["panel"]["why"]["blocks"][0]["heads"]
        return sum(head.isdecimal() for head in first)

    @property
    def weights(self) -> str:
        """The number of the target's weights."""
        return f"{read_trace(self.name).header.target.parameters / 1e6:.1f} million"

    @property
    def drafter_share(self) -> str:
        """The drafter's weights as a share of the target's."""
        header = read_trace(self.name).header
        return f"{header.drafter.parameters / header.target.parameters:.0%}"


class Values(Mapping[str, Any]):
    """What a lesson's text can use: numbers of its step, of its run, and of computations.

    `p`, `q`, `u`, `threshold` and `residual` are the first numbers of these kinds in the page's
    sentence at the step, `token` is the first token in it, and `tokens` are all its tokens.
    `row("the")` is a row of the step's table, `both()` the sum of what p and q share in
    it, and `word` a word of a preset.
    """

    def __init__(self, trace: str, place: tuple[int, str] | None) -> None:
        self._trace = trace
        self._known: dict[str, Callable[[], Any]] = {
            "other": lambda: Run,
            "at": lambda: self._at,
            "overlap": lambda: lambda name: _two_digits(_overlap(name)),
            "rejected": lambda: lambda name: _two_digits(1 - _overlap(name)),
            "bound": lambda: lambda name: _two_digits(_bound(name)),
            "row": lambda: self._row,
            "both": lambda: self._both,
            "word": lambda: preset_word,
            "darts": lambda: lambda name: _two_digits(1 / _bound(name)),
            "pair": lambda: rounded_pair,
            "study": ranking_study,
        }
        if trace:
            self._known["run"] = lambda: Run(trace)
        self._place = place
        if place:
            said = _sentence(trace, *place)
            self._known |= {name: partial(said.__getitem__, name) for name in said}

    def __getitem__(self, name: str) -> Any:
        return self._known[name]()

    def __iter__(self) -> Any:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _row(self, token: str) -> Mapping[str, str]:
        rows = {flat(row["w"]).strip(" ␣"): row["t"] for row in self._table()["rows"] if "w" in row}
        p, q, _, above, scaled = rows[token]
        return {"p": p, "q": q, "above": above, "scaled": scaled}

    def _both(self) -> str:
        return str(self._table()["total"]["both"])

    def _table(self) -> Mapping[str, Any]:
        assert self._place is not None
        table: Mapping[str, Any] = find_frame(self._trace, *self._place)["panel"]["table"]
        return table

    def _at(self, written: str, trace: str = "") -> Mapping[str, Any]:
        number, _, step = written.partition(" ")
        return _sentence(trace or self._trace, int(number), step)


def _sentence(trace: str, number: int, step: str) -> dict[str, Any]:
    parts: Sequence[Any] = find_frame(trace, number, step)["caption"]["parts"]
    said: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, str):
            continue
        if "w" in part:
            said.setdefault("token", part)
            said.setdefault("tokens", []).append(part)
        elif "n" in part:
            said.setdefault("threshold" if part["as"] == "both" else part["as"], part)
    return said


def _overlap(name: str) -> float:
    # Σ min(p, q), which is the probability of acceptance.
    preset = find_preset(name)
    return sum(map(min, preset["p"], preset["q"]))


def _bound(name: str) -> float:
    # M, the largest p ÷ q.
    preset = find_preset(name)
    return max(p / q for p, q in zip(preset["p"], preset["q"], strict=True) if q)


def preset_word(preset: str, token: str) -> Mapping[str, str]:
    """Return a word's numbers in a preset, and its probability if the replacement follows p.

    `lacks` is what min(p, q) lacks of p. `given` is what a replacement from p would add, and `out`
    how probable the word would then be.
    """
    found = find_preset(preset)
    at = [flat(word).strip(" ␣") for word in found["words"]].index(token)
    p, q = found["p"][at], found["q"][at]
    given = (1 - _overlap(preset)) * p
    return {
        "p": f"{p:.2f}",
        "q": f"{q:.2f}",
        "both": f"{min(p, q):.2f}",
        "lacks": f"{p - min(p, q):.2f}",
        "given": f"{given:.2f}",
        "out": f"{min(p, q) + given:.3f}",
    }


def _two_digits(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def rounded_pair(name: str) -> Mapping[str, Any]:
    """Return the numbers of a constructed example: two guesses that follow the same guess.

    The scores of the two paths are computed here: as products, as sums of logarithms, and as sums
    in bfloat16.
    """
    example = next(each for each in EXAMPLES if each.name == name)
    ((above, before),) = example.probabilities[""]
    guesses = [chance for _, chance in example.probabilities[above]]
    rounded = {
        bfloat16(bfloat16(math.log(before)) + bfloat16(math.log(chance))) for chance in guesses
    }
    return {
        "before": f"{before:g}",
        "guesses": [f"{chance:g}" for chance in guesses],
        "products": [f"{before * chance:.3g}" for chance in guesses],
        "sums": [_signed(math.log(before * chance), 3) for chance in guesses],
        "tie": _signed(rounded.pop(), 4) if len(rounded) == 1 else "",
        "products_differ": len({bfloat16(before * chance) for chance in guesses}) > 1,
    }


def bfloat16(value: float) -> float:
    """Round to the nearest number of the format bfloat16, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    bits += 0x7FFF + (bits >> 16 & 1)
    (rounded,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))
    return float(rounded)


def ranking_study() -> Mapping[str, Any]:
    """Return what ranking in few bits changed at the study's positions, over all its drafters."""
    study = load_study()
    assert study is not None
    measured = [ways for sizes in study["drafters"].values() for ways in sizes.values()]
    precise = [ways[f"{how} float32"]["differ"] for ways in measured for how in ("product", "sum")]
    gains = [abs(ways["sum bfloat16"]["gain"]) for ways in measured]
    return {
        "same_in_32_bits": not any(precise),
        "changed": f"{max(ways['sum bfloat16']['differ'] for ways in measured):.0%}",
        "gain": f"{math.ceil(1000 * max(gains)) / 1000:g}",
    }


def _signed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")
