"""Shapes of published static draft trees, as paths of ranks. Standard library only.

Ranks count from 0. The path [0, 2, 1] is the most probable first token, the third most probable
token after it, and the second most probable token after that. Paths are ordered by level and then
by rank, like the nodes of the tree that `rank_paths` builds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

RankPaths = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class PublishedTree:
    """A published tree shape. source: the repository and file that define the shape."""

    title: str
    paths: RankPaths
    source: str


def _read(*levels: str) -> RankPaths:
    # Paths are digits, one string for each level.
    found = (tuple(map(int, word)) for level in levels for word in level.split())
    return tuple(sorted(found, key=lambda path: (len(path), path)))


PUBLISHED_TREES: Final[Mapping[str, PublishedTree]] = {
    "eagle-25": PublishedTree(
        "EAGLE-1’s 25 guesses",
        _read(
            "0 1 2 3",
            "00 01 02 10 11 20 21 30",
            "000 001 002 010 011 020 021 100",
            "0000 0001 0002",
            "00000 00001",
        ),
        "https://github.com/SafeAILab/EAGLE, eagle/model/choices.py",
    ),
    "medusa-63": PublishedTree(
        "Medusa’s 63 guesses",
        _read(
            "0 1 2 3 4 5 6 7 8 9",
            "00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 20 21 22 30 31 40 50 60 70 80 90",
            "000 001 002 003 004 005 006 007 008 009 010 011 012 020 021 030 040 050 060 070 "
            "100 101 200",
            "0000 0001",
        ),
        "https://github.com/FasterDecoding/Medusa, medusa/model/medusa_choices.py",
    ),
}
