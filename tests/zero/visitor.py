"""A visitor of the page without a browser, who makes the calls that a browser makes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Self

import httpx
from gradio_client.utils import apply_diff

API = "/gradio_api"
SESSION = "a-visitor"


class Visitor:
    """token: what the proxy of a Space adds to every request. job: the newest it pressed for.

    As on the page, jobs are counted upwards: one with a lower number than another comes too late.
    """

    def __init__(self, address: str, token: str) -> None:
        headers = {"X-IP-Token": token}
        self._http = httpx.Client(base_url=address.rstrip("/"), headers=headers, timeout=30)
        self._config = self._http.get("/config").raise_for_status().json()
        self.job = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def press(self, button: str, wish: str) -> Iterator[str]:
        """What a button's event streams, as the text grows. button: its id on the page."""
        self.job += 1
        self._post("/queue/join", self._call(button, (wish, self.job)))
        text: Any = None
        where = {"session_hash": SESSION}
        with self._http.stream("GET", f"{API}/queue/data", params=where) as heard:
            for line in heard.iter_lines():
                message = json.loads(line.removeprefix("data:")) if line else {}
                if message.get("msg") == "process_generating":
                    assert message["success"], message
                    (news,) = message["output"]["data"]
                    text = news if text is None else apply_diff(text, news)
                    yield text
                elif message.get("msg") == "process_completed":
                    assert message["success"], message
                    return

    def ask(self, button: str, *values: Any) -> str | None:
        """What a button's event that waits in no line answers."""
        data = self._post("/run/predict", self._call(button, values))["data"]
        return data[0] if data else None

    def question(self, section: str, question: dict[str, Any]) -> dict[str, Any]:
        """What a section answers to a question."""
        answer: dict[str, Any] = self._post(f"/sv/ask/{section}", question)
        return answer

    def _call(self, button: str, values: Any) -> dict[str, Any]:
        components = self._config["components"]
        (place,) = [each["id"] for each in components if each["props"].get("elem_id") == button]
        events = self._config["dependencies"]
        event = next(each for each in events if [place, "click"] in each["targets"])
        return {"fn_index": event["id"], "data": list(values), "session_hash": SESSION}

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._http.post(API + path, json=body).raise_for_status().json()
