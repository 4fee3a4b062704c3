"""A causal LM with a cache that can score a draft tree in one pass and keep one path of it.

One rule: the weights are shared by all visitors and never changed; what a run needs is its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from specviz.distributions import check_scores
from specviz.trace import ModelCard
from specviz.tree import DraftTree
from specviz.words import token_bytes


class BadPrompt(ValueError):
    """A prompt that cannot be run; the message is a sentence for the person who wrote it."""


class Unsupported(ValueError):
    """Something that this model's architecture does not let us do."""


@dataclass(frozen=True, slots=True)
class Taps:
    """What a drafter needs of the target's pass. The target keeps this and nothing else.

    layers: k stands for the output of decoder layer k, counted from 1 (before the final norm).
    final: the state after the final norm, which the output head reads. keys_values: layers, from
    1, whose new keys and values are wanted.
    """

    layers: tuple[int, ...] = ()
    final: bool = False
    keys_values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class States:
    """The target's states by row. layers: k to (n, h). final: (n, h).

    keys_values: k to (keys, values), each (n, heads, head size).
    """

    layers: Mapping[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None
    keys_values: Mapping[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def take(self, rows: Sequence[int]) -> States:
        """The states of these rows, in this order."""
        index = list(rows)
        return States(
            {k: v[index] for k, v in self.layers.items()},
            None if self.final is None else self.final[index],
            {k: (a[index], b[index]) for k, (a, b) in self.keys_values.items()},
        )


@dataclass(frozen=True, slots=True)
class Riders:
    """Extra rows that travel in the target's pass and are never kept (lookahead's window).

    tokens: m ids. positions: m distances from the root. sees: (m, n + m) bool, what each sees of
    the tree's n nodes and of the riders; all see the committed past. logits: (m, V), after the
    pass.
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    sees: Tensor
    logits: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Warm:
    """Work that drafting already did inside the target (early exit): scoring resumes from it.

    layer: layers 1..layer have run, their keys and values are in the run's cache. states:
    (1, m, h), the output of that layer for the tree's nodes 0..m-1.
    """

    layer: int
    states: Tensor


@dataclass(frozen=True, slots=True)
class Scores:
    """A pass over n tree nodes. logits: (n, V). riders: as sent, with their logits."""

    logits: Tensor
    states: States
    riders: Riders | None = None


class Target:
    """Weights, tokenizer and description; shared by every run.

    model: a transformers causal LM in eval mode. tokenizer: its own. card: what the trace keeps.
    """

    def __init__(self, model: Any, tokenizer: Any, card: ModelCard) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.card = card
        self.vocab_size: int = model.get_output_embeddings().weight.shape[0]
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype
        text = model.config.get_text_config()
        limits = [getattr(text, name, None) for name in ("max_position_embeddings", "n_positions")]
        limits.append(getattr(text, "sliding_window", None))  # past it our cache would be wrong
        self.max_length: int = min((n for n in limits if n), default=2048)
        ends = model.generation_config.eos_token_id
        self.eos: tuple[int, ...] = tuple(ends) if isinstance(ends, list) else _some(ends)

    def encode(self, prompt: str, new_tokens: int) -> list[int]:
        """The prompt's ids, with room for `new_tokens`. Raises BadPrompt with a sentence."""
        if not prompt.strip():
            raise BadPrompt("The prompt is empty. Write a few words for the model to go on from.")
        ids: list[int] = self.tokenizer(prompt).input_ids
        if not ids:
            raise BadPrompt("The tokenizer makes no tokens of this prompt.")
        if len(ids) + new_tokens > self.max_length:
            raise BadPrompt(
                f"The prompt has {len(ids):,} tokens; with {new_tokens:,} new ones that is more "
                f"than the {self.max_length:,} that {self.card.name} can see. Shorten one of them."
            )
        return ids

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token adds to a text."""
        return token_bytes(self.tokenizer, token)

    def text(self, tokens: Iterable[int]) -> str:
        """Tokens as text; bytes that are no character yet show as U+FFFD."""
        return b"".join(map(self.token_bytes, tokens)).decode("utf-8", errors="replace")

    def start(self, taps: Taps) -> TargetRun:
        """A run of its own over the shared weights."""
        return TargetRun(self, taps)


class TargetRun:
    """One run's cache. It holds every committed token but the newest, which is the next root."""

    def __init__(self, target: Target, taps: Taps) -> None:
        self.target = target
        self.taps = taps
        self.cache: Any = (
            DynamicCache()
        )  # of plain layers, with keys and values, one per decoder layer
        self.length = 0  # committed tokens in the cache

    @torch.inference_mode()
    def prefill(self, ids: Sequence[int]) -> Scores:
        """Read the prompt. logits: (1, V), after its last token; states: a row per token."""
        scores = self._pass(list(ids), range(len(ids)), None, keep_logits=1)
        check_scores(scores.logits, self.target.card.name)
        self.length = len(ids)
        return scores

    @torch.inference_mode()
    def score(
        self, tree: DraftTree, riders: Riders | None = None, warm: Warm | None = None
    ) -> Scores:
        """One pass over the tree (and riders): explicit positions, additive float mask.

        A boolean mask would be silently wrong under eager attention.
        """
        tokens, depths, sees = list(tree.tokens), list(tree.depths), tree.mask()
        if riders is not None:
            tokens += riders.tokens
            depths += riders.positions
            sees = torch.nn.functional.pad(sees, (0, len(riders.tokens)))
            sees = torch.cat([sees, riders.sees.cpu()])
        positions = [self.length + depth for depth in depths]
        mask = self.additive(sees) if len(tokens) > 1 else None
        if warm is None:
            scores = self._pass(tokens, positions, mask)
        else:
            scores = self._resume(tokens, positions, self.additive(sees), warm)
        check_scores(scores.logits, self.target.card.name)
        n = len(tree)
        if riders is None:
            return scores
        after = Riders(riders.tokens, riders.positions, riders.sees, scores.logits[n:])
        return Scores(scores.logits[:n], scores.states.take(range(n)), after)

    def keep(self, path: Sequence[int]) -> None:
        """Keep the cache of these tree nodes (the root first, each the child of the one before)."""
        last = path[-1]
        if list(path) == list(range(last + 1)):  # a chain's prefix: a cheap view, no gather
            rows: slice | Tensor = slice(0, self.length + len(path))
        else:
            past = range(self.length)
            kept = [*past, *(self.length + node for node in path)]
            rows = torch.tensor(kept, device=self.target.device)
        for layer in self.cache.layers:
            layer.keys, layer.values = layer.keys[:, :, rows], layer.values[:, :, rows]
        self.length += len(path)

    def additive(self, sees: Tensor) -> Tensor:
        """(r, c) bool over new rows to a float mask (1, 1, r, length + c); the past is all seen."""
        mask = torch.zeros(sees.shape[0], self.length + sees.shape[1], dtype=self.target.dtype)
        mask[:, self.length :].masked_fill_(~sees, torch.finfo(self.target.dtype).min)
        return mask.to(self.target.device)[None, None]

    @torch.inference_mode()
    def shallow(
        self, tokens: Sequence[int], depths: Sequence[int], sees: Tensor, layer: int
    ) -> Tensor:
        """Run layers 1..layer on new tree nodes, keeping their keys and values: (1, r, h).

        For early-exit drafting. sees: (r, c) bool over all nodes run so far, these included.
        """
        positions = [self.length + depth for depth in depths]
        hidden = self._anatomy.embed_tokens(self._tensor(tokens)[None])
        return self._layers(hidden, positions, self.additive(sees), range(layer))

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        """The target's own final norm and output head: (1, r, h) to logits (r, V)."""
        normed: Tensor = self._anatomy.norm(hidden)[0]
        logits: Tensor = self.target.model.get_output_embeddings()(normed)
        return logits

    def _pass(
        self,
        tokens: Sequence[int],
        positions: Iterable[int],
        mask: Tensor | None,
        keep_logits: int = 0,
    ) -> Scores:
        """The model's own forward, with taps."""
        model = self.target.model
        with tapped(model, self.taps) as found:
            out = model(
                input_ids=self._tensor(tokens)[None],
                position_ids=self._tensor(positions)[None],
                attention_mask=mask,
                past_key_values=self.cache,
                use_cache=True,
                logits_to_keep=keep_logits,
            )
        states = States(found.layers, found.final, self._keys_values(len(tokens)))
        return Scores(out.logits[0], states)

    def _resume(
        self, tokens: Sequence[int], positions: list[int], mask: Tensor, warm: Warm
    ) -> Scores:
        """The pass from `warm` on: lower layers only for rows that did not run them."""
        done, rows = warm.states.shape[1], warm.states
        if done < len(tokens):
            late = self._anatomy.embed_tokens(self._tensor(tokens[done:])[None])
            below = self._layers(late, positions[done:], mask[:, :, done:], range(warm.layer))
            rows = torch.cat([rows, below], dim=1)
        depth = len(self._anatomy.layers)
        with tapped(self.target.model, self.taps) as found:
            hidden = self._layers(rows, positions, mask, range(warm.layer, depth))
            logits = self.head(hidden)
        missing = sorted(set(self.taps.layers) - set(found.layers))
        if missing:
            raise Unsupported(f"Layers {missing} ran while drafting, so they cannot be tapped too.")
        return Scores(logits, States(found.layers, found.final, self._keys_values(len(tokens))))

    def _layers(
        self, hidden: Tensor, positions: Sequence[int], mask: Tensor, layers: Iterable[int]
    ) -> Tensor:
        """Decoder layers one by one, each appending to its own cache: (1, r, h)."""
        base, where = self._anatomy, self._tensor(positions)[None]
        rotary = base.rotary_emb(hidden, position_ids=where)
        for i in layers:
            hidden = base.layers[i](
                hidden,
                attention_mask=mask,
                position_ids=where,
                past_key_values=self.cache,
                use_cache=True,
                position_embeddings=rotary,
            )
        return hidden

    @property
    def _anatomy(self) -> Any:
        """The decoder, where its layers can be run one by one. Raises Unsupported otherwise."""
        base = self.target.model.base_model
        parts = ("embed_tokens", "layers", "norm", "rotary_emb")
        if not all(hasattr(base, part) for part in parts):
            kind = self.target.model.config.model_type
            raise Unsupported(f"Early exit needs a Llama-like decoder; this is a {kind}.")
        return base

    def _keys_values(self, rows: int) -> dict[int, tuple[Tensor, Tensor]]:
        """The newest `rows` of the tapped layers' caches, row first."""
        wanted = {k: self.cache.layers[k - 1] for k in self.taps.keys_values}
        return {
            k: (c.keys[0, :, -rows:].transpose(0, 1), c.values[0, :, -rows:].transpose(0, 1))
            for k, c in wanted.items()
        }

    def _tensor(self, numbers: Iterable[int]) -> Tensor:
        return torch.tensor(list(numbers), device=self.target.device)


@dataclass(slots=True)
class _Found:
    layers: dict[int, Tensor] = field(default_factory=dict)
    final: Tensor | None = None


@contextmanager
def tapped(model: Any, taps: Taps) -> Iterator[_Found]:
    """Collect the tapped outputs of the passes made inside: rows (n, h), batch left out.

    The hooks sit on modules that all visitors share, so each listens to its own thread only.
    """
    found, mine = _Found(), threading.get_ident()

    def keep_layer(k: int) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            if threading.get_ident() == mine:
                found.layers[k] = (output[0] if isinstance(output, tuple) else output)[0]

        return hook

    def keep_final(_module: Any, _inputs: Any, output: Any) -> None:
        if threading.get_ident() == mine:
            found.final = output[0]

    layers = part_of(model, ("layers", "h"), "layers") if taps.layers else ()
    hooks = [layers[k - 1].register_forward_hook(keep_layer(k)) for k in taps.layers]
    if taps.final:
        norm = part_of(model, ("norm", "ln_f", "final_layer_norm"), "final norm")
        hooks.append(norm.register_forward_hook(keep_final))
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def part_of(model: Any, names: Sequence[str], what: str) -> Any:
    """A part of the decoder, whatever the architecture calls it. Raises Unsupported."""
    base = model.base_model
    found = next((v for name in names if (v := getattr(base, name, None)) is not None), None)
    if found is None:
        raise Unsupported(f"Where a {model.config.model_type} model keeps its {what} is not known.")
    return found


def _some(value: int | None) -> tuple[int, ...]:
    return () if value is None else (value,)
