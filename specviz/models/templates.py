"""Render chat templates in a separate process, with limits on time, memory and output.

A template comes with the model, so it may be hostile. The rendering is exactly what transformers
would produce; if a limit is exceeded or the template fails, an error says why.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

PROGRAM: Final = "specviz.adapters.jinja2"
LONGEST_TEMPLATE: Final = 1 << 18  # characters: ten times the longest published ones
WALL_CLOCK: Final = 30.0  # seconds; the limit on processor time is far lower
CACHED: Final = 64  # renderings kept: every lane of a race needs the same


class TemplateFailed(ValueError):
    """A template rejects these turns; the message is a clause that says why."""


class TemplateStopped(TemplateFailed):
    """Rendering took more time or memory than any template needs."""


Rendering = str | TemplateFailed


def render(tokenizer: Any, conversations: Sequence[tuple[Any, bool]]) -> list[Rendering]:
    """Render a tokenizer's template for each conversation, in one process.

    Args:
        tokenizer: The tokenizer with the template.
        conversations: Pairs of messages, in the format of transformers, and whether to add what
            the template writes before an answer.

    Returns:
        For each conversation its text, or the template's error.

    Raises:
        TemplateStopped: Rendering was stopped.
    """
    template = tokenizer.get_chat_template()
    if len(template) > LONGEST_TEMPLATE:
        raise TemplateStopped(f"has more than {LONGEST_TEMPLATE:,} characters, so it is not used")
    special = {key: str(token) for key, token in tokenizer.special_tokens_map.items()}
    variables = [_variables(messages, answer, special) for messages, answer in conversations]
    job = json.dumps({"template": template, "variables": variables})
    run = _run.__wrapped__ if "strftime_now" in template else _run  # it depends on the time
    return [
        row["text"] if "text" in row else TemplateFailed(row["error"])
        for row in json.loads(run(job))
    ]


def _variables(messages: Any, answer: bool, special: Mapping[str, str]) -> dict[str, Any]:
    """Return the variables of a template, as transformers passes them."""
    usual = {"tools": None, "documents": None, "add_generation_prompt": answer}
    return {"messages": messages, **usual, **special}


@lru_cache(CACHED)
def _run(text: str) -> str:
    """Run the rendering process and return its output.

    Raises:
        TemplateStopped: It exceeded a limit.
    """
    found = find_spec(PROGRAM)
    assert found is not None
    assert found.origin is not None
    command = [sys.executable, "-P", found.origin]  # -P: import nothing from the file's folder
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            timeout=WALL_CLOCK,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TemplateStopped(f"ran for {WALL_CLOCK:g} seconds, so it was stopped") from error
    if done.returncode == -getattr(signal, "SIGPROF", 0):
        raise TemplateStopped("did not finish within a second, so it was stopped")
    if done.returncode or not done.stdout:
        raise TemplateStopped("needed too much memory or crashed, so it was stopped")
    return done.stdout.decode("utf-8")
