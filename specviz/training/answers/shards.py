"""Answers on disk: a folder of shards, one a batch, and what they were written by.

Rule: a shard is there whole or not at all; states are kept in bf16, which is all that a head needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

ABOUT = "answers.json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and what the target answered, n tokens in all, the last of them read too.

    tokens: (n,). prompt: how many of them are not the target's. tops: (n,), its likeliest next
    token after each. states: (n, layers + 1, h) bf16, of the tapped layers before the final norm,
    and after it.
    """

    tokens: Tensor
    prompt: int
    tops: Tensor
    states: Tensor
    domain: str
    held_out: bool
    temperature: float

    @property
    def own(self) -> int:
        """How many of its rows hold a law that the target answered by."""
        return len(self.tokens) - self.prompt + 1


def write_shard(path: Path, answers: Sequence[Answer]) -> None:
    """Write a batch."""
    facts = [
        {"length": len(a.tokens), "prompt": a.prompt, "domain": a.domain}
        | {"held_out": a.held_out, "temperature": a.temperature}
        for a in answers
    ]
    none = torch.empty(0, dtype=torch.int32)  # of a batch without an answer
    tensors = {
        name: torch.cat([getattr(answer, name) for answer in answers]) if answers else none
        for name in ("tokens", "tops", "states")
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    save_file(tensors, partial, metadata={"answers": json.dumps(facts)})
    partial.replace(path)


class Shard:
    """A batch on disk, its states read when they are asked for.

    facts, lengths: by answer, what is said of it, and its tokens.
    """

    def __init__(self, path: Path) -> None:
        self.file = safe_open(path, "pt")
        self.facts: list[dict[str, Any]] = json.loads(self.file.metadata()["answers"])
        self.lengths = [int(each.pop("length")) for each in self.facts]
        self.starts = [0, *accumulate(self.lengths)]
        self.said = {name: self.file.get_tensor(name) for name in ("tokens", "tops")}

    def words(self, number: int) -> tuple[Tensor, Tensor, int]:
        """An answer's tokens and tops, and how long its prompt is."""
        rows = slice(self.starts[number], self.starts[number + 1])
        return self.said["tokens"][rows], self.said["tops"][rows], self.facts[number]["prompt"]

    def read(self, number: int) -> Answer:
        """All of an answer."""
        tokens, tops, _ = self.words(number)
        states = self.file.get_slice("states")[self.starts[number] : self.starts[number + 1]]
        return Answer(tokens=tokens, tops=tops, states=states, **self.facts[number])


def shard(folder: Path, number: int) -> Path:
    """Where a batch is kept."""
    return folder / f"{number:05}.safetensors"


def shards(folder: Path) -> list[Path]:
    """Those that are there."""
    return sorted(folder.glob("[0-9]*.safetensors"))


def own_tokens(paths: Iterable[Path]) -> int:
    """How many tokens the target wrote in these shards."""
    total = 0
    for path in paths:
        found = Shard(path)
        total += sum(found.lengths) - sum(each["prompt"] for each in found.facts)
    return total


def agree(folder: Path, facts: dict[str, Any]) -> None:
    """Keep what a folder's shards were written by, or compare. Raises ValueError."""
    path = folder / ABOUT
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    elif (kept := about(folder)) != facts:
        names = ", ".join(sorted(k for k in facts if kept.get(k) != facts[k]))
        raise ValueError(
            f"{str(folder)!r} was begun with other settings ({names}). "
            "Give the same ones, or another folder."
        )


def about(folder: Path) -> dict[str, Any]:
    """What a folder's shards were written by. Raises ValueError where there are none."""
    path = folder / ABOUT
    if not path.is_file():
        raise ValueError(f"There are no answers in {str(folder)!r}; `train write` writes them.")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
