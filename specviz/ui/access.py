"""Access rules: which hosts the server answers for, and which pages may call or embed it.

Any web site can make its own name resolve to 127.0.0.1 (DNS rebinding); the browser then treats
this server as part of that site. The Host header still contains the site's name, so requests with
an unknown name are refused. A literal IP address cannot be rebound.

Standard library only, since the command line reads its options with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final, Self
from urllib.parse import urlsplit

ALLOWED_HOSTS: Final = "SPECVIZ_ALLOWED_HOSTS"  # environment variables with comma-separated lists
EMBED_IN: Final = "SPECVIZ_EMBED_IN"
# The addresses of trusted proxies, separated by commas: a documented variable of uvicorn, which
# trusts every program of this machine if it is not set.
TRUSTED_PROXIES: Final = "FORWARDED_ALLOW_IPS"
AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]*)?")
NAME: Final = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
SITE: Final = re.compile(r"\*|https?://(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")
OWN: Final = "'self'"
# A Space is served at OWNER-NAME.hf.space and embedded in huggingface.co.
SPACES: Final = "*.hf.space"
SPACE_FRAMES: Final = ("https://huggingface.co", f"https://{SPACES}")


def trust_no_unnamed_proxy() -> None:
    """Ignore what a proxy states about a client's address, unless a host has named the proxy."""
    os.environ.setdefault(TRUSTED_PROXIES, "")


def client_address(scope: Mapping[str, Any]) -> str:
    """Return the address of an ASGI scope's client, "" if unknown, as a trusted proxy states it."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def host_name(text: str) -> str:
    """Return an allowed host in lower case, or "*.name" for subdomains, or raise ValueError."""
    name = text.strip().lower().strip("[]").rstrip(".")
    if address_of(name) is None and not NAME.fullmatch(name):
        raise ValueError(
            "An allowed host must be a name such as specviz.example.edu, without http:// and "
            f"without a port, not {text!r}."
        )
    return name


def site(text: str) -> str:
    """Return a site that may embed the page as a CSP source, "*" for any, or raise ValueError."""
    found = text.strip().lower().rstrip("/")
    if not SITE.fullmatch(found):
        raise ValueError(
            f"A site must be an address such as https://course.example.edu, not {text!r}."
        )
    return found


def address_of(name: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address if a host is written as one; None for a name."""
    try:
        found = ip_address(name.strip("[]"))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_loopback(name: str) -> bool:
    """Return whether a host always means the local machine."""
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
        hosts: Host names for which the server answers, besides those of the local machine.
        callers: Hosts whose pages may call the server, besides its own pages.
        any_address: Whether the server answers for every literal IP address.
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
        """Build the rules from the options and the environment.

        environment: environment variables; those of this process if omitted. Raises ValueError if a
        host or site is invalid.
        """
        env = os.environ if environment is None else environment
        given = [*allowed, *_listed(env, ALLOWED_HOSTS)]
        address = (bound or env.get("GRADIO_SERVER_NAME") or "").lower().strip("[]")
        listening = address_of(address)
        everywhere = listening is not None and listening.is_unspecified
        own = {host_name(each) for each in given}
        own |= {address} if address and not everywhere else set()
        # If this is a whole URL, it is the address at which the proxy serves the page.
        public = urlsplit(env.get("GRADIO_ROOT_PATH", "")).hostname
        own |= {public} if public else set()
        # On Spaces, SPACE_ID is "owner/name", and SPACE_HOST is the host, or several separated by
        # commas.
        on_space = bool(env.get("SPACE_ID") or env.get("SPACE_HOST"))
        own |= {name for each in _listed(env, "SPACE_HOST") if (name := name_in(each))}
        frames = [OWN, *(SPACE_FRAMES if on_space else ())]
        frames += [site(each) for each in (*embed_in, *_listed(env, EMBED_IN))]
        return cls(
            hosts=tuple(sorted(own | ({SPACES} if on_space else set()))),
            callers=tuple(sorted(own)),
            any_address=everywhere or on_space,  # the health checks of a Space use its IP address
            frames=tuple(frames),
            on_space=on_space,
        )

    def allows_host(self, authority: str) -> bool:
        """Return whether to answer a request with this Host header."""
        name = name_in(authority)
        if name is None:
            return False
        literal = self.any_address and address_of(name) is not None
        return literal or is_loopback(name) or _matches(name, self.hosts)

    def allows_origin(self, origin: str, hosts: Iterable[str]) -> bool:
        """Return whether a page of this origin may call the server; proxies may leave out ports."""
        name = name_in_origin(origin)
        if name is None:
            return False
        targets = [target for each in hosts if (target := name_in(each))]
        local = is_loopback(name) and any(map(is_loopback, targets))
        return local or name in targets or _matches(name, self.callers)


def _listed(environment: Mapping[str, str], variable: str) -> list[str]:
    return [each.strip() for each in environment.get(variable, "").split(",") if each.strip()]


def _matches(name: str, patterns: Iterable[str]) -> bool:
    # "*." followed by a parent domain matches, too.
    return any(
        name.endswith(each[1:]) if each.startswith("*.") else name == each for each in patterns
    )
