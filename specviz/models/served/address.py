"""Where a server is, as a person writes it: `vllm:URL`, and `#FOLDER` where its tokenizer lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import SplitResult, urlsplit

from specviz.models.errors import ServerFault

SCHEME: Final = "vllm:"


def is_served(name: str) -> bool:
    """Whether a model's name is a server's address."""
    return name.startswith(SCHEME)


@dataclass(frozen=True, slots=True)
class Address:
    """host, port, path: of the server; path without /v1. secure: over TLS.

    folder: of the tokenizer, where the server's own name for its model does not lead to it.
    """

    secure: bool
    host: str
    port: int
    path: str
    folder: str | None = None

    @classmethod
    def read(cls, name: str) -> Self:
        """From `vllm:URL#FOLDER`. Raises ServerFault where that is no address."""
        said = name.removeprefix(SCHEME)
        try:
            parts = urlsplit(said)
            port = parts.port
        except ValueError as error:
            raise ServerFault(f"{said!r:.100} is no address: {error}.") from error
        if parts.scheme not in ("http", "https") or not parts.hostname or not said.isprintable():
            raise ServerFault(
                f"{said!r:.100} is no address of a server: write vllm:http://HOST:PORT."
            )
        if parts.username or parts.password or parts.query:
            raise ServerFault(
                "A server's address has no name, password or question in it: a key belongs in the "
                "environment variable VLLM_API_KEY."
            )
        secure = parts.scheme == "https"
        usual = 443 if secure else 80
        path = parts.path.rstrip("/").removesuffix("/v1")
        return cls(secure, parts.hostname, port or usual, path, _folder(parts))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}{self.path}"


def _folder(parts: SplitResult) -> str | None:
    return parts.fragment or None
