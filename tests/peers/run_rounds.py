"""A run of vLLM or specviz in one form: new tokens, and accepted guesses per round.

The prefill is not a round. The last round is left out of every comparison: specviz shortens its
draft to the tokens left, vLLM drafts it whole and cuts the text.
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
class RunRounds:
    """One prompt's run.

    Attributes:
        tokens: All new tokens.
        kept: Accepted guesses by round, without the last.
    """

    tokens: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def digits(self) -> str:
        """The rounds as one digit each."""
        return "".join(map(str, self.kept))


def ours(target: Target, drafter: Drafter, text: str, peer: Peer) -> RunRounds:
    """Run specviz."""
    settings = peer.settings
    ids = target.encode(text, settings.max_new_tokens)
    played = list(rounds(target, drafter, ids, settings))
    tokens = tuple(token for one in played for token in one.tokens)
    return RunRounds(tokens, tuple(len(one.verdict.path) for one in played[1:-1]))


def theirs(steps: Sequence[dict[str, Any]]) -> RunRounds:
    """Convert what vLLM's engine did, step by step (see `vllm_run`)."""
    tokens = tuple(token for step in steps for token in step["tokens"])
    return RunRounds(tokens, tuple(step["accepted"] for step in steps[1:-1]))


def by_position(told: Sequence[str]) -> list[int]:
    """Return how many rounds accepted a guess at position 1, 2, …"""
    kept = [int(digit) for digits in told for digit in digits]
    return [sum(many > place for many in kept) for place in range(max(kept, default=0))]
