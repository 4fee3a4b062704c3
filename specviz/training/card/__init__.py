"""The data of model cards: manifests and measurements.

Measurements are refused if they were made with other weights than the folder contains.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specviz import shipped
from specviz.catalog import find
from specviz.catalog.loading import trainable_heads
from specviz.models.files import fingerprint, weight_files
from specviz.training.export import MANIFEST, read_manifest

Manifest = dict[str, Any]


FINISHED: Final = ("target", "draft-model")
PEERS_FILE: Final = "peers.json"
MEASURE_HINT: Final = "run `python -m specviz train measure`"


class StaleMeasurements(ValueError):
    """Raised if measurements belong to other weights; the message says which, and what to do."""


@dataclass(frozen=True)
class Models:
    """Manifests and measurements of a folder of models.

    Attributes:
        measured: Contents of measured.json; None if there is none.
        peers: Contents of peers.json, vLLM's results with the weights; None if not tested.
    """

    folder: Path
    manifests: dict[str, Manifest]
    measured: dict[str, Any] | None = None
    peers: dict[str, Any] | None = None

    @property
    def heads(self) -> dict[str, Manifest]:
        """Return the manifests of the finished heads, in the order of the families."""
        return {name: self.manifests[name] for name in trainable_heads() if name in self.manifests}


def read_models(folder: Path) -> Models:
    """Read all manifests and measurements.

    Raises FileNotFoundError if the target or the draft model is not finished; StaleMeasurements if
    measurements belong to other weights.
    """
    heads = [name for name in trainable_heads() if (folder / name / MANIFEST).is_file()]
    manifests = {name: read_manifest(folder / name) for name in (*FINISHED, *heads)}
    return Models(folder, manifests, read_measured(folder), read_peers(folder))


def read_measured(folder: Path) -> dict[str, Any] | None:
    """Read the measurements of these weights; None if missing.

    Raises StaleMeasurements if they belong to other weights.
    """
    found = shipped.measured(folder / shipped.MEASURED.name)
    if found is None:
        return None
    _require(folder / "target", "the target", found["target"])
    for facts in (found["drafters"], found["same_budget"]["drafters"]):
        for name, about in facts.items():
            if about["hash"] is not None:
                _require(folder / _weights_of(name), name, about["hash"])
    return found


def read_peers(folder: Path) -> dict[str, Any] | None:
    """Read vLLM's results with these weights; None if missing.

    Raises StaleMeasurements if the results belong to other weights.
    """
    found = shipped.measured(folder / PEERS_FILE)
    if found is None:
        return None
    helps = "run `python tests/peers/vllm_accepted.py FOLDER`"
    _require(folder / "target", "the target", found["target"], PEERS_FILE, helps)
    for row in found["rows"]:
        if row["hash"] is not None:
            name = row["drafter"]
            _require(folder / _weights_of(name), name, row["hash"], PEERS_FILE, helps)
    return found


def _weights_of(drafter: str) -> str:
    # EAGLE-2 uses those of EAGLE.
    entry = find(drafter, "drafter")
    return drafter if entry is None or entry.folder is None else Path(entry.folder).name


def _require(
    folder: Path,
    name: str,
    hash: str | None,
    file: str = shipped.MEASURED.name,
    helps: str = MEASURE_HINT,
) -> None:
    if fingerprint(weight_files(folder)) != hash:
        raise StaleMeasurements(
            f"{file} has measurements of {name} with other weights than those in "
            f"{folder.name!r}: {helps}, or delete that file."
        )
