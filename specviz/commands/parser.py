"""The parser of the command line: errors of one line, suggestions, a short and a whole help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from specviz.commands.output import print_help, printable
from specviz.settings.suggestions import did_you_mean

HELP: Final = {"-h", "--help", "--help-all"}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and suggest the name that was meant."""

    color = False  # Python 3.14 would colour the help by itself; `console` does it everywhere

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.color = False
        self._common: Sequence[str] = ()

    def shorten(self, common: Sequence[str]) -> None:
        """Show only some options in --help, and all of them, under headings, in --help-all.

        common: their destinations, in the order in which they are shown.
        """
        self._common = (*common, "help", "help_all")
        self.add_argument(
            "--help-all",
            action=_HelpAll,
            dest="help_all",
            help=f"show all {len(self._flags()) + 1} options",
        )

    def format_help(self) -> str:
        """The help: of a parser with many options, only the common ones."""
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

    def format_whole_help(self) -> str:
        """The help with all options, under their headings."""
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        """Print the help; on a terminal in colour."""
        if file is None:
            print_help(self.format_help())
        else:
            super().print_help(file)

    def error(self, message: str) -> NoReturn:
        """Print one line on standard error and exit with status 2."""
        line = " ".join(printable(message).split())
        self.exit(2, f"{self.prog}: {line} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse; unknown arguments are an error here, in the parser that knows similar options."""
        words = list(args or ())
        if self._subparsers is None and HELP.isdisjoint(words):
            self._refuse([word for word in words[: _end(words)] if self._is_unknown(word)])
        found, unknown = super().parse_known_args(args, namespace)
        self._refuse(unknown)
        return found, unknown

    def _is_unknown(self, word: str) -> bool:
        """Whether a word can only be meant as a long option, and there is none like it."""
        if not word.startswith("--") or " " in word:
            return False
        return not any(known.startswith(word.partition("=")[0]) for known in self._long_options())

    def _refuse(self, unknown: Sequence[str]) -> None:
        """End with an error if there are unknown arguments."""
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
        """Raise ArgumentError unless the value is one of the choices."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        hint = did_you_mean(str(value), known)
        if action.option_strings:
            listed = "" if hint else f" There is {', '.join(known)}."
            raise argparse.ArgumentError(action, f"{value!r:.100} is not a choice.{hint}{listed}")
        noun = str(action.metavar or action.dest).lower()
        raise argparse.ArgumentError(None, f"No {noun} is called {value!r:.100}.{hint}")


def _end(words: Sequence[str]) -> int:
    """Where the options end: at `--`, or at the end."""
    return words.index("--") if "--" in words else len(words)


class _HelpAll(argparse.Action):
    """Print the whole help and exit."""

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
        """See argparse."""
        assert isinstance(parser, Parser)
        print_help(parser.format_whole_help())
        parser.exit()
