"""`shapes`: what drafting costs on this machine for models of public shapes, with random weights.

Rule: no weights are fetched and no text is made, so whoever has a GPU gets its numbers in one
command. It says beforehand how much memory a shape takes, leaves out one that does not fit, says
how far it is, and Ctrl-C ends it with what it has.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from specviz.commands.bench import progress
from specviz.commands.outputs import STANDARD_OUTPUT, require_writable, write_lines
from specviz.commands.run import STOPPED, interruptible
from specviz.cost.shape_text import gigabytes, table
from specviz.cost.sources import Model, models
from specviz.models.devices import NotEnoughMemory, ran_out_of_memory
from specviz.settings.options import count

if TYPE_CHECKING:
    from specviz.bench.shapes.measure import Measuring
    from specviz.engine.round import Stop

USUAL: Final = ("smollm2-135m", "qwen3-4b")
CONTEXTS: Final = (128, 1024, 4096)
ROUNDS: Final = 15
FARTHEST: Final = 32_768  # tokens of a text


def add_parser(subparsers: Any) -> None:
    """Add `shapes` to the command line."""
    parser = subparsers.add_parser("shapes", help="time drafting for public shapes, weights random")
    known = ", ".join(models())
    parser.add_argument("names", nargs="*", metavar="NAME", default=USUAL, help=f"of {known}")
    parser.add_argument("--json", metavar="FILE", help="write the costs; - prints them")
    parser.add_argument("--device", help="cpu, cuda, cuda:N or mps; the best one unless named")
    parser.add_argument("--dtype", help="float32, bfloat16 or float16")
    contexts = count("The context", 8, FARTHEST)
    parser.add_argument(
        "--contexts", nargs="+", type=contexts, default=CONTEXTS, metavar="TOKENS",
        help="tokens before each pass (128 1024 4096)",
    )  # fmt: skip
    rounds = count("Rounds", 1, 1000)
    parser.add_argument("--rounds", type=rounds, default=ROUNDS, help="times of each (15)")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Measure, then print or write. Returns the exit status."""
    require_writable(args.json)
    rows = [_row(name) for name in dict.fromkeys(args.names)]
    from specviz.bench.shapes.measure import Measuring, Plan
    from specviz.models.devices import pick_device, pick_dtype

    device = pick_device(args.device)
    plan = Plan(tuple(sorted(set(args.contexts))), args.rounds)
    measuring = Measuring(device, pick_dtype(device, args.dtype), plan, _command(args, rows))
    with interruptible() as stop:
        left_out = [sentence for row in rows if (sentence := _measured(measuring, row, stop))]
    if not measuring.models:
        raise ValueError([*left_out, "It was stopped before anything was measured."][0])
    made = measuring.file()
    if args.json != STANDARD_OUTPUT:
        for line in table(made):
            print(line)
    if args.json is not None:
        write_lines(args.json, [made.to_text().rstrip("\n")])
    return STOPPED if stop() else 0


def _measured(measuring: Measuring, row: Model, stop: Stop) -> str | None:
    """Measure one shape; why it is left out, where it does not fit."""
    from specviz.bench.shapes.cast import room_for

    if stop():
        return None
    plan = measuring.plan
    try:
        members, room = room_for(row, measuring.device, measuring.dtype, plan.longest)
        _say(f"{row.title} takes {gigabytes(room)} with {members} drafters, its weights random.")
        with progress(plan.turns(members), "measurements") as bar:
            for _ in measuring.steps(row, stop):
                bar.update()
    except NotEnoughMemory as error:
        _say(f"{error} It is left out.")
        return str(error)
    except (MemoryError, RuntimeError) as error:
        if not ran_out_of_memory(error):
            raise
        sentence = f"The memory of this {measuring.device.type} ran out for {row.title}."
        _say(f"{sentence} What was measured of it until then is kept.")
        return sentence
    return None


def _row(name: str) -> Model:
    """A shape by its name. Raises ValueError."""
    if name not in models():
        raise ValueError(f"No shape is called {name!r}; there are {', '.join(models())}.")
    return models()[name]


def _command(args: argparse.Namespace, rows: Sequence[Model]) -> str:
    """What makes such a file again, without the names of files."""
    words = ["python -m specviz shapes", *(row.name for row in rows)]
    words += [f"--{name} {value}" for name in ("device", "dtype") if (value := getattr(args, name))]
    words += ["--contexts", *map(str, args.contexts)] if tuple(args.contexts) != CONTEXTS else []
    words += [f"--rounds {args.rounds}"] if args.rounds != ROUNDS else []
    return " ".join(words)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
