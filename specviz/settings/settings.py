"""What a person chooses for a run, checked once, here. Standard library only.

Each setting's meaning, default and range: its row in `knobs`. Here is what several have together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from specviz.settings.chance import Chance
from specviz.settings.specs import (
    MAX_GAMMA,
    MAX_GUESSES,
    MIN_TEMPERATURE,
    Candidates,
    ChatMode,
    Schedule,
    default,
    find_spec,
)
from specviz.settings.value_types import BadSettings, require

__all__ = [
    "MAX_GUESSES",
    "BadSettings",
    "Candidates",
    "Sampling",
    "Schedule",
    "Settings",
    "max_gamma",
    "tree_size",
    "require",
]


def tree_size(siblings: Sequence[int], gamma: int) -> int:
    """How many guesses a whole tree of depth γ has; a text's end makes the real one smaller."""
    level, total = 1, 0
    for width in [*siblings, *[1] * gamma][:gamma]:
        level *= width
        total += level
    return total


def max_gamma(siblings: Sequence[int]) -> int:
    """The largest γ that these siblings allow; siblings that Settings takes allow one."""
    return max(g for g in range(1, MAX_GAMMA + 1) if tree_size(siblings, g) <= MAX_GUESSES)


def _names(chosen: Any) -> list[str]:
    """The settings that a dataclass has; `sampling` holds some itself."""
    return [f.name for f in fields(chosen) if f.name != "sampling"]


def check_each(chosen: Any) -> None:
    """Raise BadSettings where one of its settings, by itself, is none that a run can have."""
    for name in _names(chosen):
        find_spec(name).check(getattr(chosen, name))


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become a law: temperature, then top-k, then top-p, as transformers orders them.

    temperature 0 keeps only the top token; top_k 0 and top_p 1 keep every token.
    """

    temperature: float = default("temperature")
    top_k: int = default("top_k")
    top_p: float = default("top_p")

    def __post_init__(self) -> None:
        check_each(self)
        sentence = (
            f"Temperature {self.temperature} is too small to divide scores by: use 0, which is "
            f"greedy, or {MIN_TEMPERATURE:g} and more."
        )
        require(self.temperature == 0 or self.temperature >= MIN_TEMPERATURE, sentence)

    @property
    def greedy(self) -> bool:
        """True at temperature 0, where the law is one token."""
        return self.temperature == 0

    @property
    def cuts(self) -> bool:
        """True where top-k or top-p may leave out tokens."""
        return self.top_k > 0 or self.top_p < 1.0

    def fit(self, vocab_size: int) -> None:
        """Raise BadSettings where top-k asks for more tokens than there are."""
        sentence = (
            f"Top-k {self.top_k:,} is larger than the vocabulary of {vocab_size:,} tokens; "
            "use 0 to keep every token."
        )
        require(self.top_k <= vocab_size, sentence)


@dataclass(frozen=True, slots=True)
class Settings:
    """One run's choices. They travel in the trace's header, so a run can be made again.

    Each field is a row of `knobs.SETTING_SPECS`, which says what it means. siblings: by a node's depth, the
    root's first; 1 where the list ends, so an empty one is a chain. rank_paths: where empty,
    siblings decide. confidence: a guess below it is still tried and only not gone on from, so rules
    stay exact. rule: a name in `specviz.verification.RULES`, or "auto". chat: "auto" is a chat
    where the target's tokenizer has a template. coins: numbers in [0, 1) laid by hand instead of
    falling ("what if?"), by `chance.u_key`.
    """

    sampling: Sampling = field(default_factory=Sampling)
    seed: int = default("seed")
    max_new_tokens: int = default("max_new_tokens")
    gamma: int = default("gamma")
    siblings: list[int] = default("siblings")
    schedule: Schedule = default("schedule")
    candidates: Candidates = default("candidates")
    confidence: float = default("confidence")
    ngram_min: int = default("ngram_min")
    ngram_max: int = default("ngram_max")
    exit_layer: int = default("exit_layer")
    suffix_factor: float = default("suffix_factor")
    suffix_least: float = default("suffix_least")
    lookahead_window: int = default("lookahead_window")
    lookahead_ngram: int = default("lookahead_ngram")
    lookahead_guesses: int = default("lookahead_guesses")
    rank_paths: list[list[int]] = default("rank_paths")
    budget: int = default("budget")
    fan_out: int = default("fan_out")
    rule: str = default("rule")
    chat: ChatMode = default("chat")
    system: str = default("system")
    coins: dict[str, float] = default("coins")

    def __post_init__(self) -> None:
        check_each(self)
        ordered = self.ngram_min <= self.ngram_max
        require(ordered, "The shortest n-gram must not be longer than the longest.")
        size = tree_size(self.siblings, self.gamma)
        sentence = (
            f"Siblings {', '.join(map(str, self.siblings))} with γ {self.gamma} make a tree of "
            f"{size:,} guesses; {MAX_GUESSES} are the most. Choose fewer siblings or a smaller γ."
        )
        require(size <= MAX_GUESSES, sentence)
        raw = self.chat == "raw" and bool(self.system)
        require(not raw, "Raw text has no system turn: leave the system text out, or send a chat.")

    def at_depth(self, layers: int) -> Self:
        """The same on a target of so many layers: what was left to its depth is a number."""
        rows = [row for row in map(find_spec, _names(self)) if row.at_depth is not None]
        open_ = [row for row in rows if getattr(self, row.name) == row.default]
        return replace(self, **{row.name: row.at_depth(layers) for row in open_ if row.at_depth})

    @property
    def branches(self) -> bool:
        """Whether a draft can have two guesses under one node; otherwise it is a chain."""
        reached = self.gamma if self.schedule == "fixed" else MAX_GAMMA
        return max(self.siblings[:reached], default=1) > 1

    def width(self, depth: int) -> int:
        """How many guesses stand under a node at `depth`; the root's is 0."""
        return self.siblings[depth] if depth < len(self.siblings) else 1

    def chance(self, round: int) -> Chance:
        """The coins of a round."""
        return Chance(self.seed, round, self.coins)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a trace's header."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The settings that `to_json` wrote. Raises BadSettings on an unknown or ill-typed one."""
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(data) - known)
        require(not unknown, f"Unknown setting: {', '.join(unknown)}.")
        try:
            sampling = Sampling(**data.get("sampling", {}))
            return cls(**{**data, "sampling": sampling})
        except TypeError as error:
            raise BadSettings(f"These settings cannot be read: {error}.") from error
