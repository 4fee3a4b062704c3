"""A race as one JSON object: its numbers and their sentences, as far as it came.

Standard library only.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from specviz.compare.names import LaneName, lane_names
from specviz.compare.parts import joined
from specviz.compare.race import PLAIN
from specviz.compare.report import LaneReport, reports
from specviz.compare.results import Results
from specviz.compare.text import badge, caution, decimals, headline, sentence, words
from specviz.cost.measured_point import measured_point
from specviz.trace.file import Trace


def race_summary(results: Results) -> dict[str, Any]:
    """What `specviz compare --json` prints; `lanes` holds those that the race came to."""
    race, lanes, names = results.race, reports(results), lane_names(results.race)
    same, texts = badge(lanes)
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
        "texts": {"same": same, "sentence": joined(texts), "sentence_parts": texts},
        "lanes": [_lane(lane, names[lane.name], results.measured(lane.name)) for lane in lanes],
    }


def _lane(lane: LaneReport, name: LaneName, trace: Trace) -> dict[str, Any]:
    """A lane's numbers and sentences. title, said: what people call it, and its settings.

    sentence_parts: the sentence as compare/parts.py has it. decimals: of what is said in it.
    """
    why = sentence(lane)
    data = asdict(lane)
    if lane.costs is not None:
        data["costs"] |= {"total": lane.costs.total}
    data["equality"] |= {"sentence": words(lane)}
    return {
        "name": data.pop("name"),
        "title": name.title,
        "said": name.shape,
        "sentence": joined(why),
        "sentence_parts": why,
        "decimals": decimals(lane),
        "point": None if lane.name == PLAIN else _point(trace),
    } | data


def _point(trace: Trace) -> dict[str, Any] | None:
    """Where a lane stands on the speed law's surface, and the law's own answer there."""
    point = measured_point(trace)
    return None if point is None else asdict(point) | {"predicted": point.predicted}
