"""Encode texts with tokenizers of others in a separate process, in limited memory and time.

The process lives as long as its tokenizer; it is started again after it was stopped at a limit. It
is used only if visitors of the page can name models: then a tokenizer may be hostile, and nobody at
the machine could interrupt it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from typing import Any, Final
from weakref import finalize

from specviz.models.errors import BadPrompt, Unsuitable
from specviz.shipped import ASSETS

PROGRAM: Final = "specviz.models.encoding_program"
WALL_CLOCK: Final = 30.0  # seconds for one answer; the limits on processor time are lower
SUPPORTED: Final = hasattr(signal, "setitimer")  # elsewhere, processes cannot limit themselves


class Policy:
    """Which tokenizers encode in a process of their own."""

    bound = False


def bind_foreign_tokenizers() -> None:
    """Let tokenizers that do not ship with the app encode in processes from now on."""
    Policy.bound = SUPPORTED


def is_bound(tokenizer: Any) -> bool:
    """Return whether a tokenizer encodes in a process of its own."""
    return Policy.bound and not _ships(Path(str(tokenizer.name_or_path or "")))


def check_loading(name: str, folder: Path) -> None:
    """Check that a folder's tokenizer loads in limited memory and time.

    Raises Unsuitable if it does not; the message calls the model `name`.
    """
    file = folder / "tokenizer.json"
    if not (Policy.bound and file.is_file()) or _ships(folder):
        return
    try:
        BoundedEncoder(lambda: file.read_text(encoding="utf-8-sig")).start()
    except BadPrompt as error:
        raise Unsuitable(
            f"The tokenizer of {name!r} cannot be loaded in limited time and memory."
        ) from error


def _ships(path: Path) -> bool:
    return path.resolve().is_relative_to(ASSETS.resolve())


@dataclass(frozen=True, slots=True)
class Encoding:
    """A text as tokens, with the attributes of the same name of `tokenizers.Encoding`."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    special_tokens_mask: list[int]


class BoundedEncoder:
    """A tokenizer in a process of its own."""

    def __init__(self, save: Callable[[], str]) -> None:
        """Set a function that returns the tokenizer's JSON; it is called for each new process."""
        self._save = save
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the id of the process that started it; a fork must not share it
        self._lock = Lock()

    def encode(self, text: str, add_special_tokens: bool = True) -> Encoding:
        """Encode a text, like `tokenizers.Tokenizer.encode`.

        Raises BadPrompt if the tokenizer needs too much time or memory, or fails.
        """
        if self._owner != os.getpid():
            self._lock, self._process = Lock(), None
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self.start()
            found = self._ask({"text": text, "special": add_special_tokens})
        if "error" in found:
            raise BadPrompt(f"The tokenizer of this model {found['error']}.")
        offsets = [(start, end) for start, end in found["offsets"]]
        return Encoding(found["ids"], offsets, found["mask"])

    def start(self) -> None:
        """Start the process and load the tokenizer in it. Raises BadPrompt if it is stopped."""
        spec = find_spec(PROGRAM)
        assert spec is not None
        assert spec.origin is not None
        command = [sys.executable, "-P", spec.origin]  # -P: do not import from the file's folder
        settings = {"TOKENIZERS_PARALLELISM": "false", "RUST_BACKTRACE": "0"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | settings,
        )
        self._owner = os.getpid()
        finalize(self, _end, self._process, self._owner)
        self._ask({"tokenizer": self._save()})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(WALL_CLOCK, process.kill)
        timer.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
            line = process.stdout.readline()
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            found: dict[str, Any] = json.loads(line)
            return found
        _end(process, self._owner)
        self._process = None
        raise BadPrompt(
            "The tokenizer of this model needs too much time or memory for this text, so it was "
            "stopped."
        )


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    # Unless this is a fork of the process that started it.
    if owner == os.getpid():
        with process:  # closes the pipes and waits
            process.kill()
