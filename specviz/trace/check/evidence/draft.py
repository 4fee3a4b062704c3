"""A draft with everything that its evidence is compared with, and helpers to compare it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from specviz.settings.settings import Settings
from specviz.trace.check.expectations import TOLERANCE, expect
from specviz.trace.check.position import children
from specviz.trace.events import Guess, Header, Proposed
from specviz.trace.suffixes import Suffixes
from specviz.trace.work import Work

ROUNDED: Final = 5e-7  # rounding of probabilities that are recorded with six digits
NEAR: Final = ROUNDED + TOLERANCE  # tolerance where one of two probabilities is recorded so


@dataclass(slots=True)
class RunMemory:
    """What the drafts of one run have in common.

    Attributes:
        constants: Values that must be the same in all drafts, by name.
        known: The rows of a cache that stay from one draft to the next, for drafters whose number
            does not follow from the draft before alone.
        seen: The text, for a drafter that counts its suffixes.
        windows: For lookahead, the newest token (in a list) and the window, by round.
    """

    constants: dict[str, Any] = field(default_factory=dict)
    known: int = 0
    seen: Suffixes = field(default_factory=Suffixes)
    windows: dict[int, tuple[list[int], list[list[int]]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft of a round.

    Attributes:
        text: The tokens before the round, the newest last; only valid while the round is
            checked.
        depth: The largest depth that γ and the limit of tokens allow.
        before: The draft of the round before; None if there is none.
        accepted: The accepted nodes of the draft before, from the root down.
        memory: What the drafts of the run have in common.
    """

    proposed: Proposed
    text: Sequence[int]
    length: int
    depth: int
    eos: frozenset[int]
    settings: Settings
    header: Header
    before: Draft | None
    accepted: Sequence[int]
    memory: RunMemory

    @property
    def where(self) -> str:
        """The round, for messages."""
        return f"Round {self.proposed.round}"

    @property
    def guesses(self) -> Sequence[Guess]:
        """The guesses."""
        return self.proposed.guesses

    @property
    def remark(self) -> dict[str, Any]:
        """The data about the whole draft."""
        return self.proposed.remark or {}

    @property
    def depths(self) -> list[int]:
        """The depth of each guess, from 1."""
        return self.proposed.depths

    @property
    def deepest(self) -> int:
        """The largest depth of a guess; 0 if there is none."""
        return max(self.depths, default=0)

    @property
    def parents(self) -> list[int]:
        """The nodes that have guesses under them."""
        return sorted({guess.parent for guess in self.guesses})

    @property
    def new_tokens(self) -> int:
        """How many tokens the text has that it did not have at the draft before."""
        return self.length - (self.before.length if self.before else 0)

    @property
    def new_states(self) -> int:
        """How many states of the target are new since the last draft (not the newest)."""
        return self.new_tokens - (0 if self.before else 1)

    @property
    def in_order(self) -> bool:
        """Whether each level is read before the next is computed; not so on CUDA devices."""
        return not self.header.device.startswith("cuda")

    def read_above(self, depth: int) -> int:
        """Return the number of nodes above a depth, the root included."""
        return 1 + sum(own < depth for own in self.depths)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a form of evidence.

    Attributes:
        always: Keys of the remark, next to "form".
        drafted: Further keys of the remark of a draft that has guesses.
        optional: Keys of the remark or of a guess that may be missing.
    """

    always: frozenset[str] = frozenset()
    drafted: frozenset[str] = frozenset()
    each: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def of_remark(self) -> frozenset[str]:
        """All keys that the remark may have, next to "form"."""
        return self.always | self.drafted | self.optional

    @property
    def of_guess(self) -> frozenset[str]:
        """All keys that a guess's evidence may have."""
        return self.each | self.optional


def keys(always: str = "", drafted: str = "", each: str = "", optional: str = "") -> Keys:
    """Return the keys that are listed in these strings, separated by spaces."""
    return Keys(*(frozenset(words.split()) for words in (always, drafted, each, optional)))


@dataclass(frozen=True, slots=True)
class EvidenceRules:
    """What the evidence of a family of drafters must satisfy.

    Attributes:
        forms: The keys of each form that its remark may have; the form None has no remark.
        check: Compares the evidence and the work of a draft with the rest of the trace; raises
            CheckFailed.
        listed: Returns, for a node, recorded probabilities at temperature 1 of tokens under it,
            rounded to six digits; the guesses' scores need not be repeated.
    """

    forms: Mapping[str | None, Keys]
    check: Callable[[Draft], None]
    listed: Callable[[Draft, int], Mapping[int, float]] = lambda draft, node: {}


def check_keys(draft: Draft, rules: EvidenceRules) -> None:
    """Check that a draft has the evidence of its drafter."""
    form, where = draft.remark.get("form"), draft.where
    known = form is None or isinstance(form, str)
    expect(known and form in rules.forms, where, f"its evidence has the form {form!r:.40}")
    found = rules.forms[form]
    needed = found.always | (found.drafted if draft.guesses else frozenset())
    missing = sorted(needed - draft.remark.keys())
    expect(not missing, where, f"its remark has no {', '.join(missing)}")
    for node, guess in enumerate(draft.guesses, 1):
        missing = sorted(found.each - (guess.evidence or {}).keys())
        expect(not missing, f"{where}, node {node}", f"its evidence has no {', '.join(missing)}")


def expect_entries(entries: Mapping[str, Any], expected: Mapping[str, Any], where: str) -> None:
    """Raise CheckFailed unless recorded entries have the expected values."""
    for name, value in expected.items():
        found = entries.get(name)
        same = type(found) is type(value) and found == value
        expect(same, where, f"its {name} is {found!r:.80} but should be {value!r:.80}")


def expect_constant(draft: Draft, name: str, value: Any) -> None:
    """Raise CheckFailed unless a value is the same as in the run's earlier drafts."""
    first = draft.memory.constants.setdefault(name, value)
    problem = f"its {name} is {value!r:.80}, but was {first!r:.80} before"
    expect(value == first, draft.where, problem)


def read_count(entries: Mapping[str, Any], name: str, where: str) -> int:
    """Read a whole number, at least 0, from recorded entries of any form."""
    found = entries.get(name)
    if type(found) is not int or found < 0:
        expect(False, where, f"its {name!r} is {found!r:.40}, which is not a count")
        return 0
    return found


def expect_work(draft: Draft, expected: Work, exact: bool = True) -> None:
    """Raise CheckFailed unless the drafter read as many rows as its draft shows.

    Args:
        draft: The draft; without counts of its rows, nothing is checked.
        expected: The rows.
        exact: If false, more rows are possible.
    """
    work = draft.proposed.work
    if work is None:
        return
    for name in ("body", "head", "entry", "correction"):
        found, needed = getattr(work, name) or 0, getattr(expected, name) or 0
        fits = found == needed if exact else found >= needed
        problem = f"its work has {found!r} rows ({name}), but its draft needs {needed!r}"
        expect(fits, draft.where, problem)


def siblings_of(draft: Draft, node: int) -> list[int]:
    """Return the guesses beside a node, itself included, in order."""
    return children(draft.guesses, draft.guesses[node - 1].parent)


def evidence_of(guess: Guess) -> dict[str, Any]:
    """Return the data about a guess."""
    return guess.evidence or {}
