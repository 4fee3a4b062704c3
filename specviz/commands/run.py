"""`run`: one speculative run with its baseline, as text, as one JSON object, or as a trace.

Output paths are checked before the run, and the finished part of an interrupted run is written, so
that no measurement is lost.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from specviz.catalog.entry import settings_from_args
from specviz.commands.output import STANDARD_OUTPUT, printable, require_writable, say, write_json
from specviz.commands.parser import (
    INTERRUPTED,
    Parser,
    add_prompt,
    add_target,
    add_tree_size,
    interruptible,
)
from specviz.commands.progress import show_loading
from specviz.settings.settings import add_settings, option_group
from specviz.trace.rule_specs import RULE_SPECS

if TYPE_CHECKING:
    from specviz.engine.protocol import Drafter
    from specviz.models.errors import ServerFault
    from specviz.models.target import Target
    from specviz.settings.settings import Settings
    from specviz.trace.file import Trace

COMMON: Final = (
    "prompt", "target", "drafter", "temperature", "seed", "max_new_tokens", "gamma", "siblings",
    "rule", "json", "trace",
)  # fmt: skip


def add_options(parser: Parser) -> None:
    """Add the options of `run`."""
    parser.usage = "%(prog)s --prompt TEXT [OPTIONS]"
    add_prompt(parser)
    add_target(parser)
    option_group(parser, "models").add_argument(
        "--drafter",
        default="draft-model",
        metavar="NAME",
        help="a name that `specviz models` lists, a folder, a GGUF file or a Hub id "
        "(default: draft-model)",
    )
    add_settings(parser)
    add_tree_size(parser)
    output = option_group(parser, "output")
    output.add_argument("--json", metavar="FILE", help="write the result as JSON (- prints it)")
    output.add_argument("--trace", metavar="FILE", help="write the trace, one event per line")
    output.add_argument(
        "--metrics",
        metavar="FILE",
        help="write acceptance counts as JSON in the shape of vLLM's per-request metrics "
        "(- prints it)",
    )
    parser.set_defaults(func=run)
    parser.shorten(COMMON)


def run(args: argparse.Namespace) -> int:
    """Run, write the outputs and return the exit status.

    Raises ServerFault if the target's server failed; the finished part of the run is written first.
    """
    settings = settings_from_args(args)
    require_writable(args.json, args.trace, args.metrics)
    with show_loading():
        from specviz.catalog.loading import load
        from specviz.models.devices import any_process, is_leader

        pair = load(args.target, args.drafter, args.device, args.dtype)
    with interruptible() as interrupted:
        stop = any_process(pair[0].device, interrupted)
        trace, fault = record(*pair, args.prompt, settings, stop)
        status = INTERRUPTED if stop() else 0
    if is_leader():
        if args.trace is not None:
            trace.write(args.trace)
        report(args.json, args.metrics, trace)
    if fault is not None:
        raise fault
    return status


def record(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, stop: Callable[[], bool]
) -> tuple[Trace, ServerFault | None]:
    """Decode until the end, until `stop`, or until the server fails (its error is returned)."""
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


def report(path: str | None, counts: str | None, trace: Trace) -> None:
    """Write the outputs, and print the text and a summary unless JSON was printed.

    Args:
        path: Path of the result as JSON; None if it is not written.
        counts: Path of vLLM's per-request metrics; None if they are not written.
        trace: The run.
    """
    from specviz.trace import metrics

    whole = metrics.report(trace)
    if path is not None:
        write_json(path, whole)
    if counts is not None:
        write_json(counts, metrics.request_metrics(trace))
    if STANDARD_OUTPUT not in (path, counts):
        print(printable(trace.header.model_text + whole["text"]), end="\n\n", flush=True)
        for line in summary_lines(trace, whole["summary"]):
            say(line)


def summary_lines(trace: Trace, summary: dict[str, Any]) -> Iterator[str]:
    """Return a few lines that summarize the run, without values that were not measured."""
    head = trace.header
    models = f"{head.target.name} with {head.drafter.name}"
    yield f"{models}, rule {head.rule}, on {head.machine}, {head.dtype}"
    if not head.lossless:
        spec = RULE_SPECS.get(head.rule)
        yield f"not lossless. {spec.tradeoff if spec else ''}".rstrip()
    rate = summary["tokens_per_pass"]
    mean = "" if rate is None else f": {rate:.2f} per pass"
    yield f"{summary['tokens']} tokens in {summary['target_passes']} target passes{mean}"
    if summary["acceptance_rate"] is not None:
        yield f"{summary['acceptance_rate']:.0%} of the checked guesses were accepted"
    if summary["speedup"] is not None:
        yield (
            f"{summary['total_seconds']:.2f} s, plain decoding "
            f"{summary['baseline_seconds']:.2f} s: {_speed(trace, summary['speedup'])}"
        )
    if trace.baseline is not None and trace.baseline.margins is not None:
        yield compare_with_baseline(trace)


def _speed(trace: Trace, speedup: float) -> str:
    from specviz.trace.metrics import VERDICT, explain_noise

    rough = explain_noise(trace, trace.baseline) if trace.baseline else None
    return f"{VERDICT.lower()}, {rough}" if rough else f"{speedup:.2f} × as fast per token"


def compare_with_baseline(trace: Trace) -> str:
    """Return in words whether the text equals plain decoding's, for runs at temperature 0."""
    from specviz.trace.metrics import baseline_difference

    found = baseline_difference(trace)
    if found is None:
        return "the text equals that of plain decoding, token for token"
    if not trace.header.lossless:
        rule = f"the rule {trace.header.rule!r} does not promise it"
        return f"new token {found.position + 1} differs from plain decoding: {rule}"
    if found.margin is None:
        return "the text continues where plain decoding ended: a bug"
    bug = f"more than the rounding of {trace.header.dtype}, so this is a bug"
    reason = "a near-tie, decided by rounding" if found.near_tie else bug
    return (
        f"new token {found.position + 1} differs from plain decoding: the target's top two logits "
        f"there are {found.margin:.2g} apart, {reason}"
    )
