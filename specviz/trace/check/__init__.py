"""Recompute the values in a trace from its stored inputs, and find contradictions.

Random numbers, thresholds, verdicts, draws and totals are recomputed. A value whose inputs are not
stored cannot be checked; `list_assumptions` lists these. Standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from specviz.trace.check.completeness import (
    check_baseline,
    check_finished,
    check_has_rounds,
    check_once,
    check_order,
    check_vocabulary,
    check_whole,
)
from specviz.trace.check.drafting import (
    GammaReplay,
    check_depth,
    check_distinct,
    check_drafting,
    check_tree,
)
from specviz.trace.check.evidence import EvidenceReplay
from specviz.trace.check.expectations import CheckFailed, expect, malformed_fails
from specviz.trace.check.families import BUILT_IN, DraftLimits, check_counts
from specviz.trace.check.header import RunSpec, check_header_counts, read_run_spec
from specviz.trace.check.round import check_round
from specviz.trace.events import Header, Round
from specviz.trace.file import Trace

__all__ = ["CheckFailed", "check", "describe_losslessness", "list_assumptions"]


# Inputs of a rule's test that the listed tokens limit but do not determine.
WHOLE: Final = {"accept-reject": "M", "k-seq": "ρ", "typical": "The entropy"}


def check(trace: Trace) -> None:
    """Raise CheckFailed at the first contradiction; return if there is none."""
    with malformed_fails("Header"):
        plan = read_run_spec(trace.header)
        check_header_counts(trace.header)
    text = list(trace.header.prompt_ids)
    gammas, evidence = GammaReplay(plan.settings), EvidenceReplay(trace.header, plan.settings)
    family = trace.header.drafter.family
    drawn = {played.proposed.drawn for played in trace.rounds if played.proposed}
    for expected, played in enumerate(trace.rounds):
        where = f"Round {played.number}"
        with malformed_fails(where):
            check_whole(played, expected)
            limits = draft_limits(played, text, gammas.gamma, plan, trace.header)
            check_counts(played, family, len(text), where)
            check_round(played, text, plan, trace.header)
            if limits is not None and played.proposed is not None:
                check_drafting(played.proposed, family, plan.settings, limits, where)
            evidence.check(played, limits)
            gammas.observe(played)
            text += added_tokens(played)
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


def added_tokens(played: Round) -> Sequence[int]:
    """Return the tokens that a round adds, of which there is at least one."""
    added = played.committed.tokens if played.committed else []
    expect(bool(added), f"Round {played.number}", "it adds no token")
    return added


def draft_limits(
    played: Round, text: Sequence[int], gamma: int, plan: RunSpec, header: Header
) -> DraftLimits | None:
    """Return the limits of a round's draft, or None if the round has no draft.

    Args:
        played: The round.
        text: The tokens before it.
        gamma: γ of the round.
        plan: The settings and the rule that all rounds must follow.
        header: The trace's header. A draft of an unknown family is limited only by γ.
    """
    if played.proposed is None:
        return None
    where = f"Round {played.number}"
    left = plan.settings.max_new_tokens - (len(text) - len(header.prompt_ids))
    expect(left > 0, where, "it has more tokens than the limit allows")
    known = header.drafter.family in BUILT_IN
    limits = DraftLimits(text, min(gamma, left - 1) if known else gamma, plan.eos)
    check_tree(played.proposed, plan.eos, header.vocab_size, where)
    check_depth(played.proposed, limits.depth, where)
    if known:
        check_distinct(played.proposed, where)
    return limits


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
