"""Training of P-EAGLE (2602.01469) on the target's states and distributions.

Every row of the text predicts the first guess after it. Randomly chosen rows are also followed by
masks. The second mask is kept for only a share of these rows, the third for a share of that, and so
on, since masks of all depths after all rows would be many times as long as the text. A mask attends
to the text up to its row and to the masks between, as in a session. Every depth is trained to match
the target's distribution, given the text before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from specviz.drafters.common.layers import masked
from specviz.drafters.common.training import Family, TargetOutputs
from specviz.drafters.eagle.head3 import DECAY
from specviz.drafters.eagle.parallel import HOUSE_DEPTH, PEagleConfig, PEagleHead
from specviz.models.target import Target

FOLLOWED: Final = 128  # maximum number of text rows that are followed by masks
KEPT: Final = 0.8  # share of those rows that also have the next mask


class Rows(NamedTuple):
    """Rows of a training pass: the rows of the text, then masks.

    Attributes:
        anchors: The text row that each row follows, (n,); a text row follows itself.
        depths: Which guess after its anchor each row predicts, from 1, (n,).
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
        anchors: For each depth from 2 on, the text rows that have a mask of that depth. They must
            be a subset of the rows of the depth before.
    """
    text = torch.arange(length)
    depths = [torch.full((len(some),), depth) for depth, some in enumerate(anchors, start=2)]
    return Rows(torch.cat([text, *anchors]), torch.cat([torch.ones_like(text), *depths]))


def sampled_rows(length: int, depth: int) -> Rows:
    """Return the rows of a text and of masks after random rows, fewer at each depth."""
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
    mixes = [masked(rows.sees)] * head.config.num_hidden_layers
    return head.run_layers(states, embed(torch.cat([tokens, fill], 1)), rows.positions, mixes)


def loss(head: PEagleHead, outputs: TargetOutputs, rows: Rows | None = None) -> Tensor:
    """Return the weighted mean over depths of the cross-entropy to the target's distribution.

    The distribution is restricted to the draft vocabulary and normalized. Rows whose top token is
    outside that vocabulary are ignored, as in EAGLE-3. A depth's weight does not depend on how many
    of its rows were sampled. rows: the rows of the pass; sampled from torch's generator if None.
    """
    depth = head.config.speculative_tokens or HOUSE_DEPTH
    if rows is None:
        rows = sampled_rows(outputs.tokens.shape[1] - 1, depth)
    rows = Rows(*(each.to(outputs.tokens.device) for each in rows))
    teaches = head.t2d[outputs.tops] & outputs.counted
    distributions = outputs.over(head.tokens, teaches).softmax(-1)
    number = teaches.flatten().cumsum(0).view(teaches.shape) - 1  # index into `distributions`
    targets = rows.anchors + rows.depths  # rows where the target's logits are those of the guess
    used = teaches[:, targets]
    logits = head.draft_logits(read_rows(head, outputs, rows)[used]).float()
    missed = -(distributions[number[:, targets][used]] * logits.log_softmax(-1)).sum(-1)
    depths = rows.depths.expand_as(used)[used] - 1
    sums = missed.new_zeros(depth).index_add(0, depths, missed)
    means = sums / depths.bincount(minlength=depth).clamp(min=1)
    weights = DECAY ** torch.arange(depth, device=means.device)
    return (means * weights).sum() / weights.sum()


CHUNK: Final = 128  # how many text rows are computed per pass when a head is measured


@torch.no_grad()
def guesses(head: PEagleHead, outputs: TargetOutputs) -> list[Tensor]:
    """Return logits (B, T - 1, V) for each depth, the input of `overlaps`."""
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
    """Build a head with the target's final norm and output rows. counts: of tokens, (V,)."""
    head = PEagleHead(PEagleConfig.house(target, **changes))
    head.propose_only(counts)
    model = target.model
    head.norm.weight.copy_(model.model.norm.weight)
    head.lm_head.weight.copy_(model.get_output_embeddings().weight[head.tokens])
    nn.init.normal_(head.mask_hidden)
    return head


TRAINING: Final = Family("p-eagle", build, loss, guesses)
