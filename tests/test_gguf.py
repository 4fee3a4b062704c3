"""GGUF files: loaded weights equal the written ones; unsupported files are refused by name."""

from __future__ import annotations

import hashlib
import re

import pytest
import tiny
import tiny_gguf
import torch
import windowed
from gguf import GGMLQuantizationType as Kind
from tiny_gguf import SIZE, sentencepiece_facts, sentencepiece_ids, words, write
from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from specviz import engine
from specviz.catalog import Unsuitable, load, load_drafter, load_target, loading
from specviz.catalog.entry import find, weights_path
from specviz.drafters.suffix import Suffix
from specviz.models.gguf.tokenizer import PRE_TOKENIZERS
from specviz.models.memory import ModelCache
from specviz.settings.settings import Sampling, Settings

IDS = torch.tensor([[5, 90, 17, 4, 250, 33, 33, 8, 120, 61, 7, 200, 31, 99, 3, 12, 77, 270]])
GREEDY = Settings(Sampling(temperature=0), max_new_tokens=40)
TEXTS = [
    "In 2024 he paid 1234567890 for it.",
    "def f(x):\n    0\n        12 + x\n\n\n  7",
    "it's they'll IT'S ½ ² ١٢٣ é 🦊 \t tab  two   three",
    "<|im_start|>user\n42<|im_end|>\n<|endoftext|>",
    "",
]
SIZES = {
    "vocab_size": words().get_vocab_size(), "hidden_size": 64, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
# Every sixth layer has no window. Norms differ, so that swapping them is noticed.
GEMMA = {"num_hidden_layers": 7, "sliding_window_pattern": 6, "head_dim": 32}


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
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


MAKE = {
    "llama": tiny_gguf.llama, "mistral": mistral, "qwen2": qwen2, "qwen3": qwen3, "gemma3": gemma3,
}  # fmt: skip


def uneven(model):
    """Change norms and biases, so that mixing them up is noticed."""
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


def close(model, path, most=1e-3):
    """Assert that a file gives a model's logits; return the network that was read."""
    found = read(path).model
    torch.testing.assert_close(logits(found), logits(model), atol=most, rtol=most)
    return found


WRITTEN = [("llama", Kind.F32), ("llama", Kind.F16), *((kind, Kind.Q8_0) for kind in MAKE)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "rounding"), [*WRITTEN, ("llama", Kind.Q4_1)])
def test_loaded_network_of_each_kind_equals_the_written_network(kind, rounding, tmp_path):
    model = MAKE[kind]() if kind == "llama" else uneven(MAKE[kind]())
    path = write(tmp_path / "a.gguf", model, rounding)
    found = close(tiny_gguf.rounded(model, rounding), path, 1e-4 if kind == "llama" else 1e-3)
    assert type(found) is type(model)
    assert found.dtype is torch.float32


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKE)
def test_text_longer_than_the_sliding_window_equals_generate(kind, tmp_path):
    model = uneven(MAKE[kind]())
    target = read(write(tmp_path / "a.gguf", model))
    target.eos = ()
    assert target.max_length == (tiny.POSITIONS if kind == "llama" else windowed.CONTEXT)
    model.generation_config.eos_token_id = None
    ids = IDS[:, :5]
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=40, do_sample=False
    )
    text = out[0, 5:].tolist()
    assert assert_greedy_is_plain(target, Suffix(), ids[0].tolist()) == text


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKE)
def test_untied_and_tied_output_heads_are_distinguished(kind, tmp_path):
    for tied in (True, False):
        model = MAKE[kind](tie_word_embeddings=tied)
        found = close(model, write(tmp_path / f"{tied}.gguf", model))
        assert found.config.tie_word_embeddings is tied
    if kind == "mistral":  # without a window it is a Llama
        model = mistral(sliding_window=None)
        found = close(model, write(tmp_path / "whole.gguf", model))
        assert found.config.model_type == "llama"


LLAMA3 = {  # whose scaling a file stores as a factor for every frequency
    "rope_type": "llama3", "rope_theta": 5000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
}  # fmt: skip


def test_biases_and_scaled_rotary_embeddings_are_read(tmp_path):
    model = tiny_gguf.llama(attention_bias=True, mlp_bias=True, rope_parameters=LLAMA3)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            weight.copy_(torch.linspace(-1, 1, len(weight)))
    plain = tiny_gguf.llama().model.rotary_emb.inv_freq
    bent, _ = ROPE_INIT_FUNCTIONS["llama3"](model.config, "cpu")
    factors = plain / bent
    assert factors.max() > 2
    close(model, write(tmp_path / "a.gguf", model, more={"rope_freqs.weight": factors}), 1e-4)


STRETCHED = {
    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
TURNS = {
    "full_attention": {"rope_type": "default", "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
}
CHANGES = {
    "stretched": {"rope_parameters": STRETCHED},
    "capped": {"final_logit_softcapping": 5.0},
    "27b": {"num_hidden_layers": 62, "query_pre_attn_scalar": 16, "intermediate_size": 32},
    "no window": {"layer_types": ["full_attention"] * 7},
    "other windows and angles": {"sliding_window_pattern": 2, "rope_parameters": TURNS},
}
OTHER = {"gemma3.attention.sliding_window_pattern": 2, "gemma3.rope.freq_base_swa": 500.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [pytest.param(c, marks=pytest.mark.nightly) if c == "27b" else c for c in CHANGES]
)
def test_gemma_3_values_and_their_defaults_are_read(change, tmp_path):
    model = uneven(gemma3(**CHANGES[change]))
    facts = OTHER if change.startswith("other") else None
    close(model, write(tmp_path / "a.gguf", model, facts=facts), 2e-3)
    usual = gemma3(**{k: v for k, v in CHANGES[change].items() if "layers" in k or "size" in k})
    assert (logits(uneven(usual)) - logits(model)).abs().max() > 0.1  # so the change is detected


# Tokenizers.


def written(folder, facts=None, model=None):
    return read(write(folder / "a.gguf", model or tiny_gguf.llama(), facts=facts))


def test_text_is_tokenized_as_by_the_original_tokenizer(tmp_path):
    found = written(tmp_path).tokenizer
    for text in TEXTS:
        ids = words().encode(text).ids
        assert found(text).input_ids == ids
        assert found.decode(ids) == words().decode(ids, skip_special_tokens=False)
    assert found.get_vocab() == words().get_vocab()


CUT = {
    "gpt-2": ["It", "'", "S", "Ġ12345", "Ġit", "'s", "Ċ"],
    "smollm": ["It", "'", "S", "Ġ", "1", "2", "3", "4", "5", "Ġit", "'s", "Ċ"],
    "llama-bpe": ["It", "'S", "Ġ", "123", "45", "Ġit", "'s", "Ċ"],
    "qwen2": ["It", "'S", "Ġ", "1", "2", "3", "4", "5", "Ġit", "'s", "Ċ"],
}


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_each_pre_tokenizer_splits_text_as_expected(name, tmp_path):
    found = written(tmp_path, {"tokenizer.ggml.pre": name}).tokenizer
    cut = found.backend_tokenizer.pre_tokenizer.pre_tokenize_str("It'S 12345 it's\n")
    assert [piece for piece, _ in cut] == CUT[name]


def test_end_tokens_chat_template_hash_and_size_are_read(tmp_path):
    target, path = written(tmp_path), tmp_path / "a.gguf"
    assert target.eos == (2,)
    assert target.tokenizer.chat_template == tiny_gguf.TEMPLATE
    tokens = (target.tokenizer.bos_token, target.tokenizer.eos_token, target.tokenizer.pad_token)
    assert tokens == (tiny_gguf.START, tiny_gguf.STOP, tiny_gguf.STOP)
    assert target.tokenizer.decode([2, 1], skip_special_tokens=True) == ""
    card = target.card
    assert card.hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (card.name, card.bytes) == ("a.gguf", path.stat().st_size)
    assert card.parameters == sum(p.numel() for p in tiny_gguf.llama().parameters())
    loading.MODELS = ModelCache()
    facts = {"tokenizer.ggml.eot_token_id": 0, "tokenizer.ggml.add_bos_token": True}
    other = written(tmp_path, facts)
    assert other.eos == (2, 0)
    assert other.encode("42", 1) == [1, *words().encode("42").ids]


def test_user_defined_tokens_are_tokenized_as_one_token(tmp_path):
    """Control tokens are recognised as one token too, but are not text."""
    model = tiny_gguf.llama()
    facts = tiny_gguf.said(model)
    kinds, tokens = facts["tokenizer.ggml.token_type"], facts["tokenizer.ggml.tokens"]
    tokens[300], kinds[300] = "a 7 b", 4
    changed = {"tokenizer.ggml.token_type": kinds, "tokenizer.ggml.tokens": tokens}
    merges = [m for m in facts["tokenizer.ggml.merges"] if "".join(m.split()) in tokens]
    whole = [m for m in merges if set(m.split()) <= set(tokens)]
    found = written(tmp_path, changed | {"tokenizer.ggml.merges": whole}, model).tokenizer
    ids = found(f"{tiny_gguf.START}xa 7 by").input_ids
    assert (ids[0], ids[2]) == (1, 300)
    assert found.decode(ids, skip_special_tokens=True) == "xa 7 by"


SPACED = [
    "The cat sat on the mat.",
    " two  spaces   and\nlines\n\n\tand a tab ",
    "cats and dogs, é ½ 🦊 日本",
    "use. dog s, aw the s, c ge  The s, ion the ge catmat cat",
    "<s>typed</s>",
    "a",
    "   ",
    "",
]


@pytest.mark.slow
@pytest.mark.parametrize("prefix", [True, False, None], ids=["prefix", "no prefix", "unsaid"])
def test_sentencepiece_tokenizes_as_llama_cpp(prefix, tmp_path):
    facts = sentencepiece_facts() | {"tokenizer.ggml.add_space_prefix": prefix}
    tokenizer = written(tmp_path, facts, mistral(vocab_size=SIZE)).tokenizer
    for text in SPACED:
        own = sentencepiece_ids(text, prefix is not False)
        found = tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids
        assert found == own, text
        assert tokenizer.decode(found) == text
    assert tokenizer("cat").input_ids[0] == 1


@pytest.mark.slow
def test_bytes_of_sentencepiece_tokens_join_to_the_text(tmp_path):
    target = written(tmp_path, sentencepiece_facts(), mistral(vocab_size=SIZE))
    ids = target.encode("The cat é🦊\n", 1)
    assert b"".join(map(target.token_bytes, ids[1:])) == " The cat é🦊\n".encode()
    assert target.eos == (2,)
    assert any(len(target.token_bytes(token)) > 3 for token in ids[1:])
    loading.MODELS = ModelCache()  # Gemma's tokenizer has tokens of several spaces
    facts = sentencepiece_facts("  ", "   ") | {"tokenizer.ggml.add_space_prefix": False}
    tokens = written(tmp_path, facts, gemma3(vocab_size=SIZE)).tokenizer
    known = tokens.get_vocab()
    ids = tokens("cat   cat  cat", add_special_tokens=False).input_ids
    assert ids.count(known["   "]) == ids.count(known["  "]) == 1
    assert tokens.decode(ids) == "cat   cat  cat"


# Decoding.


def assert_greedy_is_plain(target, drafter, prompt):
    """Return the tokens after a text or its ids."""
    ids = target.encode(prompt, GREEDY.max_new_tokens) if isinstance(prompt, str) else prompt
    ours = [t for played in engine.rounds(target, drafter, ids, GREEDY) for t in played.tokens]
    assert ours == [step.token for step in engine.plain(target, ids, GREEDY)]
    return ours


@pytest.mark.slow
def test_gguf_files_as_target_and_drafter_give_the_text_of_plain_decoding(tmp_path):
    model = tiny_gguf.llama()
    files = [write(tmp_path / f"{kind.name}.gguf", model, kind) for kind in (Kind.F32, Kind.Q4_1)]
    target, drafter = load(*map(str, files))
    assert drafter.card.hash == hashlib.sha256(files[1].read_bytes()).hexdigest()
    assert_greedy_is_plain(target, drafter, "7 cats")
    assert_greedy_is_plain(*load(str(files[1]), "ngram"), "7 cats, 7 cats, 7 cats")


SMOLLM2 = weights_path(find("smollm2", "target"))


@pytest.mark.slow
@pytest.mark.skipif(SMOLLM2 is None, reason="smollm2 is not on this machine")
def test_smollm2_loads_decodes_and_splits_digits():
    target, drafter = load("smollm2", "ngram", "cpu")
    entry = find("smollm2", "target")
    assert (target.card.parameters, target.max_length) == (entry.parameters, entry.context)
    assert target.eos == (2,)
    ids = target.encode("x =\n    0\ny = 1234", 1)
    pieces = [target.token_bytes(token) for token in ids]
    assert b"|".join(pieces) == b"x| =|\n    |0|\n|y| =| |1|2|3|4"
    prompt = target.tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        tokenize=False,
        add_generation_prompt=True,
    )
    tokens = assert_greedy_is_plain(target, drafter, prompt)
    assert "Paris" in target.text(tokens)
    head = load_drafter("eagle3-smollm2", target)
    assert assert_greedy_is_plain(target, head, prompt) == tokens
    with pytest.raises(Unsuitable, match="'eagle3' was made for another target than 'smollm2'"):
        load_drafter("eagle3", target)


# Refusals.


def refused(path, sentence):
    with pytest.raises(Unsuitable) as problem:
        read(path)
    said = str(problem.value)
    assert said.startswith("'odd.gguf' ")
    assert re.search(sentence, said), said
    assert "\n" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "changes", "sentence"),
    [
        ("llama", {"leave": "blk.1.ffn_up.weight"}, r"lacks 1 of its weights.*layers\.1\.mlp\.up"),
        ("llama", {"leave": "output_norm.weight"}, r"lacks 1 of its weights.*model\.norm"),
        ("llama", {"more": {"blk.0.extra.weight": torch.ones(4)}}, r"Llama does not have: 'blk\.0"),
        ("llama", {"more": {"v.patch": torch.ones(4)}}, r"Llama does not have: 'v\.patch'"),
        ("llama", {"more": {"blk.2.attn_norm.weight": torch.ones(64)}}, r"weights.*layers\.2\."),
        ("llama", {"more": {"blk.1.attn_q.bias": torch.ones(64)}}, r"weights.*layers\.1.*q_proj"),
        ("llama", {"facts": {"llama.feed_forward_length": 64}}, "weights of other shapes"),
        ("llama", {"facts": {"llama.block_count": None}}, r"lacks the value llama\.block_count"),
        ("llama", {"facts": {"llama.expert_count": 8}}, r"llama\.expert_count = 8, which is not"),
        ("llama", {"facts": {"llama.rope.scaling.type": "yarn"}}, r"rope\.scaling\.type = 'yarn'"),
        ("llama", {"facts": {"llama.rope.dimension_count": 8}}, r"rope\.dimension_count = 8"),
        ("llama", {"facts": {"llama.logit_scale": 0.5}}, r"llama\.logit_scale = 0\.5"),
        ("llama", {"facts": {"tokenizer.ggml.pre": "tekken"}}, "pattern 'tekken', which is not"),
        ("llama", {"facts": {"tokenizer.ggml.pre": None}}, "pattern None"),
        ("llama", {"facts": {"tokenizer.ggml.model": "t5"}}, "tokenizer of the kind 't5'"),
        ("llama", {"facts": {"tokenizer.ggml.merges": None}}, "lacks tokens or merges"),
        ("llama", {"facts": {"tokenizer.ggml.merges": ["a"]}}, "lacks tokens or merges"),
        ("llama", {"facts": {"tokenizer.ggml.tokens": ["a"] * 400}}, "lacks tokens or merges"),
        ("llama", {"facts": {"tokenizer.ggml.eos_token_id": 1000}}, "could not be loaded"),
        ("llama", {"architecture": "phi3"},
         "architecture 'phi3'; GGUF files of these architectures can be read: 'llama', 'qwen2'"),
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
    refused(write(tmp_path / "odd.gguf", MAKE[kind](), **changes), sentence)


def test_truncated_file_or_file_of_another_format_is_refused(tmp_path):
    path = write(tmp_path / "odd.gguf", tiny_gguf.llama())
    whole = path.read_bytes()
    for part in (0, 0.00001, 0.0005, 0.01, 0.3, 0.9, 0.99):
        path.write_bytes(whole[: int(part * len(whole))])
        refused(path, "not a complete GGUF file")
    path.write_bytes(b"PK" + bytes(4000))
    refused(path, "not a complete GGUF file: it does not begin with the letters GGUF")


@pytest.mark.slow
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
    facts = sentencepiece_facts() | changes
    refused(write(tmp_path / "odd.gguf", mistral(vocab_size=SIZE), facts=facts), sentence)
