"""Render a conversation with the tokenizer's chat template, and find who wrote each character.

The template comes with the model, so it may be malicious. It is rendered in a separate process with
limits on time, memory and output, exactly as transformers would render it: once with the typed
text, and once with a marker in place of each turn's text. If the two renderings differ in anything
else, typed text cannot be distinguished from the template's own text, and the conversation is
rejected.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import groupby
from typing import Any, Final

from specviz.models.errors import BadPrompt
from specviz.models.tokenizer import EncodedToken, is_fast, prompt_encoder
from specviz.trace.chat import Chat, Piece, PieceKind, Turn

PROGRAM: Final = "specviz.adapters.jinja2"
LONGEST_TEMPLATE: Final = 1 << 18  # maximum characters: ten times the longest published templates
WALL_CLOCK: Final = 30.0  # timeout in seconds; the limit on processor time is far lower
LONGEST_REASON: Final = 200  # maximum characters of a template's error message
CACHED: Final = 64  # number of cached renderings: every lane of a race needs the same


class TemplateFailed(ValueError):
    """Raised if a template rejects the turns; the message is a clause that says why."""


class TemplateStopped(TemplateFailed):
    """Raised if rendering took more time or memory than any template needs."""


Rendering = str | TemplateFailed


def render_template(tokenizer: Any, conversations: Sequence[tuple[Any, bool]]) -> list[Rendering]:
    """Render a tokenizer's template for each conversation, in one process.

    Returns for each conversation its text, or the template's error. conversations: for each
    conversation: the messages, in transformers' format, and whether to add the text that the
    template writes before an answer. Raises TemplateStopped if rendering was stopped.
    """
    template = tokenizer.get_chat_template()
    if len(template) > LONGEST_TEMPLATE:
        raise TemplateStopped(f"has more than {LONGEST_TEMPLATE:,} characters, so it is not used")
    special = {key: str(token) for key, token in tokenizer.special_tokens_map.items()}
    variables = [_variables(messages, answer, special) for messages, answer in conversations]
    job = json.dumps({"template": template, "variables": variables})
    run = _run.__wrapped__ if "strftime_now" in template else _run  # this depends on the time
    return [
        row["text"] if "text" in row else TemplateFailed(row["error"])
        for row in json.loads(run(job))
    ]


def _variables(messages: Any, answer: bool, special: Mapping[str, str]) -> dict[str, Any]:
    usual = {"tools": None, "documents": None, "add_generation_prompt": answer}
    return {"messages": messages, **usual, **special}


@lru_cache(CACHED)
def _run(text: str) -> str:
    found = find_spec(PROGRAM)
    assert found is not None
    assert found.origin is not None
    command = [sys.executable, "-P", found.origin]  # -P: do not import from the file's folder
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            timeout=WALL_CLOCK,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TemplateStopped(f"ran for {WALL_CLOCK:g} seconds, so it was stopped") from error
    if done.returncode == -getattr(signal, "SIGPROF", 0):
        raise TemplateStopped("did not finish within a second, so it was stopped")
    if done.returncode or not done.stdout:
        raise TemplateStopped("needed too much memory or crashed, so it was stopped")
    return done.stdout.decode("utf-8")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the rendered prompt that was typed. end: index after its last character."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a part of the text.

    Attributes:
        turn: Index of the turn that the part belongs to; None before the first turn.
        kind: Whether it was typed, is a special token, or was written by the template.
    """

    turn: int | None
    kind: PieceKind
    at: int


def has_template(tokenizer: Any) -> bool:
    """Return whether the tokenizer can render conversations and locate typed text in them."""
    return bool(tokenizer.chat_template) and is_fast(tokenizer)


def read_chat(name: str, tokenizer: Any, turns: Sequence[Turn]) -> tuple[list[int], Chat]:
    """Encode a conversation, and the text that the template writes before an answer.

    Returns token ids, and the conversation with the author of each token. Raises BadPrompt if the
    template rejects these turns, or typed text cannot be distinguished from the template's.
    """
    renderings = _render_all(name, tokenizer, turns)
    text, typed = renderings.text, renderings.typed
    bounds = [_first_turn_start(renderings), *_turn_ends(turns, renderings)]
    authors = [*_authors(tokenizer, text, typed, bounds)]
    marked, owners = _mark_special(tokenizer, text, authors)
    tokens = prompt_encoder(tokenizer).encode_marked(marked)
    counts = [0] * len(authors)
    for token in tokens:
        counts[_author(token, owners, authors)] += 1
    starts = [author.at for author in authors] + [len(text)]
    pieces = [
        Piece(author.kind, text[author.at : starts[i + 1]], counts[i], author.turn)
        for i, author in enumerate(authors)
    ]
    return [token.id for token in tokens], Chat(list(turns), pieces)


@dataclass(frozen=True, slots=True)
class _Renderings:
    # Of a conversation, and of parts of it. prefixes: up to each turn; exchange: the first turn and
    # an answer; exchange_and_turn: and one more user turn, with the text marker.
    text: str
    typed: list[Span]
    prefixes: list[Rendering]
    exchange: Rendering
    exchange_and_turn: Rendering
    marker: str


def _render_all(name: str, tokenizer: Any, turns: Sequence[Turn]) -> _Renderings:
    marks = [_mark(i) for i in range(len(turns) + 1)]
    exchange = [turns[0], Turn("assistant", "?")]
    requests = [(turns, True), (_replace_texts(turns, marks[:-1]), True)]
    requests += [(turns[: i + 1], False) for i in range(len(turns))]
    requests += [(exchange, False), ([*exchange, Turn("user", marks[-1])], False)]
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
            f"The chat template of {name} changes the typed text, so the two cannot be "
            "distinguished. Send the prompt as raw text instead."
        )
    if turns[0].role != "user":
        before = longer = TemplateFailed("the first turn is not the user's")
    return _Renderings(text, typed, prefixes, before, longer, marks[-1])


@cache
def _mark(number: int) -> str:
    # Within a process, a number always gives the same marker.
    return secrets.token_hex(12)


def turn_end(tokenizer: Any) -> int | None:
    """Return the special token that the template writes right after an answer, or None."""
    mark = _mark(0)
    try:
        (text,) = _render(tokenizer, [([Turn("user", "?"), Turn("assistant", mark)], False)])
    except TemplateStopped:  # the error is reported when a run starts
        return None
    if isinstance(text, TemplateFailed):  # it rejects such turns; a run will report this, too
        return None
    after = text.partition(mark)[2].lstrip()
    first = next(iter(prompt_encoder(tokenizer).find_special(after)), None)
    return prompt_encoder(tokenizer).special[first[0]] if first and first.start() == 0 else None


def _render(tokenizer: Any, requests: Sequence[tuple[Sequence[Turn], bool]]) -> list[Rendering]:
    return render_template(
        tokenizer,
        [
            ([{"role": t.role, "content": t.text} for t in turns], answer)
            for turns, answer in requests
        ],
    )


def _replace_texts(turns: Sequence[Turn], texts: Sequence[str]) -> list[Turn]:
    return [Turn(turn.role, text) for turn, text in zip(turns, texts, strict=True)]


def _spans(
    text: str, marked: str, marks: Sequence[str], turns: Sequence[Turn]
) -> list[Span] | None:
    # None if the two renderings differ in more than the turns' texts, from both ends of which a
    # template may strip white space.
    spans: list[Span] = []
    literal, rest = _next(marked, marks)
    at = len(literal)
    if not text.startswith(literal):
        return None
    while rest:
        turn = next(i for i, mark in enumerate(marks) if rest.startswith(mark))
        literal, rest = _next(rest[len(marks[turn]) :], marks)
        typed = turns[turn].text
        variants = [typed, typed.rstrip(), typed.lstrip(), typed.strip()]
        written = next((v for v in variants if text.startswith(v + literal, at)), None)
        if written is None:
            return None
        spans.append(Span(turn, at, at + len(written)))
        at += len(written) + len(literal)
    return spans if at == len(text) else None


def _next(marked: str, marks: Sequence[str]) -> tuple[str, str]:
    # The text before the first marker, the marker, the text after it.
    at = min((found for mark in marks if (found := marked.find(mark)) >= 0), default=len(marked))
    return marked[:at], marked[at:]


def _turn_ends(turns: Sequence[Turn], renderings: _Renderings) -> list[int]:
    # Where the rendering of all turns up to it ends. If the template rejects that shorter
    # conversation or renders it differently, the turn ends with its typed text.
    ends: list[int] = []
    text, typed = renderings.text, renderings.typed
    for turn in range(len(turns)):
        least = max((span.end for span in typed if span.turn <= turn), default=0)
        most = min((span.start for span in typed if span.turn > turn), default=len(text))
        prefix = renderings.prefixes[turn]
        whole = prefix if isinstance(prefix, str) else ""
        fits = text.startswith(whole) and least <= len(whole) <= most
        ends.append(len(whole) if fits else least)
    return ends


def _first_turn_start(renderings: _Renderings) -> int:
    # The template may write something once at the start, and something else before every user turn:
    # the text before a later user turn shows where the first turn begins.
    before, longer = renderings.exchange, renderings.exchange_and_turn
    if not isinstance(before, str) or not isinstance(longer, str):
        return 0
    head = renderings.text[: renderings.typed[0].start]
    after = longer.removeprefix(before).partition(renderings.marker)[0]
    begins = after if longer.startswith(before) else ""
    return len(head) - len(begins) if begins and head.endswith(begins) else 0


def _authors(
    tokenizer: Any, text: str, typed: Sequence[Span], bounds: Sequence[int]
) -> Iterator[Author]:
    # bounds: the start of the first turn, and the end of each turn.
    special: dict[int, int] = {}  # for each character of a special token, that token's start
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


def _mark_special(tokenizer: Any, text: str, authors: Sequence[Author]) -> tuple[str, list[int]]:
    # Returns the new text, and for each of its characters the index of the author.
    parts: list[str] = []
    owners: list[int] = []
    bounds = [author.at for author in authors] + [len(text)]
    for i, author in enumerate(authors):
        own = text[author.at : bounds[i + 1]]
        parts.append(prompt_encoder(tokenizer).mark(own) if author.kind == "special" else own)
        owners += [i] * len(parts[-1])
    return "".join(parts), owners


def _author(token: EncodedToken, owners: Sequence[int], authors: Sequence[Author]) -> int:
    # A special token is its own author; any other token belongs to the author of its first typed
    # character, or of its first character if none was typed.
    own = owners[token.start : token.end] or owners[min(token.start, len(owners) - 1) :][:1]
    kind = "special" if token.special else "typed"
    return next((i for i in own if authors[i].kind == kind), own[0])
