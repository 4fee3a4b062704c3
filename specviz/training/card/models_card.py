"""Generates `README.md` of the models folder from manifests and measurements.

The text is in `house.md.jinja`. The card is never edited by hand.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any, Final

from specviz.bench.methods import drafter_names
from specviz.catalog import find
from specviz.catalog.entry import Entry, with_defaults
from specviz.training.card import FINISHED, Models, read_models
from specviz.training.card.rendering import render_card
from specviz.training.corpus import SOURCES
from specviz.training.data import REPEAT_SHARE
from specviz.training.export import SHARED
from specviz.training.head_training import PLATEAU_GAIN, PLATEAU_MEASUREMENTS, HeadRecipe
from specviz.training.losses import EXIT_WEIGHT, LABEL_WEIGHT, LARGEST_DROPOUT
from specviz.training.measure import eagle_paths

HEAD_COUNT_KEYS: Final = ("medusa_num_heads", "n_head")


def write_card(folder: Path) -> Path:
    """Write `folder`/README.md.

    Raises FileNotFoundError if the target or the draft model is not finished; StaleMeasurements if
    measurements belong to other weights.
    """
    path = folder / "README.md"
    path.write_text(card(read_models(folder)), encoding="utf-8")
    return path


def card(models: Models) -> str:
    """Return the whole card as Markdown."""
    drafters = [find(name, "drafter") for name in drafter_names("house", None)]
    measured = models.measured["drafters"] if models.measured else {}
    return render_card(
        "house",
        models=models,
        target=models.manifests["target"],
        draft=models.manifests["draft-model"],
        finished=FINISHED,
        sources=SOURCES,
        absent=[entry.name for entry in drafters if entry and entry.name not in measured],
        differences={entry.name: difference_text(entry) for entry in drafters if entry},
        head_commands=_head_commands(models),
        REPEAT_SHARE=REPEAT_SHARE,
        PLATEAU_MEASUREMENTS=PLATEAU_MEASUREMENTS,
        PLATEAU_GAIN=PLATEAU_GAIN,
        LARGEST_DROPOUT=LARGEST_DROPOUT,
        EXIT_WEIGHT=EXIT_WEIGHT,
        LABEL_WEIGHT=LABEL_WEIGHT,
        SHARED=SHARED,
    )


def _head_commands(models: Models) -> list[str]:
    together: dict[str, list[str]] = {}
    for name, facts in models.heads.items():
        recipe = facts["recipe"]
        options = [f"--tokens {facts['asked_tokens']}", f"--seed {recipe['seed']}"]
        options += [f"--own-text {recipe['own_text']}"] if recipe["own_text"] else []
        rate = recipe["matrix_rate"] / HeadRecipe.matrix_rate
        options += [f"--rate {rate:g}"] if rate != 1 else []
        options += ["--float32"] if recipe["precision"] == "float32" else []
        device = facts["device"].split(":")[0]
        options += [f"--threads {facts['threads']} --device {device}"]
        together.setdefault(" ".join(options), []).append(name)
    return [
        f"python -m specviz train heads --names {','.join(names)} --corpus CORPUS {options}"
        for options, names in together.items()
    ]


def difference_text(entry: Entry) -> str:
    """Return a sentence on how a drafter of the catalogue differs from its paper's."""
    heads = head_count(entry) if "{heads}" in entry.smaller else None
    size = entry.smaller.format(guesses=guess_count(entry), heads=heads) if entry.smaller else ""
    return f"{entry.differences} {size}".rstrip()


def guess_count(entry: Entry) -> int:
    """Return the number of guesses in a drafter's default draft."""
    settings, reads = with_defaults(entry.name, {}), entry.reads
    if "rank_paths" in reads and settings["rank_paths"]:
        return len(settings["rank_paths"])
    if "budget" in reads:
        return int(settings["budget"])
    gamma = settings["gamma"]
    siblings = settings["siblings"] if "siblings" in reads else []
    widths = [*siblings, *[1] * gamma][:gamma]
    if entry.name == "eagle":  # each better sibling on a path reduces the number of children by one
        return len(eagle_paths(widths))
    return sum(prod(widths[:depth]) for depth in range(1, gamma + 1))


def head_count(entry: Entry) -> int:
    """Return the number of heads in the drafter's checkpoint."""
    assert entry.path is not None
    config: dict[str, Any] = json.loads(
        (entry.path / "config.json").read_text(encoding="utf-8-sig")
    )
    return int(next(config[key] for key in HEAD_COUNT_KEYS if key in config))
