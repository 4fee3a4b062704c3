"""What a target is asked for its lessons: a file of questions, one JSON object a line.

Rule: what the app or a benchmark measures on is never among them; a row that is `held_out` is
answered like the others, and no head learns from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Question:
    """text: what is asked; where it is empty, the target thinks of a question itself."""

    text: str
    domain: str
    held_out: bool = False


def read_questions(path: Path) -> list[Question]:
    """The questions of a file. Raises ValueError with a sentence, OSError."""
    found = []
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")  # splitlines knows more ends
    for number, line in enumerate(filter(None, lines), 1):
        try:
            row = json.loads(line)
            found.append(Question(row["text"], row["domain"], bool(row.get("held_out", False))))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f'Line {number} of {path.name} is no {{"text": …, "domain": …}}: {error}'
            ) from error
    if not found:
        raise ValueError(f"{path.name} asks nothing.")
    return found


def write_questions(path: Path, questions: Iterable[Question]) -> None:
    """One question a line."""
    lines = (json.dumps(asdict(each), ensure_ascii=False) for each in questions)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
