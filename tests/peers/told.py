"""What both sides say of a run, in one form: the new tokens, and the guesses kept in each round.

Rule: the prefill is no round, and the last round is left out of every comparison: we cut it to the
room that is left, vLLM drafts it whole and cuts the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peers.table import Peer

from specviz.engine.loop import rounds
from specviz.engine.protocol import Drafter
from specviz.models.target import Target


@dataclass(frozen=True)
class Told:
    """One prompt's run. tokens: all new ones. kept: by round, the last one left out."""

    tokens: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def digits(self) -> str:
        """The rounds as a digit each."""
        return "".join(map(str, self.kept))


def ours(target: Target, drafter: Drafter, text: str, peer: Peer) -> Told:
    """Our own run."""
    settings = peer.settings
    ids = target.encode(text, settings.max_new_tokens)
    played = list(rounds(target, drafter, ids, settings))
    tokens = tuple(token for one in played for token in one.tokens)
    return Told(tokens, tuple(len(one.verdict.path) for one in played[1:-1]))


def theirs(steps: Sequence[dict[str, Any]]) -> Told:
    """What vLLM's engine did, step by step (see `vllm_run`)."""
    tokens = tuple(token for step in steps for token in step["tokens"])
    return Told(tokens, tuple(step["accepted"] for step in steps[1:-1]))


def by_position(told: Sequence[str]) -> list[int]:
    """How many rounds kept a guess at position 1, 2, …: the first of all strings of digits."""
    kept = [int(digit) for digits in told for digit in digits]
    return [sum(many > place for many in kept) for place in range(max(kept, default=0))]
