"""The command line, `specviz` or `python -m specviz`: find the command and report its errors.

Wrong input ends with one sentence on standard error and exit status 2; a traceback is a bug. Only
the module of the named command is imported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from specviz import __version__
from specviz.commands.output import printable
from specviz.commands.parser import INTERRUPTED, Parser
from specviz.models.devices import process_count, shutdown
from specviz.settings.threads import shorten_busy_wait


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        name: Its name, which is also the name of its module.
        summary: What it does, as a phrase that begins with a small letter and has no full stop.
    """

    name: str
    summary: str

    def add(self, subparsers: Any, named: bool, prog: str | None) -> None:
        """Add the command to the command line.

        Args:
            subparsers: The action returned by `ArgumentParser.add_subparsers`.
            named: Whether this is the command to run; options are added only in this case.
            prog: The program name that its help shows; `specviz NAME` if None.
        """
        sentence = f"{self.summary[0].upper()}{self.summary[1:]}."
        parser = subparsers.add_parser(self.name, prog=prog, description=sentence)
        if named:
            import_module(f"specviz.commands.{self.name}").add_options(parser)


GROUPS: Final[Mapping[str, tuple[Command, ...]]] = {
    "Decode and inspect": (
        Command("serve", "start the web page and print its address"),
        Command("run", "decode one prompt with a drafter, then without one, and compare"),
        Command("compare", "compare two to four drafters with plain decoding on one prompt"),
        Command("check", "recompute every decision in a trace file, without the models"),
        Command("export", "write a trace or a race as one HTML file that replays it offline"),
    ),
    "Models": (
        Command("models", "list targets and drafters"),
        Command("fetch", "download a model to this machine"),
    ),
    "Measure": (
        Command("bench", "measure the speed of every drafter, plain decoding and transformers"),
        Command("sweep", "measure how long a target pass over 1 to 64 tokens takes"),
        Command("shapes", "measure drafting costs for public model sizes, with random weights"),
        Command("server", "read the acceptance statistics of an inference server"),
    ),
    "For maintainers": (
        Command("record", "record again the runs and comparisons that ship with the app"),
        Command("trees", "record again the data of the Trees tab"),
        Command("train", "train the small models that ship with the app"),
    ),
}
COMMANDS: Final = {each.name: each for group in GROUPS.values() for each in group}


class TopParser(Parser):
    """Parser of the whole command line; its help lists the commands in groups."""

    def format_help(self) -> str:
        """Return the help."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, (), ())
        formatter.add_text(self.description)
        for heading, commands in GROUPS.items():
            formatter.start_section(heading)
            for each in commands:
                formatter.add_argument(argparse.Action([], each.name, help=each.summary))
            formatter.end_section()
        formatter.start_section("Options")
        formatter.add_arguments(self._flags())
        formatter.end_section()
        formatter.add_text("`specviz COMMAND --help` explains a command.")
        return formatter.format_help()


def build_parser(named: str | None, prog: str | None = None) -> TopParser:
    """Build the parser of the whole command line.

    Args:
        named: The command whose options are added; None for no command.
        prog: The program name that its help shows; `specviz NAME` if None.
    """
    top = TopParser(
        prog="specviz",
        usage="%(prog)s COMMAND [OPTIONS]",
        description="See and measure speculative decoding, in real runs of real models.",
    )
    top.add_argument(
        "--version",
        action="version",
        version=f"specviz {__version__}",
        help="show the version and exit",
    )
    subparsers = top.add_subparsers(
        metavar="COMMAND", required=True, prog="specviz", parser_class=Parser
    )
    for command in COMMANDS.values():
        command.add(subparsers, command.name == named, prog if command.name == named else None)
    return top


def main(argv: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Run a command and return its exit status; without a command, print the help.

    Args:
        argv: The arguments; those of the process if None.
        prog: The program name that the command's help shows; `specviz NAME` if None.
    """
    shorten_busy_wait()
    words = sys.argv[1:] if argv is None else argv
    named = next((word for word in words if not word.startswith("-")), None)
    try:
        parser = build_parser(named, prog)
        if not words:
            parser.print_help()
            return 0
        args = parser.parse_args(words)
        if process_count() > 1 and named != "run":
            raise ValueError("Only `run` works under torchrun; start this command in one process.")
        status: int = args.func(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _complain("Stopped.", INTERRUPTED)
    except (ValueError, OSError) as error:
        return _complain(_sentence(error) or type(error).__name__, 2)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        return _complain("This device ran out of memory: try a smaller model or a shorter run.", 2)
    finally:
        shutdown()
    return status


def _sentence(error: ValueError | OSError) -> str:
    # Without the error number if the error mentions no file.
    if isinstance(error, OSError) and error.filename is None:
        return error.strerror or str(error)
    return str(error)


def _is_out_of_memory(error: MemoryError | RuntimeError) -> bool:
    # This does not import torch.
    if "torch" not in sys.modules:
        return isinstance(error, MemoryError)
    from specviz.models.devices import ran_out_of_memory

    return ran_out_of_memory(error)


def _complain(sentence: str, status: int) -> int:
    print(f"specviz: {printable(' '.join(sentence.split()))}", file=sys.stderr)
    return status
