"""The notice about a prompt that is unlike the text House was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypedDict

from specviz.glossary import TRAINED_ON

if TYPE_CHECKING:
    from specviz.models.target import Target

USUAL: Final = 4.9  # bits per token; no prompt that ships needs more (checked by a test)
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
    """The sentence, or None if the prompt is like the examples. Takes one pass of the target."""
    from specviz.models.prompt import bits_per_token

    bits = bits_per_token(target, target.encode(prompt, 0))
    return HINT.format(bits, USUAL) if bits is not None and bits > USUAL else None
