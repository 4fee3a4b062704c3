"""The page's questions and their answers: `POST /gradio_api/sv/ask/SECTION` of JSON objects.

A question changes nothing and runs no model, so it does not wait in a queue. This is a route of our
own instead of `gr.HTML(server_functions=...)`, because it has a documented address, passes the same
guards as all other requests, and returns errors as one sentence.

Status 200: the answer. If the visitor's input is invalid, this is `problem` (a sentence) and
`field` (the invalid input, "" if unknown). All other statuses appear in a browser's console, so
they are used only for requests that the page never sends; they have a `problem`, too: 400, no JSON
object, or too long; 413, 415; 429, too many questions at a time; 404, no such section; 500, the
answer failed (see log).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, TypedDict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from specviz.ui.access import client_address
from specviz.ui.routes import PREFIX

log = logging.getLogger(__name__)

LONGEST: Final = 4000  # maximum characters of a question, unless its section allows more
THREADS: Final = 4  # maximum number of answers that are computed at the same time
PER_VISITOR: Final = 16  # questions of one page answered at the same time; it sends one per section
PER_ADDRESS: Final = 256  # the same of one network address, which a school may share
LONGEST_VISITOR: Final = 64  # maximum characters of the name in the header VISITOR
VISITOR: Final = "specviz-visitor"  # header in which a page sends its own name
FAILED: Final = "An error on the server ended this answer; the server's log has the details."

Answer = Callable[[Mapping[str, Any]], Mapping[str, object]]


class BadRequest(ValueError):
    """Raised for an invalid question.

    Attributes:
        field: Name of the invalid input, "" if unknown.
        facts: Further data for the page.
    """

    def __init__(self, sentence: str, field: str = "", **facts: Any) -> None:
        super().__init__(sentence)
        self.field = field
        self.facts = facts


class Refusal(TypedDict):
    """Why a question has no answer: a sentence, and the name of the invalid input, if known."""

    problem: str
    field: str


class TooManyQuestions(BadRequest):
    """Raised if one visitor sends more questions at the same time than are answered."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section that answers questions.

    Attributes:
        answer: A function that returns what the section shows, and raises ValueError with a
            sentence. Or the dotted name of a module with such a function `answer`, which the first
            question imports.
        longest: Maximum characters of a question.
    """

    answer: Answer | str
    longest: int

    def respond(self, body: bytes) -> str:
        """Answer or refuse a question, as JSON. Raises BadRequest if it is malformed."""
        data = parse(body, self.longest)
        if isinstance(self.answer, str):
            answer: Answer = import_module(self.answer).answer
        else:
            answer = self.answer
        try:
            return _packed(answer(data))
        except ValueError as problem:
            return _refusal(problem)


class Questions:
    """The sections that answer questions, by name."""

    def __init__(self) -> None:
        self.sections: dict[str, Section] = {}
        self._pool = ThreadPoolExecutor(THREADS, "questions")
        self._open: Counter[tuple[str, str]] = Counter()  # active questions by page and by address

    def add(self, name: str, answer: Answer | str, longest: int = LONGEST) -> None:
        """Add a section; the arguments are those of `Section`."""
        self.sections[name] = Section(answer, longest)

    def route(self) -> Route:
        """Return the route that answers questions."""
        return Route(f"{PREFIX}/ask/{{name}}", self.respond, methods=["POST"])

    async def respond(self, request: Request) -> Response:
        """Answer a request in a thread."""
        section = self.sections.get(request.path_params["name"])
        if section is None:
            return _refused(404, BadRequest("No section of this page has this name."))
        # A page of another site cannot send this content type unless it is allowed to.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refused(415, BadRequest("A question is sent as application/json."))
        body = await request.body()
        loop = asyncio.get_running_loop()
        try:
            with self._counted(request):
                text = await loop.run_in_executor(self._pool, section.respond, body)
        except TooManyQuestions as problem:
            return _refused(429, problem)
        except BadRequest as problem:
            return _refused(400, problem)
        except Exception as problem:
            log.error("a question to %s failed", request.path_params["name"], exc_info=problem)
            return _refused(500, BadRequest(FAILED))
        return _json(200, text)

    @contextmanager
    def _counted(self, request: Request) -> Iterator[None]:
        """Count a question while it is answered: its page's, whose name may be invented, and its
        network address's.

        Raises:
            TooManyQuestions: One of them has too many.
        """
        address = client_address(request.scope)
        name = request.headers.get(VISITOR, "")[:LONGEST_VISITOR] or address
        limits = {("page", name): PER_VISITOR, ("address", address): PER_ADDRESS}
        for who, most in limits.items():
            if self._open[who] >= most:
                raise TooManyQuestions(
                    f"You already have {most} questions under way. Wait for an answer."
                )
        self._open.update(limits.keys())
        try:
            yield
        finally:
            self._open.subtract(limits.keys())
            self._open += Counter()  # this drops those without active questions


def parse(text: str | bytes, longest: int = LONGEST) -> Mapping[str, Any]:
    """Parse the JSON object of a question. Raises BadRequest if it is invalid."""
    try:
        written = text.decode() if isinstance(text, bytes) else text
        if not isinstance(written, str) or len(written) > longest:
            raise BadRequest(f"A question must be JSON text of at most {longest:,} characters.")
        data = json.loads(written)
    except BadRequest:
        raise
    except (ValueError, RecursionError) as problem:
        raise BadRequest("This is not valid JSON.") from problem
    if not isinstance(data, dict):
        raise BadRequest("A question must be a JSON object.")
    return data


def _packed(data: Mapping[str, Any]) -> str:
    """Return compact JSON. Raises RuntimeError for numbers that JSON cannot represent."""
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False)
    except ValueError as problem:  # this is an error of the answer, not of the question
        raise RuntimeError("an answer has a number that JSON does not have") from problem


def _refusal(problem: Exception) -> str:
    data = {"problem": str(problem), "field": getattr(problem, "field", "")}
    return _packed(data | getattr(problem, "facts", {}))


def _refused(status: int, problem: Exception) -> Response:
    return _json(status, _refusal(problem))


def _json(status: int, text: str) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(text, status, headers, media_type="application/json")
