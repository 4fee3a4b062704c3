"""What a visitor can choose, as data from the page, turned into a request.

Rule: fields are bound by name; which there are, and how each is read, their rows say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from specviz.settings.settings import Sampling, Settings
from specviz.settings.specs import Group, SettingSpec, page_fields
from specviz.ui.request import HOUSE, USUAL, RunRequest

GROUPS: tuple[Group, ...] = ("drafting", "sampling", "run", "prompt")  # as they stand in the drawer


def rows() -> list[SettingSpec]:
    """The settings that the form has, in the drawer's order."""
    return [row for group in GROUPS for row in page_fields(group)]


def names() -> list[str]:
    """The form's fields by name, in their order, but for models of one's own."""
    return ["prompt", "target", "method", *(row.name for row in rows())]


def config() -> list[dict[str, str]]:
    """The same for the player's script, which fills the form in: each field's name and kind."""
    kinds = {row.name: row.kind.name for row in rows()}
    return [{"name": name, "kind": kinds.get(name, "text")} for name in names()]


@dataclass(frozen=True, slots=True)
class Choices:
    """One filled-in form. method: the drafter's name in the catalogue.

    filled: each setting's field as the page has it, by name. target: its name in the catalogue, or
    what a visitor typed. drafter: a draft model named by a visitor, empty for the house's own.
    """

    prompt: str
    method: str
    filled: Mapping[str, Any] = field(default_factory=dict)
    target: str = HOUSE
    drafter: str = ""

    @classmethod
    def from_form(cls, values: Mapping[str, Any]) -> Self:
        """The form's values by name."""
        filled = {row.name: values[row.name] for row in rows()}
        models = {name: values[name] for name in ("target", "drafter") if name in values}
        return cls(values["prompt"], values["method"], filled, **models)

    def wish(self) -> RunRequest:
        """The run that this form asks for. Raises BadSettings with a sentence."""
        return RunRequest(self.prompt, *self.models(), self.settings())

    def settings(self) -> Settings:
        """The settings of the run. Raises BadSettings with a sentence."""
        law, rest = read("sampling", self.filled), read("drafting", self.filled)
        form = read_turns(self.target.strip(), self.filled)
        return Settings(sampling=Sampling(**law), **rest, **read("run", self.filled), **form)

    def models(self) -> tuple[str, str]:
        """The names of the target and the drafter."""
        typed = self.drafter.strip()
        own = typed if self.method == USUAL else ""  # a named model drafts as a draft model
        return self.target.strip() or HOUSE, own or self.method


def read_turns(target: str, filled: Mapping[str, Any]) -> dict[str, Any]:
    """How the target is given the prompt, by name. Raises BadSettings.

    House has no template, so the fields are hidden, and what is in them is not meant.
    """
    return {} if target in ("", HOUSE) else read("prompt", filled)


def read(group: Group, filled: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a group out of the page's fields, by name. Raises BadSettings."""
    return {row.name: row.parse(filled[row.name]) for row in page_fields(group)}
