"""Options that several commands share, and stopping a command with Ctrl-C."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from specviz.commands.parser import Parser
from specviz.settings.options import option_group, prompt_type
from specviz.trees.shapes import BadTree, Parameters

INTERRUPTED: Final = 130  # the exit status after Ctrl-C
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
    """Add the option --tree-size: a dynamic tree under the names that SGLang or EAGLE uses."""
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
    """Set gamma, the fan-out and the budget. Their own options, given later, override it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Implement `argparse.Action`."""
        assert isinstance(values, Parameters)  # the result of _parse_tree_size
        for name, value in values.names["specviz"].items():
            setattr(namespace, name, value)


def _parse_tree_size(text: str) -> Parameters:
    """Parse the size of a tree, three numbers as name=value. Raises ArgumentTypeError."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    try:
        return Parameters.of({name.strip(): int(value) for name, _, value in pairs})
    except BadTree as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"write the size of a tree as {TREE_SIZE}") from error


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C exits at once."""
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
