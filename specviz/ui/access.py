"""Access rules: the hosts that the server answers to, and the pages that may call or embed it.

A web page anywhere can point its own name at 127.0.0.1 (DNS rebinding), and the browser then
treats this server as part of that site. The Host header still has that name, so only known names
are answered. A literal address cannot be rebound.

Standard library only, since the command line reads its options with it.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, Self
from urllib.parse import urlsplit

import gradio as gr

from specviz.adapters.gradio import busy_sessions, drop_session

ALLOWED_HOSTS: Final = "SPECVIZ_ALLOWED_HOSTS"  # environment variables with comma-separated lists
EMBED_IN: Final = "SPECVIZ_EMBED_IN"
AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]*)?")
NAME: Final = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
SITE: Final = re.compile(r"\*|https?://(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")
OWN: Final = "'self'"
# A Space is served at OWNER-NAME.hf.space and embedded in huggingface.co.
SPACES: Final = "*.hf.space"
SPACE_FRAMES: Final = ("https://huggingface.co", f"https://{SPACES}")


def host_name(text: str) -> str:
    """Normalize an allowed host to lower case; "*.name" matches every name below it.

    Raises ValueError with a sentence.
    """
    name = text.strip().lower().strip("[]").rstrip(".")
    if address_of(name) is None and not NAME.fullmatch(name):
        raise ValueError(
            "An allowed host must be a name such as specviz.example.edu, without http:// and "
            f"without a port, not {text!r}."
        )
    return name


def site(text: str) -> str:
    """Normalize a site that may embed the page, as a CSP source; "*" is any site.

    Raises ValueError with a sentence.
    """
    found = text.strip().lower().rstrip("/")
    if not SITE.fullmatch(found):
        raise ValueError(
            f"A site must be an address such as https://course.example.edu, not {text!r}."
        )
    return found


def address_of(name: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address that a host is written as; None for a name."""
    try:
        found = ip_address(name.strip("[]"))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_loopback(name: str) -> bool:
    """Whether a host always means the local machine."""
    address = address_of(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def name_in(authority: str) -> str | None:
    """Return the host of "host" or "host:port" in lower case; None if it is neither."""
    match = AUTHORITY.fullmatch(authority.strip().lower())
    return match[1].strip("[]").rstrip(".") if match else None


def name_in_origin(origin: str) -> str | None:
    """Return the host of an Origin header; None for "null" and other schemes."""
    scheme, separator, authority = origin.partition("://")
    return name_in(authority) if separator and scheme in ("http", "https") else None


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the server.

    Attributes:
        hosts: Names that the server answers to, besides loopback.
        callers: Hosts whose pages may call it, besides its own.
        any_address: Whether it answers to every literal IP address.
        frames: Sites that may embed the page.
        on_space: Whether this is a Hugging Face Space.
    """

    hosts: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    any_address: bool = False
    frames: tuple[str, ...] = (OWN,)
    on_space: bool = False

    @classmethod
    def of(
        cls,
        bound: str | None = None,
        allowed: Sequence[str] = (),
        embed_in: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Combine the options with the environment.

        Args:
            bound: The address that the server listens on.
            allowed: Further allowed hosts.
            embed_in: Sites that may embed the page.
            environment: Environment variables; those of this process if omitted.

        Raises:
            ValueError: With a sentence, for an invalid host or site.
        """
        env = os.environ if environment is None else environment
        given = [*allowed, *_listed(env, ALLOWED_HOSTS)]
        address = (bound or env.get("GRADIO_SERVER_NAME") or "").lower().strip("[]")
        listening = address_of(address)
        everywhere = listening is not None and listening.is_unspecified
        own = {host_name(each) for each in given}
        own |= {address} if address and not everywhere else set()
        # A whole URL there is the address that the proxy serves the page at.
        public = urlsplit(env.get("GRADIO_ROOT_PATH", "")).hostname
        own |= {public} if public else set()
        # On Spaces: SPACE_ID is "owner/name"; SPACE_HOST is its host, or several with commas.
        on_space = bool(env.get("SPACE_ID") or env.get("SPACE_HOST"))
        own |= {name for each in _listed(env, "SPACE_HOST") if (name := name_in(each))}
        frames = [OWN, *(SPACE_FRAMES if on_space else ())]
        frames += [site(each) for each in (*embed_in, *_listed(env, EMBED_IN))]
        return cls(
            hosts=tuple(sorted(own | ({SPACES} if on_space else set()))),
            callers=tuple(sorted(own)),
            any_address=everywhere or on_space,  # a Space's health checks use its address
            frames=tuple(frames),
            on_space=on_space,
        )

    def allows_host(self, authority: str) -> bool:
        """Whether to answer a request with this Host header."""
        name = name_in(authority)
        if name is None:
            return False
        literal = self.any_address and address_of(name) is not None
        return literal or is_loopback(name) or _matches(name, self.hosts)

    def allows_origin(self, origin: str, hosts: Iterable[str]) -> bool:
        """Whether a page of this origin may call the server.

        Ports are ignored, since a proxy may omit its own from the Host header.

        Args:
            origin: The Origin header.
            hosts: The hosts that the request is addressed to.
        """
        name = name_in_origin(origin)
        if name is None:
            return False
        targets = [target for each in hosts if (target := name_in(each))]
        local = is_loopback(name) and any(map(is_loopback, targets))
        return local or name in targets or _matches(name, self.callers)


def _listed(environment: Mapping[str, str], variable: str) -> list[str]:
    """Split a variable that holds a comma-separated list."""
    return [each.strip() for each in environment.get(variable, "").split(",") if each.strip()]


def _matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern is the name itself, or "*." and a domain that contains it."""
    return any(
        name.endswith(each[1:]) if each.startswith("*.") else name == each for each in patterns
    )


CAPACITY: Final = 64  # further sessions that Gradio keeps, of clients that never announce their end


class Sessions:
    """The sessions whose pages were closed and that are not dropped yet."""

    def __init__(self, demo: gr.Blocks) -> None:
        self._demo = demo
        self._gone: set[str] = set()

    def part(self, visitor: str) -> None:
        """Drop the session of a closed page, and others that were busy when theirs closed."""
        busy = busy_sessions(self._demo)
        if busy is None:  # Gradio drops them itself, later
            return
        self._gone.add(visitor)
        for session in self._gone - busy:
            drop_session(self._demo, session)
        self._gone &= busy
        give_back()


def give_back() -> None:
    """Return free memory to the system, if the C library can (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
