"""A draft model with its own tokenizer, made in memory for tests."""

from __future__ import annotations

from functools import cache

import tiny

from specviz.drafters.other_vocabulary import OtherVocabulary

BEES = "Bees sat by the mat. The bee saw the boats and the red hat in the house. "


@cache
def bees():
    """Return a tokenizer with different merges and two special tokens, so that few ids agree."""
    return tiny.tokenizer_of(BEES * 4, tiny.START, tiny.STOP)


def drafter(target, model, tokenizer=None):
    """Return the model as a draft model for a target with another tokenizer."""
    card = tiny.card(model, "bees", "draft-model")
    return OtherVocabulary.between(model, card, tokenizer or bees(), target)


@cache
def twelve():
    """Return a model of eleven letters and an end token, with the ids of `bees`."""
    return tiny.llama(
        3, vocab_size=14, num_hidden_layers=1, hidden_size=16, intermediate_size=16,
        num_attention_heads=2, num_key_value_heads=1,
    )  # fmt: skip
