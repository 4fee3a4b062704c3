"""`bench`: how fast each way of decoding is here, as a table or as JSON rows.

Rule: it measures at temperature 0 unless told otherwise, where every way gives the same text.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from specviz.catalog import entries
from specviz.commands.outputs import STANDARD_OUTPUT, require_writable, write_json
from specviz.commands.run import add_models, add_settings, settings_of
from specviz.prompts import prompts

if TYPE_CHECKING:
    from specviz.bench.methods import Prompt
    from specviz.target import Target


def add_parser(subparsers: Any) -> None:
    """Add `bench` to the command line."""
    parser = subparsers.add_parser("bench", help="measure speed beside plain and transformers")
    parser.add_argument("--json", metavar="FILE", help="write JSON rows; - prints them")
    parser.add_argument("--prompts", type=int, default=3, help="per domain, at most")
    parser.add_argument("--repeats", type=int, default=3, help="turns per prompt")
    add_models(parser)
    add_settings(parser)
    parser.set_defaults(func=run, temperature=0.0, drafter=None)


def run(args: argparse.Namespace) -> int:
    """Measure, printing each row when its domain is done."""
    settings = settings_of(args)
    require_writable(args.json)
    if min(args.prompts, args.repeats) < 1:
        raise ValueError("Prompts and repeats must be 1 or more.")
    from specviz.bench.measure import measure
    from specviz.bench.methods import methods
    from specviz.catalog.loading import load_drafter, load_target

    target = load_target(args.target, args.device, args.dtype)
    drafters = [load_drafter(name, target) for name in drafters_for(args.target, args.drafter)]
    ways = methods(target, drafters, settings)
    texts = encoded(target, args.prompts, settings.max_new_tokens)
    rows: list[dict[str, Any]] = []
    for row in measure(target, ways, texts, settings, args.repeats):
        rows.append(asdict(row))
        if args.json != STANDARD_OUTPUT:
            print(words(rows[-1]), flush=True)
    if args.json is not None:
        write_json(args.json, rows)
    return 0


def drafters_for(target: str, named: str | None) -> list[str]:
    """The drafter that was named; else those made for the target, then those that fit any."""
    those = [entry for entry in entries() if entry.kind == "drafter"]
    if named:
        return [named]
    own = [e.name for e in those if e.made_for == target]
    return own + [e.name for e in those if e.made_for is None]


def encoded(target: Target, most: int, new_tokens: int) -> dict[str, list[Prompt]]:
    """The first `most` house prompts of each domain, as the target's tokens."""
    from specviz.bench.methods import Prompt

    return {
        domain: [Prompt(text, tuple(target.encode(text, new_tokens))) for text in texts[:most]]
        for domain, texts in prompts().items()
    }


def words(row: dict[str, Any]) -> str:
    """One row as a line of a table."""
    ratio, cost = row["ratio_to_transformers"], row["draft_cost"]
    return (
        f"{row['domain']:<10} {row['name']:<33} {row['tokens_per_second']:8.1f} tokens/s"
        f"  x{row['ratio_to_plain']:.2f} plain"
        f"  {row['tokens_per_pass']:5.2f} a pass"
        + (f"  x{ratio:.2f} transformers" if ratio is not None else "")
        + (f"  draft cost {cost:.3f}" if cost is not None else "")
    )
