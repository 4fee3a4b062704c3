"""GGUF files of Mistral, Qwen2, Qwen3 and Gemma 3: loaded weights equal the written ones."""

from __future__ import annotations

import re

import pytest
import tiny
import tiny_gguf
import tiny_sentencepiece
import torch
import windowed
from gguf import GGMLQuantizationType as Kind
from tiny_gguf import write
from tiny_sentencepiece import SIZE
from transformers import Qwen3Config, Qwen3ForCausalLM

from specviz import engine
from specviz.catalog import Unsuitable, load_target, loading
from specviz.drafters.suffix import Suffix
from specviz.models.memory import ModelCache
from specviz.settings.settings import Sampling, Settings

pytestmark = pytest.mark.slow

IDS = torch.tensor([[5, 90, 17, 4, 250, 33, 33, 8, 120, 61, 7, 200, 31, 99, 3, 12, 77, 270]])
GREEDY = Settings(Sampling(temperature=0), max_new_tokens=40)
SIZES = {
    "vocab_size": tiny_gguf.words().get_vocab_size(),
    "hidden_size": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# Every sixth layer has no window. Norms differ, so that swapping them is noticed.
GEMMA = {"num_hidden_layers": 7, "sliding_window_pattern": 6, "head_dim": 32}


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Empty the model cache, so that no test uses a model that another one loaded."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())


def mistral(**changes):
    return windowed.mistral(**(SIZES | {"head_dim": 16} | changes))


def qwen2(**changes):
    return windowed.qwen2(**(SIZES | {"head_dim": 16, "use_sliding_window": False} | changes))


def qwen3(**changes):
    sizes = windowed.USUAL | SIZES | {"head_dim": 32, "sliding_window": None}
    return tiny.loud(Qwen3ForCausalLM, Qwen3Config(**(sizes | changes)), 1)


def gemma3(**changes):
    return windowed.gemma3(**(SIZES | GEMMA | {"query_pre_attn_scalar": 32} | changes))


MAKE = {"mistral": mistral, "qwen2": qwen2, "qwen3": qwen3, "gemma3": gemma3}


def uneven(model):
    """Randomize norms and biases, so that mixing them up is noticed."""
    shifted = model.config.model_type == "gemma3_text"
    for i, (name, weight) in enumerate(model.named_parameters()):
        if weight.dim() == 1:
            middle = 0 if "bias" in name or shifted else 1
            weight.copy_(middle + torch.linspace(-0.5, 0.5, len(weight)).roll(i))
    return model


def logits(model):
    with torch.inference_mode():
        return model(IDS).logits


def read(path):
    return load_target(str(path), "cpu")


@pytest.mark.parametrize("rounding", [Kind.F32, Kind.Q8_0], ids=lambda kind: kind.name)
@pytest.mark.parametrize("kind", MAKE)
def test_loaded_network_of_each_kind_equals_the_written_network(kind, rounding, tmp_path):
    model = uneven(MAKE[kind]())
    found = read(write(tmp_path / "a.gguf", model, rounding)).model
    assert type(found) is type(model)
    expected = logits(tiny_gguf.rounded(model, rounding))
    torch.testing.assert_close(logits(found), expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("kind", MAKE)
def test_text_longer_than_the_sliding_window_equals_generate(kind, tmp_path):
    model = uneven(MAKE[kind]())
    target = read(write(tmp_path / "a.gguf", model))
    target.eos = ()
    assert target.max_length == windowed.CONTEXT
    model.generation_config.eos_token_id = None
    ids = IDS[:, :5]
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=40, do_sample=False
    )
    text = out[0, 5:].tolist()
    assert [step.token for step in engine.plain(target, ids[0].tolist(), GREEDY)] == text
    played = engine.rounds(target, Suffix(), ids[0].tolist(), GREEDY)
    assert [token for each in played for token in each.tokens] == text


@pytest.mark.parametrize("kind", MAKE)
def test_untied_and_tied_output_heads_are_distinguished(kind, tmp_path):
    for tied in (True, False):
        model = MAKE[kind](tie_word_embeddings=tied)
        found = read(write(tmp_path / f"{tied}.gguf", model)).model
        assert found.config.tie_word_embeddings is tied
        torch.testing.assert_close(logits(found), logits(model), atol=1e-3, rtol=1e-3)


def test_mistral_without_a_sliding_window_is_read_as_llama(tmp_path):
    model = mistral(sliding_window=None)
    found = read(write(tmp_path / "a.gguf", model)).model
    assert found.config.model_type == "llama"
    torch.testing.assert_close(logits(found), logits(model), atol=1e-3, rtol=1e-3)


CHANGES = {
    "stretched": {
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        }
    },
    "capped": {"final_logit_softcapping": 5.0},
    "27b": {"num_hidden_layers": 62, "query_pre_attn_scalar": 16, "intermediate_size": 32},
    "no window": {"layer_types": ["full_attention"] * 7},
}


@pytest.mark.parametrize("change", CHANGES)
def test_gemma_3_values_and_their_defaults_are_read(change, tmp_path):
    model = uneven(gemma3(**CHANGES[change]))
    found = read(write(tmp_path / "a.gguf", model)).model
    torch.testing.assert_close(logits(found), logits(model), atol=2e-3, rtol=2e-3)
    usual = gemma3(**{k: v for k, v in CHANGES[change].items() if "layers" in k or "size" in k})
    assert (logits(uneven(usual)) - logits(model)).abs().max() > 0.1  # so the change is detected


def test_gemma_3_window_and_rotary_values_are_read(tmp_path):
    near = {"rope_type": "default", "rope_theta": 500.0}
    whole = {"rope_type": "default", "rope_theta": 1e6}
    turns = {"full_attention": whole, "sliding_attention": near}
    model = gemma3(sliding_window_pattern=2, rope_parameters=turns)
    facts = {"gemma3.attention.sliding_window_pattern": 2, "gemma3.rope.freq_base_swa": 500.0}
    found = read(write(tmp_path / "a.gguf", model, facts=facts)).model
    torch.testing.assert_close(logits(found), logits(model), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("kind", "changes", "sentence"),
    [
        ("qwen3", {"leave": "blk.1.attn_q_norm.weight"}, r"lacks 1 of its weights.*1\.self_attn"),
        ("qwen2", {"leave": "blk.0.attn_k.bias"}, r"lacks 1 of its weights.*k_proj\.bias"),
        ("gemma3", {"leave": "blk.0.post_ffw_norm.weight"}, "lacks 1 of its weights.*post_feedf"),
        ("qwen2", {"more": {"blk.0.attn_q_norm.weight": torch.ones(16)}}, "Qwen2 does not have"),
        ("qwen3", {"more": {"rope_freqs.weight": torch.ones(16)}}, "does not have: 'rope_freqs"),
        ("mistral", {"more": {"blk.0.attn_q.bias": torch.ones(64)}}, "more weights than its"),
        ("qwen2", {"facts": {"qwen2.rope.scaling.type": "yarn"}}, "'yarn', which is not"),
        ("gemma3", {"facts": {"gemma3.rope.scaling.type": "yarn"}}, "'yarn', which is"),
        ("gemma3", {"facts": {"gemma3.attn_logit_softcapping": 50.0}}, "not supported"),
        ("qwen2", {"facts": {"qwen2.attention.sliding_window": 8}}, "not supported"),
        ("gemma3", {"facts": {"gemma3.attention.sliding_window": 0}}, "not possible for Gemma 3"),
        ("qwen3", {"architecture": "qwen3moe"}, "architecture 'qwen3moe'; GGUF files"),
    ],
)  # fmt: skip
def test_unsupported_contents_raise_readable_error(kind, changes, sentence, tmp_path):
    path = write(tmp_path / "odd.gguf", MAKE[kind](), **changes)
    with pytest.raises(Unsuitable) as problem:
        read(path)
    said = str(problem.value)
    assert said.startswith("'odd.gguf' ")
    assert re.search(sentence, said), said
    assert "\n" not in said


TEXTS = [
    "The cat sat on the mat.",
    " two  spaces   and\nlines\n\n\tand a tab ",
    "cats and dogs, é ½ 🦊 日本",
    "use. dog s, aw the s, c ge  The s, ion the ge catmat cat",
    "<s>typed</s>",
    "a",
    "   ",
    "",
]


@pytest.mark.parametrize("prefix", [True, False, None], ids=["prefix", "no prefix", "unsaid"])
def test_sentencepiece_tokenizes_as_llama_cpp(prefix, tmp_path):
    facts = tiny_sentencepiece.facts() | {"tokenizer.ggml.add_space_prefix": prefix}
    tokenizer = read(write(tmp_path / "a.gguf", mistral(vocab_size=SIZE), facts=facts)).tokenizer
    for text in TEXTS:
        own = tiny_sentencepiece.ids(text, prefix is not False)
        found = tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids
        assert found == own, text
        assert tokenizer.decode(found) == text
    assert tokenizer("cat").input_ids[0] == 1


def test_bytes_of_sentencepiece_tokens_join_to_the_text(tmp_path):
    path = write(tmp_path / "a.gguf", mistral(vocab_size=SIZE), facts=tiny_sentencepiece.facts())
    target = read(path)
    ids = target.encode("The cat é🦊\n", 1)
    assert b"".join(map(target.token_bytes, ids[1:])) == " The cat é🦊\n".encode()
    assert target.eos == (2,)
    assert any(len(target.token_bytes(token)) > 3 for token in ids[1:])


def test_gemma_tokenizes_runs_of_spaces_as_one_token(tmp_path):
    facts = tiny_sentencepiece.facts("  ", "   ") | {"tokenizer.ggml.add_space_prefix": False}
    path = write(tmp_path / "a.gguf", gemma3(vocab_size=SIZE), facts=facts)
    tokens = read(path).tokenizer
    known = tokens.get_vocab()
    ids = tokens("cat   cat  cat", add_special_tokens=False).input_ids
    assert ids.count(known["   "]) == ids.count(known["  "]) == 1
    assert tokens.decode(ids) == "cat   cat  cat"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tokenizer.ggml.scores": None}, "lacks the score or the type"),
        ({"tokenizer.ggml.token_type": [1] * 7}, "lacks the score or the type"),
        ({"tokenizer.ggml.tokens": ["a"] * SIZE}, "a token twice"),
        ({"tokenizer.ggml.tokens": ["a" * 2000]}, "more than 1,024 characters"),
        ({"tokenizer.ggml.remove_extra_whitespaces": True}, "normalizes text"),
        ({"tokenizer.ggml.model": "bert"}, "tokenizer of the kind 'bert'"),
    ],
)
def test_incomplete_tokenizers_are_refused(changes, sentence, tmp_path):
    facts = tiny_sentencepiece.facts() | changes
    with pytest.raises(Unsuitable, match=sentence):
        read(write(tmp_path / "odd.gguf", mistral(vocab_size=SIZE), facts=facts))
