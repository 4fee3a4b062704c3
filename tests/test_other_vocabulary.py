"""A draft model with another tokenizer: shared tokens, converted texts, both kinds of runs."""

from __future__ import annotations

from functools import cache

import headed
import pytest
import tiny
import torch

from specviz.catalog import MismatchedVocabulary, Unsuitable, load
from specviz.drafters.contract.harness import run_trace
from specviz.drafters.draft_model import DraftModel
from specviz.drafters.other_vocabulary import (
    OtherVocabulary,
    Retokenizer,
    SharedTokens,
    find_shared_tokens,
)
from specviz.models.tokenizer import token_bytes, vocabulary_bytes
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.metrics import token_ids
from specviz.verification import Drawn

CHAIN = Settings(Sampling(0.0), max_new_tokens=16, gamma=4)
WARM = Settings(Sampling(0.8), max_new_tokens=16, gamma=4)
TREE = Settings(Sampling(0.8), max_new_tokens=16, gamma=3, siblings=[3, 2])


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


@pytest.fixture(scope="module")
def target():
    return tiny.target()


@pytest.fixture(scope="module")
def both(target):
    return find_shared_tokens(
        target.tokenizer, target.vocab_size, bees(), tiny.VOCABULARY, target.eos[0]
    )


@pytest.fixture(scope="module")
def rewriting(target, both):
    return Retokenizer(target, bees(), both)


def test_shared_tokens_have_the_same_bytes_in_both_vocabularies(target, both):
    assert 256 < len(both.to_draft) < tiny.VOCABULARY
    for token, own in both.to_draft.items():
        assert target.token_bytes(token) == token_bytes(bees(), own)
    assert both.to_draft[0] == 0
    assert not {1, 2} & set(both.to_draft.values()), "special tokens must not be shared"
    missing = set(range(tiny.VOCABULARY)) - set(both.to_draft)
    assert not {target.token_bytes(token) for token in missing} & {
        *vocabulary_bytes(bees(), 280).values()
    }


def test_special_tokens_are_shared_only_as_end_tokens(target):
    """The target's end token has the same bytes as an ordinary token of the other tokenizer."""
    other = tiny.tokenizer_of(tiny.TEXT)
    other.add_tokens(["<|stop|>"])
    mine = tiny.tokenizer_of(tiny.TEXT, "<|stop|>")
    letters = other.convert_tokens_to_ids("<|stop|>")
    assert letters not in find_shared_tokens(mine, 280, other, 281, None).to_draft.values()
    other = tiny.tokenizer_of(tiny.TEXT, "</s>")
    other.eos_token = "</s>"
    assert find_shared_tokens(target.tokenizer, 280, other, 280, None).to_draft[0] == 0
    other.add_special_tokens({"eos_token": "<end>"})
    only = find_shared_tokens(tiny.chat_tokenizer(), 280, other, 281, 2).to_draft
    assert only[2] == other.eos_token_id
    assert 2 not in find_shared_tokens(tiny.chat_tokenizer(), 280, other, 281, None).to_draft


def test_q_covers_only_shared_tokens():
    fitted = SharedTokens({5: 1, 2: 0}, 7, {}, {}).fit(torch.tensor([[1.0, 2.0, 9.0]]))
    assert fitted.tolist() == [[-torch.inf] * 2 + [1.0] + [-torch.inf] * 2 + [2.0, -torch.inf]]


def spelled(own):
    return b"".join(token_bytes(bees(), token) for token in own).decode()


def test_text_is_converted_and_an_incomplete_character_at_its_end_is_kept_as_bytes(
    target, rewriting
):
    ids = target.encode("The bee saw the mat ü", 9)
    text = rewriting.encode(ids)
    assert (spelled(text.ids), text.rest) == ("The bee saw the mat ü", b"")
    assert len(text.ids) < len(ids)
    half = rewriting.encode([*target.encode("The cat", 9), *target.encode("ü", 9)[:1]])
    assert (spelled(half.ids), half.rest) == ("The cat", "ü".encode()[:1])


def test_shared_special_tokens_survive_conversion():
    other = tiny.chat_tokenizer()
    target = tiny.target(words=other)
    both = find_shared_tokens(other, 280, bees(), 280, 0)
    turn = [1, *target.encode("The bee", 9), 2]
    assert Retokenizer(target, bees(), both).encode(turn).ids == [
        1,
        *bees()("The bee").input_ids,
        2,
    ]
    alone = find_shared_tokens(other, 280, tiny.tokenizer(), 280, 0)
    read = Retokenizer(target, tiny.tokenizer(), alone).encode(turn).ids
    assert read == tiny.tokenizer()("The bee").input_ids, "an unknown token must be omitted"


def test_guesses_are_converted_to_tokens_of_the_target(target, rewriting):
    for before, then in (
        ("The cat", " sat on the mat"),
        ("The c", "at saw"),  # the target's tokenizer would choose a different token than the text
        ("The cat ", "ü 🦊"),
        ("T", "h"),
    ):
        ids = target.encode(before, 9)
        guesses = rewriting.guesses(ids, b"", bees()(then).input_ids)
        assert b"".join(map(target.token_bytes, guesses)).decode() == then
        whole = target.encode(before + then, 9)
        if whole[: len(ids)] == ids:
            assert guesses == whole[len(ids) :], "must be the tokens of the target's own tokenizer"


def test_incomplete_characters_in_the_guesses_are_dropped(target, rewriting):
    """A guess must complete a character that the text has started."""
    first, second = "ü".encode()[:1], "ü".encode()[1:]
    ids = [*target.encode("The cat", 9), *target.encode("ü", 9)[:1]]
    own = bees()("ü dog").input_ids
    assert b"".join(map(target.token_bytes, rewriting.guesses(ids, first, own))) == second + b" dog"
    assert rewriting.guesses(ids, first, bees()(" dog").input_ids) == []
    guesses = rewriting.guesses(target.encode("The c", 9), b"", bees()("at ü").input_ids[:-1])
    assert b"".join(map(target.token_bytes, guesses)) == b"at "


@pytest.mark.slow
def test_shared_and_rewritten_guesses_of_a_good_draft_model_are_accepted():
    """Use the target's weights with a tokenizer that differs in one additional token."""
    other = tiny.tokenizer_of(tiny.TEXT * 4)
    other.add_tokens(["<more>"])
    target = headed.again()
    knowing = drafter(target, target.model, other)
    assert len(knowing.shared.to_draft) == tiny.VOCABULARY
    for settings, drawn in (
        (CHAIN, "point-mass"),
        (WARM, "sampled"),
        (TREE, "without-replacement"),
    ):
        run = run_trace(target, knowing, headed.PROMPTS[0], settings)
        check(run)
        judged = [each for played in run.rounds for each in played.judged]
        assert {played.proposed.drawn for played in run.rounds[1:]} == {drawn}
        assert sum(each.accepted for each in judged) > 0.5 * len(judged)
    plain = run_trace(target, DraftModel(target.model, knowing.card), headed.PROMPTS[0], WARM)
    assert story_of(plain) == story_of(run_trace(target, knowing, headed.PROMPTS[0], WARM))


def story_of(trace):
    return token_ids(trace), [played.proposed.guesses for played in trace.rounds if played.proposed]


@pytest.mark.slow
def test_text_longer_than_the_draft_models_context_gives_an_empty_draft():
    target = headed.again()
    short = drafter(target, target.model)
    assert (short.max_length, short.own_length) == (None, tiny.POSITIONS)
    short.own_length = 14
    for settings in (CHAIN, WARM):
        run = run_trace(target, short, headed.PROMPTS[0], settings)
        check(run)
        tries = [played.proposed for played in run.rounds[1:-1]]
        assert tries[0].guesses
        beyond = [made for made in tries if not made.remark["own_tokens"]]
        assert beyond
        assert not any(made.guesses for made in beyond)


def test_draft_ends_at_low_confidence(target):
    model = drafter(target, tiny.blurred(tiny.llama()))
    sure = model.begin(target.start(model.capture), CHAIN)
    careful = model.begin(target.start(model.capture), Settings(Sampling(0.0), confidence=0.999))
    ids = target.encode(tiny.PROMPT, 20)
    chance = CHAIN.chance(1)
    assert len(sure.propose(ids, 5, chance).evidence[0]["written"]) == 4
    assert len(careful.propose(ids, 5, chance).evidence[0]["written"]) == 1
    assert sure.drawn is Drawn.POINT_MASS


@pytest.mark.slow
def test_model_folder_with_another_tokenizer_can_draft(pair, tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "bees", bees())
    target, made = load(str(pair[0]), str(folder))
    assert isinstance(made, OtherVocabulary)
    assert token_ids(run_trace(target, made, tiny.PROMPT, CHAIN)) == token_ids(
        run_trace(target, load(str(pair[0]), str(pair[1]))[1], tiny.PROMPT, CHAIN)
    )
    assert type(load(str(pair[0]), str(pair[1]))[1]) is DraftModel


def test_disjoint_vocabularies_and_slow_tokenizers_are_refused(target, monkeypatch):
    model, here = tiny.llama(), "specviz.drafters.other_vocabulary."
    monkeypatch.setattr(here + "find_shared_tokens", lambda *_: SharedTokens({0: 0}, 9, {}, {}))
    with pytest.raises(MismatchedVocabulary, match="'tiny' and 'bees' have no token in common"):
        drafter(target, model)
    monkeypatch.setattr(here + "is_fast", lambda _: False)
    with pytest.raises(Unsuitable, match="cannot give the position of a token"):
        drafter(target, model)
