"""What specviz assumes about jinja2 and about how transformers uses it: rendering chat templates.

A template comes with a model and may be a program that never ends or fills the memory; inside one
process nothing can stop it. So this file is also a program: `models.templates` runs it by its path
in a process of its own, where it limits its memory and its processor time first. It imports jinja2
and the standard library only, so that it starts in a twentieth of a second.

The environment is the one that transformers' `apply_chat_template` compiles templates in, with the
same filters, functions and tags; a test renders the templates of well-known models both ways.
"""

from __future__ import annotations

import json
import signal
import sys
from datetime import datetime
from typing import Any, Final

from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

SECONDS: Final = 1.0  # of processor time, for all renderings that are asked at once
MEMORY: Final = 1 << 29  # bytes of address space
LONGEST: Final = 1 << 20  # letters of what a template writes


class _Generation(Extension):
    """The tag `generation`, which marks an answer for training and writes what is in it."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        """See `Extension`."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_written"), [], [], body).set_lineno(line)

    def _written(self, caller: Any) -> Any:
        return caller()


class _Namespace(Namespace):
    """A namespace without names that begin with an underscore, as transformers has it."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # one may be called "self"
        self, args = args[0], args[1:]
        names = dict(*args, **kwargs)
        for name in names:
            _check_name(name)
        Namespace.__init__(self, names)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        Namespace.__setitem__(self, name, value)


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"Templates cannot store the attribute {name!r}.")


class _Dict:
    """The function `dict`, without the class's own attributes."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """See `dict.fromkeys`."""
        return dict.fromkeys(*args)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)


def environment() -> ImmutableSandboxedEnvironment:
    """The environment that chat templates are written for."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _raise_exception
    made.globals["strftime_now"] = _strftime_now
    made.globals["dict"] = _Dict()
    made.globals["namespace"] = _Namespace
    return made


def limit() -> None:
    """Bound this process's memory and processor time, where the system can: the rest ends it."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return  # the parent process's time limit still holds


def render(template: str, given: list[dict[str, Any]]) -> list[dict[str, str]]:
    """By set of variables, {"text": …} or {"error": why there is none}."""
    try:
        compiled = environment().from_string(template)
    except Exception as error:  # a template may raise anything
        return [_error(error)] * len(given)
    found = []
    for variables in given:
        try:
            text = compiled.render(**variables)
        except Exception as error:  # as above
            found.append(_error(error))
            continue
        long = len(text) > LONGEST
        found.append({"error": f"it writes {len(text):,} letters"} if long else {"text": text})
    return found


def _error(error: Exception) -> dict[str, str]:
    if isinstance(error, MemoryError):
        return {"error": f"it takes more than {MEMORY >> 20} MiB of memory"}
    if isinstance(error, RecursionError):
        return {"error": "it calls itself without end"}
    return {"error": str(error)[:1000] or type(error).__name__}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    limit()
    json.dump(render(asked["template"], asked["variables"]), sys.stdout)
