"""P-EAGLE (2602.01469): EAGLE-3's reading of the target, and every guess in one pass.

The newest token x stands at n; rows (states of t, token t + 1) are known up to t = n - 1, and that
row guesses n + 1. Behind it stand masks, each guessing one place further. No guess knows which
token another took, only that it is masked: the top token of each makes one path, a point mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.eagle.parallel_head import PEagleHead
from specviz.drafters.kit.base import HeadDrafter
from specviz.drafters.kit.growing import fit
from specviz.drafters.kit.layers import KeysValues
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.passes import CaptureSpec, ExtraRows, States, concat_layers
from specviz.models.target import Target, TargetRun
from specviz.models.weights import matrices
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification import Drawn
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import to_host, upload
from specviz.verification.tree import DraftTree


class PEagle(HeadDrafter):
    """P-EAGLE's head in eval mode, on the target's device and in its dtype.

    taps: outputs of the layers that the head's config names, counted from 1, before the final norm.
    """

    name = "p-eagle"
    network = PEagleHead
    head: PEagleHead

    def __init__(self, head: PEagleHead, card: ModelCard) -> None:
        super().__init__(head, card)
        self.capture = CaptureSpec(layers=head.config.tap_layers)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """See `Drafter`. Raises Unsuitable where the target has another width."""
        self.head.config.check_fit(self.card.name, target.target)
        return PEagleSession(self, target.target)

    def weights(self, target: Target) -> Weights:
        """See `Drafter`. Layers' states are fused on the way in; its output head is its own."""
        fuse, own = matrices(self.head.fc), matrices(self.head.lm_head)
        return Weights(matrices(self.head) - fuse - own, own, fuse)


class PEagleSession:
    """The layers' caches of the text's rows; a mask's are cut away before the next proposal.

    rows: of the text, in the caches. waiting: states that were committed and not read yet, with the
    tokens that they predicted.
    """

    drawn = Drawn.POINT_MASS

    def __init__(self, drafter: PEagle, target: Target) -> None:
        self.head = drafter.head
        self.name = drafter.card.name
        self.target = target
        self.embed: Any = self.head.embed_tokens or target.model.get_input_embeddings()
        self.caches = [KeysValues() for _ in range(self.head.config.num_hidden_layers)]
        self.rows = 0
        self.waiting: list[tuple[States, list[int]]] = []

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`. Score by node: its place's probability at temperature 1."""
        depth = min(self.head.config.speculative_tokens or max_tokens, max_tokens - 1)
        tokens, score, work = [context[-1]], {}, Work()
        if depth > 0:
            logits, work = self._guess(len(context), depth)
            soft = logits.float().softmax(-1)
            top = soft.argmax(-1, keepdim=True)
            chances, ids = (each[:, 0].tolist() for each in to_host(soft.gather(-1, top), top))
            check_finite(chances, self.name)
            for node, token in enumerate(ids, start=1):
                tokens.append(token)
                score[node] = chances[node - 1]
                if token in self.target.eos:
                    break
        evidence: dict[int, dict[str, Any]] = {0: {"form": "parallel", "passes": int(depth > 0)}}
        return Proposal(
            DraftTree.chain(tokens[0], tokens[1:]),
            self.drawn,
            score=score,
            evidence=evidence,
            work=work,
        )

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """See `DraftSession`. State i and token i are a row of the head as they come."""
        states.cover(len(tokens))
        self.waiting.append((states, list(tokens)))

    def _guess(self, length: int, depth: int) -> tuple[Tensor, Work]:
        """Logits (depth, V) of the places after a text of `length` tokens, in one pass.

        Raises ValueError where the states taken do not make up that text.
        """
        config, device = self.head.config, self.target.device
        taps = concat_layers([states.layers for states, _ in self.waiting])
        new = [token for _, some in self.waiting for token in some]
        start, self.waiting = self.rows, []
        if start + len(new) != length - 1:
            raise ValueError(f"{start} + {len(new)} states for a text of {length} tokens.")
        states = [self.head.fuse(taps)] if new else []
        states.append(self.head.masks(depth - 1))
        tokens = upload([*new, *[config.mask_token_id] * (depth - 1)], device)
        positions = torch.arange(start, start + len(tokens), device=device)
        out = self._pass(torch.cat(states), self.embed(tokens), positions)
        self.rows = length - 1
        logits = fit(self.head.logits(out[-depth:]), self.target.vocab_size)
        return logits, Work(body=len(tokens), head=depth, entry=len(new))

    def _pass(self, states: Tensor, words: Tensor, positions: Tensor) -> Tensor:
        """The layers on new rows (n, h), each seeing the text's and those before it: (n, h)."""
        start, rows = self.rows, len(positions)
        sees = torch.ones(rows, start + rows, dtype=torch.bool, device=words.device).tril(start)
        for cache in self.caches:
            cache.cut(start)
        mixes = [cache.mix(sees) for cache in self.caches]
        return self.head.through(states[None], words[None], positions, mixes)[0]
