"""Every setting of a run, declared once: one row each, from which all that shows it follows.

Rule: what is checked, the option of the command line, the field of the page, its text, the sentence
and the hiding of what a drafter ignores read these rows and name no setting. Standard library only.

A new setting is a row here and a field of `Settings`; a test says that neither lacks the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from specviz.settings.kinds import Coins, Kind, Paths, Real, Whole, Wholes, Word

Schedule = Literal["fixed", "learning"]


Candidates = Literal["sampled", "greedy"]


Group = Literal["drafting", "sampling", "run"]
MAX_GAMMA: Final = 64
MAX_GUESSES: Final = 128  # in a whole tree: the target scores all of them in one pass
SEEDS: Final = Whole(-(2**63), 2**63 - 1, words="fit in 64 bits")
COLDEST: Final = 1e-30  # a score of float32 divided by it is a number still, in float64


@dataclass(frozen=True, slots=True)
class Knob:
    """One setting.

    name: of the field. noun: how sentences call it. help: what it does, for an option. label: what
    the page calls its field; empty where the page has none. group: of the page; all of "sampling"
    is in `Sampling`. slider: the field's least, most and step. placeholder: of a field to type in.
    example: of the option's value. brief: the setting in a run's sentence, its value for {}; empty
    where that does not name it. instead: of which setting it takes the place there. few: whether
    few families read it, so that it is said only where it is known to be read. at_depth: what its
    default stands for on a target of so many layers.
    """

    name: str
    kind: Kind
    default: Any
    noun: str
    help: str = ""
    label: str = ""
    group: Group = "drafting"
    slider: tuple[float, float, float] | None = None
    placeholder: str = ""
    example: str = ""
    brief: str = ""
    instead: str = ""
    few: bool = False
    at_depth: Callable[[int], Any] | None = None

    def check(self, value: Any) -> None:
        """Raise BadSettings unless a run can have this value."""
        self.kind.check(self.noun, value)

    def read(self, value: Any) -> Any:
        """The value that a text, or a form's number, says. Raises BadSettings."""
        return self.kind.read(self.noun, value)

    def filled(self, value: Any) -> Any:
        """The value as the page's field has it: a list as text, all else as it is."""
        return self.kind.text(value, " ") if isinstance(value, list) else value

    def said(self, value: Any) -> str:
        """The value in a run's sentence; empty where that does not name it."""
        words = self.kind.brief(value) if self.brief else ""
        return self.brief.replace("{}", words) if words else ""


# In the order in which a run's sentence names them; the page takes group by group.
KNOBS: Final[tuple[Knob, ...]] = (
    Knob(
        "temperature",
        Real(0, 100),
        0.8,
        "Temperature",
        "what scores are divided by before a token is drawn; 0 is greedy",
        label="Temperature",
        group="sampling",
        slider=(0, 2, 0.1),
        brief="T {}",
    ),
    Knob(
        "top_k",
        Whole(0),
        0,
        "Top-k",
        "tokens that may be drawn; 0 keeps every token",
        label="Top-k (0: every token)",
        group="sampling",
    ),
    Knob(
        "top_p",
        Real(0, 1, above=True),
        1.0,
        "Top-p",
        "mass of the tokens that may be drawn; 1 keeps every token",
        label="Top-p",
        group="sampling",
        slider=(0.05, 1, 0.05),
    ),
    Knob(
        "candidates",
        Word(get_args(Candidates), ("Sampled", "Top token")),
        "sampled",
        "Candidates",
        "whether a model drafter draws its guesses or takes its top tokens",
        label="Its guesses are",
    ),
    Knob(
        "siblings",
        Wholes(1, 8, 16, "A node can have {} guesses under it"),
        [],
        "Siblings at each depth",
        "guesses under a node, by depth, such as 3,2; 1 where the list ends",
        label="Siblings at each depth",
        placeholder="like 3, 2",
        example="N,N,...",
        brief="tree {}",
    ),
    Knob(
        "rank_paths",
        Paths(),
        [],
        "Rank paths",
        "a static tree of heads that guess side by side, such as 0;1;0,0 (medusa_choices)",
        label="Or paths by rank",
        placeholder="like 0; 1; 0,0",
        example="N,...;N,...",
        brief="{} paths",
        instead="siblings",
        few=True,
    ),
    Knob(
        "gamma",
        Whole(1, MAX_GAMMA),
        5,
        "γ",
        "drafted tokens in a chain, at most: how deep a draft goes",
        label="γ, guesses in a row",
        slider=(1, 16, 1),
        brief="γ {}",
    ),
    Knob(
        "schedule",
        Word(get_args(Schedule), ("Fixed", "+2 after a clean sweep, else −1")),
        "fixed",
        "The γ schedule",
        "learning: γ grows by 2 after a clean sweep, else falls by 1, as transformers' heuristic",
        label="How γ goes on",
    ),
    Knob(
        "confidence",
        Real(0, 1, below=True),
        0.0,
        "The confidence to go on",
        "draft-model, layerskip: the least chance of a guess to go on from it",
        label="Least chance to go on",
        slider=(0, 0.95, 0.05),
        few=True,
    ),
    Knob(
        "budget",
        Whole(1, MAX_GUESSES),
        24,
        "The budget of a dynamic tree",
        "eagle2, eagle3, moa: guesses of the tree that the target checks",
        label="Budget: guesses kept",
        slider=(1, 64, 1),
        brief="best {}",
        few=True,
    ),
    Knob(
        "fan_out",
        Whole(1, 16),
        6,
        "The fan-out of a dynamic tree",
        "eagle2, eagle3, moa: guesses weighed under a node, and nodes gone on from",
        label="Weighed under each",
        slider=(1, 12, 1),
        few=True,
    ),
    Knob(
        "exit_layer",
        Whole(0, 256),
        0,
        "The exit layer",
        "layerskip: the layer after which a draft leaves the target; 0: half of its layers",
        label="Exit layer (0: half)",
        slider=(0, 11, 1),
        few=True,
        at_depth=lambda layers: max(1, layers // 2),
    ),
    Knob(
        "suffix_factor",
        Real(0, 16, above=True),
        1.0,
        "The suffix factor",
        "suffix: how deep a draft may go, in lengths of its match",
        label="Depth, × the match",
        slider=(0.5, 4, 0.5),
        few=True,
    ),
    Knob(
        "suffix_least",
        Real(0, 1, above=True),
        0.1,
        "The least chance of a suffix guess",
        "suffix: the least chance that counts must give a guess",
        label="Least chance",
        slider=(0.05, 1, 0.05),
        few=True,
    ),
    Knob(
        "lookahead_window",
        Whole(1, 16),
        5,
        "The lookahead window",
        "lookahead: W, positions in the window",
        label="Window W, positions",
        slider=(1, 15, 1),
        few=True,
    ),
    Knob(
        "lookahead_ngram",
        Whole(3, 8),
        4,
        "The length of lookahead's n-grams",
        "lookahead: N, tokens in an n-gram",
        label="N, tokens in an n-gram",
        slider=(3, 8, 1),
        few=True,
    ),
    Knob(
        "lookahead_guesses",
        Whole(1, 16),
        5,
        "The number of n-grams that lookahead tries",
        "lookahead: G, n-grams tried in a pass",
        label="G, n-grams tried",
        slider=(1, 15, 1),
        few=True,
    ),
    Knob("ngram_min", Whole(1, 32), 1, "The shortest n-gram", "ngram: shortest match looked for"),
    Knob("ngram_max", Whole(1, 32), 3, "The longest n-gram", "ngram: longest match looked for"),
    Knob("rule", Word(), "auto", "The rule", "a verification rule, or auto for one that fits"),
    Knob(
        "seed",
        SEEDS,
        1,
        "The seed",
        "fixes every coin of the run",
        label="Seed",
        group="run",
        brief="seed {}",
    ),
    Knob(
        "max_new_tokens",
        Whole(1, 4096),
        64,
        "New tokens",
        "how long the run is, at most",
        label="New tokens",
        group="run",
        slider=(1, 256, 1),
    ),
    Knob("coins", Coins(), {}, "Coins"),
)


def knob(name: str) -> Knob:
    """The row of this name. Raises KeyError where there is none."""
    return {row.name: row for row in KNOBS}[name]


def usual(name: str) -> Any:
    """The default of a field of a dataclass, as its row says it."""
    default = knob(name).default
    return field(default_factory=default.copy) if isinstance(default, list | dict) else default


def fields_of(group: Group) -> Iterator[Knob]:
    """The settings that have a field in this group of the page."""
    return (row for row in KNOBS if row.group == group and row.label)
