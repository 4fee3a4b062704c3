"""Counts: of models in the header, of rows in a pass, and of the rows that a drafter read."""

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
LEAST_BITS: Final = 1  # a weight takes at least so many
HASH: Final = re.compile("[0-9a-f]{64}")


def check_header_counts(header: Header) -> None:
    """Raise CheckFailed where a size in the header is negative or larger than can be."""
    for who, card in (("target", header.target), ("drafter", header.drafter)):
        check_card(card, who)
    threads = 1 <= header.threads <= MOST_THREADS
    expect(threads, "Header", f"{header.threads!r} threads cannot have computed it")
    expect(bool(header.prompt_ids), "Header", "the prompt has no tokens")


def check_card(card: ModelCard, who: str) -> None:
    """One model: parameters and bytes that can be, and a hash that is one."""
    possible = 0 <= card.parameters <= MOST_PARAMETERS
    expect(possible, "Header", f"the {who} cannot have {card.parameters!r} parameters")
    possible = 0 <= card.bytes <= MOST_BYTES
    expect(possible, "Header", f"the {who} cannot have {card.bytes!r} bytes")
    fits = card.bytes == 0 or 8 * card.bytes >= LEAST_BITS * card.parameters
    problem = f"{card.bytes!r} bytes cannot hold the {who}'s {card.parameters!r} parameters"
    expect(fits, "Header", problem)
    hashed = card.hash is None or HASH.fullmatch(card.hash) is not None
    expect(hashed, "Header", f"the {who}'s hash is no SHA-256")


def check_counts(played: Round, family: str, length: int, where: str) -> None:
    """Rows of one round's pass and of its draft. length: of the text before it, in tokens."""
    guesses = len(played.proposed.guesses) if played.proposed else 0
    if played.scored:
        rows, least = played.scored.rows_in_pass, guesses + 1
        extra = extra_rows(played.proposed, family)
        fits = rows == least + extra if extra is not None else rows >= least
        expect(fits, where, f"its pass has {rows!r} rows, but {least + (extra or 0)} follow")
        expect(rows <= length + MOST_THREADS, where, f"no pass has {rows!r} rows")
    if played.proposed and played.proposed.work:
        check_work(played.proposed.work, guesses, family, length, where)


def extra_rows(proposed: Proposed | None, family: str) -> int | None:
    """How many rows beside the tree travel in the pass; None where the file does not tell."""
    if proposed is None:
        return 0
    if family != LOOKAHEAD:
        return 0 if family in WITH_NETWORK or family in WITHOUT_NETWORK else None
    found = (proposed.remark or {}).get("rows_window")
    return found if type(found) is int and found >= 0 else None


def check_work(work: Work, guesses: int, family: str, length: int, where: str) -> None:
    """Rows that the drafter's own networks read: some where it guessed with one, else none."""
    counts = (work.body, work.head, work.entry)
    expect(min(counts) >= 0, where, f"the drafter read {min(counts)!r} rows")
    most = (length + guesses + 64) * (guesses + 64)  # every row anew for every guess
    expect(max(counts) <= most, where, f"the drafter cannot have read {max(counts)!r} rows")
    if family in WITHOUT_NETWORK:
        expect(not any(counts), where, f"{family} has no network, and it read rows")
    if family in WITH_NETWORK and guesses:
        expect(any(counts), where, f"{family} guessed, and its network read no rows")
