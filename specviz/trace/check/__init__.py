"""Recompute a trace from its stored inputs: random numbers, thresholds, verdicts, draws, totals.

A claim in the file counts only if the file also stores its inputs; `list_assumptions` lists the
claims that no trace can prove. Standard library only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specviz.settings.settings import BadSettings, Settings
from specviz.trace.chat import Chat
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
from specviz.trace.check.families import (
    BUILT_IN,
    CheckFailed,
    DraftLimits,
    check_counts,
    expect,
    malformed_fails,
)
from specviz.trace.check.round import check_round
from specviz.trace.events import Header, ModelCard, Proposed, Round
from specviz.trace.file import Trace
from specviz.trace.rule_specs import (
    RULE_SPECS,
    Drawn,
    RuleSpec,
    parse_rule,
    refuse_rule,
    select_rule,
)

MOST_PARAMETERS: Final = 10**14
MOST_BYTES: Final = 10**16
MOST_THREADS: Final = 4096
LEAST_BITS: Final = 1  # per weight
HASH: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The expectations that the rounds are checked against.

    Attributes:
        settings: The run's settings.
        spec: The rule's spec.
        eos: The tokens that end a text.
        parameters: The rule's parameters, by name.
    """

    settings: Settings
    spec: RuleSpec
    eos: frozenset[int]
    parameters: Mapping[str, float]


def read_run_spec(header: Header) -> RunSpec:
    """Read the header. Raises CheckFailed if it claims what its rule does not guarantee."""
    try:
        settings = Settings.from_json(header.settings)
    except BadSettings as error:
        raise CheckFailed(f"Header: {error}") from error
    expect(header.rule in RULE_SPECS, "Header", f"the rule {header.rule!r} is not known here")
    spec = RULE_SPECS[header.rule]
    fact = f"the rule {header.rule!r} is {'' if spec.lossless else 'not '}lossless"
    expect(header.lossless == spec.lossless, "Header", f"{fact}, but the header denies it")
    name, parameters = _parse_rule(settings.rule)
    chosen = name in ("auto", header.rule)
    expect(chosen, "Header", f"the rule {settings.rule!r} was chosen, not {header.rule!r}")
    ids = [*header.prompt_ids, *header.eos]
    known = all(0 <= token < header.vocab_size for token in ids)
    expect(known, "Header", "a token id is outside the vocabulary")
    check_chat(header, settings)
    return RunSpec(settings, spec, frozenset(header.eos), parameters)


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


def _parse_rule(rule: str) -> tuple[str, dict[str, float]]:
    try:
        return parse_rule(rule)
    except ValueError as error:
        raise CheckFailed(f"Header: {error}") from error


def check_drawn(proposed: Proposed, plan: RunSpec, where: str) -> None:
    """Check that the rule takes such candidates, and that "auto" selects it for them."""
    drawn, sampling = Drawn(proposed.drawn), plan.settings.sampling
    problem = refuse_rule(plan.spec, drawn, sampling)
    expect(problem is None, where, (problem or "").rstrip("."))
    name = plan.spec.name
    expected = select_rule(drawn, sampling) if plan.settings.rule == "auto" else name
    expect(name == expected, where, f"the rule is {name!r}, but {expected!r} fits the candidates")


CHAT = "Chat"


def check_chat(header: Header, settings: Settings) -> None:
    """Check the turns against the settings and the pieces against the prompt."""
    chat = header.chat
    if chat is None:
        expect(settings.chat != "chat", CHAT, "the settings say chat, but the prompt is raw text")
        expect(not settings.system, CHAT, "the settings have a system text, but there is no turn")
        return
    expect(settings.chat != "raw", CHAT, "the settings say raw text, but the prompt has turns")
    check_turns(header, chat, settings)
    check_pieces(header, chat)
    for turn in range(len(chat.turns)):
        check_typed(chat, turn)


def check_turns(header: Header, chat: Chat, settings: Settings) -> None:
    """Check that the last turn is the prompt and the first is the settings' system text, if any."""
    last = chat.turns[-1] if chat.turns else None
    is_prompt = last is not None and last.role == "user" and last.text == header.prompt
    expect(is_prompt, CHAT, "its last turn is not the prompt")
    if settings.system:
        first = chat.turns[0]
        is_system = (
            len(chat.turns) == 2 and first.role == "system" and first.text == settings.system
        )
        expect(is_system, CHAT, "its first turn is not the system text")


def check_pieces(header: Header, chat: Chat) -> None:
    """Check that the pieces cover the prompt's tokens in order, and no typed piece is special."""
    total = sum(piece.tokens for piece in chat.pieces)
    least = min((piece.tokens for piece in chat.pieces), default=0)
    whole = least >= 0 and total == len(header.prompt_ids)
    expect(whole, CHAT, "its pieces are not all of the prompt's tokens")
    special = chat.special(header.prompt_ids)
    for piece, ids in chat.tokens(header.prompt_ids):
        single = piece.kind != "special" or piece.tokens == 1
        expect(single, CHAT, f"{piece.text!r:.40} is not one special token")
        typed = piece.kind == "typed" and not special.isdisjoint(ids)
        expect(not typed, CHAT, "the typed text contains a special token")
    turns = [-1 if piece.turn is None else piece.turn for piece in chat.pieces]
    ordered = turns == sorted(turns) and all(-1 <= turn <= len(chat.turns) for turn in turns)
    expect(ordered, CHAT, "its pieces are not in the order of its turns")


def check_typed(chat: Chat, turn: int) -> None:
    """Check a turn's typed text; a template may strip white space from its ends."""
    own = [p.text for p in chat.pieces if p.turn == turn and p.kind == "typed"]
    text = chat.turns[turn].text
    allowed = {text, text.strip(), text.lstrip(), text.rstrip()}
    expect(bool(own) and set(own) <= allowed, CHAT, f"turn {turn + 1} is not the typed text")


__all__ = ["CheckFailed", "check", "describe_losslessness", "list_assumptions"]


# Inputs of a rule's test that the listed tokens limit but do not determine.
WHOLE: Final = {"accept-reject": "M", "k-seq": "ρ", "typical": "The entropy"}


def check(trace: Trace) -> None:
    """Raise CheckFailed at the first contradiction; return if there is none."""
    with malformed_fails("Header"):
        plan = read_run_spec(trace.header)
        check_header_counts(trace.header)
    text = list(trace.header.prompt_ids)
    gammas, family = GammaReplay(plan.settings), trace.header.drafter.family
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
            gammas.observe(played)
            added = played.committed.tokens if played.committed else []
            expect(bool(added), where, "it adds no token")
        text += added
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


def draft_limits(
    played: Round, text: Sequence[int], gamma: int, plan: RunSpec, header: Header
) -> DraftLimits | None:
    """Return the limits of a round's draft; None without a draft. Raises CheckFailed.

    Args:
        played: The round.
        text: The tokens before it.
        gamma: γ of the round.
        plan: The expectations that follow from the header.
        header: The trace's header. An unknown drafter family is limited only by γ.
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
    """Say in a sentence whether the text follows the target's distribution."""
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
    """Return the number of positions with several sampled guesses whose α cannot be recomputed."""
    guesses = played.proposed.guesses if played.proposed else []
    siblings = Counter(guess.parent for guess in guesses)
    return sum(
        event.alpha is not None
        and event.tries is None
        and event.rows.q is not None
        and siblings[guesses[event.node - 1].parent] > 1
        for event in played.judged
    )
