"""Measures all drafters of the catalogue with one target, for the model card.

Each prompt is decoded with the drafter and without it in turns, so that a ratio compares runs made
shortly after each other. The numbers are stored with the hashes of the weights. To compare accepted
lengths, each drafter of trees is also measured with drafts as large and deep as EAGLE's static
tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import torch
from tqdm import tqdm

from specviz.bench.measure import Row, guess_statistics, measure, tokens_per_pass
from specviz.bench.methods import (
    Entrant,
    Prompt,
    drafter_method,
    drafter_names,
    encode_prompts,
    encode_texts,
    load_entrants,
    plain_method,
)
from specviz.catalog import entries, find, load_target
from specviz.catalog.entry import with_defaults
from specviz.models.devices import cpu_name, describe_device
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.shipped import HOUSE, MEASURED
from specviz.training.export import versions

SIBLINGS: Final = [4, 3, 3, 2]  # guesses under EAGLE's nodes: see `drafters.eagle.width_under`
TREE_DRAFTERS: Final = ("eagle", "eagle2", "eagle3", "medusa", "moa", "jetspec")


def eagle_paths(widths: Sequence[int] = SIBLINGS) -> list[list[int]]:
    """Return the rank paths of EAGLE's static tree: better siblings get more children."""
    level: list[list[int]] = [[]]
    found: list[list[int]] = []
    for width in widths:
        level = [[*path, rank] for path in level for rank in range(max(0, width - sum(path)))]
        found += level
    return found


BUDGET: Final = len(eagle_paths())


def equal_budget_settings(drafter: str) -> dict[str, Any] | None:
    """Return settings that give a draft of BUDGET tokens, or None if the drafter has no tree."""
    entry = find(drafter, "drafter")
    if entry is None or drafter not in TREE_DRAFTERS:
        return None
    depth = {"gamma": len(SIBLINGS)}
    if "budget" in entry.reads:
        return depth | {"budget": BUDGET, "fan_out": SIBLINGS[0]}  # as wide as that tree
    if "rank_paths" in entry.reads:
        return depth | {"rank_paths": eagle_paths()}
    return depth | {"siblings": SIBLINGS}


TEMPERATURES: Final = (0.0, 1.0)
SEED: Final = 1
DIGITS: Final = 4
SHARED_FIELDS: Final = (
    "device",
    "dtype",
    "threads",
    "runs",
    "gamma",
    "ratio_to_transformers",
    "memory_bandwidth",
    "limit_tokens_per_second",
    "share_of_limit",
    "share_of_limit_after_prompt",
    "tokens_per_second_after_prompt",
    "same_text",
    "partial",
)


@dataclass(frozen=True)
class MeasurementPlan:
    """A plan of measurements.

    Attributes:
        prompts: Maximum number of prompts per domain.
        new_tokens: Maximum number of new tokens per prompt.
        repeats: Number of turns per prompt.
        drafters: Names of the drafters; empty for all.
        public: File of public questions; then only accepted lengths on them are measured.

    Raises:
        ValueError: If a number is less than 1, or a drafter is not in the catalogue.
    """

    prompts: int = 3
    new_tokens: int = 64
    repeats: int = 1
    drafters: tuple[str, ...] = ()
    device: str | None = "cpu"
    public: Path | None = None

    def __post_init__(self) -> None:
        if min(self.prompts, self.repeats) < 1:
            raise ValueError("Prompts and repeats must be 1 or more.")
        for name in self.drafters:
            if find(name, "drafter") is None:
                raise ValueError(f"The catalogue has no drafter {name!r}.")

    def settings(self, drafter: str, temperature: float) -> Settings:
        """Return the drafter's default settings at this temperature."""
        return Settings.from_json(with_defaults(drafter, self._run_settings(temperature)))

    def equal_budget_settings(self, drafter: str, temperature: float) -> Settings:
        """Return the same settings with a draft of BUDGET tokens."""
        settings_json = self._run_settings(temperature) | (equal_budget_settings(drafter) or {})
        return Settings.from_json(with_defaults(drafter, settings_json))

    def _run_settings(self, temperature: float) -> dict[str, Any]:
        sampling = {"temperature": temperature}
        return {"sampling": sampling, "seed": SEED, "max_new_tokens": self.new_tokens}


def write_measured(folder: Path, plan: MeasurementPlan, target: str = HOUSE) -> Path:
    """Measure and write `folder`/measured.json, including why drafters were left out.

    Accepted lengths on public questions are added to the measurements that the file has. So are the
    rows of a plan that names drafters, if the others were measured in the same way; without names,
    all measurements are replaced. Raises ValueError if the models in `folder` are not in the
    catalogue, or the public questions cannot be read; OSError if there is no file of public
    questions, or no measurements to add them to.
    """
    homes = measurement_folders(target)
    if not homes:
        raise ValueError(f"The catalogue has no weights that were made for {target!r}.")
    if folder.resolve() not in [home.resolve() for home in homes]:
        listed = " or ".join(repr(str(home)) for home in homes)
        raise ValueError(f"Only the app's own models can be measured, in {listed}.")
    path = folder / MEASURED.name
    if plan.public is None:
        facts = measure_drafters(load_target(target, plan.device), plan)
        if plan.drafters and path.is_file():
            facts = merged(json.loads(path.read_text(encoding="utf-8-sig")), facts)
    else:
        questions = first_turns(plan.public)
        facts = json.loads(path.read_text(encoding="utf-8-sig"))
        found = measure_public(load_target(target, plan.device), plan, questions)
        facts["public"] = {"file": plan.public.name, **found}
    path.write_text(to_text(facts), encoding="utf-8")
    return path


MUST_AGREE: Final = (
    "machine", "threads", "dtype", "versions", "target", "seed", "prompts", "repeats", "new_tokens",
)  # fmt: skip


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return old and new measurements; ValueError if they were measured in different ways."""
    other = next((key for key in MUST_AGREE if old.get(key) != new[key]), None)
    if other is not None:
        raise ValueError(
            f"The other drafters were measured with {other} {old.get(other)}, not {new[other]}. "
            "Measure all of them."
        )
    names = new["drafters"]

    def joined(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        rows = [row for row in ours["rows"] if row["name"] not in names]
        drafters = {**ours["drafters"], **theirs["drafters"]}
        return {**ours, "drafters": drafters, "rows": [*rows, *theirs["rows"]]}

    both = joined(old, new)
    return {**both, "same_budget": joined(old["same_budget"], new["same_budget"])}


def measurement_folders(target: str) -> list[Path]:
    """Return the folders for measurements: House's models, or each head of another target."""
    if target == HOUSE:
        return [MEASURED.parent]
    return [each.path for each in entries() if each.made_for == target and each.path]


def to_text(facts: Mapping[str, Any]) -> str:
    """Format data as indented JSON, with each list of numbers on one line."""
    text = json.dumps(facts, indent=1, allow_nan=False)
    return re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text) + "\n"


def measure_drafters(target: Target, plan: MeasurementPlan) -> dict[str, Any]:
    """Measure every drafter in every domain, and return the contents of measured.json."""
    names = list(plan.drafters) or drafter_names(target.card.name, None)
    chosen, absent = load_entrants(target, names, lambda name: plan.settings(name, 0.0))
    for name, why in absent.items():
        tqdm.write(f"{name} is left out: {why}")
    domains = encode_prompts(target, plan.prompts, plan.new_tokens)
    rows = [
        row for entrant in with_progress(chosen) for row in _rows(target, entrant, domains, plan)
    ]
    return {
        "machine": {"device": describe_device(target.device), "processor": cpu_name()},
        "threads": torch.get_num_threads(),
        "dtype": str(target.dtype).removeprefix("torch."),
        "versions": versions(),
        "target": target.card.hash,
        "seed": SEED,
        "prompts": plan.prompts,
        "repeats": plan.repeats,
        "new_tokens": plan.new_tokens,
        "drafters": {
            entrant.name: _describe(target, entrant, entrant.settings) for entrant in chosen
        },
        "left_out": absent,
        "rows": rows,
        "same_budget": _same_budget(target, chosen, domains, plan),
    }


def first_turns(path: Path) -> dict[str, list[str]]:
    """Read first turns by category, from MT-bench's JSON Lines.

    Raises ValueError if a line is no such question, or there is none; OSError if the file cannot be
    read.
    """
    found: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, category = row["turns"][0], row["category"]
            if not (isinstance(text, str) and isinstance(category, str)):
                raise TypeError("both are text")
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(
                f'Line {number} of {path.name} is not {{"category": …, "turns": [text, …]}}.'
            ) from error
        found.setdefault(category, []).append(text)
    if not found:
        raise ValueError(f"{path.name} has no questions.")
    return found


def measure_public(
    target: Target, plan: MeasurementPlan, questions: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Measure accepted lengths, untimed, on public questions by category."""
    names = list(plan.drafters) or drafter_names(target.card.name, None)
    chosen, _ = load_entrants(target, names, lambda name: plan.settings(name, 0.0))
    prompts = encode_texts(target, questions, plan.new_tokens)
    return {
        "target": target.card.hash,
        "questions": {category: len(texts) for category, texts in questions.items()},
        "new_tokens": plan.new_tokens,
        "seed": SEED,
        "drafters": {each.name: _describe(target, each, each.settings) for each in chosen},
        "rows": untimed_rows(target, chosen, prompts, plan.settings),
    }


def with_progress(entrants: Sequence[Entrant]) -> Iterator[Entrant]:
    """Yield the drafters, and show a progress bar with their names."""
    bar = tqdm(entrants, unit="drafter")
    for entrant in bar:
        bar.set_description(entrant.name)
        yield entrant


def _describe(target: Target, entrant: Entrant, settings: Settings) -> dict[str, Any]:
    card = entrant.drafter.card
    entry = find(entrant.name, "drafter")
    reads = entry.reads if entry else []
    settings_json = settings.at_depth(target.layers).to_json()
    own = entry is not None and entry.path is not None  # an oracle has the target's card
    return {
        "hash": card.hash if own else None,
        "bytes": card.bytes if own else 0,
        "parameters": card.parameters if own else 0,
        "settings": {name: settings_json[name] for name in reads},
    }


def _rows(
    target: Target, entrant: Entrant, domains: Mapping[str, Sequence[Prompt]], plan: MeasurementPlan
) -> Iterator[dict[str, Any]]:
    for temperature in TEMPERATURES:
        settings = plan.settings(entrant.name, temperature)
        methods = [
            plain_method(target, settings),
            drafter_method(target, Entrant(entrant.drafter, settings)),
        ]
        for row in measure(target, methods, domains, plan.repeats):
            if row.name == entrant.name:
                yield _round_row(row)


def _round_row(row: Row) -> dict[str, Any]:
    # Without the fields that are the same in all rows.
    return {name: rounded(v) for name, v in asdict(row).items() if name not in SHARED_FIELDS}


def _same_budget(
    target: Target,
    entrants: Iterable[Entrant],
    domains: Mapping[str, Sequence[Prompt]],
    plan: MeasurementPlan,
) -> dict[str, Any]:
    able = [each for each in entrants if equal_budget_settings(each.name) is not None]
    drafters = {
        entrant.name: _describe(target, entrant, plan.equal_budget_settings(entrant.name, 0.0))
        for entrant in able
    }
    rows = untimed_rows(target, able, domains, plan.equal_budget_settings)
    return {"guesses": BUDGET, "drafters": drafters, "rows": rows}


def untimed_rows(
    target: Target,
    entrants: Iterable[Entrant],
    domains: Mapping[str, Sequence[Prompt]],
    settings: Callable[[str, float], Settings],
) -> list[dict[str, Any]]:
    """Decode every prompt once, and return what does not depend on the machine's speed.

    Returns a row per drafter, temperature and domain: tokens per pass and statistics of the
    guesses.

    Args:
        target: The target model.
        entrants: The drafters.
        domains: Prompts by domain.
        settings: Returns the settings for a drafter's name and a temperature.
    """
    rows = []
    for entrant in with_progress(list(entrants)):
        for temperature in TEMPERATURES:
            chosen = Entrant(entrant.drafter, settings(entrant.name, temperature))
            method = drafter_method(target, chosen)
            for domain, prompts in domains.items():
                outcomes = [method.decode(prompt).finalize() for prompt in prompts]
                row = {"name": entrant.name, "domain": domain, "temperature": temperature}
                row |= {"tokens_per_pass": tokens_per_pass(outcomes), **guess_statistics(outcomes)}
                rows.append({name: rounded(value) for name, value in row.items()})
    return rows


def rounded(value: Any) -> Any:
    """Round a number, or every number of a list, to four digits; return anything else unchanged."""
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, DIGITS) if isinstance(value, float) else value
