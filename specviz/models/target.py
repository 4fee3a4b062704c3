"""A causal LM with a cache that can score a draft tree in one pass and keep one path of it.

One rule: the weights are shared by all visitors and never changed; what a run needs is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from specviz.models.chat import has_template, turn_end
from specviz.models.devices import describe_device
from specviz.models.errors import BadPrompt
from specviz.models.masks import context_length, hard_window, layer_masks
from specviz.models.network import KeyValueCache, Network, network_of
from specviz.models.parallel import check_agreement, process_count
from specviz.models.passes import (
    CaptureSpec,
    ExtraRows,
    Pass,
    PrecomputedPrefix,
    Rows,
    Scores,
    States,
    UnsupportedModel,
    concat_layers,
)
from specviz.models.products import is_large, words_of
from specviz.models.prompt_encoder import prompt_encoder
from specviz.models.threads import share_with_numpy
from specviz.models.token_bytes import token_bytes
from specviz.models.weights import bytes_read
from specviz.settings.settings import Sampling
from specviz.trace.events import ModelCard
from specviz.verification.distributions import deferred_nan_check
from specviz.verification.transfer import UploadBatch, upload_together
from specviz.verification.tree import DraftTree


@dataclass(frozen=True, slots=True)
class Environment:
    """Where passes are made, for a trace's header. machine: in words. dtype: as torch names it.

    packing: see `products.words_of`; None where it is not known. versions: beside those of this
    program.
    """

    machine: str
    dtype: str
    packing: str | None
    versions: Mapping[str, str] = field(default_factory=dict)


class Target:
    """Weights, tokenizer and description; shared by every run.

    model: a transformers causal LM in eval mode. tokenizer: its own. card: what the trace keeps.
    """

    within_window = False  # whether a sliding window is what limits its texts, see `hard_window`

    def __init__(self, model: Any, tokenizer: Any, card: ModelCard) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.card = card
        self.vocab_size: int = model.get_output_embeddings().weight.shape[0]
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype
        self.layers: int = getattr(model.config.get_text_config(), "num_hidden_layers", 1)
        self.masks = layer_masks(model)
        self.max_length: int = context_length(model) or 2048
        self.within_window = self.max_length == hard_window(model)
        ends = model.generation_config.eos_token_id
        known = ends if isinstance(ends, list) else [ends]
        self.eos: tuple[int, ...] = end_tokens(tokenizer, known)

    def encode(self, prompt: str, new_tokens: int) -> list[int]:
        """The ids of raw text, with room for `new_tokens`. Raises BadPrompt with a sentence.

        No token of them is a special one but those that the tokenizer adds by itself.
        """
        if not prompt.strip():
            raise BadPrompt("The prompt is empty. Write a few words for the model to go on from.")
        ids = prompt_encoder(self.tokenizer).raw(prompt)
        self.check_room(ids, new_tokens)
        return ids

    def check_room(self, ids: Sequence[int], new_tokens: int) -> None:
        """Raise BadPrompt unless these ids are a prompt that leaves room for `new_tokens`."""
        if not ids:
            raise BadPrompt("The tokenizer makes no tokens of this prompt.")
        if len(ids) + new_tokens > self.max_length:
            limit = "has in its sliding window, whose masks cannot be set"
            if not self.within_window:
                limit = "can see"
            raise BadPrompt(
                f"The prompt has {len(ids):,} tokens; with {new_tokens:,} new ones that is more "
                f"than the {self.max_length:,} that {self.card.name} {limit}. Shorten one of them."
            )

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token adds to a text."""
        return token_bytes(self.tokenizer, token)

    def text(self, tokens: Iterable[int]) -> str:
        """Tokens as text; bytes that are no character yet show as U+FFFD."""
        return b"".join(map(self.token_bytes, tokens)).decode("utf-8", errors="replace")

    @property
    def environment(self) -> Environment:
        """Where its passes are made."""
        dtype = str(self.dtype).removeprefix("torch.")
        machine = describe_device(self.device)
        if process_count() > 1:
            machine = f"{process_count()} processes, each on {machine}"
        return Environment(machine, dtype, words_of(self.model))

    def start(self, capture: CaptureSpec, sampling: Sampling | None = None) -> TargetRun:
        """A run of its own over the shared weights.

        sampling: how its laws will be cut, for a target that does not give whole ones; None is at
        temperature 0.
        """
        if capture.keys_values and process_count() > 1:
            raise UnsupportedModel(
                "This drafter reads the target's keys and values, and each of "
                f"{process_count()} processes has a part of them."
            )
        if self.device.type == "cpu":
            share_with_numpy(is_large(bytes_read(self.model)))
        return TargetRun(self, capture)


class TargetRun:
    """One run's cache. It holds every committed token but the newest, which is the next root.

    early: by pass of `shallow` since the last `keep`, its tapped layers, k to (r, h).
    """

    def __init__(self, target: Target, capture: CaptureSpec) -> None:
        self.target = target
        self.capture = capture
        self.length = 0  # committed tokens in the cache
        self.early: list[dict[int, Tensor]] = []

    @cached_property
    def network(self) -> Network:
        """Who computes the passes; a server's target has none here."""
        return network_of(self.target.model)

    @cached_property
    def cache(self) -> KeyValueCache:
        """Keys and values of the committed tokens."""
        cache: KeyValueCache = self.network.new_cache()
        return cache

    @torch.inference_mode()
    def prefill(self, ids: Sequence[int]) -> Scores:
        """Read the prompt. logits: (1, V), after its last token; states: a row per token."""
        scores = self._pass(list(ids), range(len(ids)), None, keep_logits=1)
        self.length = len(ids)
        return scores

    @torch.inference_mode()
    def score(
        self,
        tree: DraftTree,
        extra_rows: ExtraRows | None = None,
        precomputed: PrecomputedPrefix | None = None,
    ) -> Scores:
        """One pass over the tree (and riders): explicit positions, additive float mask.

        A boolean mask would be silently wrong under eager attention.
        """
        tokens, depths = list(tree.tokens), list(tree.depths)
        if len(tokens) == 1 and extra_rows is None and precomputed is None:  # plain decoding
            return self._pass(tokens, [self.length], None)
        sees = tree.mask()
        if extra_rows is not None:
            tokens += extra_rows.tokens
            depths += extra_rows.positions
            sees = torch.nn.functional.pad(sees, (0, len(extra_rows.tokens)))
            sees = torch.cat([sees, extra_rows.sees.cpu()])
        positions = [self.length + depth for depth in depths]
        if precomputed is None:
            scores = self._pass(tokens, positions, self.additive(sees))
        else:
            scores = self._resume(tokens, positions, self.additive(sees), precomputed)
        n = len(tree)
        if extra_rows is None:
            return scores
        after = ExtraRows(
            extra_rows.tokens, extra_rows.positions, extra_rows.sees, scores.logits[n:]
        )
        return Scores(scores.logits[:n], scores.states.take(range(n)), after, scores.check)

    @torch.inference_mode()
    def keep(self, path: Sequence[int]) -> None:
        """Keep the cache of these tree nodes (the root first, each the child of the one before)."""
        self.cache.keep(self.length, [self.length + node for node in path])
        self.length += len(path)
        self.early = []  # a new list: who looks at the old one may keep it

    def additive(self, sees: Tensor) -> Tensor:
        """(r, c) bool over new rows to a float mask (1, 1, r, length + c); the past is all seen.

        On the host: it is sent with the rows that it is for.
        """
        mask = torch.zeros(sees.shape[0], self.length + sees.shape[1], dtype=self.target.dtype)
        mask[:, self.length :].masked_fill_(~sees, torch.finfo(self.target.dtype).min)
        return mask[None, None]

    @torch.inference_mode()
    def shallow(
        self, tokens: Sequence[int], depths: Sequence[int], sees: Tensor, layer: int
    ) -> Tensor:
        """Run layers 1..layer on new tree nodes, keeping their keys and values: (1, r, h).

        For early-exit drafting. sees: (r, c) bool over all nodes run so far, these included.
        """
        parcel = UploadBatch(self.target.device)
        words = parcel.put(torch.tensor(list(tokens)))
        return self.planned(depths, sees, layer, parcel)(words())

    def planned(
        self, depths: Sequence[int], sees: Tensor, layer: int, parcel: UploadBatch
    ) -> Callable[[Tensor], Tensor]:
        """`shallow`, as what is to be called with the nodes' tokens (r,), there.

        What it needs of the host is in the parcel.
        """
        where = parcel.put(torch.tensor([[self.length + depth for depth in depths]]))
        masks = [parcel.put(mask) for mask in self.target.masks.split(self.additive(sees))]

        def reading(words: Tensor) -> Tensor:
            hidden = self.network.embed(words[None])
            there = [mask() for mask in masks]
            made, found = self._layers(hidden, Rows(where(), there), range(layer))
            self.early.append(found)
            return made

        return reading

    def forget(self, passes: int, nodes: int) -> None:
        """Leave, of what `shallow` has run, so many passes over so many nodes."""
        self.early = self.early[:passes]
        self.cache.cut(self.length + nodes)

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        """The target's own final norm and output head: (1, r, h) to logits (r, V)."""
        return self.network.head(hidden)[0]

    def _pass(
        self,
        tokens: Sequence[int],
        positions: Iterable[int],
        mask: Tensor | None,
        keep_logits: int = 0,
    ) -> Scores:
        """A whole pass, with taps."""
        positions = list(positions)
        check_agreement(self.target.device, tokens, positions)
        host = [torch.tensor([list(tokens), positions]), *self.target.masks.split(mask)]
        rows, *masks = upload_together(self.target.device, *host)
        where = Rows(rows[1:], masks)
        made = self.network.forward(rows[:1], where, self.cache, self.capture, keep_logits)
        return self._result(made, len(tokens))

    def _resume(
        self,
        tokens: Sequence[int],
        positions: list[int],
        mask: Tensor,
        precomputed: PrecomputedPrefix,
    ) -> Scores:
        """The pass from `precomputed` on: lower layers only for rows that did not run them."""
        check_agreement(self.target.device, tokens, positions)
        done, rows, below = precomputed.states.shape[1], precomputed.states, [*self.early]
        asked = torch.tensor([list(tokens), positions])
        asked, *masks = upload_together(self.target.device, asked, *self.target.masks.split(mask))
        words, where = asked[:1], asked[1:]
        if done < len(tokens):
            late = self.network.embed(words[:, done:])
            seen = [each[:, :, done:] for each in masks]
            late, found = self._layers(late, Rows(where[:, done:], seen), range(precomputed.layer))
            rows = torch.cat([rows, late], dim=1)
            below.append(found)
        upper = range(precomputed.layer, self.target.layers)
        hidden, above = self._layers(rows, Rows(where, masks), upper)
        logits, normed = self.network.head(hidden)
        final = normed if self.capture.final else None
        return self._result(Pass(logits, concat_layers(below) | above, final), len(tokens))

    def _result(self, made: Pass, rows: int) -> Scores:
        """The scores of a pass over so many rows, with a deferred check for NaN."""
        kept = {k: self.cache.newest(k, rows) for k in self.capture.keys_values}
        check = deferred_nan_check(made.logits, self.target.card.name)
        return Scores(made.logits, States(made.layers, made.final, kept), check=check)

    def _layers(
        self, hidden: Tensor, rows: Rows, layers: Iterable[int]
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """See `Network.run_layers`."""
        return self.network.run_layers(hidden, rows, layers, self.cache, self.capture)


def end_tokens(tokenizer: Any, known: Iterable[int | None]) -> tuple[int, ...]:
    """The tokens that end a text: those known, and what ends a turn, which not all configs have."""
    found = [*known, turn_end(tokenizer) if has_template(tokenizer) else None]
    return tuple(dict.fromkeys(end for end in found if end is not None))
