"""`--tree-size`: the three sizes of a dynamic tree, under the names that SGLang or EAGLE uses."""

from __future__ import annotations

import argparse
from typing import Any

from specviz.settings.options import option_group
from specviz.trees.parameters import BadTree, Parameters

EXAMPLE = "steps=6,topk=10,num_draft_tokens=60"


class TreeSize(argparse.Action):
    """Set gamma, the fan-out and the budget; their own options, given later, override it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """See argparse."""
        assert isinstance(values, Parameters)  # what `size` made
        for name, value in values.names["specviz"].items():
            setattr(namespace, name, value)


def add_tree_size(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    option_group(parser, "draft tree").add_argument(
        "--tree-size",
        type=size,
        action=TreeSize,
        default=argparse.SUPPRESS,
        metavar="NAME=N,NAME=N,NAME=N",
        help=f"a dynamic tree as SGLang ({EXAMPLE}) or EAGLE (total_tokens=60,depth=5,top_k=10) "
        "writes it; replaces --gamma, --fan-out and --budget",
    )


def size(text: str) -> Parameters:
    """Parse three named numbers. Raises ArgumentTypeError with a sentence."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    try:
        return Parameters.of({name.strip(): int(value) for name, _, value in pairs})
    except BadTree as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"write a tree's size as {EXAMPLE}") from problem
