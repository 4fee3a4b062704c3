"""Decode with llama.cpp, through undocumented parts of its wheel xllamacpp.

A failed assertion inside llama.cpp ends the whole process. So this file is also a program:
`bench.llamacpp` runs it by its path in a separate process, which loads one file, reads requests and
writes replies, one JSON object per line. It imports only the standard library and xllamacpp.

The server returns text without token ids. So the name of token 7 in the file's vocabulary must be
`<7>` (`token_text`), and ids are parsed from the text. If the text contains anything else, the
reply is an error, which the benchmark reports instead of llama.cpp's speed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final

PACKAGE: Final = "xllamacpp"
TOKEN: Final = re.compile(r"<(\d+)>")


def is_installed() -> bool:
    """Return whether the wheel is installed, without importing it."""
    return find_spec(PACKAGE) is not None


def token_text(token: int) -> str:
    """Return the name that a token must have in the vocabulary of a file for this program."""
    return f"<{token}>"


class Decoder:
    """llama.cpp with one file loaded: on the CPU, float32 caches, no flash attention."""

    def __init__(self, path: str, context: int, threads: int) -> None:
        """Load a file.

        Args:
            path: The GGUF file.
            context: Number of tokens that fit in the cache.
            threads: Number of threads, for prompts and for new tokens.
        """
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_ctx, params.n_parallel, params.fit_params = context, 1, False
        params.n_gpu_layers, params.no_op_offload = 0, True
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.ui, params.verbosity = False, 0
        # The server opens a port on this machine; a random key prevents others from using it.
        params.api_keys = [secrets.token_hex()]
        self.server = xllamacpp.Server(params)

    def decode(self, ids: Sequence[int], new_tokens: int) -> tuple[list[int], float | None]:
        """Continue a prompt greedily, until a token ends the text.

        Returns the new tokens, and the seconds after the prompt's pass, if llama.cpp reports them.
        """
        request = {"prompt": list(ids), "n_predict": new_tokens, "temperature": 0.0}
        answer = self.server.handle_completions(request | {"cache_prompt": False})
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        text = answer["choices"][0]["text"]
        tokens = [int(number) for number in TOKEN.findall(text)]
        if "".join(map(token_text, tokens)) != text:
            raise RuntimeError(f"its text does not consist of the file's tokens: {text[:80]!r}")
        milliseconds = answer.get("timings", {}).get("predicted_ms")
        return tokens, milliseconds / 1000 if milliseconds else None


def main(path: str, context: str, threads: str) -> None:
    """Load a file, report that it is ready, and reply to each request (`ids`, `new_tokens`)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what llama.cpp prints must not be read as a reply

    def reply(**values: Any) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    try:
        decoder = Decoder(path, int(context), int(threads))
        reply(ready=True)
        for line in sys.stdin:
            tokens, seconds = decoder.decode(**json.loads(line))
            reply(tokens=tokens, seconds=seconds)
    except Exception as error:  # any exception; the parent process reports it
        reply(error=str(error) or type(error).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:])
