"""`compare`: two to four lanes and plain decoding on one prompt, as words or as one JSON object.

Rule: a setting beside the lanes is said to all of them, one inside a lane to that lane alone; where
neither says anything, a drafter has what suits it.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specviz.commands.outputs import STANDARD_OUTPUT, printable, require_writable, write_json
from specviz.commands.run import STOPPED, add_target, interruptible
from specviz.compare.lane_text import EXAMPLE, LaneRequest, parse_lane
from specviz.compare.race import Race, distinct
from specviz.compare.results import Ended, Opening, RaceEvent, Results, Started
from specviz.compare.summary import race_summary
from specviz.frames.numbers import size
from specviz.models.files import public_name
from specviz.settings.options import add_settings, prompt, seed


def add_parser(subparsers: Any) -> None:
    """Add `compare` to the command line."""
    parser = subparsers.add_parser("compare", help="race drafters beside plain decoding")
    parser.add_argument("--prompt", type=prompt, required=True, help="the text to go on from")
    parser.add_argument("--drafters", default="", metavar="A,B,...", help="a lane for each of them")
    lane = f"a lane with settings of its own, such as {EXAMPLE}; may be repeated"
    parser.add_argument("--lane", action="append", default=[], metavar="LANE", help=lane)
    order = seed("The seed of the order")
    shuffles = "shuffles the lanes; a new one unless given"
    parser.add_argument("--order-seed", type=order, help=shuffles)
    parser.add_argument("--json", metavar="FILE", help="write one JSON object; - prints it")
    parser.add_argument("--traces", metavar="FOLDER", help="write the trace of every lane there")
    add_target(parser)
    add_settings(parser)
    parser.set_defaults(func=compare)


def compare(args: argparse.Namespace) -> int:
    """Race, then write what was asked for. Returns the exit status."""
    race = race_of(args)
    require_writable(args.json)
    folder = None if args.traces is None else _folder(args.traces)
    from specviz.catalog.loading import load_drafter, load_target
    from specviz.compare.run import run

    target = load_target(args.target, args.device, args.dtype)
    drafters = {lane.name: load_drafter(lane.drafter, target) for lane in race.lanes}
    results = Results(race)
    with interruptible() as stop:
        for event in run(target, drafters, race, stop):
            results.take(event)
            for line in progress(results, event):
                print(printable(line), file=sys.stderr, flush=True)
    if folder is not None:
        _write_traces(folder, results)
    _report(args.json, results)
    return STOPPED if stop() else 0


def race_of(args: argparse.Namespace) -> Race:
    """The race that the options ask for. Raises BadSettings with a sentence."""
    names = [name.strip() for name in args.drafters.split(",") if name.strip()]
    asked = [LaneRequest(public_name(name), name, args) for name in names]
    asked += [parse_lane(text, args) for text in args.lane]
    called = distinct(one.words for one in asked)
    lanes = tuple(one.lane(name) for one, name in zip(asked, called, strict=True))
    seed = secrets.randbits(32) if args.order_seed is None else args.order_seed
    return Race(args.prompt, public_name(args.target), lanes, seed)


def progress(results: Results, event: RaceEvent) -> Iterator[str]:
    """What a person who waits is told."""
    match event:
        case Opening():
            seed = results.race.order_seed
            yield f"In this order (--order-seed {seed}): {', '.join(event.order)}"
        case Started():
            again = f", run {event.turn}" if event.turn > 1 else ""
            yield f"{event.place} of {len(results.order)}: {event.lane}{again}"
        case Ended() if event.trace.finished and event.trace.finished.reason == "stopped":
            yield f"{event.lane} was stopped."


def words(whole: dict[str, Any]) -> Iterator[str]:
    """What `race_summary` says of a race, in lines: the text once where all lanes have the same."""
    same = whole["texts"]["same"]
    lead = whole["prompt"] + ("\n" if whole["chat"] else "")  # an answer begins on its own line
    if same:
        yield lead + whole["lanes"][0]["text"]
        yield ""
    yield whole["headline"]
    yield whole["texts"]["sentence"]
    yield from filter(None, [whole["caution"]])
    for lane in whole["lanes"]:
        yield ""
        yield _numbers(lane)
        yield f"  {lane['sentence']}"
        if not same:
            yield f"  {lane['equality']['sentence']}"
            yield f"  {lead}{lane['text']}"


def _numbers(lane: dict[str, Any]) -> str:
    """One lane's numbers in a line; what was not measured is left out."""
    flops, speed, ratio = (lane[k] for k in ("flops_per_token", "tokens_per_second", "speedup"))
    held = lane["held_bytes"]
    parts = [
        lane["name"],
        _ratio(ratio, lane["speedups"]) if ratio is not None and lane["noise"] is None else "",
        f"{lane['tokens']} tokens in {lane['seconds']:.2f} s",
        f"{speed:.1f} tokens/s" if speed is not None else "",
        f"α {lane['alpha']:.2f}" if lane["alpha"] is not None else "",
        f"{flops / 1e6:,.1f} MFLOP a token" if flops is not None else "",
        f"extra files: {size(lane['bytes'])}",
        f"held in memory: {size(held)}" if held is not None else "",
    ]
    return "  ".join(filter(None, parts))


def _ratio(ratio: float, speedups: tuple[float, float] | None) -> str:
    """The speed-up, and how far it lay apart in several runs."""
    apart = f" ({speedups[0]:.2f} to {speedups[1]:.2f})" if speedups else ""
    return f"x{ratio:.2f} plain{apart}"


def _report(place: str | None, results: Results) -> None:
    """Write the JSON object if asked for; print words unless it took standard output."""
    whole = race_summary(results)
    if place is not None:
        write_json(place, whole)
    if place != STANDARD_OUTPUT:
        print("\n".join(map(printable, words(whole))))


def _folder(place: str) -> Path:
    """The folder for traces, made where it was missing. Raises ValueError with a sentence."""
    folder = Path(place)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(f"{place!r} cannot hold traces: {error.strerror}.") from error
    require_writable(str(folder / "1.jsonl"))
    return folder


def _write_traces(folder: Path, results: Results) -> None:
    """A file a lane, numbered in the order in which they ran."""
    for place, name in enumerate(results.traces, start=1):
        file = re.sub(r"[^\w.=-]+", "-", name).strip("-")
        results.measured(name).write(folder / f"{place}-{file}.jsonl")
