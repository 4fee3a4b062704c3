"""Settings as options: the words of the command line, and of a lane typed into the page.

Standard library only.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, Final, get_args

from specviz.settings.settings import Candidates, Schedule

# Settings that few families of drafters read.
FAMILIES: Final[dict[str, tuple[Any, str]]] = {
    "confidence": (float, "draft-model, layerskip: the least chance of a guess to go on from it"),
    "budget": (int, "eagle2, eagle3, moa: guesses of the tree that the target checks"),
    "fan_out": (int, "eagle2, eagle3, moa: guesses weighed under a node, and nodes gone on from"),
    "exit_layer": (int, "layerskip: the layer after which a draft leaves the target"),
    "suffix_factor": (float, "suffix: how deep a draft may go, in lengths of its match"),
    "suffix_least": (float, "suffix: the least chance that counts must give a guess"),
    "lookahead_window": (int, "lookahead: W, positions in the window"),
    "lookahead_ngram": (int, "lookahead: N, tokens in an n-gram"),
    "lookahead_guesses": (int, "lookahead: G, n-grams tried in a pass"),
}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting. One that is not given is as usual with the drafter."""
    group = parser.add_argument_group("settings", "what is not given is as usual with the drafter")
    add = partial(group.add_argument, default=argparse.SUPPRESS)
    add("--temperature", type=float, help="0 is greedy")
    add("--top-k", type=int, help="0 keeps every token")
    add("--top-p", type=float, help="1 keeps every token")
    add("--seed", type=int, help="fixes every coin of the run")
    add("--max-new-tokens", type=int)
    add("--gamma", type=int, help="drafted tokens in a chain, at most: how deep a draft goes")
    wide = "guesses under a node, by depth, such as 3,2; 1 where the list ends"
    add("--siblings", type=numbers, metavar="N,N,...", help=wide)
    ranks = "a static tree of heads that guess side by side, such as 0;1;0,0 (medusa_choices)"
    add("--rank-paths", type=paths, metavar="N,...;N,...", help=ranks)
    add("--schedule", choices=get_args(Schedule))
    add("--candidates", choices=get_args(Candidates))
    add("--ngram-min", type=int, help="shortest match looked for")
    add("--ngram-max", type=int, help="longest match looked for")
    add("--rule", help="a verification rule, or auto")
    for name, (kind, said) in FAMILIES.items():
        add("--" + name.replace("_", "-"), type=kind, help=said)


def numbers(text: str) -> list[int]:
    """ "3,2" as [3, 2]; the empty text as none. Raises ArgumentTypeError with a sentence."""
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        sentence = f"{text!r} is no list of whole numbers such as 3,2"
        raise argparse.ArgumentTypeError(sentence) from None


def paths(text: str) -> list[list[int]]:
    """ "0;0,1" as [[0], [0, 1]]; the empty text as none. Raises ArgumentTypeError."""
    return [numbers(part) for part in text.split(";")] if text.strip() else []
