"""`bench`: the speed of each method of decoding on this machine, as a table or as JSON rows.

The temperature is 0 by default, so that all methods give the same text. Each drafter has its own
default settings; an option applies to all drafters. After Ctrl-C, the finished rows are written.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from specviz.catalog.entry import settings_from_args
from specviz.commands.output import (
    STANDARD_OUTPUT,
    Column,
    print_table,
    require_writable,
    say,
    write_json,
)
from specviz.commands.parser import INTERRUPTED, Parser, add_target, add_tree_size, interruptible
from specviz.commands.pipes import is_reader_gone
from specviz.commands.progress import CallProgress, show_loading
from specviz.settings.settings import MAX_COUNT, add_settings, count_type, option_group

if TYPE_CHECKING:
    from specviz.bench.measure import Row
    from specviz.bench.methods import Method, Prompt
    from specviz.models.target import Target
    from specviz.settings.settings import Settings

COMMON: Final = (
    "prompts", "repeats", "target", "drafter", "max_new_tokens", "temperature", "seed", "gamma",
    "json",
)  # fmt: skip


def add_options(parser: Parser) -> None:
    """Add the options of `bench`."""
    parser.usage = "%(prog)s [OPTIONS]"
    extent = option_group(parser, "how much is measured")
    prompts, repeats = count_type("Prompts", 1, MAX_COUNT), count_type("Repeats", 1, MAX_COUNT)
    extent.add_argument(
        "--prompts", type=prompts, default=3, metavar="N", help="prompts per domain (default: 3)"
    )
    extent.add_argument(
        "--repeats",
        type=repeats,
        default=3,
        metavar="N",
        help="repeats of each prompt (default: 3)",
    )
    add_target(parser)
    option_group(parser, "models").add_argument(
        "--drafter",
        metavar="NAME",
        help="measure only this drafter (default: all that are on this machine)",
    )
    add_settings(parser)
    add_tree_size(parser)
    output = option_group(parser, "output")
    output.add_argument("--json", metavar="FILE", help="write the rows as JSON (- prints them)")
    parser.set_defaults(func=run, temperature=0.0)
    parser.shorten(COMMON)


def run(args: argparse.Namespace) -> int:
    """Measure, print the rows of each domain as it is finished, and return the exit status."""
    settings = settings_from_args(args)
    require_writable(args.json)
    with show_loading():
        from specviz.bench.limit import make_limiter
        from specviz.bench.measure import Progress, count_calls, measure
        from specviz.bench.methods import all_methods, drafter_names, encode_prompts, load_entrants
        from specviz.catalog.loading import load_target

        target = load_target(args.target, args.device, args.dtype)
        entrants, absent = load_entrants(
            target,
            drafter_names(args.target, args.drafter),
            lambda name: settings_from_args(args, name),
            must=args.drafter is not None,
        )
    texts = encode_prompts(target, args.prompts, settings.max_new_tokens)
    methods = all_methods(target, entrants, settings)
    quiet = args.json == STANDARD_OUTPUT
    with ExitStack() as stack, interruptible() as stop:
        methods += add_other_programs(target, settings, texts, absent, stack)
        for name, why in absent.items():
            say(f"{name} is left out: {why}", "yellow", stderr=True)
        columns = table_columns(list(texts), [method.name for method in methods])
        with CallProgress(count_calls(methods, texts, args.repeats)) as progress:
            printer = Printer(columns, progress, quiet)
            # Without a file, nobody would see further rows once the reader of a pipe is gone.
            unread = is_reader_gone if args.json is None else lambda: False
            monitor = Progress(lambda: stop() or unread(), progress.advance)
            limit = make_limiter(target, settings.max_new_tokens)
            rows = printer.print(measure(target, methods, texts, args.repeats, monitor, limit))
    if not quiet:
        print_limit(rows)
    if args.json is not None:
        write_json(args.json, rows)
    if stop():
        say("Stopped: rows marked partial have fewer turns, and domains may be missing.",
            "yellow", stderr=True)  # fmt: skip
    return INTERRUPTED if stop() else 0


def add_other_programs(
    target: Target,
    settings: Settings,
    texts: Mapping[str, Sequence[Prompt]],
    absent: dict[str, str],
    stack: ExitStack,
) -> list[Method]:
    """Start other inference programs with the same weights.

    Returns one method per program. absent: receives the reason for each program that is left out,
    by its name.
    """
    from specviz.bench.llamacpp import LLAMA_CPP, LlamaCppError, llama_cpp
    from specviz.bench.methods import MTP
    from specviz.bench.reference import explain_no_mtp

    if why := explain_no_mtp(target):
        absent[MTP] = why
    prompts = [prompt for several in texts.values() for prompt in several]
    try:
        return [stack.enter_context(llama_cpp(target, settings, prompts))]
    except LlamaCppError as error:
        absent[LLAMA_CPP] = str(error)
    return []


def print_limit(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the memory limit and the share reached, and which texts differ and times are noisy."""
    from specviz.bench.limit_text import limit_text, text_mismatches
    from specviz.bench.noise import noise_text

    notes = (limit_text(rows), ""), (text_mismatches(rows), "yellow"), (noise_text(rows), "yellow")
    for sentence, style in notes:
        if sentence:
            say(sentence, style)


def table_columns(domains: Sequence[str], names: Sequence[str]) -> list[Column]:
    """Return the columns, wide enough for all domains, which are printed one by one."""
    return [
        Column("Domain", width=max(map(len, ["Domain", *domains]))),
        Column("Method", width=max(map(len, ["Method", *names]))),
        Column("Tokens/s", right=True, width=8),
        Column("× plain", right=True, width=7),
        Column("Tokens/pass", right=True, width=11),
        Column("α", right=True, width=4),
        Column("× transformers", right=True, width=14),
        Column("Draft cost", right=True, width=10),
        Column("Of the limit", right=True, width=12),
        Column("", width=10),
    ]


class Printer:
    """Collects rows, and prints the rows of a domain when they are complete.

    Args:
        progress: The bar that is hidden while rows are printed.
        quiet: Whether to collect the rows without printing them.
    """

    def __init__(self, columns: Sequence[Column], progress: CallProgress, quiet: bool) -> None:
        self._columns, self._progress, self._quiet = columns, progress, quiet
        self._header = True

    def print(self, rows: Iterable[Row]) -> list[dict[str, Any]]:
        """Print the rows of each domain, and return all rows."""
        found: list[dict[str, Any]] = []
        waiting: list[dict[str, Any]] = []
        for row in map(asdict, rows):
            if waiting and waiting[-1]["domain"] != row["domain"]:
                self._table(waiting)
                waiting = []
            found.append(row)
            waiting.append(row)
        self._table(waiting)
        return found

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if self._quiet or not rows:
            return
        with self._progress.paused():
            print_table(self._columns, [row_cells(row) for row in rows], header=self._header)
        self._header = False


def row_cells(row: Mapping[str, Any]) -> list[str]:
    """Return a row of the table; cells that were not measured are empty."""
    ratio, cost, alpha = row["ratio_to_transformers"], row["draft_cost"], row["alpha"]
    share = row["share_of_limit_after_prompt"]
    marks = [*(["partial"] if row["partial"] else []), *(["unreliable"] if row["noise"] else [])]
    return [
        row["domain"],
        row["name"],
        f"{row['tokens_per_second']:.1f}",
        f"{row['ratio_to_plain']:.2f}",
        f"{row['tokens_per_pass']:.2f}",
        f"{alpha:.2f}" if alpha is not None else "",
        f"{ratio:.2f}" if ratio is not None else "",
        f"{cost:.3f}" if cost is not None else "",
        f"{share:.2f}" if share is not None else "",
        ", ".join(marks),
    ]
