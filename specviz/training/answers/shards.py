"""Answers on disk: a folder with one shard per batch, and the settings of their generation.

A shard is complete or absent. Hidden states are stored in bf16, which suffices to train a head.
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
    """A question and the target's answer, n tokens in all.

    Attributes:
        tokens: Token ids, (n,).
        prompt: Number of tokens of the prompt.
        tops: The target's most probable next token after each token, (n,).
        states: bf16 hidden states, (n, layers + 1, h): of the tapped layers before the final norm,
            then after it.
        domain: Kind of question.
        held_out: Whether it is excluded from training.
        temperature: Temperature that it was sampled at.
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
        """Return the number of rows whose distribution the target sampled from."""
        return len(self.tokens) - self.prompt + 1


def write_shard(path: Path, answers: Sequence[Answer]) -> None:
    """Write a batch."""
    facts = [
        {"length": len(a.tokens), "prompt": a.prompt, "domain": a.domain}
        | {"held_out": a.held_out, "temperature": a.temperature}
        for a in answers
    ]
    none = torch.empty(0, dtype=torch.int32)  # for a batch without answers
    tensors = {
        name: torch.cat([getattr(answer, name) for answer in answers]) if answers else none
        for name in ("tokens", "tops", "states")
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    save_file(tensors, partial, metadata={"answers": json.dumps(facts)})
    partial.replace(path)


class Shard:
    """A batch on disk; hidden states are read on demand.

    Attributes:
        facts: Properties of each answer.
        lengths: Tokens of each answer.
        starts: First row of each answer in the tensors.
        token_rows: Token ids and top tokens of all answers.
    """

    def __init__(self, path: Path) -> None:
        self.file = safe_open(path, "pt")
        self.facts: list[dict[str, Any]] = json.loads(self.file.metadata()["answers"])
        self.lengths = [int(each.pop("length")) for each in self.facts]
        self.starts = [0, *accumulate(self.lengths)]
        self.token_rows = {name: self.file.get_tensor(name) for name in ("tokens", "tops")}

    def token_ids(self, number: int) -> tuple[Tensor, Tensor, int]:
        """Return an answer's tokens, its top tokens and the length of its prompt."""
        rows = slice(self.starts[number], self.starts[number + 1])
        return (
            self.token_rows["tokens"][rows],
            self.token_rows["tops"][rows],
            self.facts[number]["prompt"],
        )

    def read(self, number: int) -> Answer:
        """Read a whole answer."""
        tokens, tops, _ = self.token_ids(number)
        states = self.file.get_slice("states")[self.starts[number] : self.starts[number + 1]]
        return Answer(tokens=tokens, tops=tops, states=states, **self.facts[number])


def shard_path(folder: Path, number: int) -> Path:
    """Return the path of a batch."""
    return folder / f"{number:05}.safetensors"


def shard_paths(folder: Path) -> list[Path]:
    """Return the paths of the shards in a folder, in order."""
    return sorted(folder.glob("[0-9]*.safetensors"))


def count_own_tokens(paths: Iterable[Path]) -> int:
    """Count the tokens that the target wrote in these shards."""
    total = 0
    for path in paths:
        found = Shard(path)
        total += sum(found.lengths) - sum(each["prompt"] for each in found.facts)
    return total


def check_settings(folder: Path, facts: dict[str, Any]) -> None:
    """Store the settings of a folder's shards, or compare them with those stored.

    Raises:
        ValueError: If the folder's shards were written with other settings.
    """
    path = folder / ABOUT
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    elif (stored := read_settings(folder)) != facts:
        names = ", ".join(sorted(k for k in facts if stored.get(k) != facts[k]))
        raise ValueError(
            f"The answers in {str(folder)!r} were written with other settings ({names}). "
            "Give the same settings, or another folder."
        )


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder's shards.

    Raises:
        ValueError: If there are none.
    """
    path = folder / ABOUT
    if not path.is_file():
        raise ValueError(f"There are no answers in {str(folder)!r}: run `train write` first.")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
