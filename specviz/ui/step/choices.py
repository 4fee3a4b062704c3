"""Convert the values of the form to a request. Fields have the names of their settings.

`hint` returns a notice if the prompt is unlike the training text of House, the shipped target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypedDict

from specviz.glossary import TRAINED_ON
from specviz.settings.settings import Sampling, Settings
from specviz.settings.specs import Group, SettingSpec, page_fields
from specviz.ui.request import HOUSE, USUAL, RunRequest

if TYPE_CHECKING:
    from specviz.models.target import Target


GROUPS: tuple[Group, ...] = ("drafting", "sampling", "run", "prompt")  # in the order of the drawer


class Field(TypedDict):
    """A field of the form, for the script that fills in the form."""

    name: str
    kind: str


def rows() -> list[SettingSpec]:
    """Return the settings in the form, in the order of the drawer."""
    return [row for group in GROUPS for row in page_fields(group)]


def names() -> list[str]:
    """Return the names of the form's fields in order, except the fields for own models."""
    return ["prompt", "target", "method", *(row.name for row in rows())]


def config() -> list[Field]:
    """Return all fields in order."""
    kinds = {row.name: row.kind.name for row in rows()}
    return [{"name": name, "kind": kinds.get(name, "text")} for name in names()]


@dataclass(frozen=True, slots=True)
class Choices:
    """The values of the form.

    Attributes:
        method: The drafter's name in the catalogue.
        target: The target's name in the catalogue, or as typed by a visitor.
        drafter: A draft model, as typed by a visitor; empty for House's own.
    """

    prompt: str
    method: str
    filled: Mapping[str, Any] = field(default_factory=dict)
    target: str = HOUSE
    drafter: str = ""

    @classmethod
    def from_form(cls, values: Mapping[str, Any]) -> Self:
        """Read the form's values by name."""
        filled = {row.name: values[row.name] for row in rows()}
        models = {name: values[name] for name in ("target", "drafter") if name in values}
        return cls(values["prompt"], values["method"], filled, **models)

    def request(self) -> RunRequest:
        """Build the request of this form.

        Raises BadSettings if a value is invalid; the message is for the visitor.
        """
        return RunRequest(self.prompt, *self.models(), self.settings())

    def settings(self) -> Settings:
        """Read the settings of the run.

        Raises BadSettings if a value is invalid; the message is for the visitor.
        """
        chosen, rest = read("sampling", self.filled), read("drafting", self.filled)
        form = read_turns(self.target.strip(), self.filled)
        return Settings(sampling=Sampling(**chosen), **rest, **read("run", self.filled), **form)

    def models(self) -> tuple[str, str]:
        """The names of the target and the drafter."""
        typed = self.drafter.strip()
        own = typed if self.method == USUAL else ""  # a typed model is used as a draft model
        return self.target.strip() or HOUSE, own or self.method


def read_turns(target: str, filled: Mapping[str, Any]) -> dict[str, Any]:
    """Read the chat settings; none for House, which has no chat template and hides these fields."""
    return {} if target in ("", HOUSE) else read("prompt", filled)


def read(group: Group, filled: Mapping[str, Any]) -> dict[str, Any]:
    """Read the settings of a group from the page's fields, by name."""
    return {row.name: row.parse(filled[row.name]) for row in page_fields(group)}


USUAL_BITS: Final = 4.9  # in bits per token; no shipped prompt has more, which a test checks
HINT: Final = (
    "This prompt is unlike the text House was trained on: House finds it harder to predict than "
    "the examples ({:.1f} bits per token, against at most {:.1f}). "
    f"House knows {TRAINED_ON}, so its text may make little sense. "
    "Drafting and checking work as always."
)


class HintLine(TypedDict):
    """The line with the notice."""

    kind: Literal["hint"]
    sentence: str


def hint(target: Target, prompt: str) -> str | None:
    """Return the sentence, or None if the prompt is like the examples; runs the target once."""
    from specviz.models.prompt import bits_per_token

    bits = bits_per_token(target, target.encode(prompt, 0))
    return HINT.format(bits, USUAL_BITS) if bits is not None and bits > USUAL_BITS else None
