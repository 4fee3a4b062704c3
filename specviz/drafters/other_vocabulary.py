"""A draft model with its own tokenizer ("universal assisted generation"), used in two ways.

If guesses are sampled or branch, the draft model's distribution is restricted to the tokens that
both vocabularies share (2502.05202, algorithm 4). Then q is a distribution over the target's
tokens, and every rule for sampled guesses applies. If guesses form a greedy chain, the draft model
generates any of its own tokens, and the target's tokenizer encodes the resulting text (algorithm 2;
Hugging Face's "universal assisted generation" of 2024). That is a point mass, since nothing is
sampled.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, Final, Self

import torch
from torch import Tensor

from specviz.drafters.common.proposal_builder import candidate_kind
from specviz.drafters.common.session import Session
from specviz.drafters.common.tree_reader import TreeReader
from specviz.drafters.draft_model import DraftModel, DraftModelSession
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.errors import BadPrompt, MismatchedVocabulary, Unsuitable
from specviz.models.target import Target, TargetRun
from specviz.models.tokenizer import is_fast, prompt_encoder, special_ids, vocabulary_bytes
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import to_host
from specviz.verification.tree import DraftTree


@dataclass(frozen=True)
class SharedTokens:
    """The tokens that have the same bytes in two vocabularies."""

    to_draft: Mapping[int, int]
    size: int
    token_bytes: Mapping[int, bytes]
    draft_bytes: Mapping[int, bytes]

    @cached_property
    def _rows(self) -> Tensor:
        return torch.tensor([list(self.to_draft), list(self.to_draft.values())])

    @cached_property
    def _own(self) -> Tensor:
        return torch.zeros(self.size, dtype=torch.long).index_copy_(0, *self._rows)

    def draft_tokens_of(self, tokens: Tensor) -> Tensor:
        """Return the draft model's tokens (n,) for shared tokens (n,) of the target."""
        return self._own.to(tokens.device)[tokens]

    def fit(self, logits: Tensor) -> Tensor:
        """Map the draft model's logits (n, W) to the target's tokens (n, V); -inf if not shared.

        The resulting distribution is the draft model's, conditioned on the token being shared (TLI,
        token-level intersection, 2502.05202, algorithm 4).
        """
        theirs, own = self._rows.to(logits.device)
        fitted = logits.new_full((logits.shape[0], self.size), -torch.inf)
        fitted[:, theirs] = logits[:, own]
        return fitted


def find_shared_tokens(
    tokenizer: Any, size: int, own_tokenizer: Any, own_size: int, end: int | None
) -> SharedTokens:
    """Return the tokens that a target and a draft model share.

    Special tokens are paired only with special tokens of the same name. If several tokens have the
    same bytes, the first one is used. end: the target's end-of-text token, or None; it is paired
    with the draft model's.
    """
    token_bytes, draft_bytes = (
        vocabulary_bytes(tokenizer, size),
        vocabulary_bytes(own_tokenizer, own_size),
    )
    specials = special_ids(tokenizer), special_ids(own_tokenizer)
    known: dict[tuple[bytes, bool], int] = {}
    for token, text in sorted(draft_bytes.items()):
        known.setdefault((text, token in specials[1]), token)
    found: dict[int, int] = {}
    for token, text in sorted(token_bytes.items()):
        own = known.pop((text, token in specials[0]), None)
        if own is not None:
            found[token] = own
    ends = own_tokenizer.eos_token_id
    unpaired_end = ends is not None and ends < own_size and ends not in found.values()
    if unpaired_end and end is not None:
        found.setdefault(end, ends)
    return SharedTokens(found, size, token_bytes, draft_bytes)


REENCODED: Final = 8  # how many of the last tokens are encoded again together with a guess


@dataclass(frozen=True, slots=True)
class DraftText:
    """A text in the draft model's tokens."""

    ids: list[int]
    rest: bytes


class Retokenizer:
    """Converts text between the target's tokenizer and the draft model's.

    longest: the longest text that the draft model can read, in its own tokens; None for no limit.
    """

    def __init__(
        self, target: Target, tokenizer: Any, shared: SharedTokens, longest: int | None = None
    ) -> None:
        self.target = target
        self.tokenizer = tokenizer
        self.shared = shared
        self.longest = longest
        self._special = special_ids(target.tokenizer)

    def read(self, context: Sequence[int], guesses: int) -> DraftText:
        """Return the text, or an empty one if it cannot be converted or is too long to draft."""
        try:
            text = self.encode(context)
        except BadPrompt:
            return NO_TEXT
        fits = text.ids and (self.longest is None or len(text.ids) + guesses <= self.longest)
        return text if fits else NO_TEXT

    def encode(self, context: Sequence[int]) -> DraftText:
        """Return the whole text in the draft model's tokens.

        Special tokens that only the target has are left out, since the draft model would read them
        as ordinary text. Shared special tokens, such as chat markers, are kept. Raises BadPrompt if
        the text cannot be encoded.
        """
        decoder = getincrementaldecoder("utf-8")("ignore")
        text = "".join(
            decoder.decode(b"", final=True) + self._mark(token)
            if token in self._special
            else decoder.decode(self.shared.token_bytes.get(token, b""))
            for token in context
        )
        return DraftText(prompt_encoder(self.tokenizer).encode(text), decoder.getstate()[0])

    def _mark(self, special: int) -> str:
        own = self.shared.to_draft.get(special)
        if own is None:
            return ""
        return prompt_encoder(self.tokenizer).mark(self.tokenizer.convert_ids_to_tokens(own))

    def guesses(self, context: Sequence[int], rest: bytes, own: Sequence[int]) -> list[int]:
        """Return the draft model's continuation in the target's tokens; [] if it has none.

        The text's last tokens are encoded again together with the guesses, since the target's
        tokenizer might merge them. If that changes the text itself, fewer tokens are encoded again.
        """
        written = b"".join(self.shared.draft_bytes.get(token, b"") for token in own)
        if not written.startswith(rest):
            return []
        whole = self._whole_characters(rest, written)
        spans = [self.shared.token_bytes.get(token, b"") for token in self._plain_end(context)]
        for back in range(len(spans), -1, -1):
            before = b"".join(spans[len(spans) - back :])
            found = self._after(before, whole)
            if found is not None:
                return list(takewhile(self.shared.size.__gt__, found))
        return []

    def _whole_characters(self, rest: bytes, written: bytes) -> bytes:
        # Without an incomplete last character.
        cut = getincrementaldecoder("utf-8")("ignore")
        cut.decode(written)
        return written[len(rest) : len(written) - len(cut.getstate()[0])]

    def _plain_end(self, context: Sequence[int]) -> list[int]:
        end = list(context[-REENCODED:])
        last = max((at for at, token in enumerate(end) if token in self._special), default=-1)
        return end[last + 1 :]

    def _after(self, before: bytes, then: bytes) -> list[int] | None:
        # None if a token spans both.
        try:
            text = (before + then).decode()
        except UnicodeDecodeError:
            return None
        ids = [each.id for each in prompt_encoder(self.target.tokenizer).encode_marked(text)]
        spans = [self.shared.token_bytes.get(token, b"") for token in ids]
        left = sum(map(len, spans))
        if not b"".join(spans).endswith(before + then):
            return None
        for at in range(len(ids) + 1):
            if left == len(then):
                return ids[at:]
            if at < len(ids):
                left -= len(spans[at])
        return None


NO_TEXT: Final = DraftText([], b"")
NO_POSITIONS: Final = (
    "The tokenizer of {!r} cannot give the position of a token in a text. A draft model with "
    "another tokenizer than the target's needs that of both tokenizers."
)
NOTHING_SHARED: Final = "{!r} and {!r} have no token in common, so one cannot draft for the other."


class OtherVocabulary(DraftModel):
    """A causal LM in eval mode whose tokens differ from the target's.

    Args:
        shared: The tokens that it shares with the target.

    Attributes:
        own_length: Longest text that it can read, in its own tokens; None for no limit. Longer
            texts get no guesses.
    """

    def __init__(self, model: Any, card: ModelCard, tokenizer: Any, shared: SharedTokens) -> None:
        super().__init__(model, card)
        self.own_length, self.max_length = self.max_length, None
        self.tokenizer = tokenizer
        self.shared = shared

    @classmethod
    def between(cls, model: Any, card: ModelCard, tokenizer: Any, target: Target) -> Self:
        """Return the drafter for this target.

        Raises Unsuitable if a tokenizer does not report the positions of tokens;
        MismatchedVocabulary if no token is shared.
        """
        for name, each in ((target.card.name, target.tokenizer), (card.name, tokenizer)):
            if not is_fast(each):
                raise Unsuitable(NO_POSITIONS.format(name))
        own_size = model.get_output_embeddings().weight.shape[0]
        end = next(iter(target.eos), None)
        both = find_shared_tokens(target.tokenizer, target.vocab_size, tokenizer, own_size, end)
        if not set(both.to_draft) - set(target.eos):
            raise MismatchedVocabulary(NOTHING_SHARED.format(target.card.name, card.name))
        return cls(model, card, tokenizer, both)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`."""
        greedy = candidate_kind(settings, settings.branches) is Drawn.POINT_MASS
        session = RewritingSession if greedy and not settings.branches else IntersectionSession
        return session(self, target, settings)


class IntersectionSession(DraftModelSession):
    """A session that drafts only shared tokens, level by level, like any draft model."""

    def __init__(self, drafter: OtherVocabulary, target: TargetRun, settings: Settings) -> None:
        super().__init__(drafter, target, settings)
        self.shared = drafter.shared
        own = drafter.tokenizer, drafter.shared, drafter.own_length
        self.reading = Retokenizer(target.target, *own)
        self.text = NO_TEXT

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # Recorded for the proposal: the number of shared tokens, and the text's length in the draft
        # model's tokens.
        self.text = self.reading.read(context, max_tokens)
        proposal = super().propose(context, max_tokens if self.text.ids else 1, chance)
        sizes = {"shared": len(self.shared.to_draft), "vocabulary": self.shared.size}
        return replace(proposal, evidence={0: _remark("intersection", self.text, **sizes)})

    def draft_text(self, context: Sequence[int]) -> Sequence[int]:
        """Return the text of the current proposal in the draft model's tokens."""
        return self.text.ids

    def draft_words(self, words: Tensor) -> Tensor:
        """Return guesses in the draft model's tokens; all of them are shared."""
        return self.shared.draft_tokens_of(words)

    def draft_tree(self, tree: DraftTree) -> DraftTree:
        """Return a tree in the draft model's tokens."""
        guesses = (self.shared.to_draft[token] for token in tree.tokens[1:])
        return DraftTree((self.text.ids[-1], *guesses), tree.parents)

    @property
    def memory(self) -> None:
        """Implement `LevelSession.memory`: a recording would not keep the table of tokens alive."""
        return None

    def fit_logits(self, logits: Tensor) -> Tensor:
        """Implement `LevelSession.fit_logits`: all tokens that are not shared get -inf."""
        return self.shared.fit(logits)


class RewritingSession(Session):
    """A session that drafts a greedy chain in another vocabulary, ending at low confidence."""

    def __init__(self, drafter: OtherVocabulary, target: TargetRun, settings: Settings) -> None:
        super().__init__(target.target, settings)
        self.drafter = drafter
        self.reader = TreeReader(drafter.model, drafter.card.name)
        own = drafter.tokenizer, drafter.shared, drafter.own_length
        self.reading = Retokenizer(target.target, *own)
        self.special = special_ids(drafter.tokenizer)

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # Recorded for the proposal: the draft model's tokens, and the text's length in its tokens.
        self.reader.work = Work()
        text = self.reading.read(context, max_tokens)
        own = self._written(text, max_tokens - 1) if text.ids else []
        plain = own[:-1] if own and own[-1] in self.special else own
        guesses = self._rewritten(context, text, plain)
        if plain != own and self.target.eos:
            guesses = [*guesses, self.target.eos[0]]
        guesses = guesses[: max_tokens - 1]
        end = next((at + 1 for at, token in enumerate(guesses) if token in self.target.eos), None)
        tree = DraftTree.chain(context[-1], guesses[:end])
        token_bytes = self.drafter.shared.draft_bytes
        written = [token_bytes.get(token, b"").decode("latin-1") for token in own]
        evidence = {0: _remark("rewritten", text, written=written)}
        return Proposal(tree, self.drawn, evidence=evidence, work=self.reader.work)

    def _written(self, text: DraftText, most: int) -> list[int]:
        # It ends at a special token or at low confidence.
        own: list[int] = []
        for _ in range(most):
            chances = self.reader.read_text([*text.ids, *own])[0].float().softmax(-1)
            sure, token = (each.item() for each in to_host(*chances.max(-1)))
            check_finite([sure], self.reader.name)
            own.append(int(token))
            if own[-1] in self.special or sure < self.settings.confidence:
                break
        return own

    def _rewritten(self, context: Sequence[int], text: DraftText, own: Sequence[int]) -> list[int]:
        try:
            return self.reading.guesses(context, text.rest, own)
        except BadPrompt:
            return []


def _remark(form: str, text: DraftText, **more: Any) -> dict[str, Any]:
    return {"form": form, "own_tokens": len(text.ids), **more}
