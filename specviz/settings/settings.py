"""What a person chooses for a run, checked once, here. Standard library only."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self, get_args

from specviz.settings.chance import Chance

Schedule = Literal["fixed", "learning"]


Candidates = Literal["sampled", "greedy"]


COIN = re.compile(r"\d{1,6} (draft|judge|final|baseline) \d{1,6}")  # see chance.key
MAX_NEW_TOKENS = 4096
MAX_GAMMA = 64
MAX_LAYERS = 256
MAX_LOOKAHEAD = 16
MAX_FAN_OUT = 16
MAX_SIBLINGS = 8
MAX_SIBLING_DEPTHS = 16
MAX_GUESSES = 128  # in a whole tree: the target scores all of them in one pass


class BadSettings(ValueError):
    """A setting that no run can have; the message is a sentence for the person who chose it."""


def require(fits: bool, sentence: str) -> None:
    """Raise BadSettings with `sentence` unless the setting fits."""
    if not fits:
        raise BadSettings(sentence)


def guesses(siblings: Sequence[int], gamma: int) -> int:
    """How many guesses a whole tree of depth γ has; a text's end makes the real one smaller."""
    level, total = 1, 0
    for width in [*siblings, *[1] * gamma][:gamma]:
        level *= width
        total += level
    return total


def deepest(siblings: Sequence[int]) -> int:
    """The largest γ that these siblings allow; siblings that Settings takes allow one."""
    return max(g for g in range(1, MAX_GAMMA + 1) if guesses(siblings, g) <= MAX_GUESSES)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become a law: temperature, then top-k, then top-p, as transformers orders them.

    temperature 0 keeps only the top token; top_k 0 and top_p 1 keep every token.
    """

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        warm = math.isfinite(self.temperature) and 0 <= self.temperature <= 100
        require(warm, f"Temperature must lie between 0 and 100, not {self.temperature}.")
        require(self.top_k >= 0, f"Top-k must be 0 (off) or more, not {self.top_k}.")
        whole = math.isfinite(self.top_p) and 0 < self.top_p <= 1
        require(whole, f"Top-p must lie above 0 and at most 1, not {self.top_p}.")

    @property
    def greedy(self) -> bool:
        """True at temperature 0, where the law is one token."""
        return self.temperature == 0

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

    gamma: drafted tokens in a chain, at most; how deep a tree grows. siblings: how many guesses a
    model drafter puts under every node, by the node's depth (the root's first); 1 where the list
    ends, so an empty one is a chain. schedule: "fixed", or "learning" (+2 after a clean sweep, -1
    otherwise, as transformers' heuristic). candidates: whether a model drafter samples its guesses
    or takes its top tokens. confidence: no guess is put under one to which the draft model itself
    gives less than this chance; that guess is still tried, so rules stay exact.
    ngram_min, ngram_max: lengths of a prompt-lookup match.
    exit_layer: after which of the target's layers an early-exit draft leaves it. suffix_factor: how
    deep a suffix draft may go, in lengths of its match; suffix_least: the least chance that counts
    must give a guess. lookahead_window, _ngram, _guesses: W, N and G of lookahead decoding.
    rank_paths: a static tree for heads that guess side by side, as Medusa's `medusa_choices`; where
    empty, siblings decide. budget: guesses of a dynamic tree that the target checks. fan_out:
    guesses that a dynamic tree weighs under a node, and nodes of a level that it goes on from.
    rule: a name in `specviz.verification.RULES`, or "auto" for the one that fits the drafter.
    coins: numbers in [0, 1) laid by hand instead of falling ("what if?"), by `chance.key`.
    """

    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 1
    max_new_tokens: int = 64
    gamma: int = 5
    siblings: list[int] = field(default_factory=list)
    schedule: Schedule = "fixed"
    candidates: Candidates = "sampled"
    confidence: float = 0.0
    ngram_min: int = 1
    ngram_max: int = 3
    exit_layer: int = 6
    suffix_factor: float = 1.0
    suffix_least: float = 0.1
    lookahead_window: int = 5
    lookahead_ngram: int = 4
    lookahead_guesses: int = 5
    rank_paths: list[list[int]] = field(default_factory=list)
    budget: int = 24
    fan_out: int = 6
    rule: str = "auto"
    coins: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        limit = 1 <= self.max_new_tokens <= MAX_NEW_TOKENS
        require(limit, f"New tokens must lie between 1 and {MAX_NEW_TOKENS:,}.")
        require(1 <= self.gamma <= MAX_GAMMA, f"γ must lie between 1 and {MAX_GAMMA}.")
        self._check_siblings()
        require(-(2**63) <= self.seed < 2**63, "The seed must fit in 64 bits.")
        require(self.schedule in get_args(Schedule), f"No γ schedule is called {self.schedule!r}.")
        kinds = get_args(Candidates)
        require(self.candidates in kinds, f"Candidates are {' or '.join(kinds)}.")
        ordered = 1 <= self.ngram_min <= self.ngram_max <= 32
        require(ordered, "N-gram lengths need 1 ≤ min ≤ max ≤ 32.")
        self._check_families()
        for name, u in self.coins.items():
            real = isinstance(u, float | int) and 0 <= u < 1
            require(real, f"The coin {name!r} must lie in [0, 1), not at {u}.")
            require(bool(COIN.fullmatch(name)), f"No coin is called {name!r}.")

    def _check_siblings(self) -> None:
        """Raise BadSettings unless they are a list of numbers whose tree one pass can score."""
        wide = self.siblings
        whole = isinstance(wide, list) and all(type(n) is int for n in wide)
        sentence = f"Siblings must be a list of whole numbers such as [3, 2], not {wide!r:.60}."
        require(whole, sentence)
        few = len(wide) <= MAX_SIBLING_DEPTHS
        require(few, f"Siblings can be given for {MAX_SIBLING_DEPTHS} depths, not for {len(wide)}.")
        for n in wide:
            fits = 1 <= n <= MAX_SIBLINGS
            require(fits, f"A node can have 1 to {MAX_SIBLINGS} guesses under it, not {n:,}.")
        size = guesses(wide, self.gamma)
        sentence = (
            f"Siblings {', '.join(map(str, wide))} with γ {self.gamma} make a tree of {size:,} "
            f"guesses; {MAX_GUESSES} are the most. Choose fewer siblings or a smaller γ."
        )
        require(size <= MAX_GUESSES, sentence)

    @property
    def branches(self) -> bool:
        """Whether a draft can have two guesses under one node; otherwise it is a chain."""
        reached = self.gamma if self.schedule == "fixed" else MAX_GAMMA
        return max(self.siblings[:reached], default=1) > 1

    def width(self, depth: int) -> int:
        """How many guesses stand under a node at `depth`; the root's is 0."""
        return self.siblings[depth] if depth < len(self.siblings) else 1

    def _check_families(self) -> None:
        """What only some drafters read."""
        for name, value, most in (
            ("exit layer", self.exit_layer, MAX_LAYERS),
            ("budget of a dynamic tree", self.budget, MAX_GUESSES),
            ("fan-out of a dynamic tree", self.fan_out, MAX_FAN_OUT),
            ("lookahead window", self.lookahead_window, MAX_LOOKAHEAD),
            ("number of n-grams that lookahead tries", self.lookahead_guesses, MAX_LOOKAHEAD),
        ):
            whole = type(value) is int and 1 <= value <= most
            require(whole, f"The {name} must be a whole number from 1 to {most}.")
        long = type(self.lookahead_ngram) is int and 3 <= self.lookahead_ngram <= 8
        require(long, "Lookahead's n-grams have 3 to 8 tokens.")
        sure = math.isfinite(self.confidence) and 0 <= self.confidence < 1
        require(sure, "The confidence to go on must be 0 (always) or more, and below 1.")
        factor = math.isfinite(self.suffix_factor) and 0 < self.suffix_factor <= 16
        require(factor, "The suffix factor must lie above 0 and at most 16.")
        paths = isinstance(self.rank_paths, list) and all(
            isinstance(path, list) and all(type(rank) is int for rank in path)
            for path in self.rank_paths
        )
        require(paths, "Rank paths are lists of whole numbers such as [[0], [0, 1]].")
        least = math.isfinite(self.suffix_least) and 0 < self.suffix_least <= 1
        require(least, "The least chance of a suffix guess must lie above 0 and at most 1.")

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
