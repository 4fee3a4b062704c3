"""Every family of drafters on tiny models, for the contract and the pages.

There is one row per family; all weights follow from seeds.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache

import circle
import dflash_made
import driven
import headed
import moa_made
import test_dflash2
import test_dspark
import test_eagle
import test_jetspec
import test_other_vocabulary
import test_p_eagle
import test_pard
import tiny
from test_layerskip import deep

from specviz.drafters.contract import Case
from specviz.drafters.eagle import Eagle2
from specviz.drafters.layerskip import LayerSkip
from specviz.drafters.lookahead import Found, Lookahead
from specviz.drafters.ngram import NGram
from specviz.drafters.oracle import Oracle
from specviz.drafters.suffix import Suffix
from specviz.drafters.uniform import Uniform
from specviz.models.network import prepare
from specviz.models.target import Target
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import ModelCard


def fast(model):
    """Return a copy of a network with its NumPy pass; the families' own tests use torch's."""
    model = deepcopy(model)
    prepare(model)
    return model


@cache
def small_model():
    return fast(tiny.small_llama())


def small_target():
    """Return a target with one token per letter, none of which ends a text."""
    target = tiny.target(small_model())
    target.encode = lambda prompt, new: [1 + letter % 11 for letter in prompt.encode()]
    usual = target.token_bytes  # several letters map to one token, which has no bytes of its own
    target.token_bytes = lambda token: b"<unk>" if 1 <= token <= 11 else usual(token)
    return target


@cache
def small_draft():
    return tiny.draft(fast(tiny.blurred(tiny.small_llama(), 0.1)))


@cache
def other_model():
    return fast(test_other_vocabulary.twelve())


@cache
def deep_model():
    return fast(deep(layers=4))


class Stocked(Lookahead):
    """Return Lookahead with n-grams in its pool from the start."""

    def begin(self, target, settings):
        session = super().begin(target, settings)
        for first in range(1, 12):
            for k in range(1, 5):
                places = range(1, settings.lookahead_ngram)
                ngram = (first, *(1 + (first + k * place) % 11 for place in places))
                session.pool.add(Found(ngram, 0, 0))
        return session


CHAIN = Settings(gamma=4)
TREE = Settings(gamma=3, siblings=[3, 2])
TOPS = Settings(gamma=3, siblings=[3, 2], candidates="greedy")
DYNAMIC = Settings(gamma=4, budget=10, fan_out=3)
WINDOWS = [
    Settings(gamma=4, lookahead_window=w, lookahead_ngram=n, lookahead_guesses=g)
    for w, n, g in ((5, 4, 5), (1, 3, 1), (3, 3, 4), (2, 6, 4))
]
EXITS = [
    Settings(gamma=4, exit_layer=2),
    Settings(gamma=3, siblings=[3, 2], exit_layer=1),
    Settings(gamma=3, siblings=[3, 2], candidates="greedy", exit_layer=3),
]
FOUND = Settings(gamma=4, suffix_factor=4.0)
RANKS = Settings(gamma=3, siblings=[4, 2])
SURE = replace(TREE, confidence=0.4)
NARROW = Settings(gamma=4, budget=3, fan_out=1)
BLOCKS = [Settings(gamma=1), replace(CHAIN, schedule="learning"), Settings(gamma=20)]
PAIRS = "aabbccddeeffgghhiijjkk"  # every letter occurred before, with two different continuations
LETTERS = ["abcabdabcabcabd", "hello hello hello"]
FLAT = Sampling(1.3, top_k=5, top_p=0.97)


def small(make, *shapes, prompts=LETTERS, **options):
    """Return a case on twelve tokens."""
    return Case(small_target, make, prompts, shapes, FLAT, **options)


@cache
def taught_model():
    return fast(headed.target().model)


def taught_target():
    """Return the trained target; its eos may be changed."""
    return Target(taught_model(), tiny.tokenizer(), headed.target().card)


def taught(make, *shapes):
    """Return a case on the target trained on a few sentences, with a head trained on it."""
    sampling = Sampling(1.6, top_k=4, top_p=0.98)
    return Case(taught_target, make, headed.PROMPTS[:2], shapes, sampling)


@cache
def counting_model():
    return fast(circle.target().model)


@cache
def heads():
    """Return the drafters of circle.py, shared by tests; checks restore weights they change."""
    return circle.drafters(tiny.target(counting_model()), 0.03)


def circling(name, *shapes):
    """Return a case on the target that counts around a circle, with a nearly perfect head."""
    return Case(
        lambda: tiny.target(counting_model()),
        lambda counts: heads()[name],
        [tiny.PROMPT, "The dog saw"],
        shapes,
        Sampling(6.0, top_k=5, top_p=0.97),
    )


OTHER = "draft-model with another tokenizer"  # a separate catalogue row only because of its weights
CASES = {
    "draft-model": small(lambda target: small_draft(), CHAIN, TREE, TOPS, SURE),
    OTHER: small(
        lambda target: test_other_vocabulary.drafter(target, other_model()),
        CHAIN,
        TREE,
        TOPS,
    ),
    "pard": taught(lambda target: test_pard.trained_drafter(), *BLOCKS, TREE, TOPS, SURE),
    "eagle": circling("eagle", CHAIN, TREE, TOPS),
    "eagle2": circling("eagle2", DYNAMIC),
    "eagle3": circling("eagle3", DYNAMIC),
    "medusa": taught(lambda target: headed.drafter("medusa"), CHAIN, RANKS),
    "blockwise": taught(lambda target: headed.drafter("blockwise"), CHAIN),
    "mtp": taught(lambda target: headed.drafter("mtp"), CHAIN, TOPS),
    "mtp-parallel": taught(lambda target: headed.drafter("mtp-parallel"), CHAIN, RANKS),
    "lmtp": taught(lambda target: headed.drafter("lmtp"), CHAIN, RANKS),
    "moa": taught(lambda target: moa_made.drafter(), DYNAMIC, NARROW),
    "dflash": taught(lambda target: dflash_made.drafter(), *BLOCKS),
    "dspark": taught(
        lambda target: test_dspark.drafter(), *BLOCKS, replace(CHAIN, confidence=0.4), TOPS
    ),
    "dflash2": taught(lambda target: test_dflash2.drafter(), *BLOCKS, TOPS),
    "jetspec": taught(lambda target: test_jetspec.drafter(), DYNAMIC, NARROW),
    "p-eagle": taught(lambda target: test_p_eagle.drafter(), *BLOCKS),
    "layerskip": Case(
        lambda: tiny.target(deep_model()),
        LayerSkip,
        [tiny.PROMPT, "The dog saw"],
        EXITS,
    ),
    "ngram": small(lambda target: NGram(), CHAIN, prompts=[PAIRS, LETTERS[0]]),
    "suffix": small(
        lambda target: Suffix(),
        FOUND,
        replace(FOUND, siblings=[3, 2]),
        prompts=[PAIRS, LETTERS[0]],
    ),
    "lookahead": small(lambda target: Stocked(), *WINDOWS, remembers=True),
    "oracle": small(Oracle, CHAIN, TREE, TOPS),
    "uniform": small(lambda target: Uniform(), CHAIN, TREE, TOPS),
}

# Drafters that are nearly always wrong, which must not change the text.
WRONG = {
    "draft-model": small(
        lambda target: tiny.draft(tiny.small_llama(seed=9)), CHAIN, TREE, TOPS, SURE
    ),
    "moa": taught(lambda target: moa_made.drafter(moa_made.wild(target)), DYNAMIC, NARROW),
}


def untrained(name, target):
    return headed.drafter(name, headed.HEADS[name].new(headed.CONFIGS[name], target.model).eval())


# Untrained weights: drafts must satisfy the contract even if most guesses are rejected.
KNOWING_NOTHING = {
    "ngram": lambda target: NGram(),
    "suffix": lambda target: Suffix(),
    "lookahead": lambda target: Lookahead(),
    "layerskip": LayerSkip,
    "oracle": Oracle,
    "uniform": lambda target: Uniform(),
    "eagle": driven.drafter,
    "eagle2": lambda target: driven.drafter(target, Eagle2),
    "eagle3": test_eagle.drafter3,
    "moa": lambda target: moa_made.drafter(moa_made.wild(target)),
    "dflash": lambda target: dflash_made.drafter(dflash_made.random_head(target)),
    "dspark": lambda target: test_dspark.drafter(test_dspark.random_head(target)),
    "dflash2": lambda target: test_dflash2.drafter(test_dflash2.random_head(target)),
    "jetspec": lambda target: test_jetspec.drafter(test_jetspec.random_head(target)),
    "p-eagle": lambda target: test_p_eagle.drafter(test_p_eagle.random_head(target)),
    "pard": lambda target: test_pard.drafter(tiny.blurred(target.model)),
    OTHER: lambda target: test_other_vocabulary.drafter(target, tiny.blurred(target.model)),
    **{name: (lambda target, name=name: untrained(name, target)) for name in headed.HEADS},
}


def target_of(name):
    """Return a new target with as many layers as the family's tests need."""
    model = tiny.llama(num_hidden_layers=4 if name.startswith("eagle") else headed.LAYERS)
    return Target(model, tiny.tokenizer(), ModelCard("tiny", "causal-lm", 1, 1, headed.HASH))
