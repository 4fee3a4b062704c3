"""Replace a network's linear layers and norms by faster modules with the same results.

On a CPU, each linear layer uses the fastest library for its shape. Weights are moved into one block
of memory, in the layout that is fastest for one row. A layer's parameter becomes a view of that
block, so other code that reads the parameter works as before. oneDNN needs a separate copy, which
is made only if it is used.

On a GPU, each RMS norm becomes one kernel instead of six or seven. With a small model, the GPU
mostly waits for kernel launches, and a third of a Llama layer's kernels belong to its two norms. A
norm is replaced only if a test shows that it computes the same function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import chain, islice
from time import perf_counter
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.torch import has_hooks
from specviz.models.devices import process_count
from specviz.models.products import Backend, Clock, Group, Plan, Product, choose_plans, shape_of

MOST_BYTES: Final = 1 << 31  # maximum bytes of weights; larger networks are left unchanged
ALIGNED: Final = 16  # in float32 numbers; each matrix begins at a multiple of this
ROW_COUNTS: Final = {"one row": "one", "two": "two", "three": "few", "more": "many"}
NETWORK: Final = "specviz_network"  # attribute for a model's faster network, see `network`


class FastLinear(nn.Linear):
    """A linear layer for inference; its weights must not change after its plan was chosen."""

    product: Product

    def forward(self, input: Tensor) -> Tensor:
        """Map (..., in) to (..., out), by torch's own product if gradients are enabled."""
        if torch.is_grad_enabled():
            return super().forward(input)
        return self.product.multiply_tensor(input)


@runtime_checkable
class FusedPart(Protocol):
    """A module that computes some of its linear layers as one product."""

    def product_groups(self) -> list[Group]:
        """Return its layers in groups that read the same rows."""

    def use(self, products: Sequence[Product]) -> None:
        """Use these products, one for each group, in later passes."""


def optimize_linears(
    network: nn.Module, groups: Iterable[Group] = (), clock: Clock | None = None
) -> list[Product] | None:
    """Choose how to compute a network's linear layers, and rearrange their weights in place.

    Only networks on a CPU with at most 2 GiB of float32 weights are changed. The processes of a
    tensor-parallel run are excluded, because their choices could differ. Returns the products of
    the groups, in this order, or None if nothing was done.

    Args:
        network: The network.
        groups: Layers that read the same rows and are computed as one product. They remain ordinary
            layers over the same memory; all other layers become `FastLinear`.
        clock: Reads the time in seconds. None: the machine's clock.
    """
    together = [list(group) for group in groups]
    grouped = {id(layer) for group in together for layer in group}
    alone = [
        [layer]
        for layer in network.modules()
        if type(layer) is nn.Linear and id(layer) not in grouped
    ]
    all_groups = together + alone
    weights = [layer.weight for group in all_groups for layer in group]
    size = sum(weight.nbytes for weight in {id(w): w for w in weights}.values())
    ready = all(w.device.type == "cpu" and w.dtype == torch.float32 for w in weights)
    if not (all_groups and ready and size <= MOST_BYTES and process_count() == 1):
        return None
    plans = choose_plans(all_groups, clock or perf_counter)
    block = _Block(sum(-(-w.numel() // ALIGNED) * ALIGNED for w in weights))
    made = [_lay_out(group, plans[shape_of(group)], block) for group in all_groups]
    block.separate_others(network)
    for [layer], product in zip(alone, made[len(together) :], strict=True):
        layer.__class__ = FastLinear
        assert isinstance(layer, FastLinear)
        layer.product = product
    return made[: len(together)]


def optimize_parts(network: nn.Module) -> None:
    """Optimize the linear layers of a network; its `FusedPart`s say which to compute together."""
    parts = [part for part in network.modules() if isinstance(part, FusedPart)]
    groups = [part.product_groups() for part in parts]
    made = optimize_linears(network, chain.from_iterable(groups))
    if made is not None:
        products = iter(made)
        for part, own in zip(parts, groups, strict=True):
            if own:
                part.use(list(islice(products, len(own))))


class _Block:
    # One allocation for all matrices, by NumPy, which requests huge pages for large arrays.
    def __init__(self, numbers: int) -> None:
        self.memory = torch.from_numpy(np.empty(numbers, np.float32))
        self.first = 0

    def put(self, matrix: Tensor) -> Tensor:
        numbers = matrix.numel()
        there = self.memory[self.first : self.first + numbers].view(matrix.shape)
        self.first += -(-numbers // ALIGNED) * ALIGNED
        return there.copy_(matrix)

    def separate_others(self, network: nn.Module) -> None:
        # Parameters that share an allocation with others, so that this can be freed.
        here = self.memory.untyped_storage().data_ptr()
        for weight in network.parameters():
            storage = weight.untyped_storage()
            if storage.nbytes() > weight.nbytes and storage.data_ptr() != here:
                weight.data = weight.data.clone()


@torch.no_grad()
def _lay_out(group: Group, plan: Plan, block: _Block) -> Product:
    # The parameters of its layers become views of the block.
    whole = torch.cat([layer.weight for layer in group]) if len(group) > 1 else group[0].weight
    there = (block.put(whole.t()).t() if plan.transposed else block.put(whole)).detach()
    first = 0
    for layer in group:
        layer.weight.data = there[first : first + layer.out_features]
        first += layer.out_features
    return Product(there, _bias(group), plan)


def _bias(group: Group) -> Tensor | None:
    # Zeros for layers without bias; None if none has one.
    if all(layer.bias is None for layer in group):
        return None
    none = torch.zeros
    return torch.cat([none(x.out_features) if x.bias is None else x.bias.detach() for x in group])


def unoptimized_copy(network: nn.Module) -> Any:
    """Return a copy with ordinary linear layers in torch's default layout."""
    layers = [module for module in network.modules() if isinstance(module, FastLinear)]
    own: list[object] = [getattr(network, NETWORK, None), *(layer.product for layer in layers)]
    copy = deepcopy(network, {id(each): None for each in own if each is not None})
    vars(copy).pop(NETWORK, None)
    for module in copy.modules():
        if isinstance(module, FastLinear):
            del module.product
            module.__class__ = nn.Linear  # type: ignore[assignment]
    for weight in copy.parameters():
        weight.data = weight.data.contiguous()
    return copy


def describe_products(network: nn.Module) -> str:
    """Describe how a network's products are computed, for a trace's header."""
    products = [module.product for module in network.modules() if isinstance(module, FastLinear)]
    fused = getattr(network, NETWORK, None)
    if fused is not None:
        if not fused.products:
            return str(fused.description)
        products += fused.products
    if not products:
        return "torch"
    texts = {
        name: _list_backends(
            (product.weight.numel(), getattr(product.plan, part)) for product in products
        )
        for name, part in ROW_COUNTS.items()
    }
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


def _list_backends(sizes: Iterable[tuple[int, Backend]]) -> str:
    # By descending number of weights: "NumPy, oneDNN (12%)".
    by_backend: Counter[Backend] = Counter()
    for numbers, backend in sizes:
        by_backend[backend] += numbers
    whole = by_backend.total()
    first, *rest = by_backend.most_common()
    return ", ".join([first[0].value, *(f"{w.value} ({n / whole:.0%})" for w, n in rest)])


TOLERANCE: Final = 1e-5  # relative and absolute tolerance: float32 sums in another order differ


def fuse_norms(network: nn.Module, device: torch.device) -> int:
    """On a CUDA device, replace norms by torch's where equal; names stay. Return how many."""
    if device.type != "cuda":
        return 0
    found = [
        (parent, name, fused)
        for parent in network.modules()
        for name, module in parent.named_children()
        if (fused := _fused(module)) is not None
    ]
    for parent, name, fused in found:
        setattr(parent, name, fused)
    return len(found)


def _fused(module: nn.Module) -> nn.RMSNorm | None:
    # None if it would compute something else.
    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    weight = getattr(module, "weight", None)
    if not isinstance(eps, float) or not isinstance(weight, Tensor) or weight.dim() != 1:
        return None
    if isinstance(module, nn.RMSNorm) or len(list(module.parameters())) != 1:
        return None
    if has_hooks(module):  # as in a module that is split over processes
        return None
    made = nn.RMSNorm(len(weight), eps, device="meta")
    made.weight = nn.Parameter(weight, requires_grad=False)
    return made if _same_norm(module, made) else None


@torch.inference_mode()
def _same_norm(one: nn.Module, other: nn.RMSNorm) -> bool:
    # Gemma's norm, for example, adds 1 to its weight.
    assert other.weight is not None
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(3, len(other.weight), generator=generator)
    rows = (rows * torch.tensor([[100.0], [1.0], [0.01]])).to(other.weight.device)
    weight = other.weight.to(torch.float32)
    theirs = one(rows)
    ours = nn.functional.rms_norm(rows, other.normalized_shape, weight, other.eps)
    return theirs.shape == ours.shape and torch.allclose(
        theirs.float(), ours, rtol=TOLERANCE, atol=TOLERANCE
    )
