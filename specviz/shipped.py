"""What ships with the app: where its files are, its prompts, and the recipes of its recorded runs.

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
INSTALLED: Final = PACKAGE / "assets"  # in a wheel the data is in the package; here it is beside it
ASSETS: Final = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent / "assets"
FOLDER: Final = ASSETS / "traces"
HOUSE: Final = "house"  # the target that ships
EXAMPLE: Final = "Once upon a time"  # the prompt at first, where none of those that ship is there
MEASURED: Final = ASSETS / "models" / "measured.json"
DOMAINS: Final = {  # what one prompt of a domain is called, and what a sentence calls the domain
    "stories": ("Story", "stories"),
    "dialogues": ("Dialogue", "dialogues"),
    "python": ("Python", "Python"),
    "maths": ("Maths", "maths"),
    "repeat": ("Repetition", "repetition"),
}


Made = TypeVar("Made")


class BrokenFile(ValueError):
    """A file that ships is missing or damaged; the message is a sentence that names it."""

    def __init__(self, path: Path, wrong: str) -> None:
        name = path.relative_to(ASSETS.parent) if path.is_relative_to(ASSETS) else Path(path.name)
        super().__init__(f"The file {name.as_posix()}, which ships with specviz, {wrong}.")


def of_shipped(path: Path, made: Callable[[Any], Made]) -> Made:
    """What `made` makes of a JSON file that ships. Raises BrokenFile, whatever is wrong with it."""
    return of_text(path, lambda text: made(json.loads(text)))


def of_text(path: Path, made: Callable[[str], Made]) -> Made:
    """What `made` makes of the text of a file that ships. Raises BrokenFile, as `of_shipped`."""
    try:
        return made(path.read_text(encoding="utf-8"))
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
    """One shipped run. name: its file, without suffix; title: what it shows, for people.

    prompt: a domain and a place in it, or a text of its own. settings: what differs from the usual.
    start: one of the few to begin with; they come first and are numbered. target: in the catalogue;
    one that does not ship must be fetched to make the run, not to play it.
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
    """Every shipped run, in the order shown; none for a folder that lists none.

    Raises BrokenFile.
    """
    listed = folder / "recipes.json"
    if not listed.exists():
        return []
    return of_shipped(listed, lambda rows: [Recipe(**row) for row in rows])


def text_of(prompt: tuple[str, int] | str) -> str:
    """A recipe's prompt: itself, or the one at a place of a domain."""
    if isinstance(prompt, str):
        return prompt
    domain, place = prompt
    return prompts()[domain][place]


@cache
def prompts() -> dict[str, list[str]]:
    """Domain -> its prompts, in the order they are shown. Raises BrokenFile."""
    return of_shipped(ASSETS / "prompts.json", _by_domain)


def _by_domain(data: Any) -> dict[str, list[str]]:
    found = {domain: [*map(str, texts)] for domain, texts in data.items()}
    if not found.keys() >= DOMAINS.keys() or not all(found.values()):
        raise ValueError("a domain has no prompts")
    return found


def spoken(domain: str) -> str:
    """What a sentence calls a domain; its own name where nobody gave it another."""
    return DOMAINS.get(domain, (domain, domain))[1]


def prompt_kind(domain: str) -> str:
    """What one prompt of a domain is called; the domain's name where nobody gave it another."""
    return DOMAINS.get(domain, (domain, domain))[0]


def measured(path: Path = MEASURED) -> dict[str, Any] | None:
    """The numbers behind the card of the house models; None where there is no such file.

    Raises BrokenFile where it is no JSON object.
    """
    return of_shipped(path, _facts) if path.is_file() else None


def _facts(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise TypeError("no JSON object")
    return found
