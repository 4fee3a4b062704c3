"""A race as one JSON object: its numbers and their sentences so far."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from specviz.compare.labels import LaneLabel, lane_labels
from specviz.compare.race import PLAIN
from specviz.compare.report import LaneReport, reports
from specviz.compare.results import Results
from specviz.compare.sentences import (
    caution,
    decimals,
    equality_sentence,
    headline,
    plain_text,
    speed_sentence,
    texts_sentence,
)
from specviz.cost.measured_point import measured_point
from specviz.trace.file import Trace


def race_summary(results: Results) -> dict[str, Any]:
    """Build what `specviz compare --json` prints; `lanes` has those that ran."""
    race, lanes, labels = results.race, reports(results), lane_labels(results.race)
    same, texts = texts_sentence(lanes)
    head = next(iter(results.traces.values())).header if results.traces else None
    return {
        "prompt": race.prompt,
        "chat": head is not None and head.chat is not None,
        "prompt_tokens": len(head.prompt_ids) if head else None,
        "target": head.target.name if head else None,
        "machine": head.machine if head else None,
        "device": head.device if head else None,
        "dtype": head.dtype if head else None,
        "threads": head.threads if head else None,
        "sampling": asdict(race.sampling),
        "seed": race.shared.seed,
        "max_new_tokens": race.shared.max_new_tokens,
        "order_seed": race.order_seed,
        "order": list(results.order),
        "complete": results.complete,
        "headline": headline(lanes),
        "caution": caution(lanes) or None,
        "texts": {"same": same, "sentence": plain_text(texts), "sentence_parts": texts},
        "lanes": [
            _lane(lane, labels[lane.name], results.with_baseline(lane.name)) for lane in lanes
        ],
    }


def _lane(lane: LaneReport, label: LaneLabel, trace: Trace) -> dict[str, Any]:
    """Build a lane's numbers and sentences. said: its settings in few words."""
    why = speed_sentence(lane)
    data = asdict(lane)
    if lane.costs is not None:
        data["costs"] |= {"total": lane.costs.total}
    data["equality"] |= {"sentence": equality_sentence(lane)}
    return {
        "name": data.pop("name"),
        "title": label.title,
        "said": label.shape,
        "sentence": plain_text(why),
        "sentence_parts": why,
        "decimals": decimals(lane),
        "point": None if lane.name == PLAIN else _point(trace),
    } | data


def _point(trace: Trace) -> dict[str, Any] | None:
    """A lane's measured point, with the speed-up that the formula predicts for it."""
    point = measured_point(trace)
    return None if point is None else asdict(point) | {"predicted": point.predicted}
