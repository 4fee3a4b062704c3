"""`shapes`: the cost of drafting on this machine for models of public sizes, with random weights.

Nothing is downloaded, so this can be run on any machine with a GPU. The command first prints how
much memory a model needs, and skips models that do not fit. After Ctrl-C, the finished measurements
are written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Final

from specviz.commands.output import (
    STANDARD_OUTPUT,
    Column,
    print_table,
    require_writable,
    say,
    write_lines,
)
from specviz.commands.parser import INTERRUPTED, Parser, add_device, interruptible
from specviz.commands.progress import CallProgress
from specviz.cost.formatting import format_bytes, format_milliseconds, format_passes
from specviz.cost.measured_costs import CostFile, round_costs
from specviz.cost.measured_costs_text import caution, describe_machine, format_break_even
from specviz.cost.sources import Model, models
from specviz.cost.sweep_text import pass_rows
from specviz.models.devices import NotEnoughMemory, ran_out_of_memory
from specviz.settings.settings import count_type
from specviz.settings.suggestion import did_you_mean

if TYPE_CHECKING:
    from specviz.bench.shapes import ShapeMeasurement
    from specviz.engine.loop import Stop

DEFAULT_NAMES: Final = ("smollm2-135m", "qwen3-4b")
CONTEXTS: Final = (128, 1024, 4096)
ROUNDS: Final = 15
MAX_SIZE: Final = 8192  # maximum number of tokens in a pass
MAX_CONTEXT: Final = 32_768  # maximum number of tokens in the cache
PASSES: Final = (
    Column("Tokens", right=True),
    Column("Pass, ms", right=True),
    Column("Plain passes", right=True),
    Column("Roofline, ms (simulated)", right=True),
)
DRAFTERS: Final = (
    Column("Drafter"),
    Column("Draft, ms", right=True),
    Column("Draft cost", right=True),
    Column("Check cost", right=True),
    Column("Pays from α", right=True),
)
COSTS: Final = "Costs are in plain passes. The α from which drafting pays is simulated."


def add_options(parser: Parser) -> None:
    """Add the options of `shapes`."""
    known = ", ".join(models())
    parser.add_argument(
        "names", nargs="*", metavar="NAME", default=DEFAULT_NAMES, help=f"one or more of {known}"
    )
    parser.add_argument("--json", metavar="FILE", help="write the costs as JSON (- prints them)")
    contexts = count_type("The context", 8, MAX_CONTEXT)
    parser.add_argument(
        "--contexts", nargs="+", type=contexts, default=CONTEXTS, metavar="TOKENS",
        help="tokens in the cache before each pass (default: 128 1024 4096)",
    )  # fmt: skip
    sizes = count_type("The number of tokens of a pass", 1, MAX_SIZE)
    parser.add_argument(
        "--sizes", nargs="+", type=sizes, metavar="TOKENS",
        help="tokens of the passes (default: 1 to 64, on a GPU to 2048)",
    )  # fmt: skip
    rounds = count_type("Rounds", 1, 1000)
    text = "measurements of each kind (default: 15)"
    parser.add_argument("--rounds", type=rounds, default=ROUNDS, metavar="N", help=text)
    add_device(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print or write the result, and return the exit status."""
    require_writable(args.json)
    chosen = [_model(name) for name in dict.fromkeys(args.names)]
    from specviz.bench.shapes import ShapeMeasurement, ShapePlan, sizes_for
    from specviz.models.devices import pick_device, pick_dtype

    device = pick_device(args.device)
    sizes = args.sizes or sizes_for(device)
    contexts = tuple(sorted(set(args.contexts)))
    plan = ShapePlan(contexts, args.rounds, sizes=tuple(sorted(set(sizes))))
    measuring = ShapeMeasurement(
        device, pick_dtype(device, args.dtype), plan, _command(args, chosen)
    )
    with interruptible() as stop:
        left_out = [
            sentence for row in chosen if (sentence := _measure_model(measuring, row, stop))
        ]
    if not measuring.models:
        raise ValueError([*left_out, "Stopped before anything was measured."][0])
    costs = measuring.file()
    if args.json != STANDARD_OUTPUT:
        _print(costs)
    if args.json is not None:
        write_lines(args.json, [costs.to_text().rstrip("\n")])
    return INTERRUPTED if stop() else 0


def _print(file: CostFile) -> None:
    say(describe_machine(file), "bold")
    for costs in file.models:
        for context in costs.places:
            say()
            say(f"{costs.title}, {context.context:,} tokens in the cache", "bold")
            rows = pass_rows(file.sweep(costs, context))
            print_table(PASSES, [[str(n), took, cost, roof] for n, took, _, cost, roof in rows])
            say()
            print_table(
                DRAFTERS,
                [
                    [
                        drafter.title,
                        format_milliseconds(median(times.draft)),
                        format_passes(cost.draft),
                        format_passes(cost.check),
                        format_break_even(cost),
                    ]
                    for drafter, times, cost in round_costs(costs, context)
                ],
            )
            say(COSTS, "dim")
            if sentence := caution(file, context):
                say(sentence, "yellow")


def _measure_model(measuring: ShapeMeasurement, row: Model, stop: Stop) -> str | None:
    from specviz.bench.shapes.lineup import required_memory

    if stop():
        return None
    plan = measuring.plan
    try:
        members, memory = required_memory(row, measuring.device, measuring.dtype, plan.longest)
        _note(
            f"{row.title} takes {format_bytes(memory)} with {members} drafters and random weights."
        )
        with CallProgress(plan.turns(members), "measurements") as progress:
            for _ in measuring.steps(row, stop):
                progress.advance()
    except NotEnoughMemory as error:
        _note(f"{error} It is left out.")
        return str(error)
    except (MemoryError, RuntimeError) as error:
        if not ran_out_of_memory(error):
            raise
        sentence = f"This {measuring.device.type} device ran out of memory for {row.title}."
        _note(f"{sentence} Its earlier measurements are kept.")
        return sentence
    return None


def _model(name: str) -> Model:
    if name not in models():
        known = ", ".join(models())
        hint = did_you_mean(name, models())
        raise ValueError(f"No shape is called {name!r}; there are {known}.{hint}")
    return models()[name]


def _command(args: argparse.Namespace, chosen: Sequence[Model]) -> str:
    words = ["python -m specviz shapes", *(row.name for row in chosen)]
    words += [f"--{name} {value}" for name in ("device", "dtype") if (value := getattr(args, name))]
    words += ["--contexts", *map(str, args.contexts)] if tuple(args.contexts) != CONTEXTS else []
    words += ["--sizes", *map(str, args.sizes)] if args.sizes else []
    words += [f"--rounds {args.rounds}"] if args.rounds != ROUNDS else []
    return " ".join(words)


def _note(sentence: str) -> None:
    say(sentence, stderr=True)
