"""Rooms of class votes: answers, keys, limits, and the time after which a room ends."""

import asyncio
import json

import httpx
import pytest
import segno
from starlette.applications import Starlette
from starlette.requests import Request

from specviz.ui import votes
from specviz.ui.misses import MOST_ADDRESSES
from specviz.ui.policy import POLICY
from specviz.ui.routes import PREFIX
from specviz.ui.votes import BadRequest, Room, Rooms, TooMany, Unknown

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
    asked = {**QUESTION, "ask": "", "options": []}
    assert room.state(for_teacher=False) == {"number": 1, "question": asked}
    room.reveal("rejected")
    assert room.state(for_teacher=False)["revealed"] == "rejected"
    assert not room.answer(phone(4), 1, "rejected")
    room.ask(QUESTION, 1.0)
    assert room.state(for_teacher=True)["counts"] == {"accepted": 0, "rejected": 0}
    assert room.answer(phone(1), 2, "rejected")


def test_question_of_a_lesson_has_its_own_options(room):
    room.ask({"ask": "How often?", "options": ["never", "always", "at times"]}, 1.0)
    assert room.answer(phone(1), 2, "2")
    for wrong in ("3", "accepted", 2):
        with pytest.raises(BadRequest):
            room.answer(phone(2), 2, wrong)
    with pytest.raises(BadRequest):
        room.reveal("accepted")
    room.reveal("0")
    state = room.state(for_teacher=True)
    assert (state["counts"], state["revealed"]) == ({"0": 0, "1": 0, "2": 1}, "0")
    for options in ("ab", ["x"] * 7, ["x" * 301], [5]):
        with pytest.raises(BadRequest):
            room.ask({"ask": "How often?", "options": options}, 2.0)


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
            long = {**answer, "more": "x" * votes.MAX_BYTES}
            assert (await http.post(f"{room}/answer", json=long)).status_code == 400
            assert (await http.post(f"{room}/close", json={"key": key})).is_success
            assert (await http.post(f"{room}/answer", json=answer)).status_code == 404
            assert (await http.get(f"{room}/lines")).status_code == 204
            page = await http.get("/vote/ABCDE")
            assert "script-src 'self';" in page.headers[POLICY]
            assert "unsafe" not in page.headers[POLICY]
            assert "<form hidden" in page.text
            form = await http.get("/vote/")
            assert "<form action" in form.text  # also without scripts
            assert "Which room?" in form.text
            assert (await http.get("/vote/?code=abcde")).headers["location"] == "ABCDE"
            for wrong in ("//evil.example", "ABC", "../x"):
                assert (await http.get("/vote/", params={"code": wrong})).is_success

    asyncio.run(story())


def test_room_has_a_qr_code_of_the_address_that_phones_open():
    rooms = Rooms()
    request = Request({"type": "http", "client": ("school", 1), "headers": [], "path_params": {}})
    opened = rooms.perform(request, {"phones": "https://school.example/vote/"})
    address = f"https://school.example/vote/{opened['code']}"
    expected = segno.make_qr(address).svg_data_uri(border=4, light="white")
    assert opened["qr"] == expected
    assert rooms.perform(request, {})["qr"] == "", "phones cannot open the page"
    for wrong in (5, "javascript:alert()", "http://" + "x" * votes.MAX_ADDRESS):
        with pytest.raises(BadRequest):
            rooms.perform(request, {"phones": wrong})
    assert len(rooms.rooms) == 2


def test_wrong_codes_and_keys_slow_down_their_address_but_not_teachers_and_known_phones():
    now = [0.0]
    rooms = Rooms(clock=lambda: now[0])
    code, room = rooms.open("school")
    wrong = code.translate(str.maketrans(votes.LETTERS, votes.LETTERS[1:] + votes.LETTERS[0]))

    def attempt(given=code, address="school", seen=None, key=None):
        try:
            return rooms.enter(given, address, seen, key)
        except (Unknown, TooMany) as problem:
            return "wait" if getattr(problem, "wait", 0.0) else "unknown"

    assert attempt(seen=phone(1)) is room
    tried = [attempt(wrong) for _ in range(100)]
    assert tried.count("unknown") == 60
    assert tried[-1] == "wait"
    assert attempt() == attempt(key="wrong") == "wait", "a right code is not recognized either"
    assert attempt(seen=phone(2)) == attempt(seen=["a list"]) == "wait"
    assert attempt(seen=phone(1)) is attempt(key=room.key) is attempt(address="home") is room
    now[0] += 1.9
    assert attempt(wrong) == "wait"
    now[0] += 0.2
    assert attempt(wrong) == "unknown"
    assert attempt() == "wait"
    now[0] += 120.0
    assert attempt(seen=phone(3)) is room
    assert phone(3) in room.phones
    others = [attempt(wrong, f"address {number}") for number in range(1000)]
    assert others.count("unknown") == 300
    assert attempt(address="home") == "wait", "so many addresses count together"
    assert len(rooms._misses._addresses) <= MOST_ADDRESSES


def test_readers_of_a_room_are_limited_even_if_they_connect_at_the_same_moment(monkeypatch):
    async def story():
        monkeypatch.setattr(votes, "READERS", 5)
        rooms = Rooms()
        code, room = rooms.open("school")
        app = Starlette(routes=rooms.routes())
        statuses, release = [], asyncio.Event()

        async def read():
            async def receive():
                await release.wait()
                return {"type": "http.disconnect"}

            async def send(message):
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])
                    await asyncio.sleep(0.05)  # as if the connection were slow

            scope = {"type": "http", "method": "GET", "path": f"{PREFIX}/votes/{code}/lines"}
            await app(scope | {"headers": [], "query_string": b""}, receive, send)

        reading = [asyncio.create_task(read()) for _ in range(12)]
        await asyncio.sleep(0.2)
        assert room.readers == 5
        release.set()
        await asyncio.wait_for(asyncio.gather(*reading), 5)
        assert sorted(statuses) == [200] * 5 + [429] * 7
        assert room.readers == 0

    asyncio.run(story())


def test_refused_attempt_says_when_to_try_again(monkeypatch):
    async def story():
        rooms = Rooms()
        monkeypatch.setattr(rooms._misses, "wait", lambda address: 6.2)
        transport = httpx.ASGITransport(Starlette(routes=rooms.routes()))
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as http:
            answer = {"phone": phone(1), "number": 1, "answer": "accepted"}
            code, _ = rooms.open("school")
            room = f"{PREFIX}/votes/{code}"
            for response in (
                await http.get(f"{room}/lines"),
                await http.post(f"{room}/answer", json=answer),
            ):
                assert (response.status_code, response.headers["retry-after"]) == (429, "7")
                assert response.json()["problem"].endswith("Try again in 7 seconds.")

    asyncio.run(story())
