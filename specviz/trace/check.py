"""Judge a trace again: every coin, threshold, verdict, draw and total, from what is stored.

One rule: a claim counts only where the file itself gives its causes. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise

from specviz.settings.chance import Chance
from specviz.settings.settings import BadSettings, Settings
from specviz.trace.events import Drew, Guess, Interval, Judged, Proposed, Round, Rows
from specviz.trace.file import Trace
from specviz.trace.thresholds import TESTS

TINY = 1e-6  # a mass whose rounding would be magnified if it were divided by
TOLERANCE = 1e-6  # laws may be float32 (on MPS); on CPU and CUDA the true slack is near 1e-12


class CheckFailed(ValueError):
    """A trace that contradicts itself; says where, and what was found against what follows."""


def check(trace: Trace) -> None:
    """Raise CheckFailed at the first thing that does not follow; return where all does."""
    try:
        settings = Settings.from_json(trace.header.settings)
    except BadSettings as error:
        raise CheckFailed(f"Header: {error}") from error
    rule = trace.header.rule
    demand(rule in TESTS, "Header", f"the rule {rule!r} is not known here")
    text = list(trace.header.prompt_ids)
    for expected, played in enumerate(trace.rounds):
        where = f"Round {played.number}"
        demand(played.number == expected, where, f"round {expected} is missing")
        whole = played.scored is not None and played.committed is not None
        demand(whole, where, "the round was not finished")
        with fitting(where):
            check_round(played, text, rule, settings.chance(played.number))
        text += played.committed.tokens if played.committed else []
    line = f"Line {len(trace.events) + 1}"
    demand(trace.finished is not None, line, "the file ends before the run does")
    new = len(text) - len(trace.header.prompt_ids)
    demand(new <= settings.max_new_tokens, "End", "more tokens than the limit allows")
    with fitting("Vocabulary"):
        check_vocabulary(trace)


@contextmanager
def fitting(where: str) -> Iterator[None]:
    """Turn what unlike lengths, missing inputs and absurd numbers raise into CheckFailed."""
    try:
        yield
    except CheckFailed:
        raise
    except (ArithmeticError, LookupError, ValueError) as error:
        raise CheckFailed(f"{where}: its parts do not fit together ({error}).") from error


def check_round(played: Round, text: Sequence[int], rule: str, chance: Chance) -> None:
    """One round against itself and the text before it."""
    where = f"Round {played.number}"
    proposed = played.proposed
    guesses = proposed.guesses if proposed else []
    if proposed:
        demand(proposed.root == text[-1], where, "the root is not the text's last token")
        check_guesses(proposed, chance)
    for event in played.judged:
        place = f"{where}, node {event.node}"
        demand(1 <= event.node <= len(guesses), place, "no such node")
        check_judged(event, guesses[event.node - 1], rule, place)
    check_laws(played, guesses)
    check_siblings(played, guesses, rule)
    check_last_law(played, guesses, rule, where)
    path = check_walk(played, guesses, where)
    check_end(played, path, chance, where)


def check_guesses(proposed: Proposed, chance: Chance) -> None:
    """The coins of every node, and the draws that made sampled ones."""
    for node, guess in enumerate(proposed.guesses, 1):
        where = f"Round {proposed.round}, node {node}"
        same(guess.u, chance.judge(node), where, "the coin")
        demand(0 <= guess.parent < node, where, "its parent is not before it")
        sampled = proposed.drawn != "point-mass"
        demand((guess.q is not None) == sampled, where, "q is there exactly when it was sampled")
        if guess.drawn and guess.q is not None:
            same(guess.drawn.u, chance.draft(node), where, "the draw's u")
            check_interval(guess.drawn, guess.q, where)


def check_judged(event: Judged, guess: Guess, rule: str, where: str) -> None:
    """One decision: the threshold follows from its inputs, the inputs are in the rows."""
    same(event.threshold, TESTS[rule](event.inputs), where, "the threshold")
    same(event.u, guess.u, where, "the coin")
    rows = event.rows
    demand(guess.token in rows.tokens, where, "the judged token is not in the rows")
    at = rows.tokens.index(guess.token)
    close(event.inputs["p"], rows.p[at], where, "p")
    if "q" in event.inputs:
        demand(rows.q is not None, where, "a ratio needs q")
        close(event.inputs["q"], rows.q[at] if rows.q else math.nan, where, "q")
    check_rows(rows, guess.token, where)


def check_rows(rows: Rows, token: int, where: str) -> None:
    """Totals: p and q are 1; overlap and residual are what listed and lumped parts give."""
    q = rows.q or [1.0 if other == token else 0.0 for other in rows.tokens]
    close(math.fsum([*rows.p, rows.rest_p]), 1.0, where, "the total of p")
    close(math.fsum([*q, rows.rest_q]), 1.0, where, "the total of q")
    both = math.fsum([*map(min, rows.p, q), rows.rest_both])
    close(rows.overlap, both, where, "the overlap")
    above = math.fsum([*(max(a - b, 0.0) for a, b in zip(rows.p, q, strict=True))])
    close(rows.residual, above + rows.rest_residual, where, "the residual's mass")


def check_laws(played: Round, guesses: Sequence[Guess]) -> None:
    """A first sibling is judged by the target's own law; what was scored is what was judged."""
    scored = played.scored.p if played.scored else []
    where = f"Round {played.number}"
    demand(len(scored) == len(guesses), where, "a score for every guess")
    tried: set[int] = set()
    for event in played.judged:
        parent = guesses[event.node - 1].parent
        place = f"{where}, node {event.node}"
        demand((event.alpha is None) == (parent in tried), place, "α stands at the first sibling")
        if parent not in tried:
            close(event.inputs["p"], scored[event.node - 1], place, "p")
            check_alpha(event, scored, guesses, place)
        tried.add(parent)


def check_alpha(
    event: Judged, scored: Sequence[float], guesses: Sequence[Guess], where: str
) -> None:
    """α of a lone candidate is the overlap; of a point mass, the candidates' p together."""
    siblings = children(guesses, guesses[event.node - 1].parent)
    if event.rows.q is None:
        mass = {guesses[node - 1].token: scored[node - 1] for node in siblings}
        close(event.alpha or 0.0, math.fsum(mass.values()), where, "α")
    elif len(siblings) == 1:
        close(event.alpha or 0.0, event.rows.overlap, where, "α")


def check_siblings(played: Round, guesses: Sequence[Guess], rule: str) -> None:
    """A later sibling is judged by what the rejection before it left of p (and of q)."""
    for before, event in pairwise(played.judged):
        if before.accepted or rule == "greedy":
            continue
        where = f"Round {played.number}, node {event.node}"
        tried = guesses[before.node - 1].token
        left = remains(before.rows, tried)
        for token, p in zip(event.rows.tokens, event.rows.p, strict=True):
            if token in left:
                close(p, left[token], where, f"what was left of p at token {token}")
        if event.rows.q is not None and before.rows.q is not None:
            q = dict(zip(before.rows.tokens, before.rows.q, strict=True))
            scale = 1.0 if rule == "speculative" else 1.0 - q[tried]
            for token, found in zip(event.rows.tokens, event.rows.q, strict=True):
                if token in q and scale > TINY:
                    masked = token == tried and scale != 1.0
                    close(found, 0.0 if masked else q[token] / scale, where, "q")


def remains(rows: Rows, tried: int) -> dict[int, float]:
    """What a rejection of `tried` leaves of p at the listed tokens: (p − q)₊ scaled to 1.

    A point mass takes its own token out and nothing else. Empty where rounding is all there is.
    """
    q = rows.q or [1.0 if token == tried else 0.0 for token in rows.tokens]
    if rows.residual < TINY:
        return {}
    above = (max(a - b, 0.0) / rows.residual for a, b in zip(rows.p, q, strict=True))
    return dict(zip(rows.tokens, above, strict=True))


def check_last_law(played: Round, guesses: Sequence[Guess], rule: str, where: str) -> None:
    """The last token's law: what the last rejection left, or the target's own."""
    drew, scored = played.drew, played.scored
    if drew is None or scored is None:
        return
    known = {int(token): p for token, p in scored.top[drew.parent]}
    if drew.kind == "recovered" and rule != "greedy":
        last = played.judged[-1]
        known = remains(last.rows, guesses[last.node - 1].token)
        if known and drew.at_p is not None:
            q = drew.at_q or 0.0
            known |= {drew.token: max(drew.at_p - q, 0.0) / last.rows.residual}
    for token, p in zip(drew.tokens, drew.p, strict=True):
        if token in known:
            close(p, known[token], where, f"the last law at token {token}")


def check_walk(played: Round, guesses: Sequence[Guess], where: str) -> list[int]:
    """The judged nodes are those of a walk from the root, children in order: the kept path."""
    path: list[int] = []
    left = children(guesses, 0)
    for event in played.judged:
        demand(bool(left) and left[0] == event.node, where, f"node {event.node} is out of turn")
        left = left[1:]
        if event.accepted:
            path.append(event.node)
            left = children(guesses, event.node)
    open_end = bool(left) and (not played.judged or played.judged[-1].accepted)
    demand(not open_end and not left, where, "candidates were left untried")
    return path


def check_end(played: Round, path: Sequence[int], chance: Chance, where: str) -> None:
    """The last token: its draw, its kind, and that the round committed what was kept."""
    guesses = played.proposed.guesses if played.proposed else []
    emitted = [guesses[node - 1].token for node in path]
    drew = played.drew
    if drew:
        demand(drew.parent == (path[-1] if path else 0), where, "the last token's parent")
        kind = "plain" if not played.judged else "recovered"
        kind = "bonus" if played.judged and played.judged[-1].accepted else kind
        demand(drew.kind == kind, where, f"the last token is {kind}, not {drew.kind}")
        same(drew.drawn.u, chance.final(), where, "the draw's u")
        check_drew(drew, where)
        emitted.append(drew.token)
    committed = played.committed.tokens if played.committed else []
    demand(committed == emitted, where, "the committed tokens are not the kept ones")
    demand(bool(emitted), where, "a round adds at least one token")


def check_drew(drew: Drew, where: str) -> None:
    """u in its interval, the width the token's probability, the lower end what stands before."""
    at = drew.tokens.index(drew.token) if drew.token in drew.tokens else -1
    demand(at >= 0, where, "the drawn token is not in its law")
    check_interval(drew.drawn, drew.p[at], where)
    close(math.fsum([*drew.p, drew.rest_p]), 1.0, where, "the total of the last law")
    ordered = list(zip([-p for p in drew.p], drew.tokens, strict=True))
    demand(ordered == sorted(ordered), where, "the law is not by falling probability")
    if all(p > 0 for p in drew.p) and at < len(drew.p) - 1:
        # the token has listed ones below it, so all above it are listed
        lower = [0.0, *accumulate(drew.p)][at]
        close(drew.drawn.lo, lower, where, "the interval's lower end")


def check_interval(drawn: Interval, probability: float, where: str) -> None:
    """u lies in [lo, hi), whose width is the token's probability."""
    demand(drawn.lo <= drawn.u < drawn.hi, where, "u lies outside the drawn interval")
    close(drawn.hi - drawn.lo, probability, where, "the interval's width")


def check_vocabulary(trace: Trace) -> None:
    """The bytes of every emitted and guessed token are there."""
    known = trace.vocabulary
    for played in trace.rounds:
        guesses = played.proposed.guesses if played.proposed else []
        used = [guess.token for guess in guesses]
        used += played.committed.tokens if played.committed else []
        missing = [token for token in used if token not in known]
        demand(not missing, f"Round {played.number}", f"no bytes for tokens {missing[:3]}")


def children(guesses: Sequence[Guess], node: int) -> list[int]:
    """The children of a node in the order tried."""
    return [i for i, guess in enumerate(guesses, 1) if guess.parent == node]


def demand(holds: bool, where: str, problem: str) -> None:
    """Raise CheckFailed unless it holds."""
    if not holds:
        raise CheckFailed(f"{where}: {problem}.")


def same(found: float, follows: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two numbers are the same float."""
    demand(found == follows, where, f"{what} is {found!r}, but {follows!r} follows")


def close(found: float, follows: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two numbers agree up to rounding."""
    near = math.isfinite(found) and abs(found - follows) <= TOLERANCE
    demand(near, where, f"{what} is {found!r}, but {follows!r} follows")
