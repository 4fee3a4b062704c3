"""GGUF files: loaded weights equal the written ones; unsupported files are refused by name."""

import hashlib
import re

import pytest
import tiny
import tiny_gguf
import torch
from gguf import GGMLQuantizationType as Kind
from tiny_gguf import words, write
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from specviz import engine
from specviz.catalog import Unsuitable, load, load_drafter, load_target, loading
from specviz.catalog.entry import find, weights_path
from specviz.models.gguf.tokenizer import PRE_TOKENIZERS
from specviz.models.memory import ModelCache
from specviz.settings.settings import Sampling, Settings

IDS = torch.tensor([[5, 90, 17, 4, 250, 33, 33, 8, 120, 61]])
GREEDY = Settings(Sampling(temperature=0), max_new_tokens=24)
TEXTS = [
    "In 2024 he paid 1234567890 for it.",
    "def f(x):\n    0\n        12 + x\n\n\n  7",
    "it's they'll IT'S ½ ² ١٢٣ é 🦊 \t tab  two   three",
    "<|im_start|>user\n42<|im_end|>\n<|endoftext|>",
    "",
]


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Empty the model cache, so that no test uses a model that another one loaded."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())


def logits(model):
    with torch.inference_mode():
        return model(IDS).logits


def read(path):
    return load_target(str(path), "cpu")


def close(model, path):
    """Assert that a file gives a model's logits."""
    torch.testing.assert_close(logits(read(path).model), logits(model), atol=1e-4, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Kind.F32, Kind.F16, Kind.Q8_0, Kind.Q4_1], ids=lambda k: k.name)
def test_loaded_llama_equals_the_written_network(kind, tmp_path):
    model = tiny_gguf.llama()
    path = write(tmp_path / "a.gguf", model, kind)
    found = read(path)
    assert found.dtype is torch.float32
    close(tiny_gguf.rounded(model, kind), path)


def test_logits_depend_on_the_order_of_attention_rows(tmp_path):
    """Check the test above: without reordering the rows, the network would differ."""
    model = tiny_gguf.llama()
    mixed = tiny_gguf.rounded(model, Kind.F32)
    weight = mixed.model.layers[0].self_attn.k_proj.weight
    weight.copy_(tiny_gguf.permuted(weight, 2))
    assert (logits(mixed) - logits(model)).abs().max() > 0.1


def test_biases_and_untied_output_head_are_read(tmp_path):
    model = tiny_gguf.llama(attention_bias=True, mlp_bias=True, tie_word_embeddings=False)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            weight.copy_(torch.linspace(-1, 1, len(weight)))
    path = write(tmp_path / "a.gguf", model)
    close(model, path)
    assert not read(path).model.config.tie_word_embeddings


def test_scaled_rotary_embeddings_are_read(tmp_path):
    """Llama 3.1's scaling, which a file stores as a factor for every frequency."""
    stretch = {
        "rope_type": "llama3",
        "rope_theta": 5000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    model = tiny_gguf.llama(rope_parameters=stretch)
    plain = tiny_gguf.llama().model.rotary_emb.inv_freq
    bent, _ = ROPE_INIT_FUNCTIONS["llama3"](model.config, "cpu")
    factors = plain / bent
    assert factors.max() > 2
    close(model, write(tmp_path / "a.gguf", model, more={"rope_freqs.weight": factors}))


def test_text_is_tokenized_as_by_the_original_tokenizer(tmp_path):
    found = read(write(tmp_path / "a.gguf", tiny_gguf.llama())).tokenizer
    for text in TEXTS:
        ids = words().encode(text).ids
        assert found(text).input_ids == ids
        assert found.decode(ids) == words().decode(ids, skip_special_tokens=False)
    assert found.get_vocab() == words().get_vocab()


def test_texts_of_this_test_reveal_a_tokenizer_that_keeps_digits_together(tmp_path):
    """Check the test above: a tokenizer that does not split numbers gives other tokens."""
    facts = {"tokenizer.ggml.pre": "gpt-2"}
    found = read(write(tmp_path / "a.gguf", tiny_gguf.llama(), facts=facts)).tokenizer
    assert any(found(text).input_ids != words().encode(text).ids for text in TEXTS)


CUT = {
    "gpt-2": ["It", "'", "S", "Ġ12345", "Ġit", "'s", "Ċ"],
    "smollm": ["It", "'", "S", "Ġ", "1", "2", "3", "4", "5", "Ġit", "'s", "Ċ"],
    "llama-bpe": ["It", "'S", "Ġ", "123", "45", "Ġit", "'s", "Ċ"],
    "qwen2": ["It", "'S", "Ġ", "1", "2", "3", "4", "5", "Ġit", "'s", "Ċ"],
}


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_each_pre_tokenizer_splits_text_as_expected(name, tmp_path):
    facts = {"tokenizer.ggml.pre": name}
    found = read(write(tmp_path / "a.gguf", tiny_gguf.llama(), facts=facts)).tokenizer
    cut = found.backend_tokenizer.pre_tokenizer.pre_tokenize_str("It'S 12345 it's\n")
    assert [piece for piece, _ in cut] == CUT[name]


def test_end_tokens_and_chat_template_are_read(tmp_path):
    target = read(write(tmp_path / "a.gguf", tiny_gguf.llama()))
    assert target.eos == (2,)
    assert target.max_length == tiny.POSITIONS
    assert target.tokenizer.chat_template == tiny_gguf.TEMPLATE
    tokens = (target.tokenizer.bos_token, target.tokenizer.eos_token, target.tokenizer.pad_token)
    assert tokens == (tiny_gguf.START, tiny_gguf.STOP, tiny_gguf.STOP)
    assert target.tokenizer.decode([2, 1], skip_special_tokens=True) == ""


def test_user_defined_tokens_are_tokenized_as_one_token(tmp_path):
    """Control tokens are recognised as one token too, but are not text."""
    model = tiny_gguf.llama()
    facts = tiny_gguf.said(model)
    kinds, tokens = facts["tokenizer.ggml.token_type"], facts["tokenizer.ggml.tokens"]
    tokens[300], kinds[300] = "a 7 b", 4
    changed = {"tokenizer.ggml.token_type": kinds, "tokenizer.ggml.tokens": tokens}
    merges = [m for m in facts["tokenizer.ggml.merges"] if "".join(m.split()) in tokens]
    whole = [m for m in merges if set(m.split()) <= set(tokens)]
    path = write(tmp_path / "a.gguf", model, facts=changed | {"tokenizer.ggml.merges": whole})
    found = read(path).tokenizer
    ids = found(f"{tiny_gguf.START}xa 7 by").input_ids
    assert (ids[0], ids[2]) == (1, 300)
    assert found.decode(ids, skip_special_tokens=True) == "xa 7 by"


def test_several_end_tokens_and_a_start_token_are_read(tmp_path):
    facts = {"tokenizer.ggml.eot_token_id": 0, "tokenizer.ggml.add_bos_token": True}
    target = read(write(tmp_path / "a.gguf", tiny_gguf.llama(), facts=facts))
    assert target.eos == (2, 0)
    assert target.encode("42", 1) == [1, *words().encode("42").ids]


def test_model_card_has_hash_and_size_of_the_file(tmp_path):
    path = write(tmp_path / "a.gguf", tiny_gguf.llama(), Kind.Q8_0)
    card = read(path).card
    assert card.hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert card.bytes == path.stat().st_size
    assert card.name == "a.gguf"
    assert card.parameters == sum(p.numel() for p in tiny_gguf.llama().parameters())


@pytest.mark.slow
def test_gguf_target_gives_the_text_of_plain_decoding(tmp_path):
    target, drafter = load(str(write(tmp_path / "a.gguf", tiny_gguf.llama(), Kind.Q4_1)), "ngram")
    assert_greedy_is_plain(target, drafter, "7 cats, 7 cats, 7 cats")


@pytest.mark.slow
def test_gguf_file_can_be_a_drafter(tmp_path):
    model = tiny_gguf.llama()
    files = [write(tmp_path / f"{kind.name}.gguf", model, kind) for kind in (Kind.F32, Kind.Q4_1)]
    target, drafter = load(*map(str, files))
    assert drafter.card.hash == hashlib.sha256(files[1].read_bytes()).hexdigest()
    assert_greedy_is_plain(target, drafter, "7 cats")


def assert_greedy_is_plain(target, drafter, prompt):
    ids = target.encode(prompt, GREEDY.max_new_tokens)
    ours = [t for played in engine.rounds(target, drafter, ids, GREEDY) for t in played.tokens]
    assert ours == [step.token for step in engine.plain(target, ids, GREEDY)]
    return ours


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"leave": "blk.1.ffn_up.weight"}, r"lacks 1 of its weights.*layers\.1\.mlp\.up_proj"),
        ({"leave": "output_norm.weight"}, r"lacks 1 of its weights.*model\.norm"),
        ({"more": {"blk.0.extra.weight": torch.ones(4)}}, r"Llama does not have: 'blk\.0\.extra"),
        ({"more": {"v.patch": torch.ones(4)}}, r"Llama does not have: 'v\.patch'"),
        ({"more": {"blk.2.attn_norm.weight": torch.ones(64)}}, r"more weights.*layers\.2\.input"),
        ({"more": {"blk.1.attn_q.bias": torch.ones(64)}}, r"more weights.*layers\.1.*q_proj\.bias"),
        ({"facts": {"llama.feed_forward_length": 64}}, "weights of other shapes"),
        ({"facts": {"llama.block_count": None}}, r"lacks the value llama\.block_count"),
        ({"facts": {"llama.expert_count": 8}}, r"llama\.expert_count = 8, which is not supported"),
        ({"facts": {"llama.rope.scaling.type": "yarn"}}, r"rope\.scaling\.type = 'yarn'"),
        ({"facts": {"llama.rope.dimension_count": 8}}, r"rope\.dimension_count = 8"),
        ({"facts": {"llama.logit_scale": 0.5}}, r"llama\.logit_scale = 0\.5"),
        ({"facts": {"tokenizer.ggml.pre": "tekken"}}, "pattern 'tekken', which is not supported"),
        ({"facts": {"tokenizer.ggml.pre": None}}, "pattern None"),
        ({"facts": {"tokenizer.ggml.model": "t5"}}, "tokenizer of the kind 't5'"),
        ({"facts": {"tokenizer.ggml.merges": None}}, "lacks tokens or merges"),
        ({"facts": {"tokenizer.ggml.merges": ["a"]}}, "lacks tokens or merges"),
        ({"facts": {"tokenizer.ggml.tokens": ["a"] * 400}}, "lacks tokens or merges"),
        ({"facts": {"tokenizer.ggml.eos_token_id": 1000}}, "could not be loaded"),
        (
            {"architecture": "phi3"},
            "architecture 'phi3'; GGUF files of these architectures can be read: 'llama', 'qwen2'",
        ),
    ],
)
def test_unsupported_contents_raise_readable_error(changes, sentence, tmp_path):
    path = write(tmp_path / "odd.gguf", tiny_gguf.llama(), **changes)
    refused(path, sentence)


def refused(path, sentence):
    with pytest.raises(Unsuitable) as problem:
        read(path)
    said = str(problem.value)
    assert said.startswith("'odd.gguf' ")
    assert re.search(sentence, said), said
    assert "\n" not in said


@pytest.mark.parametrize("part", [0, 0.00001, 0.0005, 0.01, 0.3, 0.9, 0.99])
def test_truncated_file_is_refused(part, tmp_path):
    path = write(tmp_path / "odd.gguf", tiny_gguf.llama())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    refused(path, "not a complete GGUF file")


def test_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "odd.gguf"
    path.write_bytes(b"PK" + bytes(4000))
    refused(path, "not a complete GGUF file: it does not begin with the letters GGUF")


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
    assert pieces == [b"x", b" =", b"\n    ", b"0", b"\n", b"y", b" =", b" ", *b1234()]
    prompt = target.tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        tokenize=False,
        add_generation_prompt=True,
    )
    tokens = assert_greedy_is_plain(target, drafter, prompt)
    assert "Paris" in target.text(tokens)
    for name in ("eagle3-smollm2", "dspark-smollm2"):
        assert assert_greedy_is_plain(target, load_drafter(name, target), prompt) == tokens
    with pytest.raises(Unsuitable, match="'eagle3' was made for another target than 'smollm2'"):
        load_drafter("eagle3", target)


def b1234():
    """Digits are split one by one."""
    return [b"1", b"2", b"3", b"4"]
