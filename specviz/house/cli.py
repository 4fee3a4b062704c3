"""`train`: makes the house models, one stage a call.

Rule: this file only reads the command line; the stages do the work.
"""

import argparse
from pathlib import Path
from typing import Any

from specviz.house.stages import STAGES, Options


def add_parser(subparsers: Any) -> None:
    """Register `train` with what argparse's `add_subparsers` returned."""
    parser = subparsers.add_parser(
        "train",
        help="train the small models that ship with the app",
        description="Stages, in order: " + ", ".join(STAGES) + ". Each resumes where it stopped.",
    )
    parser.add_argument("stage", choices=tuple(STAGES))
    parser.add_argument("--corpus", default="corpus", help="a folder, or owner/name on the Hub")
    parser.add_argument("--out", type=Path, default=Path("assets/models"), help="finished models")
    parser.add_argument("--work", type=Path, default=Path(".train"), help="tokens, checkpoints")
    parser.add_argument("--tokens", type=int, help="training tokens (default: what shipped)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2, help="CPU threads")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--no-compile",
        action="store_true",
        help="do not compile the layers: needs no C++ compiler, takes about 1.5 times as long",
    )
    parser.set_defaults(func=train)


def train(arguments: argparse.Namespace) -> int:
    """Run one stage and return 0; what is missing is a `ValueError` or an `OSError`."""
    options = Options(
        corpus=arguments.corpus,
        out=arguments.out,
        work=arguments.work,
        tokens=arguments.tokens,
        seed=arguments.seed,
        threads=arguments.threads,
        device=arguments.device,
        fast=not arguments.no_compile,
    )
    STAGES[arguments.stage](options)
    return 0
