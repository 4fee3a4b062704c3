"""The contract of a drafter: eleven checks, as plain functions that need no test runner.

A check uses a drafter through its protocol only, so it works for drafters outside the package too.
Each check returns None or raises `ContractBroken` with a sentence; `check_drafter` runs all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from specviz.drafters.contract.checks import (
    a_fresh_session_says_the_same,
    ends_exactly_there,
    greedy_is_generate,
    keeps_to_the_room,
    missing_states_are_refused,
    nan_is_a_sentence,
    nothing_follows_an_end,
    sampled_runs_check_and_replay,
    sessions_do_not_disturb_each_other,
    stops_at_its_limit,
    tokens_follow_the_target,
)
from specviz.drafters.contract.harness import Case, ContractBroken

__all__ = ["LAWS", "Case", "ContractBroken", "check_drafter", "check_law"]

Law = Callable[[Case], None]

LAWS: Final[dict[str, Law]] = {
    "greedy is `generate` token for token": greedy_is_generate,
    "sampled runs check and replay": sampled_runs_check_and_replay,
    "tokens of real runs follow the target": tokens_follow_the_target,
    "a run stops exactly at its limit": stops_at_its_limit,
    "a draft keeps to the room": keeps_to_the_room,
    "nothing follows an end of text": nothing_follows_an_end,
    "a text ends exactly there": ends_exactly_there,
    "two sessions do not disturb each other": sessions_do_not_disturb_each_other,
    "a fresh session says the same": a_fresh_session_says_the_same,
    "NaN is a sentence": nan_is_a_sentence,
    "missing states are refused": missing_states_are_refused,
}


def check_drafter(case: Case, laws: Iterable[str] | None = None) -> None:
    """Run all checks on a drafter, or the named ones.

    Raises:
        ContractBroken: At the first check that fails.
    """
    for name in LAWS if laws is None else laws:
        check_law(name, case)


def check_law(name: str, case: Case) -> None:
    """Run one check.

    Raises:
        ContractBroken: If the check fails, or the drafter raises any other exception.
    """
    try:
        LAWS[name](case)
    except ContractBroken as broken:
        raise ContractBroken(f"Broken: {name}. {broken}") from broken
    except Exception as error:
        raise ContractBroken(f"Broken: {name}. {type(error).__name__}: {error}") from error
