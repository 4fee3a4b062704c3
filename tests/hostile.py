"""Model files that announce more than they hold, and a process that loads one under a memory limit.

Each file is loaded in a process with bounded memory, so that a missing check fails a test instead
of exhausting the machine.
"""

from __future__ import annotations

import json
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiny
import torch
from safetensors.torch import save_file

ADDRESS_SPACE = 6 << 30
SECONDS = 60.0  # generous, since most of it is importing on a busy machine
ROOT = Path(__file__).resolve().parent.parent
PROBE = """
import json, sys, time
from pathlib import Path
from specviz.catalog.loading import load_drafter, load_target
from specviz.models.errors import NotAvailable, Unsuitable
import specviz.models.gguf
import tiny
from specviz.models.devices import NotEnoughMemory

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith(name))

def tried(load):
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    before, since = memory("VmRSS"), time.process_time()
    try:
        load()
        said = None
    except (Unsuitable, NotAvailable) as refusal:
        said = str(refusal)
    except Exception as error:
        said = f"{type(error).__name__}!: {error}"
    return {"said": said, "grown": memory("VmHWM") - before, "seconds": time.process_time() - since}

load_target(sys.argv[1], "cpu")  # what the first load of all takes is no file's fault
target = tiny.target()
for kind, place in json.loads(sys.argv[2]):
    load = (lambda: load_target(place, "cpu")) if kind == "target" else (
        lambda: load_drafter(place, target))
    print(json.dumps(tried(load)), flush=True)
"""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of loading one file. grown: MiB added to peak memory. seconds: processor time."""

    said: str | None
    grown: int
    seconds: float


def attempt(usual: Path, places: list[tuple[str, Path]], root: Path = ROOT) -> list[LoadResult]:
    """Load each path as a target or a drafter in one process. usual: a model that loads."""
    asked = json.dumps([(kind, str(place)) for kind, place in places])
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(usual), asked],
        env={"PYTHONPATH": f"{root}:{ROOT / 'tests'}", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin"},
        preexec_fn=limit,  # nothing else runs in between
        capture_output=True,
        text=True,
        timeout=SECONDS + 3 * len(places),
        check=False,
    )
    found = [LoadResult(**json.loads(line)) for line in done.stdout.splitlines()]
    if len(found) < len(places):
        broke = f"the process ended with {done.returncode}: {done.stderr[-300:]}"
        found.append(LoadResult(broke, ADDRESS_SPACE >> 20, SECONDS))
    return found


def limit() -> None:
    """Limit the memory of the process that is about to start."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


# --- GGUF -----------------------------------------------------------------------------------------

U8, U32, F32, STRING, ARRAY, U64 = 0, 4, 6, 8, 9, 10
HUGE = 1 << 50


def text(said: str, length: int | None = None) -> bytes:
    """Encode a string. length: the length to announce, the true one by default."""
    return struct.pack("<Q", len(said) if length is None else length) + said.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    """Encode a key and its value."""
    return text(key) + struct.pack("<I", kind) + value


def array(kind: int, length: int, items: bytes = b"") -> bytes:
    """Encode an array that announces this many items."""
    return struct.pack("<IQ", kind, length) + items


def row(
    name: str, shape: list[int], kind: int = 0, offset: int = 0, many: int | None = None
) -> bytes:
    """Encode a tensor's entry in the tensor table."""
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape) if many is None else many, *shape)
    return text(name) + sizes + struct.pack("<IQ", kind, offset)


def gguf(said: list[bytes], rows: tuple[bytes, ...] | list[bytes] = (), **changes: Any) -> bytes:
    """Encode a file. changes: announced counts of pairs and tensors; data after the table."""
    many = changes.get("pairs", len(said)), changes.get("tensors", len(rows))
    head = b"GGUF" + struct.pack("<IQQ", 3, many[1], many[0]) + b"".join([*said, *rows])
    return head + changes.get("data", b"")


LLAMA = pair("general.architecture", STRING, text("llama"))


def u32(key: str, value: int) -> bytes:
    """Encode a 32-bit integer."""
    return pair(key, U32, struct.pack("<I", value))


def u64(key: str, value: int) -> bytes:
    """Encode a 64-bit integer."""
    return pair(key, U64, struct.pack("<Q", value))


def network(**changes: int) -> list[bytes]:
    """Return the GGUF metadata of a small Llama, with a tokenizer of two tokens."""
    usual = {"block_count": 1, "context_length": 64, "embedding_length": 32,
             "feed_forward_length": 32, "attention__head_count": 2}  # fmt: skip
    sizes = {key.replace("__", "."): value for key, value in (usual | changes).items()}
    return [
        LLAMA,
        *(u64(f"llama.{key}", value) for key, value in sizes.items()),
        pair("llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)),
        pair("tokenizer.ggml.model", STRING, text("gpt2")),
        pair("tokenizer.ggml.pre", STRING, text("gpt-2")),
        pair("tokenizer.ggml.tokens", ARRAY, array(STRING, 3, text("a") + text("b") + text("ab"))),
        pair("tokenizer.ggml.merges", ARRAY, array(STRING, 1, text("a b"))),
    ]


DATA = bytes(1 << 16)
OVERLAPPING = gguf(
    [LLAMA], [row(f"blk.{i}.ffn_up.weight", [128, 128]) for i in range(2000)], data=DATA * 2
)


def value(kind: int, encoded: bytes, key: str = "llama.x") -> bytes:
    """Encode a file with one value."""
    return gguf([LLAMA, pair(key, kind, encoded)])


def one(shape: list[int], data: bytes = DATA, **entry: int) -> bytes:
    """Encode a file with one tensor. entry: what the tensor table says about it."""
    return gguf([LLAMA], [row("t", shape, **entry)], data=data)


def aligned(to: int) -> bytes:
    """Encode a file with this alignment of tensors."""
    return gguf([LLAMA, u32("general.alignment", to)], [row("t", [4])], data=DATA)


def small(**changes: int) -> bytes:
    """Encode the metadata of a small Llama with changes."""
    return gguf(network(**changes))


# Each file with a part of its error message, which shows that the intended check refuses it.
LARGER = "describes a larger network than its weight files hold"
GGUF: list[tuple[bytes, str]] = [
    (value(ARRAY, array(U8, HUGE, bytes(17))), f"an array of {HUGE:,} items"),
    (value(ARRAY, array(STRING, HUGE, bytes(17))), f"an array of {HUGE:,} items"),
    (value(ARRAY, array(U32, HUGE), "other"), f"announces {4 * HUGE:,} bytes but only 0 are left"),
    (value(ARRAY, array(STRING, 1 << 20, bytes(1 << 23)), "x"), ""),
    (value(ARRAY, array(ARRAY, 1 << 20) * 2000, "x"), "an array of arrays"),
    (value(STRING, text("", HUGE)), f"announces {HUGE:,} bytes but only 0 are left"),
    (gguf([pair("general.architecture", STRING, text("", 2**64 - 1))]), f"{2**64 - 1:,} bytes"),
    (gguf([text("", HUGE)]), f"a name of {HUGE:,} bytes"),
    (gguf([], pairs=1 << 60), f"announces {1 << 60:,} values"),
    (gguf([LLAMA], tensors=1 << 60), f"announces {1 << 60:,} tensors"),
    (one([4], b"", many=1 << 31), f"has {1 << 31:,} dimensions"),
    (one([], b""), "has 0 dimensions"),
    (one([1 << 60] * 4, b""), "ends beyond the end of the file"),
    (one([0, 4], b""), "has a dimension of 0"),
    (one([4], offset=HUGE), "ends beyond the end of the file"),
    (one([4], offset=2**64 - 1), "ends beyond the end of the file"),
    (one([4], kind=77), "is of type 77, which is not known"),
    (OVERLAPPING, "overlaps another tensor"),
    (aligned(0), "its alignment is 0"),
    (aligned(3), "its alignment is 3"),
    (aligned(1 << 31), f"its alignment is {1 << 31}"),
    (gguf([LLAMA, LLAMA]), "has the key 'general.architecture' twice"),
    (small(block_count=10**6), "block_count = 1000000, which is not possible for Llama"),
    (small(block_count=9999), LARGER),
    (small(block_count=0), "block_count = 0, which is not possible for Llama"),
    (small(embedding_length=1 << 30), LARGER),
    (small(embedding_length=1 << 62), f"embedding_length = {1 << 62}, which is not possible"),
    (small(feed_forward_length=10**9), LARGER),
    (small(vocab_size=10**12), LARGER),
    (small(attention__head_count=0), "head_count = 0, which is not possible for Llama"),
    (small(attention__key_length=10**9, attention__value_length=10**9), LARGER),
    (b"", ""),
    (b"GGUF", ""),
]


# --- Folders --------------------------------------------------------------------------------------


def edited(folder: Path, changes: dict[str, Any]) -> Path:
    """Write a tiny model's folder with changes to its config."""
    tiny.save(tiny.llama(), folder)
    return configured(folder, changes)


def configured(folder: Path, changes: dict[str, Any]) -> Path:
    """Change the config of a folder."""
    place = folder / "config.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | changes))
    return folder


THIN = {
    "num_hidden_layers": 9999, "hidden_size": 2, "intermediate_size": 1,
    "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 2,
}  # fmt: skip
TABLE_OF_POSITIONS = {
    "model_type": "gptj", "n_embd": 8, "n_head": 1, "n_layer": 1, "rotary_dim": 4,
    "n_positions": 1 << 32, "max_position_embeddings": 1 << 32,
}  # fmt: skip
MASK_OF_POSITIONS = {
    "model_type": "gpt_neo", "num_layers": 1, "num_hidden_layers": 1, "hidden_size": 4,
    "num_heads": 1, "attention_types": [[["global"], 1]], "max_position_embeddings": 200_000,
}  # fmt: skip
CONFIGS: list[tuple[dict[str, Any], str]] = [
    ({"num_hidden_layers": 10**6}, "says 1,000,000 for num_hidden_layers, which is too large"),
    ({"num_hidden_layers": 10**9}, ""),
    ({"num_hidden_layers": 9999}, LARGER),
    (THIN, LARGER),
    ({"model_type": "qwen3", "num_hidden_layers": 10**9}, ""),
    ({"num_labels": 10**9}, "says 1,000,000,000 for num_labels, which is too large"),
    ({"vocab_size": 10**12}, ""),
    ({"vocab_size": 10**9}, ""),
    ({"vocab_size": 10**30}, "has a number for vocab_size that is too large"),
    ({"hidden_size": 10**9, "head_dim": 12}, ""),
    ({"intermediate_size": 10**9}, "says 1,000,000,000 for intermediate_size, which is too large"),
    ({"num_attention_heads": 10**9, "num_key_value_heads": 10**9}, ""),
    ({"head_dim": 10**9}, ""),
    ({"head_dim": 10**5}, LARGER),
    ({"num_hidden_layers": 1e9}, ""),
    ({"max_position_embeddings": 10**15}, "max_position_embeddings, which is too large"),
    (TABLE_OF_POSITIONS, LARGER),
    (MASK_OF_POSITIONS, LARGER),
    ({"model_type": "mixtral", "num_local_experts": 10**6}, ""),
    ({"model_type": "mixtral", "num_local_experts": 9999}, LARGER),
    ({"transformers_weights": "other.safetensors"}, "names its weight file in its config"),
    ({"hidden_size": 0, "num_attention_heads": 0}, ""),
]


def safetensors(header: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    """Encode a safetensors file. length: the header length to announce."""
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def tensor(shape: list[Any], begin: Any, end: Any, data: int, dtype: str = "F32") -> bytes:
    """Encode a safetensors file whose header describes one tensor. data: how many bytes follow."""
    described = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    return safetensors(json.dumps({"model.norm.weight": described}).encode(), bytes(data))


ENDLESS = safetensors(b"{}", length=1 << 60)
UNDESCRIBED = "its header does not describe 'model.norm.weight'"
HEADERS: list[tuple[bytes, str]] = [
    (ENDLESS, "its header is longer than the file"),
    (safetensors(b"{}", length=10 << 30), "its header is longer than the file"),
    (b"", ""),
    (b"abc", ""),
    (safetensors(b"{" * 100), ""),
    (safetensors(b"[" * 100_000), "its header is not valid JSON"),
    (safetensors(b"[]"), ""),
    (tensor([10**6, 10**6], 0, 4 * 10**12, 0), "announces more bytes than the file has"),
    (tensor([10**9], 0, 16, 16), "the shape of 'model.norm.weight' does not fit its bytes"),
    (tensor([4], 0, 16, 0), "its header announces more bytes than the file has"),
    (tensor([4], 16, 0, 16), ""),
    (tensor([-1, -4], 0, 16, 16), UNDESCRIBED),
    (tensor([1.5], 0, 6, 6), ""),
    (tensor(["9"], 0, 16, 16), ""),
    (tensor([1] * 100_000, 0, 4, 4), ""),
    (tensor([4], 0, 16, 16, "F999"), UNDESCRIBED),
]


def weights(folder: Path, content: bytes) -> Path:
    """Write a tiny model's folder with this file of weights."""
    tiny.save(tiny.llama(), folder)
    (folder / "model.safetensors").write_bytes(content)
    return folder


class Filling:
    """An object that allocates this many bytes when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (bytearray, (3 << 30,))


def pickled(folder: Path, way: str) -> Path:
    """Write a folder whose pickled weights are hostile in one of several ways."""
    model = tiny.llama()
    tiny.save(model, folder)
    (folder / "model.safetensors").unlink()
    place = folder / "pytorch_model.bin"
    if way == "bytes":
        torch.save({"model.norm.weight": Filling()}, place)
    elif way == "old bytes":
        torch.save({"x": Filling()}, place, _use_new_zipfile_serialization=False)
    elif way == "compressed":
        torch.save(model.state_dict(), folder / "plain.bin")
        with (
            zipfile.ZipFile(folder / "plain.bin") as one,
            zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as other,
        ):
            for each in one.infolist():
                other.writestr(each.filename, one.read(each))
            other.writestr("plain/data/bomb", bytes(1 << 27))
        (folder / "plain.bin").unlink()
    elif way == "expanded":
        state = model.state_dict()
        state["model.norm.weight"] = torch.zeros(1).expand(1 << 20, 1 << 12)
        torch.save(state, place)
    else:
        place.write_bytes(pickle.dumps({"x": 1}))
    return folder


PICKLED = [
    ("bytes", "more than plain weights"),
    ("old bytes", "more than plain weights"),
    ("compressed", "compressed"),
    ("expanded", "weights of other shapes"),
    ("no torch", "could not be loaded"),
]


def listed(folder: Path, index: Any) -> Path:
    """Write a folder with an index of shards."""
    tiny.save(tiny.llama(), folder)
    shard = folder / "model-00001-of-00001.safetensors"
    (folder / "model.safetensors").rename(shard)
    text = index if isinstance(index, str) else json.dumps(index)
    (folder / "model.safetensors.index.json").write_text(text)
    return folder


SHARD = "model-00001-of-00001.safetensors"
INDEXES: list[tuple[Any, str]] = [
    ({"weight_map": {"a": "s" * (1 << 24)}}, "has more than 16,777,216 bytes"),
    ({"weight_map": {"a": f"../elsewhere/{SHARD}"}}, "names a file outside the folder"),
    ({"weight_map": {"a": "/etc/hostname"}}, "names a file outside the folder: '/etc/hostname'"),
    ({"weight_map": {"a": f"x/{SHARD}"}}, "names a file outside the folder"),
    ({"weight_map": {"a": 7}}, ""),
    ({"metadata": {}}, ""),
    ([1], ""),
    ("{", ""),
    ("[" * 100_000, "is damaged: it lists no files"),
    ({"weight_map": {}}, ""),
]


def head(folder: Path, changes: dict[str, Any] | None = None) -> Path:
    """Write a published EAGLE head for the tiny target with changes in its config."""
    from specviz.drafters.eagle.head import Eagle3Config
    from specviz.drafters.eagle.head3 import Eagle3Head

    config = Eagle3Config.like(
        tiny.target(), made_for=None, tap_layers=(1, 2), draft_vocab_size=tiny.VOCABULARY
    )
    Eagle3Head(config).save(folder)
    return configured(folder, changes or {})


HEADS: list[tuple[dict[str, Any], str]] = [
    ({"intermediate_size": 10**9}, "says 1,000,000,000 for intermediate_size, which is too large"),
    ({"intermediate_size": 1 << 22}, LARGER),
    ({"num_attention_heads": 10**9, "num_key_value_heads": 10**9}, ""),
    ({"head_dim": 10**9}, "says 1,000,000,000 for head_dim, which is too large"),
    ({"vocab_size": 10**12}, ""),
    ({"hidden_size": 10**9}, ""),
]


def medusa(folder: Path, changes: dict[str, Any]) -> Path:
    """Write Medusa heads for the tiny target with changes in their config."""
    folder.mkdir()
    weights = {"0.0.linear.weight": torch.zeros(48, 48), "0.0.linear.bias": torch.zeros(48)}
    save_file(weights, folder / "model.safetensors")
    config = {"medusa_num_heads": 1, "medusa_num_layers": 1} | changes
    (folder / "config.json").write_text(json.dumps(config))
    return folder


MEDUSAS: list[tuple[dict[str, Any], str]] = [
    ({"medusa_num_heads": 10**9}, "medusa_num_heads, which is too large"),
    ({"medusa_num_heads": 9999}, LARGER),
    ({"medusa_num_layers": 10**9}, ""),
]


def with_text(folder: Path, name: str) -> Path:
    """Write a tiny model with a sparse text file of 1 GiB."""
    tiny.save(tiny.llama(), folder)
    with (folder / name).open("r+b" if (folder / name).exists() else "wb") as file:
        file.truncate(1 << 30)
    return folder


TEXTS = [
    ("tokenizer.json", "its tokenizer.json has 1,073,741,824 bytes"),
    ("config.json", ""),
    ("generation_config.json", "its generation_config.json has 1,073,741,824 bytes"),
]


def bare(folder: Path, content: bytes) -> Path:
    """Write a GGUF file."""
    place = folder.with_suffix(".gguf")
    place.write_bytes(content)
    return place


# By kind: what loads the file, a function that writes it, and its contents with error messages.
FILES: dict[str, tuple[str, Callable[[Path, Any], Path], list[tuple[Any, str]]]] = {
    "gguf": ("target", bare, GGUF),
    "config": ("target", edited, CONFIGS),
    "header": ("target", weights, HEADERS),
    "pickle": ("target", pickled, PICKLED),
    "index": ("target", listed, INDEXES),
    "text": ("target", with_text, TEXTS),
    "head": ("drafter", head, HEADS),
    "medusa": ("drafter", medusa, MEDUSAS),
}
