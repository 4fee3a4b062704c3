"""MTP (DeepSeek-V3, 2412.19437): a module maps a hidden state and the next token to the next state.

The newest token x is at position n. A row consists of the state at i and the embedding of token i +
1; the last known row is (state at n - 1, x), and the module's output there predicts the token n +
1. Every further step reads the module's own output instead of the target's state, which does not
exist yet, so guesses get worse with depth. The draft is a chain: sampled from q, or top tokens,
which are a point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.head_cache import TransformersRows, head_cache
from specviz.drafters.common.proposal_builder import Level, TreeShape
from specviz.drafters.common.session import LevelPass, LevelSession
from specviz.drafters.mtp.head import MTPModules
from specviz.engine.protocol import Proposal
from specviz.models.graphs import Memory, pad_front
from specviz.models.passes import ExtraRows, States, causal_lm_weights, matrix_weights
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch


class MTP(HeadDrafter):
    """The drafter of MTP modules, in eval mode, trained for one target."""

    name = "mtp"
    network = MTPModules
    head: MTPModules

    def session(self, target: Target, settings: Settings) -> MTPSession:
        """Implement `HeadDrafter.session`."""
        return MTPSession(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        # One module is counted, since all are alike; its output head may be the target's.
        count, own = self.head.config.num_nextn_predict_layers, self.head.module(1).shared_head
        size = 0 if own.head is None else matrix_weights(own.head)
        return Weights(
            matrix_weights(self.head) // count - size, size or causal_lm_weights(target.model).head
        )


class MTPSession(LevelSession):
    """A session that caches the modules' keys and values of verified rows.

    Attributes:
        known: Number of rows that every module has read with verified states and tokens.
        states: The target's states of the rows from `known` on, (1, n - known, h).
    """

    def __init__(self, drafter: MTP, target: Target, settings: Settings) -> None:
        super().__init__(drafter.card.name, target, settings, chain=True)
        self.modules = drafter.head
        self.count = self.modules.config.num_nextn_predict_layers
        self.embed = self.target.model.get_input_embeddings()
        self.project = self.target.model.get_output_embeddings()
        self.cache = head_cache(self.modules, [self.modules.shape] * self.count)
        self.known = 0
        self.states: Tensor | None = None
        # The target's states and each step's outputs, (1, r, h) each; and for each step, the guess
        # that no earlier step has read.
        self.outputs: tuple[list[Tensor], list[Tensor]] = [], []

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # A node's score is the module's probability at temperature 1.
        assert self.states is not None
        self.work = Work()
        builder = self.build(context, TreeShape(max_tokens - 1, lambda _: 1), chance)
        newest, steps = len(context) - 1, len(builder.tokens) - 1
        evidence: dict[int, dict[str, Any]] = {0: {"form": "modules", "modules": self.count}}
        evidence |= {step: self._guess_evidence(step, newest - 1) for step in range(1, steps + 1)}
        self._keep(newest, steps)
        return builder.proposal(evidence=evidence, work=self.work)

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`; rows with guesses were discarded before."""
        states.check_length(len(tokens))
        assert states.final is not None
        new = states.final[None]
        self.states = new if self.states is None else torch.cat([self.states, new], dim=1)

    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Implement `LevelSession.plan_level`."""
        # A module's first step in a round reads all its new rows. When the module is applied again,
        # it reads one more row.
        assert self.states is not None
        step, newest = level.nodes[0] + 1, len(context) - 1
        again = max(0, step - self.count)
        past = newest + again - 1 if again else self.known
        new = 1 if again else self.states.shape[1]
        size = self.cache.padded_rows(new)
        # Position of the first token that the module reads, which is later than its row.
        ahead = past + min(step, self.count)
        text = uploads.put(pad_front(torch.tensor(context[ahead:], dtype=torch.long), size))
        where = uploads.put(pad_front(torch.arange(past, past + new), size)[None])
        mask = self._plan_mask(past, new, size, uploads)
        slots = self.cache.plan(past, past + new, size, uploads)
        states = uploads.put_states(self.states[0], size) if step == 1 else None
        self.work += Work(body=new, head=1)

        def reading(words: Tensor) -> Tensor:
            outputs, guesses = self.outputs if states is None else ([states()[None]], [])
            outputs, guesses = outputs[:step], [*guesses[: step - 1], words]
            rows = outputs[-1][:, -1:] if again else outputs[-1]
            # The first "guess" is the text's newest token.
            tokens = torch.cat([text(), *guesses[1:]])[-size:]
            module, layer = self.modules.module(step), min(step, self.count) - 1
            joined = module.join(rows, tokens[None], self.embed)
            cache = TransformersRows(self.cache, layer, slots(), mask().shape[-1])
            made = self.modules.run(step, joined, where(), mask(), cache)
            self.outputs = [*outputs, made], guesses
            return module.logits(made[0, -1], self.project)[None]

        return reading

    @property
    def memory(self) -> Memory | None:
        """Implement `LevelSession.memory`."""
        return self.cache.memory

    def discard_from(self, node: int) -> None:
        """Implement `LevelSession.discard_from`; step n + 1 added node n to the cache."""
        assert self.states is not None
        newest = self.known + self.states.shape[1]
        for module in range(1, self.count + 1):
            steps = max(0, node - module + 1) if module == self.count else int(module <= node)
            self.cache.cut(newest + steps - 1 if steps else self.known, module - 1)

    def _plan_mask(
        self, past: int, new: int, size: int, uploads: UploadBatch
    ) -> Callable[[], Tensor]:
        # Additive, for `new` rows after `past` others.
        sees = self.cache.pad_mask(torch.ones(new, past + new, dtype=torch.bool).tril(past), size)
        dtype = self.target.dtype
        mask = torch.where(sees, 0.0, torch.finfo(dtype).min).to(dtype)
        return uploads.put(mask[None, None])

    def _guess_evidence(self, step: int, state: int) -> dict[str, Any]:
        # The module, from 1, the position of the target's newest state, and how many consecutive
        # steps read a module's output instead of a state (`own`).
        return {"module": min(step, self.count), "state": state, "own": step - 1}

    def _keep(self, newest: int, steps: int) -> None:
        # Module k reads k tokens ahead, so its last k - 1 rows contain guesses.
        kept = newest - self.count + 1 if steps >= self.count else self.known
        kept = max(kept, self.known)
        self.cache.cut(kept)
        assert self.states is not None
        self.states = self.states[:, kept - self.known :]
        self.known = kept
