"""A program that encodes texts with one tokenizer, in limited memory and time.

A tokenizer's patterns come with its model. Some take exponential time or multiply a text, which
code in the same process cannot stop. `models.bounded_encoding` runs this file by its path in a
separate process. It imports only tokenizers and the standard library, so that it starts quickly.

Each line of its input is a JSON object, and so is each line of its output. The first has the
tokenizer's own JSON as `tokenizer`, and is answered when it is loaded. All others have a `text`
and, as `special`, whether to add the special tokens that the tokenizer adds around a text.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

LOADING: Final = 30.0  # seconds of processor time
SECONDS: Final = 2.0  # seconds of processor time for one text
LOADED: Final = 1 << 32  # maximum bytes of address space of the loaded tokenizer
MEMORY: Final = 1 << 29  # maximum further bytes of address space for one text
MAX_TOKENS: Final = 1 << 20  # maximum tokens of one text


def limit(seconds: float, memory: int) -> None:
    """Limit the processor time from now on and the address space, in bytes."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    with suppress(ValueError, OSError):  # macOS cannot limit the address space
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (memory, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def address_space() -> int:
    """Return the bytes of address space of this process; where unknown, the limit of loading."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return LOADED
    return pages * resource.getpagesize()


def encode(tokenizer: Tokenizer, text: str, special: bool) -> dict[str, Any]:
    """Return ids, offsets and the mask of special tokens."""
    read = tokenizer.encode(text, add_special_tokens=special)
    if len(read.ids) > MAX_TOKENS:
        return {"error": f"makes {len(read.ids):,} tokens of this text"}
    return {"ids": read.ids, "offsets": read.offsets, "mask": read.special_tokens_mask}


def answer_all() -> None:
    """Load the tokenizer and answer every line."""
    limit(LOADING, LOADED)
    tokenizer = Tokenizer.from_str(json.loads(sys.stdin.readline())["tokenizer"])
    tokenizer.encode_special_tokens = True  # its JSON does not have this
    memory = address_space() + MEMORY
    print("{}", flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        limit(SECONDS, memory)
        try:
            found = encode(tokenizer, question["text"], question["special"])
        except BaseException as error:  # an error in a pattern is none of Exception
            found = {"error": f"fails on this text ({type(error).__name__})"}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    answer_all()
