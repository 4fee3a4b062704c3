"""Renders chat templates in a process of their own, with bounded time, memory and output.

Rule: a template comes with the model, from anyone. Its text is what transformers would make of it,
or there is none, with a sentence that says why.
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
LONGEST_TEMPLATE: Final = 1 << 18  # letters: ten times the longest that are published
WALL_CLOCK: Final = 30.0  # seconds; its processor time is bounded far below
KEPT: Final = 64  # answers that are remembered: a race asks the same for every lane


class TemplateFailed(ValueError):
    """A template writes nothing for these turns; the message says why, as a sentence goes on."""


class TemplateStopped(TemplateFailed):
    """Rendering took more time or memory than any template needs, so it was stopped."""


Written = str | TemplateFailed


def render(tokenizer: Any, conversations: Sequence[tuple[Any, bool]]) -> list[Written]:
    """What a tokenizer's template writes for each conversation, or why it writes nothing.

    conversations: messages, as transformers has them, and whether the beginning of an answer is
    added. All are rendered in one process. Raises TemplateStopped.
    """
    template = tokenizer.get_chat_template()
    if len(template) > LONGEST_TEMPLATE:
        raise TemplateStopped(f"has more than {LONGEST_TEMPLATE:,} letters, so it is not used")
    special = {key: str(token) for key, token in tokenizer.special_tokens_map.items()}
    variables = [_variables(messages, answer, special) for messages, answer in conversations]
    asked = json.dumps({"template": template, "variables": variables})
    answer = _asked.__wrapped__ if "strftime_now" in template else _asked
    return [
        row["text"] if "text" in row else TemplateFailed(row["error"])
        for row in json.loads(answer(asked))
    ]


def _variables(messages: Any, answer: bool, special: Mapping[str, str]) -> dict[str, Any]:
    """The names that a template can use, as transformers gives them."""
    usual = {"tools": None, "documents": None, "add_generation_prompt": answer}
    return {"messages": messages, **usual, **special}


@lru_cache(KEPT)
def _asked(text: str) -> str:
    """What the rendering process answers. Raises TemplateStopped."""
    found = find_spec(PROGRAM)
    assert found is not None
    assert found.origin is not None
    command = [sys.executable, "-P", found.origin]  # -P: the file's folder is no place to import of
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
        raise TemplateStopped("computed for a second without an end, so it was stopped")
    if done.returncode or not done.stdout:
        raise TemplateStopped("took more memory than any needs, or broke, so it was stopped")
    return done.stdout.decode("utf-8")
