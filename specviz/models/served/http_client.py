"""One question to a server and its answer as JSON.

Rule: every question has a limit of time and every answer one of size; no redirect is followed, so a
run talks to the address that was named and to no other. Standard library only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from time import monotonic
from typing import Any, Final, Self
from urllib.parse import SplitResult, urlsplit

from specviz.models.errors import ServerFault

SCHEME: Final = "vllm:"
QUICK: Final = 10.0  # seconds for what a server knows by heart
PASS: Final = 60.0  # for a pass, after the passes of others
MOST: Final = 1 << 27  # bytes of an answer
PIECE: Final = 1 << 16
KEY: Final = "VLLM_API_KEY"  # as vLLM's own server and clients call it


def is_served(name: str) -> bool:
    """Whether a model's name is a server's address."""
    return name.startswith(SCHEME)


@dataclass(frozen=True, slots=True)
class Address:
    """host, port, path: of the server; path without /v1. secure: over TLS.

    folder: of the tokenizer, where the server's own name for its model does not lead to it.
    called: what a sentence says instead of the address of the server that the host has named; None
    for all others.
    """

    secure: bool
    host: str
    port: int
    path: str
    folder: str | None = None
    called: str | None = None

    @classmethod
    def read(cls, name: str, called: str | None = None) -> Self:
        """From `vllm:URL#FOLDER`. Raises ServerFault where that is no address."""
        said = name.removeprefix(SCHEME)
        try:
            parts = urlsplit(said)
            port = parts.port
        except ValueError as error:
            raise ServerFault(f"{called or repr(said[:100])} is no address.") from error
        if parts.scheme not in ("http", "https") or not parts.hostname or not said.isprintable():
            shown = called or repr(said[:100])
            raise ServerFault(f"{shown} is no address of a server: write vllm:http://HOST:PORT.")
        if parts.username or parts.password or parts.query:
            raise ServerFault(
                "A server's address has no name, password or question in it: for a server with a "
                "key, set the environment variables SPECVIZ_SERVER and VLLM_API_KEY."
            )
        secure = parts.scheme == "https"
        usual = 443 if secure else 80
        path = parts.path.rstrip("/").removesuffix("/v1")
        return cls(secure, parts.hostname, port or usual, path, _folder(parts), called)

    def __str__(self) -> str:
        if self.called is not None:
            return self.called
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}{self.path}"


def _folder(parts: SplitResult) -> str | None:
    return parts.fragment or None


class Refused(ServerFault):
    """The server answered, and refused. status: HTTP's. said: its own words."""

    def __init__(self, who: Address, status: int, said: str) -> None:
        super().__init__(f"The server at {who} refused a question ({status}): {said:.300}")
        self.status = status
        self.said = said


@dataclass(frozen=True, slots=True)
class HttpClient:
    """A way to ask one server. Each question has a connection of its own, so threads may share.

    quick, patience: seconds for what it knows and for a pass. most: bytes of an answer.
    """

    address: Address
    quick: float = QUICK
    patience: float = PASS
    most: int = field(default=MOST, kw_only=True)

    def look(self, path: str) -> Any:
        """What the server says at a path. Raises ServerFault, Refused."""
        return self._read(*self._asked("GET", path, None, self.quick))

    def text(self, path: str) -> str:
        """The same, where it is no JSON. Raises ServerFault, Refused."""
        status, found = self._asked("GET", path, None, self.quick)
        said = found.decode(errors="replace")
        if status != 200:
            raise Refused(self.address, status, " ".join(said[:200].split()))
        return said

    def ask(self, path: str, question: Mapping[str, Any]) -> Any:
        """The server's answer to a question. Raises ServerFault, Refused."""
        return self._read(*self._asked("POST", path, json.dumps(question), self.patience))

    def headers(self) -> dict[str, str]:
        """What goes with a question. The key is for the host's server alone: visitors may name
        others.
        """
        key = os.environ.get(KEY) if self.address.called else None
        plain = {"Content-Type": "application/json", "Accept": "application/json"}
        return plain | ({"Authorization": f"Bearer {key}"} if key else {})

    def _asked(self, method: str, path: str, body: str | None, seconds: float) -> tuple[int, bytes]:
        """Status and body of an answer. Raises ServerFault."""
        kind = HTTPSConnection if self.address.secure else HTTPConnection
        connection = kind(self.address.host, self.address.port, timeout=seconds)
        until = monotonic() + seconds
        try:
            connection.request(method, self.address.path + path, body, self.headers())
            with connection.getresponse() as answer:
                return answer.status, self._whole(answer, until)
        except TimeoutError as error:
            raise ServerFault(
                f"The server at {self.address} did not answer within {seconds:g} seconds."
            ) from error
        except (OSError, HTTPException, UnicodeError) as error:
            reason = str(error) or type(error).__name__
            raise ServerFault(
                f"The server at {self.address} cannot be reached: {reason}."
            ) from error
        finally:
            connection.close()

    def _whole(self, answer: HTTPResponse, until: float) -> bytes:
        """All of an answer. Raises TimeoutError, ServerFault."""
        found = bytearray()
        while piece := answer.read1(PIECE):
            found += piece
            if len(found) > self.most:
                raise ServerFault(
                    f"The server at {self.address} answered more than {self.most >> 20} MiB."
                )
            if monotonic() > until:
                raise TimeoutError
        return bytes(found)

    def _read(self, status: int, text: bytes) -> Any:
        """The JSON of an answer. Raises Refused, ServerFault."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            if status != 200:
                raise Refused(self.address, status, text[:200].decode(errors="replace")) from error
            raise ServerFault(
                f"The server at {self.address} answered something else than JSON."
            ) from error
        if status != 200:
            raise Refused(self.address, status, _message(found))
        return found


def _message(found: Any) -> str:
    """An error's own words, wherever OpenAI's or FastAPI's form has them."""
    inner = found.get("error", found) if isinstance(found, dict) else found
    said = inner.get("message", inner.get("detail", inner)) if isinstance(inner, dict) else inner
    return " ".join(str(said).split())
