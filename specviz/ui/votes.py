"""Class votes: a teacher opens a room, students answer on phones, and the counts are streamed.

`GET /vote/CODE` is the page on phones; its address is short enough to be typed, and `/vote` asks
for the code. Below `/gradio_api/sv/votes`: `POST ""` opens a room and returns its code, the
teacher's key, and a QR code of the address if it is told where phones find the server; `POST
/CODE/answer` counts a phone's answer; `GET /CODE/lines` streams the room's state by server-sent
events, with counts if `?key=` is the teacher's; `POST /CODE/ask`, `/CODE/reveal` and `/CODE/close`
need the key.

Rooms are stored in memory only. A phone is identified by a random name that its page creates, so
answers are anonymous, and a student could deliberately answer twice. The number of rooms, of rooms
per address, of phones and of readers is limited, and so are sizes and times. Who tries many wrong
codes has to wait.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from secrets import choice, compare_digest, token_urlsafe
from time import monotonic
from typing import Any, Final, NotRequired, TypedDict

import segno
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from specviz.texts import count
from specviz.ui.access import Access, client_address
from specviz.ui.event_stream import EventStream, TooManyReaders
from specviz.ui.misses import Misses
from specviz.ui.policy import POLICY, plain_page_policy
from specviz.ui.routes import PREFIX, plain_page

LETTERS: Final = "ABCDEFGHJKMNPQRSTUVWXYZ"  # characters of a code; none looks like another one
CODE: Final = re.compile(f"[{LETTERS}]{{5}}")
PHONE: Final = re.compile("[0-9a-f]{32}")
LIFETIME: Final = 3600.0  # seconds until a room closes
ROOMS: Final = 100
ROOMS_OF_ONE: Final = 10  # maximum open rooms of one network address, which a school may share
PHONES: Final = 300  # maximum answers to a question
READERS: Final = PHONES + 20  # maximum open streams of a room
QUESTIONS_A_MINUTE: Final = 60
MAX_BYTES: Final = 6000  # maximum bytes of a request
MAX_ADDRESS: Final = 300  # maximum characters of the address of the phones' page
FIELDS: Final[Mapping[str, int]] = {  # maximum lengths
    "text": 400,
    "guess": 80,
    "p": 16,
    "q": 16,
    "ask": 600,
}
MAX_OPTIONS: Final = 6
MAX_OPTION: Final = 300  # maximum characters of an option
PAUSE: Final = 0.1  # minimum seconds between two states of a stream
SILENCE: Final = 15.0  # seconds after which a comment keeps the connection open


class VoteQuestion(TypedDict):
    """A decision to vote on, as text, or a question with its own options.

    Attributes:
        p: Empty at temperature 0.
        q: Empty if the guess was not sampled.
        ask: A lesson's question; empty for a decision.
        options: The answers to it; empty for a decision.
    """

    text: str
    guess: str
    p: str
    q: str
    ask: str
    options: list[str]


def choices(question: VoteQuestion | None) -> list[str]:
    """Return the answers that count: the two verdicts, or the indices of the options."""
    options = question["options"] if question else []
    return [str(index) for index in range(len(options))] or ["accepted", "rejected"]


class VoteState(TypedDict):
    """The state of a room.

    Attributes:
        number: Number of the question, from 1 on.
        revealed: The right one of its `choices`.
    """

    number: int
    question: NotRequired[VoteQuestion]
    revealed: NotRequired[str]
    closed: NotRequired[bool]
    counts: NotRequired[dict[str, int]]


class BadRequest(ValueError):
    """Raised for an invalid request; the message is a sentence."""


class TooMany(BadRequest):
    """Raised if a limit was reached; wait: seconds after which it may work, 0 if unknown."""

    def __init__(self, sentence: str, wait: float = 0.0) -> None:
        super().__init__(sentence)
        self.wait = wait


class Unknown(BadRequest):
    """Raised if there is no such room, or the key is not its teacher's."""


@dataclass(eq=False)
class Room:
    """A room.

    Attributes:
        ends: When the room closes, by the clock of `Rooms`.
        phones: The phones that have read or answered, at most READERS.
    """

    key: str
    owner: str
    ends: float
    number: int = 0
    question: VoteQuestion | None = None
    revealed: str | None = None
    closed: bool = False
    answers: dict[str, str] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)
    readers: int = 0
    phones: set[str] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self, data: Mapping[str, Any], now: float) -> None:
        """Ask a question; the answers to the previous one are deleted."""
        texts = {name: data.get(name, "") for name in FIELDS}
        if any(
            not isinstance(texts[name], str) or len(texts[name]) > FIELDS[name] for name in texts
        ):
            raise BadRequest(f"A question has {', '.join(FIELDS)}, each a short text.")
        options = parse_options(data.get("options", []))
        self.asked = [at for at in self.asked if at > now - 60]
        if len(self.asked) >= QUESTIONS_A_MINUTE:
            raise TooMany(f"A room has at most {QUESTIONS_A_MINUTE} questions a minute.")
        self.asked.append(now)
        self.question = VoteQuestion(**texts, options=options)  # type: ignore[typeddict-item]
        self.number += 1
        self.answers, self.revealed = {}, None
        self.notify_readers()

    def answer(self, phone: object, number: object, given: object) -> bool:
        """Count an answer; return whether it counts: one per phone, while it is open."""
        if not isinstance(phone, str) or not PHONE.fullmatch(phone):
            raise BadRequest("A phone is named by 32 hexadecimal digits.")
        if not isinstance(given, str) or given not in choices(self.question):
            raise BadRequest(f"An answer is one of {', '.join(choices(self.question))}.")
        late = number != self.number or self.question is None or self.revealed is not None
        if late or phone in self.answers:
            return False
        if len(self.answers) >= PHONES:
            raise TooMany(f"A room counts at most {PHONES} answers.")
        self.answers[phone] = given
        self.notify_readers()
        return True

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count an open stream inside this context. Raises TooManyReaders."""
        if self.readers >= READERS:
            raise TooManyReaders("This room has too many readers.")
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1

    def admit(self, phone: object) -> None:
        """Remember a phone that knows the code of the room."""
        if isinstance(phone, str) and PHONE.fullmatch(phone) and len(self.phones) < READERS:
            self.phones.add(phone)

    def reveal(self, right: object) -> None:
        """Show the right answer; later answers do not count."""
        known = isinstance(right, str) and right in choices(self.question)
        if not known or self.question is None:
            raise BadRequest("Only one of the answers to the question can be revealed.")
        self.revealed = str(right)
        self.notify_readers()

    def close(self) -> None:
        """End all streams."""
        self.closed, self.question, self.answers = True, None, {}
        self.notify_readers()

    def notify_readers(self) -> None:
        """Wake the streams, since the state has changed."""
        self.changed.set()
        self.changed = asyncio.Event()

    def state(self, for_teacher: bool) -> VoteState:
        """Return the state for a reader: a student's phone, or the teacher's page."""
        state: VoteState = {"number": self.number}
        if self.closed:
            return {**state, "closed": True}
        if self.question is not None:
            state["question"] = self.question
        if self.revealed is not None:
            state["revealed"] = self.revealed
        if for_teacher:
            found = Counter(self.answers.values())
            state["counts"] = {each: found[each] for each in choices(self.question)}
        return state

    async def states(self, for_teacher: bool) -> AsyncIterator[str]:
        """Yield the room's state as server-sent events whenever it changes, until it closes."""
        last: VoteState | None = None
        yield "retry: 1000\n\n"
        while True:
            changed, state = self.changed, self.state(for_teacher)
            yield f"data: {json.dumps(state)}\n\n" if state != last else ": open\n\n"
            if self.closed:
                return
            last = state
            try:
                await asyncio.wait_for(changed.wait(), SILENCE)
            except TimeoutError:
                continue
            await asyncio.sleep(PAUSE)  # several answers at once give one state


class Rooms:
    """All rooms, by code, and their routes."""

    def __init__(
        self, access: Access | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self.rooms: dict[str, Room] = {}
        self._access = access or Access()
        self._clock = clock
        self._misses = Misses(clock)

    def open(self, owner: str) -> tuple[str, Room]:
        """Open a room for a network address. Raises TooMany."""
        self.sweep()
        own = sum(room.owner == owner for room in self.rooms.values())
        if len(self.rooms) >= ROOMS or own >= ROOMS_OF_ONE:
            raise TooMany("There are too many open rooms. Close one, or try again later.")
        code = "".join(choice(LETTERS) for _ in range(5))
        while code in self.rooms:
            code = "".join(choice(LETTERS) for _ in range(5))
        room = self.rooms[code] = Room(token_urlsafe(16), owner, self._clock() + LIFETIME)
        return code, room

    def find(self, code: str, key: object = None) -> Room:
        """Return an open room; a `key`, if given, must be its teacher's. Raises Unknown."""
        self.sweep()
        room = self.rooms.get(code.upper())
        if room is None:
            raise Unknown("There is no room with this code. Rooms end after one hour.")
        if key is not None and not (isinstance(key, str) and is_same(key, room.key)):
            raise Unknown("This is not the key of this room.")
        return room

    def enter(self, code: str, address: str, phone: object = None, key: object = None) -> Room:
        """Return an open room like `find`, but slow down addresses that try codes or keys.

        The teacher and phones that were in the room before are never slowed down.

        Raises Unknown if there is no such room; TooMany if this address, or all together, have
        tried too many wrong codes.

        Args:
            code: The code of the room.
            address: The client's network address.
            phone: The name of the phone, if the client is one.
            key: The teacher's key, if the client is the teacher.
        """
        try:
            room = self.find(code, key)
        except Unknown:
            self._wait_after_misses(address)
            self._misses.count(address)
            raise
        if key is None:
            if not (isinstance(phone, str) and phone in room.phones):
                self._wait_after_misses(address)
            room.admit(phone)
        return room

    def _wait_after_misses(self, address: str) -> None:
        seconds = ceil(self._misses.wait(address))
        if seconds:
            raise TooMany(
                "Too many wrong codes were tried from your network. Try again in "
                f"{count(seconds, 'second')}.",
                seconds,
            )

    def sweep(self) -> None:
        """Close the rooms whose time is over."""
        now = self._clock()
        for code in [code for code, room in self.rooms.items() if room.ends <= now]:
            self.rooms.pop(code).close()

    def routes(self) -> list[Route]:
        """Return all routes."""
        room = f"{PREFIX}/votes/{{code}}"
        return [
            Route("/vote/", self.send_page),  # /vote leads to it
            Route("/vote/{code}", self.send_page),
            Route(f"{PREFIX}/votes", self.post, methods=["POST"]),
            Route(f"{room}/lines", self.send_lines),
            Route(f"{room}/{{act}}", self.post, methods=["POST"]),
        ]

    async def send_page(self, request: Request) -> Response:
        """Send the page for phones: without a code its form, which leads to the room."""
        code = request.query_params.get("code", "").strip().upper()
        if CODE.fullmatch(code):
            return RedirectResponse(code, 303)
        text, styles = plain_page("step/phone", "..")
        if "code" not in request.path_params:
            text = text.replace("Connecting…", "Which room?").replace("<form hidden", "<form")
        policy = plain_page_policy(styles, self._access, forms="'self'")
        headers = {POLICY: policy, "Cache-Control": "no-cache"}
        return HTMLResponse(text, headers=headers)

    async def post(self, request: Request) -> Response:
        """Answer a request that changes a room."""
        # A page of another site cannot send this content type unless it is allowed to.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse({"problem": "A request is sent as application/json."}, 415)
        try:
            data = parse(await request.body())
            answer = self.perform(request, data)
        except TooMany as problem:
            return refuse(problem)
        except Unknown as problem:
            return JSONResponse({"problem": str(problem)}, 404)
        except BadRequest as problem:
            return JSONResponse({"problem": str(problem)}, 400)
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    def perform(self, request: Request, data: Mapping[str, Any]) -> dict[str, object]:
        """Do what a request asks for."""
        code, address = request.path_params.get("code"), client_address(request.scope)
        if code is None:
            phones = parse_phones(data.get("phones"))
            opened, room = self.open(address)
            return {"code": opened, "key": room.key, "qr": phones and qr_code(phones + opened)}
        act = request.path_params["act"]
        if act == "answer":
            room = self.enter(code, address, data.get("phone"))
            return {
                "counts": room.answer(data.get("phone"), data.get("number"), data.get("answer"))
            }
        room = self.enter(code, address, key=data.get("key") or "")
        if act == "ask":
            room.ask(data, self._clock())
        elif act == "reveal":
            room.reveal(data.get("verdict"))
        elif act == "close":
            self.rooms.pop(code.upper()).close()
        else:
            raise Unknown("A room has no such action.")
        return {"number": room.number}

    async def send_lines(self, request: Request) -> Response:
        """Stream a room's state; status 204, if there is no room, makes browsers stop asking."""
        phone, key = (request.query_params.get(name) for name in ("phone", "key"))
        address = client_address(request.scope)
        try:
            room = self.enter(request.path_params["code"], address, phone, key)
        except TooMany as problem:
            return refuse(problem)
        except Unknown:
            return Response(status_code=204)
        return EventStream(self._states(room, key is not None), room.reading)

    async def _states(self, room: Room, for_teacher: bool) -> AsyncIterator[str]:
        async for state in room.states(for_teacher):
            yield state
            self.sweep()


def parse(text: bytes) -> dict[str, Any]:
    """Return the JSON object of a request. Raises BadRequest if it is invalid."""
    try:
        data = json.loads(text) if len(text) <= MAX_BYTES else None
    except (ValueError, RecursionError) as problem:
        raise BadRequest("This is not valid JSON.") from problem
    if not isinstance(data, dict):
        raise BadRequest(f"A request must be a JSON object of at most {MAX_BYTES:,} bytes.")
    return data


def parse_options(options: object) -> list[str]:
    """Return the options of a question. Raises BadRequest."""
    if (
        not isinstance(options, list)
        or len(options) > MAX_OPTIONS
        or not all(isinstance(each, str) and len(each) <= MAX_OPTION for each in options)
    ):
        raise BadRequest(f"A question has at most {MAX_OPTIONS} options, each a short text.")
    return options


def parse_phones(address: object) -> str:
    """Return the start of the address that phones open; "" if there is none. Raises BadRequest."""
    if address is None:
        return ""
    if (
        not isinstance(address, str)
        or not address.startswith(("http://", "https://"))
        or len(address) > MAX_ADDRESS
    ):
        raise BadRequest("The address of the phones' page begins with http:// or https://.")
    return address


def qr_code(address: str) -> str:
    """Return an address as a QR code: an SVG picture in a data URI, black on white."""
    code: str = segno.make(address, micro=False).svg_data_uri(border=4, light="white")
    return code


def refuse(problem: TooMany) -> Response:
    """Return the response to a client that reached a limit."""
    headers = {"Retry-After": f"{problem.wait:.0f}"} if problem.wait else {}
    return JSONResponse({"problem": str(problem)}, 429, headers)


def is_same(one: str, other: str) -> bool:
    """Compare two keys in constant time."""
    return compare_digest(one.encode("utf-8", "replace"), other.encode())
