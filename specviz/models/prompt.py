"""A prompt as tokens: raw text that the model writes on from, or a conversation.

One rule: a run, a race and plain decoding read a prompt here, so they read it alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.models.chat import has_template, read_chat
from specviz.models.errors import BadPrompt
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.chat import ROLES, Chat, Turn

Prompt = str | Sequence[Turn]  # a text, or a conversation whose last turn is the user's


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as the target reads it. text: as it was typed, in a conversation its last turn."""

    text: str
    ids: list[int]
    chat: Chat | None


def encode_prompt(target: Target, prompt: Prompt, settings: Settings) -> EncodedPrompt:
    """Read a prompt as the settings say. Raises BadPrompt with a sentence."""
    _check_letters([prompt] if isinstance(prompt, str) else [turn.text for turn in prompt])
    if isinstance(prompt, str):
        if not _asks_for_chat(target, settings):
            return EncodedPrompt(prompt, target.encode(prompt, settings.max_new_tokens), None)
        system = [Turn("system", settings.system)] if settings.system else []
        turns = [*system, Turn("user", prompt)]
    else:
        turns = list(prompt)
        _check_turns(target, turns, settings)
    if not turns[-1].text.strip():
        raise BadPrompt("The prompt is empty. Write a few words for the model to answer.")
    ids, chat = read_chat(target.card.name, target.tokenizer, turns)
    target.check_room(ids, settings.max_new_tokens)
    return EncodedPrompt(turns[-1].text, ids, chat)


def _check_letters(texts: Sequence[str]) -> None:
    """Raise BadPrompt where a text cannot be written as UTF-8."""
    if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
        raise BadPrompt("The prompt holds half a character (a lone surrogate).")


def _asks_for_chat(target: Target, settings: Settings) -> bool:
    """Whether a text is sent as a turn. Raises BadPrompt where that was asked for in vain."""
    if settings.chat == "raw":
        return False
    able = has_template(target.tokenizer)
    if not able and (settings.chat == "chat" or settings.system):
        raise BadPrompt(no_template(target))
    return able


def _check_turns(target: Target, turns: Sequence[Turn], settings: Settings) -> None:
    """Raise BadPrompt unless these turns can be asked of the target."""
    if settings.chat == "raw":
        raise BadPrompt("A conversation cannot be sent as raw text.")
    if settings.system:
        raise BadPrompt("A conversation has its system text in a turn, not in the settings.")
    if any(turn.role not in ROLES for turn in turns):
        raise BadPrompt(f"A turn is said by one of: {', '.join(ROLES)}.")
    if not turns or turns[-1].role != "user":
        raise BadPrompt("The last turn of a conversation is the user's.")
    if not has_template(target.tokenizer):
        raise BadPrompt(no_template(target))


def no_template(target: Target) -> str:
    """That a target takes raw text alone, as a sentence."""
    name = target.card.name
    return f"{name[:1].upper()}{name[1:]} has no chat template: it only writes on from a text."
