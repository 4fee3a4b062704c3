"""Passes and whole drafts as CUDA graphs: one upload and one launch for each.

A draft of a head or small model is a chain of small passes, between which tokens are chosen or
sampled; its values are copied to the host once. The host would need longer to start the kernels
than a GPU to compute them. All that differs between two rounds is data at fixed addresses: keys and
values (`Memory`), and what `UploadBatch` holds, random numbers included.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar
from weakref import ref

from torch import Tensor

from specviz.models.graphs import MOST_ROWS, Given, Memory
from specviz.verification.transfer import UploadBatch, joined, read_joined, to_host

if TYPE_CHECKING:
    from specviz.models.target import Target

Kept = TypeVar("Kept")


def compute_planned(
    memory: Memory | None,
    key: tuple[Hashable, ...],
    target: Target | None,
    uploads: UploadBatch,
    work: Callable[[], tuple[Kept, list[Tensor]]],
) -> tuple[Kept, list[Tensor]]:
    """Compute passes and copy values to the host, recorded if they use fixed memory.

    Args:
        memory: The memory of the passes; None if they have none.
        key: What determines the operations, except the memory, the target and the shapes in
            `uploads`.
        target: The target, whose weights a draft may use; None: only those of the memory's network.
        uploads: All that is read besides weights and the memory.
        work: Returns what to keep, and the tensors to copy. It leaves nothing else, and gives the
            same if it runs twice.

    Returns:
        What to keep, whose tensors the next use of `key` overwrites if there is memory; and the
        values.
    """
    if memory is None or uploads.longest > MOST_ROWS:
        return _read(*work())
    made: list[tuple[Kept, list[Tensor]]] = []

    def function(buffer: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        uploads.attach(buffer, *states)
        made[:] = [work()]
        return (joined(made[0][1]),) if made[0][1] else ()

    packed = uploads.packed()
    given = [Given(packed, tuple(packed.shape))]
    for states, rows in uploads.states:
        given.append(Given(states, (rows, *states.shape[1:]), last=True))
    recorded_as = (*key, target and (ref(target.identity), target.vocab_size), uploads.shapes)
    found = memory.recorder.run(memory, recorded_as, function, given)
    if found is None:
        return _read(*work())
    if made:
        memory.kept[recorded_as] = made[0]
    kept, pending = memory.kept[recorded_as]
    return kept, read_joined(found[0], pending) if found else []


def _read(kept: Kept, pending: list[Tensor]) -> tuple[Kept, list[Tensor]]:
    return kept, to_host(*pending) if pending else []
