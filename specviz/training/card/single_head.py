"""Generates the README.md of a head that was trained for a target other than House.

The text is in `head.md.jinja`. Measurements are refused if they were made with other weights than
the folder contains.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from specviz.catalog import Entry, entries
from specviz.drafters.common.checkpoint import made_for
from specviz.drafters.common.training import HeadOptions
from specviz.models.files import fingerprint, weight_files
from specviz.shipped import MEASURED
from specviz.training.answers.dataset import AnswerRecipe
from specviz.training.answers.questions import OVERLAP_LETTERS
from specviz.training.card import StaleMeasurements
from specviz.training.card.rendering import render_card
from specviz.training.export import read_manifest


def write_single_head_card(folder: Path) -> Path:
    """Write `folder`/README.md. See `single_head_card` for the errors raised."""
    path = folder / "README.md"
    path.write_text(single_head_card(folder), encoding="utf-8")
    return path


def single_head_card(folder: Path) -> str:
    """Return the card as Markdown.

    Raises FileNotFoundError if the head is not finished; ValueError if the head is not in the
    catalogue; StaleMeasurements if its measurements belong to other weights.
    """
    home = folder.resolve()
    entry = next((e for e in entries() if e.path and e.path.resolve() == home), None)
    if entry is None or entry.made_for is None:
        raise ValueError(f"The catalogue has no head in {str(folder)!r}.")
    manifest, numbers = read_manifest(folder), _numbers(folder, entry.name)
    runs = _training_runs(manifest)
    trained: Counter[str] = Counter()
    for run in runs:
        parts = run["corpus_tokens"]
        trained.update({domain: counts["training"] for domain, counts in parts.items()})
    return render_card(
        "head",
        entry=entry,
        facts=manifest,
        runs=runs,
        trained=trained,
        numbers=numbers,
        hashes=_accepted_hashes(folder),
        commands=_commands(entry, folder, runs, numbers),
        OVERLAP_LETTERS=OVERLAP_LETTERS,
    )


def _numbers(folder: Path, name: str) -> dict[str, Any] | None:
    path = folder / MEASURED.name
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    weights, targets = fingerprint(weight_files(folder)), _accepted_hashes(folder)
    for part in filter(None, (found, found.get("public"))):
        mine = part["drafters"].get(name, {}).get("hash")
        if mine != weights or part["target"] not in targets:
            raise StaleMeasurements(
                f"{path.name} has measurements of other weights: measure {name} again."
            )
    return found


def _training_runs(facts: dict[str, Any]) -> list[dict[str, Any]]:
    before = facts.get("before")
    return [*(_training_runs(before) if before else []), facts]


def _commands(
    entry: Entry, folder: Path, runs: list[dict[str, Any]], numbers: dict[str, Any] | None
) -> list[str]:
    _, *further = _accepted_hashes(folder)
    also = "".join(f" --also-for {each}" for each in further)
    lines, start = [], ""
    for number, run in enumerate(runs, start=1):
        seed = f" --seed {run['recipe']['seed']}" if start else ""  # other questions
        more = f"{also}{start}"
        if run is not runs[-1]:
            start = f" --start EARLIER-{number}/{entry.family}"
            more += f" --out EARLIER-{number}"
        lines += _training_commands(entry, run, f"ANSWERS-{number}", seed, more)
    if numbers:
        names = ",".join(numbers["drafters"])
        out = f"assets/models/{entry.name}"
        place = f"--target {entry.made_for} --out {out} --drafters {names}"
        counts = ("prompts", "new_tokens", "repeats", "threads")
        plan = " ".join(f"--{each.replace('_', '-')} {numbers[each]}" for each in counts)
        lines.append(f"python -m specviz train measure {place} {plan}")
        if public := numbers.get("public"):
            counts_only = f"--public {public['file']} --new-tokens {public['new_tokens']}"
            lines.append(f"python -m specviz train measure {place} {counts_only}")
    return lines


def _training_commands(
    entry: Entry, facts: dict[str, Any], data: str, seed: str, more: str
) -> list[str]:
    about = f"--target {entry.made_for} --data {data} --threads {facts['threads']}"
    recipe = facts["recipe"]
    learn = (
        f"--names {entry.family} --tokens {facts['asked_tokens']} --seed {recipe['seed']} "
        f"--rate {recipe['other_rate'] / AnswerRecipe.other_rate:g}"
    )
    return [
        f"python -m specviz train questions --corpus CORPUS --count 12000{seed}",
        f"python -m specviz train write {about}{seed}",
        f"python -m specviz train heads {about} {learn}{_size_options(facts['recipe'])}{more}",
    ]


def _size_options(recipe: dict[str, Any]) -> str:
    defaults = HeadOptions()
    options = (
        ("unroll", recipe["unrolled"], defaults.steps),
        ("draft-vocabulary", recipe["draft_vocabulary"], defaults.draft_vocabulary),
    )
    return "".join(f" --{name} {value}" for name, value, usual in options if value != usual)


def _accepted_hashes(folder: Path) -> tuple[str, ...]:
    # First the weights of its training.
    found = made_for(folder)
    return (found,) if isinstance(found, str) else found or ()
