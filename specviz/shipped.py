"""What ships with the app: where its files are, its prompts, and the recipes of its recorded runs.

Standard library only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

ASSETS: Final = Path(__file__).resolve().parent.parent / "assets"
FOLDER: Final = ASSETS / "traces"
HOUSE: Final = "house"  # the target that ships
MEASURED: Final = ASSETS / "models" / "measured.json"
DOMAINS: Final = {  # what one prompt of a domain is called, and what a sentence calls the domain
    "stories": ("Story", "stories"),
    "dialogues": ("Dialogue", "dialogues"),
    "python": ("Python", "Python"),
    "maths": ("Maths", "maths"),
    "repeat": ("Repetition", "repetition"),
}


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
    """Every shipped run, in the order shown; none for a folder that lists none."""
    listed = folder / "recipes.json"
    rows = json.loads(listed.read_text(encoding="utf-8")) if listed.exists() else []
    return [Recipe(**row) for row in rows]


def text_of(prompt: tuple[str, int] | str) -> str:
    """A recipe's prompt: itself, or the one at a place of a domain."""
    if isinstance(prompt, str):
        return prompt
    domain, place = prompt
    return prompts()[domain][place]


@cache
def prompts() -> dict[str, list[str]]:
    """Domain -> its prompts, in the order they are shown."""
    data = json.loads((ASSETS / "prompts.json").read_text(encoding="utf-8"))
    return {domain: list(texts) for domain, texts in data.items()}


def spoken(domain: str) -> str:
    """What a sentence calls a domain; its own name where nobody gave it another."""
    return DOMAINS.get(domain, (domain, domain))[1]


def prompt_kind(domain: str) -> str:
    """What one prompt of a domain is called; the domain's name where nobody gave it another."""
    return DOMAINS.get(domain, (domain, domain))[0]


def measured(path: Path = MEASURED) -> dict[str, Any] | None:
    """The numbers behind the card of the house models; None where there is no such file.

    Raises ValueError where it is no JSON object.
    """
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} is no JSON object.")
    return found
