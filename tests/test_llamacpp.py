"""llama.cpp beside our own decoding: a stand-in for it, and the real wheel if installed."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import tiny_gguf
import torch

from specviz.adapters import llamacpp as adapter
from specviz.bench import llamacpp
from specviz.bench import methods as entrants
from specviz.bench.llamacpp import LlamaCppError, explain_unavailable, llama_cpp
from specviz.bench.methods import Prompt, plain_method
from specviz.catalog import load_target
from specviz.commands.cli import main
from specviz.models.gguf.header import read_gguf
from specviz.models.gguf.writer import write_gguf
from specviz.settings.settings import Sampling, Settings

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(temperature=0), max_new_tokens=16)
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
}  # fmt: skip
STAND_IN = '''
"""Answers as xllamacpp does, with what answer.json says, and notes what it was given."""
import json, os, pathlib
from types import SimpleNamespace

HERE = pathlib.Path(__file__).parent
ANSWER = json.loads((HERE / "answer.json").read_text())
if ANSWER == "import": raise ImportError("libgomp.so.1 is not here")
ggml_type = SimpleNamespace(GGML_TYPE_F32="f32")
llama_flash_attn_type = SimpleNamespace(LLAMA_FLASH_ATTN_TYPE_DISABLED="off")

class CommonParams(SimpleNamespace):
    def __init__(self):
        parts = ("model", "cpuparams", "cpuparams_batch")
        super().__init__(**{part: SimpleNamespace() for part in parts})

class Server:
    def __init__(self, params):
        print("llama.cpp prints what it likes")
        self.params = params
    def handle_completions(self, request):
        p = self.params
        told = dict(vars(p), path=p.model.path, threads=p.cpuparams.n_threads, request=request)
        told["bytes"] = os.stat(p.model.path).st_size
        (HERE / "told.json").write_text(json.dumps(told, default=str))
        if ANSWER == "abort": os.abort()
        if isinstance(ANSWER, dict): return ANSWER
        return {"choices": [{"text": ANSWER}], "timings": {"predicted_ms": 250.0}}
'''


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return a function that installs the stand-in with a given response."""
    monkeypatch.delitem(sys.modules, adapter.PACKAGE, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def install(answer):
        (tmp_path / "xllamacpp.py").write_text(STAND_IN)
        (tmp_path / "answer.json").write_text(json.dumps(answer))
        return lambda: json.loads((tmp_path / "told.json").read_text())

    return install


def prompt_of(target):
    return Prompt(tiny.PROMPT, tuple(target.encode(tiny.PROMPT, GREEDY.max_new_tokens)))


def test_llamacpp_receives_token_ids_and_a_float32_file(tiny_target, stand_in):
    told, prompt = stand_in("<7><279><0>"), prompt_of(tiny_target)
    with llama_cpp(tiny_target, GREEDY, [prompt]) as way:
        made = way.decode(prompt)
    assert (way.name, way.one_by_one, way.counterpart) == ("llama.cpp", True, None)
    assert (made.tokens, made.passes, made.text) == (3, 3, (7, 279, 0))
    assert made.speed_after_prompt == 8.0  # the prompt's pass gives the first of its 3 tokens
    asked = told()
    assert asked["request"] == {
        "prompt": list(prompt.ids), "n_predict": 16, "temperature": 0.0, "cache_prompt": False,
    }  # fmt: skip
    assert asked["n_ctx"] == len(prompt.ids) + 16
    assert asked["threads"] == torch.get_num_threads()
    assert asked["cache_type_k"] == asked["cache_type_v"] == "f32"
    assert asked["flash_attn_type"] == "off"
    assert asked["bytes"] > sum(weight.nbytes for weight in tiny_target.model.parameters())
    assert not Path(asked["path"]).parent.exists()  # nothing is left behind


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("import", "llama.cpp failed: libgomp.so.1 is not here."),
        ("abort", "llama.cpp's process ended with status -6."),
        ("Once upon <7>", "its text does not consist of the file's tokens: 'Once upon <7>'."),
        ({"error": {"message": "too long"}}, "llama.cpp failed: too long."),
    ],
)
def test_failures_of_llamacpp_raise_readable_error(tiny_target, stand_in, answer, sentence):
    stand_in(answer)
    with (
        pytest.raises(LlamaCppError) as failed,
        llama_cpp(tiny_target, GREEDY, [prompt_of(tiny_target)]),
    ):
        pass
    assert str(failed.value).endswith(sentence)


def bench(pair, monkeypatch, *options):
    monkeypatch.setattr(entrants, "prompts", lambda: {"stories": ["The cat sat"]})
    few = ["--repeats", "1", "--max-new-tokens", "4", "--drafter", "ngram", *options]
    return main(["bench", "--target", str(pair[0]), "--device", "cpu", *few])


def test_bench_has_a_llamacpp_row_and_reports_different_text(
    pair, stand_in, tmp_path, capsys, monkeypatch
):
    stand_in("<1><2>")
    path = tmp_path / "bench.json"
    assert bench(pair, monkeypatch, "--json", str(path)) == 0
    rows = {row["name"]: row for row in json.loads(path.read_text())}
    row = rows["llama.cpp"]
    assert row["same_text"] is False
    assert row["ratio_to_plain"] > 0
    assert row["ratio_to_transformers"] is None
    assert row["share_of_limit"] > 0
    assert row["limit_tokens_per_second"] == rows["plain"]["limit_tokens_per_second"] > 0
    assert rows["ngram"]["share_of_limit"] is None
    said = " ".join(capsys.readouterr().out.split())
    assert "llama.cpp wrote other tokens than plain decoding in stories." in said
    monkeypatch.setattr(adapter, "is_installed", lambda: False)
    assert bench(pair, monkeypatch, "--json", "-") == 0
    said = capsys.readouterr()
    assert "llama.cpp is left out: The package xllamacpp is not installed" in said.err
    assert "llama.cpp" not in {row["name"] for row in json.loads(said.out)}


def test_unsupported_comparisons_with_llamacpp_are_reported(tiny_target, monkeypatch):
    monkeypatch.setattr(adapter, "is_installed", lambda: True)
    assert explain_unavailable(tiny_target, GREEDY) is None
    yarn = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 2.0}
    gpu = SimpleNamespace(device=torch.device("cuda"))
    endless = SimpleNamespace(device=torch.device("cpu"), model=tiny_target.model, eos=())
    for target, settings, sentence in (
        (tiny_target, Settings(Sampling(temperature=0.5)), "only at temperature 0"),
        (tiny.target(tiny.gpt2()), GREEDY, "Only a Llama"),
        (tiny.target(tiny.llama().bfloat16()), GREEDY, "not float32"),
        (tiny.target(tiny.llama(rope_parameters=yarn)), GREEDY, "frequencies"),
        (gpu, GREEDY, "It is compared only on a CPU."),
        (endless, GREEDY, "this model has 0"),
    ):
        assert sentence in explain_unavailable(target, settings)
    monkeypatch.setattr(llamacpp.shutil, "disk_usage", lambda _: SimpleNamespace(free=99))
    assert "but only 99 are free" in explain_unavailable(tiny_target, GREEDY)


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False}, {"attention_bias": True}])
def test_written_gguf_file_equals_that_of_the_llama_cpp_converter(tmp_path, changes):
    model = tiny_gguf.llama(**changes)
    names = [adapter.token_text(id) for id in range(model.config.vocab_size)]
    write_gguf(tmp_path / "a.gguf", model, names, (2,))
    file = read_gguf(tmp_path / "a.gguf", lambda _: True)
    wanted = tiny_gguf.tensors(model)
    assert file.tensors.keys() == wanted.keys()
    for name, weight in wanted.items():
        found = np.asarray(file.data(file.tensors[name])).view("<f4").reshape(weight.shape)
        assert (found == weight.numpy()).all(), name
    for key, value in tiny_gguf.said(model).items():
        if key.startswith("llama."):
            assert file.values[key] == pytest.approx(value), key
    assert file.values["tokenizer.ggml.tokens"] == names
    assert file.values["tokenizer.ggml.eos_token_id"] == 2


wheel = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed")


def same_text(target):
    prompt = prompt_of(target)
    with llama_cpp(target, GREEDY, [prompt]) as way:
        theirs = way.decode(prompt).text
        assert way.decode(prompt).text == theirs  # its cache is not reused between calls
    assert theirs == plain_method(target, GREEDY).decode(prompt).text
    return theirs


@wheel
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": False, "head_dim": 16},
        {"attention_bias": True, "mlp_bias": True},
        {"rope_parameters": LLAMA3},
    ],
)
def test_installed_llamacpp_writes_the_same_text(changes, pair):
    model = tiny.llama(**changes)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            weight.copy_(torch.randn_like(weight))
    text = same_text(tiny.target(model))
    assert len(text) == 16
    if not changes:
        assert len(same_text(load_target(str(pair[0]), "cpu"))) == 16  # with optimized weights
        ending = tiny.target(tiny.llama(eos_token_id=[0, text[5]]))
        assert same_text(ending) == text[:6]
