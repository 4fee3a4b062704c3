"""Encode a prompt, raw text or a conversation, and measure how unusual it is for the model.

Runs, races and plain decoding all use this module, so they get the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import torch

from specviz.models.chat import has_template, read_chat
from specviz.models.errors import BadPrompt
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.settings.suggestion import did_you_mean
from specviz.trace.chat import ROLES, Chat, Turn

Prompt = str | Sequence[Turn]  # a text, or a conversation whose last turn was written by the user


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """An encoded prompt.

    Attributes:
        text: The text as it was typed; for a conversation, its last turn.
        chat: The conversation, with the author of each token; None for raw text.
    """

    text: str
    ids: list[int]
    chat: Chat | None


def encode_prompt(target: Target, prompt: Prompt, settings: Settings) -> EncodedPrompt:
    """Encode a prompt, a text or the turns of a chat, as the settings say.

    Raises BadPrompt if the prompt cannot be used; the message says why.
    """
    _check_characters([prompt] if isinstance(prompt, str) else [turn.text for turn in prompt])
    if isinstance(prompt, str):
        if not _is_chat(target, settings):
            return EncodedPrompt(prompt, target.encode(prompt, settings.max_new_tokens), None)
        system = [Turn("system", settings.system)] if settings.system else []
        turns = [*system, Turn("user", prompt)]
    else:
        turns = list(prompt)
        _check_turns(target, turns, settings)
    if not turns[-1].text.strip():
        raise BadPrompt("The prompt is empty. Write a few words for the model to answer.")
    ids, chat = read_chat(target.card.name, target.tokenizer, turns)
    target.check_fits(ids, settings.max_new_tokens)
    return EncodedPrompt(turns[-1].text, ids, chat)


def _check_characters(texts: Sequence[str]) -> None:
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise BadPrompt("The prompt contains half a character (a lone surrogate). Remove it.")


def _is_chat(target: Target, settings: Settings) -> bool:
    if settings.chat == "raw":
        return False
    can_chat = has_template(target.tokenizer)
    if not can_chat and (settings.chat == "chat" or settings.system):
        raise BadPrompt(no_template(target))
    return can_chat


def _check_turns(target: Target, turns: Sequence[Turn], settings: Settings) -> None:
    if settings.chat == "raw":
        raise BadPrompt("A conversation cannot be sent as raw text. Choose chat instead.")
    if settings.system:
        raise BadPrompt("The system text of a conversation belongs in a turn, not in the settings.")
    wrong = next((turn.role for turn in turns if turn.role not in ROLES), None)
    if wrong is not None:
        hint = did_you_mean(wrong, ROLES)
        raise BadPrompt(f"The role of a turn must be one of {', '.join(ROLES)}.{hint}")
    if not turns or turns[-1].role != "user":
        raise BadPrompt("The last turn of a conversation must be the user's.")
    if not has_template(target.tokenizer):
        raise BadPrompt(no_template(target))


def no_template(target: Target) -> str:
    """Return the sentence which says that a target only continues raw text."""
    name = target.card.name
    return f"{name[:1].upper()}{name[1:]} has no chat template: it only continues a text."


BIT: Final = log(2)


@torch.inference_mode()
def bits_per_token(target: Target, ids: Sequence[int]) -> float | None:
    """Return the mean cross-entropy after the first token, in bits; None for fewer than two."""
    if len(ids) < 2:
        return None
    logits = target.model(torch.tensor([list(ids)], device=target.device)).logits[0, :-1]
    following = torch.tensor(list(ids)[1:], device=logits.device).unsqueeze(-1)
    return float(-logits.float().log_softmax(-1).gather(-1, following).mean() / BIT)
