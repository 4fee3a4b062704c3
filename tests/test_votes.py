"""Rooms of class votes: answers, keys, limits, and the time after which a room ends."""

import asyncio
import json

import httpx
import pytest
from starlette.applications import Starlette

from specviz.ui import votes
from specviz.ui.policy import POLICY
from specviz.ui.questions import BadRequest
from specviz.ui.routes import PREFIX
from specviz.ui.votes import Room, Rooms, TooMany, Unknown

QUESTION = {"text": "Once upon", "guess": "␣a", "p": "0.64", "q": "0.85"}


def phone(number):
    return f"{number:032x}"


@pytest.fixture
def room():
    found = Room("key", "school", 0.0)
    found.ask(QUESTION, 0.0)
    return found


def test_each_phone_votes_once_before_the_verdict_without_seeing_counts(room):
    assert room.answer(phone(1), 1, "accepted")
    assert not room.answer(phone(1), 1, "rejected")
    assert room.answer(phone(2), 1, "rejected")
    assert not room.answer(phone(3), 2, "rejected")  # a question that is not asked
    assert room.state(for_teacher=True)["counts"] == {"accepted": 1, "rejected": 1}
    assert room.state(for_teacher=False) == {"number": 1, "question": QUESTION}
    room.reveal("rejected")
    assert room.state(for_teacher=False)["revealed"] == "rejected"
    assert not room.answer(phone(4), 1, "rejected")
    room.ask(QUESTION, 1.0)
    assert room.state(for_teacher=True)["counts"] == {"accepted": 0, "rejected": 0}
    assert room.answer(phone(1), 2, "rejected")


def test_malformed_vote_or_question_is_refused(room):
    for vote in ((None, 1, "accepted"), ("x" * 32, 1, "accepted"), (phone(1), 1, "<b>")):
        with pytest.raises(BadRequest):
            room.answer(*vote)
    for wrong in ({"p": 0.5}, {"text": "x" * 401}, {"guess": ["a"]}):
        with pytest.raises(BadRequest):
            room.ask({**QUESTION, **wrong}, 1.0)
    assert room.number == 1


def test_number_of_answers_and_questions_of_a_room_is_limited(room):
    for number in range(votes.PHONES):
        assert room.answer(phone(number), 1, "accepted")
    with pytest.raises(TooMany):
        room.answer(phone(votes.PHONES), 1, "accepted")
    for _ in range(votes.QUESTIONS_A_MINUTE - 1):
        room.ask(QUESTION, 30.0)
    with pytest.raises(TooMany):
        room.ask(QUESTION, 59.0)
    room.ask(QUESTION, 91.0)


def test_number_and_lifetime_of_rooms_are_limited():
    now = [0.0]
    rooms = Rooms(clock=lambda: now[0])
    code, room = rooms.open("school")
    for _ in range(votes.ROOMS_OF_ONE - 1):
        rooms.open("school")
    with pytest.raises(TooMany):
        rooms.open("school")
    for number in range(votes.ROOMS - votes.ROOMS_OF_ONE):
        rooms.open(f"other {number}")
    with pytest.raises(TooMany):
        rooms.open("one more")
    now[0] = votes.LIFETIME - 1
    assert rooms.find(code.lower()) is room
    now[0] = votes.LIFETIME
    with pytest.raises(Unknown):
        rooms.find(code)
    assert room.closed
    assert not rooms.rooms


def test_streams_to_phones_end_when_the_room_closes():
    async def story():
        room = Room("key", "school", 0.0)
        states = [part async for part in closing(room)]
        assert json.loads(states[-1].removeprefix("data: ")) == {"number": 0, "closed": True}

    async def closing(room):
        async for part in room.states(for_teacher=False):
            yield part
            if part.startswith("data") and not room.closed:
                asyncio.get_running_loop().call_soon(room.close)

    asyncio.run(asyncio.wait_for(story(), 5))


def test_only_the_teacher_can_ask_reveal_close_and_see_counts():
    async def story():
        rooms = Rooms()
        app = Starlette(routes=rooms.routes())
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as http:
            base = f"{PREFIX}/votes"
            assert (await http.post(base, content="{}")).status_code == 415
            opened = (await http.post(base, json={})).json()
            room, key = f"{base}/{opened['code']}", opened["key"]
            for act in ("ask", "reveal", "close"):
                for wrong in ({}, {"key": "other"}, {"key": 5}):
                    sent = await http.post(f"{room}/{act}", json={**QUESTION, **wrong})
                    assert sent.status_code == 404
            assert (await http.get(f"{room}/lines?key=other")).status_code == 204
            assert (await http.post(f"{room}/ask", json={**QUESTION, "key": key})).is_success
            answer = {"phone": phone(1), "number": 1, "answer": "accepted"}
            assert (await http.post(f"{room}/answer", json=answer)).json() == {"counts": True}
            assert (await http.post(f"{room}/answer", json=answer)).json() == {"counts": False}
            long = {**answer, "more": "x" * votes.LONGEST}
            assert (await http.post(f"{room}/answer", json=long)).status_code == 400
            assert (await http.post(f"{room}/close", json={"key": key})).is_success
            assert (await http.post(f"{room}/answer", json=answer)).status_code == 404
            assert (await http.get(f"{room}/lines")).status_code == 204
            page = await http.get("/vote/ABCDE")
            assert "script-src 'self';" in page.headers[POLICY]
            assert "unsafe" not in page.headers[POLICY]

    asyncio.run(story())
