"""`compare`: two to four lanes and plain decoding on one prompt, as a table or as one JSON object.

The temperature is 0 by default, as on the page, so that all lanes write the same text. An option
applies to all lanes, and a setting within a lane only to that lane. Other settings that are not
given have the drafter's own defaults.
"""

from __future__ import annotations

import argparse
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from specviz.commands.output import (
    STANDARD_OUTPUT,
    Column,
    print_table,
    printable,
    require_writable,
    say,
    write_json,
)
from specviz.commands.parser import INTERRUPTED, Parser, add_prompt, add_target, interruptible
from specviz.commands.progress import show_loading
from specviz.compare.lanes import EXAMPLE, RACE_TEMPERATURE, LaneRequest, build_race, parse_lane
from specviz.compare.race import (
    LaneEnded,
    LaneStarted,
    Race,
    RaceEvent,
    RaceStarted,
    Results,
)
from specviz.compare.storage import FILE, SavedRace, write_saved
from specviz.compare.summary import race_summary
from specviz.frames.numbers import format_bytes
from specviz.models.files import public_name
from specviz.settings.settings import add_settings, option_group, seed_type

COMMON: Final = (
    "prompt", "drafters", "lane", "target", "temperature", "seed", "max_new_tokens", "gamma",
    "order_seed", "json", "traces",
)  # fmt: skip
COLUMNS: Final = (
    Column("Lane"),
    Column("× plain", right=True),
    Column("Tokens", right=True),
    Column("Seconds", right=True),
    Column("Tokens/s", right=True),
    Column("α", right=True),
    Column("MFLOP/token", right=True),
    Column("Extra files", right=True),
    Column("Held in memory", right=True),
)


def add_options(parser: Parser) -> None:
    """Add the options of `compare`."""
    parser.usage = "%(prog)s --prompt TEXT --drafters A,B,... [OPTIONS]"
    add_prompt(parser)
    lanes = option_group(parser, "lanes")
    each = "drafters to compare, each with its own default settings"
    lanes.add_argument("--drafters", default="", metavar="A,B,...", help=each)
    lane = f"a drafter with settings of its own, such as {EXAMPLE}; can be repeated"
    lanes.add_argument("--lane", action="append", default=[], metavar="LANE", help=lane)
    order = seed_type("The seed of the order")
    shuffles = "seed of the order of the lanes (default: a new one each time)"
    lanes.add_argument("--order-seed", type=order, metavar="N", help=shuffles)
    add_target(parser)
    add_settings(parser)
    output = option_group(parser, "output")
    output.add_argument("--json", metavar="FILE", help="write the result as JSON (- prints it)")
    traces = f"write the trace of each lane there, and {FILE}, so that `export` can replay the race"
    output.add_argument("--traces", metavar="FOLDER", help=traces)
    parser.set_defaults(func=compare, temperature=RACE_TEMPERATURE)
    parser.shorten(COMMON)


def compare(args: argparse.Namespace) -> int:
    """Run the lanes, write the outputs and return the exit status."""
    race = parse_race(args)
    require_writable(args.json)
    folder = None if args.traces is None else _make_folder(args.traces)
    with show_loading():
        from specviz.catalog.loading import load_drafter, load_target
        from specviz.compare.run import run

        target = load_target(args.target, args.device, args.dtype)
        drafters = {lane.name: load_drafter(lane.drafter, target) for lane in race.lanes}
    results = Results(race)
    with interruptible() as stop:
        for event in run(target, drafters, race, stop):
            results.add(event)
            for line in progress_lines(results, event):
                say(line, stderr=True)
    if folder is not None:
        _write_traces(folder, results)
    _report(args.json, results)
    return INTERRUPTED if stop() else 0


def parse_race(args: argparse.Namespace) -> Race:
    """Build the race that the options describe. Raises BadSettings."""
    names = [name.strip() for name in args.drafters.split(",") if name.strip()]
    requests = [LaneRequest(public_name(name), name, args) for name in names]
    requests += [parse_lane(text, args) for text in args.lane]
    seed = secrets.randbits(32) if args.order_seed is None else args.order_seed
    return build_race(args.prompt, args.target, requests, seed)


def progress_lines(results: Results, event: RaceEvent) -> Iterator[str]:
    """Yield lines on the progress of a comparison."""
    match event:
        case RaceStarted():
            seed = results.race.order_seed
            yield f"In this order (--order-seed {seed}): {', '.join(event.order)}"
        case LaneStarted():
            turn = f", run {event.turn}" if event.turn > 1 else ""
            yield f"{event.number} of {len(results.order)}: {event.lane}{turn}"
        case LaneEnded() if event.trace.finished and event.trace.finished.reason == "stopped":
            yield f"{event.lane} was stopped."


def headline_lines(whole: dict[str, Any]) -> Iterator[str]:
    """Yield the headline, whether all texts are the same, and a warning if there is one."""
    yield whole["headline"]
    yield whole["texts"]["sentence"]
    yield from filter(None, [whole["caution"]])


def explanations(whole: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield, for each lane, sentences on its speed, and on its text if the texts differ."""
    for lane in whole["lanes"]:
        differs = [] if whole["texts"]["same"] else [lane["equality"]["sentence"]]
        yield lane["name"], [lane["sentence"], *differs]


def lane_cells(lane: dict[str, Any]) -> list[str]:
    """Return a row of the table for a lane; cells that were not measured are empty."""
    flops, speed, ratio = (lane[k] for k in ("flops_per_token", "tokens_per_second", "speedup"))
    memory = lane["held_bytes"]
    stated = ratio is not None and lane["noise"] is None
    return [
        lane["name"],
        _ratio(ratio, lane["speedups"]) if stated else "",
        str(lane["tokens"]),
        f"{lane['seconds']:.2f}",
        f"{speed:.1f}" if speed is not None else "",
        f"{lane['alpha']:.2f}" if lane["alpha"] is not None else "",
        f"{flops / 1e6:,.1f}" if flops is not None else "",
        format_bytes(lane["bytes"]),
        format_bytes(memory) if memory is not None else "",
    ]


def _ratio(ratio: float, speedups: tuple[float, float] | None) -> str:
    apart = f" ({speedups[0]:.2f} to {speedups[1]:.2f})" if speedups else ""
    return f"{ratio:.2f}{apart}"


def _print(whole: dict[str, Any]) -> None:
    lead = whole["prompt"] + ("\n" if whole["chat"] else "")  # an answer begins on a new line
    same = whole["texts"]["same"]
    if same:
        print(printable(f"{lead}{whole['lanes'][0]['text']}"), end="\n\n", flush=True)
    for line in headline_lines(whole):
        say(line, "bold" if line == whole["headline"] else "")
    say()
    print_table(COLUMNS, [lane_cells(lane) for lane in whole["lanes"]])
    texts = {lane["name"]: lane["text"] for lane in whole["lanes"]}
    for name, sentences in explanations(whole):
        say()
        say(name, "cyan")
        for sentence in sentences:
            say(sentence)
        if not same:
            print(printable(f"{lead}{texts[name]}"), flush=True)


def _report(path: str | None, results: Results) -> None:
    whole = race_summary(results)
    if path is not None:
        write_json(path, whole)
    if path != STANDARD_OUTPUT:
        _print(whole)


def _make_folder(path: str) -> Path:
    folder = Path(path)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(f"{path!r} cannot be a folder for traces: {error.strerror}.") from error
    require_writable(str(folder / "1.jsonl"))
    return folder


def _write_traces(folder: Path, results: Results) -> None:
    files = {
        name: f"{number}-{_slug(name)}.jsonl" for number, name in enumerate(results.traces, start=1)
    }
    for name, file in files.items():
        results.with_baseline(name).write(folder / file)
    if files:
        write_saved(folder, SavedRace.from_results(results, files))


def _slug(name: str) -> str:
    return re.sub(r"[^\w.=-]+", "-", name).strip("-")
