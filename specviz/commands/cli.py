"""The command line, `python -m specviz`: finds the command and turns faults into sentences.

Rule: whatever is wrong with what a person gave leaves as one sentence on standard error and
status 2; a traceback is a fault of this program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from specviz.commands import (
    bench,
    check,
    compare,
    fetch,
    models,
    record,
    run,
    server,
    shapes,
    sweep,
    trees,
)
from specviz.commands.outputs import printable
from specviz.models.parallel import part, processes
from specviz.settings.threads import wait_briefly

INTERRUPTED = 130
COMMANDS = (run, compare, check, models, fetch, bench, record, sweep, shapes, trees, server)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Print the complaint and exit with status 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parser(training: bool) -> Parser:
    """The whole command line; the options of `train`, which need torch, only where asked for."""
    top = Parser(prog="specviz", description="Speculative decoding, as it really happens.")
    subparsers = top.add_subparsers(metavar="COMMAND", required=True)
    for command in (
        run,
        compare,
        check,
        models,
        fetch,
        bench,
        record,
        sweep,
        shapes,
        trees,
        server,
    ):
        command.add_parser(subparsers)
    if training:
        from specviz.commands.train import add_parser

        add_parser(subparsers)
    else:
        subparsers.add_parser("train", help="train the small models that ship with the app")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status."""
    wait_briefly()
    words = sys.argv[1:] if argv is None else argv
    try:
        args = parser(training=list(words[:1]) == ["train"]).parse_args(words)
        if processes() > 1 and args.func is not run.run:
            raise ValueError("torchrun is for `run` alone; start this in one process.")
        status: int = args.func(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _complain("Stopped.", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; nothing is left to say
        return 1
    except (ValueError, OSError) as error:
        return _complain(_said(error) or type(error).__name__, 2)
    except (MemoryError, RuntimeError) as error:
        if not _memory(error):
            raise
        return _complain("The memory of this device ran out: try a smaller model or run.", 2)
    finally:
        part()
    return status


def _said(error: ValueError | OSError) -> str:
    """Its sentence; without the system's number where it is about no file."""
    if isinstance(error, OSError) and error.filename is None:
        return error.strerror or str(error)
    return str(error)


def _memory(error: MemoryError | RuntimeError) -> bool:
    """Whether memory ran out; torch is asked only where it is in use."""
    if "torch" not in sys.modules:
        return isinstance(error, MemoryError)
    from specviz.models.devices import ran_out_of_memory

    return ran_out_of_memory(error)


def _complain(sentence: str, status: int) -> int:
    print(f"specviz: {printable(' '.join(sentence.split()))}", file=sys.stderr)
    return status
