"""The argument parser, and options that several commands share.

Errors are one line, with a suggestion for a misspelled name. Help is short or full. Also here: a
context in which a command can be stopped with Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from specviz.commands.output import print_help, printable
from specviz.settings.settings import option_group, prompt_type
from specviz.settings.suggestion import did_you_mean
from specviz.trees.shapes import BadTree, Parameters

HELP_OPTIONS: Final = {"-h", "--help", "--help-all"}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and suggest a similar name."""

    color = False  # Python 3.14 would colour the help itself; `output` does it in all versions

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.color = False
        self._common: Sequence[str] = ()

    def shorten(self, common: Sequence[str]) -> None:
        """Show only the common options in --help, and all options in --help-all.

        common: destinations of the common options, in the order in which they are shown.
        """
        self._common = (*common, "help", "help_all")
        self.add_argument(
            "--help-all",
            action=_HelpAll,
            dest="help_all",
            help=f"show all {len(self._flags()) + 1} options",
        )

    def format_help(self) -> str:
        """Return the help: only the common options if `shorten` was called."""
        if not self._common:
            return super().format_help()
        found = {action.dest: action for action in self._actions}
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.start_section("options")
        formatter.add_arguments([found[name] for name in self._common])
        formatter.end_section()
        formatter.add_text(f"`{self.prog} --help-all` lists all options, under headings.")
        return formatter.format_help()

    def format_full_help(self) -> str:
        """Return the help with all options under their headings."""
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        """Print the help, in colour on a terminal."""
        if file is None:
            print_help(self.format_help())
        else:
            super().print_help(file)

    def error(self, message: str) -> NoReturn:
        """Print one line on standard error and exit with status 2."""
        line = " ".join(printable(message).split())
        self.exit(2, f"{self.prog}: {line} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments; an unknown argument is an error, which suggests similar options."""
        words = list(args or ())
        if self._subparsers is None and HELP_OPTIONS.isdisjoint(words):
            self._reject([word for word in words[: _options_end(words)] if self._is_unknown(word)])
        found, unknown = super().parse_known_args(args, namespace)
        self._reject(unknown)
        return found, unknown

    def _is_unknown(self, word: str) -> bool:
        if not word.startswith("--") or " " in word:
            return False
        return not any(known.startswith(word.partition("=")[0]) for known in self._long_options())

    def _reject(self, unknown: Sequence[str]) -> None:
        if unknown:
            options = self._long_options()
            hints = [did_you_mean(word.partition("=")[0], options) for word in unknown]
            hint = next(filter(None, hints), "")
            end = "." if hint else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{end}{hint}")

    def _long_options(self) -> list[str]:
        texts = [text for action in self._flags() for text in action.option_strings]
        return [text for text in texts if text.startswith("--")]

    def _flags(self) -> list[argparse.Action]:
        return [action for action in self._actions if action.option_strings]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        hint = did_you_mean(str(value), known)
        if action.option_strings:
            listed = "" if hint else f" Choose one of {', '.join(known)}."
            raise argparse.ArgumentError(
                action, f"{value!r:.100} is not a valid choice.{hint}{listed}"
            )
        noun = str(action.metavar or action.dest).lower()
        raise argparse.ArgumentError(None, f"No {noun} is called {value!r:.100}.{hint}")


def _options_end(words: Sequence[str]) -> int:
    # `--` ends the options.
    return words.index("--") if "--" in words else len(words)


class _HelpAll(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)
        self.dest = dest
        self.default = argparse.SUPPRESS

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> NoReturn:
        assert isinstance(parser, Parser)
        print_help(parser.format_full_help())
        parser.exit()


INTERRUPTED: Final = 130  # exit status after Ctrl-C
TREE_SIZE: Final = "steps=6,topk=10,num_draft_tokens=60"
DEVICE_HELP: Final = "cpu, cuda, cuda:N or mps (default: the best one here)"
DTYPE_HELP: Final = "number format: float32, bfloat16 or float16"


def add_prompt(parser: Parser) -> None:
    """Add the option --prompt."""
    option_group(parser, "prompt").add_argument(
        "--prompt",
        type=prompt_type,
        required=True,
        metavar="TEXT",
        help="text to continue (required)",
    )


def add_target(parser: Parser) -> None:
    """Add the options for the target and the device."""
    option_group(parser, "models").add_argument(
        "--target",
        default="house",
        metavar="NAME",
        help="a name that `specviz models` lists, a folder, a GGUF file, a Hub id, or vllm:URL "
        "(default: house)",
    )
    add_device(parser)


def add_device(parser: Parser) -> None:
    """Add the options for the device and the number format."""
    group = option_group(parser, "where it runs")
    group.add_argument("--device", help=DEVICE_HELP)
    group.add_argument("--dtype", help=DTYPE_HELP)


def add_tree_size(parser: argparse.ArgumentParser) -> None:
    """Add the option --tree-size: a dynamic tree's size by SGLang's or EAGLE's parameters."""
    option_group(parser, "draft tree").add_argument(
        "--tree-size",
        type=_parse_tree_size,
        action=_SetTreeSize,
        default=argparse.SUPPRESS,
        metavar="NAME=N,NAME=N,NAME=N",
        help=f"size of a dynamic tree as SGLang ({TREE_SIZE}) or EAGLE "
        "(total_tokens=60,depth=5,top_k=10) writes it; replaces --gamma, --fan-out and --budget",
    )


class _SetTreeSize(argparse.Action):
    # Their own options, given later, override this.
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(values, Parameters)  # the result of `_parse_tree_size`
        for name, value in values.names["specviz"].items():
            setattr(namespace, name, value)


def _parse_tree_size(text: str) -> Parameters:
    pairs = [pair.partition("=") for pair in text.split(",")]
    try:
        return Parameters.of({name.strip(): int(value) for name, _, value in pairs})
    except BadTree as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"write the size of a tree as {TREE_SIZE}") from error


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C exits."""
    pressed = False

    def on_interrupt(_signal: int, _frame: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
