"""An independent small model with the target's tokenizer, drafting a chain token by token.

Sampled: each guess is drawn from q, the small model's law under the run's own temperature, top-k
and top-p. Greedy (and at temperature 0): each guess is its top token, a point mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from specviz.chance import Chance
from specviz.distributions import Draw, check_scores, draw, law
from specviz.drafters.base import Proposal
from specviz.drafters.schedule import schedule
from specviz.settings import Settings
from specviz.states import Riders, States, Taps
from specviz.target import TargetRun
from specviz.trace import ModelCard
from specviz.tree import DraftTree
from specviz.verification import Drawn


class DraftModel:
    """A transformers causal LM in eval mode whose token ids mean the same as the target's."""

    name = "draft-model"
    made_for: str | None = None
    taps = Taps()

    def __init__(self, model: Any, card: ModelCard) -> None:
        self.model = model
        self.card = card

    def begin(self, target: TargetRun, settings: Settings) -> DraftModelSession:
        """See `Drafter`."""
        return DraftModelSession(self, target, settings)


class DraftModelSession:
    """The small model's cache, cut back to the text before every proposal."""

    def __init__(self, drafter: DraftModel, target: TargetRun, settings: Settings) -> None:
        self.model = drafter.model
        self.name = drafter.card.name
        self.vocab_size = target.target.vocab_size
        self.eos = target.target.eos
        self.sampling = settings.sampling
        self.sampled = settings.candidates == "sampled" and not settings.sampling.greedy
        self.drawn = Drawn.SAMPLED if self.sampled else Drawn.POINT_MASS
        self.schedule = schedule(settings)
        self.cache = DynamicCache()
        self.cached: list[int] = []  # the tokens whose keys and values the cache holds
        self.drafted = 0

    @torch.inference_mode()
    def propose(self, context: Sequence[int], room: int, chance: Chance) -> Proposal:
        """See `DraftSession`. Score by node: the small model's probability at temperature 1."""
        self._roll_back(context)
        guesses: list[int] = []
        q: dict[int, Tensor] = {}
        draws: dict[int, Draw] = {}
        score: dict[int, float] = {}
        for node in range(1, min(self.schedule.gamma, room - 1) + 1):
            logits = self._next([*context, *guesses][len(self.cached) :])
            if self.sampled:
                q[node - 1] = law(logits, self.sampling)
                draws[node] = draw(q[node - 1], chance.draft(node))
                guesses.append(draws[node].token)
            else:
                guesses.append(int(logits.argmax()))
            score[node] = logits.float().softmax(-1)[guesses[-1]].item()
            if guesses[-1] in self.eos:
                break
        self.drafted = len(guesses)
        return Proposal(DraftTree.chain(context[-1], guesses), self.drawn, q, draws, score)

    def commit(self, tokens: Sequence[int], states: States, riders: Riders | None = None) -> None:
        """See `DraftSession`. The cache is cut back at the next proposal, which sees the text."""
        self.schedule.observe(self.drafted, min(len(tokens) - 1, self.drafted))
        self.drafted = 0

    def _roll_back(self, context: Sequence[int]) -> None:
        """Forget cached tokens that are not the text's; always leave one to be read anew."""
        same = 0
        for old, new in zip(self.cached, context[:-1], strict=False):
            if old != new:
                break
            same += 1
        self.cache.crop(same - len(self.cached))
        del self.cached[same:]

    def _next(self, tokens: Sequence[int]) -> Tensor:
        """Read `tokens` after the cached ones; logits (V,) of what follows, in target ids."""
        device = self.model.device
        start = len(self.cached)
        out = self.model(
            input_ids=torch.tensor([list(tokens)], device=device),
            position_ids=torch.arange(start, start + len(tokens), device=device)[None],
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self.cached += tokens
        logits: Tensor = out.logits[0, -1]
        check_scores(logits, self.name)
        return fit(logits, self.vocab_size)


def fit(logits: Tensor, size: int) -> Tensor:
    """Logits (W,) over the first `size` ids: models pad the same vocabulary to different sizes."""
    missing = size - logits.shape[-1]
    if missing > 0:
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
    return logits[:size]
