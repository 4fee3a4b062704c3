"""`train`: train the house models, one stage at a time.

Rule: this file only reads the command line; the stages do the work.
"""

import argparse
import re
from pathlib import Path
from typing import Final

from specviz.catalog.training import names
from specviz.commands.parser import Parser
from specviz.drafters.common.training import HeadOptions
from specviz.settings.options import MAX_COUNT, count_type, number_type, seed_type
from specviz.settings.specs import find_spec
from specviz.settings.suggestions import did_you_mean
from specviz.training.measure import MeasurementPlan
from specviz.training.options import Options
from specviz.training.stages import STAGES

DESCRIPTION: Final = (
    f"Stages, in order: {', '.join(STAGES)}. Each resumes where it was stopped. The name of a head "
    "in place of a stage trains that head alone."
)


def add_options(parser: Parser) -> None:
    """Add the options of `train`."""
    parser.description = DESCRIPTION
    parser.add_argument("stage", choices=(*STAGES, *names()), metavar="STAGE")
    parser.add_argument("--corpus", default="corpus", help="folder, or owner/name on the Hub")
    parser.add_argument(
        "--out", type=Path, default=Path("assets/models"), help="folder of the finished models"
    )
    parser.add_argument(
        "--work", type=Path, default=Path(".train"), help="folder of tokens and checkpoints"
    )
    tokens, threads = count_type("Training tokens", 1, 10**12), count_type("Threads", 1, 1024)
    parser.add_argument(
        "--tokens", type=tokens, help="training tokens (default: as for the models that ship)"
    )
    parser.add_argument("--seed", type=seed_type("The seed"), default=0)
    parser.add_argument("--threads", type=threads, default=2, help="CPU threads")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--no-compile",
        action="store_true",
        help="do not compile the layers: needs no C++ compiler, takes about 1.5 times as long",
    )
    _add_heads(parser)
    _add_any_target(parser)
    _add_measure(parser)
    parser.set_defaults(func=train)


def _add_heads(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("heads, trained together on passes of the frozen target")
    group.add_argument("--names", type=_names, default=(), help=f"some of: {', '.join(names())}")
    group.add_argument(
        "--own-text",
        type=count_type("Tokens that the target writes", 0, 10**9),
        default=0,
        metavar="N",
        help="let the target write N tokens, and take half of the batches from them",
    )
    group.add_argument("--rate", type=float, default=1.0, help="factor on the learning rates")
    nice, first = count_type("Niceness", 0, 19), "give way to other processes (0 to 19)"
    group.add_argument("--nice", type=nice, default=0, help=first)
    group.add_argument("--float32", action="store_true", help="do not use bfloat16 in the passes")


def _add_any_target(parser: argparse.ArgumentParser) -> None:
    words = "questions, write, and heads of any Llama, trained on its own answers"
    group = parser.add_argument_group(words)
    group.add_argument("--target", default="house", help="a name, a folder, or a GGUF file")
    file = Path(".train/questions.jsonl")
    says = "questions for the target, one JSON object per line"
    group.add_argument("--questions", type=Path, default=file, metavar="FILE", help=says)
    group.add_argument(
        "--count", type=count_type("Questions", 1, 10**7), default=10_000, metavar="N"
    )
    says = "the target's answers and hidden states: written by `write`, read by `heads`"
    group.add_argument("--data", type=Path, metavar="FOLDER", help=says)
    usual, size = HeadOptions(), count_type("Draft vocabulary", 1, 10**7)
    says = "how many tokens a head can propose: the most frequent in the answers"
    group.add_argument("--draft-vocabulary", type=size, default=usual.draft_vocabulary, help=says)
    says = "length of the drafts that a head is trained on"
    steps = count_type("Unrolled guesses", 1, 16)
    group.add_argument("--unroll", type=steps, default=usual.steps, help=says)
    says = "SHA-256 of other weights that the head is accepted for, without a test"
    group.add_argument("--also-for", type=_hash, action="append", default=[], help=says)


def _add_measure(parser: argparse.ArgumentParser) -> None:
    usual = MeasurementPlan()
    prompts, repeats = count_type("Prompts", 1, MAX_COUNT), count_type("Repeats", 1, MAX_COUNT)
    length = number_type("New tokens", find_spec("max_new_tokens").kind)
    group = parser.add_argument_group("measure: every drafter, in turns with plain decoding")
    group.add_argument("--prompts", type=prompts, default=usual.prompts, help="prompts per domain")
    group.add_argument(
        "--new-tokens", type=length, default=usual.new_tokens, help="length of a run"
    )
    group.add_argument(
        "--repeats", type=repeats, default=usual.repeats, help="repeats of each prompt"
    )
    words = "only these drafters of the catalogue"
    group.add_argument("--drafters", default="", metavar="NAME,NAME,...", help=words)


def _extent(arguments: argparse.Namespace) -> MeasurementPlan:
    """How much to measure. Raises ValueError with a sentence."""
    drafters = tuple(filter(None, arguments.drafters.split(",")))
    return MeasurementPlan(arguments.prompts, arguments.new_tokens, arguments.repeats, drafters)


def _fitting(arguments: argparse.Namespace) -> HeadOptions:
    """The size of a head for any target, and the weights that it fits."""
    also = tuple(arguments.also_for)
    return HeadOptions(arguments.draft_vocabulary, arguments.unroll, also)


def _hash(text: str) -> str:
    """A SHA-256 in hexadecimal. Raises argparse's error."""
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a SHA-256.")
    return text


def _names(text: str) -> tuple[str, ...]:
    """Split "eagle,medusa". Raises argparse's error for an unknown name."""
    wanted = tuple(dict.fromkeys(text.split(",")))
    for name in wanted:
        if name not in names():
            raise argparse.ArgumentTypeError(
                f"There is no head {name!r}; there are {', '.join(names())}."
                f"{did_you_mean(name, names())}"
            )
    return wanted


def train(arguments: argparse.Namespace) -> int:
    """Run one stage and return 0. Raises ValueError or OSError if something is missing."""
    stage = "heads" if arguments.stage in names() else arguments.stage
    options = Options(
        corpus=arguments.corpus,
        out=arguments.out,
        work=arguments.work,
        tokens=arguments.tokens,
        seed=arguments.seed,
        threads=arguments.threads,
        device=arguments.device,
        fast=not arguments.no_compile,
        names=arguments.names if stage == arguments.stage else (arguments.stage,),
        own_text=arguments.own_text,
        rate=arguments.rate,
        nice=arguments.nice,
        precision="float32" if arguments.float32 else "bfloat16",
        measure=_extent(arguments),
        target=arguments.target,
        questions=arguments.questions,
        count=arguments.count,
        data=arguments.data,
        head_options=_fitting(arguments),
    )
    STAGES[stage](options)
    return 0
