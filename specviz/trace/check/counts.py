"""Check counts: sizes of the models, rows in a pass, and rows that a drafter read."""

from __future__ import annotations

import re
from typing import Final

from specviz.trace.check.expectations import expect
from specviz.trace.check.families import LOOKAHEAD, WITH_NETWORK, WITHOUT_NETWORK
from specviz.trace.events import Header, ModelCard, Proposed, Round
from specviz.trace.work import Work

MOST_PARAMETERS: Final = 10**14
MOST_BYTES: Final = 10**16
MOST_THREADS: Final = 4096
LEAST_BITS: Final = 1  # per weight
HASH: Final = re.compile("[0-9a-f]{64}")


def check_header_counts(header: Header) -> None:
    """Check that the sizes in the header are possible. Raises CheckFailed."""
    for who, card in (("target", header.target), ("drafter", header.drafter)):
        check_card(card, who)
    threads = 1 <= header.threads <= MOST_THREADS
    expect(threads, "Header", f"{header.threads!r} threads are not possible")
    expect(bool(header.prompt_ids), "Header", "the prompt has no tokens")


def check_card(card: ModelCard, who: str) -> None:
    """Check that a model's size and hash are possible."""
    possible = 0 <= card.parameters <= MOST_PARAMETERS
    expect(possible, "Header", f"the {who} cannot have {card.parameters!r} parameters")
    possible = 0 <= card.bytes <= MOST_BYTES
    expect(possible, "Header", f"the {who} cannot have {card.bytes!r} bytes")
    fits = card.bytes == 0 or 8 * card.bytes >= LEAST_BITS * card.parameters
    problem = f"{card.bytes!r} bytes are too few for the {who}'s {card.parameters!r} parameters"
    expect(fits, "Header", problem)
    hashed = card.hash is None or HASH.fullmatch(card.hash) is not None
    expect(hashed, "Header", f"the {who}'s hash is not a SHA-256")


def check_counts(played: Round, family: str, length: int, where: str) -> None:
    """Check the rows of a round's pass and of its draft.

    Args:
        played: The round.
        family: The drafter's family.
        length: The number of tokens before the round.
        where: The round, for messages.
    """
    guesses = len(played.proposed.guesses) if played.proposed else 0
    if played.scored:
        rows, least = played.scored.rows_in_pass, guesses + 1
        extra = extra_rows(played.proposed, family)
        fits = rows == least + extra if extra is not None else rows >= least
        expect(fits, where, f"its pass has {rows!r} rows instead of {least + (extra or 0)}")
        expect(rows <= length + MOST_THREADS, where, f"a pass cannot have {rows!r} rows")
    if played.proposed and played.proposed.work:
        check_work(played.proposed.work, guesses, family, length, where)


def extra_rows(proposed: Proposed | None, family: str) -> int | None:
    """Return how many rows beside the tree are in the pass; None if the file does not say."""
    if proposed is None:
        return 0
    if family != LOOKAHEAD:
        return 0 if family in WITH_NETWORK or family in WITHOUT_NETWORK else None
    found = (proposed.remark or {}).get("rows_window")
    return found if type(found) is int and found >= 0 else None


def check_work(work: Work, guesses: int, family: str, length: int, where: str) -> None:
    """Check the rows that the drafter's networks read: some if it guessed with one, else none."""
    counts = (work.body, work.head, work.entry)
    expect(min(counts) >= 0, where, f"the drafter read {min(counts)!r} rows")
    most = (length + guesses + 64) * (guesses + 64)  # all rows again for every guess
    expect(max(counts) <= most, where, f"the drafter cannot have read {max(counts)!r} rows")
    if family in WITHOUT_NETWORK:
        expect(not any(counts), where, f"{family} has no network, but it read rows")
    if family in WITH_NETWORK and guesses:
        expect(any(counts), where, f"{family} guessed, but its network read no rows")
