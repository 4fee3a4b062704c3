"""Standard output and standard error whose reader may close the pipe, as `head` does.

That is no error: the reader has what it wanted. Further text is discarded, so a command still ends
its work, writes its files and returns its own exit status. Standard library only.
"""

from __future__ import annotations

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STREAMS: Final = ("stdout", "stderr")


class PipeFile(FileIO):
    """A file descriptor for writing that discards everything once its reader is gone."""

    reader_gone = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes and return how many; all of them, discarded, if the reader is gone."""
        try:
            return super().write(data)
        except BrokenPipeError:
            self.reader_gone = True
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())  # child processes and later writes do not fail either
            os.close(null)
            return memoryview(data).nbytes


def allow_closed_pipes() -> None:
    """Replace the process's standard output and standard error by streams as described above."""
    for name in STREAMS:
        stream: TextIO | None = getattr(sys, name)
        if not isinstance(stream, TextIOWrapper):  # closed, or replaced by another program
            continue
        stream.flush()
        file = PipeFile(stream.fileno(), "w", closefd=False)
        replaced = TextIOWrapper(
            BufferedWriter(file),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, replaced)


def is_reader_gone() -> bool:
    """Return whether the reader of standard output has closed the pipe."""
    file = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(file, PipeFile) and file.reader_gone
