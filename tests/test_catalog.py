"""Models in transformers' folder layout: loading, refusals, and shared weights."""

import ast
import errno
import hashlib
import json
import subprocess
import sys
import threading
from pkgutil import resolve_name

import huggingface_hub
import pytest
import tiny
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file, save_file
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    Lfm2Config,
    MambaConfig,
    MambaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from specviz import engine
from specviz.bench import methods
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
from specviz.drafters.ngram import NGram
from specviz.models import checkpoint, files
from specviz.models.checkpoint import check_config, check_made_for
from specviz.models.devices import NotEnoughMemory
from specviz.models.errors import DiskFull
from specviz.models.memory import ModelCache
from specviz.settings.settings import Sampling, Settings

DRAFTERS = [entry for entry in entry.entries() if entry.kind == "drafter"]


def has_own_target(entry):
    """Return whether a drafter was made for a target that does not ship."""
    return entry.made_for not in ("house", None)


GREEDY = Settings(Sampling(temperature=0), max_new_tokens=24)


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


def test_model_card_has_hash_and_size_of_its_files(pair):
    big, _ = pair
    card = load_target(str(big)).card
    data = (big / "model.safetensors").read_bytes()
    assert card.hash == hashlib.sha256(data).hexdigest()
    assert card.bytes == len(data)
    assert card.parameters == sum(p.numel() for p in tiny.llama().parameters())
    assert (card.name, card.family) == ("big", "causal-lm")


def test_model_card_does_not_reveal_parent_folders(pair):
    _, drafter = pair
    card = load_drafter(str(drafter), load_target(str(pair[0]))).card
    assert (card.name, card.family) == ("small", "draft-model")


def test_dtype_defaults_to_float32_on_cpu(pair):
    assert load_target(str(pair[0]), "cpu").dtype is torch.float32
    assert load_target(str(pair[0]), "cpu", "bfloat16").dtype is torch.bfloat16


def test_sharded_checkpoint_loads_like_a_single_file(tmp_path):
    model = tiny.llama()
    folder = tiny.save(model, tmp_path / "shards", max_shard_size="60KB")
    shards = sorted(folder.glob("*.safetensors"))
    assert len(shards) > 2
    target = load_target(str(folder))
    same_weights(target.model, model)
    whole = b"".join(path.read_bytes() for path in shards)
    assert target.card.hash == hashlib.sha256(whole).hexdigest()
    assert target.card.bytes == len(whole)


def test_model_with_missing_shard_is_not_available(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "shards", max_shard_size="60KB")
    sorted(folder.glob("*.safetensors"))[1].unlink()
    with pytest.raises(NotAvailable, match="is incomplete"):
        load_target(str(folder))


def test_pickled_checkpoint_loads(tmp_path):
    model = tiny.llama()
    folder = tiny.save(model, tmp_path / "pickled")
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    same_weights(load_target(str(folder)).model, model)


class Bomb:
    """An object whose unpickling calls a function."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_pickle_with_code_is_refused_without_running_it(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "hostile")
    torch.save({"model.norm.weight": Bomb(tmp_path / "ran")}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(Unsuitable, match="'hostile' has more than plain weights"):
        load_target(str(folder))
    assert not (tmp_path / "ran").exists()


def test_remote_code_is_never_run(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "coded")
    edit(folder / "config.json", model_type="own", auto_map={"AutoConfig": "own.Config"})
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(Unsuitable, match="never run"):
        load_target(str(folder))
    assert not (tmp_path / "ran").exists()


def test_checkpoint_with_missing_weights_is_refused(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "holed")
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(Unsuitable, match=r"lacks 1 of its weights.*layers\.1\.mlp\.up_proj"):
        load_target(str(folder))


def test_checkpoint_with_other_shapes_is_refused(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "odd")
    edit(folder / "config.json", intermediate_size=64)
    with pytest.raises(Unsuitable, match=r"'odd' has weights of other shapes.*layers\.0\.mlp"):
        load_target(str(folder))


def test_unknown_architecture_raises_readable_error(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "new")
    edit(folder / "config.json", model_type="unheard-of")
    with pytest.raises(Unsuitable, match=r"'new' could not be loaded.*unheard-of") as caught:
        load_target(str(folder))
    assert "\n" not in str(caught.value)


def test_truncated_file_raises_readable_error(tmp_path):
    folder = tiny.save(tiny.llama(), tmp_path / "cut")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(Unsuitable, match="'cut' could not be loaded") as caught:
        load_target(str(folder))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_drafter_with_shorter_context_is_refused(pair, tmp_path):
    folder = tiny.save(tiny.llama(max_position_embeddings=128), tmp_path / "short")
    with pytest.raises(Unsuitable, match="'short' can see at most 128 tokens"):
        load(str(pair[0]), str(folder))


def test_drafter_for_other_weights_is_refused():
    check_made_for("head", None, "house", "a" * 64)
    check_made_for("head", "a" * 64, "house", "a" * 64)
    with pytest.raises(Unsuitable, match=r"'head' was made for another target than 'house'.*bbbb"):
        check_made_for("head", "b" * 64, "house", "a" * 64)
    check_made_for("head", ("b" * 64, "a" * 64), "house", "a" * 64)
    with pytest.raises(Unsuitable, match="SHA-256 bbbbbbbbbbbb… or cccccccccccc…, and these have"):
        check_made_for("head", ("b" * 64, "c" * 64), "house", "a" * 64)


@pytest.mark.parametrize("name", ["nothing", "/no/such/folder", "..", "a/b/c", ""])
def test_unknown_model_name_raises_readable_error(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nested").mkdir()
    monkeypatch.chdir(tmp_path / "nested")
    with pytest.raises(NotAvailable):
        load_target(name)


def test_unreachable_hub_raises_readable_error(tmp_path, monkeypatch):
    hub(tmp_path, monkeypatch)
    with pytest.raises(NotAvailable, match=r"'some/model' is not on this machine.*unreachable$"):
        load_target("some/model")


def chained(cause):
    """Return an error that was raised from another."""
    try:
        raise ValueError("The download broke.") from cause
    except ValueError as error:
        return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.ENOSPC, "No space left on device", "/somebody/s/cache"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        RuntimeError("Data processing error: IO Error: No space left on device (os error 28)"),
        chained(OSError(errno.ENOSPC, "No space left on device")),
    ],
    ids=["write", "open", "quota", "xet", "chained"],
)
def test_full_disk_during_a_fetch_is_named_in_the_error(error, monkeypatch):
    def full(_name, local_files_only=False, **_options):
        raise LocalEntryNotFoundError("not here") if local_files_only else error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", full)
    with pytest.raises(NotAvailable) as refused:
        load_target("some/model")
    sentence = "'some/model' could not be downloaded: the disk that holds the models is full."
    assert str(refused.value) == sentence
    said = []
    with pytest.raises(DiskFull):  # any other source would need the space too
        sources.fetch("x", [{"hub": "some/model"}, {"hub": "other/model"}], said.append)
    assert said == ["Downloading some/model from the Hub."]


def test_fetch_errors_of_other_kinds_are_not_reported_as_full_disk(monkeypatch):
    def denied(_name, local_files_only=False, **_options):
        raise (
            LocalEntryNotFoundError("not here")
            if local_files_only
            else PermissionError(errno.EACCES, "Permission denied", "/somebody/s/cache")
        )

    monkeypatch.setattr(huggingface_hub, "snapshot_download", denied)
    with pytest.raises(
        NotAvailable, match="the files cannot be saved here \\(Permission denied\\)"
    ) as said:
        load_target("some/model")
    assert "full" not in str(said.value)


def test_fetched_hub_model_needs_no_network(tmp_path, monkeypatch):
    hub(tmp_path, monkeypatch)
    root = tmp_path / "models--some--model"
    tiny.save(tiny.llama(), root / "snapshots" / "abc")
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("abc")
    assert load_target("some/model").card.name == "some/model"


def hub(cache, monkeypatch):
    """Set up a Hub cache in a folder, without a network."""
    real = huggingface_hub.snapshot_download

    def offline(name, local_files_only=False, **options):
        if not local_files_only:
            raise ConnectionError("unreachable")
        return real(name, local_files_only=True, cache_dir=cache, **options)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)


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


@pytest.mark.slow
def test_shipped_target_and_draft_model_load_by_name(shipped):
    model = tiny.llama()
    folder = tiny.save(model, shipped / "models" / "target")
    tiny.save(tiny.blurred(model), shipped / "models" / "draft-model")
    target, drafter = load("house", "draft-model")
    assert (target.card.name, drafter.card.name) == ("house", "draft-model")
    rows = {row["name"]: row for row in listing()}
    assert rows["house"]["bytes"] == (folder / "model.safetensors").stat().st_size
    assert rows["ngram"]["bytes"] == 0


def test_rows_of_the_model_list_have_the_documented_fields():
    wanted = {"name", "kind", "family", "layout", "licence", "bytes", "on_this_machine"}
    for row in listing():
        assert wanted <= row.keys()
        json.dumps(row)


@pytest.mark.parametrize("entry", DRAFTERS, ids=lambda entry: entry.name)
def test_default_settings_include_only_settings_that_the_drafter_reads(entry):
    assert set(entry.usual) <= set(entry.reads)
    usual = Settings.from_json(with_defaults(entry.name, {}))
    assert {name: getattr(usual, name) for name in entry.usual} == entry.usual
    said = with_defaults(entry.name, {"gamma": 2, "sampling": {"temperature": 0.0}})
    assert Settings.from_json(said).gamma == 2
    assert said["sampling"] == {"temperature": 0.0, "top_k": 0, "top_p": 1.0}


@pytest.mark.parametrize("name", [entry.name for entry in DRAFTERS if not has_own_target(entry)])
def test_drafter_with_missing_weights_names_their_folder(name, shipped):
    tiny.save(tiny.llama(), shipped / "models" / "target")
    row = entry.find(name, "drafter")
    if row.folder is None:
        assert load("house", name)[1].card.family == row.family
    else:
        with pytest.raises(NotAvailable, match=f"'{name}' is not on .*{row.folder}"):
            load("house", name)


def test_prompt_lookup_fits_any_target(pair):
    assert load(str(pair[0]), "ngram")[1].card.family == "ngram"


def small_t5():
    config = T5Config(vocab_size=280, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    return T5ForConditionalGeneration(config)


def small_mamba():
    return MambaForCausalLM(MambaConfig(vocab_size=280, hidden_size=16, num_hidden_layers=1))


def small_bloom():
    return BloomForCausalLM(BloomConfig(vocab_size=280, hidden_size=16, n_layer=1, n_head=2))


@pytest.mark.parametrize(
    ("network", "reason"),
    [(small_t5, "encoder"), (small_mamba, "recurrent state"), (small_bloom, "positions")],
)
def test_unsupported_network_is_refused_on_loading(network, reason, tmp_path):
    folder = tiny.save(network(), tmp_path / "odd")
    with pytest.raises(Unsuitable, match=reason):
        load_target(str(folder))


def test_network_with_any_stateful_layer_is_refused():
    config = Lfm2Config(num_hidden_layers=2, layer_types=["conv", "full_attention"])
    with pytest.raises(Unsuitable, match="recurrent state"):
        check_config("hybrid", config)


def test_drafters_and_targets_share_one_copy_of_the_weights(pair):
    first, _ = load(str(pair[0]), str(pair[1]))
    second, drafter = load(str(pair[0]), str(pair[0]))
    assert second.model is first.model
    assert drafter.model is first.model


def test_model_that_does_not_fit_raises_readable_error(pair, monkeypatch):
    def too_large(*_args, **_options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")

    monkeypatch.setattr(checkpoint.AutoModelForCausalLM, "from_pretrained", too_large)
    with pytest.raises(NotEnoughMemory, match="'big' does not fit in the memory of this cpu"):
        load_target(str(pair[0]))


def test_model_cache_keeps_shipped_models_and_one_other_pair():
    cache = ModelCache()
    loads = []

    def get(name, shipped=False):
        return cache.get((name, "cpu", "float32"), lambda: loads.append(name) or name, shipped)

    for name in ("house-1", "house-2"):
        get(name, shipped=True)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert get(name) == name
    get("house-1", shipped=True)
    assert loads == ["house-1", "house-2", "a", "b", "c", "b"]


def test_model_cache_evicts_before_loading():
    cache = ModelCache(capacity=1)
    cache.get(("a", "", ""), lambda: "a", False)
    with pytest.raises(MemoryError):
        cache.get(("b", "", ""), lambda: (_ for _ in ()).throw(MemoryError), False)
    assert cache.get(("a", "", ""), lambda: "read again", False) == "read again"


def test_concurrent_loads_read_the_weights_once():
    cache, loads, gate = ModelCache(), [], threading.Event()

    def slow():
        gate.wait(60)
        loads.append(1)
        return "model"

    def visit():
        assert cache.get(("a", "", ""), slow, False) == "model"

    visitors = [threading.Thread(target=visit) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    gate.set()
    for visitor in visitors:
        visitor.join(60)
    assert loads == [1]


def test_shipped_model_is_available_during_another_load():
    cache, reading, gate = ModelCache(), threading.Event(), threading.Event()
    cache.get(("house", "", ""), lambda: "house", True)

    def slow():
        reading.set()
        gate.wait(60)
        return "model"

    other = threading.Thread(target=lambda: cache.get(("a", "", ""), slow, False))
    other.start()
    assert reading.wait(30)
    found = []
    quick = threading.Thread(target=lambda: found.append(cache.get(("house", "", ""), slow, True)))
    quick.start()
    quick.join(30)
    gate.set()
    other.join(60)
    assert found == ["house"]


def test_hash_of_a_model_depends_on_the_bytes_of_its_files(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"one")
    first = files.fingerprint([path])
    path.write_bytes(b"three")
    assert files.fingerprint([path]) != first
    assert files.fingerprint([]) is None


def same_weights(model, other):
    """Assert that two networks hold the same numbers."""
    for (name, a), (_, b) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        assert torch.equal(a, b), name


def edit(path, **changes):
    """Change keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("entry", DRAFTERS, ids=lambda entry: entry.name)
def test_catalogue_rows_name_existing_classes(entry):
    kind = resolve_name(entry.drafter)
    assert kind.name == entry.family
    assert entry.name == (
        entry.family if not has_own_target(entry) else f"{entry.family}-{entry.made_for}"
    )
    if entry.training:
        assert resolve_name(entry.training).name == entry.name


def test_every_counterpart_is_a_benchmarked_transformers_method():
    ways = {value for name, value in vars(methods).items() if name.isupper()}
    assert {entry.counterpart for entry in DRAFTERS if entry.counterpart} <= ways
    assert methods.counterpart_of(NGram()) == methods.LOOKUP


@pytest.mark.parametrize("name", loading.trainable_heads())
def test_error_for_a_shipped_head_on_another_target_names_both(name, tiny_target):
    """The drafter is refused before its tensors are read."""
    with pytest.raises(Unsuitable, match=f"'{name}' was made for another target than 'tiny'"):
        load_drafter(name, tiny_target)


def test_head_for_a_target_without_hash_is_refused(tmp_path, tiny_target):
    (tmp_path / "config.json").write_text('{"made_for": ["ab", 5]}')
    with pytest.raises(Unsuitable, match=r"made_for must be a SHA-256, not \['ab', 5\]"):
        Medusa.load("head", tmp_path, tiny_target)
    (tmp_path / "config.json").write_text('{"made_for": 5}')
    with pytest.raises(Unsuitable, match="made_for must be a SHA-256, not 5"):
        Medusa.load("head", tmp_path, tiny_target)


@pytest.mark.slow
def test_loading_prompt_lookup_imports_no_other_drafter(pair):
    code = (
        "import sys; from specviz.catalog import load\n"
        f"load({str(pair[0])!r}, 'ngram')\n"
        "print(sorted(m for m in sys.modules if m.startswith('specviz.drafters.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    found = ast.literal_eval(done.stdout)
    assert "specviz.drafters.ngram" in found
    assert not [
        name for name in found if name.split(".")[2] not in ("ngram", "draft_model", "common")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a" * 300, "o/" + "n" * 300, "~nobody-here/model", "a" * 5000])
def test_invalid_folder_name_raises_readable_error(name):
    for find in (load_target, lambda name: load("house", name), files.find_or_fetch):
        with pytest.raises(NotAvailable, match="No model is called") as refused:
            find(name)
        assert str(refused.value).endswith(".")
        assert len(str(refused.value)) < 400
    assert files.public_name(name) == name
