"""The argument parser: errors of one line, suggestions, and a short and a full help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from specviz.commands.output import print_help, printable
from specviz.settings.options import did_you_mean

HELP_OPTIONS: Final = {"-h", "--help", "--help-all"}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and suggest a similar name."""

    color = False  # Python 3.14 would colour the help by itself; `output` does it everywhere

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.color = False
        self._common: Sequence[str] = ()

    def shorten(self, common: Sequence[str]) -> None:
        """Show only the common options in --help, and all options in --help-all.

        Args:
            common: Destinations of the common options, in the order in which they are shown.
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
        """Parse. Unknown arguments are an error here, where similar options can be suggested."""
        words = list(args or ())
        if self._subparsers is None and HELP_OPTIONS.isdisjoint(words):
            self._reject([word for word in words[: _options_end(words)] if self._is_unknown(word)])
        found, unknown = super().parse_known_args(args, namespace)
        self._reject(unknown)
        return found, unknown

    def _is_unknown(self, word: str) -> bool:
        """Return whether a word can only be a long option, and no option begins with it."""
        if not word.startswith("--") or " " in word:
            return False
        return not any(known.startswith(word.partition("=")[0]) for known in self._long_options())

    def _reject(self, unknown: Sequence[str]) -> None:
        """Exit with an error if there are unknown arguments."""
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
            listed = "" if hint else f" Choose one of {', '.join(known)}."
            raise argparse.ArgumentError(
                action, f"{value!r:.100} is not a valid choice.{hint}{listed}"
            )
        noun = str(action.metavar or action.dest).lower()
        raise argparse.ArgumentError(None, f"No {noun} is called {value!r:.100}.{hint}")


def _options_end(words: Sequence[str]) -> int:
    """Return the index at which the options end: that of `--`, or the end."""
    return words.index("--") if "--" in words else len(words)


class _HelpAll(argparse.Action):
    """Print the full help and exit."""

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
        """Implement `argparse.Action`."""
        assert isinstance(parser, Parser)
        print_help(parser.format_full_help())
        parser.exit()
