"""Simulate many visitors at once and print how long each of them waited.

`PYTHONPATH=. python tests/load/room.py` starts the app on loopback. For ten minutes, 40 visitors
load the page, run, stop, leave and come back. The script then prints their waiting times beside the
intended ones. One run in five is the same for the whole class; every other run has its own seed.

The duration is bounded by --visitors, --seconds, and PATIENCE at the end. Visitors send the
requests that browsers send, without browsers, which would need the whole machine. The times are
those of this machine, and other work on it affects them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from app_server import ROOT, wait_for

API = "/gradio_api"
PATIENCE = 120.0  # seconds until a visitor gives up
PLACE, ROUND, PAGE = 0.3, 3.0, 3.0  # intended seconds: to a queue position, a round, a page
DRAFTERS = ("draft-model", "eagle3", "medusa", "ngram", "eagle")
CLASS = 0.2  # share of runs that request the same run
PROMPTS = ("Once upon a time there was a little girl", "Tom had a red kite", "def add(a, b):")
LINKED = re.compile(r'(?:href|src)="(?:\./)?([^"#]+\.(?:js|css)[^"]*)"')


@dataclass
class Seen:
    """What the visitors saw.

    place, first: seconds from the click to the first queue position, and to the first round.
    """

    pages: list[float] = field(default_factory=list)
    place: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    in_time: list[bool] = field(default_factory=list)
    again: int = 0  # runs that were shown from memory
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Server:
    """The app's process as the operating system sees it."""

    pid: int
    address: str

    def status(self) -> tuple[float, int]:
        """Return the megabytes of memory that the process holds, and its number of threads."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        memory, threads = (text.split(f"\n{name}:")[1].split()[0] for name in ("VmRSS", "Threads"))
        return int(memory) / 1024, int(threads)


@asynccontextmanager
async def served() -> AsyncIterator[Server]:
    """Run the app; yield it after a first run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "app.py", "--port", str(port)]
    with (
        Path(os.devnull).open("w") as quiet,
        subprocess.Popen(command, cwd=ROOT, stdout=quiet) as app,
    ):
        server = Server(app.pid, f"http://127.0.0.1:{port}")
        try:
            wait_for(f"{server.address}{API}/sv/health")
            warm = Seen()
            for drafter in DRAFTERS:
                async with Visitor(server, Random(0), warm) as visitor:
                    await visitor.load()
                    await visitor.run(drafter, leaves=False, stops=False)
            yield server
        finally:
            app.terminate()


class Visitor:
    """A visitor who opens the page; each has a new session."""

    def __init__(self, server: Server, random: Random, seen: Seen) -> None:
        self.server, self.random, self.seen = server, random, seen
        self.session = f"{random.getrandbits(50):011x}"
        self.page = f"{random.getrandbits(128):032x}"
        self.number = 0
        limits = httpx.Limits(max_connections=8, keepalive_expiry=2.0)
        self.http = httpx.AsyncClient(base_url=server.address, timeout=PATIENCE, limits=limits)
        self.beating: asyncio.Task[None] | None = None
        self.config: dict[str, Any] = {}

    async def __aenter__(self) -> Visitor:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the page, and with it every open stream, so that the server notices."""
        if self.beating is not None:
            self.beating.cancel()
            with suppress(asyncio.CancelledError):
                await self.beating
        await self.http.aclose()

    async def load(self) -> None:
        """Load the page with its scripts and the recorded run that plays first."""
        start = time.perf_counter()
        page = (await self.http.get("/")).raise_for_status().text
        found = dict.fromkeys(LINKED.findall(page))
        inside = [name for name in found if not name.startswith(("http", "//"))]
        await asyncio.gather(*(self.http.get("/" + name.lstrip("/")) for name in inside))
        await self.http.get(f"{API}/sv/traces/01-chain")
        self.seen.pages.append(time.perf_counter() - start)
        self.config = (await self.http.get("/config")).json()
        self.beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        """Keep the connection open that the page keeps open."""
        with suppress(httpx.HTTPError):
            async with self.http.stream("GET", f"{API}/heartbeat/{self.session}") as beat:
                async for _ in beat.aiter_bytes():
                    pass

    async def run(self, drafter: str, leaves: bool, stops: bool) -> str:
        """Start a live run; return how it ended for this visitor."""
        self.number += 1
        wish = self._wish(drafter)
        start = time.perf_counter()
        first: dict[str, float] = {}
        async for kinds in self._press("sv-branch", json.dumps(wish)):
            now = time.perf_counter() - start
            for kind in kinds:
                first.setdefault(kind, now)
            if "round" in kinds and leaves:
                break
            if "round" in kinds and stops:
                stops = False
                await self._post(f"/sv/jobs/{self.page}/{self.number}/stop", {})
        self._count(first)
        ends = ("done", "stopped", "error")
        return next((each for each in ends if each in first), "left" if leaves else "lost")

    def _wish(self, drafter: str) -> dict[str, Any]:
        if self.random.random() < CLASS:
            return {"prompt": PROMPTS[0], "settings": {"max_new_tokens": 40}}
        settings = {
            "max_new_tokens": self.random.choice((24, 40)),
            "seed": self.random.getrandbits(30),
        }
        return {"prompt": self.random.choice(PROMPTS), "drafter": drafter, "settings": settings}

    def _count(self, first: dict[str, float]) -> None:
        self.seen.again += "again" in first
        if "queued" in first:
            self.seen.place.append(first["queued"])
        if "round" in first:
            self.seen.first.append(first["round"])
        soon = first.get("round", PATIENCE) <= ROUND or first.get("queued", PATIENCE) <= PLACE
        self.seen.in_time.append(soon)

    async def _press(self, button: str, wish: str) -> AsyncIterator[set[str]]:
        """Press a button; yield the kinds of the job's lines so far, states by their own name."""
        await self._post(
            "/queue/join", self._call(button, json.dumps([self.page, self.number, wish]))
        )
        kinds: set[str] = set()
        where = f"{API}/sv/jobs/{self.page}/{self.number}/lines"
        async with self.http.stream("GET", where) as lines:
            async for line in lines.aiter_lines():
                if line.startswith("data: "):
                    kinds.add(_kind(line.removeprefix("data: ")))
                    if line.startswith('data: {"kind":"error"'):
                        self.seen.wrong.append(line[:200])
                elif not line and kinds:
                    yield set(kinds)
        await self._started()

    async def _started(self) -> None:
        """Wait for the end of the event, which the page waits for too."""
        where = {"session_hash": self.session}
        async with self.http.stream("GET", f"{API}/queue/data", params=where) as messages:
            async for line in messages.aiter_lines():
                message = json.loads(line.removeprefix("data:")) if line else {}
                if message.get("msg") == "process_completed":
                    if not message["success"]:
                        self.seen.wrong.append(str(message["output"])[:200])
                    return

    def _call(self, button: str, *values: Any) -> dict[str, Any]:
        components = self.config["components"]
        (place,) = [each["id"] for each in components if each["props"].get("elem_id") == button]
        events = self.config["dependencies"]
        event = next(each for each in events if [place, "click"] in each["targets"])
        return {"fn_index": event["id"], "data": list(values), "session_hash": self.session}

    async def _post(self, path: str, body: dict[str, Any]) -> None:
        (await self.http.post(API + path, json=body)).raise_for_status()


def _kind(line: str) -> str:
    said = json.loads(line)
    return "again" if "again" in said else str(said.get("state", said["kind"]))


async def visits(server: Server, place: int, until: float, seen: Seen) -> None:
    """Send one visitor after another until the end."""
    random = Random(place)
    await asyncio.sleep(random.uniform(0, 20))
    while time.monotonic() < until:
        try:
            async with Visitor(server, random, seen) as visitor:
                await visitor.load()
                for _ in range(random.randint(1, 4)):
                    await asyncio.sleep(random.uniform(3, 15))  # reads and steps, without requests
                    if time.monotonic() > until:
                        break
                    leaves, stops = random.random() < 0.15, random.random() < 0.1
                    seen.ends[await visitor.run(random.choice(DRAFTERS), leaves, stops)] += 1
        except httpx.HTTPError as problem:
            seen.wrong.append(repr(problem))
        await asyncio.sleep(random.uniform(1, 8))


async def room(visitors: int, seconds: float) -> dict[str, Any]:
    """Run all visitors; return the results."""
    async with served() as server:
        seen, until = Seen(), time.monotonic() + seconds
        states = [server.status()]
        seats = [visits(server, place, until, seen) for place in range(visitors)]
        await asyncio.gather(watch(server, seconds, states), *seats)
        await asyncio.sleep(15)
        states.append(server.status())
    share = sum(seen.in_time) / len(seen.in_time) if seen.in_time else 0.0
    return {
        "visitors": visitors,
        "seconds": seconds,
        "pages": len(seen.pages),
        "page seconds: median, 95th, slowest": _spread(seen.pages),
        "runs": sum(seen.ends.values()),
        "ends": dict(seen.ends),
        "runs from memory": seen.again,
        "place seconds: median, 95th, slowest": _spread(seen.place),
        "first round seconds: median, 95th, slowest": _spread(seen.first),
        f"first round in {ROUND:g} s or a place in {PLACE:g} s": round(share, 3),
        "memory MB: before, while full, after": [round(memory) for memory, _ in states],
        "threads: before, after": [states[0][1], states[-1][1]],
        "wrong": seen.wrong[:10],
    }


async def watch(server: Server, seconds: float, states: list[tuple[float, int]]) -> None:
    """Note the server's state at ten moments."""
    for _ in range(10):
        await asyncio.sleep(seconds / 10)
        states.append(server.status())


def _spread(values: list[float]) -> list[float]:
    if not values:
        return []
    ranked = sorted(values)
    late = ranked[int(0.95 * (len(ranked) - 1))]
    return [round(each, 2) for each in (median(ranked), late, ranked[-1])]


def main() -> int:
    """Run and print; return 1 if a run was lost or something failed."""
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--visitors", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=600)
    args = parser.parse_args()
    found = asyncio.run(room(min(args.visitors, 200), min(args.seconds, 3600)))
    for name, value in found.items():
        print(f"{name}: {value}")
    return int(bool(found["wrong"]) or "lost" in found["ends"] or "error" in found["ends"])


if __name__ == "__main__":
    sys.exit(main())
