"""Check that a run is complete: its rounds, their order, its end, its text, and its baseline.

Also check that the bytes of each token are given once, before its first use.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from specviz.trace.check.checked_round import CheckedRound
from specviz.trace.check.expectations import (
    TOLERANCE,
    expect,
    expect_duration,
    expect_pass_duration,
)
from specviz.trace.check.families import SHARING, UNIFORM, WITH_NETWORK, WITHOUT_NETWORK
from specviz.trace.check.header import LEAST_BITS, MOST_BYTES, RunSpec
from specviz.trace.check.sampling import check_margins
from specviz.trace.events import (
    Baseline,
    Committed,
    Drew,
    Event,
    Finished,
    Header,
    Judged,
    Proposed,
    Scored,
    Vocabulary,
)
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids

SPECIAL: Final = re.compile(r"<.*>|\[.*\]|", re.DOTALL)  # what special tokens usually look like
UNKNOWN: Final = re.compile(r"[<\[]unk[>\]]", re.IGNORECASE)
JOINTS: Final = re.compile(r"##|▁|\s+")  # what tokenizers add or remove between pieces


def check_vocabulary(trace: Trace) -> None:
    """Check that every token id has one byte string, and that the prompt's bytes spell its text."""
    known: dict[str, str] = {}
    header = trace.header
    for event in trace.events:
        if isinstance(event, Vocabulary):
            for token, spelling in event.tokens.items():
                inside = token == str(int(token)) and 0 <= int(token) < header.vocab_size
                expect(inside, "Vocabulary", f"{token!r:.40} is not a token id")
                bytes_ = all(letter <= "\xff" for letter in spelling)
                expect(bytes_, "Vocabulary", f"the bytes of token {token} are not latin-1 text")
                once = known.setdefault(token, spelling) == spelling
                expect(once, "Vocabulary", f"token {token} has two spellings")
            continue
        where, used = used_tokens(event)
        missing = [token for token in used if str(token) not in known]
        expect(not missing, where, f"no bytes for tokens {missing[:3]}")
    missing = [token for token in header.prompt_ids if trace.events and str(token) not in known]
    expect(not missing, "Header", f"no bytes for tokens {missing[:3]} of the prompt")
    for piece, ids in header.chat.tokens(header.prompt_ids) if header.chat else ():
        # Other tokens may differ, since a tokenizer may change the text first.
        spelled = [known.get(str(token)) for token in ids]
        same = piece.kind != "special" or spelled == [piece.text.encode().decode("latin-1")]
        expect(same, "Chat", f"its special token is not spelled {piece.text!r:.40}")
    check_prompt(header, known)


def used_tokens(event: Event) -> tuple[str, list[int]]:
    """Return a description of where an event is, and the token ids that it contains."""
    if isinstance(event, Baseline):
        return "Baseline", event.token_ids
    return f"Round {getattr(event, 'round', '?')}", [*shown_tokens(event)]


def shown_tokens(event: Event) -> Iterator[int]:
    """Yield the token ids in an event, without ids that occur only in the drafter's evidence."""
    if isinstance(event, Proposed):
        yield from (guess.token for guess in event.guesses)
    elif isinstance(event, Scored):
        yield from (int(pair[0]) for top in event.top for pair in top)
    elif isinstance(event, Judged):
        yield from event.rows.tokens
    elif isinstance(event, Drew | Committed):
        yield from event.tokens


def check_prompt(header: Header, known: Mapping[str, str]) -> None:
    """Check that the prompt's tokens spell the text that the model read.

    Special tokens at the ends are skipped. The bytes must equal the text, except for what
    tokenizers change: case, accents, compatibility characters and white space.
    """
    pieces = [known.get(str(token), "").encode("latin-1") for token in header.prompt_ids]
    text = header.model_text
    if any(UNKNOWN.fullmatch(decode_bytes(piece)) for piece in pieces):
        return  # part of the text is not in its tokens
    for start, end in text_spans(pieces, header):
        spelled = decode_bytes(b"".join(pieces[start:end]))
        if spelled == text or fold_text(spelled) == fold_text(text):
            return
    expect(False, "Header", "the prompt's tokens do not spell its text")


def text_spans(pieces: Sequence[bytes], header: Header) -> Iterator[tuple[int, int]]:
    """Yield the possible [start, end) of the text among the tokens, without special tokens."""
    special = [
        token in header.eos or SPECIAL.fullmatch(decode_bytes(piece)) is not None
        for token, piece in zip(header.prompt_ids, pieces, strict=True)
    ]
    size = len(pieces)
    before = [n for n in range(min(3, size + 1)) if all(special[:n])]
    after = [n for n in range(min(3, size + 1)) if all(special[size - n :])]
    yield from ((start, size - n) for start in before for n in after if start + n <= size)


def decode_bytes(spelling: bytes) -> str:
    """Decode bytes as UTF-8; invalid bytes become U+FFFD."""
    return spelling.decode("utf-8", errors="replace")


def fold_text(text: str) -> str:
    """Remove the differences that a tokenizer may cause from a text."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return JOINTS.sub("", letters)


PLAIN = "plain"  # family of a lane of plain decoding, which has a baseline but no rounds
STAGES = ("proposed", "scored", "judged", "drew", "committed")
ONCE = (Proposed, Scored, Drew, Committed)  # events of which a round has at most one


def check_whole(checked: CheckedRound, expected: int) -> None:
    """Check that a round is complete and is the expected one; all but round 0 need a draft."""
    played, where = checked.played, checked.where
    expect(played.number == expected, where, f"round {expected} is missing")
    whole = played.scored is not None and played.committed is not None
    expect(whole, where, "the round was not finished")
    drafted = played.proposed is not None
    problem = "every round but the first must have a proposal, and the first none"
    expect(drafted == (played.number > 0), where, problem)
    if played.proposed:
        expect_duration(played.proposed.seconds, where, "drafting")
    if played.scored:
        expect_pass_duration(played.scored.seconds, where, "the target pass")
    if played.committed:
        expect_duration(played.committed.judge_seconds, where, "judging")
        expect_duration(played.committed.commit_seconds, where, "updating the caches")


def check_once(events: Sequence[Event]) -> None:
    """Check that no event occurs twice or after the end of the run. Raises CheckFailed."""
    counts: Counter[tuple[str, int]] = Counter()
    ended = False
    for event in events:
        if isinstance(event, ONCE):
            counts[event.event, event.round] += 1
            first = counts[event.event, event.round] == 1
            expect(first, f"Round {event.round}", f"it has a second {event.event!r} event")
        if isinstance(event, Finished | Baseline):
            counts[event.event, 0] += 1
            expect(counts[event.event, 0] == 1, "End", f"there is a second {event.event!r} event")
        if isinstance(event, (*ONCE, Judged)):
            expect(not ended, f"Round {event.round}", "it comes after the run's end")
        ended = ended or isinstance(event, Finished)


def check_order(events: Sequence[Event]) -> None:
    """Check that the events of each round are in order, and that plain decoding comes last."""
    current, latest, ended = -1, "", False
    for event in events:
        if isinstance(event, (*ONCE, Judged)):
            if event.round != current:
                current, latest = event.round, ""
            in_order = not latest or STAGES.index(latest) <= STAGES.index(event.event)
            expect(in_order, f"Round {current}", f"{event.event!r} comes after {latest!r}")
            latest = event.event
        ended = ended or isinstance(event, Finished)
        early = isinstance(event, Baseline) and not ended
        expect(not early, "Baseline", "it comes before the run's end")


def check_has_rounds(trace: Trace) -> None:
    """Check that the run has rounds, unless it is plain decoding or was stopped immediately."""
    stopped = trace.finished is not None and trace.finished.reason == "stopped"
    plain = trace.header.drafter.family == PLAIN
    expect(bool(trace.rounds) or plain or stopped, "Rounds", "the run has no rounds")
    expect(not (trace.rounds and plain), "Rounds", "plain decoding cannot have rounds")


def end_reason(tokens: Sequence[int], plan: RunSpec) -> str:
    """Return why a text with these new tokens ends; "stopped" if no token is the reason."""
    if tokens and tokens[-1] in plan.eos:
        return "eos"
    return "limit" if len(tokens) == plan.settings.max_new_tokens else "stopped"


def check_text(tokens: Sequence[int], plan: RunSpec, where: str) -> None:
    """Check that new tokens are within the limit, and that none follows the end of the text."""
    limit = len(tokens) <= plan.settings.max_new_tokens
    expect(limit, where, "it has more tokens than the limit allows")
    ends = all(token not in plan.eos for token in tokens[:-1])
    expect(ends, where, "the text continues after its end")


def check_finished(trace: Trace, plan: RunSpec) -> None:
    """Check that the run ends, for a reason that agrees with the tokens. Raises CheckFailed."""
    finished = trace.finished
    if finished is None:
        expect(False, f"Line {len(trace.events) + 1}", "the file ends before the run does")
        return
    expect_duration(finished.trace_seconds, "End", "recording")
    check_memory(finished.held_bytes, trace.header)
    tokens = token_ids(trace)
    check_text(tokens, plan, "End")
    expected = end_reason(tokens, plan)
    problem = f"the reason is {finished.reason!r} but should be {expected!r}"
    expect(finished.reason == expected, "End", problem)


def check_memory(used: int | None, header: Header) -> None:
    """Check the memory that a drafter and its session used at the end, if it was measured.

    A drafter holds its own weights, a blind guess one probability per token, and other drafters
    without a network nothing. The oracle and early exits use the target's weights.
    """
    if used is None:
        return
    expect(0 <= used <= MOST_BYTES, "End", f"{used!r} bytes of memory are not possible")
    family, drafter, target = header.drafter.family, header.drafter, header.target
    if family in WITHOUT_NETWORK:
        size = header.vocab_size if family == UNIFORM else 0
        fits = used in (4 * size, 8 * size)  # without float64, a probability has 4 bytes
        expect(fits, "End", f"{family} cannot hold {used!r} bytes of memory")
    same = drafter.hash is not None and drafter.hash == target.hash
    if family in WITH_NETWORK - SHARING and not same:
        fits = 8 * used >= LEAST_BITS * drafter.parameters
        problem = f"{used!r} bytes are too few for the drafter's {drafter.parameters!r} parameters"
        expect(fits, "End", problem)


def check_baseline(trace: Trace, plan: RunSpec) -> None:
    """Check that plain decoding is complete and, at temperature 0, gives the same text."""
    plain = trace.baseline
    if plain is None:
        return
    check_passes(plain, plan.settings.sampling.greedy)
    check_text(plain.token_ids, plan, "Baseline")
    inside = all(0 <= token < trace.header.vocab_size for token in plain.token_ids)
    expect(inside, "Baseline", "a token is outside the vocabulary")
    stopped = trace.finished is not None and trace.finished.reason == "stopped"
    ended = end_reason(plain.token_ids, plan) != "stopped"
    expect(ended or (stopped and not trace.rounds), "Baseline", "it stops before the text ends")
    found = baseline_difference(trace) if trace.rounds and not stopped else None
    if found is not None and not found.near_tie:
        apart = "" if found.margin is None else f", with logits {found.margin:.2g} apart"
        problem = f"new token {found.position + 1} differs from plain decoding's{apart}"
        expect(not trace.header.lossless, "Baseline", problem)
    check_margins(trace, plain)
    check_first(trace, plain, plan)


def check_first(trace: Trace, plain: Baseline, plan: RunSpec) -> None:
    """Check that the first token of plain decoding is a sample of round 0's distribution."""
    drew = trace.rounds[0].drew if trace.rounds else None
    if drew is None or not plain.token_ids or plan.settings.sampling.greedy:
        return
    token, u = plain.token_ids[0], plan.settings.chance(0).baseline()
    totals = [0.0, *accumulate(drew.p)]
    if token in drew.tokens[:-1]:  # unlisted tokens may be more probable than the last listed one
        at = drew.tokens.index(token)
        fits = totals[at] - TOLERANCE <= u <= totals[at + 1] + TOLERANCE
    else:
        fits = u >= totals[-2] - TOLERANCE
    expect(fits, "Baseline", "its first token is not the one that its u selects")


def check_passes(plain: Baseline, greedy: bool) -> None:
    """Check the seconds of every pass, and at temperature 0 the margins and top logits, too."""
    size = len(plain.token_ids)
    expect(len(plain.seconds) == size, "Baseline", "it does not have a time for every token")
    for seconds in plain.seconds:
        expect_pass_duration(seconds, "Baseline", "a pass")
    only_greedy = (plain.margins is not None) == greedy
    expect(only_greedy, "Baseline", "it must have margins at temperature 0 and only there")
    for logits in (plain.margins, plain.tops):
        fits = logits is None or len(logits) == size
        expect(fits, "Baseline", "it does not have a margin for every token")
    finite = all(map(math.isfinite, [*(plain.margins or []), *(plain.tops or [])]))
    expect(finite, "Baseline", "a logit is not a number")
    expect(min(plain.margins or [0.0]) >= 0, "Baseline", "a margin is below 0")
