"""The specification of every setting of a run.

Checks, options, fields of the page, help and a run's summary are generated from them. A setting
needs a spec here and a field of `Settings`; a test checks both. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from specviz.settings.value_types import (
    Choice,
    Integer,
    IntegerList,
    RankPathList,
    Real,
    RuleName,
    Text,
    UniformOverrides,
    ValueType,
)

Schedule = Literal["fixed", "learning"]
Candidates = Literal["sampled", "greedy"]
ChatMode = Literal["auto", "chat", "raw"]
Group = Literal["drafting", "sampling", "run", "prompt"]
MAX_GAMMA: Final = 64
MAX_GUESSES: Final = 128  # maximum guesses in a whole tree, which the target scores in one pass
SEEDS: Final = Integer(-(2**63), 2**63 - 1, words="fit in 64 bits")
MIN_TEMPERATURE: Final = 1e-30  # small, but float32 logits divided by it are finite in float64
# The verification rules, with their titles on the page.
RULES: Final = (
    ("auto", "Automatic: the lossless rule that fits"),
    ("block", "Block verification (chains)"),
    ("traversal", "Traversal verification (trees)"),
    ("point-mass", "Point mass: p(x), then remove x"),
    ("k-seq", "k-SEQ"),
    ("accept-reject", "Accept-reject (von Neumann)"),
    ("lenience", "Lossy: lenience"),
    ("ensemble", "Lossy: weighted mean of both models"),
    ("typical", "Lossy: typical acceptance"),
    ("relaxed", "Lossy: relaxed acceptance"),
    ("thresholds", "Lossy: thresholds"),
    ("fly", "Lossy: FLy (chains)"),
    ("unverified", "Lossy: no verification"),
)


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting of a run.

    Attributes:
        name: The name of its field in `Settings` or `Sampling`.
        default: The default value.
        help: A one-line description for the command line and the page.
        label: The label of its field on the page; empty if it has no field there.
        group: The group on the page. All settings of "sampling" are fields of `Sampling`.
        slider: Minimum, maximum and step of a slider; None for a text field.
        example: Placeholder of the value in the help of the command line.
        brief: Text in a run's summary, with {} for the value; empty if it is left out.
        replaces: The setting that is left out of the summary if this one has a text there.
        rarely_read: Whether a summary shows it only if the drafter reads it, as few
            drafters do.
        read_by_all: Whether it affects runs of all drafters, because the engine reads it.
        at_depth: Computes the default from the target's number of layers.
        flags: Values that have a flag each instead of one option, with the flags' help.
        heading: Heading above the option in the help of the command line.
    """

    name: str
    kind: ValueType
    default: Any
    noun: str
    help: str = ""
    label: str = ""
    group: Group = "drafting"
    slider: tuple[float, float, float] | None = None
    placeholder: str = ""
    example: str = ""
    brief: str = ""
    replaces: str = ""
    rarely_read: bool = False
    read_by_all: bool = False
    at_depth: Callable[[int], Any] | None = None
    flags: tuple[tuple[str, str], ...] = ()
    heading: str = "drafting"

    @property
    def sentence(self) -> str:
        """Return the help text as a sentence."""
        return self.help[0].upper() + self.help[1:] + "."

    def check(self, value: Any) -> None:
        """Check a value; see `ValueType.check`."""
        self.kind.check(self.noun, value)

    def parse(self, value: Any) -> Any:
        """Parse text or a form's number; see `ValueType.parse`."""
        return self.kind.parse(self.noun, value)

    def form_value(self, value: Any) -> Any:
        """Return the value for the page's field: a list as text, any other value unchanged."""
        return self.kind.text(value, " ") if isinstance(value, list) else value

    def summary_text(self, value: Any) -> str:
        """Return the text in a run's summary; empty if the summary leaves it out."""
        words = self.kind.brief(value) if self.brief else ""
        return self.brief.replace("{}", words) if words else ""


# Settings in the order of a run's summary; the page shows them by group.
SETTING_SPECS: Final[tuple[SettingSpec, ...]] = (
    SettingSpec(
        "temperature",
        Real(0, 100),
        0.8,
        "Temperature",
        "divides logits before sampling: low is cautious, high is varied, 0 takes the top token",
        label="Temperature",
        group="sampling",
        slider=(0, 2, 0.1),
        brief="T {}",
        heading="sampling",
    ),
    SettingSpec(
        "top_k",
        Integer(0),
        0,
        "Top-k",
        "sample only from this many of the most probable tokens; 0 keeps all",
        label="Top-k (0: every token)",
        group="sampling",
        heading="sampling",
    ),
    SettingSpec(
        "top_p",
        Real(0, 1, above=True),
        1.0,
        "Top-p",
        "sample only from the most probable tokens with this total probability; 1 keeps all",
        label="Top-p",
        group="sampling",
        slider=(0.05, 1, 0.05),
        heading="sampling",
    ),
    SettingSpec(
        "candidates",
        Choice(get_args(Candidates), ("Sampled", "Top token")),
        "sampled",
        "Candidates",
        "whether a draft model samples its guesses from q or takes its most probable tokens",
        label="Draft model's guesses",
    ),
    SettingSpec(
        "siblings",
        IntegerList(1, 8, 16, "A node can have {} guesses after it"),
        [],
        "Siblings at each depth",
        "guesses after each node, by depth: 3,2 means three first tokens, two after each, then one",
        label="Siblings at each depth",
        placeholder="like 3, 2",
        example="N,N,...",
        brief="tree {}",
        heading="draft tree",
    ),
    SettingSpec(
        "rank_paths",
        RankPathList(),
        [],
        "Rank paths",
        "guesses as paths of ranks: 0 and 1 are the two likeliest, 0,0 the likeliest after 0",
        label="Tree as rank paths",
        placeholder="like 0; 1; 0,0, or medusa-63",
        example="N,...;N,...",
        brief="{} paths",
        replaces="siblings",
        rarely_read=True,
        heading="draft tree",
    ),
    SettingSpec(
        "gamma",
        Integer(1, MAX_GAMMA),
        5,
        "γ",
        "the most tokens that the drafter guesses ahead: more can be accepted, more can be wasted",
        label="γ, guesses in a row",
        slider=(1, 16, 1),
        brief="γ {}",
    ),
    SettingSpec(
        "schedule",
        Choice(get_args(Schedule), ("Fixed", "Learning: +2 or −1")),
        "fixed",
        "The γ schedule",
        "learning, as in transformers: γ grows by 2 if all were accepted, else shrinks by 1",
        label="How γ changes",
    ),
    SettingSpec(
        "confidence",
        Real(0, 1, below=True),
        0.0,
        "The confidence threshold",
        "stop drafting at a guess less probable than this (DSpark: less likely to be accepted)",
        label="Minimum confidence",
        slider=(0, 0.95, 0.05),
        rarely_read=True,
    ),
    SettingSpec(
        "budget",
        Integer(1, MAX_GUESSES),
        24,
        "The budget of a dynamic tree",
        "guesses of a dynamic tree that are checked (EAGLE-2, EAGLE-3, MoA, JetSpec)",
        label="Budget: guesses kept",
        slider=(1, 64, 1),
        brief="budget {}",
        rarely_read=True,
        heading="draft tree",
    ),
    SettingSpec(
        "fan_out",
        Integer(1, 16),
        6,
        "The fan-out of a dynamic tree",
        "at each depth, k guesses get k successors (EAGLE-2, EAGLE-3, MoA; in JetSpec, each can)",
        label="Fan-out per guess",
        slider=(1, 12, 1),
        rarely_read=True,
        heading="draft tree",
    ),
    SettingSpec(
        "exit_layer",
        Integer(0, 256),
        0,
        "The exit layer",
        "the target layer whose output is used for drafting; 0 is the middle one (LayerSkip)",
        label="Exit layer",
        slider=(0, 11, 1),
        rarely_read=True,
        at_depth=lambda layers: max(1, layers // 2),
        heading="settings of one drafter",
    ),
    SettingSpec(
        "suffix_factor",
        Real(0, 16, above=True),
        1.0,
        "The suffix factor",
        "the longest draft, as a multiple of the match's length (Suffix tree)",
        label="Longest draft ÷ match",
        slider=(0.5, 4, 0.5),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "suffix_least",
        Real(0, 1, above=True),
        0.1,
        "The least probability of a suffix guess",
        "guess a token only if it came next in at least this share of matches (Suffix tree)",
        label="Minimum probability",
        slider=(0.05, 1, 0.05),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "lookahead_window",
        Integer(1, 16),
        5,
        "The lookahead window",
        "W: positions guessed in parallel in a pass (Lookahead)",
        label="Window W, positions",
        slider=(1, 15, 1),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "lookahead_ngram",
        Integer(3, 8),
        4,
        "The length of lookahead's n-grams",
        "N: the length of the n-grams in Lookahead's pool",
        label="N, tokens in an n-gram",
        slider=(3, 8, 1),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "lookahead_guesses",
        Integer(1, 16),
        5,
        "The number of n-grams that lookahead checks",
        "G: n-grams of Lookahead's pool that are checked in a pass",
        label="G, n-grams checked",
        slider=(1, 15, 1),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "ngram_min",
        Integer(1, 32),
        1,
        "The shortest n-gram",
        "the shortest match to look for (N-gram)",
        heading="settings of one drafter",
    ),
    SettingSpec(
        "ngram_max",
        Integer(1, 32),
        3,
        "The longest n-gram",
        "the longest match to look for (N-gram)",
        heading="settings of one drafter",
    ),
    SettingSpec(
        "rule",
        RuleName(*zip(*RULES, strict=True)),
        "auto",
        "The rule",
        "the rule that verifies guesses; auto is the lossless one that fits the guesses",
        label="Verification rule",
        brief="{}",
        example="NAME[:N,...]",
        read_by_all=True,
        heading="verification",
    ),
    SettingSpec(
        "chat",
        Choice(get_args(ChatMode), ("Chat if the model has a template", "Chat", "Raw text")),
        "auto",
        "The prompt's form",
        "a chat turn formatted by the model's template, or raw text to continue",
        label="Send the prompt as",
        group="prompt",
        flags=(
            ("chat", "send the prompt as a chat turn (default if the model has a chat template)"),
            ("raw", "send the prompt as raw text to continue"),
        ),
        heading="prompt",
    ),
    SettingSpec(
        "system",
        Text(4000),
        "",
        "The system text",
        "instructions to the model, as the first turn; if empty, the chat template decides",
        label="System text",
        group="prompt",
        placeholder="like: Answer in one sentence.",
        example="TEXT",
        brief="{}",
        heading="prompt",
    ),
    SettingSpec(
        "seed",
        SEEDS,
        1,
        "The seed",
        "determines every random number: the same seed gives the same run",
        label="Seed",
        group="run",
        brief="seed {}",
        heading="sampling",
    ),
    SettingSpec(
        "max_new_tokens",
        Integer(1, 4096),
        64,
        "New tokens",
        "how many tokens the run adds at most",
        label="New tokens",
        group="run",
        slider=(1, 256, 1),
        heading="sampling",
    ),
    SettingSpec("coins", UniformOverrides(), {}, "Coins"),
)


READ_BY_ALL: Final = tuple(row.name for row in SETTING_SPECS if row.read_by_all)


def find_spec(name: str) -> SettingSpec:
    """Return the spec of a setting. Raises KeyError if there is none."""
    return {row.name: row for row in SETTING_SPECS}[name]


def default(name: str) -> Any:
    """Return a dataclass field's default, or its factory for a list or dict, from its spec."""
    default = find_spec(name).default
    return field(default_factory=default.copy) if isinstance(default, list | dict) else default


def page_fields(group: Group) -> Iterator[SettingSpec]:
    """Yield the settings of a group that have a field on the page."""
    return (row for row in SETTING_SPECS if row.group == group and row.label)
