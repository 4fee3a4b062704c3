"""`bench`: how fast each way of decoding is here, as a table or as JSON rows.

Rule: it measures at temperature 0 unless told otherwise, where every way gives the same text; each
drafter has the settings that suit it, and what the command line says is said to all. It says how
far it is, and Ctrl-C ends it with what it has.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

from tqdm import tqdm

from specviz.catalog.entry import settings_of
from specviz.commands.outputs import STANDARD_OUTPUT, require_writable, write_json
from specviz.commands.run import STOPPED, add_models, interruptible
from specviz.commands.tree_size import add_tree_size
from specviz.settings.options import MOST, add_settings, count

if TYPE_CHECKING:
    from specviz.bench.measure import Row


def add_parser(subparsers: Any) -> None:
    """Add `bench` to the command line."""
    parser = subparsers.add_parser("bench", help="measure speed beside plain and transformers")
    parser.add_argument("--json", metavar="FILE", help="write JSON rows; - prints them")
    prompts, repeats = count("Prompts", 1, MOST), count("Repeats", 1, MOST)
    parser.add_argument("--prompts", type=prompts, default=3, help="per domain, at most")
    parser.add_argument("--repeats", type=repeats, default=3, help="turns per prompt")
    add_models(parser)
    add_settings(parser)
    add_tree_size(parser)
    parser.set_defaults(func=run, temperature=0.0, drafter=None)


def run(args: argparse.Namespace) -> int:
    """Measure, printing each row when its domain is done. Returns the exit status."""
    settings = settings_of(args)
    require_writable(args.json)
    from specviz.bench.measure import Watch, calls, measure
    from specviz.bench.methods import MTP, drafters_for, encoded, entrants, methods
    from specviz.bench.reference import why_no_mtp
    from specviz.catalog.loading import load_target

    target = load_target(args.target, args.device, args.dtype)
    taking, absent = entrants(
        target,
        drafters_for(args.target, args.drafter),
        lambda name: settings_of(args, name),
        must=args.drafter is not None,
    )
    if why := why_no_mtp(target):
        absent[MTP] = why
    for name, why in absent.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    texts = encoded(target, args.prompts, settings.max_new_tokens)
    ways = methods(target, taking, settings)
    with interruptible() as stop, progress(calls(ways, texts, args.repeats)) as bar:
        watch = Watch(stop, bar.update)
        rows = _listed(measure(target, ways, texts, args.repeats, watch), bar, args.json)
    if args.json is not None:
        write_json(args.json, rows)
    if stop():
        print("Stopped: rows marked partial rest on fewer turns, and domains may be missing.",
              file=sys.stderr)  # fmt: skip
    return STOPPED if stop() else 0


def progress(total: int, noun: str = "calls") -> tqdm[NoReturn]:
    """How many calls are done, and the time that is left, on standard error; a file gets few."""
    often = 0.5 if sys.stderr.isatty() else 30
    shape = f"{{n_fmt}} of {{total_fmt}} {noun}, {{percentage:.0f}}%, {{remaining}} left"
    return tqdm(total=total, bar_format=shape, mininterval=often, file=sys.stderr)


def _listed(rows: Iterable[Row], bar: tqdm[NoReturn], place: str | None) -> list[dict[str, Any]]:
    """The rows, each printed when it comes, unless JSON takes standard output."""
    found = []
    for row in rows:
        found.append(asdict(row))
        if place != STANDARD_OUTPUT:
            bar.clear()
            print(words(found[-1]), flush=True)
            bar.refresh()
    return found


def words(row: dict[str, Any]) -> str:
    """One row as a line of a table."""
    ratio, cost, alpha = row["ratio_to_transformers"], row["draft_cost"], row["alpha"]
    return (
        f"{row['domain']:<10} {row['name']:<33} {row['tokens_per_second']:8.1f} tokens/s"
        f"  x{row['ratio_to_plain']:.2f} plain"
        f"  {row['tokens_per_pass']:5.2f} a pass"
        + (f"  α {alpha:.2f}" if alpha is not None else "")
        + (f"  x{ratio:.2f} transformers" if ratio is not None else "")
        + (f"  draft cost {cost:.3f}" if cost is not None else "")
        + ("  partial" if row["partial"] else "")
    )
