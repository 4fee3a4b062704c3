"""A conversation as the tokenizer's own template writes it, each letter with its author.

Rule: the template comes with the model, so nothing is assumed of it. It is rendered as it is, in a
process of its own (see `templates`), and once more with marks in place of what was typed; where the
two differ in anything else, typed text cannot be told from the template's, and it is refused.
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

LONGEST_REASON = 200  # letters of a template's own complaint


@dataclass(frozen=True, slots=True)
class Span:
    """Where in the written text somebody typed. turn: whose; end: the first letter after it."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Author:
    """Of a stretch of the text: whose turn it is in, and who wrote it. at: where it begins."""

    turn: int | None
    kind: PieceKind
    at: int


def has_template(tokenizer: Any) -> bool:
    """Whether conversations can be written for this model, and told apart from what is typed."""
    return bool(tokenizer.chat_template) and is_fast(tokenizer)


def read_chat(name: str, tokenizer: Any, turns: Sequence[Turn]) -> tuple[list[int], Chat]:
    """The ids of a conversation with the beginning of the answer, and its pieces.

    name: of the model, for sentences. Raises BadPrompt where the template takes no such turns, or
    what it makes of them cannot be told apart from its own words.
    """
    drafts = _drafts(name, tokenizer, turns)
    text, typed = drafts.text, drafts.typed
    ends = _ends(turns, drafts)
    authors = [*_authors(tokenizer, text, typed, [_opening(drafts), *ends])]
    marked, places = _marked(tokenizer, text, authors)
    tokens = prompt_encoder(tokenizer).coded(marked)
    counts = [0] * len(authors)
    for token in tokens:
        counts[_author(token, places, authors)] += 1
    bounds = [author.at for author in authors] + [len(text)]
    pieces = [
        Piece(author.kind, text[author.at : bounds[i + 1]], counts[i], author.turn)
        for i, author in enumerate(authors)
    ]
    return [token.id for token in tokens], Chat(list(turns), pieces)


@dataclass(frozen=True, slots=True)
class _Drafts:
    """What the template makes of a conversation, and of parts of it.

    typed: where in the text stands what was typed. prefixes: by turn, the text of the turns up to
    it. talk: of the first turn and an answer; longer: of these and a turn of the user after them,
    which is `mark`; where the first turn is the user's.
    """

    text: str
    typed: list[Span]
    prefixes: list[Written]
    talk: Written
    longer: Written
    mark: str


def _drafts(name: str, tokenizer: Any, turns: Sequence[Turn]) -> _Drafts:
    """Render all that is needed, in one process. Raises BadPrompt."""
    marks = [_mark(i) for i in range(len(turns) + 1)]
    talk = [turns[0], Turn("assistant", "?")]
    asked = [(turns, True), (_with(turns, marks[:-1]), True)]
    asked += [(turns[: i + 1], False) for i in range(len(turns))]
    asked += [(talk, False), ([*talk, Turn("user", marks[-1])], False)]
    try:
        text, marked, *prefixes, before, longer = _render(tokenizer, asked)
    except TemplateStopped as error:
        raise BadPrompt(f"The chat template of {name} {error}.") from error
    if isinstance(text, TemplateFailed) or isinstance(marked, TemplateFailed):
        problem = text if isinstance(text, TemplateFailed) else marked
        reason = " ".join(str(problem).split())[:LONGEST_REASON].rstrip(".")
        raise BadPrompt(f"The chat template of {name} does not take this: {reason}.")
    for mark, turn in zip(marks, turns, strict=False):
        if mark not in marked:
            raise BadPrompt(f"The chat template of {name} leaves out what the {turn.role} said.")
    typed = _spans(text, marked, marks[:-1], turns)
    if typed is None:
        raise BadPrompt(
            f"The chat template of {name} changes what was typed, so that it cannot be told apart "
            "from the template's own words. Send it as raw text."
        )
    if turns[0].role != "user":
        before = longer = TemplateFailed("the first turn is not the user's")
    return _Drafts(text, typed, prefixes, before, longer, marks[-1])


@cache
def _mark(number: int) -> str:
    """A random marker text, the same for the same number in one process."""
    return secrets.token_hex(12)


def turn_end(tokenizer: Any) -> int | None:
    """The special token that the template writes right after an answer; None where it has none."""
    mark = _mark(0)
    try:
        (text,) = _render(tokenizer, [([Turn("user", "?"), Turn("assistant", mark)], False)])
    except TemplateStopped:  # a run will say so
        return None
    if isinstance(text, TemplateFailed):  # it takes no such turns; as above
        return None
    after = text.partition(mark)[2].lstrip()
    first = next(iter(prompt_encoder(tokenizer).found(after)), None)
    return prompt_encoder(tokenizer).special[first[0]] if first and first.start() == 0 else None


def _render(tokenizer: Any, asked: Sequence[tuple[Sequence[Turn], bool]]) -> list[Written]:
    """Render the template. asked: turns, and whether to add the beginning of an answer."""
    return render(
        tokenizer,
        [([{"role": t.role, "content": t.text} for t in turns], answer) for turns, answer in asked],
    )


def _with(turns: Sequence[Turn], texts: Sequence[str]) -> list[Turn]:
    """The same turns with other texts."""
    return [Turn(turn.role, text) for turn, text in zip(turns, texts, strict=True)]


def _spans(
    text: str, marked: str, marks: Sequence[str], turns: Sequence[Turn]
) -> list[Span] | None:
    """Where the marks' turns stand in the text; None where these alone do not make the difference.

    A template may strip white space off a turn's ends.
    """
    spans: list[Span] = []
    literal, rest = _next(marked, marks)
    at = len(literal)
    if not text.startswith(literal):
        return None
    while rest:
        turn = next(i for i, mark in enumerate(marks) if rest.startswith(mark))
        literal, rest = _next(rest[len(marks[turn]) :], marks)
        said = turns[turn].text
        ways = [said, said.rstrip(), said.lstrip(), said.strip()]
        way = next((w for w in ways if text.startswith(w + literal, at)), None)
        if way is None:
            return None
        spans.append(Span(turn, at, at + len(way)))
        at += len(way) + len(literal)
    return spans if at == len(text) else None


def _next(marked: str, marks: Sequence[str]) -> tuple[str, str]:
    """A text up to its first mark, and from there on."""
    at = min((found for mark in marks if (found := marked.find(mark)) >= 0), default=len(marked))
    return marked[:at], marked[at:]


def _ends(turns: Sequence[Turn], drafts: _Drafts) -> list[int]:
    """By turn, where it ends: where the text of the turns up to it does.

    A template that makes something else of fewer turns, or takes no so few, has it end with what
    was typed.
    """
    ends: list[int] = []
    text, typed = drafts.text, drafts.typed
    for turn in range(len(turns)):
        least = max((span.end for span in typed if span.turn <= turn), default=0)
        most = min((span.start for span in typed if span.turn > turn), default=len(text))
        draft = drafts.prefixes[turn]
        whole = draft if isinstance(draft, str) else ""
        fits = text.startswith(whole) and least <= len(whole) <= most
        ends.append(len(whole) if fits else least)
    return ends


def _opening(drafts: _Drafts) -> int:
    """Where the first turn begins: before it stands what the template writes once, ahead of all.

    A later turn of the user shows how one begins.
    """
    before, longer = drafts.talk, drafts.longer
    if not isinstance(before, str) or not isinstance(longer, str):
        return 0
    head = drafts.text[: drafts.typed[0].start]
    after = longer.removeprefix(before).partition(drafts.mark)[0]
    begins = after if longer.startswith(before) else ""
    return len(head) - len(begins) if begins and head.endswith(begins) else 0


def _authors(
    tokenizer: Any, text: str, typed: Sequence[Span], bounds: Sequence[int]
) -> Iterator[Author]:
    """The stretches of the text in order. bounds: where the first turn begins, and each ends."""
    special: dict[int, int] = {}  # by letter of a special token, where that begins
    free = 0
    for span in [*typed, Span(0, len(text), len(text))]:
        for match in prompt_encoder(tokenizer).found(text[free : span.start]):
            start, end = free + match.start(), free + match.end()
            special |= dict.fromkeys(range(start, end), start)
        free = span.end
    whose = {at: span for span in typed for at in range(span.start, span.end)}

    def author(at: int) -> tuple[int | None, PieceKind, int]:
        if at in whose:
            return whose[at].turn, "typed", whose[at].start
        turn = sum(at >= bound for bound in bounds) - 1
        inside = None if turn < 0 else turn
        return (inside, "special", special[at]) if at in special else (inside, "template", 0)

    for (turn, kind, _), letters in groupby(range(len(text)), author):
        yield Author(turn, kind, next(letters))


def _marked(tokenizer: Any, text: str, authors: Sequence[Author]) -> tuple[str, list[int]]:
    """The text with marks for its special tokens; by letter of it, which author's it is."""
    parts: list[str] = []
    places: list[int] = []
    bounds = [author.at for author in authors] + [len(text)]
    for i, author in enumerate(authors):
        own = text[author.at : bounds[i + 1]]
        parts.append(prompt_encoder(tokenizer).mark(own) if author.kind == "special" else own)
        places += [i] * len(parts[-1])
    return "".join(parts), places


def _author(token: EncodedToken, places: Sequence[int], authors: Sequence[Author]) -> int:
    """Whose a token is: the special token's that it stands for, or the first typed letter's."""
    own = places[token.start : token.end] or places[min(token.start, len(places) - 1) :][:1]
    kind = "special" if token.special else "typed"
    return next((i for i in own if authors[i].kind == kind), own[0])
