"""The settings of a run, their summary in words, and their command-line options.

Settings are checked when they are created. `specs` defines the meaning, default and range of each
setting; this module checks settings that depend on each other. While settings change, the page
builds the summary in the browser from the same specs: see `ROWS` in `specviz.ui.step.form`.
Standard library only.

`add_settings` adds them as options to an argparse parser, for the command line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Self

from specviz.settings.chance import Chance
from specviz.settings.specs import (
    MAX_GAMMA,
    MAX_GUESSES,
    MIN_TEMPERATURE,
    READ_BY_ALL,
    SEEDS,
    SETTING_SPECS,
    Candidates,
    ChatMode,
    Schedule,
    SettingSpec,
    default,
    find_spec,
)
from specviz.settings.suggestion import did_you_mean
from specviz.settings.value_types import (
    BadSettings,
    Choice,
    Integer,
    Real,
    UniformOverrides,
    ValueType,
    require,
)

__all__ = [
    "MAX_GUESSES",
    "BadSettings",
    "Candidates",
    "Sampling",
    "Schedule",
    "Settings",
    "max_gamma",
    "require",
    "tree_size",
]


def tree_size(siblings: Sequence[int], gamma: int) -> int:
    """Return the number of guesses in a full tree of depth γ.

    A tree has fewer if a branch reaches the end of the text.
    """
    level, total = 1, 0
    for width in [*siblings, *[1] * gamma][:gamma]:
        level *= width
        total += level
    return total


def max_gamma(siblings: Sequence[int]) -> int:
    """Return the largest γ for which a tree with these siblings has at most MAX_GUESSES."""
    return max(g for g in range(1, MAX_GAMMA + 1) if tree_size(siblings, g) <= MAX_GUESSES)


def _names(chosen: Any) -> list[str]:
    # Without the settings inside `sampling`.
    return [f.name for f in fields(chosen) if f.name != "sampling"]


def check_each(chosen: Any) -> None:
    """Check each setting of a dataclass against its spec.

    Raises:
        BadSettings: A value is not valid.
    """
    for name in _names(chosen):
        find_spec(name).check(getattr(chosen, name))


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits are converted to a distribution: temperature, top-k, top-p, in this order.

    Temperature 0 keeps only the top token; top_k 0 and top_p 1 keep every token.
    """

    temperature: float = default("temperature")
    top_k: int = default("top_k")
    top_p: float = default("top_p")

    def __post_init__(self) -> None:
        check_each(self)
        sentence = (
            f"Temperature {self.temperature} is too small to divide logits by: use 0 for greedy "
            f"decoding, or at least {MIN_TEMPERATURE:g}."
        )
        require(self.temperature == 0 or self.temperature >= MIN_TEMPERATURE, sentence)

    @property
    def greedy(self) -> bool:
        """Whether the temperature is 0, so that only the top token has probability."""
        return self.temperature == 0

    @property
    def cuts(self) -> bool:
        """Whether top-k or top-p may remove tokens."""
        return self.top_k > 0 or self.top_p < 1.0

    def fit(self, vocab_size: int) -> None:
        """Check that top-k is not larger than the vocabulary.

        Raises:
            BadSettings: top-k is larger.
        """
        sentence = (
            f"Top-k {self.top_k:,} is larger than the vocabulary of {vocab_size:,} tokens; "
            "use 0 to keep every token."
        )
        require(self.top_k <= vocab_size, sentence)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run. A trace's header stores them, so the run can be repeated.

    `SETTING_SPECS` defines each field. Some need more explanation:

    Attributes:
        siblings: Number of guesses after a node at each depth, beginning with the root. It is 1 for
            depths beyond the end of the list, so an empty list is a chain.
        rank_paths: The shape of the tree as paths of ranks; if empty, `siblings` is used.
        confidence: A guess with a lower probability is still verified, but nothing is drafted after
            it. (If it were dropped, rules would no longer be exact.)
        rule: A name in `specviz.verification.RULES`, or "auto".
        chat: "auto" means "chat" if the target's tokenizer has a chat template, otherwise "raw".
        coins: Random numbers set by hand ("what if?"), with keys from `chance.u_key`.
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
            f"{size:,} guesses; at most {MAX_GUESSES} are allowed. Choose fewer siblings or a "
            "smaller γ."
        )
        require(size <= MAX_GUESSES, sentence)
        raw = self.chat == "raw" and bool(self.system)
        require(not raw, "Raw text has no system turn: remove the system text or send a chat.")

    def at_depth(self, layers: int) -> Self:
        """Return settings with defaults that depend on the target's number of layers."""
        rows = [row for row in map(find_spec, _names(self)) if row.at_depth is not None]
        undecided = [row for row in rows if getattr(self, row.name) == row.default]
        return replace(
            self, **{row.name: row.at_depth(layers) for row in undecided if row.at_depth}
        )

    @property
    def branches(self) -> bool:
        """Whether a node can have more than one guess after it; otherwise the draft is a chain."""
        reached = self.gamma if self.schedule == "fixed" else MAX_GAMMA
        return max(self.siblings[:reached], default=1) > 1

    def width(self, depth: int) -> int:
        """Return the number of guesses after a node at `depth`; the root's depth is 0."""
        return self.siblings[depth] if depth < len(self.siblings) else 1

    def chance(self, round: int) -> Chance:
        """Return the random numbers of a round."""
        return Chance(self.seed, round, self.coins)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a trace's header."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Create settings from the result of `to_json`.

        Raises:
            BadSettings: A name is unknown or a value is not valid.
        """
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(data) - known)
        hint = did_you_mean(unknown[0], known) if unknown else ""
        require(not unknown, f"Unknown setting: {', '.join(unknown)}.{hint}")
        try:
            sampling = Sampling(**data.get("sampling", {}))
            return cls(**{**data, "sampling": sampling})
        except TypeError as error:
            raise BadSettings(f"These settings cannot be read: {error}.") from error


def summarize(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """Summarize a run's settings in a few words.

    Args:
        settings: Plain data as `Settings.to_json` writes it.
        reads: The settings that the run's drafter reads, if known; others are left out.
    """
    return " · ".join(words for _, words in summary_parts(settings, reads))


def summarize_draft(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """Return the settings of the draft (tree, depth, budget) in a few words; may be empty."""
    drafting = [row.name for row in SETTING_SPECS if row.group == "drafting"]
    parts = summary_parts(settings, reads)
    return " · ".join(words for name, words in parts if name in drafting)


def summary_parts(
    settings: Mapping[str, Any], reads: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """Return the parts of the summary as pairs: a setting's name and its text."""
    values = {**settings, **settings.get("sampling", {})}
    known = [row for row in SETTING_SPECS if row.name in values and is_relevant(row, reads)]
    shown = [(row, words) for row in known if (words := row.summary_text(values[row.name]))]
    replaced = {row.replaces for row, _ in shown}
    return [(row.name, words) for row, words in shown if row.name not in replaced]


def is_relevant(row: SettingSpec, reads: Sequence[str] | None) -> bool:
    """Return whether a setting affects the run: it affects all runs, or the drafter reads it."""
    if row.group != "drafting" or row.name in READ_BY_ALL:
        return True
    return not row.rarely_read if reads is None else row.name in reads


MAX_COUNT: Final = 1000  # maximum number of prompts per domain, and of repeats per prompt


def option_group(parser: argparse.ArgumentParser, heading: str) -> argparse._ArgumentGroup:
    """Return the option group with this heading, creating it on the first call."""
    groups: dict[str, argparse._ArgumentGroup] = vars(parser).setdefault("sections", {})
    if heading not in groups:
        groups[heading] = parser.add_argument_group(heading)
    return groups[heading]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting; if it is not given, the drafter's default applies."""
    for row in SETTING_SPECS:
        group = option_group(parser, row.heading)
        either = group.add_mutually_exclusive_group() if row.flags else None
        for word, text in row.flags:
            assert either is not None
            either.add_argument(
                "--" + word,
                dest=row.name,
                action="store_const",
                const=word,
                default=argparse.SUPPRESS,
                help=text,
            )
        if not row.flags and not isinstance(row.kind, UniformOverrides):
            group.add_argument(
                "--" + row.name.replace("_", "-"),
                type=option_type(row.parse),
                default=argparse.SUPPRESS,
                metavar=_metavar(row),
                help=_help(row),
            )


def _metavar(row: SettingSpec) -> str:
    if row.example:
        return row.example
    if isinstance(row.kind, Choice):
        return "{" + ",".join(row.kind.words) + "}"
    return "X" if isinstance(row.kind, Real) else "N"


def _help(row: SettingSpec) -> str:
    if isinstance(row.kind, Choice):
        return f"{row.help} ({', '.join(row.kind.words)})" if row.example else row.help
    return f"{row.help} ({row.kind.range})" if row.kind.range else row.help


def option_type(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap a parser as an argparse type that keeps the parser's error message."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except BadSettings as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error

    return convert


def seed_type(noun: str) -> Callable[[str], int]:
    """Return an argparse type for a 64-bit whole number; `noun` begins its error message."""
    return number_type(noun, SEEDS)


def count_type(noun: str, least: int, most: int) -> Callable[[str], int]:
    """Return an argparse type for a whole number from `least` to `most`; see `seed_type`."""
    return number_type(noun, Integer(least, most))


def number_type(noun: str, kind: ValueType) -> Callable[[str], Any]:
    """Return an argparse type for values of `kind`; `noun` begins its error message."""

    def parse(text: str) -> Any:
        value = kind.parse(noun, text)
        kind.check(noun, value)
        return value

    return option_type(parse)


def prompt_type(text: str) -> str:
    """Return the text of a prompt option; as an argparse type, it refuses invalid UTF-8."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise argparse.ArgumentTypeError("the prompt is not UTF-8")
    return text
