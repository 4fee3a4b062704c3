"""A prompt that was a conversation: its pieces are the whole prompt, and what was typed is text."""

from __future__ import annotations

from specviz.settings.settings import Settings
from specviz.trace.chat import Chat
from specviz.trace.check.expectations import expect
from specviz.trace.events import Header

WHERE = "Chat"


def check_chat(header: Header, settings: Settings) -> None:
    """Raise CheckFailed where the turns are not those asked for, or the pieces not the prompt."""
    chat = header.chat
    if chat is None:
        expect(settings.chat != "chat", WHERE, "a chat was asked for, and the prompt is raw text")
        expect(not settings.system, WHERE, "a system text was asked for, and there is no turn")
        return
    expect(settings.chat != "raw", WHERE, "raw text was asked for, and the prompt has turns")
    check_turns(header, chat, settings)
    check_pieces(header, chat)
    for turn in range(len(chat.turns)):
        check_typed(chat, turn)


def check_turns(header: Header, chat: Chat, settings: Settings) -> None:
    """The last turn is the prompt; a system text of the settings is the first."""
    last = chat.turns[-1] if chat.turns else None
    asked = last is not None and last.role == "user" and last.text == header.prompt
    expect(asked, WHERE, "its last turn is not the prompt")
    if settings.system:
        first = chat.turns[0]
        held = len(chat.turns) == 2 and first.role == "system" and first.text == settings.system
        expect(held, WHERE, "its first turn is not the system text")


def check_pieces(header: Header, chat: Chat) -> None:
    """The pieces hold every token of the prompt once, and no typed one is special."""
    many = sum(piece.tokens for piece in chat.pieces)
    least = min((piece.tokens for piece in chat.pieces), default=0)
    whole = least >= 0 and many == len(header.prompt_ids)
    expect(whole, WHERE, "its pieces do not hold the prompt's tokens")
    special = chat.special(header.prompt_ids)
    for piece, ids in chat.tokens(header.prompt_ids):
        one = piece.kind != "special" or piece.tokens == 1
        expect(one, WHERE, f"{piece.text!r:.40} is not one special token")
        typed = piece.kind == "typed" and not special.isdisjoint(ids)
        expect(not typed, WHERE, "what was typed holds a special token")
    turns = [-1 if piece.turn is None else piece.turn for piece in chat.pieces]
    ordered = turns == sorted(turns) and all(-1 <= turn <= len(chat.turns) for turn in turns)
    expect(ordered, WHERE, "its pieces are not in the order of its turns")


def check_typed(chat: Chat, turn: int) -> None:
    """A turn's typed letters are its text; a template may strip white space off its ends."""
    own = [p.text for p in chat.pieces if p.turn == turn and p.kind == "typed"]
    text = chat.turns[turn].text
    ways = {text, text.strip(), text.lstrip(), text.rstrip()}
    expect(bool(own) and set(own) <= ways, WHERE, f"turn {turn + 1} is not what was typed")
