"""Recompute the values in a trace from its stored inputs, and find contradictions.

Random numbers, thresholds, verdicts, draws and totals are recomputed. A value whose inputs are not
stored cannot be checked; `list_assumptions` lists these. Standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from specviz.trace.check.checked_round import CheckedRound
from specviz.trace.check.completeness import (
    check_baseline,
    check_finished,
    check_has_rounds,
    check_once,
    check_order,
    check_vocabulary,
    check_whole,
)
from specviz.trace.check.drafting import DraftReplay, check_drafting
from specviz.trace.check.evidence import check_evidence
from specviz.trace.check.expectations import CheckFailed, expect, malformed_fails
from specviz.trace.check.families import check_counts
from specviz.trace.check.header import check_header_counts, read_run_spec
from specviz.trace.check.round import check_round
from specviz.trace.events import Round
from specviz.trace.file import Trace

__all__ = ["CheckFailed", "check", "describe_losslessness", "list_assumptions"]


# Inputs of a rule's test that the listed tokens limit but do not determine.
WHOLE: Final = {"accept-reject": "M", "k-seq": "ρ", "typical": "The entropy"}


def check(trace: Trace) -> None:
    """Raise CheckFailed at the first contradiction; return if there is none."""
    with malformed_fails("Header"):
        plan = read_run_spec(trace.header)
        check_header_counts(trace.header)
    text, drafts = list(trace.header.prompt_ids), DraftReplay(plan)
    drawn = {played.proposed.drawn for played in trace.rounds if played.proposed}
    for expected, played in enumerate(trace.rounds):
        checked = CheckedRound(played, text, plan, trace.header)
        with malformed_fails(checked.where):
            check_whole(checked, expected)
            draft = drafts.begin(checked)
            check_counts(checked)
            check_round(checked)
            if draft is not None:
                check_drafting(draft)
                check_evidence(draft)
                drafts.end(draft)
            text += added_tokens(checked)
    expect(len(drawn) < 2, "Rounds", "guesses are sampled in more than one way")
    with malformed_fails("End"):
        check_once(trace.events)
        check_order(trace.events)
        check_finished(trace, plan)
        check_has_rounds(trace)
    with malformed_fails("Baseline"):
        check_baseline(trace, plan)
    with malformed_fails("Vocabulary"):
        check_vocabulary(trace)


def added_tokens(checked: CheckedRound) -> Sequence[int]:
    """Return the tokens that a round adds, of which there is at least one."""
    added = checked.committed.tokens
    expect(bool(added), checked.where, "it adds no token")
    return added


def describe_losslessness(trace: Trace) -> str:
    """Return a sentence that says whether the text follows the target's distribution."""
    header = trace.header
    chosen = len(header.settings.get("coins", {}))
    if chosen:
        coins = "1 coin was" if chosen == 1 else f"{chosen} coins were"
        return f"{coins} set by hand, so the text is not a sample."
    negation = "" if header.lossless else "not "
    return f"The rule {header.rule!r} is {negation}lossless."


def list_assumptions(trace: Trace) -> list[str]:
    """Return sentences on the claims that `check` cannot verify."""
    sentences = ["A file cannot prove its times, or that these models gave its scores."]
    if trace.header.rule in WHOLE:
        fact = WHOLE[trace.header.rule]
        sentences.append(
            f"{fact} depends on whole distributions; it is checked against the few rows stored."
        )
    older = sum(map(_without_tries, trace.rounds))
    if older:
        sentences.append(
            f"α cannot be recomputed at {older} positions with several sampled guesses: the file "
            "was written before tries were stored, when α was biased low."
        )
    return sentences


def _without_tries(played: Round) -> int:
    # Positions with several sampled guesses, whose α cannot be verified.
    guesses = played.proposed.guesses if played.proposed else []
    siblings = Counter(guess.parent for guess in guesses)
    return sum(
        event.alpha is not None
        and event.tries is None
        and event.rows.q is not None
        and siblings[guesses[event.node - 1].parent] > 1
        for event in played.judged
    )
