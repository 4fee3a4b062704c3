"""What a visitor is told of a prompt that is unlike all that the house's target was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specviz.glossary import TRAINED_ON

if TYPE_CHECKING:
    from specviz.models.target import Target

USUAL: Final = 4.9  # bits a token: no prompt that ships takes House more (a test says so)
HINT: Final = (
    "House finds this prompt strange: {:.1f} bits a token, where its own examples take {:.1f} at "
    f"most. It knows {TRAINED_ON}, so the text may make little sense. How it is guessed and "
    "checked is exact all the same."
)


def hint(target: Target, prompt: str) -> str | None:
    """The sentence; None where the prompt is much like the examples. One pass of the target."""
    from specviz.models.perplexity import bits_per_token

    bits = bits_per_token(target, target.encode(prompt, 0))
    return HINT.format(bits, USUAL) if bits is not None and bits > USUAL else None
