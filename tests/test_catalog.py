"""Models in transformers' folder layout: loading, refusals, and shared weights."""

import errno
import hashlib
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import huggingface_hub
import pytest
import tiny
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file, save_file
from test_engine import traced
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    FalconConfig,
    FalconForCausalLM,
    Lfm2Config,
    MambaConfig,
    MambaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from specviz import engine
from specviz.catalog import (
    NotAvailable,
    Unsuitable,
    entry,
    listing,
    load,
    load_drafter,
    load_target,
    loading,
    sources,
)
from specviz.catalog.entry import with_defaults
from specviz.drafters.medusa import Medusa
from specviz.models import checkpoint, files
from specviz.models.checkpoint import check_config, check_made_for
from specviz.models.devices import NotEnoughMemory
from specviz.models.errors import DiskFull
from specviz.models.memory import ModelCache
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check

DRAFTERS = [entry for entry in entry.entries() if entry.kind == "drafter"]
GREEDY = Settings(Sampling(temperature=0), max_new_tokens=24)
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Empty the model cache, so that no test uses a model that another one loaded."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    monkeypatch.setattr(loading, "HEADS", ModelCache())


@pytest.mark.slow
@pytest.mark.parametrize("network", [tiny.llama, tiny.gpt2, tiny.neox])
def test_target_and_drafter_loaded_from_folders_decode_exactly(network, tmp_path):
    model = network()
    big = tiny.save(model, tmp_path / "big")
    small = tiny.save(tiny.blurred(model), tmp_path / "small")
    target, drafter = load(str(big), str(small))
    ids = target.encode(tiny.PROMPT, 24)
    ours = [t for played in engine.rounds(target, drafter, ids, GREEDY) for t in played.tokens]
    assert ours == [step.token for step in engine.plain(target, ids, GREEDY)]


def test_model_cards_have_hash_and_size_and_do_not_reveal_parent_folders(pair):
    big, small = pair
    target = load_target(str(big))
    card, data = target.card, (big / "model.safetensors").read_bytes()
    assert card.hash == hashlib.sha256(data).hexdigest()
    assert card.bytes == len(data)
    assert card.parameters == sum(p.numel() for p in tiny.llama().parameters())
    assert (card.name, card.family) == ("big", "causal-lm")
    card = load_drafter(str(small), target).card
    assert (card.name, card.family) == ("small", "draft-model")
    assert load(str(big), "ngram")[1].card.family == "ngram"  # which fits any target
    again, drafter = load(str(big), str(big))
    assert again.model is drafter.model is target.model, "one copy of the weights"
    assert target.dtype is torch.float32
    assert load_target(str(big), "cpu", "bfloat16").dtype is torch.bfloat16


def test_sharded_or_pickled_checkpoint_loads_like_a_single_file(tmp_path):
    model = tiny.llama()
    pickled(tiny.save(model, tmp_path / "pickled"), model.state_dict())
    same_weights(load_target(str(tmp_path / "pickled")).model, model)
    folder = tiny.save(model, tmp_path / "shards", max_shard_size="60KB")
    shards = sorted(folder.glob("*.safetensors"))
    assert len(shards) > 2
    target = load_target(str(folder))
    same_weights(target.model, model)
    whole = b"".join(path.read_bytes() for path in shards)
    assert target.card.hash == hashlib.sha256(whole).hexdigest()
    assert target.card.bytes == len(whole)
    shards[1].unlink()
    loading.MODELS = ModelCache()
    with pytest.raises(NotAvailable, match="is incomplete"):
        load_target(str(folder))


def pickled(folder, weights):
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def without_a_weight(path):
    weights = load_file(path)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, path, metadata={"format": "pt"})


WEIGHTS, CONFIG = "model.safetensors", "config.json"
OWN_CODE = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
SPOILED = {  # what is done to a folder, and a part of the error
    "code in a pickle": (
        lambda at: pickled(at, {"model.norm.weight": Bomb(at / "ran")}),
        "has more than plain weights",
    ),
    "code of its own": (lambda at: edit(at / CONFIG, **OWN_CODE), "never run"),
    "a missing weight": (
        lambda at: without_a_weight(at / WEIGHTS),
        r"lacks 1 of its weights.*layers\.1\.mlp\.up_proj",
    ),
    "other shapes": (
        lambda at: edit(at / CONFIG, intermediate_size=64),
        r"has weights of other shapes.*layers\.0\.mlp",
    ),
    "unknown": (lambda at: edit(at / CONFIG, model_type="new"), "could not be loaded.*new"),
    "truncated": (
        lambda at: (at / WEIGHTS).write_bytes((at / WEIGHTS).read_bytes()[:1000]),
        "could not be loaded",
    ),
}


@pytest.mark.parametrize(("spoil", "sentence"), SPOILED.values(), ids=SPOILED)
def test_spoiled_checkpoint_is_refused_without_running_its_code(spoil, sentence, tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "spoiled")
    (folder / "own.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n")
    spoil(folder)
    with pytest.raises(Unsuitable, match=sentence) as caught:
        load_target(str(folder))
    assert "'spoiled'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (folder / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("mask", [None, 188], ids=["draft-model", "pard"])
def test_draft_model_with_shorter_context_is_refused_only_for_longer_runs(mask, pair, tmp_path):
    short = tiny.llama(max_position_embeddings=64)
    if mask is not None:
        short.config.pard_token = mask
    target, drafter = load(str(pair[0]), str(tiny.save(short, tmp_path / "short")))
    new = 64 - len(target.encode(tiny.PROMPT, 1))
    settings = Settings(Sampling(0), gamma=4, max_new_tokens=new)
    target.eos = ()
    check(traced(target, drafter, tiny.PROMPT, settings))
    with pytest.raises(Unsuitable, match="'short' can see at most 64 tokens, but this run can ha"):
        traced(target, drafter, tiny.PROMPT, replace(settings, max_new_tokens=new + 1))


@pytest.mark.slow
def test_draft_model_reads_tokens_beyond_its_embeddings_as_its_last(tmp_path):
    """Targets pad their vocabulary differently, also within one family."""
    wide = tiny.save(tiny.llama(vocab_size=tiny.VOCABULARY + 8), tmp_path / "wide")
    for name, mask in (("plain", None), ("parallel", 188)):
        model = tiny.llama()
        if mask is not None:
            model.config.pard_token = mask
        target, drafter = load(str(wide), str(tiny.save(model, tmp_path / name)))
        ids, settings = [3, 287, 5, 280], Settings(Sampling(0), gamma=3, max_new_tokens=8)
        target.eos = ()
        played = list(engine.rounds(target, drafter, ids, settings))
        assert [token for each in played for token in each.tokens] == [
            step.token for step in engine.plain(target, ids, settings)
        ]


@pytest.mark.slow
def test_model_overwritten_on_disk_is_read_again(pair, tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "small")
    first = load(str(pair[0]), str(folder))[1].model
    assert load(str(pair[0]), str(folder))[1].model is first
    tiny.save(tiny.llama(hidden_size=64), folder)
    assert load(str(pair[0]), str(folder))[1].model.config.hidden_size == 64


@pytest.mark.slow
def test_drafter_for_other_weights_is_refused(tmp_path, tiny_target):
    for accepted in (None, "a" * 64, ("b" * 64, "a" * 64)):
        check_made_for("head", accepted, "house", "a" * 64)
    with pytest.raises(Unsuitable, match=r"'head' was made for another target than 'house'.*bbbb"):
        check_made_for("head", "b" * 64, "house", "a" * 64)
    with pytest.raises(Unsuitable, match="SHA-256 bbbbbbbbbbbb… or cccccccccccc…, and these have"):
        check_made_for("head", ("b" * 64, "c" * 64), "house", "a" * 64)
    for name in loading.trainable_heads():  # before their tensors are read
        with pytest.raises(Unsuitable, match=f"'{name}' was made for another target than 'tiny'"):
            load_drafter(name, tiny_target)
    for value in (["ab", 5], 5):
        (tmp_path / "config.json").write_text(json.dumps({"made_for": value}))
        with pytest.raises(Unsuitable, match="made_for must be a SHA-256, not ") as refused:
            Medusa.load("head", tmp_path, tiny_target)
        assert str(value) in str(refused.value)


def unfetchable(monkeypatch, error):
    """Let every download fail, and nothing be on this machine."""

    def fail(_name, local_files_only=False, **_options):
        raise LocalEntryNotFoundError("not here") if local_files_only else error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)


FULL = {
    "write": OSError(errno.ENOSPC, "No space left on device"),
    "open": OSError(errno.ENOSPC, "No space left on device", "/somebody/s/cache"),
    "quota": OSError(errno.EDQUOT, "Disk quota exceeded"),
    "xet": RuntimeError("Data processing error: IO Error: No space left on device (os error 28)"),
    "chained": ValueError("The download broke."),
}
FULL["chained"].__cause__ = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", FULL.values(), ids=FULL)
def test_full_disk_during_a_fetch_is_named_in_the_error(error, monkeypatch):
    unfetchable(monkeypatch, error)
    with pytest.raises(NotAvailable) as refused:
        load_target("some/model")
    sentence = "'some/model' could not be downloaded: the disk that holds the models is full."
    assert str(refused.value) == sentence
    said = []
    with pytest.raises(DiskFull):  # any other source would need the space too
        sources.fetch("x", [{"hub": "some/model"}, {"hub": "other/model"}], said.append)
    assert said == ["Downloading some/model from the Hub."]


def test_fetch_errors_of_other_kinds_are_not_reported_as_full_disk(monkeypatch):
    unfetchable(monkeypatch, PermissionError(errno.EACCES, "Permission denied", "/somebody/s"))
    with pytest.raises(NotAvailable, match=r"cannot be saved here \(Permission denied\)") as said:
        load_target("some/model")
    assert "full" not in str(said.value)


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """Set up an assets folder with the catalogue only, and no other models on this machine."""
    data = (entry.ASSETS / "catalog.json").read_text(encoding="utf-8")
    (tmp_path / "catalog.json").write_text(data, encoding="utf-8")
    monkeypatch.setattr(entry, "ASSETS", tmp_path)
    monkeypatch.setattr(entry, "find_local", lambda _: None)
    return tmp_path


def test_missing_shipped_model_is_not_reported_as_unknown(shipped):
    with pytest.raises(NotAvailable, match=r"'house' is not on this machine.*assets/models/target"):
        load("house", "ngram")
    here = {row["name"] for row in listing() if row["on_this_machine"]}
    assert here == {"ngram", "suffix", "layerskip", "lookahead", "oracle", "uniform"}


def test_catalogue_rows_name_classes_and_only_settings_that_the_drafter_reads():
    for each in DRAFTERS:
        assert resolve_name(each.drafter).name == each.family
        own = each.made_for in ("house", None)
        assert each.name == (each.family if own else f"{each.family}-{each.made_for}")
        assert not each.training or resolve_name(each.training).name == each.name
        assert set(each.usual) <= set(each.reads), each
        usual = Settings.from_json(with_defaults(each.name, {}))
        assert {name: getattr(usual, name) for name in each.usual} == each.usual
        said = with_defaults(each.name, {"gamma": 2, "sampling": {"temperature": 0.0}})
        assert Settings.from_json(said).gamma == 2
        assert said["sampling"] == {"temperature": 0.0, "top_k": 0, "top_p": 1.0}


def test_drafter_with_missing_weights_names_their_folder(shipped):
    model = tiny.llama()
    folder = tiny.save(model, shipped / "models" / "target")
    for row in DRAFTERS:
        if row.folder is None:
            assert load("house", row.name)[1].card.family == row.family
        elif row.made_for in ("house", None):
            with pytest.raises(NotAvailable, match=f"'{row.name}' is not on .*{row.folder}"):
                load("house", row.name)
    tiny.save(tiny.blurred(model), shipped / "models" / "draft-model")
    target, drafter = load("house", "draft-model")
    assert (target.card.name, drafter.card.name) == ("house", "draft-model")
    rows = {row["name"]: row for row in listing()}
    assert rows["house"]["bytes"] == (folder / "model.safetensors").stat().st_size
    assert rows["ngram"]["bytes"] == 0


SMALL = {"vocab_size": 280, "hidden_size": 16}
ODD = {  # a network, and the reason why it is refused
    "T5": (
        lambda: T5ForConditionalGeneration(
            T5Config(vocab_size=280, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
        ),
        "encoder",
    ),
    "Mamba": (
        lambda: MambaForCausalLM(MambaConfig(**SMALL, num_hidden_layers=1)),
        "recurrent state",
    ),
    "BLOOM": (lambda: BloomForCausalLM(BloomConfig(**SMALL, n_layer=1, n_head=2)), "positions"),
    "Falcon with ALiBi": (
        lambda: FalconForCausalLM(
            FalconConfig(**SMALL, num_hidden_layers=2, num_attention_heads=4, alibi=True)
        ),
        r"biases attention by distance \(ALiBi\)",
    ),
}


@pytest.mark.parametrize(("network", "reason"), ODD.values(), ids=ODD)
def test_unsupported_network_is_refused_on_loading(network, reason, tmp_path):
    folder = tiny.save(network(), tmp_path / "odd")
    with pytest.raises(Unsuitable, match=reason):
        load_target(str(folder))
    if reason == "recurrent state":  # any layer that keeps one counts
        config = Lfm2Config(num_hidden_layers=2, layer_types=["conv", "full_attention"])
        with pytest.raises(Unsuitable, match=reason):
            check_config("hybrid", config)


def test_model_that_does_not_fit_raises_readable_error(pair, monkeypatch):
    def too_large(*_args, **_options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")

    monkeypatch.setattr(checkpoint.AutoModelForCausalLM, "from_pretrained", too_large)
    with pytest.raises(NotEnoughMemory, match="'big' does not fit in the memory of this cpu"):
        load_target(str(pair[0]))


def test_model_cache_keeps_shipped_models_and_one_other_pair_and_evicts_before_loading():
    cache, loads = ModelCache(), []

    def get(name, shipped=False):
        return cache.get((name, "cpu", "float32"), lambda: loads.append(name) or name, shipped)

    for name in ("house-1", "house-2"):
        get(name, shipped=True)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert get(name) == name
    get("house-1", shipped=True)
    assert loads == ["house-1", "house-2", "a", "b", "c", "b"]

    cache = ModelCache(capacity=1)
    get("a")
    with pytest.raises(MemoryError):
        cache.get(("b", "", ""), lambda: (_ for _ in ()).throw(MemoryError), False)
    get("a")
    assert loads[-2:] == ["a", "a"]


def test_concurrent_loads_read_the_weights_once_while_a_shipped_model_is_available():
    cache, loads, reading, gate = ModelCache(), [], threading.Event(), threading.Event()
    cache.get(("house", "", ""), lambda: "house", True)

    def slow():
        loads.append(1)
        reading.set()
        gate.wait(60)
        return "model"

    with ThreadPoolExecutor(5) as visitors:
        found = [visitors.submit(cache.get, ("a", "", ""), slow, False) for _ in range(4)]
        assert reading.wait(30)
        quick = visitors.submit(cache.get, ("house", "", ""), slow, True)
        assert quick.result(30) == "house"
        gate.set()
        assert [each.result(60) for each in found] == ["model"] * 4
    assert loads == [1]


def same_weights(model, other):
    for (name, a), (_, b) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        assert torch.equal(a, b), name


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_loading_prompt_lookup_imports_no_other_drafter():
    """Drafters are imported by their names in the catalogue."""
    shared = {"ngram", "draft_model", "common"}
    for part in ("catalog", "drafters/common", "drafters/ngram", "engine", "models"):
        for path in [*(ROOT / "specviz" / part).rglob("*.py"), ROOT / f"specviz/{part}.py"]:
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            found = re.findall(r"^(?:from|import) specviz\.drafters\.(\w+)", text, re.MULTILINE)
            assert set(found) <= shared, path


@pytest.mark.slow
def test_unknown_model_name_raises_readable_error(tmp_path, monkeypatch):
    (tmp_path / "nested").mkdir()
    monkeypatch.chdir(tmp_path / "nested")
    for name in ("nothing", "/no/such/folder", "..", "a/b/c", ""):
        with pytest.raises(NotAvailable):
            load_target(name)
    for name in ("a" * 300, "o/" + "n" * 300, "~nobody-here/model", "a" * 5000):  # no folder
        for find in (load_target, lambda name: load("house", name), files.find_or_fetch):
            with pytest.raises(NotAvailable, match="No model is called") as refused:
                find(name)
            assert str(refused.value).endswith(".")
            assert len(str(refused.value)) < 400
        assert files.public_name(name) == name
