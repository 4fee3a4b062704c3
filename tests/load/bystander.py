"""Attack a page in five ways, and print how long a bystander waited during each.

`PYTHONPATH=. python tests/load/bystander.py` starts the app on loopback; with `--address URL`, it
attacks a page that is running. A bystander, in a process of its own, requests a small file again
and again. The attacks are those of one client: embedded steps with many spellings of their address,
200 pages that are closed together, API calls that nobody reads, bodies and headers that never
become complete, and wrong codes of votes.

Each attack is bounded by --seconds. The times are those of this machine, and other work on it
affects them; on two idle cores, no bystander should wait 0.3 s.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent))
from room import API, Server, served

PAUSE: Final = 0.02  # seconds between two requests of the bystander
PAGES: Final = 200  # pages that are closed together
CALLS: Final = 66  # API calls that nobody reads
CONNECTIONS: Final = 100  # incomplete bodies, and as many incomplete headers
BODY: Final = 4_000_000  # bytes that a body states
SENT: Final = 3_900_000  # bytes of it that are sent
READERS: Final = 600  # readers of a room that connect together
LETTERS: Final = "ABCDEFGHJKMNPQRSTUVWXYZ"

Attack = Callable[[httpx.AsyncClient, float], Awaitable[str]]


def stand_by(address: str, pipe: Connection) -> None:
    """Request a small file until told to stop; then send the longest wait in seconds."""
    worst = 0.0
    with httpx.Client(base_url=address, timeout=60) as http:
        http.get(f"{API}/sv/health")
        pipe.send(0.0)
        while not pipe.poll(PAUSE):
            start = time.perf_counter()
            http.get(f"{API}/sv/health").raise_for_status()
            worst = max(worst, time.perf_counter() - start)
    pipe.send(worst)


@asynccontextmanager
async def bystander(address: str) -> AsyncIterator[Callable[[], Awaitable[float]]]:
    """Run a bystander; yield a function that ends it and returns its longest wait in seconds."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=stand_by, args=(address, theirs))
    process.start()
    try:
        await asyncio.to_thread(ours.recv)

        async def finish() -> float:
            ours.send("stop")
            return float(await asyncio.to_thread(ours.recv))

        yield finish
    finally:
        process.terminate()


async def repeat(seconds: float, workers: int, act: Callable[[int], Awaitable[object]]) -> int:
    """Call `act` with the numbers from 0 on for some seconds; return the number of calls."""
    until, count = time.monotonic() + seconds, 0

    async def work() -> None:
        nonlocal count
        while time.monotonic() < until:
            count += 1
            await act(count)

    await asyncio.gather(*(work() for _ in range(workers)))
    return count


async def embed_steps(http: httpx.AsyncClient, seconds: float) -> str:
    """Request embedded steps, each time with another spelling of the address."""

    async def request(number: int) -> None:
        shown = ",".join(["text"] * (number % 50 + 1))
        path = f"/?embed=1&trace=01-chain&round={'0' * (number % 10)}1&show={shown}"
        (await http.get(path)).raise_for_status()

    return f"{await repeat(seconds, 8, request)} pages"


async def close_pages(http: httpx.AsyncClient, seconds: float) -> str:
    """Open the heartbeats of many pages, and close them together."""
    async with AsyncExitStack() as pages:
        for number in range(PAGES):
            beat = http.stream("GET", f"{API}/heartbeat/bystander{number}")
            await pages.enter_async_context(beat)
        await asyncio.sleep(1)
    await asyncio.sleep(seconds)
    return f"{PAGES} pages closed"


async def call_unread(http: httpx.AsyncClient, seconds: float) -> str:
    """Call the API function under invented session names, and read no result."""
    events = (await http.get("/config")).json()["dependencies"]
    event = next(each["id"] for each in events if each["api_name"] == "run")
    values = ["Once upon a time", "draft-model", {"max_new_tokens": 200}, "house"]

    async def call(number: int) -> int:
        body = {"fn_index": event, "data": values, "session_hash": f"bystander{number}"}
        return (await http.post(f"{API}/queue/join", json=body)).status_code

    await asyncio.gather(*map(call, range(CALLS)))
    direct = await http.post(f"{API}/run/run", json={"data": values})
    await asyncio.sleep(seconds)
    return f"{CALLS} calls; without the queue: status {direct.status_code}"


async def send_incomplete(http: httpx.AsyncClient, seconds: float) -> str:
    """Send most of a body, or half of the headers, on many connections, and then nothing."""
    url = urlsplit(str(http.base_url))
    start = f"POST {API}/queue/join HTTP/1.1\r\nHost: {url.netloc}\r\n"
    body = start + f"Content-Type: application/json\r\nContent-Length: {BODY}\r\n\r\n"

    async def send(text: bytes) -> asyncio.StreamWriter:
        _, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(text)
        with suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(writer.drain(), seconds)
        return writer

    whole = body.encode() + b"x" * SENT
    sent = [send(whole) for _ in range(CONNECTIONS)]
    sent += [send(start.encode()) for _ in range(CONNECTIONS)]
    writers = await asyncio.gather(*sent)
    await asyncio.sleep(seconds)
    for writer in writers:
        writer.transport.abort()
    return f"{CONNECTIONS} bodies and {CONNECTIONS} headers"


async def guess_codes(http: httpx.AsyncClient, seconds: float) -> str:
    """Try codes of rooms at random, and read one room more often than allowed."""
    opened = (await http.post(f"{API}/sv/votes", json={})).json()
    statuses: Counter[int] = Counter()
    random = Random(1)

    async def read() -> None:
        path = f"{API}/sv/votes/{opened['code']}/lines"
        async with http.stream("GET", path) as lines:
            statuses[lines.status_code] += 1
            await asyncio.sleep(seconds)

    await asyncio.gather(*(read() for _ in range(READERS)))
    readers = statuses[200]
    statuses.clear()

    async def guess(_: int) -> None:
        code = "".join(random.choices(LETTERS, k=5))
        answer = {"phone": f"{random.getrandbits(128):032x}", "number": 1, "answer": "accepted"}
        path = f"{API}/sv/votes/{code}/answer"
        statuses[(await http.post(path, json=answer)).status_code] += 1

    await repeat(seconds, 8, guess)
    closing = f"{API}/sv/votes/{opened['code']}/close"
    await http.post(closing, json={"key": opened["key"]})
    return f"{readers} of {READERS} readers; {statuses[404]} codes tried, {statuses[429]} refused"


ATTACKS: Final[dict[str, Attack]] = {
    "a, embedded steps": embed_steps,
    "b, closed pages": close_pages,
    "c, unread API calls": call_unread,
    "d, incomplete requests": send_incomplete,
    "e, codes of votes": guess_codes,
}


async def run_attacks(server: Server, seconds: float) -> None:
    """Run every attack and print the longest wait of its bystander."""
    limits = httpx.Limits(max_connections=READERS + 10)
    headers = {"Accept-Encoding": "gzip"}
    for name, attack in ATTACKS.items():
        async with (
            bystander(server.address) as finish,
            httpx.AsyncClient(
                base_url=server.address, timeout=60, limits=limits, headers=headers
            ) as http,
        ):
            before = server.status()[0] if server.pid else 0.0
            done = await attack(http, seconds)
            worst = await finish()
            more = f", {server.status()[0] - before:+.0f} MB" if server.pid else ""
        print(json.dumps({"attack": name, "worst wait, s": round(worst, 3), "note": done + more}))


async def attack_own_server(seconds: float) -> None:
    """Start the app and attack it."""
    async with served() as server:
        await run_attacks(server, seconds)


def main() -> int:
    """Attack and print."""
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each attack")
    parser.add_argument("--address", help="a page that is running, like http://127.0.0.1:7860")
    args = parser.parse_args()
    seconds = min(args.seconds, 60.0)
    if args.address:
        asyncio.run(run_attacks(Server(0, args.address.rstrip("/")), seconds))
    else:
        asyncio.run(attack_own_server(seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
