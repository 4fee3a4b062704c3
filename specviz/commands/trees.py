"""`trees`: make again what the Trees tab ships: positions, acceptance by rank, the ranking.

Rule: what is shown as measured was written by this command, with what made it beside it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specviz.catalog.entry import filled
from specviz.commands.outputs import require_writable, write_lines
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS, HOUSE, prompts

if TYPE_CHECKING:
    from specviz.models.target import Target

PARTS: Final = ("positions", "ranks", "ranking")
HOME: Final = ASSETS / "trees"
RANKED: Final = ("eagle2", "eagle3", "moa", "draft-model", "layerskip")
DRAFTERS: Final = (
    "draft-model", "eagle", "eagle2", "eagle3", "medusa", "mtp-parallel", "lmtp", "moa",
    "layerskip", "oracle",
)  # fmt: skip


def add_parser(subparsers: Any) -> None:
    """Add `trees` to the command line."""
    parser = subparsers.add_parser("trees", help="record positions, ranks and rankings of trees")
    parser.add_argument("part", choices=PARTS, help="what to make")
    parser.add_argument("--out", type=Path, default=HOME, help="the folder to write to")
    parser.add_argument("--prompts", type=int, default=6, help="of each domain, at most (6)")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Measure and write. Returns the exit status."""
    if args.prompts < 1:
        raise ValueError("At least one prompt of each domain is needed.")
    from specviz.catalog.loading import load_target

    args.out.mkdir(parents=True, exist_ok=True)
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


def provenance(target: Target, command: str, many: int) -> dict[str, Any]:
    """What made a file."""
    from specviz.engine.recorder import versions
    from specviz.models.devices import describe, processor

    return {
        "made_by": command,
        "target": target.card.name,
        "hash": target.card.hash,
        "machine": describe(target.device),
        "processor": processor(),
        "versions": versions(),
        "prompts": many * len(prompts()),
    }


def chosen(drafter: str, tokens: int) -> Settings:
    """How texts go on: the target's own law, drawn with one seed."""
    said = {"sampling": {"temperature": 1.0}, "seed": 1, "max_new_tokens": tokens}
    return Settings.from_json(filled(drafter, said))


def texts(target: Target, many: int) -> list[list[int]]:
    """The shipped prompts as tokens, domain by domain."""
    from specviz.models.prompt import read

    settings = chosen("draft-model", 64)
    return [read(target, text, settings).ids for some in prompts().values() for text in some[:many]]


def positions(target: Target, folder: Path) -> None:
    """Record every position of the recipes."""
    from specviz.catalog.loading import load_drafter
    from specviz.trees.recorded import recipes, record

    for recipe in recipes():
        field = record(target, load_drafter(recipe.drafter, target), recipe)
        (folder / f"{recipe.name}.jsonl").write_text(field.to_text(), encoding="utf-8")
        print(f"{recipe.name}: {len(field.rows)} places", flush=True)


def ranks(target: Target, many: int) -> dict[str, Any]:
    """Acceptance by rank of every drafter on which trees grow."""
    from specviz.catalog.loading import load_drafter
    from specviz.trees.ranks import measure

    found, ids = {}, texts(target, many)
    for name in DRAFTERS:
        made = measure(target, load_drafter(name, target), ids, chosen(name, 24))
        print(f"{name}: {made.positions} places, best guess {made.by_depth[0][0]:.3f}", flush=True)
        found[name] = made.to_json()
    return {"drafters": found}


def ranking(target: Target, many: int) -> dict[str, Any]:
    """The ranking question, drafter by drafter."""
    from specviz.catalog.loading import load_drafter
    from specviz.trees.sweep import EVERY, MANY, arithmetic, empty, summed, sweep

    found, ids = {}, texts(target, many)
    for name in RANKED:
        tallies = empty()
        drafter = load_drafter(name, target)
        for done in sweep(target, drafter, ids, chosen(name, 64), tallies):
            print(f"{name}: {done} of {len(ids)} prompts", flush=True)
        found[name] = summed(tallies)
    return {"places": MANY, "every": EVERY, "drafters": found, "arithmetic": arithmetic()}
