"""Every setting of a run, declared once: one row each, from which all that shows it follows.

Rule: what is checked, the option of the command line, the field of the page, its text, the sentence
and the hiding of what a drafter ignores read these rows and name no setting. Standard library only.

A new setting is a row here and a field of `Settings`; a test says that neither lacks the other.
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
MAX_GUESSES: Final = 128  # in a whole tree: the target scores all of them in one pass
SEEDS: Final = Integer(-(2**63), 2**63 - 1, words="fit in 64 bits")
MIN_TEMPERATURE: Final = 1e-30  # a score of float32 divided by it is a number still, in float64
# What judges a run's guesses, and what a list calls it.
RULES: Final = (
    ("auto", "The rule that fits"),
    ("block", "Block verification (chains)"),
    ("traversal", "Traversal verification (trees)"),
    ("point-mass", "Point mass: p(x), then mask"),
    ("k-seq", "k-SEQ"),
    ("accept-reject", "Accept-reject (von Neumann)"),
    ("lenience", "Lossy: lenience"),
    ("ensemble", "Lossy: a mean of both models"),
    ("typical", "Lossy: typical acceptance"),
    ("relaxed", "Lossy: relaxed acceptance"),
    ("thresholds", "Lossy: thresholds"),
    ("unverified", "Lossy: no verification"),
)


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting.

    name: of the field. noun: how sentences call it. help: what it does, in a line, for its option
    and its field. label: what
    the page calls its field; empty where the page has none. group: of the page; all of "sampling"
    is in `Sampling`. slider: the field's least, most and step. placeholder: of a field to type in.
    example: of the option's value. brief: the setting in a run's sentence, its value for {}; empty
    where that does not name it. instead: of which setting it takes the place there. few: whether
    few families read it, so that it is said only where it is known to be read. everyone: whether
    all do, since it is the engine's. at_depth: what its
    default stands for on a target of so many layers. flags: by word, the help of an option of its
    own; where there are some, the setting has no other option. heading: of its option in the help.
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
        """What it does, as a sentence."""
        return self.help[0].upper() + self.help[1:] + "."

    def check(self, value: Any) -> None:
        """Raise BadSettings unless a run can have this value."""
        self.kind.check(self.noun, value)

    def parse(self, value: Any) -> Any:
        """The value that a text, or a form's number, says. Raises BadSettings."""
        return self.kind.parse(self.noun, value)

    def form_value(self, value: Any) -> Any:
        """The value as the page's field has it: a list as text, all else as it is."""
        return self.kind.text(value, " ") if isinstance(value, list) else value

    def summary_text(self, value: Any) -> str:
        """The value in a run's sentence; empty where that does not name it."""
        words = self.kind.brief(value) if self.brief else ""
        return self.brief.replace("{}", words) if words else ""


# In the order in which a run's sentence names them; the page takes group by group.
SETTING_SPECS: Final[tuple[SettingSpec, ...]] = (
    SettingSpec(
        "temperature",
        Real(0, 100),
        0.8,
        "Temperature",
        "divides scores before sampling: low is cautious, high is varied, 0 takes the top token",
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
        "only this many of the likeliest tokens can be sampled; 0 keeps all",
        label="Top-k (0: every token)",
        group="sampling",
        heading="sampling",
    ),
    SettingSpec(
        "top_p",
        Real(0, 1, above=True),
        1.0,
        "Top-p",
        "only the likeliest tokens that together have this probability are sampled; 1 keeps all",
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
        "a model drafter samples its guesses from q, or takes its likeliest tokens",
        label="Its guesses are",
    ),
    SettingSpec(
        "siblings",
        IntegerList(1, 8, 16, "A node can have {} guesses under it"),
        [],
        "Siblings at each depth",
        "alternatives at each depth: 3,2 is three first tokens and two under each; then 1",
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
        "a tree by ranks: 0;1;0,0 is the top first token, the second, and the top one under 0",
        label="Or paths by rank",
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
        "how many tokens ahead it guesses, at most: more can be kept, and more can be wasted",
        label="γ, guesses in a row",
        slider=(1, 16, 1),
        brief="γ {}",
    ),
    SettingSpec(
        "schedule",
        Choice(get_args(Schedule), ("Fixed", "+2 after a clean sweep, else −1")),
        "fixed",
        "The γ schedule",
        "learning, as in transformers: 2 more after a round that kept every guess, else 1 fewer",
        label="How γ goes on",
    ),
    SettingSpec(
        "confidence",
        Real(0, 1, below=True),
        0.0,
        "The confidence to go on",
        "drafting stops after a guess less probable than this (draft-model, layerskip)",
        label="Least chance to go on",
        slider=(0, 0.95, 0.05),
        rarely_read=True,
    ),
    SettingSpec(
        "budget",
        Integer(1, MAX_GUESSES),
        24,
        "The budget of a dynamic tree",
        "how many guesses of the grown tree the target checks (eagle2, eagle3, moa)",
        label="Budget: guesses kept",
        slider=(1, 64, 1),
        brief="best {}",
        rarely_read=True,
        heading="draft tree",
    ),
    SettingSpec(
        "fan_out",
        Integer(1, 16),
        6,
        "The fan-out of a dynamic tree",
        "tokens considered under a node, and nodes expanded at a depth (eagle2, eagle3, moa)",
        label="Weighed under each",
        slider=(1, 12, 1),
        rarely_read=True,
        heading="draft tree",
    ),
    SettingSpec(
        "exit_layer",
        Integer(0, 256),
        0,
        "The exit layer",
        "the layer of the target at which drafting stops; 0 is half of them (layerskip)",
        label="Exit layer (0: half)",
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
        "the longest draft, as a multiple of the length of the match (suffix)",
        label="Depth, × the match",
        slider=(0.5, 4, 0.5),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "suffix_least",
        Real(0, 1, above=True),
        0.1,
        "The least chance of a suffix guess",
        "a guess must have followed its match at least this often before (suffix)",
        label="Least chance",
        slider=(0.05, 1, 0.05),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "lookahead_window",
        Integer(1, 16),
        5,
        "The lookahead window",
        "W: positions that are guessed in parallel in a pass (lookahead)",
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
        "N: the length of the n-grams in its pool (lookahead)",
        label="N, tokens in an n-gram",
        slider=(3, 8, 1),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "lookahead_guesses",
        Integer(1, 16),
        5,
        "The number of n-grams that lookahead tries",
        "G: how many n-grams of its pool are tried in a pass (lookahead)",
        label="G, n-grams tried",
        slider=(1, 15, 1),
        rarely_read=True,
        heading="settings of one drafter",
    ),
    SettingSpec(
        "ngram_min",
        Integer(1, 32),
        1,
        "The shortest n-gram",
        "the shortest match that is looked for (ngram)",
        heading="settings of one drafter",
    ),
    SettingSpec(
        "ngram_max",
        Integer(1, 32),
        3,
        "The longest n-gram",
        "the longest match that is looked for (ngram)",
        heading="settings of one drafter",
    ),
    SettingSpec(
        "rule",
        RuleName(*zip(*RULES, strict=True)),
        "auto",
        "The rule",
        "how guesses are verified; auto takes the lossless rule that fits",
        label="Judged by",
        brief="{}",
        example="NAME[:N,...]",
        read_by_all=True,
        heading="verification",
    ),
    SettingSpec(
        "chat",
        Choice(get_args(ChatMode), ("If it has a template", "Chat", "Raw text")),
        "auto",
        "The prompt's form",
        "a chat turn, as the model's template writes it, or raw text to continue",
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
        "a first turn that tells the model how to answer; empty leaves it to the chat template",
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
        "fixes every coin: the same seed gives the same run",
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
        "how many tokens the run adds, at most",
        label="New tokens",
        group="run",
        slider=(1, 256, 1),
        heading="sampling",
    ),
    SettingSpec("coins", UniformOverrides(), {}, "Coins"),
)


READ_BY_ALL: Final = tuple(
    row.name for row in SETTING_SPECS if row.read_by_all
)  # read with any drafter


def find_spec(name: str) -> SettingSpec:
    """The row of this name. Raises KeyError where there is none."""
    return {row.name: row for row in SETTING_SPECS}[name]


def default(name: str) -> Any:
    """The default of a field of a dataclass, as its row says it."""
    default = find_spec(name).default
    return field(default_factory=default.copy) if isinstance(default, list | dict) else default


def page_fields(group: Group) -> Iterator[SettingSpec]:
    """The settings that have a field in this group of the page."""
    return (row for row in SETTING_SPECS if row.group == group and row.label)
