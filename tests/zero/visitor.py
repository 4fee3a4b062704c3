"""A visitor of the page without a browser, who sends the requests that a browser sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Self

import httpx

API = "/gradio_api"
SESSION = "a-visitor"
PAGE = "a" * 32  # the key of its page


class Visitor:
    """A visitor of the page.

    Attributes:
        job: The number of the newest job that it started. As on the page, numbers increase: a job
            with a lower number than an earlier job comes too late.

    Args:
        address: The page's address.
        token: The token that the proxy of a Space adds to every request.
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

    def press(self, button: str, *values: Any, request: str = "") -> Iterator[str]:
        """Yield the lines of the job that the button with this id starts, as they arrive."""
        self.job += 1
        name = json.dumps([PAGE, self.job, *([request] if request else [])])
        self._post("/queue/join", self._call(button, (*values, name)))
        text = ""
        with self._http.stream("GET", f"{API}/sv/jobs/{PAGE}/{self.job}/lines") as lines:
            for line in lines.iter_lines():
                if line.startswith("data: "):
                    text += line.removeprefix("data: ") + "\n"
                if not line and text:
                    yield text

    def stop(self) -> None:
        """Stop the newest job."""
        where = f"{API}/sv/jobs/{PAGE}/{self.job}/stop"
        self._http.post(where).raise_for_status()

    def change(
        self, control: str, values: list[Any], event: str = "change", data: Any = None
    ) -> list[Any]:
        """Return what an instrument answers at an event of the control with this id."""
        body = {**self._call(control, values, event), "event_data": data}
        answer = self._post("/run/predict", body)
        return list(answer["data"])

    def _call(self, button: str, values: Any, name: str = "click") -> dict[str, Any]:
        components = self._config["components"]
        (place,) = [each["id"] for each in components if each["props"].get("elem_id") == button]
        events = self._config["dependencies"]
        event = next(each for each in events if [place, name] in each["targets"])
        return {"fn_index": event["id"], "data": list(values), "session_hash": SESSION}

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._http.post(API + path, json=body).raise_for_status().json()
