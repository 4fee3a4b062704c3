"""Training of DSpark heads, on texts and on a target's stored answers.

In training, the tokens before each guess are the text's. The loss is cross-entropy and total
variation to the target's distribution; the confidence head is trained on Σ min(p, q), which is the
probability that a sampled guess is accepted. The paper's cross-entropy is to the text's token, and
its weights are 0.1 and 0.9; with the short training of our small heads, equal weights learned
faster.

With the vocabulary of a published model, nearly all of the time would be spent on the logits. So on
stored answers, the loss is computed from some tokens: the most frequent ones, the target's top
tokens, and a sample of all other tokens. Each token of the sample counts as many times as there are
other tokens per sampled token. So the sums over the vocabulary that normalize both distributions
are estimated without bias, and rare tokens are trained, too. The head may propose every token.
"""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as functional
from torch import Tensor

from specviz.drafters.common.layers import Layer
from specviz.drafters.common.training import Family, HeadOptions, TargetOutputs
from specviz.drafters.dflash.head import (
    DECAY,
    block_targets,
    random_anchors,
    separate_blocks,
)
from specviz.drafters.dspark.head import DSparkConfig, DSparkHead
from specviz.models.target import Target

ANSWER_ANCHORS: Final = 128  # maximum number of blocks per batch of answers
SAMPLED_TOKENS: Final = 1024  # number of less frequent tokens that a loss on answers includes


def loss(head: DSparkHead, outputs: TargetOutputs, anchors: Tensor | None = None) -> Tensor:
    """Return the weighted mean loss over blocks at `anchors` (A,), random ones if None."""
    if anchors is None:
        anchors = random_anchors(outputs)
    logits, confidence = blocks(head, outputs, anchors)
    teacher, weights = block_targets(outputs, anchors, logits.shape[2])
    part = guess_losses(teacher, logits, confidence)
    return (part * weights).sum() / (weights.sum() * len(logits))


def guess_losses(
    teacher: Tensor, logits: Tensor, confidence: Tensor | None, counts: Tensor | None = None
) -> Tensor:
    """Return the loss (…) of each guess.

    Args:
        teacher: The target's logits, (…, D).
        logits: The head's logits, (…, D).
        confidence: The confidence head's logits, (…), or None.
        counts: Logarithm of how many tokens each of the D tokens represents, (D,); None for one.
    """
    shift = teacher.new_zeros(()) if counts is None else counts
    p = (teacher.float() + shift).softmax(-1)
    log_q = (logits.float() + shift).log_softmax(-1)
    entropy = -(p * (log_q - shift)).sum(-1)
    apart = (p - log_q.exp()).abs().sum(-1)
    part = (entropy + apart) / 2
    if confidence is None:
        return part
    accepted = (1 - apart.detach() / 2).clamp(0, 1)
    return part + functional.binary_cross_entropy_with_logits(
        confidence.float(), accepted, reduction="none"
    )


def guesses(head: DSparkHead, outputs: TargetOutputs) -> list[Tensor]:
    """Return logits (B, T - 1, V) for each depth; row t is the block at t + 1, given the text."""
    every = torch.arange(1, outputs.tokens.shape[1], device=outputs.tokens.device)
    return list(blocks(head, outputs, every)[0].unbind(2))


def blocks(
    head: DSparkHead, outputs: TargetOutputs, anchors: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Return logits and confidence logits of blocks that start at `anchors` (A,).

    Returns logits (B, A, block_size, V), given the text's own tokens, and the confidence head's
    logits (B, A, block_size), or None.
    """
    device, size = outputs.tokens.device, head.config.block_size
    length = outputs.tokens.shape[1]
    past = head.past(outputs.states, torch.arange(length, device=device))
    words = outputs.embed(head.block(outputs.tokens[:, anchors])).flatten(1, 2)
    positions = anchors[:, None] + torch.arange(size, device=device)
    rows = head(words, positions.flatten(), [separate_blocks(each, anchors) for each in past])
    rows = rows.unflatten(1, (-1, size))
    mixed, confidence = _unroll(head, rows, outputs.tokens[:, positions.clamp(max=length - 1)])
    logits = outputs.head(rows)
    logits += head.markov_head.markov_w2(mixed)
    return logits, confidence


def _unroll(head: DSparkHead, rows: Tensor, before: Tensor) -> tuple[Tensor, Tensor | None]:
    # rows (…, n, h), before (…, n); returns W2's input (…, n, rank), and confidence logits (…, n).
    state = head.markov_head.start(rows[..., 0, :])
    found, embeddings = [], []
    for k in range(rows.shape[-2]):
        mixed, embedded, state = head.markov_head.mix(before[..., k], rows[..., k, :], state)
        found.append(mixed)
        embeddings.append(embedded)
    stacked = torch.stack(found, dim=-2)
    if not head.config.enable_confidence_head:
        return stacked, None
    # No gradient: training the prediction must not change the guesses.
    return stacked, head.confidence(rows.detach(), torch.stack(embeddings, dim=-2).detach())


def build(target: Target, _counts: Tensor) -> DSparkHead:
    """Build a new small head for this target."""
    return DSparkHead(DSparkConfig.house(target))


# Training on a target's stored answers


@torch.no_grad()
def init_from_target(target: Target, counts: Tensor, head_options: HeadOptions) -> DSparkHead:
    """Build a new head, initialized with the target's last layers and its final norm.

    fc starts as a copy of the highest tap, so that the keys and values of the text are nearly those
    of the target's last layers. The Markov head's embedding starts as the principal components of
    the target's, so that similar tokens have similar corrections. Raises ValueError if the block
    would have only one position; Unsuitable if the target has too few layers.
    """
    if head_options.steps < 2:
        raise ValueError("A block of DSpark has at least two guesses: choose --unroll 2 or more.")
    own = target.card.hash
    fits = (own, *head_options.also_for) if own and head_options.also_for else own
    config = DSparkConfig.on_answers(target, block_size=head_options.steps, made_for=fits)
    config.check_fit("dspark", target)
    head, model, wide = DSparkHead(config), target.model.model, config.hidden_size
    head.fc.weight.zero_()
    head.fc.weight[:, -wide:].copy_(torch.eye(wide))
    head.hidden_norm.weight.copy_(model.layers[-1].input_layernorm.weight)
    head.norm.weight.copy_(model.norm.weight)
    for layer, source in zip(head.layers, model.layers[-len(head.layers) :], strict=True):
        assert isinstance(layer, Layer)
        _copy_layer(layer, source)
    embedding = target.model.get_input_embeddings().weight.float()
    head.markov_head.markov_w1.weight.copy_(_components(embedding, config.markov_rank))
    frequent = counts.sort(descending=True, stable=True).indices[: head_options.draft_vocabulary]
    head.register_buffer("frequent", frequent, persistent=False)
    return head


def _copy_layer(layer: Layer, source: Any) -> None:
    # Llama has no norms of queries and keys. A norm's weight is the size that its rows would have
    # if the normed input had independent values of unit variance.
    layer.input_layernorm.weight.copy_(source.input_layernorm.weight)
    layer.post_attention_layernorm.weight.copy_(source.post_attention_layernorm.weight)
    layer.mlp.load_state_dict(source.mlp.state_dict())
    attention = layer.self_attn
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        getattr(attention, name).weight.copy_(getattr(source.self_attn, name).weight)
    for norm, rows in ((attention.q_norm, attention.q_proj), (attention.k_norm, attention.k_proj)):
        scaled = rows.weight * source.input_layernorm.weight
        norm.weight.fill_(float(scaled.square().sum(1).mean().sqrt()))


def _components(table: Tensor, rank: int) -> Tensor:
    # Of a table (V, h): (V, rank), each scaled to size 1.
    centred = table - table.mean(0)
    directions = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -rank:]
    found: Tensor = centred @ directions
    return found / found.square().mean(0).sqrt().clamp(min=1e-6)


def answer_loss(head: DSparkHead, outputs: TargetOutputs) -> Tensor:
    """Return the weighted mean loss over positions of random blocks in the target's answers."""
    made = _answer_blocks(head, outputs, answer_anchors(outputs))
    at, counted = made.at[made.counted], made.counted
    tokens, counts = loss_tokens(head, outputs)
    needed = torch.zeros_like(outputs.tokens, dtype=torch.bool)
    needed.view(-1)[at] = True
    teacher = outputs.over(tokens, needed)[(needed.flatten().cumsum(0) - 1)[at]]
    w2 = head.markov_head.markov_w2.weight[tokens]
    logits = outputs.project(made.rows[counted], tokens)
    logits = logits + functional.linear(made.mixed[counted], w2)
    known = None if made.confidence is None else made.confidence[counted]
    offsets = torch.arange(counted.shape[1], device=at.device)
    weights = (-offsets / DECAY).exp().expand_as(counted)[counted]
    mean: Tensor = (guess_losses(teacher, logits, known, counts) * weights).sum() / weights.sum()
    return mean


@torch.no_grad()
def answer_guesses(head: DSparkHead, outputs: TargetOutputs) -> list[Tensor]:
    """Return the same as `guesses`; only the rows of the target's own tokens are filled in."""
    (count, length), size = outputs.tokens.shape, head.config.block_size
    shape = (count, length - 1, head.config.vocab_size)
    logits = [outputs.final.new_empty(shape) for _ in range(size)]
    starts = functional.pad(outputs.counted, (0, size - 1)).unfold(1, size, 1).any(-1)
    starts[:, 0] = False
    for anchors in starts.flatten().nonzero().flatten().split(ANSWER_ANCHORS):
        made = _answer_blocks(head, outputs, anchors)
        for k in range(size):
            counted = made.counted[:, k]
            found = outputs.head(made.rows[counted, k])
            found += head.markov_head.markov_w2(made.mixed[counted, k])
            at = anchors[counted]
            logits[k][at // length, at % length - 1] = found
    return logits


class _Blocks(NamedTuple):
    # A blocks in a batch of answers, which is read as one row of texts: rows (A, n, h), mixed (W2's
    # input, A, n, rank), confidence (A, n). at: rows of the flattened batch whose target logits are
    # the guesses', (A, n). counted: whether these are trained and measured, (A, n).
    rows: Tensor
    mixed: Tensor
    confidence: Tensor | None
    at: Tensor
    counted: Tensor


def _answer_blocks(head: DSparkHead, outputs: TargetOutputs, anchors: Tensor) -> _Blocks:
    # The blocks start at these rows of the flattened batch, (A,).
    length, tokens = outputs.tokens.shape[1], outputs.tokens.flatten()
    offsets = torch.arange(head.config.block_size, device=tokens.device)
    at = (anchors[:, None] + offsets).clamp(max=len(tokens) - 1)
    rows = _answer_outputs(head, outputs, anchors)
    mixed, confidence = _unroll(head, rows, tokens[at])
    inside = (anchors % length)[:, None] + offsets < length
    return _Blocks(rows, mixed, confidence, at, inside & outputs.counted.flatten()[at])


def answer_anchors(outputs: TargetOutputs) -> Tensor:
    """Return random rows (A,) of the flattened batch at which blocks of an answer start.

    A block's first guess is a token of the target's own. The first token of a text has no state
    before it.
    """
    own = outputs.counted.clone()
    own[:, 0] = False
    found = own.flatten().nonzero().flatten()
    chosen = torch.randperm(len(found))[:ANSWER_ANCHORS].to(found.device)
    return found[chosen].sort().values


def _answer_outputs(head: DSparkHead, outputs: TargetOutputs, anchors: Tensor) -> Tensor:
    # (A, n, h)
    (count, length), device = outputs.tokens.shape, outputs.tokens.device
    states = {k: outputs.states[k].flatten(0, 1)[None] for k in head.config.tap_layers}
    past = head.past(states, torch.arange(length, device=device).repeat(count))
    block = head.block(outputs.tokens.flatten()[anchors])
    positions = (anchors % length)[:, None] + torch.arange(block.shape[1], device=device)
    starts = anchors - anchors % length
    mixes = [separate_blocks(each, anchors, starts) for each in past]
    rows = head(outputs.embed(block).flatten(0, 1)[None], positions.flatten(), mixes)
    found: Tensor = rows[0].unflatten(0, block.shape)
    return found


def loss_tokens(head: DSparkHead, outputs: TargetOutputs) -> tuple[Tensor, Tensor]:
    """Return the ids of the tokens that a batch's loss includes, (D,), and their log weights, (D,).

    A sampled token represents the tokens that were not sampled, too.
    """
    certain = torch.zeros(head.config.vocab_size, dtype=torch.bool, device=outputs.tokens.device)
    certain[head.frequent] = True
    certain[outputs.tops[outputs.counted]] = True
    always, others = certain.nonzero().flatten(), (~certain).nonzero().flatten()
    sampled = others[torch.randperm(len(others))[:SAMPLED_TOKENS].to(others.device)]
    tokens = torch.cat([always, sampled])
    counts = torch.zeros(len(tokens), device=tokens.device)
    if len(sampled):
        counts[len(always) :] = log(len(others) / len(sampled))
    return tokens, counts


def with_options(head_options: HeadOptions) -> Family:
    """Return the family of heads that are initialized from a target of any size."""
    return replace(
        TRAINING,
        build=lambda target, counts: init_from_target(target, counts, head_options),
        loss=answer_loss,
        guesses=answer_guesses,
    )


TRAINING: Final = Family("dspark", build, loss, guesses, sampled=True, with_options=with_options)
