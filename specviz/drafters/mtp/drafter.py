"""MTP: a module reads the target's state and the next token, and says state and token after that.

The newest token x stands at n. Rows (state of i, embedding of token i + 1) are known up to
(state of n - 1, x): the module's output there guesses n + 1. Every further step reads the module's
own output instead of a state that the target has not computed yet, so guesses get worse with depth
(DeepSeek-V3, 2412.19437). A chain: sampled from q, or top tokens, which are a point mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.kit.base import HeadDrafter
from specviz.drafters.kit.growing import Growing, Shape, fit
from specviz.drafters.kit.layers import causal_mask
from specviz.drafters.mtp.head import MTPModules
from specviz.engine.protocol import Proposal
from specviz.models.cache import RoomyCache
from specviz.models.passes import Riders, States
from specviz.models.target import Target, TargetRun
from specviz.models.weights import causal, matrices
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification import Drawn
from specviz.verification.crossing import upload


class MTP(HeadDrafter):
    """Modules in eval mode, trained on the one target."""

    name = "mtp"
    network = MTPModules
    head: MTPModules

    def begin(self, target: TargetRun, settings: Settings) -> MTPSession:
        """See `Drafter`."""
        return MTPSession(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """See `Drafter`. One of the modules, all alike; its output head may be the target's."""
        many, own = self.head.config.num_nextn_predict_layers, self.head.module(1).shared_head
        size = 0 if own.head is None else matrices(own.head)
        return Weights(matrices(self.head) // many - size, size or causal(target.model).head)


class MTPSession:
    """The modules' caches over verified rows.

    known: rows that every module has read with verified states and tokens. states: the target's
    states of the rows from `known` on, (1, n - known, h).
    """

    def __init__(self, drafter: MTP, target: TargetRun, settings: Settings) -> None:
        self.modules = drafter.head
        self.many = self.modules.config.num_nextn_predict_layers
        self.name = drafter.card.name
        self.target = target.target
        self.embed = self.target.model.get_input_embeddings()
        self.project = self.target.model.get_output_embeddings()
        self.settings = settings
        greedy = settings.candidates == "greedy" or settings.sampling.greedy
        self.drawn = Drawn.POINT_MASS if greedy else Drawn.SAMPLED
        self.cache = RoomyCache()
        self.known = 0
        self.states: Tensor | None = None

    @torch.inference_mode()
    def propose(self, context: Sequence[int], room: int, chance: Chance) -> Proposal:
        """See `DraftSession`. Score by node: the module's probability at temperature 1."""
        grown = Growing(self.name, context[-1], self.settings, self.target.eos, chance)
        evidence: dict[int, dict[str, Any]] = {0: {"form": "modules", "modules": self.many}}
        assert self.states is not None
        hidden, text, newest, step = self.states, list(context), len(context) - 1, 0
        work = Work()
        while level := grown.next(Shape(room - 1, lambda _: 1)):
            step += 1
            hidden = self._step(step, hidden, text, newest)
            logits = self.modules.module(step).logits(hidden[0, -1], self.project)
            work += Work(body=hidden.shape[1], head=1)
            grown.grow(level, fit(logits, self.target.vocab_size)[None])
            evidence[step] = self._why(step, newest - 1)
            text.append(grown.tokens[-1])
        self._forget(newest, step)
        return Proposal(
            grown.tree(), self.drawn, grown.q, grown.draws, grown.score, evidence, work=work
        )

    def commit(self, tokens: Sequence[int], states: States, riders: Riders | None = None) -> None:
        """See `DraftSession`. Rows with guesses were forgotten when they had been made."""
        states.cover(len(tokens))
        assert states.final is not None
        new = states.final[None]
        self.states = new if self.states is None else torch.cat([self.states, new], dim=1)

    def _step(self, step: int, hidden: Tensor, text: Sequence[int], newest: int) -> Tensor:
        """A module's output (1, r, h): on all its new rows, or, used again, behind its own last.

        hidden: the step before's output, at first the target's states. text: with the guesses.
        """
        again = max(0, step - self.many)
        past = newest + again - 1 if again else self.known
        rows = hidden[:, -1:] if again else hidden
        ahead = past + min(step, self.many)  # a module's row i reads the token so far after it
        tokens = upload([text[ahead : ahead + rows.shape[1]]], rows.device)
        joined = self.modules.module(step).join(rows, tokens, self.embed)
        positions = torch.arange(past, past + rows.shape[1], device=rows.device)[None]
        mask = causal_mask(rows.shape[1], past, joined)
        return self.modules.run(step, joined, positions, mask, self.cache)

    def _why(self, step: int, state: int) -> dict[str, Any]:
        """What a guess came of: the module, from 1; the target's newest state, or its own output.

        own: how many times in a row an output was read in place of a state.
        """
        return {"module": min(step, self.many), "state": state, "own": step - 1}

    def _forget(self, newest: int, steps: int) -> None:
        """Leave in every cache the rows of verified states and tokens that all modules have read.

        Module k reads k tokens ahead, so its last k - 1 rows held guesses.
        """
        kept = newest - self.many + 1 if steps >= self.many else self.known
        kept = max(kept, self.known)
        self.cache.cut(kept)
        assert self.states is not None
        self.states = self.states[:, kept - self.known :]
        self.known = kept
