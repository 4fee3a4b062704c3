"""`trees`: record the data of the Trees tab again: positions, acceptance by rank, rankings.

All measured numbers on that tab come from files that this command wrote; each contains how it was
made.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specviz.catalog.entry import with_defaults
from specviz.commands.output import require_writable, say, write_lines
from specviz.commands.parser import Parser
from specviz.commands.progress import show_loading
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS, HOUSE, prompts

if TYPE_CHECKING:
    from specviz.models.target import Target

PARTS: Final = ("positions", "ranks", "ranking")
HOME: Final = ASSETS / "trees"
RANKED: Final = ("eagle2", "eagle3", "moa", "draft-model", "layerskip")
DRAFTERS: Final = (
    "draft-model", "eagle", "eagle2", "eagle3", "medusa", "mtp-parallel", "lmtp", "moa",
    "layerskip", "dflash", "jetspec", "oracle",
)  # fmt: skip


def add_options(parser: Parser) -> None:
    """Add the options of `trees`."""
    parser.add_argument("part", choices=PARTS, metavar="PART", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=HOME, help="folder to write to")
    prompts_help = "prompts per domain (default: 6)"
    parser.add_argument("--prompts", type=int, default=6, metavar="N", help=prompts_help)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Measure, write the file and return the exit status."""
    if args.prompts < 1:
        raise ValueError("--prompts must be at least 1.")
    args.out.mkdir(parents=True, exist_ok=True)
    with show_loading():
        from specviz.catalog.loading import load_target

        target = load_target(HOUSE, "cpu")
    if args.part == "positions":
        positions(target, args.out)
        return 0
    file = args.out / f"{args.part}.json"
    require_writable(str(file))
    made = (ranks if args.part == "ranks" else ranking)(target, args.prompts)
    made = provenance(target, f"python -m specviz trees {args.part}", args.prompts) | made
    write_lines(str(file), [json.dumps(made, indent=1, ensure_ascii=False)])
    return 0


def provenance(target: Target, command: str, count: int) -> dict[str, Any]:
    """Return how a file was made: the command, models, machine and versions."""
    from specviz.engine.recorder import versions
    from specviz.models.devices import cpu_name, describe_device

    return {
        "made_by": command,
        "target": target.card.name,
        "hash": target.card.hash,
        "machine": describe_device(target.device),
        "processor": cpu_name(),
        "versions": versions(),
        "prompts": count * len(prompts()),
    }


def sampled_settings(drafter: str, tokens: int) -> Settings:
    """Return settings that sample from the target's own distribution, with a fixed seed."""
    chosen = {"sampling": {"temperature": 1.0}, "seed": 1, "max_new_tokens": tokens}
    return Settings.from_json(with_defaults(drafter, chosen))


def encoded_prompts(target: Target, count: int) -> list[list[int]]:
    """Return token ids of the first `count` shipped prompts of each domain."""
    from specviz.models.prompt import encode_prompt

    settings = sampled_settings("draft-model", 64)
    return [
        encode_prompt(target, text, settings).ids
        for some in prompts().values()
        for text in some[:count]
    ]


def positions(target: Target, folder: Path) -> None:
    """Decode the text of each recipe, and record the position that it names."""
    from specviz.catalog.loading import load_drafter
    from specviz.trees.recorded_position import recipes
    from specviz.trees.recording import record_recipe

    for recipe in recipes():
        field = record_recipe(target, load_drafter(recipe.drafter, target), recipe)
        (folder / f"{recipe.name}.jsonl").write_text(field.to_text(), encoding="utf-8")
        say(f"{recipe.name}: {len(field.rows)} positions")


def ranks(target: Target, count: int) -> dict[str, Any]:
    """Measure acceptance by rank, for every drafter that can draft trees."""
    from specviz.catalog.loading import load_drafter
    from specviz.trees.ranking import measure_rank_acceptance

    found, ids = {}, encoded_prompts(target, count)
    for name in DRAFTERS:
        made = measure_rank_acceptance(
            target, load_drafter(name, target), ids, sampled_settings(name, 24)
        )
        say(f"{name}: {made.positions} positions, first guess {made.by_depth[0][0]:.3f}")
        found[name] = made.to_json()
    return {"drafters": found}


def ranking(target: Target, count: int) -> dict[str, Any]:
    """Compare the ways of ranking a tree, for each drafter."""
    from specviz.catalog.loading import load_drafter
    from specviz.trees.ranking import (
        POSITION_STRIDE,
        POSITIONS,
        empty_tallies,
        run_study,
        summarize,
        time_arithmetic,
    )

    found, ids = {}, encoded_prompts(target, count)
    for name in RANKED:
        tallies = empty_tallies()
        drafter = load_drafter(name, target)
        for done in run_study(target, drafter, ids, sampled_settings(name, 64), tallies):
            say(f"{name}: {done} of {len(ids)} prompts")
        found[name] = summarize(tallies)
    return {
        "places": POSITIONS,
        "every": POSITION_STRIDE,
        "drafters": found,
        "arithmetic": time_arithmetic(),
    }
