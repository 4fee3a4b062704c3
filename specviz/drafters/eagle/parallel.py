"""P-EAGLE (2602.01469): EAGLE-3's head, with every guess computed in one pass, and its training.

Let the newest token be x at position n. Rows (states of t, token t + 1) exist up to t = n - 1. That
row predicts position n + 1 from the target's states and the newest token, as in EAGLE-3. Every
further position has a row with the mask's embedding and one learned state, `mask_hidden`, in place
of the target's states, which do not exist yet. Rows see the text and the earlier masks. No guess
depends on another guess's token: the top tokens form one path, a point mass.

In training, every row of the text gives the first guess after it. Random rows are also followed by
masks. Each further mask is kept for a share of those rows only, since all depths of all rows would
be many times the text. A mask sees the text up to its row and the masks between, as in a session.
Every depth is trained to match the target's distribution there, given the text up to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.checkpoint import write
from specviz.drafters.common.layers import KeysValues, Layer, Mix
from specviz.drafters.common.proposal_builder import fit_vocabulary
from specviz.drafters.common.training import Family, TargetOutputs
from specviz.drafters.dflash import TOP_COUNT, top_tokens_by_position
from specviz.drafters.eagle.head import Eagle3Config, default_taps
from specviz.drafters.eagle.head3 import DECAY, DRAFT_VOCABULARY, Eagle3Head
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.errors import Unsuitable
from specviz.models.passes import CaptureSpec, ExtraRows, States, concat_layers, matrix_weights
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification import Drawn
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import to_host, upload
from specviz.verification.tree import DraftTree


@dataclass(frozen=True)
class PEagleConfig(Eagle3Config):
    """Config of a P-EAGLE head.

    Attributes:
        num_hidden_layers: Its own layers.
        mask_token_id: Token in place of those that are not guessed yet.
        speculative_tokens: Positions that it was trained to predict; None if unknown.
    """

    architectures: ClassVar[tuple[str, ...]] = ("PEagleDraftModel",)

    num_hidden_layers: int = 1
    mask_token_id: int = 0
    speculative_tokens: int | None = None

    @classmethod
    def house(cls, target: Target, **changes: Any) -> Self:
        """Return the config of a house head: two layers, narrow MLPs and half the key heads.

        The mask is an end-of-text token, which never appears as a real token within a draft.
        """
        shape = target.model.config
        shared = shape.num_key_value_heads
        defaults = {
            "num_hidden_layers": 2,
            "intermediate_size": shape.intermediate_size // 2,
            "num_key_value_heads": shared // 2 if shared % 2 == 0 else shared,
            "draft_vocab_size": round(DRAFT_VOCABULARY * target.vocab_size),
            "tap_layers": tuple(max(1, layer) for layer in default_taps(target.layers)),
            "mask_token_id": target.eos[0] if target.eos else target.vocab_size - 1,
            "speculative_tokens": HOUSE_DEPTH,
        }
        return cls.like(target, **(defaults | changes))

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json; the mask is also written under vLLM's key."""
        return super().to_json() | {"pard_token": self.mask_token_id}

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Implement `HeadConfig.from_json`."""
        layers, mask = data.get("num_hidden_layers", 1), data.get("mask_token_id")
        one = super().from_json(name, {**data, "num_hidden_layers": 1})  # as EAGLE heads have
        if type(layers) is not int or layers < 1:
            raise Unsuitable(f"{name!r}: num_hidden_layers must be at least 1, not {layers!r}.")
        if type(mask) is not int or not 0 <= mask < one.vocab_size:
            raise Unsuitable(f"{name!r}: its mask_token_id is not a token: {mask!r}.")
        if one.speculative_tokens is not None and one.speculative_tokens < 1:
            raise Unsuitable(f"{name!r}: speculative_tokens must be at least 1.")
        return replace(one, num_hidden_layers=layers)


class PEagleHead(Eagle3Head):
    """EAGLE-3's head with more layers and a learned state for masks."""

    family = "p-eagle"
    config_type = PEagleConfig
    config: PEagleConfig

    def __init__(self, config: PEagleConfig, own_embedding: bool = False) -> None:
        super().__init__(config, own_embedding)
        self.later = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers - 1))
        taps = len(config.tap_layers)
        self.mask_hidden = nn.Parameter(torch.zeros(taps * config.input_width))

    def save(self, folder: Path) -> None:
        """Implement `HeadNetwork.save`, with the public names of the layers."""
        write(folder, self.config.to_json(), self, public_name)

    def mask_states(self, count: int) -> Tensor:
        """Return the layer's input for `count` masks, (count, h)."""
        one = self.fuse_taps(self.mask_hidden[None].chunk(len(self.config.tap_layers), dim=-1))
        return one.expand(count, -1)

    def run_layers(
        self, states: Tensor, words: Tensor, positions: Tensor, mixes: Sequence[Mix]
    ) -> Tensor:
        """Run all layers; see `forward`.

        Args:
            states: (B, n, h).
            words: Embeddings, (B, n, h).
            positions: (n,).
            mixes: By layer; each holds that layer's past.
        """
        rows: Tensor = self.midlayer(words, states, positions, mixes[0])
        for layer, mix in zip(self.later, mixes[1:], strict=True):
            rows = layer(rows, positions, mix)
        return self.norm(rows) if self.config.norm_output else rows


def public_name(name: str) -> str:
    """Return a tensor's name in public files, where all layers are numbered from 0."""
    if name.startswith("midlayer."):
        return name.replace("midlayer.", "layers.0.", 1)
    _, later, rest = name.partition("later.")
    number, _, part = rest.partition(".")
    return f"layers.{int(number) + 1}.{part}" if later else name


class PEagle(HeadDrafter):
    """The P-EAGLE drafter: a head in eval mode, on the target's device and in its dtype.

    It captures the outputs of the layers that the head's config names, before the final norm.
    """

    name = "p-eagle"
    network = PEagleHead
    head: PEagleHead

    def __init__(self, head: PEagleHead, card: ModelCard) -> None:
        super().__init__(head, card)
        self.capture = CaptureSpec(layers=head.config.tap_layers)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`.

        Raises:
            Unsuitable: If the target has another width.
        """
        self.head.config.check_fit(self.card.name, target.target)
        return PEagleSession(self, target.target)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`.

        The layers' states are fused when they are read; the output head is its own.
        """
        fuse, own = matrix_weights(self.head.fc), matrix_weights(self.head.lm_head)
        return Weights(matrix_weights(self.head) - fuse - own, own, fuse)


class PEagleSession:
    """A session that caches the layers' keys and values of the text's rows, not those of masks.

    Attributes:
        rows: Rows of the text in the caches.
        waiting: Committed states that have not been read yet, with the tokens that they predicted.
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
        """Implement `DraftSession.propose`.

        A score is a probability at temperature 1. Evidence by node: its position in the draft.
        Evidence on the proposal: the number of states and masks that the pass saw, and by position
        the most probable tokens and their probabilities, also after an end-of-text token.
        """
        depth = min(self.head.config.speculative_tokens or max_tokens, max_tokens - 1)
        tokens, score, work = [context[-1]], {}, Work()
        remark: dict[str, Any] = {"form": "parallel", "passes": 0}
        evidence: dict[int, dict[str, Any]] = {0: remark}
        if depth > 0:
            logits, work = self._guess(len(context), depth)
            soft = logits.float().softmax(-1)
            top = soft.argmax(-1, keepdim=True)
            shown = soft.topk(min(TOP_COUNT, soft.shape[-1]))
            values = to_host(soft.gather(-1, top), top, *shown)
            probs, ids = (each[:, 0].tolist() for each in values[:2])
            check_finite(probs, self.name)
            remark |= {"passes": 1, "states": self.rows, "masks": depth - 1}
            remark["places"] = top_tokens_by_position(*values[2:])
            for node, token in enumerate(ids, start=1):
                tokens.append(token)
                score[node] = probs[node - 1]
                evidence[node] = {"place": node}
                if token in self.target.eos:
                    break
        seen = [each["token"] for place in remark.get("places", []) for each in place]
        return Proposal(
            DraftTree.chain(tokens[0], tokens[1:]),
            self.drawn,
            score=score,
            evidence=evidence,
            shown=seen,
            work=work,
        )

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`: state i and token i form a row of the head."""
        states.check_length(len(tokens))
        self.waiting.append((states, list(tokens)))

    def _guess(self, length: int, depth: int) -> tuple[Tensor, Work]:
        """Return the logits (depth, V) of the positions after a text, from one pass, and its work.

        Raises:
            ValueError: If the states do not match the text.
        """
        config, device = self.head.config, self.target.device
        taps = concat_layers([states.layers for states, _ in self.waiting])
        new = [token for _, some in self.waiting for token in some]
        start, self.waiting = self.rows, []
        if start + len(new) != length - 1:
            raise ValueError(f"{start} + {len(new)} states for a text of {length} tokens.")
        masks = depth - 1
        states = [self.head.fuse(taps)] if new else []
        states += [self.head.mask_states(masks)] if masks else []
        tokens = upload([*new, *[config.mask_token_id] * masks], device)
        positions = torch.arange(start, start + len(tokens), device=device)
        out = self._pass(torch.cat(states), self.embed(tokens), positions)
        self.rows = length - 1
        logits = fit_vocabulary(self.head.logits(out[-depth:]), self.target.vocab_size)
        entry = len(new) + (masks > 0)  # all masks share one state
        return logits, Work(body=len(tokens), head=depth, entry=entry)

    def _pass(self, states: Tensor, words: Tensor, positions: Tensor) -> Tensor:
        """Run the layers on new rows (n, h), each seeing the text and earlier rows: (n, h)."""
        start, rows = self.rows, len(positions)
        sees = torch.ones(rows, start + rows, dtype=torch.bool, device=words.device).tril(start)
        for cache in self.caches:
            cache.cut(start)
        mixes = [cache.mix(sees) for cache in self.caches]
        return self.head.run_layers(states[None], words[None], positions, mixes)[0]


HOUSE_DEPTH: Final = 7  # guesses of the house head
FOLLOWED: Final = 128  # maximum number of text rows that are followed by masks
KEPT: Final = 0.8  # share of those rows that also have the next mask


class Rows(NamedTuple):
    """Rows of a training pass: those of the text, then masks.

    Attributes:
        anchors: The row of the text that a row follows, (n,); for a row of the text, itself.
        depths: Number of the guess that a row makes after its anchor, from 1, (n,).
    """

    anchors: Tensor
    depths: Tensor

    @property
    def positions(self) -> Tensor:
        """Positions (n,)."""
        return self.anchors + self.depths - 1

    @property
    def sees(self) -> Tensor:
        """Which rows each row attends to, (n, n) bool: the text up to its anchor, and its path."""
        before = (self.depths == 1) & (self.anchors <= self.anchors[:, None])
        path = (self.anchors == self.anchors[:, None]) & (self.depths <= self.depths[:, None])
        return before | path


def rows_of(length: int, anchors: Sequence[Tensor]) -> Rows:
    """Return the rows of a text and of masks.

    Args:
        length: Rows of the text.
        anchors: By depth from 2, the text rows that have a mask of that depth. They must be among
            those of the depth before.
    """
    text = torch.arange(length)
    depths = [torch.full((len(some),), depth) for depth, some in enumerate(anchors, start=2)]
    return Rows(torch.cat([text, *anchors]), torch.cat([torch.ones_like(text), *depths]))


def sampled_rows(length: int, depth: int) -> Rows:
    """Return the rows of a text and of random masks, ever fewer with each depth.

    Args:
        length: Rows of the text.
        depth: Number of guesses after a row that has all masks.
    """
    chosen = torch.randperm(length)[:FOLLOWED]
    counts = [round(len(chosen) * KEPT**k) for k in range(depth - 1)]
    kept = [chosen[:count] for count in counts]
    # A guess at or beyond the end of the text has no target distribution.
    return rows_of(length, [some[some + k < length] for k, some in enumerate(kept, start=1)])


def read_rows(head: PEagleHead, outputs: TargetOutputs, rows: Rows) -> Tensor:
    """Return the head's outputs on the rows of a training pass, (B, n, h)."""
    tokens, masks = outputs.tokens[:, 1:], len(rows.anchors) - outputs.tokens.shape[1] + 1
    embed = outputs.embed if head.embed_tokens is None else head.embed_tokens
    fused, empty = head.fuse(outputs.states)[:, :-1], head.mask_states(masks)
    fill = tokens.new_full((len(tokens), masks), head.config.mask_token_id)
    states = torch.cat([fused, empty.to(fused.dtype).expand(len(tokens), -1, -1)], dim=1)
    mixes = [mix_of(rows.sees)] * head.config.num_hidden_layers
    return head.run_layers(states, embed(torch.cat([tokens, fill], 1)), rows.positions, mixes)


def mix_of(sees: Tensor) -> Mix:
    """Return a `Mix` for one pass without a cache. sees: bool mask (n, n)."""

    def mixed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        groups = queries.shape[1] // keys.shape[1]
        keys, values = (each.repeat_interleave(groups, dim=1) for each in (keys, values))
        return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=sees)

    return mixed


def loss(head: PEagleHead, outputs: TargetOutputs, rows: Rows | None = None) -> Tensor:
    """Return the weighted mean over depths of the cross-entropy to the target's distribution.

    The distribution is restricted to the draft vocabulary and normalized. Rows whose top token is
    outside that vocabulary are ignored, as in EAGLE-3. A depth's mean does not depend on how many
    rows it was sampled for.

    Args:
        head: The head.
        outputs: The target's outputs.
        rows: The rows of the pass; sampled from torch's generator if None.
    """
    depth = head.config.speculative_tokens or HOUSE_DEPTH
    if rows is None:
        rows = sampled_rows(outputs.tokens.shape[1] - 1, depth)
    rows = Rows(*(each.to(outputs.tokens.device) for each in rows))
    teaches = head.t2d[outputs.tops] & outputs.counted
    distributions = outputs.over(head.tokens, teaches).softmax(-1)
    number = teaches.flatten().cumsum(0).view(teaches.shape) - 1  # index into `distributions`
    targets = rows.anchors + rows.depths  # here the target's logits are those of the guess
    used = teaches[:, targets]
    logits = head.draft_logits(read_rows(head, outputs, rows)[used]).float()
    missed = -(distributions[number[:, targets][used]] * logits.log_softmax(-1)).sum(-1)
    depths = rows.depths.expand_as(used)[used] - 1
    sums = missed.new_zeros(depth).index_add(0, depths, missed)
    means = sums / depths.bincount(minlength=depth).clamp(min=1)
    weights = DECAY ** torch.arange(depth, device=means.device)
    return (means * weights).sum() / weights.sum()


CHUNK: Final = 128  # text rows whose guesses are computed in one pass when a head is measured


@torch.no_grad()
def guesses(head: PEagleHead, outputs: TargetOutputs) -> list[Tensor]:
    """Return logits by depth, (B, T - 1, V) each, as `overlaps` takes them."""
    length = outputs.tokens.shape[1] - 1
    depth = head.config.speculative_tokens or HOUSE_DEPTH
    parts = []
    for some in torch.arange(length).split(CHUNK):
        rows = rows_of(length, [some] * (depth - 1))
        rows = Rows(*(each.to(outputs.tokens.device) for each in rows))
        out = read_rows(head, outputs, rows)
        first, masks = out[:, some], out[:, length:].unflatten(1, (-1, len(some)))
        parts.append(torch.cat([first[:, None], masks], dim=1))
    return [head.logits(each) for each in torch.cat(parts, dim=2).unbind(1)]


@torch.no_grad()
def build(target: Target, counts: Tensor, **changes: Any) -> PEagleHead:
    """Build a new head for this target, which starts from the target's final norm and output rows.

    Args:
        target: The target.
        counts: How often each token occurs, (V,).
        **changes: Changes to the config.
    """
    head = PEagleHead(PEagleConfig.house(target, **changes))
    head.propose_only(counts)
    model = target.model
    head.norm.weight.copy_(model.model.norm.weight)
    head.lm_head.weight.copy_(model.get_output_embeddings().weight[head.tokens])
    nn.init.normal_(head.mask_hidden)
    return head


TRAINING: Final = Family("p-eagle", build, loss, guesses)
