"""L-MTP: heads that leap over positions; the states before fill the gaps by looking backward.

The newest token stands at n. With leap k, head m reads the state at t for the token t + k m + 1
(2505.17505), so the token n + j comes from head m = ⌈j / k⌉ on the state at n - 1 - (k m - j):
with k = 2 from the newest state where j is even, from the one before where it is odd.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from torch import Tensor, cat

from specviz.drafters.cards import card_of
from specviz.drafters.rank_paths import Ahead, RankPathSession
from specviz.heads.lmtp import LeapHeads
from specviz.heads.residual import Project
from specviz.settings import Settings
from specviz.states import States, Taps
from specviz.target import Target, TargetRun
from specviz.trace import ModelCard


class LeapMTP:
    """Heads in eval mode, trained on the one target."""

    name = "lmtp"
    taps = Taps(final=True)

    def __init__(self, heads: LeapHeads, card: ModelCard) -> None:
        self.heads = heads
        self.card = card
        self.made_for = heads.config.made_for

    @classmethod
    def load(cls, title: str, folder: Path, target: Target) -> Self:
        """The heads in `folder`, shown as `title`. Raises NotAvailable, Unsuitable."""
        heads = LeapHeads.load(folder, target)
        return cls(heads, card_of(heads, title, cls.name, folder))

    def begin(self, target: TargetRun, settings: Settings) -> RankPathSession:
        """See `Drafter`."""
        project = target.target.model.get_output_embeddings()
        reader = NewestStates(self.heads, project, self.card.name)
        return RankPathSession(reader, target.target.eos, settings)


class NewestStates:
    """Keeps the newest k states, the last of which predicted the newest token."""

    def __init__(self, heads: LeapHeads, project: Project, name: str) -> None:
        self.heads = heads
        self.leap = heads.config.skip_token
        self.most = self.leap * len(heads.heads)
        self.project = project
        self.name = name
        self.remark: dict[str, Any] = {"heads": len(heads.heads), "leap": self.leap}
        self.states: Tensor | None = None

    def ahead(self, newest: int, depth: int) -> Ahead:
        """See `Heads`; nothing where the text is shorter than a leap.

        Evidence: the head, from 1; the place in the text of the state it read, and how many
        states `back` of the newest that is.
        """
        assert self.states is not None
        guesses = [self.source(j) for j in range(1, depth + 1)]
        if len(self.states) < self.leap:
            return Ahead(self.states[:0], [])
        logits = self.heads(self.states, self.project, guesses[-1][0])  # (heads, k, V)
        picked = logits[[m - 1 for m, _ in guesses], [-1 - back for _, back in guesses]]
        return Ahead(
            picked,
            [{"head": m, "state": newest - 1 - back, "back": back} for m, back in guesses],
        )

    def source(self, j: int) -> tuple[int, int]:
        """Which head, from 1, guesses the j-th token after the newest, how many states back."""
        head = -(-j // self.leap)
        return head, self.leap * head - j

    def commit(self, states: States) -> None:
        """See `Heads`."""
        assert states.final is not None
        rows = states.final if self.states is None else cat([self.states, states.final])
        self.states = rows[-self.leap :]
