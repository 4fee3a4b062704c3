"""Which models and pairs can take part: checked when they are loaded, not in the middle of a run.

Rule: a rejected guess must leave no trace in the target's cache, and a token id must mean the same
to both models; whatever breaks either is refused here with a sentence.
"""

from __future__ import annotations

import inspect

from transformers import DynamicCache, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from specviz.catalog.errors import MismatchedVocabulary, Unsuitable


def check_config(name: str, config: PreTrainedConfig) -> None:
    """Raise Unsuitable for a kind of network whose cache cannot forget a rejected guess.

    A sliding window is no hindrance by itself: a target never lets a run grow past it.
    """
    if config.is_encoder_decoder:
        raise Unsuitable(f"{name!r} has an encoder and a decoder; only decoders can be used here.")
    window = getattr(config.get_text_config(decoder=True), "sliding_window", None)
    plain = {DynamicLayer, DynamicSlidingWindowLayer} if window else {DynamicLayer}
    if any(type(layer) not in plain for layer in DynamicCache(config=config).layers):
        raise Unsuitable(_stateful(name))


def check_model(name: str, model: PreTrainedModel) -> None:
    """Raise Unsuitable for a network that keeps a state, or takes no explicit positions."""
    if model._is_stateful:
        raise Unsuitable(_stateful(name))
    takes = inspect.signature(model.forward).parameters
    if not {"position_ids", "past_key_values", "logits_to_keep"} <= takes.keys():
        raise Unsuitable(
            f"{name!r} cannot be given positions and a cache, which the nodes of a tree need."
        )


def _stateful(name: str) -> str:
    return (
        f"{name!r} keeps a running state, which cannot be rolled back when a guess is rejected; "
        "only models with a plain key-value cache can be used here."
    )


def check_vocabularies(
    target: str,
    target_tokenizer: PreTrainedTokenizerBase,
    drafter: str,
    drafter_tokenizer: PreTrainedTokenizerBase,
) -> None:
    """Raise MismatchedVocabulary unless every token id is the same token for both."""
    ours = {i: token for token, i in target_tokenizer.get_vocab().items()}
    theirs = {i: token for token, i in drafter_tokenizer.get_vocab().items()}
    if ours == theirs:
        return
    i = min(i for i in ours.keys() | theirs.keys() if ours.get(i) != theirs.get(i))
    raise MismatchedVocabulary(
        f"{target!r} and {drafter!r} do not share a vocabulary: token {i} is "
        f"{_word(ours.get(i))} for the target and {_word(theirs.get(i))} for the drafter."
    )


def _word(token: str | None) -> str:
    return "nothing" if token is None else repr(token)


def check_reach(drafter: str, config: PreTrainedConfig, target: str, length: int) -> None:
    """Raise Unsuitable where the drafter cannot see as many tokens as a run of the target has."""
    sees = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    if sees is not None and sees < length:
        raise Unsuitable(
            f"{drafter!r} sees {sees:,} tokens at most; a run of {target!r} can have {length:,}."
        )


def check_made_for(drafter: str, made_for: str | None, target: str, hash: str | None) -> None:
    """Raise Unsuitable where a drafter was made for a target with other weights (SHA-256)."""
    if made_for is not None and made_for != hash:
        raise Unsuitable(
            f"{drafter!r} was made for another target than {target!r}: it needs the weights with "
            f"SHA-256 {made_for[:12]}…, and these have {hash[:12] + '…' if hash else 'none'}."
        )
