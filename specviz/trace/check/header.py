"""Check the header, which precedes the first round: sizes, settings, rule and chat prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specviz.settings.settings import BadSettings, Settings
from specviz.trace.chat import Chat
from specviz.trace.check.expectations import CheckFailed, expect
from specviz.trace.events import Header, ModelCard, Proposed
from specviz.trace.rule_choice import refuse_rule, select_rule
from specviz.trace.rule_specs import RULE_SPECS, Cut, Drawn, RuleSpec, parse_rule

MOST_PARAMETERS: Final = 10**14
MOST_BYTES: Final = 10**16
MOST_THREADS: Final = 4096
LEAST_BITS: Final = 1  # minimum bits per weight
HASH: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The settings and the rule that all rounds must follow."""

    settings: Settings
    spec: RuleSpec
    eos: frozenset[int]
    parameters: Mapping[str, float]


def read_run_spec(header: Header) -> RunSpec:
    """Read the settings and the rule that all rounds must follow.

    Raises CheckFailed if the header claims more than its rule guarantees.
    """
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
    """Check that the sizes in the header are possible. Raises CheckFailed if not."""
    for who, card in (("target", header.target), ("drafter", header.drafter)):
        check_card(card, who)
    threads = 1 <= header.threads <= MOST_THREADS
    expect(threads, "Header", f"{header.threads!r} threads are not possible")
    expect(bool(header.prompt_ids), "Header", "the prompt has no tokens")
    read, speed = header.weight_bytes, header.memory_speed
    possible = read is None or 0 < read <= MOST_BYTES
    expect(possible, "Header", f"a pass cannot read {read!r} bytes of weights")
    possible = speed is None or 0 < speed <= MOST_BYTES
    expect(possible, "Header", f"memory cannot be read at {speed!r} bytes per second")


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
    """Check that the rule supports such candidates and, for "auto", is the rule that it selects."""
    drawn, sampling = Drawn(proposed.drawn), plan.settings.sampling
    cut = Cut(proposed.cut or Cut.BEFORE_SAMPLING)
    problem = refuse_rule(plan.spec, drawn, sampling, cut)
    expect(problem is None, where, (problem or "").rstrip("."))
    name = plan.spec.name
    expected = select_rule(drawn, sampling, cut) if plan.settings.rule == "auto" else name
    expect(name == expected, where, f"the rule is {name!r}, but {expected!r} fits the candidates")


CHAT = "Chat"


def check_chat(header: Header, settings: Settings) -> None:
    """Check the turns against the settings, and the pieces against the prompt."""
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
    """Check that the pieces contain the prompt's tokens in order, and no typed special token."""
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
    """Check the typed text of a turn; a template may strip white space from its ends."""
    own = [p.text for p in chat.pieces if p.turn == turn and p.kind == "typed"]
    text = chat.turns[turn].text
    allowed = {text, text.strip(), text.lstrip(), text.rstrip()}
    expect(bool(own) and set(own) <= allowed, CHAT, f"turn {turn + 1} is not the typed text")
