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
from specviz.models.served.target import read_tokenizer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc"),
]
MOST_MEMORY = 50  # MiB
MOST_SECONDS = 2.0  # of processor time


@pytest.fixture(scope="module")
def valid_model(tmp_path_factory):
    """Save a model that loads."""
    return tiny.save(tiny.llama(), tmp_path_factory.mktemp("usual") / "model")


@pytest.fixture(scope="module")
def tried(valid_model, tmp_path_factory):
    """Load all hostile files and some mutants in one process; return the results by kind."""
    root = tmp_path_factory.mktemp("hostile")
    asked = [("mutant", way, place, "") for way, place in mutants(valid_model, root, 20)]
    for kind, (way, write, rows) in hostile.FILES.items():
        for number, (content, words) in enumerate(rows):
            asked.append((kind, way, write(root / f"{kind}-{number}", content), words))
    done = hostile.attempt(valid_model, [(way, place) for _, way, place, _ in asked])
    found = {}
    for (kind, _, place, words), result in zip(asked, done, strict=False):
        found.setdefault(kind, []).append((place.name, words, result))
    return found


def check_result(name, result):
    """Assert that the file loaded or was refused, in little time and memory."""
    assert result.said is None or "!: " not in result.said, (name, result)
    assert result.grown < MOST_MEMORY, (name, result)
    assert result.seconds < MOST_SECONDS, (name, result)


@pytest.mark.parametrize("kind", hostile.FILES)
def test_hostile_file_raises_readable_error_without_using_memory(tried, kind):
    for name, words, result in tried.get(kind, []):
        check_result(name, result)
        assert result.said is not None, f"{name} loaded"
        assert "\n" not in result.said, name
        assert len(result.said) < 400, name
        assert words in result.said, name
    assert len(tried.get(kind, [])) == len(hostile.FILES[kind][2]), "a file ended the process"


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


def mutants(valid_model, root, many):
    """Write this many mutations each of a GGUF file, a safetensors header and a config."""
    rng, places = random.Random(many), []
    whole = tiny_gguf.write(root / "whole.gguf", tiny_gguf.llama(num_hidden_layers=1)).read_bytes()
    weights = (valid_model / "model.safetensors").read_bytes()
    config = (valid_model / "config.json").read_bytes()
    head = 8 + int.from_bytes(weights[:8], "little")
    for number in range(many):
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


def check_mutants(found):
    """Assert that each loaded or was refused, and that most, but not all, were refused."""
    for name, result in found:
        check_result(name, result)
    refusals = [result for _, result in found if result.said]
    assert len(found) / 3 < len(refusals) < len(found), "mutations should break most, not all"


def test_mutated_files_either_load_or_raise_readable_error(tried):
    assert len(tried["mutant"]) == 60, "a file ended the process"
    check_mutants([(name, result) for name, _, result in tried["mutant"]])


@pytest.mark.nightly
def test_more_mutated_files_either_load_or_raise_readable_error(valid_model, tmp_path):
    places = mutants(valid_model, tmp_path, 80)
    found = hostile.attempt(valid_model, places)
    assert len(found) == len(places), found[-1].said
    check_mutants([(place.name, each) for (_, place), each in zip(places, found, strict=True)])


def test_all_weights_stored_in_a_file_are_counted(valid_model, tmp_path):
    model = tiny.llama()
    every = StoredWeights(sum(p.numel() for p in model.parameters()), len(list(model.parameters())))
    assert count_stored("x", files.weight_files(valid_model)) == every
    shards = tiny.save(model, tmp_path / "shards", max_shard_size="60KB")
    assert count_stored("x", files.weight_files(shards)) == every
    packed = count_stored("x", files.weight_files(valid_model), quantized=True)
    assert packed.elements > every.elements
    for number, new in enumerate((True, False)):
        place = tmp_path / f"{number}.bin"
        torch.save(model.state_dict(), place, _use_new_zipfile_serialization=new)
        assert count_tensors("x", place) >= len(model.state_dict()) - 1


def test_safetensors_header_is_read_as_written(valid_model):
    header = read_header("x", valid_model / "model.safetensors")
    for name, weight in tiny.llama().named_parameters():
        found = header[name]
        assert (found.shape, found.bytes, found.floating) == (weight.shape, weight.nbytes, True)


def test_published_configs_pass_the_limits_on_numbers():
    for config in (
        {"vocab_size": 262_208, "hidden_size": 5376, "sliding_window": 1024},
        {"max_position_embeddings": 10_485_760, "num_hidden_layers": 126, "head_dim": 256},
        {"num_local_experts": 512, "moe_layer_freq": [0, 1], "no_rope_layers": [1, 0]},
        {"sliding_window": 2**31 - 1, "attention_window_size": 1 << 24, "rope_theta": 1e9},
        {"text_config": {"intermediate_size": 53_248}, "vision_config": {"image_size": 896}},
        {"layer_norm_epsilon": 1e-5, "initializer_range": 0.02, "eos_token_id": [1, 106]},
    ):
        check_numbers("x", config, StoredWeights(1000, 10))


def test_size_in_float32_refuses_an_oversized_header(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(hostile.ENDLESS)
    with pytest.raises(Unsuitable, match="header is longer than the file"):
        files.size_in_float32([tmp_path / "model.safetensors"])


def test_tokenizer_folder_for_a_served_target_is_checked(tmp_path):
    with pytest.raises(Unsuitable, match="num_labels, which is too large"):
        read_tokenizer(hostile.edited(tmp_path / "labels", {"num_labels": 10**9}))
    with pytest.raises(Unsuitable, match=r"its tokenizer\.json has 1,073,741,824 bytes"):
        read_tokenizer(hostile.with_text(tmp_path / "long", "tokenizer.json"))


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
    with pytest.raises(Unsuitable, match=hostile.LARGER):
        check_size("untied", config, LlamaForCausalLM, held)
