"""A class vote with many phones: the time from an answer to the teacher's stream.

`PYTHONPATH=. python tests/load/vote.py` starts the app on loopback, opens a room, connects 40
phones, and asks ten questions; every phone answers each within two seconds.
Bounded by --phones and --questions. Times are this machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent))
from room import _spread, served

BASE = "/gradio_api/sv/votes"
SPREAD = 2.0  # seconds in which a class answers
QUESTION = {"text": "Once upon", "guess": "␣a", "p": "0.64", "q": "0.85"}


async def states(http: httpx.AsyncClient, path: str, heard: asyncio.Queue[Any]) -> None:
    """Put each state of a stream into a queue, with its time."""
    async with http.stream("GET", path) as lines:
        async for line in lines.aiter_lines():
            if line.startswith("data: "):
                await heard.put((time.perf_counter(), json.loads(line.removeprefix("data: "))))


async def phone(http: httpx.AsyncClient, room: str, random: Random, sent: list[float]) -> None:
    """Answer every question, and note when."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    listening = asyncio.create_task(states(http, f"{room}/lines", heard))
    name = f"{random.getrandbits(128):032x}"
    while True:
        _, state = await heard.get()
        if state.get("closed"):
            await listening
            return
        if "question" not in state or "revealed" in state:
            continue
        await asyncio.sleep(random.uniform(0, SPREAD))
        verdict = random.choice(("accepted", "rejected"))
        answer = {"phone": name, "number": state["number"], "answer": verdict}
        sent.append(time.perf_counter())
        (await http.post(f"{room}/answer", json=answer)).raise_for_status()


async def vote(phones: int, questions: int) -> None:
    """Hold a vote; print the seconds from each answer to the first state that counts it."""
    limits = httpx.Limits(max_connections=2 * phones + 10)
    async with (
        served() as server,
        httpx.AsyncClient(base_url=server.address, timeout=60, limits=limits) as http,
    ):
        opened = (await http.post(BASE, json={})).json()
        room, key = f"{BASE}/{opened['code']}", {"key": opened["key"]}
        heard: asyncio.Queue[Any] = asyncio.Queue()
        tasks = [asyncio.create_task(states(http, f"{room}/lines?key={key['key']}", heard))]
        sent: list[float] = []
        tasks += [asyncio.create_task(phone(http, room, Random(i), sent)) for i in range(phones)]
        await asyncio.sleep(2)
        delays: list[float] = []
        for _ in range(questions):
            sent.clear()
            await http.post(f"{room}/ask", json={**QUESTION, **key})
            seen = 0
            while seen < phones:
                at, state = await asyncio.wait_for(heard.get(), 30)
                count = sum(state["counts"].values())
                # Answers are counted in the order of sending, except within a few milliseconds.
                delays += [at - each for each in sent[seen:count]]
                seen = count
            await http.post(f"{room}/reveal", json={"verdict": "accepted", **key})
            while not heard.empty() or "revealed" not in state:
                _, state = await heard.get()
        await http.post(f"{room}/close", json=key)
        await asyncio.wait_for(asyncio.gather(*tasks), 30)
        told = {"answers": len(delays), "seconds: median, 95th, slowest": _spread(delays)}
        print(told, "memory MB:", round(server.status()[0]))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phones", type=int, default=40)
    parser.add_argument("--questions", type=int, default=10)
    args = parser.parse_args()
    asyncio.run(vote(min(args.phones, 300), min(args.questions, 50)))
