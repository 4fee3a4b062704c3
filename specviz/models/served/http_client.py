"""Send HTTP requests to a server, and parse its address: `vllm:URL`, or `vllm:URL#FOLDER`.

Every request has a timeout and every response a size limit. Redirects are not followed, so a run
connects only to the address that the user entered. Standard library only.
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
GET_SECONDS: Final = 10.0  # timeout in seconds of a request that needs no pass
POST_SECONDS: Final = 60.0  # timeout in seconds of a pass, which may wait for other clients' passes
MAX_BYTES: Final = 1 << 27  # maximum bytes of a response
CHUNK: Final = 1 << 16
KEY: Final = "VLLM_API_KEY"  # environment variable, named as in vLLM's server and clients


def is_served(name: str) -> bool:
    """Return whether a model's name is a server's address."""
    return name.startswith(SCHEME)


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server.

    Attributes:
        path: The path without /v1.
        folder: Folder of the tokenizer, if it cannot be found by the server's name for its model.
        alias: Shown instead of the address, which visitors must not see. Only set for the server
            that the operator of this app has configured.
    """

    secure: bool
    host: str
    port: int
    path: str
    folder: str | None = None
    alias: str | None = None

    @classmethod
    def read(cls, name: str, alias: str | None = None) -> Self:
        """Parse `vllm:URL#FOLDER`. Raises ServerFault if this is not an address."""
        url = name.removeprefix(SCHEME)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ServerFault(f"{alias or repr(url[:100])} is not an address.") from error
        if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable():
            shown = alias or repr(url[:100])
            raise ServerFault(f"{shown} is not a server's address: write vllm:http://HOST:PORT.")
        if parts.username or parts.password or parts.query:
            raise ServerFault(
                "A server's address cannot contain a user name, a password or a query. For a "
                "server with a key, set the environment variables SPECVIZ_SERVER and VLLM_API_KEY."
            )
        secure = parts.scheme == "https"
        usual = 443 if secure else 80
        path = parts.path.rstrip("/").removesuffix("/v1")
        return cls(secure, parts.hostname, port or usual, path, _folder(parts), alias)

    def __str__(self) -> str:
        if self.alias is not None:
            return self.alias
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}{self.path}"


def _folder(parts: SplitResult) -> str | None:
    return parts.fragment or None


class Refused(ServerFault):
    """Raised if the server responds with an error."""

    def __init__(self, who: Address, status: int, message: str) -> None:
        super().__init__(f"The server at {who} refused a request ({status}): {message:.300}")
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class HttpClient:
    """Sends requests to one server; each has its own connection, so threads can share the client.

    Attributes:
        get_seconds: Timeout of a GET request, in seconds.
        post_seconds: Timeout of a POST request, in seconds.
        max_bytes: Maximum size of a response, in bytes.
    """

    address: Address
    get_seconds: float = GET_SECONDS
    post_seconds: float = POST_SECONDS
    max_bytes: int = field(default=MAX_BYTES, kw_only=True)

    def get_json(self, path: str) -> Any:
        """GET a path and return the JSON.

        Raises Refused if the server responded with an error; ServerFault if it is down, slow, or
        sends something else.
        """
        return self._read(*self._send("GET", path, None, self.get_seconds))

    def get_text(self, path: str) -> str:
        """GET a path and return the text.

        Raises Refused if the server responded with an error; ServerFault if it is down or slow.
        """
        status, found = self._send("GET", path, None, self.get_seconds)
        text = found.decode(errors="replace")
        if status != 200:
            raise Refused(self.address, status, " ".join(text[:200].split()))
        return text

    def post_json(self, path: str, body: Mapping[str, Any]) -> Any:
        """POST a JSON object and return the JSON of the response.

        Raises Refused if the server responded with an error; ServerFault if it is down, slow, or
        sends something else.
        """
        return self._read(*self._send("POST", path, json.dumps(body), self.post_seconds))

    def headers(self) -> dict[str, str]:
        """Return the request headers; only the operator's own server receives the API key."""
        key = os.environ.get(KEY) if self.address.alias else None
        plain = {"Content-Type": "application/json", "Accept": "application/json"}
        return plain | ({"Authorization": f"Bearer {key}"} if key else {})

    def _send(self, method: str, path: str, body: str | None, seconds: float) -> tuple[int, bytes]:
        kind = HTTPSConnection if self.address.secure else HTTPConnection
        connection = kind(self.address.host, self.address.port, timeout=seconds)
        until = monotonic() + seconds
        try:
            connection.request(method, self.address.path + path, body, self.headers())
            with connection.getresponse() as answer:
                return answer.status, self._read_body(answer, until)
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

    def _read_body(self, answer: HTTPResponse, until: float) -> bytes:
        found = bytearray()
        while piece := answer.read1(CHUNK):
            found += piece
            if len(found) > self.max_bytes:
                raise ServerFault(
                    f"The server at {self.address} sent more than {self.max_bytes >> 20} MiB."
                )
            if monotonic() > until:
                raise TimeoutError
        return bytes(found)

    def _read(self, status: int, text: bytes) -> Any:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            if status != 200:
                raise Refused(self.address, status, text[:200].decode(errors="replace")) from error
            raise ServerFault(f"The server at {self.address} did not respond with JSON.") from error
        if status != 200:
            raise Refused(self.address, status, _message(found))
        return found


def _message(found: Any) -> str:
    inner = found.get("error", found) if isinstance(found, dict) else found
    text = inner.get("message", inner.get("detail", inner)) if isinstance(inner, dict) else inner
    return " ".join(str(text).split())
