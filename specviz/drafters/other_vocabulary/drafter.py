"""A draft model with its own tokenizer: universal assisted generation, in both forms.

If guesses are sampled or branch, the draft model's distribution is restricted to the tokens that
both vocabularies share (2502.05202, algorithm 4). Then q is a distribution over the target's
tokens, and every rule for sampled guesses applies. If top tokens are taken one after another, the
draft model writes any of its own tokens, and the target's tokenizer encodes the result again
(algorithm 2; Hugging Face's "universal assisted generation" of 2024). That is a point mass, since
nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Self

import torch
from torch import Tensor

from specviz.drafters.common.proposal_builder import candidate_kind
from specviz.drafters.common.tree_reader import TreeReader
from specviz.drafters.draft_model import DraftModel, DraftModelSession
from specviz.drafters.other_vocabulary.vocabularies import OwnText, Rewriting, Shared, shared
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.errors import BadPrompt, MismatchedVocabulary, Unsuitable
from specviz.models.masks import context_length
from specviz.models.passes import ExtraRows, States
from specviz.models.prompt_encoder import is_fast, special_ids
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.settings.specs import MAX_GAMMA
from specviz.trace.events import ModelCard
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import to_host
from specviz.verification.tree import DraftTree

NO_TEXT: Final = OwnText([], b"")
BLIND: Final = (
    "The tokenizer of {!r} cannot give the position of a token in a text. A draft model with "
    "another tokenizer than the target's needs that of both tokenizers."
)
STRANGERS: Final = "{!r} and {!r} have no token in common, so one cannot draft for the other."


class OtherVocabulary(DraftModel):
    """A causal LM in eval mode whose tokens differ from the target's.

    Args:
        model: The draft model.
        card: Its card.
        tokenizer: Its tokenizer.
        shared: The tokens that it shares with the target.
        reach: Longest text that it can read, in tokens; None for no limit.
    """

    def __init__(
        self, model: Any, card: ModelCard, tokenizer: Any, shared: Shared, reach: int | None
    ) -> None:
        super().__init__(model, card)
        self.tokenizer = tokenizer
        self.shared = shared
        self.reach = reach

    @classmethod
    def between(cls, model: Any, card: ModelCard, tokenizer: Any, target: Target) -> Self:
        """Return a draft model for this target.

        Raises:
            Unsuitable: If a tokenizer does not give the positions of tokens.
            MismatchedVocabulary: If no token is shared.
        """
        for name, each in ((target.card.name, target.tokenizer), (card.name, tokenizer)):
            if not is_fast(each):
                raise Unsuitable(BLIND.format(name))
        own_size = model.get_output_embeddings().weight.shape[0]
        end = next(iter(target.eos), None)
        both = shared(target.tokenizer, target.vocab_size, tokenizer, own_size, end)
        if not set(both.own) - set(target.eos):
            raise MismatchedVocabulary(STRANGERS.format(target.card.name, card.name))
        return cls(model, card, tokenizer, both, context_length(model))

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`."""
        chain = candidate_kind(settings) is Drawn.POINT_MASS and not settings.branches
        return (WritesOn if chain else Intersection)(self, target, settings)


class OwnTextReader:
    """Converts the text to the draft model's tokens in every round."""

    def __init__(self, drafter: OtherVocabulary, target: TargetRun) -> None:
        self.drafter = drafter
        self.rewriting = Rewriting(target.target, drafter.tokenizer, drafter.shared)

    def own(self, context: Sequence[int], guesses: int) -> OwnText:
        """Return the text; empty if it cannot be converted or leaves no room for the guesses."""
        try:
            text = self.rewriting.own(context)
        except BadPrompt:
            return NO_TEXT
        reach = self.drafter.reach
        fits = text.ids and (reach is None or len(text.ids) + guesses <= reach)
        return text if fits else NO_TEXT


class Intersection(DraftModelSession):
    """Guesses among the shared tokens, level by level, as any draft model does."""

    def __init__(self, drafter: OtherVocabulary, target: TargetRun, settings: Settings) -> None:
        super().__init__(drafter, target, settings)
        self.shared = drafter.shared
        self.reading = OwnTextReader(drafter, target)
        self.text = NO_TEXT

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`.

        Evidence on the proposal: the number of shared tokens, and the text's length in the draft
        model's tokens.
        """
        self.text = self.reading.own(context, max_tokens)
        proposal = super().propose(context, max_tokens if self.text.ids else 1, chance)
        sizes = {"shared": len(self.shared.own), "vocabulary": self.shared.size}
        return replace(proposal, evidence={0: _remark("intersection", self.text, **sizes)})

    def own_text(self, context: Sequence[int]) -> Sequence[int]:
        """Return the text that `propose` was given, in the draft model's tokens."""
        return self.text.ids

    def own_words(self, words: Tensor) -> Tensor:
        """Return guesses in the draft model's tokens; all of them are shared."""
        return self.shared.own_of(words)

    def own_tree(self, tree: DraftTree) -> DraftTree:
        """Return a tree in the draft model's tokens."""
        guesses = (self.shared.own[token] for token in tree.tokens[1:])
        return DraftTree((self.text.ids[-1], *guesses), tree.parents)

    def over(self, logits: Tensor) -> Tensor:
        """Map the draft model's logits to the target's tokens."""
        return self.shared.fit(logits)


class WritesOn:
    """A chain of the draft model's top tokens, encoded again with the target's tokenizer.

    The chain ends early if a token's probability is below the confidence of the settings.
    """

    max_depth = MAX_GAMMA
    drawn = Drawn.POINT_MASS

    def __init__(self, drafter: OtherVocabulary, target: TargetRun, settings: Settings) -> None:
        self.drafter = drafter
        self.reader = TreeReader(drafter.model, drafter.card.name)
        self.reading = OwnTextReader(drafter, target)
        self.eos = target.target.eos
        self.confidence = settings.confidence
        self.special = special_ids(drafter.tokenizer)

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`.

        Evidence on the proposal: what was written, by the draft model's tokens, and the text's
        length in those tokens.
        """
        self.reader.work = Work()
        text = self.reading.own(context, max_tokens)
        own = self._written(text, max_tokens - 1) if text.ids else []
        plain = own[:-1] if own and own[-1] in self.special else own
        guesses = self._rewritten(context, text, plain)
        if plain != own and self.eos:
            guesses = [*guesses, self.eos[0]]
        guesses = guesses[: max_tokens - 1]
        end = next((at + 1 for at, token in enumerate(guesses) if token in self.eos), None)
        tree = DraftTree((context[-1], *guesses[:end]), tuple(range(-1, len(guesses[:end]))))
        spelled = self.drafter.shared.own_spelled
        written = [spelled.get(token, b"").decode("latin-1") for token in own]
        evidence = {0: _remark("rewritten", text, written=written)}
        return Proposal(tree, self.drawn, evidence=evidence, work=self.reader.work)

    def _written(self, text: OwnText, most: int) -> list[int]:
        """Return the top tokens, one after another, up to a special or an unconfident one."""
        own: list[int] = []
        for _ in range(most):
            chances = self.reader.read_text([*text.ids, *own])[0].float().softmax(-1)
            sure, token = (each.item() for each in to_host(*chances.max(-1)))
            check_finite([sure], self.reader.name)
            own.append(int(token))
            if own[-1] in self.special or sure < self.confidence:
                break
        return own

    def _rewritten(self, context: Sequence[int], text: OwnText, own: Sequence[int]) -> list[int]:
        try:
            return self.reading.rewriting.guesses(context, text.rest, own)
        except BadPrompt:
            return []

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`: the cache is cut back at the next proposal."""


def _remark(form: str, text: OwnText, **more: Any) -> dict[str, Any]:
    return {"form": form, "own_tokens": len(text.ids), **more}
