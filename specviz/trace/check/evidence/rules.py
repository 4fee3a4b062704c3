"""What the evidence of a family of drafters contains, and helpers to compare it with a draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specviz.trace.check.checked_round import Draft
from specviz.trace.check.expectations import TOLERANCE, expect
from specviz.trace.events import Guess
from specviz.trace.work import Work

ROUNDED: Final = 5e-7  # rounding of probabilities that are recorded with six digits
NEAR: Final = ROUNDED + TOLERANCE  # tolerance where one of two probabilities is recorded so


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
        expect(not missing, draft.node(node), f"its evidence has no {', '.join(missing)}")


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


def evidence_of(guess: Guess) -> dict[str, Any]:
    """Return the data about a guess."""
    return guess.evidence or {}
