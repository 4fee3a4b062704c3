"""Files that ship with the package: their paths, the prompts, and the recipes of recorded runs.

Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

PACKAGE: Final = Path(__file__).resolve().parent
INSTALLED: Final = PACKAGE / "assets"  # in a wheel; in the repository, assets is beside the package
ASSETS: Final = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent / "assets"
FOLDER: Final = ASSETS / "traces"
HOUSE: Final = "house"  # the target that ships
EXAMPLE: Final = "Once upon a time"  # the first prompt if the shipped prompts are missing
MEASURED: Final = ASSETS / "models" / "measured.json"
DOMAINS: Final = {  # the name of each domain in a sentence
    "stories": "stories",
    "dialogues": "dialogues",
    "python": "Python",
    "maths": "maths",
    "repeat": "repetition",
}


Parsed = TypeVar("Parsed")


class BrokenFile(ValueError):
    """Raised if a shipped file is missing or damaged; the message is a sentence that names it."""

    def __init__(self, path: Path, wrong: str) -> None:
        name = path.relative_to(ASSETS.parent) if path.is_relative_to(ASSETS) else Path(path.name)
        super().__init__(f"The file {name.as_posix()}, which ships with specviz, {wrong}.")


def read_shipped_json(path: Path, parse: Callable[[Any], Parsed]) -> Parsed:
    """Parse a shipped JSON file with `parse`.

    Raises BrokenFile if anything is wrong with the file.
    """
    return read_shipped_text(path, lambda text: parse(json.loads(text)))


def read_shipped_text(path: Path, parse: Callable[[str], Parsed]) -> Parsed:
    """Parse the text of a shipped file with `parse`; raises the same as `read_shipped_json`."""
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as problem:
        raise BrokenFile(path, "is missing") from problem
    except OSError as problem:
        raise BrokenFile(path, f"cannot be read: {problem.strerror}") from problem
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as problem:
        raise BrokenFile(path, "is damaged: it is not whole JSON") from problem
    except (ValueError, TypeError, LookupError, AttributeError) as problem:
        half = isinstance(problem.__cause__, json.JSONDecodeError)
        wrong = "it is not whole JSON" if half else "it does not say what it should"
        raise BrokenFile(path, f"is damaged: {wrong}") from problem


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a shipped run was made.

    Attributes:
        name: The name of its file, without suffix.
        title: Title on the page.
        prompt: A text, or a domain and the index of one of its prompts.
        drafter: The drafter's name in the catalogue.
        settings: The settings that differ from the defaults.
        start: Whether the run is recommended to beginners; such runs come first and are numbered.
        target: The target's name in the catalogue. A target that does not ship must be fetched to
            record the run again, but not to play it.
    """

    name: str
    title: str
    prompt: tuple[str, int] | str
    drafter: str
    settings: dict[str, Any]
    start: bool = False
    target: str = HOUSE

    @property
    def text(self) -> str:
        """The prompt."""
        return text_of(self.prompt)


def recipes(folder: Path = FOLDER) -> list[Recipe]:
    """Return the recipes of the shipped runs; empty if there is no list.

    Raises BrokenFile if the list is damaged.
    """
    listed = folder / "recipes.json"
    if not listed.exists():
        return []
    return read_shipped_json(listed, lambda rows: [Recipe(**row) for row in rows])


def text_of(prompt: tuple[str, int] | str) -> str:
    """Return the text of a prompt, which is given in the form of `Recipe.prompt`."""
    if isinstance(prompt, str):
        return prompt
    domain, index = prompt
    return prompts()[domain][index]


@cache
def prompts() -> dict[str, list[str]]:
    """Return the shipped prompts by domain, in the order shown.

    Raises BrokenFile if the file is damaged.
    """
    return read_shipped_json(ASSETS / "prompts.json", _by_domain)


def _by_domain(data: Any) -> dict[str, list[str]]:
    found = {domain: [*map(str, texts)] for domain, texts in data.items()}
    if not found.keys() >= DOMAINS.keys() or not all(found.values()):
        raise ValueError("a domain has no prompts")
    return found


def domain_label(domain: str) -> str:
    """Return the domain's name in a sentence; an unknown domain keeps its name."""
    return DOMAINS.get(domain, domain)


def measured(path: Path = MEASURED) -> dict[str, Any] | None:
    """Return the measurements of House; None if there is no such file.

    Raises BrokenFile if it is not a JSON object.
    """
    return read_shipped_json(path, _facts) if path.is_file() else None


def _facts(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise TypeError("no JSON object")
    return found
