"""The contract that every drafter must fulfil: twelve checks that need no test runner.

A check uses a drafter through its protocol only, so it works for drafters outside the package too.
Each check returns None or raises `ContractBroken`; `check_drafter` runs all checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from specviz.drafters.contract.checks import (
    drafts_no_deeper_than_allowed,
    fresh_session_proposes_the_same,
    greedy_equals_generate,
    guess_does_not_decide_itself,
    missing_states_raise,
    nan_weights_raise,
    nothing_follows_end_token,
    run_stops_at_limit,
    sampled_runs_replay,
    sessions_are_independent,
    text_ends_at_end_token,
    tokens_follow_target_distribution,
)
from specviz.drafters.contract.harness import Case, ContractBroken

__all__ = ["CHECKS", "Case", "ContractBroken", "check_drafter", "run_check"]

Check = Callable[[Case], None]

CHECKS: Final[dict[str, Check]] = {
    "greedy output equals `generate`": greedy_equals_generate,
    "sampled runs replay": sampled_runs_replay,
    "tokens follow the target's distribution": tokens_follow_target_distribution,
    "a sampled guess does not decide whether it is proposed": guess_does_not_decide_itself,
    "a run stops at its limit": run_stops_at_limit,
    "a draft is no deeper than allowed": drafts_no_deeper_than_allowed,
    "nothing follows an end token": nothing_follows_end_token,
    "a text ends at its first end token": text_ends_at_end_token,
    "sessions are independent": sessions_are_independent,
    "a fresh session proposes the same": fresh_session_proposes_the_same,
    "NaN weights raise BadScores": nan_weights_raise,
    "missing states raise ValueError": missing_states_raise,
}


def check_drafter(case: Case, checks: Iterable[str] | None = None) -> None:
    """Run all checks on a drafter, or only the checks named in `checks`.

    Raises:
        ContractBroken: At the first check that fails.
    """
    for name in CHECKS if checks is None else checks:
        run_check(name, case)


def run_check(name: str, case: Case) -> None:
    """Run one check.

    Raises:
        ContractBroken: If the check fails, or the drafter raises any other exception.
    """
    try:
        CHECKS[name](case)
    except ContractBroken as broken:
        raise ContractBroken(f"Broken: {name}. {broken}") from broken
    except Exception as error:
        raise ContractBroken(f"Broken: {name}. {type(error).__name__}: {error}") from error
