"""`run`: one speculative run with its baseline, as text, as one JSON object, or as a trace.

Rule: what was measured is never lost: outputs are tried before the run, and an interrupted run is
written as far as it came.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args

from specviz.catalog.known import filled
from specviz.commands.outputs import STANDARD_OUTPUT, printable, require_writable, write_json
from specviz.settings import Candidates, Sampling, Schedule, Settings

if TYPE_CHECKING:
    from specviz.drafters.base import Drafter
    from specviz.target import Target
    from specviz.trace import Trace

STOPPED = 130  # the exit status of a program that was interrupted


# Settings that few families of drafters read.
FAMILIES: Final[dict[str, tuple[Any, str]]] = {
    "confidence": (float, "draft-model, layerskip: the least chance of a guess to go on from it"),
    "budget": (int, "eagle2, eagle3, moa: guesses of the tree that the target checks"),
    "fan_out": (int, "eagle2, eagle3, moa: guesses weighed under a node, and nodes gone on from"),
    "exit_layer": (int, "layerskip: the layer after which a draft leaves the target"),
    "suffix_factor": (float, "suffix: how deep a draft may go, in lengths of its match"),
    "suffix_least": (float, "suffix: the least chance that counts must give a guess"),
    "lookahead_window": (int, "lookahead: W, positions in the window"),
    "lookahead_ngram": (int, "lookahead: N, tokens in an n-gram"),
    "lookahead_guesses": (int, "lookahead: G, n-grams tried in a pass"),
}


def add_parser(subparsers: Any) -> None:
    """Add `run` to the command line."""
    parser = subparsers.add_parser("run", help="decode one prompt speculatively, and plainly")
    parser.add_argument("--prompt", required=True, help="the text to go on from")
    parser.add_argument("--json", metavar="FILE", help="write one JSON object; - prints it")
    parser.add_argument("--trace", metavar="FILE", help="write the trace, an event a line")
    add_models(parser)
    add_settings(parser)
    parser.set_defaults(func=run)


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which models run, and where."""
    add_target(parser)
    parser.add_argument("--drafter", default="draft-model", help="a name, a folder or a Hub id")


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which target runs, and where."""
    parser.add_argument("--target", default="house", help="a name, a folder or a Hub id")
    parser.add_argument("--device", help="cpu, cuda, cuda:N or mps; the best one unless named")
    parser.add_argument("--dtype", help="float32, bfloat16 or float16")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting. One that is not given is as usual with the drafter."""
    group = parser.add_argument_group("settings", "what is not given is as usual with the drafter")
    add = partial(group.add_argument, default=argparse.SUPPRESS)
    add("--temperature", type=float, help="0 is greedy")
    add("--top-k", type=int, help="0 keeps every token")
    add("--top-p", type=float, help="1 keeps every token")
    add("--seed", type=int, help="fixes every coin of the run")
    add("--max-new-tokens", type=int)
    add("--gamma", type=int, help="drafted tokens in a chain, at most: how deep a draft goes")
    wide = "guesses under a node, by depth, such as 3,2; 1 where the list ends"
    add("--siblings", type=numbers, metavar="N,N,...", help=wide)
    ranks = "a static tree of heads that guess side by side, such as 0;1;0,0 (medusa_choices)"
    add("--rank-paths", type=paths, metavar="N,...;N,...", help=ranks)
    add("--schedule", choices=get_args(Schedule))
    add("--candidates", choices=get_args(Candidates))
    add("--ngram-min", type=int, help="shortest match looked for")
    add("--ngram-max", type=int, help="longest match looked for")
    add("--rule", help="a verification rule, or auto")
    for name, (kind, said) in FAMILIES.items():
        add("--" + name.replace("_", "-"), type=kind, help=said)


def numbers(text: str) -> list[int]:
    """ "3,2" as [3, 2]; the empty text as none. Raises ArgumentTypeError with a sentence."""
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        sentence = f"{text!r} is no list of whole numbers such as 3,2"
        raise argparse.ArgumentTypeError(sentence) from None


def paths(text: str) -> list[list[int]]:
    """ "0;0,1" as [[0], [0, 1]]; the empty text as none. Raises ArgumentTypeError."""
    return [numbers(part) for part in text.split(";")] if text.strip() else []


def settings_of(args: argparse.Namespace, drafter: str | None = None) -> Settings:
    """The settings that the options say, for `drafter` or the one named. Raises BadSettings."""
    said = vars(args)
    given = {f.name: said[f.name] for f in fields(Settings) if f.name in said}
    sampling = {f.name: said[f.name] for f in fields(Sampling) if f.name in said}
    filled_in = filled(drafter or args.drafter or "", {**given, "sampling": sampling})
    return Settings.from_json(filled_in)


def run(args: argparse.Namespace) -> int:
    """Run, then write what was asked for. Returns the exit status."""
    settings = settings_of(args)
    require_writable(args.json, args.trace)
    from specviz.catalog.loading import load

    pair = load(args.target, args.drafter, args.device, args.dtype)
    with interruptible() as stop:
        trace = record(*pair, args.prompt, settings, stop)
    if args.trace is not None:
        trace.write(args.trace)
    report(args.json, trace)
    return STOPPED if stop() else 0


def record(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, stop: Callable[[], bool]
) -> Trace:
    """Decode as far as `stop` lets it."""
    from specviz import engine
    from specviz.trace import Header, Trace

    events = engine.run(target, drafter, prompt, settings, stop=stop)
    header = next(events)
    assert isinstance(header, Header)
    return Trace(header, list(events))


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
    from specviz import metrics

    whole = metrics.report(trace)
    if place is not None:
        write_json(place, whole)
    if place != STANDARD_OUTPUT:
        print(printable(trace.header.prompt + whole["text"]))
        print()
        print("\n".join(words(trace, whole["summary"])))


def words(trace: Trace, summary: dict[str, Any]) -> Iterator[str]:
    """The summary in a few lines; what was not measured is left out."""
    head = trace.header
    models = f"{head.target.name} with {head.drafter.name}"
    yield f"{models}, rule {head.rule}, on {head.machine}, {head.dtype}"
    yield (
        f"{summary['tokens']} tokens in {summary['target_passes']} target passes: "
        f"{summary['tokens_per_pass']:.2f} a pass"
    )
    if summary["acceptance_rate"] is not None:
        yield f"{summary['acceptance_rate']:.0%} of the judged guesses were kept"
    if summary["speedup"] is not None:
        yield (
            f"{summary['total_seconds']:.2f} s, plain decoding "
            f"{summary['baseline_seconds']:.2f} s: x{summary['speedup']:.2f} per token"
        )
    if trace.baseline is not None and trace.baseline.margins is not None:
        yield comparison(trace)


def comparison(trace: Trace) -> str:
    """At temperature 0, whether the text is plain decoding's."""
    from specviz.metrics import difference

    found = difference(trace)
    if found is None:
        return "the text is plain decoding's, token for token"
    if found.margin is None:
        return "the text goes on where plain decoding ended: a fault"
    reason = "a near-tie" if found.near_tie else "no near-tie, so a fault"
    return (
        f"new token {found.position + 1} is not plain decoding's: the target's top two logits "
        f"there are {found.margin:.2g} apart, {reason}"
    )
