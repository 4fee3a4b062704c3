"""PARD (2504.18583): a draft model that computes all its guesses in one pass.

The model is an ordinary causal LM, fine-tuned to read mask tokens. One pass reads the text and K -
1 masks. The row of the newest token gives the distribution of the first guess, as in any language
model; the row of mask i gives the distribution of guess i + 1. A mask attends to the text and to
the masks before it, but to no guess, so the guesses are independent given the text.

Sampled guesses are drawn from these distributions, under the run's temperature, top-k and top-p,
and recorded as their q. In a tree, all nodes of one depth have the same distribution under them.

A public checkpoint is a Llama or Qwen whose config has `pard_token`, the token that serves as mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.checkpoint import read_config
from specviz.drafters.common.mask_session import softmax_top, top_tokens_by_position
from specviz.drafters.common.proposal_builder import Level, TreeShape
from specviz.drafters.common.session import LevelPass, LevelSession
from specviz.drafters.common.tree_reader import TreeReader
from specviz.drafters.draft_model import own_ids
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.attention import context_length
from specviz.models.checkpoint import (
    MadeFor,
    load_checkpoint,
    same_vocabulary,
)
from specviz.models.errors import Unsuitable
from specviz.models.files import folder_label
from specviz.models.graphs import Memory
from specviz.models.passes import CaptureSpec, causal_lm_weights
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch

MASK_KEY: Final = "pard_token"  # key in config.json


class PardModel(nn.Module):
    """A causal LM whose config has `pard_token`, with its tokenizer."""

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer

    @property
    def mask(self) -> int:
        """The token that stands for guesses that are not known yet."""
        token: int = getattr(self.model.config, MASK_KEY)
        return token

    def save(self, folder: Path) -> None:
        """Write a checkpoint that transformers 4 and 5 both read, with weights in bf16."""
        deepcopy(self.model).to(torch.bfloat16).save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        settings = folder / "tokenizer_config.json"
        text = settings.read_text(encoding="utf-8-sig")
        settings.write_text(text.replace("TokenizersBackend", "PreTrainedTokenizerFast"), "utf-8")

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """Load the model in `folder`, ready to draft.

        Raises NotAvailable if the folder has no model; Unsuitable if the model does not fit the
        target, has no usable mask, or is a PARD-2.
        """
        name = folder_label(folder)
        config = read_config(folder)
        if config.get("pard2") or config.get("spd_type") == "pard2":
            raise Unsuitable(
                f"{name!r} is a PARD-2, which also reads the target's hidden states; that is not "
                "supported."
            )
        found = load_checkpoint(name, folder, target.device, target.dtype)
        mask, count = getattr(found.model.config, MASK_KEY, None), found.model.config.vocab_size
        if type(mask) is not int or not 0 <= mask < count:
            raise Unsuitable(f"{name!r}: its {MASK_KEY} is not a token: {mask!r:.80}.")
        if not same_vocabulary(target.tokenizer, found.tokenizer):
            raise Unsuitable(
                f"{name!r} was made for another target than {target.card.name!r}: their tokens "
                "differ."
            )
        return cls(found.model, found.tokenizer)


class Pard(HeadDrafter):
    """The PARD drafter: a causal LM in eval mode, for any target with the same tokens."""

    name = "pard"
    network = PardModel
    head: PardModel
    capture = CaptureSpec()

    def __init__(self, head: PardModel, card: ModelCard) -> None:
        self.head = head
        self.card = card
        self.made_for: MadeFor = None
        self.max_length = context_length(head.model)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`."""
        return PardSession(self, target.target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        return causal_lm_weights(self.head.model)


class PardSession(LevelSession):
    """A session that caches the rows of the text; the next pass removes the rows of masks.

    Attributes:
        masks: Number of masks after the text in the next pass.
        outputs: Logits of the last pass, for each depth from the first guess on, (masks + 1, V).
    """

    def __init__(self, drafter: Pard, target: Target, settings: Settings) -> None:
        super().__init__(drafter.card.name, target, settings)
        self.mask, model = drafter.head.mask, drafter.head.model
        self.reader = TreeReader(model, drafter.card.name)
        self.rows: int = model.get_input_embeddings().weight.shape[0]
        self.masks = 0
        self.outputs: Tensor = torch.empty(0)
        self.depths: dict[int, int] = {}

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # A node's score is the model's probability at temperature 1. Recorded for each node: the
        # position whose distribution it comes from. Recorded for the proposal: the rows that the
        # pass read, and the most probable tokens of each position with their probabilities.
        self.reader.work, self.masks = Work(), max_tokens - 2
        builder = self.build(context, TreeShape(max_tokens - 1), chance)
        remark: dict[str, Any] = {"form": "masks", "passes": 0}
        work = self.reader.work
        if work.body:
            places = top_tokens_by_position(*self.read_shown(self.masks + 1))
            remark |= {"passes": 1, "rows": work.body, "masks": self.masks, "places": places}
        evidence = {node: {"place": len(path)} for node, path in enumerate(builder.paths) if node}
        return builder.proposal(
            evidence={0: remark, **evidence},
            shown=[each["token"] for place in remark.get("places", []) for each in place],
            work=work,
        )

    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Implement `LevelSession.plan_level`; nodes of the same depth have the same logits."""
        if level.nodes == (0,):
            self.depths = {0: 0}
            return self._plan_pass(context, uploads)
        for node, parent in zip(level.nodes, level.parents, strict=True):
            self.depths[node] = self.depths[parent] + 1
        depth = self.depths[level.nodes[0]]
        return lambda _: self.outputs[depth].expand(len(level.nodes), -1)

    def shown(self, guesses: int) -> list[Tensor]:
        """Implement `LevelSession.shown`: the most probable tokens of each position."""
        return [*softmax_top(self.outputs)]

    @property
    def memory(self) -> Memory | None:
        """Implement `LevelSession.memory`."""
        return self.reader.memory

    def _plan_pass(self, context: Sequence[int], uploads: UploadBatch) -> LevelPass:
        text = own_ids(context, self.rows)
        read = self.reader.plan_text(text, uploads, [self.mask] * self.masks)

        def run(_: Tensor) -> Tensor:
            self.outputs = self.fit_logits(read())
            return self.outputs[:1]

        return run
