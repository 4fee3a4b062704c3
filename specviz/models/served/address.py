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
