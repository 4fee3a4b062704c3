"""The target: a causal LM that scores a draft tree in one pass and caches the accepted path.

All runs share the weights, which never change; each run has its own cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from specviz.models.attention import context_length, hard_window, layer_masks
from specviz.models.chat import has_template, turn_end
from specviz.models.devices import check_agreement, describe_device, process_count
from specviz.models.errors import BadPrompt
from specviz.models.fast_layers import describe_products
from specviz.models.graphs import MOST_ROWS, Memory, pad_front, padded_rows
from specviz.models.memory_speed import MemoryUse, memory_use
from specviz.models.network import KeyValueCache, Network, fixed_memory, network_of, plan_rows
from specviz.models.passes import (
    CaptureSpec,
    ExtraRows,
    Pass,
    PrecomputedPrefix,
    Rows,
    Scores,
    States,
    UnsupportedModel,
    bytes_read,
    concat_layers,
)
from specviz.models.planned import compute_planned
from specviz.models.products import is_large
from specviz.models.threads import share_with_numpy
from specviz.models.tokenizer import prompt_encoder, token_bytes
from specviz.settings.settings import Sampling
from specviz.trace.events import ModelCard
from specviz.verification.distributions import deferred_nan_check
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree


@dataclass(frozen=True, slots=True)
class Environment:
    """Machine and precision of the passes, recorded in the header of traces.

    Attributes:
        packing: See `fast_layers.describe_products`. None if unknown.
        memory: What a plain pass reads of memory. None if unknown.
    """

    machine: str
    dtype: str
    packing: str | None
    versions: Mapping[str, str] = field(default_factory=dict)
    memory: MemoryUse | None = None


class Target:
    """Weights, tokenizer and description; shared by all runs.

    Attributes:
        vocab_size: Number of logits per row.
        within_window: Whether a sliding window limits the context length, see `hard_window`.
    """

    within_window = False

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
        """Encode raw text.

        Typed text never becomes a special token; only the tokenizer adds special tokens. Raises
        BadPrompt if the text is empty or too long.
        """
        if not prompt.strip():
            raise BadPrompt("The prompt is empty. Write a few words for the model to continue.")
        ids = prompt_encoder(self.tokenizer).encode(prompt)
        self.check_fits(ids, new_tokens)
        return ids

    def check_fits(self, ids: Sequence[int], new_tokens: int) -> None:
        """Check that a prompt has tokens and leaves room for `new_tokens`.

        Raises BadPrompt if the prompt is empty or too long.
        """
        if not ids:
            raise BadPrompt("The tokenizer finds no tokens in this prompt. Write other words.")
        if len(ids) + new_tokens > self.max_length:
            reason = "the size of its sliding window" if self.within_window else "its limit"
            raise BadPrompt(
                f"The prompt has {len(ids):,} tokens. With {new_tokens:,} new ones, that is more "
                f"than the {self.max_length:,} tokens that the target can see ({reason}). "
                "Shorten the prompt, or ask for fewer new tokens."
            )

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes that a token adds to a text."""
        return token_bytes(self.tokenizer, token)

    def text(self, tokens: Iterable[int]) -> str:
        """Decode tokens; incomplete characters become U+FFFD."""
        return b"".join(map(self.token_bytes, tokens)).decode("utf-8", errors="replace")

    @property
    def identity(self) -> object:
        """What two targets with the same weights share: recordings of one serve the other."""
        return self.model

    @property
    def environment(self) -> Environment:
        """Return the machine and precision that compute its passes."""
        dtype = str(self.dtype).removeprefix("torch.")
        machine = describe_device(self.device)
        if process_count() > 1:
            machine = f"{process_count()} processes, each on {machine}"
        memory = memory_use(self.model) if process_count() == 1 else None
        return Environment(machine, dtype, describe_products(self.model), memory=memory)

    def start(self, capture: CaptureSpec, sampling: Sampling | None = None) -> TargetRun:
        """Start a run over the shared weights.

        Raises UnsupportedModel if the drafter needs keys and values, but they are split over
        processes.

        Args:
            capture: Outputs that the drafter needs.
            sampling: The sampling settings. A target on a server checks them, because it cannot
                provide complete distributions. None: temperature 0.
        """
        if capture.keys_values and process_count() > 1:
            raise UnsupportedModel(
                "This drafter reads the target's keys and values, but each of the "
                f"{process_count()} processes has only a part of them."
            )
        if self.device.type == "cpu":
            share_with_numpy(is_large(bytes_read(self.model)))
        return TargetRun(self, capture)


class TargetRun:
    """The cache of one run.

    It contains every committed token except the newest, which is the root of the next tree.

    Attributes:
        capture: Outputs that the drafter needs.
        length: Number of committed tokens in the cache.
        early: For each call of `shallow` since the last `keep`, the captured layers, (r, h) each.
    """

    def __init__(self, target: Target, capture: CaptureSpec) -> None:
        self.target = target
        self.capture = capture
        self.length = 0
        self.early: list[dict[int, Tensor]] = []
        self._shallow = 0  # number of calls of `plan_shallow` since the last `keep`

    @property
    def memory(self) -> Memory | None:
        """The memory at fixed addresses that recorded operations need; None if there is none."""
        return fixed_memory(self.cache)

    @cached_property
    def network(self) -> Network:
        """Return the network that computes the passes; a target on a server has none."""
        return network_of(self.target.model)

    @cached_property
    def cache(self) -> KeyValueCache:
        """Return the keys and values of the committed tokens."""
        cache: KeyValueCache = self.network.new_cache()
        return cache

    @torch.inference_mode()
    def prefill(self, ids: Sequence[int]) -> Scores:
        """Read the prompt; return scores of its last token, (1, V), and a state per token."""
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
        """Score a tree and extra rows in one pass.

        The pass gets explicit positions and an additive float mask; with eager attention, a boolean
        mask would give wrong scores without an error. Returns scores with logits after each node,
        (n, V).

        Args:
            tree: The draft tree, with n nodes.
            extra_rows: Rows to compute in the same pass and then discard.
            precomputed: Lower layers that already ran on the first nodes.
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
            scores = self._pass(tokens, positions, self.additive_mask(sees))
        else:
            scores = self._resume(tokens, positions, self.additive_mask(sees), precomputed)
        n = len(tree)
        if extra_rows is None:
            return scores
        after = ExtraRows(
            extra_rows.tokens, extra_rows.positions, extra_rows.sees, scores.logits[n:]
        )
        return Scores(scores.logits[:n], scores.states.take(range(n)), after, scores.check)

    @torch.inference_mode()
    def keep(self, path: Sequence[int]) -> None:
        """Keep a path of tree nodes, starting at the root, in the cache; drop all other nodes."""
        self.cache.keep(self.length, [self.length + node for node in path])
        self.length += len(path)
        self.early, self._shallow = [], 0

    def additive_mask(self, sees: Tensor) -> Tensor:
        """Convert a bool mask over new rows, (r, c), to an additive one, (1, 1, r, length + c).

        All rows attend to the committed text. The mask is on the host and is uploaded later,
        together with the rows' other inputs.
        """
        mask = torch.zeros(sees.shape[0], self.length + sees.shape[1], dtype=self.target.dtype)
        mask[:, self.length :].masked_fill_(~sees, torch.finfo(self.target.dtype).min)
        return mask[None, None]

    @torch.inference_mode()
    def shallow(
        self, tokens: Sequence[int], depths: Sequence[int], sees: Tensor, layer: int
    ) -> Tensor:
        """Run layers 1 to `layer` on new tree nodes, and cache their keys and values.

        Returns the output of that layer, (1, r, h).

        Args:
            tokens: Token ids of the nodes.
            depths: Their distances from the root.
            sees: (r, c) bool: which of all nodes run so far, including these, each node attends to.
            layer: The last layer to run.
        """
        uploads = UploadBatch(self.target.device)
        words = uploads.put(torch.tensor(list(tokens)))
        return self.plan_shallow(depths, sees, layer, uploads)(words())

    def plan_shallow(
        self, depths: Sequence[int], sees: Tensor, layer: int, uploads: UploadBatch
    ) -> Callable[[Tensor], Tensor]:
        """Prepare `shallow` for tokens that are already on the device.

        Args:
            depths: See `shallow`.
            sees: See `shallow`.
            layer: See `shallow`.
            uploads: Collects the data that must be sent from the host.

        Returns:
            A function from the nodes' tokens, (r,) on the device, to the output of `shallow`.
        """
        positions = torch.tensor([self.length + depth for depth in depths])
        masks = self.target.masks.split(self.additive_mask(sees))
        rows = plan_rows(self.cache, positions, masks, uploads, range(layer))
        number, self._shallow = self._shallow, self._shallow + 1

        def run(words: Tensor) -> Tensor:
            hidden = self.network.embed(words[None])
            result, found = self._layers(hidden, rows(), range(layer))
            self.early = [*self.early[:number], found]
            return result

        return run

    def truncate_shallow(self, passes: int, nodes: int) -> None:
        """Undo all calls of `shallow` but the first `passes`, which ran `nodes` nodes in all."""
        self.early, self._shallow = self.early[:passes], passes
        self.cache.cut(self.length + nodes)

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        """Apply the target's final norm and output head: (1, r, h) to logits (r, V)."""
        return self.network.head(hidden)[0]

    def _pass(
        self,
        tokens: Sequence[int],
        positions: Iterable[int],
        mask: Tensor | None,
        keep_logits: int = 0,
    ) -> Scores:
        positions = list(positions)
        check_agreement(self.target.device, tokens, positions)
        uploads = UploadBatch(self.target.device)
        words = uploads.put(self._padded(tokens, 0)[None])
        where, masks = self._padded(positions, -1), self.target.masks.split(mask)
        rows = plan_rows(self.cache, where, masks, uploads)

        def run() -> Pass:
            return self.network.forward(words(), rows(), self.cache, self.capture, keep_logits)

        made = self._compute(len(tokens), ("whole", keep_logits), uploads, run)
        return self._result(made, len(tokens))

    def _resume(
        self,
        tokens: Sequence[int],
        positions: list[int],
        mask: Tensor,
        precomputed: PrecomputedPrefix,
    ) -> Scores:
        # The first rows have already run the lower layers.
        check_agreement(self.target.device, tokens, positions)
        uploads = UploadBatch(self.target.device)
        count, done, last = len(tokens), precomputed.states.shape[1], precomputed.layer
        lower, upper = range(last), range(last, self.target.layers)
        masks = self.target.masks.split(mask)
        words = uploads.put(torch.tensor(tokens[done:], dtype=torch.long)[None])
        late = torch.tensor(positions[done:], dtype=torch.long)
        seen = [each[:, :, done:] for each in masks]
        late_rows = plan_rows(self.cache, late, seen, uploads, lower)
        where = self._padded(positions, -1)
        rows = plan_rows(self.cache, where, masks, uploads, upper)
        given = uploads.put_states(precomputed.states[0], len(where) - len(late))

        def run() -> Pass:
            hidden, below = given()[None], dict[int, Tensor]()
            if len(late):
                added, below = self._layers(self.network.embed(words()), late_rows(), lower)
                hidden = torch.cat([hidden, added], dim=1)
            hidden, above = self._layers(hidden, rows(), upper)
            logits, normed = self.network.head(hidden)
            return Pass(logits, below | above, normed if self.capture.final else None)

        made = self._compute(count, ("resumed", last), uploads, run)
        above = {k: each for k, each in made.layers.items() if k > last}
        below = [made.layers] if len(late) else []
        layers = concat_layers([*self.early, *below]) | above
        return self._result(replace(made, layers=layers), count)

    def _padded(self, numbers: Sequence[int], padding: int) -> Tensor:
        size = padded_rows(len(numbers)) if self.memory else len(numbers)
        return pad_front(torch.tensor(list(numbers)), size, padding)

    def _compute(
        self, rows: int, key: tuple[Any, ...], uploads: UploadBatch, run: Callable[[], Pass]
    ) -> Pass:
        # Recorded for few rows; the next pass overwrites the results of a recording.
        memory = self.memory if rows <= MOST_ROWS else None
        key = (self.network, self.capture, *key)
        made, _ = compute_planned(memory, key, None, uploads, lambda: (run(), []))
        return made.copy_newest(rows) if memory else made

    def _result(self, result: Pass, rows: int) -> Scores:
        # With a deferred check for NaN.
        keys_values = {k: self.cache.newest(k, rows) for k in self.capture.keys_values}
        check = deferred_nan_check(result.logits, self.target.card.name)
        return Scores(result.logits, States(result.layers, result.final, keys_values), check=check)

    def _layers(
        self, hidden: Tensor, rows: Rows, layers: Iterable[int]
    ) -> tuple[Tensor, dict[int, Tensor]]:
        return self.network.run_layers(hidden, rows, layers, self.cache, self.capture)


def end_tokens(tokenizer: Any, known: Iterable[int | None]) -> tuple[int, ...]:
    """Return the tokens that end a text: those of the config and the end of a turn."""
    found = [*known, turn_end(tokenizer) if has_template(tokenizer) else None]
    return tuple(dict.fromkeys(end for end in found if end is not None))
