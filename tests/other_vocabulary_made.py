"""A draft model with a tokenizer of its own, made in memory for tests."""

from __future__ import annotations

from functools import cache

import tiny

from specviz.drafters.other_vocabulary.drafter import OtherVocabulary

BEES = "Bees sat by the mat. The bee saw the boats and the red hat in the house. "


@cache
def bees():
    """Other merges than the target's, and two special tokens in front: hardly an id is the same."""
    return tiny.tokenizer_of(BEES * 4, tiny.START, tiny.STOP)


def drafter(target, model, tokenizer=None):
    """The model as a draft model for a target with another tokenizer."""
    card = tiny.card(model, "bees", "draft-model")
    return OtherVocabulary.between(model, card, tokenizer or bees(), target)


@cache
def twelve():
    """A model of eleven letters and an end, as `tiny.small_llama`, by the ids of `bees`."""
    return tiny.llama(
        3,
        vocab_size=14,
        num_hidden_layers=1,
        hidden_size=16,
        intermediate_size=16,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
