"""A whole trace, part by part, and what no trace can prove."""

from __future__ import annotations

from collections import Counter
from typing import Final

from specviz.trace.check.demands import demand, fitting
from specviz.trace.check.ending import check_baseline, check_finished
from specviz.trace.check.header import plan
from specviz.trace.check.order import check_has_rounds, check_once, check_whole
from specviz.trace.check.round import check_round
from specviz.trace.check.words import check_vocabulary
from specviz.trace.events import Round
from specviz.trace.file import Trace

# What a rule's test reads that the listed tokens bound and do not tell.
WHOLE: Final = {"accept-reject": "M", "k-seq": "ρ", "typical": "The entropy"}


def check(trace: Trace) -> None:
    """Raise CheckFailed at the first thing that does not follow; return where all does."""
    held = plan(trace.header)
    text = list(trace.header.prompt_ids)
    for expected, played in enumerate(trace.rounds):
        where = f"Round {played.number}"
        check_whole(played, expected)
        with fitting(where):
            check_round(played, text, held, trace.header.vocab_size)
        added = played.committed.tokens if played.committed else []
        demand(bool(added), where, "a round adds at least one token")
        text += added
    check_once(trace.events)
    check_finished(trace, held)
    check_has_rounds(trace)
    with fitting("Baseline"):
        check_baseline(trace, held)
    with fitting("Vocabulary"):
        check_vocabulary(trace)


def unproven(trace: Trace) -> list[str]:
    """What `check` has to take on trust, in sentences."""
    sentences = ["No file proves who measured its seconds, or that these models gave its scores."]
    if trace.header.rule in WHOLE:
        fact = WHOLE[trace.header.rule]
        sentences.append(
            f"{fact} follows from whole laws; it is held against the few rows that a file keeps."
        )
    older = sum(map(_without_tries, trace.rounds))
    if older:
        sentences.append(
            f"α cannot be recomputed at {older} positions with several sampled guesses: the file "
            "is of before their tries were kept, when α was biased low."
        )
    return sentences


def _without_tries(played: Round) -> int:
    """Positions with several sampled guesses whose α the round does not let follow."""
    guesses = played.proposed.guesses if played.proposed else []
    siblings = Counter(guess.parent for guess in guesses)
    return sum(
        event.alpha is not None
        and event.tries is None
        and event.rows.q is not None
        and siblings[guesses[event.node - 1].parent] > 1
        for event in played.judged
    )
