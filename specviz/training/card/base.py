"""What every section of the card is made from: the manifests, and what was measured.

Rule: numbers that were measured on other weights than those that lie there are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specviz.catalog import find
from specviz.catalog.training import names
from specviz.models.files import fingerprint, weight_files
from specviz.shipped import MEASURED, measured
from specviz.training.export import MANIFEST, read_manifest

Manifest = dict[str, Any]


FINISHED: Final = ("target", "draft-model")
PEERS: Final = "peers.json"
MEASURE: Final = "run `python -m specviz train measure`"


class StaleMeasurements(ValueError):
    """Numbers of other weights; the message is a sentence that says which, and what to do."""


@dataclass(frozen=True)
class Models:
    """The manifests by stage, what was measured (None: nothing yet), and where the folders lie.

    peers: what another program was seen to do with them; None: nothing yet.
    """

    folder: Path
    manifests: dict[str, Manifest]
    measured: dict[str, Any] | None = None
    peers: dict[str, Any] | None = None

    @property
    def target(self) -> Manifest:
        """The target's manifest."""
        return self.manifests["target"]

    @property
    def draft(self) -> Manifest:
        """The draft model's manifest."""
        return self.manifests["draft-model"]

    @property
    def heads(self) -> dict[str, Manifest]:
        """The manifests of the heads that are finished, in the order in which they are known."""
        return {name: self.manifests[name] for name in names() if name in self.manifests}


def read_models(folder: Path) -> Models:
    """All that lies in `folder`. Raises `FileNotFoundError` where a model is not finished, and
    `StaleMeasurements`.
    """
    heads = [name for name in names() if (folder / name / MANIFEST).is_file()]
    manifests = {name: read_manifest(folder / name) for name in (*FINISHED, *heads)}
    return Models(folder, manifests, read_measured(folder), read_peers(folder))


def read_measured(folder: Path) -> dict[str, Any] | None:
    """What was measured on the weights in `folder`; None where nothing was.

    Raises `StaleMeasurements` for numbers of a target or drafter with other weights.
    """
    found = measured(folder / MEASURED.name)
    if found is None:
        return None
    _require(folder / "target", "the target", found["target"])
    for facts in (found["drafters"], found["same_budget"]["drafters"]):
        for name, about in facts.items():
            if about["hash"] is not None:
                _require(folder / _weights_of(name), name, about["hash"])
    return found


def read_peers(folder: Path) -> dict[str, Any] | None:
    """What vLLM was seen to do with the weights in `folder`; None where that was never tried.

    Raises `StaleMeasurements` where it was seen with other weights.
    """
    found = measured(folder / PEERS)
    if found is None:
        return None
    helps = "run `python tests/peers/vllm_accepted.py FOLDER`"
    _require(folder / "target", "the target", found["target"], PEERS, helps)
    for row in found["rows"]:
        if row["hash"] is not None:
            name = row["drafter"]
            _require(folder / _weights_of(name), name, row["hash"], PEERS, helps)
    return found


def _weights_of(drafter: str) -> str:
    """The name of the folder that holds its weights: EAGLE-2 has EAGLE's."""
    entry = find(drafter, "drafter")
    return drafter if entry is None or entry.folder is None else Path(entry.folder).name


def _require(
    folder: Path, name: str, hash: str | None, file: str = MEASURED.name, helps: str = MEASURE
) -> None:
    if fingerprint(weight_files(folder)) != hash:
        raise StaleMeasurements(
            f"{file} has numbers of {name} with other weights than those in "
            f"{folder.name!r}: {helps}, or delete that file."
        )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float | None, digits: int = 2) -> str:
    """A number for a table; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percents(values: Sequence[float | None] | None, counts: Sequence[int], least: int) -> str:
    """Shares as "90 · 75", in percent; a dash for one of fewer than `least` cases."""
    shown = [
        "–" if value is None or many < least else f"{value:.0%}".rstrip("%")
        for value, many in zip(values or [], counts, strict=True)
    ]
    while shown and shown[-1] == "–":
        shown.pop()
    return " · ".join(shown) or "–"


def megabytes(size: float) -> str:
    """Bytes for a table."""
    return f"{size / 1e6:.2f} MB" if size else "none"


def wording(settings: Mapping[str, Any]) -> str:
    """Settings in a few words: those that are off or empty are left out."""
    skipped = {"schedule", "candidates"}
    parts = []
    for name, value in settings.items():
        if name not in skipped and value not in ([], 0, 0.0):
            many = isinstance(value, list) and value and isinstance(value[0], list)
            parts.append(f"{name} {f'{len(value)} paths' if many else value}")
    return ", ".join(parts) or "none"
