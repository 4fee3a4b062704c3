"""Run app.py as a separate process and call it over HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parent.parent


def wait_for(address: str) -> None:
    """Return once the address answers."""
    for _ in range(960):  # four minutes: a machine may be busy
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError(address)


class Server:
    """A running app.py, its log, and its events by number."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.said = folder / "server.log"
        command = [sys.executable, "app.py", "--port", str(port), "--device", "cpu"]
        with self.said.open("w") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        self.address = f"http://127.0.0.1:{port}/"
        self.client = httpx.Client(base_url=f"{self.address}gradio_api", timeout=30)
        self.calls = 0
        wait_for(self.address)
        self.config = self.client.get("../config").json()

    def end(self, number: int) -> int:
        """Send this signal and return the exit status."""
        self.client.close()
        self.process.send_signal(number)
        return self.process.wait(20)

    def event(self, inputs: int, name: str) -> dict:
        """Return the event whose name has this prefix and which takes this number of values."""
        return next(
            each
            for each in self.config["dependencies"]
            if len(each["inputs"]) == inputs and str(each["api_name"]).startswith(name)
        )

    def post(self, path: str, **body: object) -> httpx.Response:
        """Post JSON, which may contain NaN and lone surrogates, and return the answer."""
        head = {"Content-Type": "application/json"}
        return self.client.post(path, content=json.dumps(body), headers=head)

    def call(self, number: int, values: list) -> str:
        """Call the event with this number; return its error message or its single text output."""
        self.calls += 1
        session = f"made-up-{self.calls}"
        joined = self.post("queue/join", fn_index=number, data=values, session_hash=session)
        if joined.status_code != 200:
            return joined.text
        told = ""
        with self.client.stream("GET", "queue/data", params={"session_hash": session}) as lines:
            for line in lines.iter_lines():
                message = json.loads(line.removeprefix("data:") or "{}")
                if message.get("msg") == "process_generating":
                    told = str(message["output"]["data"])
                if message.get("msg") == "process_completed":
                    output = message["output"]
                    return told or str(output.get("error") or output.get("data"))
        raise AssertionError("the stream ended without an answer")
