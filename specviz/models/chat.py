"""A conversation as the tokenizer's template writes it, with the author of every character.

The template comes with the model, so nothing is assumed about it. It is rendered as it is, in a
separate process (see `templates`), and again with markers in place of typed text. If the two differ
in anything else, typed text cannot be told apart from the template's, and it is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from specviz.models.errors import BadPrompt
from specviz.models.prompt_encoder import EncodedToken, is_fast, prompt_encoder
from specviz.models.templates import TemplateFailed, TemplateStopped, Written, render
from specviz.trace.chat import Chat, Piece, PieceKind, Turn

LONGEST_REASON = 200  # characters of a template's error message


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of typed text in the rendered prompt.

    Attributes:
        turn: Index of the turn.
        start: The first character.
        end: The character after the last.
    """

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote a stretch of the text.

    Attributes:
        turn: Index of its turn, or None before the first.
        kind: Typed, a special token, or the template.
        at: Its first character.
    """

    turn: int | None
    kind: PieceKind
    at: int


def has_template(tokenizer: Any) -> bool:
    """Return whether conversations can be rendered for this model, apart from typed text."""
    return bool(tokenizer.chat_template) and is_fast(tokenizer)


def read_chat(name: str, tokenizer: Any, turns: Sequence[Turn]) -> tuple[list[int], Chat]:
    """Encode a conversation with the beginning of the answer.

    Args:
        name: The model's name, for errors.
        tokenizer: The tokenizer.
        turns: The conversation.

    Returns:
        Token ids, and the conversation with its pieces.

    Raises:
        BadPrompt: The template rejects these turns, or typed text cannot be told apart from its
            own.
    """
    renderings = _render_all(name, tokenizer, turns)
    text, typed = renderings.text, renderings.typed
    ends = _ends(turns, renderings)
    authors = [*_authors(tokenizer, text, typed, [_opening(renderings), *ends])]
    marked, owners = _marked(tokenizer, text, authors)
    tokens = prompt_encoder(tokenizer).encode_marked(marked)
    counts = [0] * len(authors)
    for token in tokens:
        counts[_author(token, owners, authors)] += 1
    bounds = [author.at for author in authors] + [len(text)]
    pieces = [
        Piece(author.kind, text[author.at : bounds[i + 1]], counts[i], author.turn)
        for i, author in enumerate(authors)
    ]
    return [token.id for token in tokens], Chat(list(turns), pieces)


@dataclass(frozen=True, slots=True)
class _Renderings:
    """The renderings of a conversation and of parts of it.

    Attributes:
        text: The whole conversation.
        typed: The typed stretches of the text.
        prefixes: By turn, the rendering of the turns up to it.
        talk: The rendering of the first turn and an answer.
        longer: The rendering of these and one more turn of the user.
        mark: The text of that turn.
    """

    text: str
    typed: list[Span]
    prefixes: list[Written]
    talk: Written
    longer: Written
    mark: str


def _render_all(name: str, tokenizer: Any, turns: Sequence[Turn]) -> _Renderings:
    """Render everything that is needed, in one process.

    Raises:
        BadPrompt: The template rejects these turns, or typed text cannot be told apart from its
            own.
    """
    marks = [_mark(i) for i in range(len(turns) + 1)]
    talk = [turns[0], Turn("assistant", "?")]
    requests = [(turns, True), (_with(turns, marks[:-1]), True)]
    requests += [(turns[: i + 1], False) for i in range(len(turns))]
    requests += [(talk, False), ([*talk, Turn("user", marks[-1])], False)]
    try:
        text, marked, *prefixes, before, longer = _render(tokenizer, requests)
    except TemplateStopped as error:
        raise BadPrompt(f"The chat template of {name} {error}.") from error
    if isinstance(text, TemplateFailed) or isinstance(marked, TemplateFailed):
        problem = text if isinstance(text, TemplateFailed) else marked
        reason = " ".join(str(problem).split())[:LONGEST_REASON].rstrip(".")
        raise BadPrompt(f"The chat template of {name} rejects this conversation: {reason}.")
    for mark, turn in zip(marks, turns, strict=False):
        if mark not in marked:
            raise BadPrompt(f"The chat template of {name} leaves out the text of the {turn.role}.")
    typed = _spans(text, marked, marks[:-1], turns)
    if typed is None:
        raise BadPrompt(
            f"The chat template of {name} changes the typed text, so that it cannot be told apart "
            "from the template's own text. Send it as raw text."
        )
    if turns[0].role != "user":
        before = longer = TemplateFailed("the first turn is not the user's")
    return _Renderings(text, typed, prefixes, before, longer, marks[-1])


@cache
def _mark(number: int) -> str:
    """Return a random marker text, the same for the same number in one process."""
    return secrets.token_hex(12)


def turn_end(tokenizer: Any) -> int | None:
    """Return the special token that the template writes right after an answer, or None."""
    mark = _mark(0)
    try:
        (text,) = _render(tokenizer, [([Turn("user", "?"), Turn("assistant", mark)], False)])
    except TemplateStopped:  # a run will report it
        return None
    if isinstance(text, TemplateFailed):  # it rejects such turns; a run will report that too
        return None
    after = text.partition(mark)[2].lstrip()
    first = next(iter(prompt_encoder(tokenizer).find_special(after)), None)
    return prompt_encoder(tokenizer).special[first[0]] if first and first.start() == 0 else None


def _render(tokenizer: Any, requests: Sequence[tuple[Sequence[Turn], bool]]) -> list[Written]:
    """Render the template for conversations, each with or without the beginning of an answer."""
    return render(
        tokenizer,
        [
            ([{"role": t.role, "content": t.text} for t in turns], answer)
            for turns, answer in requests
        ],
    )


def _with(turns: Sequence[Turn], texts: Sequence[str]) -> list[Turn]:
    """Return the same turns with other texts."""
    return [Turn(turn.role, text) for turn, text in zip(turns, texts, strict=True)]


def _spans(
    text: str, marked: str, marks: Sequence[str], turns: Sequence[Turn]
) -> list[Span] | None:
    """Return where the markers' turns are in the text.

    The result is None if the texts differ in anything else. A template may strip white space from
    both ends of a turn.

    Args:
        text: The rendering of the conversation.
        marked: The rendering with markers in place of the turns.
        marks: The markers.
        turns: The conversation.
    """
    spans: list[Span] = []
    literal, rest = _next(marked, marks)
    at = len(literal)
    if not text.startswith(literal):
        return None
    while rest:
        turn = next(i for i, mark in enumerate(marks) if rest.startswith(mark))
        literal, rest = _next(rest[len(marks[turn]) :], marks)
        own = turns[turn].text
        variants = [own, own.rstrip(), own.lstrip(), own.strip()]
        written = next((v for v in variants if text.startswith(v + literal, at)), None)
        if written is None:
            return None
        spans.append(Span(turn, at, at + len(written)))
        at += len(written) + len(literal)
    return spans if at == len(text) else None


def _next(marked: str, marks: Sequence[str]) -> tuple[str, str]:
    """Split a text at its first marker."""
    at = min((found for mark in marks if (found := marked.find(mark)) >= 0), default=len(marked))
    return marked[:at], marked[at:]


def _ends(turns: Sequence[Turn], renderings: _Renderings) -> list[int]:
    """Return by turn where it ends, which is where the rendering of the turns up to it ends.

    If a template renders fewer turns differently or rejects them, a turn ends with its typed text.
    """
    ends: list[int] = []
    text, typed = renderings.text, renderings.typed
    for turn in range(len(turns)):
        least = max((span.end for span in typed if span.turn <= turn), default=0)
        most = min((span.start for span in typed if span.turn > turn), default=len(text))
        draft = renderings.prefixes[turn]
        whole = draft if isinstance(draft, str) else ""
        fits = text.startswith(whole) and least <= len(whole) <= most
        ends.append(len(whole) if fits else least)
    return ends


def _opening(renderings: _Renderings) -> int:
    """Return where the first turn begins, after what the template writes once at the start.

    A later turn of the user shows how a turn begins.
    """
    before, longer = renderings.talk, renderings.longer
    if not isinstance(before, str) or not isinstance(longer, str):
        return 0
    head = renderings.text[: renderings.typed[0].start]
    after = longer.removeprefix(before).partition(renderings.mark)[0]
    begins = after if longer.startswith(before) else ""
    return len(head) - len(begins) if begins and head.endswith(begins) else 0


def _authors(
    tokenizer: Any, text: str, typed: Sequence[Span], bounds: Sequence[int]
) -> Iterator[Author]:
    """Yield the stretches of the text in order.

    Args:
        tokenizer: The tokenizer.
        text: The rendered text.
        typed: The typed stretches.
        bounds: Where the first turn begins, and where each turn ends.
    """
    special: dict[int, int] = {}  # by character of a special token, where the token begins
    free = 0
    for span in [*typed, Span(0, len(text), len(text))]:
        for match in prompt_encoder(tokenizer).find_special(text[free : span.start]):
            start, end = free + match.start(), free + match.end()
            special |= dict.fromkeys(range(start, end), start)
        free = span.end
    span_at = {at: span for span in typed for at in range(span.start, span.end)}

    def author(at: int) -> tuple[int | None, PieceKind, int]:
        if at in span_at:
            return span_at[at].turn, "typed", span_at[at].start
        turn = sum(at >= bound for bound in bounds) - 1
        inside = None if turn < 0 else turn
        return (inside, "special", special[at]) if at in special else (inside, "template", 0)

    for (turn, kind, _), characters in groupby(range(len(text)), author):
        yield Author(turn, kind, next(characters))


def _marked(tokenizer: Any, text: str, authors: Sequence[Author]) -> tuple[str, list[int]]:
    """Replace special tokens by markers; also return by character the index of its author."""
    parts: list[str] = []
    owners: list[int] = []
    bounds = [author.at for author in authors] + [len(text)]
    for i, author in enumerate(authors):
        own = text[author.at : bounds[i + 1]]
        parts.append(prompt_encoder(tokenizer).mark(own) if author.kind == "special" else own)
        owners += [i] * len(parts[-1])
    return "".join(parts), owners


def _author(token: EncodedToken, owners: Sequence[int], authors: Sequence[Author]) -> int:
    """Return the author of a token.

    That is the author of the special token it stands for, or of its first typed character.
    """
    own = owners[token.start : token.end] or owners[min(token.start, len(owners) - 1) :][:1]
    kind = "special" if token.special else "typed"
    return next((i for i in own if authors[i].kind == kind), own[0])
