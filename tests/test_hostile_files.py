"""Model files that announce more than they hold are refused at once, without using memory."""

from __future__ import annotations

import json
import random
import struct
import sys

import hostile
import pytest
import tiny
import tiny_gguf
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.models import files
from specviz.models.errors import Unsuitable
from specviz.models.file_checks import (
    StoredWeights,
    check_numbers,
    count_stored,
    count_tensors,
    read_header,
)
from specviz.models.load_control import SLACK, check_size

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc"),
]
MOST_MEMORY = 50  # MiB
MOST_SECONDS = 2.0  # of processor time
MUTANTS = 80  # of each kind
NAMES = [
    *(f"gguf: {name}" for name in hostile.GGUF),
    *(f"config: {name}" for name in hostile.CONFIGS),
    *(f"header: {name}" for name in hostile.HEADERS),
    *(f"pickle: {name}" for name in hostile.PICKLED),
    *(f"index: {name}" for name in hostile.INDEXES),
    *(f"head: {name}" for name in hostile.HEADS_SAY),
    *(f"medusa: {name}" for name in hostile.MEDUSA_SAYS),
    "words: tokenizer.json",
    "words: config.json",
    "words: generation_config.json",
]


LARGER = "describes a larger network than its weight files hold"
# A part of each error message, which shows that the intended check refuses the file.
SAYS = {
    "gguf: array of 2^50 numbers": "an array of 1,125,899,906,842,624 items",
    "gguf: array of 2^50 texts": "an array of 1,125,899,906,842,624 items",
    "gguf: array of 2^50, skipped": "announces 4,503,599,627,370,496 bytes but only 0 are left",
    "gguf: nested arrays": "an array of arrays",
    "gguf: text of 2^50": "announces 1,125,899,906,842,624 bytes but only 0 are left",
    "gguf: text of 2^64 - 1": "announces 18,446,744,073,709,551,615 bytes",
    "gguf: key of 2^50": "a name of 1,125,899,906,842,624 bytes",
    "gguf: 2^60 values": "announces 1,152,921,504,606,846,976 values",
    "gguf: 2^60 tensors": "announces 1,152,921,504,606,846,976 tensors",
    "gguf: 2^31 dimensions": "has 2,147,483,648 dimensions",
    "gguf: no dimension": "has 0 dimensions",
    "gguf: dimensions of 2^60": "ends beyond the end of the file",
    "gguf: a dimension of 0": "has a dimension of 0",
    "gguf: offset past the end": "ends beyond the end of the file",
    "gguf: offset of 2^64 - 1": "ends beyond the end of the file",
    "gguf: an unknown type": "is of type 77, which is not known",
    "gguf: tensors over each other": "overlaps another tensor",
    "gguf: alignment of 0": "its alignment is 0",
    "gguf: alignment of 3": "its alignment is 3",
    "gguf: alignment of 2^31": "its alignment is 2147483648",
    "gguf: a key twice": "has the key 'general.architecture' twice",
    "gguf: a million layers": "block_count = 1000000, which is not possible for Llama",
    "gguf: 9999 layers": LARGER,
    "gguf: no layer": "block_count = 0, which is not possible for Llama",
    "gguf: width of 2^30": LARGER,
    "gguf: width of 2^62": "embedding_length = 4611686018427387904, which is not possible",
    "gguf: inner width of 10^9": LARGER,
    "gguf: vocabulary of 10^12": LARGER,
    "gguf: no attention head": "head_count = 0, which is not possible for Llama",
    "gguf: head size of 10^9": LARGER,
    "config: a million layers": "says 1,000,000 for num_hidden_layers, which is too large",
    "config: 9999 layers": LARGER,
    "config: 9999 thin layers": LARGER,
    "config: 10^9 labels": "says 1,000,000,000 for num_labels, which is too large",
    "config: vocabulary of 10^30": "has a number for vocab_size that is too large",
    "config: inner width of 10^9": "says 1,000,000,000 for intermediate_size, which is too large",
    "config: head size of 10^5": LARGER,
    "config: positions of 10^15": "max_position_embeddings, which is too large",
    "config: a table of positions": LARGER,
    "config: a mask of positions": LARGER,
    "config: 9999 experts": LARGER,
    "config: weights elsewhere": "names its weight file in its config",
    "header: a header of 2^60": "its header is longer than the file",
    "header: a header of 10 GB": "its header is longer than the file",
    "header: deep JSON": "its header is not valid JSON",
    "header: a shape of 10^12": "its header announces more bytes than the file has",
    "header: a shape that is too large": "the shape of 'model.norm.weight' does not fit its bytes",
    "header: offsets past the end": "its header announces more bytes than the file has",
    "header: a negative shape": "its header does not describe 'model.norm.weight'",
    "header: an unknown dtype": "its header does not describe 'model.norm.weight'",
    "index: a million shards": "has more than 16,777,216 bytes",
    "index: a shard above": "names a file outside the folder",
    "index: a shard at the root": "names a file outside the folder: '/etc/hostname'",
    "index: a shard in a folder": "names a file outside the folder",
    "index: deep": "is damaged: it lists no files",
    "head: inner width of 10^9": "says 1,000,000,000 for intermediate_size, which is too large",
    "head: inner width of 4 M": LARGER,
    "head: head size of 10^9": "says 1,000,000,000 for head_dim, which is too large",
    "medusa: 10^9 heads": "medusa_num_heads, which is too large",
    "medusa: 9999 heads": LARGER,
    "words: tokenizer.json": "its tokenizer.json has 1,073,741,824 bytes",
    "words: generation_config.json": "its generation_config.json has 1,073,741,824 bytes",
} | {f"pickle: {way}": words for way, words in hostile.PICKLED.items()}


@pytest.fixture(scope="module")
def valid_model(tmp_path_factory):
    """Save a model that loads."""
    return tiny.save(tiny.llama(), tmp_path_factory.mktemp("usual") / "model")


def gguf(place, what):
    place = place.with_suffix(".gguf")
    place.write_bytes(hostile.GGUF[what])
    return place


def header(place, what):
    tiny.save(tiny.llama(), place)
    (place / "model.safetensors").write_bytes(hostile.HEADERS[what])
    return place


MADE = {
    "gguf": gguf,
    "header": header,
    "config": lambda place, what: hostile.edited(place, **hostile.CONFIGS[what]),
    "head": lambda place, what: hostile.head(place, **hostile.HEADS_SAY[what]),
    "medusa": lambda place, what: hostile.medusa(place, **hostile.MEDUSA_SAYS[what]),
    "pickle": hostile.pickled,
    "index": lambda place, what: hostile.listed(place, hostile.INDEXES[what]),
    "words": lambda place, what: hostile.with_text(place, what, 1 << 30),
}


def made(name, place):
    """Write the hostile file of a name; return how to load it and its path."""
    kind, _, what = name.partition(": ")
    return "drafter" if kind in ("head", "medusa") else "target", MADE[kind](place, what)


@pytest.fixture(scope="module")
def tried(valid_model, tmp_path_factory):
    """Load each hostile file, all in one process; return the results by name."""
    root = tmp_path_factory.mktemp("hostile")
    places = [made(name, root / str(number)) for number, name in enumerate(NAMES)]
    return dict(zip(NAMES, hostile.attempt(valid_model, places), strict=False))


@pytest.mark.parametrize("name", NAMES)
def test_hostile_file_raises_readable_error_without_using_memory(tried, name):
    assert name in tried, f"an earlier file ended the process: {list(tried.values())[-1].said}"
    said, grown, seconds = tried[name].said, tried[name].grown, tried[name].seconds
    assert said is not None, "it loaded"
    assert "!: " not in said, "neither Unsuitable nor NotAvailable"
    assert "\n" not in said
    assert len(said) < 400
    assert grown < MOST_MEMORY
    assert seconds < MOST_SECONDS
    assert SAYS.get(name, "") in said


def mutated(data, rng, most):
    """Change, remove or insert some of the first `most` bytes."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(min(len(found), most))
        way = rng.randrange(4)
        if way == 0:
            found[at] = rng.randrange(256)
        elif way == 1:
            found[at : at + 8] = struct.pack("<Q", rng.choice([0, 1, 1 << 31, 1 << 50, 2**64 - 1]))
        elif way == 2:
            del found[at : at + rng.randint(1, 9)]
        else:
            found[at:at] = rng.randbytes(rng.randint(1, 9))
    return bytes(found)


def mutated_config(data, rng):
    """Change some values of a config to other sizes and types."""
    config = json.loads(data)
    strange = [0, -1, 1, 3, 10**4, 10**6, 10**9, 10**13, 2**70, 0.5, 1e9, None, "7", "", [], {}]
    for _ in range(rng.randint(1, 3)):
        config[rng.choice(sorted(config))] = rng.choice([*strange, True, [10**9], {"a": 10**9}])
    return json.dumps(config).encode()


@pytest.fixture(scope="module")
def mutants(valid_model, tmp_path_factory):
    """Yield random mutations of a GGUF file, a safetensors header and a config."""
    root, rng, places = tmp_path_factory.mktemp("mutants"), random.Random(5), []
    whole = tiny_gguf.write(root / "whole.gguf", tiny_gguf.llama(num_hidden_layers=1)).read_bytes()
    weights = (valid_model / "model.safetensors").read_bytes()
    config = (valid_model / "config.json").read_bytes()
    head = 8 + int.from_bytes(weights[:8], "little")
    for number in range(MUTANTS):
        place = root / f"{number}.gguf"
        place.write_bytes(mutated(whole, rng, rng.choice([64, 2000, len(whole)])))
        places.append(("target", place))
        for name, text in (
            ("model.safetensors", mutated(weights, rng, head)),
            ("config.json", mutated_config(config, rng)),
        ):
            folder = root / f"{number}-{name}"
            folder.mkdir()
            for each in valid_model.iterdir():
                (folder / each.name).symlink_to(each)
            (folder / name).unlink()
            (folder / name).write_bytes(text)
            places.append(("target", folder))
    return places


def test_mutated_files_either_load_or_raise_readable_error(valid_model, mutants):
    found = hostile.attempt(valid_model, mutants)
    assert len(found) == len(mutants), found[-1].said
    for (_, place), each in zip(mutants, found, strict=True):
        assert each.said is None or "!: " not in each.said, (place.name, each.said)
        assert each.grown < MOST_MEMORY, (place.name, each)
        assert each.seconds < MOST_SECONDS, (place.name, each)
    refusals = [each.said for each in found if each.said]
    assert len(found) / 3 < len(refusals) < len(found), "mutations should break most, not all"


def test_all_weights_stored_in_a_file_are_counted(valid_model, tmp_path):
    model = tiny.llama()
    every = StoredWeights(sum(p.numel() for p in model.parameters()), len(list(model.parameters())))
    assert count_stored("x", files.weight_files(valid_model)) == every
    shards = tiny.save(model, tmp_path / "shards", max_shard_size="60KB")
    assert count_stored("x", files.weight_files(shards)) == every
    packed = count_stored("x", files.weight_files(valid_model), quantized=True)
    assert packed.elements > every.elements


def test_all_tensors_in_a_pickled_file_are_counted(tmp_path):
    import torch

    state = tiny.llama().state_dict()
    for number, new in enumerate((True, False)):
        place = tmp_path / f"{number}.bin"
        torch.save(state, place, _use_new_zipfile_serialization=new)
        assert count_tensors("x", place) >= len(state) - 1


def test_safetensors_header_is_read_as_written(valid_model):
    header = read_header("x", valid_model / "model.safetensors")
    for name, weight in tiny.llama().named_parameters():
        assert header[name].shape == tuple(weight.shape)
        assert header[name].bytes == weight.nbytes
        assert header[name].floating


@pytest.mark.parametrize(
    "config",
    [
        {"vocab_size": 262_208, "hidden_size": 5376, "sliding_window": 1024},
        {"max_position_embeddings": 10_485_760, "num_hidden_layers": 126, "head_dim": 256},
        {"num_local_experts": 512, "moe_layer_freq": [0, 1], "no_rope_layers": [1, 0]},
        {"sliding_window": 2**31 - 1, "attention_window_size": 1 << 24, "rope_theta": 1e9},
        {"text_config": {"intermediate_size": 53_248}, "vision_config": {"image_size": 896}},
        {"layer_norm_epsilon": 1e-5, "initializer_range": 0.02, "eos_token_id": [1, 106]},
    ],
)
def test_published_configs_pass_the_limits_on_numbers(config):
    check_numbers("x", config, StoredWeights(1000, 10))


def test_size_in_float32_refuses_an_oversized_header(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(hostile.HEADERS["a header of 2^60"])
    with pytest.raises(Unsuitable, match="header is longer than the file"):
        files.size_in_float32([tmp_path / "model.safetensors"])


def test_tokenizer_folder_for_a_served_target_is_checked(tmp_path):
    from specviz.models.served.target import read_tokenizer

    with pytest.raises(Unsuitable, match="num_labels, which is too large"):
        read_tokenizer(hostile.edited(tmp_path / "labels", num_labels=10**9))
    with pytest.raises(Unsuitable, match=r"its tokenizer\.json has 1,073,741,824 bytes"):
        read_tokenizer(hostile.with_text(tmp_path / "long", "tokenizer.json", 1 << 30))


def test_large_tied_output_head_is_counted_once():
    """SmolLM2's embeddings have 28 M numbers, which a file stores once."""
    config = LlamaConfig(
        vocab_size=SLACK // 64 + 64,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=1,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        stored = LlamaForCausalLM(config).model
    held = StoredWeights(sum(weight.numel() for weight in stored.parameters()), 11)
    check_size("tied", config, LlamaForCausalLM, held)
    config.tie_word_embeddings = False
    with pytest.raises(Unsuitable, match=LARGER):
        check_size("untied", config, LlamaForCausalLM, held)
