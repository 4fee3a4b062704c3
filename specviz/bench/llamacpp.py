"""Measure llama.cpp with the same float32 weights, prompt, threads and number of tokens.

The weights are written to a temporary GGUF file, which a separate process loads (see
adapters/llamacpp.py); a call sends token ids to it and waits for the new token ids.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Final

import torch

from specviz.adapters import llamacpp
from specviz.bench.methods import Method, Outcome, Prompt
from specviz.models.gguf.writer import why_not_writable, write_gguf
from specviz.models.passes import bytes_read
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.settings.threads import original_environment

LLAMA_CPP: Final = "llama.cpp"
EXIT_TIMEOUT: Final = 10.0  # seconds after which its process is killed


class LlamaCppError(ValueError):
    """Raised if llama.cpp fails or cannot be measured with this target; says why in a sentence."""


@contextmanager
def llama_cpp(target: Target, settings: Settings, prompts: Sequence[Prompt]) -> Iterator[Method]:
    """Load and try llama.cpp, and yield its plain decoding as a method. Raises LlamaCppError."""
    if why := explain_unavailable(target, settings):
        raise LlamaCppError(why)
    context = max(len(prompt.ids) for prompt in prompts) + settings.max_new_tokens
    with TemporaryDirectory(prefix="specviz-") as folder:
        path = Path(folder) / "weights.gguf"
        names = [llamacpp.token_text(token) for token in range(target.vocab_size)]
        write_gguf(path, target.model, names, target.eos)
        with _process(path, context) as process:
            process.decode(prompts[0].ids, 1)

            def decode(prompt: Prompt) -> Outcome:
                tokens, seconds = process.decode(prompt.ids, settings.max_new_tokens)
                made = len(tokens)
                return Outcome(made, made, decode_seconds=seconds, text=tuple(tokens))

            yield Method(LLAMA_CPP, decode, settings, one_by_one=True)


def explain_unavailable(target: Target, settings: Settings) -> str | None:
    """Return the sentence on why llama.cpp cannot be measured with this target, or None."""
    if not llamacpp.is_installed():
        return f"The package {llamacpp.PACKAGE} is not installed (pip install {llamacpp.PACKAGE})."
    if target.device.type != "cpu":
        return "It is compared only on a CPU."
    if not settings.sampling.greedy:
        return "It is compared only at temperature 0, where both must write the same text."
    if why := why_not_writable(target.model, target.eos):
        return why
    needed, free = bytes_read(target.model), shutil.disk_usage(gettempdir()).free
    if needed > free:
        return f"Its weights need {needed:,} bytes of temporary files, but only {free:,} are free."
    return None


class LlamaCppProcess:
    """A running program that decodes with llama.cpp, one request at a time."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running

    def decode(self, ids: Sequence[int], new_tokens: int) -> tuple[list[int], float | None]:
        """Decode; return new ids, and seconds after the prompt's pass.

        Raises LlamaCppError if the program failed.
        """
        assert self._running.stdin is not None
        with suppress(OSError):  # if the process has ended, `reply` raises the error
            self._running.stdin.write(json.dumps({"ids": ids, "new_tokens": new_tokens}) + "\n")
            self._running.stdin.flush()
        reply = self.reply()
        return reply["tokens"], reply["seconds"]

    def reply(self) -> dict[str, Any]:
        """Return the next line that the program writes. Raises LlamaCppError."""
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        if not line:
            raise LlamaCppError(f"llama.cpp's process ended with status {self._running.wait()}.")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LlamaCppError(f"llama.cpp failed: {answer['error']}.".replace("..", "."))
        return answer


@contextmanager
def _process(path: Path, context: int) -> Iterator[LlamaCppProcess]:
    assert llamacpp.__file__ is not None
    values = [str(path), str(context), str(torch.get_num_threads())]
    running = subprocess.Popen(
        [sys.executable, "-P", llamacpp.__file__, *values],  # -P: do not import from its folder
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env=original_environment(),
    )
    with running:
        try:
            process = LlamaCppProcess(running)
            process.reply()
            yield process
        finally:
            _end(running)


def _end(running: subprocess.Popen[str]) -> None:
    assert running.stdin is not None
    with suppress(OSError):
        running.stdin.close()
    try:
        running.wait(EXIT_TIMEOUT)
    except subprocess.TimeoutExpired:
        running.kill()
