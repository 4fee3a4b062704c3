"""Compare the guesses that vLLM accepts with those that specviz accepts.

Usage: python tests/peers/vllm_accepted.py ENVIRONMENT [--drafters a,b] [--out FILE]. ENVIRONMENT is
a folder; vLLM for CPUs is installed there if it is missing (3 GB). The script writes
assets/models/peers.json, which the model card shows and tests/test_peers.py reads; with --drafters
it updates only their rows. Rows that were measured on another machine, or with other versions,
than the first ones state their own.

Both programs use the same target and drafters and decode every shipped prompt at temperature 0 in
float32 with a chain of guesses. The script compares the texts and the number of accepted guesses in
each round.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

if TYPE_CHECKING:
    from peers.run_rounds import RunRounds
    from peers.table import Peer

    from specviz.engine.protocol import Drafter
    from specviz.models.target import Target

RUN = Path(__file__).with_name("vllm_run.py")


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="vLLM's accepted guesses beside ours.")
    parser.add_argument("environment", type=Path, help="a folder for vLLM's own environment")
    parser.add_argument("--drafters", default="", help="a few of them, with commas; all if empty")
    parser.add_argument("--out", type=Path, default=ROOT / "assets" / "models" / "peers.json")
    return parser.parse_args()


def asked(python: Path, job: dict[str, Any]) -> tuple[list[Any] | None, str]:
    """Return vLLM's answer to a job (see `vllm_run`), or None and its error message."""
    from peers.environment import variables

    with tempfile.TemporaryDirectory() as place:
        answer = Path(place) / "answer.json"
        made = subprocess.run(
            [python, RUN, answer],
            input=json.dumps(job),
            text=True,
            env=variables(),
            capture_output=True,
            check=False,
        )
        if answer.exists():
            return json.loads(answer.read_text(encoding="utf-8"))["prompts"], ""
    return None, last_words(made.stderr)


def last_words(errors: str) -> str:
    """Return the message of the last exception, without folders of this machine."""
    said = [line.strip() for line in errors.replace(f"{ROOT}/", "").split("\n")]
    named = [line for line in said if "Error" in line.split(":")[0] or "Value error" in line]
    found = named[-1] if named else (said[-1] if said else "")
    return found.split(" [type=")[0]


class Comparison:
    """One target, all prompts, and vLLM's Python."""

    def __init__(self, python: Path) -> None:
        from specviz.catalog import load_target
        from specviz.shipped import prompts

        self.python = python
        self.target: Target = load_target("house", "cpu")
        self.texts = [text for texts in prompts().values() for text in texts]

    def row(self, peer: Peer) -> dict[str, Any]:
        """Return a drafter's row."""
        from specviz.catalog import load_drafter

        drafter = load_drafter(peer.drafter, self.target)
        from peers.run_rounds import ours

        mine = [ours(self.target, drafter, text, peer) for text in self.texts]
        found = {
            "drafter": peer.drafter,
            "date": date.today().isoformat(),
            "hash": drafter.card.hash if peer.folder else None,
            "theirs": peer.theirs,
            "ours": peer.ours,
            "as_it_lies": not peer.why_not,
            "why_not": peer.why_not,
            "differs": peer.differs,
        }
        if not peer.why_not:
            return found | {"said": ""} | self._compared(peer, drafter, mine, self._told(peer)[0])
        steps, said = self._told(peer, texts=self.texts[:1])
        if steps is not None:
            kept = sum(steps[0].kept)
            said = f"Nothing; of {len(steps[0].kept)} drafts it kept {kept} guesses."
        with tempfile.TemporaryDirectory() as place:
            told = self._copy(peer, place)
        return found | {"said": said} | self._compared(peer, drafter, mine, told)

    def _copy(self, peer: Peer, place: str) -> list[RunRounds] | None:
        from peers.changed import copies

        target, head = copies(self.house, peer.folder, Path(place))
        return self._told(peer, target, head)[0]

    @property
    def house(self) -> Path:
        """Return the target's folder."""
        return ROOT / "assets" / "models" / "target"

    def _told(
        self,
        peer: Peer,
        target: Path | None = None,
        head: Path | None = None,
        texts: Sequence[str] | None = None,
    ) -> tuple[list[RunRounds] | None, str]:
        """Return what vLLM did with these prompts (or all), or None and its message."""
        from peers.run_rounds import theirs
        from peers.table import LONGEST, NEW_TOKENS

        folder = head or peer.folder
        named = {} if folder is None else {"model": str(folder)}
        job = {
            "target": str(target or self.house),
            "longest": LONGEST,
            "new_tokens": NEW_TOKENS,
            "prompts": [self.target.encode(text, NEW_TOKENS) for text in texts or self.texts],
            "speculative_config": peer.theirs | named,
        }
        steps, said = asked(self.python, job)
        return (None if steps is None else [theirs(one) for one in steps]), said

    def _compared(
        self, peer: Peer, drafter: Drafter, mine: list[RunRounds], told: list[RunRounds] | None
    ) -> dict[str, Any]:
        """Return how many texts and rounds are equal, and all rounds."""
        from peers.run_rounds import by_position

        if told is None:
            raise SystemExit(f"vLLM could not run {peer.drafter}.")
        pairs = list(zip(mine, told, strict=True))
        kept = {"vllm": [b.digits for _, b in pairs], "ours": [a.digits for a, _ in pairs]}
        return {
            "texts_equal": sum(a.tokens == b.tokens for a, b in pairs),
            "rounds_equal": sum(a.kept == b.kept for a, b in pairs),
            "as_there": self.as_there(peer, drafter, kept["vllm"]),
            "by_position": {who: by_position(digits) for who, digits in kept.items()},
            "rounds": {who: sum(map(len, digits)) for who, digits in kept.items()},
            "vllm": kept["vllm"],
            "others": {
                str(place): a.digits for place, (a, b) in enumerate(pairs) if a.kept != b.kept
            },
        }

    def as_there(self, peer: Peer, drafter: Drafter, told: Sequence[str]) -> int | None:
        """Return in how many prompts rounds are equal once specviz computes as vLLM does."""
        if not peer.differs:
            return None
        from peers.as_there import as_there
        from peers.run_rounds import ours

        with as_there(peer.drafter):
            mine = [ours(self.target, drafter, text, peer).digits for text in self.texts]
        return sum(a == b for a, b in zip(mine, told, strict=True))


def facts(comparison: Comparison) -> dict[str, Any]:
    """Return versions and settings shared by all rows."""
    from peers.environment import PACKAGE, VERSION, installed
    from peers.table import NEW_TOKENS

    from specviz.models.devices import cpu_name
    from specviz.shipped import ASSETS
    from specviz.training.export import versions

    packages = ("torch", "transformers")
    return {
        "program": "vLLM",
        "package": PACKAGE,
        "version": VERSION,
        "processor": cpu_name(),
        "dtype": "float32",
        "versions": {
            "vllm": {name: installed(comparison.python, name) for name in packages},
            "ours": {name: versions()[name] for name in packages},
        },
        "target": comparison.target.card.hash,
        "prompts": hashlib.sha256((ASSETS / "prompts.json").read_bytes()).hexdigest(),
        "new_tokens": NEW_TOKENS,
    }


def main() -> None:
    """Create the environment, compare, and write peers.json."""
    args = options()
    from peers.environment import ready
    from peers.table import PEERS

    from specviz.training.measure import to_text

    comparison = Comparison(ready(args.environment.absolute()))
    here = same = facts(comparison)
    same, rows = known(args.out, same)
    wanted = [name for name in args.drafters.split(",") if name]
    for peer in PEERS:
        if not wanted or peer.drafter in wanted:
            one = rows[peer.drafter] = comparison.row(peer) | other_machine(same, here)
            print(peer.drafter, one["said"], one["texts_equal"], one["rounds_equal"], flush=True)
            print(one["by_position"], one["rounds"], flush=True)
    told = [rows[peer.drafter] for peer in PEERS if peer.drafter in rows]
    args.out.write_text(to_text(same | {"rows": told}), encoding="utf-8")


MACHINE = ("processor", "versions")


def known(file: Path, here: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shared facts and the rows that a file already has; none if the task changed.

    Args:
        file: The file.
        here: The facts of the current run.
    """
    if not file.exists():
        return here, {}
    found = json.loads(file.read_text(encoding="utf-8"))
    rows = found.pop("rows")
    if any(found[key] != here[key] for key in here.keys() - set(MACHINE)):
        return here, {}
    return found, {row["drafter"]: row for row in rows}


def other_machine(same: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Return what a row says about its machine and versions if they are not the shared ones."""
    differs = any(same[key] != here[key] for key in MACHINE)
    return {key: here[key] for key in MACHINE} if differs else {}


if __name__ == "__main__":
    main()
