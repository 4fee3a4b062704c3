"""Which heads can be trained on a frozen target, and the functions that training needs of each.

Rule: knowing a name costs nothing; a family's code is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from specviz.drafters.kit.training import EVERY, Frozen, overlaps, same_tops
from specviz.models.target import Target

DEPTH: Final = 5  # how many guesses in a row are measured where a head could make any number
DRAFT_VOCABULARY: Final = 0.75  # EAGLE-3 may propose so much of the vocabulary, the commonest of it


@dataclass(frozen=True)
class Family:
    """What training needs of one kind of head; `name` is its folder's, and its drafter's.

    build: (target, how often each token occurs in the training text (V,)) -> a new head, an
    `nn.Module` with `save(folder)` and `load(folder, target)`, drawn from torch's own generator,
    which is seeded. loss: (head, batch) -> mean loss. guesses: (head, batch) -> logits by depth,
    as in agreement.py; None where there are no simple ones. sampled: α is Σ min(p, q); otherwise,
    for a point mass, the share of equal tops. keys_values: the target's layers, from 1, whose keys
    and values the loss reads; (EVERY,) for all.
    """

    name: str
    build: Callable[[Target, Tensor], Any]
    loss: Callable[[Any, Frozen], Tensor]
    guesses: Callable[[Any, Frozen], Sequence[Tensor]] | None = None
    sampled: bool = False
    keys_values: tuple[int, ...] = ()

    def agreement(self, head: Any, frozen: Frozen) -> list[float]:
        """α by depth on this batch; empty where the family has no guesses to measure."""
        if self.guesses is None:
            return []
        measure = overlaps if self.sampled else same_tops
        with torch.no_grad():
            return measure(self.guesses(head, frozen), frozen)


def family(name: str) -> Family:
    """The family called `name`. Raises ValueError for a name that is not in `NAMES`."""
    if name not in _MAKERS:
        raise ValueError(f"There is no head {name!r}; there are {', '.join(NAMES)}.")
    return _MAKERS[name]()


def load_head(head: Any, folder: Path, target: Target) -> Any:
    """What `head` wrote to `folder`, as the app will load it."""
    return type(head).load(folder, target)


def _eagle() -> Family:
    from specviz.drafters.eagle.head import EagleConfig, EagleHead
    from specviz.drafters.eagle.training import guesses, loss

    return Family(
        "eagle",
        build=lambda target, _counts: EagleHead(EagleConfig.like(target)),
        loss=loss,
        guesses=lambda head, frozen: guesses(head, frozen, DEPTH),
        sampled=True,
    )


def _eagle3() -> Family:
    from specviz.drafters.eagle.head3 import Eagle3Config, Eagle3Head, usual_taps
    from specviz.drafters.eagle.training3 import guesses, loss

    def build(target: Target, counts: Tensor) -> Eagle3Head:
        config = Eagle3Config.like(
            target,
            draft_vocab_size=round(DRAFT_VOCABULARY * target.vocab_size),
            tap_layers=usual_taps(target.model.config.num_hidden_layers),
        )
        head = Eagle3Head(config)
        head.propose_only(counts)
        return head

    return Family("eagle3", build, loss, guesses=lambda head, frozen: guesses(head, frozen, DEPTH))


def _medusa() -> Family:
    from specviz.drafters.medusa import MedusaConfig, MedusaHeads, guesses, loss

    def build(target: Target, _counts: Tensor) -> MedusaHeads:
        config = MedusaConfig(base_model_name_or_path=target.card.name, made_for=target.card.hash)
        return MedusaHeads.new(config, target.model)

    return Family("medusa", build, loss, guesses)


def _blockwise() -> Family:
    from specviz.drafters.blockwise import BlockwiseConfig, BlockwiseHeads, guesses, loss

    def build(target: Target, _counts: Tensor) -> BlockwiseHeads:
        return BlockwiseHeads.new(BlockwiseConfig(made_for=target.card.hash), target.model)

    return Family("blockwise", build, loss, guesses)


def _mtp() -> Family:
    from specviz.drafters.kit.checkpoint import rope_theta
    from specviz.drafters.mtp.head import MTPConfig, MTPModules
    from specviz.drafters.mtp.training import guesses, loss

    def build(target: Target, _counts: Tensor) -> MTPModules:
        shape = target.model.config
        config = MTPConfig(
            num_hidden_layers=shape.num_hidden_layers,
            num_attention_heads=shape.num_attention_heads,
            num_key_value_heads=shape.num_key_value_heads,
            intermediate_size=shape.intermediate_size,
            rms_norm_eps=shape.rms_norm_eps,
            rope_theta=rope_theta(target.model),
            made_for=target.card.hash,
        )
        return MTPModules.new(config, target.model)

    return Family("mtp", build, loss, guesses, sampled=True)


def _mtp_parallel() -> Family:
    from specviz.drafters.kit.checkpoint import rope_theta
    from specviz.drafters.mtp_parallel import ParallelConfig, ParallelHeads, guesses, loss

    def build(target: Target, _counts: Tensor) -> ParallelHeads:
        shape = target.model.config
        config = ParallelConfig(
            n_heads=shape.num_attention_heads,
            n_kv_heads=shape.num_key_value_heads,
            hidden_dim=shape.intermediate_size // 2,
            norm_eps=shape.rms_norm_eps,
            rope_theta=rope_theta(target.model),
            made_for=target.card.hash,
        )
        return ParallelHeads.new(config, target.model)

    return Family("mtp-parallel", build, loss, guesses)


def _lmtp() -> Family:
    from specviz.drafters.lmtp import LeapConfig, LeapHeads, guesses, loss

    def build(target: Target, _counts: Tensor) -> LeapHeads:
        config = LeapConfig(model_name=target.card.name, made_for=target.card.hash)
        return LeapHeads.new(config, target.model)

    return Family("lmtp", build, loss, guesses)


def _dflash() -> Family:
    from specviz.drafters.dflash.config import DFlashConfig
    from specviz.drafters.dflash.head import DFlashHead
    from specviz.drafters.dflash.training import guesses, loss

    def build(target: Target, _counts: Tensor) -> DFlashHead:
        return DFlashHead(DFlashConfig.house(target))

    return Family("dflash", build, loss, guesses)


def _moa() -> Family:
    from specviz.drafters.moa.config import MoaConfig
    from specviz.drafters.moa.head import MoaHead
    from specviz.drafters.moa.training import guesses, loss

    def build(target: Target, _counts: Tensor) -> MoaHead:
        return MoaHead(MoaConfig.like(target))

    return Family("moa", build, loss, guesses, keys_values=(EVERY,))


_MAKERS: Final[Mapping[str, Callable[[], Family]]] = {
    "eagle": _eagle,
    "eagle3": _eagle3,
    "medusa": _medusa,
    "blockwise": _blockwise,
    "mtp": _mtp,
    "mtp-parallel": _mtp_parallel,
    "lmtp": _lmtp,
    "moa": _moa,
    "dflash": _dflash,
}


NAMES: Final = tuple(_MAKERS)
