"""Fill the table of what a GPU should reach in docs/performance.md.

`PYTHONPATH=. python tests/gpu_table.py FOLDER` reads the results of `tests/gpu.py FOLDER`. What is
not there stays "not measured". The column "before" is computed in the same way from the shipped
measurement of version 0.14.0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from specviz.cost.measured_costs import FOLDER, ContextCosts, CostFile, ModelCosts, round_costs
from specviz.trace.file import Trace
from specviz.trace.metrics import summary

PLACE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- measured: a GPU -->\n", "<!-- end of measured part -->"
BEFORE = FOLDER / "h100-bfloat16.json"
NOTHING = "not measured"
LONGEST = 1024  # tokens in the cache, where both files measured little noise
Found = float | None


def costs_of(files: list[Path], model: str) -> tuple[CostFile, ModelCosts, ContextCosts] | None:
    """Return a model's costs in the files of `shapes`."""
    for path in files:
        file = CostFile.from_text(path.read_text(encoding="utf-8")) if path.exists() else None
        for costs in file.models if file else ():
            for place in costs.places:
                if costs.name == model and place.context == LONGEST:
                    return file, costs, place
    return None


def share(files: list[Path], model: str) -> Found:
    """Return the share of memory's speed that plain decoding reaches, token in to token out."""
    if (found := costs_of(files, model)) is None:
        return None
    file, costs, place = found
    line = file.sweep(costs, place).predicted(1)
    return None if line is None else line.memory / median(place.plain)


def plain_ms(files: list[Path], model: str) -> Found:
    """Return milliseconds per token of plain decoding."""
    found = costs_of(files, model)
    return found and 1e3 * median(found[2].plain)


def drafting(files: list[Path], drafter: str, per_level: bool = False) -> Found:
    """Return the time of a draft for the 8B shape, in plain passes."""
    if (found := costs_of(files, "llama-3.1-8b")) is None:
        return None
    _, costs, place = found
    for facts, _, cost in round_costs(costs, place):
        if facts.name == drafter:
            return cost.level if per_level else cost.draft
    return None


def judging_ms(files: list[Path]) -> Found:
    """Return milliseconds for judging and committing a round of EAGLE-3 for the house target."""
    found = costs_of(files, "house")
    rounds = [one for one in found[2].rounds if one.drafter == "eagle3"] if found else []
    return 1e3 * median(rounds[0].rest) if rounds else None


def ratio(out: Path, name: str, key: str) -> Found:
    """Return a method's ratio in `bench` at temperature 0 on stories."""
    path = out / "bench-0.json"
    rows: list[Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    found = [row[key] for row in rows if row["name"] == name and row["domain"] == "stories"]
    return found[0] if found else None


def tracing(out: Path) -> Found:
    """Return the time of recording the EAGLE-3 run, relative to the run."""
    path = out / "recorded" / "05-eagle3.jsonl"
    if not path.exists():
        return None
    trace = Trace.read(path)
    assert trace.finished is not None
    return trace.finished.trace_seconds / summary(trace)["total_seconds"]


Reached = Callable[[Path, list[Path]], Found]
ROWS: list[tuple[str, str, Reached]] = [
    ("8B shape: share of the speed of memory", "≥ 0.80", lambda _, f: share(f, "llama-3.1-8b")),
    ("1B shape: the same", "≥ 0.60", lambda _, f: share(f, "llama-3.2-1b")),
    ("house, bf16: ms a token", "≤ 0.5", lambda _, f: plain_ms(f, "house")),
    ("EAGLE-3 draft, 8B shape: plain passes", "≤ 0.12", lambda _, f: drafting(f, "eagle3")),
    ("DFlash draft, the same", "≤ 0.08", lambda _, f: drafting(f, "dflash")),
    ("step of a 1B draft model", "≤ 0.25", lambda _, f: drafting(f, "draft-model", True)),
    ("house, bf16: judging and committing, ms", "≤ 0.3", lambda _, f: judging_ms(f)),
    ("house: EAGLE-3 over plain", "≥ 1.8", lambda o, _: ratio(o, "eagle3", "ratio_to_plain")),
    ("house: MTP over plain", "≥ 1.8", lambda o, _: ratio(o, "mtp", "ratio_to_plain")),
    ("plain over `generate`", "≥ 3", lambda o, _: ratio(o, "plain", "ratio_to_transformers")),
    ("EAGLE-3 over `generate`", "≥ 3", lambda o, _: ratio(o, "eagle3", "ratio_to_transformers")),
    ("house, EAGLE-3: recording, share of the run", "≤ 0.05", lambda o, _: tracing(o)),
]  # fmt: skip


def table(out: Path) -> str:
    """Return the table; with results, its first line names the machine and the date."""
    files = [out / f"shapes-{name}.json" for name in ("house", "llama-3.2-1b", "llama-3.1-8b")]
    found = costs_of(files, "house")
    machine = f"{found[0].machine}, {found[0].date}" if found else "nobody has measured it yet"
    lines = [f"This version: {machine}. Before: version 0.14.0, NVIDIA H100, 2026-11-28.", ""]
    lines += ["| | wanted | before | reached |", "|---|---|---|---|"]
    for title, wanted, reached in ROWS:
        values = reached(out / "none", [BEFORE]), reached(out, files)
        shown = " | ".join(NOTHING if value is None else f"{value:.2f}" for value in values)
        lines.append(f"| {title} | {wanted} | {shown} |")
    return "\n".join(lines) + "\n"


def main(out: Path) -> None:
    """Write the table."""
    before, rest = PLACE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END, 1)
    PLACE.write_text(f"{before}{BEGIN}{table(out)}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
