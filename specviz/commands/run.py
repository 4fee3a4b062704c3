"""`run`: one speculative run with its baseline, as text, as one JSON object, or as a trace.

Rule: what was measured is never lost: outputs are tried before the run, and an interrupted run is
written as far as it came.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from specviz.catalog.entry import settings_of
from specviz.commands.outputs import STANDARD_OUTPUT, printable, require_writable, write_json
from specviz.commands.tree_size import add_tree_size
from specviz.settings.options import add_settings, prompt
from specviz.trace.promises import PROMISES

if TYPE_CHECKING:
    from specviz.engine.protocol import Drafter
    from specviz.models.errors import ServerFault
    from specviz.models.target import Target
    from specviz.settings.settings import Settings
    from specviz.trace.file import Trace

STOPPED = 130  # the exit status of a program that was interrupted


def add_parser(subparsers: Any) -> None:
    """Add `run` to the command line."""
    parser = subparsers.add_parser("run", help="decode one prompt speculatively, and plainly")
    parser.add_argument("--prompt", type=prompt, required=True, help="the text to go on from")
    parser.add_argument("--json", metavar="FILE", help="write one JSON object; - prints it")
    parser.add_argument("--trace", metavar="FILE", help="write the trace, an event a line")
    add_models(parser)
    add_settings(parser)
    add_tree_size(parser)
    parser.set_defaults(func=run)


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which models run, and where."""
    add_target(parser)
    parser.add_argument(
        "--drafter", default="draft-model", help="a name, a folder, a GGUF file or a Hub id"
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which target runs, and where."""
    target = "a name, a folder, a GGUF file, a Hub id, or vllm:URL of a server"
    parser.add_argument("--target", default="house", help=target)
    parser.add_argument("--device", help="cpu, cuda, cuda:N or mps; the best one unless named")
    parser.add_argument("--dtype", help="float32, bfloat16 or float16")


def run(args: argparse.Namespace) -> int:
    """Run, then write what was asked for. Returns the exit status.

    Raises ServerFault, once all that was made is written, where a server failed in the run.
    """
    settings = settings_of(args)
    require_writable(args.json, args.trace)
    from specviz.catalog.loading import load
    from specviz.models.parallel import anyone, leads

    pair = load(args.target, args.drafter, args.device, args.dtype)
    with interruptible() as asked:
        stop = anyone(pair[0].device, asked)
        trace, fault = record(*pair, args.prompt, settings, stop)
        status = STOPPED if stop() else 0
    if leads():
        if args.trace is not None:
            trace.write(args.trace)
        report(args.json, trace)
    if fault is not None:
        raise fault
    return status


def record(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, stop: Callable[[], bool]
) -> tuple[Trace, ServerFault | None]:
    """Decode as far as `stop`, or the target's server, lets it; what the server failed with."""
    from specviz import engine
    from specviz.models.errors import ServerFault
    from specviz.trace.events import Header
    from specviz.trace.file import Trace

    events = engine.run(target, drafter, prompt, settings, stop=stop)
    header = next(events)
    assert isinstance(header, Header)
    trace = Trace(header)
    try:
        for event in events:
            trace.events.append(event)
    except ServerFault as fault:
        return trace, fault
    return trace, None


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """A question, "has the person asked to stop?"; the second Ctrl-C ends the program at once."""
    asked = False

    def ask(_signal: int, _frame: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def report(place: str | None, trace: Trace) -> None:
    """Write the JSON object if asked for; print words unless it took standard output."""
    from specviz.trace import metrics

    whole = metrics.report(trace)
    if place is not None:
        write_json(place, whole)
    if place != STANDARD_OUTPUT:
        print(printable(trace.header.read + whole["text"]))
        print()
        print("\n".join(words(trace, whole["summary"])))


def words(trace: Trace, summary: dict[str, Any]) -> Iterator[str]:
    """The summary in a few lines; what was not measured is left out."""
    head = trace.header
    models = f"{head.target.name} with {head.drafter.name}"
    yield f"{models}, rule {head.rule}, on {head.machine}, {head.dtype}"
    if not head.lossless:
        promise = PROMISES.get(head.rule)
        yield f"not lossless. {promise.says if promise else ''}".rstrip()
    rate = summary["tokens_per_pass"]
    mean = "" if rate is None else f": {rate:.2f} a pass"
    yield f"{summary['tokens']} tokens in {summary['target_passes']} target passes{mean}"
    if summary["acceptance_rate"] is not None:
        yield f"{summary['acceptance_rate']:.0%} of the judged guesses were kept"
    if summary["speedup"] is not None:
        yield (
            f"{summary['total_seconds']:.2f} s, plain decoding "
            f"{summary['baseline_seconds']:.2f} s: {_speed(trace, summary['speedup'])}"
        )
    if trace.baseline is not None and trace.baseline.margins is not None:
        yield comparison(trace)


def _speed(trace: Trace, speedup: float) -> str:
    """The speed-up, or why there is none to tell."""
    from specviz.trace.noise import VERDICT, noise

    rough = noise(trace, trace.baseline) if trace.baseline else None
    return f"{VERDICT.lower()}, {rough}" if rough else f"x{speedup:.2f} per token"


def comparison(trace: Trace) -> str:
    """At temperature 0, whether the text is plain decoding's."""
    from specviz.trace.metrics import difference

    found = difference(trace)
    if found is None:
        return "the text is plain decoding's, token for token"
    if not trace.header.lossless:
        rule = f"the rule {trace.header.rule!r} does not promise it"
        return f"new token {found.position + 1} is not plain decoding's: {rule}"
    if found.margin is None:
        return "the text goes on where plain decoding ended: a fault"
    coarse = f"more than {trace.header.dtype} rounds by, so a fault"
    reason = "a near-tie, which rounding decides" if found.near_tie else coarse
    return (
        f"new token {found.position + 1} is not plain decoding's: the target's top two logits "
        f"there are {found.margin:.2g} apart, {reason}"
    )
