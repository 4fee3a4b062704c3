"""A whole trace, part by part, and what no trace can prove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from specviz.trace.check.counts import check_counts, check_header_counts
from specviz.trace.check.drafting import (
    GammaReplay,
    check_depth,
    check_distinct,
    check_drafting,
    check_tree,
)
from specviz.trace.check.ending import check_baseline, check_finished
from specviz.trace.check.expectations import expect, malformed_fails
from specviz.trace.check.families import BUILT_IN
from specviz.trace.check.full import DraftLimits
from specviz.trace.check.header import RunSpec, read_run_spec
from specviz.trace.check.order import check_has_rounds, check_once, check_order, check_whole
from specviz.trace.check.round import check_round
from specviz.trace.check.vocabulary import check_vocabulary
from specviz.trace.events import Header, Round
from specviz.trace.file import Trace

# What a rule's test reads that the listed tokens bound and do not tell.
WHOLE: Final = {"accept-reject": "M", "k-seq": "ρ", "typical": "The entropy"}


def check(trace: Trace) -> None:
    """Raise CheckFailed at the first thing that does not follow; return where all does."""
    with malformed_fails("Header"):
        held = read_run_spec(trace.header)
        check_header_counts(trace.header)
    text = list(trace.header.prompt_ids)
    depths, family = GammaReplay(held.settings), trace.header.drafter.family
    drawn = {played.proposed.drawn for played in trace.rounds if played.proposed}
    for expected, played in enumerate(trace.rounds):
        where = f"Round {played.number}"
        with malformed_fails(where):
            check_whole(played, expected)
            room = draft_limits(played, text, depths.gamma, held, trace.header)
            check_counts(played, family, len(text), where)
            check_round(played, text, held, trace.header)
            if room is not None and played.proposed is not None:
                check_drafting(played.proposed, family, held.settings, room, where)
            depths.observe(played)
            added = played.committed.tokens if played.committed else []
            expect(bool(added), where, "a round adds at least one token")
        text += added
    expect(len(drawn) < 2, "Rounds", "guesses are drawn in one way throughout a run")
    with malformed_fails("End"):
        check_once(trace.events)
        check_order(trace.events)
        check_finished(trace, held)
        check_has_rounds(trace)
    with malformed_fails("Baseline"):
        check_baseline(trace, held)
    with malformed_fails("Vocabulary"):
        check_vocabulary(trace)


def draft_limits(
    played: Round, text: Sequence[int], gamma: int, held: RunSpec, header: Header
) -> DraftLimits | None:
    """What a round's draft had room for; None where there is none. Raises CheckFailed.

    text: before it. A foreign drafter is held to γ alone.
    """
    if played.proposed is None:
        return None
    where = f"Round {played.number}"
    left = held.settings.max_new_tokens - (len(text) - len(header.prompt_ids))
    expect(left > 0, where, "more tokens than the limit allows")
    known = header.drafter.family in BUILT_IN
    room = DraftLimits(text, min(gamma, left - 1) if known else gamma, held.eos)
    check_tree(played.proposed, held.eos, header.vocab_size, where)
    check_depth(played.proposed, room.depth, where)
    if known:
        check_distinct(played.proposed, where)
    return room


def describe_losslessness(trace: Trace) -> str:
    """What may be said of the run's text: whose distribution it follows, in a sentence."""
    header = trace.header
    coins = len(header.settings.get("coins", {}))
    if coins:
        places = "1 place" if coins == 1 else f"{coins} places"
        return f"Coins set by hand in {places}; not a sample."
    what = "" if header.lossless else "not "
    return f"The rule {header.rule!r} is {what}lossless."


def list_assumptions(trace: Trace) -> list[str]:
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
