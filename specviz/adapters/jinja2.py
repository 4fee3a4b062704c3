"""Render chat templates with jinja2, in the same environment as transformers.

A template comes with a model. It may run forever or use all memory, which code in the same process
cannot prevent. So this file is also a program: `models.chat` runs it by its path in a separate
process, which first limits its own memory and processor time. It imports only jinja2 and the
standard library, so that it starts in 50 ms.

The environment has the same filters, functions and tags as the one in which `apply_chat_template`
of transformers compiles templates, which is not documented. A test renders templates of well-known
models both ways.
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

SECONDS: Final = 1.0  # seconds of processor time, for all renderings of one run
MEMORY: Final = 1 << 29  # maximum bytes of address space
LONGEST: Final = 1 << 20  # maximum characters of a rendering


class _Generation(Extension):
    """The tag `generation`, which marks an answer for training; here it outputs its content."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        """Implement `Extension.parse`."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_written"), [], [], body).set_lineno(line)

    def _written(self, caller: Any) -> Any:
        return caller()


class _Namespace(Namespace):
    """A namespace without names that begin with an underscore, as in transformers."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # a name may be "self"
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
    """Replaces `dict` in templates. It can be called, has `fromkeys` and nothing else."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Implement `dict.fromkeys`."""
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
    """Return an environment like the one in which transformers renders chat templates."""
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
    """Limit the memory and processor time of this process, if the system supports it.

    A process that exceeds its processor time is killed; allocating too much memory fails.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return  # the parent process's time limit still holds


def render(template: str, variable_sets: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Render a template for several sets of variables.

    Args:
        template: The template.
        variable_sets: The sets of variables, by name.

    Returns:
        For each set {"text": …}, or {"error": reason}.
    """
    try:
        compiled = environment().from_string(template)
    except Exception as error:  # a template may raise any exception
        return [_error(error)] * len(variable_sets)
    found = []
    for variables in variable_sets:
        try:
            text = compiled.render(**variables)
        except Exception as error:  # a template may raise any exception
            found.append(_error(error))
            continue
        long = len(text) > LONGEST
        found.append({"error": f"it writes {len(text):,} characters"} if long else {"text": text})
    return found


def _error(error: Exception) -> dict[str, str]:
    if isinstance(error, MemoryError):
        return {"error": f"it needs more than {MEMORY >> 20} MiB of memory"}
    if isinstance(error, RecursionError):
        return {"error": "it calls itself endlessly"}
    return {"error": str(error)[:1000] or type(error).__name__}


if __name__ == "__main__":
    job = json.load(sys.stdin)
    limit()
    json.dump(render(job["template"], job["variables"]), sys.stdout)
