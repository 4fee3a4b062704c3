"""`train`: train the shipped models (House) and heads, one stage at a time.

This module only reads the command line; the stages do the work.
"""

import argparse
import re
from dataclasses import fields
from pathlib import Path
from typing import Final

from specviz.catalog.loading import trainable_heads
from specviz.commands.parser import Parser
from specviz.drafters.common.training import HeadOptions
from specviz.settings.settings import MAX_COUNT, count_type, number_type, seed_type
from specviz.settings.specs import find_spec
from specviz.settings.suggestion import did_you_mean
from specviz.training.measure import MeasurementPlan
from specviz.training.options import Options
from specviz.training.stages import STAGES

DESCRIPTION: Final = (
    f"Stages, in order: {', '.join(STAGES)}. Each continues where it was stopped. The name of a "
    "head instead of a stage trains only that head."
)


def add_options(parser: Parser) -> None:
    """Add the options of `train`."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "stage", choices=(*STAGES, *trainable_heads()), metavar="STAGE", help="see above"
    )
    parser.add_argument(
        "--corpus", default="corpus", help="training text: a folder, or owner/name on the Hub"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("assets/models"), help="folder for the finished models"
    )
    parser.add_argument(
        "--work", type=Path, default=Path(".train"), help="folder for tokens and checkpoints"
    )
    tokens, threads = count_type("Training tokens", 1, 10**12), count_type("Threads", 1, 1024)
    parser.add_argument(
        "--tokens",
        type=tokens,
        help="number of training tokens (default: that of the models that ship)",
    )
    parser.add_argument("--seed", type=seed_type("The seed"), default=0, help="default: 0")
    parser.add_argument("--threads", type=threads, default=2, help="CPU threads (default: 2)")
    parser.add_argument("--device", default="cpu", help="default: cpu")
    parser.add_argument(
        "--no-compile",
        dest="fast",
        action="store_false",
        help="do not compile the layers: needs no C++ compiler but takes about 1.5 times as long",
    )
    _add_heads(parser)
    _add_any_target(parser)
    _add_measure(parser)
    parser.set_defaults(func=train)


def _add_heads(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("heads, trained together on passes of the frozen target")
    group.add_argument(
        "--names", type=_parse_names, default=(), help=f"some of: {', '.join(trainable_heads())}"
    )
    group.add_argument(
        "--own-text",
        type=count_type("Tokens that the target writes", 0, 10**9),
        default=0,
        metavar="N",
        help="let the target write N tokens, and take half of the batches from them (default: 0)",
    )
    group.add_argument("--rate", type=float, default=1.0, help="factor on the learning rates")
    nice, text = count_type("Niceness", 0, 19), "give way to other processes (0 to 19)"
    group.add_argument("--nice", type=nice, default=0, help=text)
    text = "continue the weights of this head, which was trained on other text or answers"
    group.add_argument("--start", type=Path, metavar="FOLDER", help=text)
    group.add_argument(
        "--float32",
        dest="precision",
        action="store_const",
        const="float32",
        default="bfloat16",
        help="do not use bfloat16 in the passes",
    )


def _add_any_target(parser: argparse.ArgumentParser) -> None:
    heading = "questions, write and heads, for a head of any Llama trained on its own answers"
    group = parser.add_argument_group(heading)
    group.add_argument("--target", default="house", help="a name, a folder, or a GGUF file")
    file = Path(".train/questions.jsonl")
    text = "questions for the target, one JSON object per line"
    group.add_argument("--questions", type=Path, default=file, metavar="FILE", help=text)
    group.add_argument(
        "--count",
        type=count_type("Questions", 1, 10**7),
        default=10_000,
        metavar="N",
        help="number of questions (default: 10,000)",
    )
    text = "the target's answers and hidden states: written by `write`, read by `heads`"
    group.add_argument("--data", type=Path, metavar="FOLDER", help=text)
    defaults, size = HeadOptions(), count_type("Draft vocabulary", 1, 10**7)
    text = (
        "how many tokens EAGLE-3 can propose, the most frequent in the answers; DSpark proposes "
        "all, and its loss always includes this many"
    )
    group.add_argument(
        "--draft-vocabulary", type=size, default=defaults.draft_vocabulary, help=text
    )
    text = "length of the drafts that a head is trained on; DSpark's block"
    steps = count_type("Unrolled guesses", 1, 16)
    group.add_argument("--unroll", type=steps, default=defaults.steps, help=text)
    text = "SHA-256 of other weights that the head is accepted for, without a test"
    group.add_argument("--also-for", type=_parse_hash, action="append", default=[], help=text)


def _add_measure(parser: argparse.ArgumentParser) -> None:
    defaults = MeasurementPlan()
    prompts, repeats = count_type("Prompts", 1, MAX_COUNT), count_type("Repeats", 1, MAX_COUNT)
    length = number_type("New tokens", find_spec("max_new_tokens").kind)
    group = parser.add_argument_group(
        "measure, which runs every drafter in turns with plain decoding"
    )
    group.add_argument(
        "--prompts", type=prompts, default=defaults.prompts, help="prompts per domain"
    )
    group.add_argument(
        "--new-tokens", type=length, default=defaults.new_tokens, help="new tokens per run"
    )
    group.add_argument(
        "--repeats", type=repeats, default=defaults.repeats, help="repeats of each prompt"
    )
    text = "only these drafters of the catalogue"
    group.add_argument("--drafters", default="", metavar="NAME,NAME,...", help=text)
    text = (
        "only count tokens per pass on the first turns of these questions (JSON Lines, as "
        "MT-bench's), and add them to the measurements"
    )
    group.add_argument("--public", type=Path, metavar="FILE", help=text)


def _measurement_plan(arguments: argparse.Namespace) -> MeasurementPlan:
    drafters = tuple(filter(None, arguments.drafters.split(",")))
    return MeasurementPlan(
        arguments.prompts,
        arguments.new_tokens,
        arguments.repeats,
        drafters,
        public=arguments.public,
    )


def _head_options(arguments: argparse.Namespace) -> HeadOptions:
    also = tuple(arguments.also_for)
    return HeadOptions(arguments.draft_vocabulary, arguments.unroll, also)


def _parse_hash(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a SHA-256.")
    return text


def _parse_names(text: str) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(text.split(",")))
    for name in wanted:
        if name not in trainable_heads():
            raise argparse.ArgumentTypeError(
                f"No head is called {name!r}; there are {', '.join(trainable_heads())}."
                f"{did_you_mean(name, trainable_heads())}"
            )
    return wanted


def train(arguments: argparse.Namespace) -> int:
    """Run one stage and return 0. Raises ValueError or OSError if something is missing."""
    stage = arguments.stage
    if stage in trainable_heads():
        stage, arguments.names = "heads", (stage,)
    arguments.measure = _measurement_plan(arguments)
    arguments.head_options = _head_options(arguments)
    STAGES[stage](Options(**{each.name: getattr(arguments, each.name) for each in fields(Options)}))
    return 0
