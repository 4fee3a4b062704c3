"""Whole drafts as CUDA graphs: one upload, one launch and one copy to the host for each draft.

A draft of a head or small model is a chain of small passes, between which tokens are chosen or
sampled. The host would need longer to start their kernels than a GPU to compute them. A draft can
be recorded because all that differs between two rounds is data at fixed addresses: keys and values
(`Memory`), and what `UploadBatch` holds, random numbers included.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar
from weakref import ref

from torch import Tensor

from specviz.models.graphs import MOST_ROWS, Given, Memory
from specviz.models.target import Target
from specviz.verification.transfer import UploadBatch, joined, read_joined, to_host

Kept = TypeVar("Kept")


def compute_draft(
    memory: Memory | None,
    key: tuple[Hashable, ...],
    target: Target,
    uploads: UploadBatch,
    draft: Callable[[], tuple[Kept, list[Tensor]]],
) -> tuple[Kept, list[Tensor]]:
    """Compute a draft and copy its values to the host, recorded if it uses fixed memory.

    Args:
        memory: The memory of its passes; None if they have none.
        key: What determines the draft's operations, except the memory, the target and the shapes
            in `uploads`.
        target: The target, whose weights the draft may use.
        uploads: All that the draft reads besides weights and the memory.
        draft: Returns what to keep of the draft, and the tensors to copy. It leaves nothing else,
            and gives the same if it runs twice.

    Returns:
        What to keep, whose tensors the next draft overwrites if there is memory; and the values.
    """
    if memory is None or any(rows > MOST_ROWS for _, rows in uploads.states):
        return _read(*draft())
    made: list[tuple[Kept, list[Tensor]]] = []

    def function(buffer: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        uploads.attach(buffer, *states)
        made[:] = [draft()]
        return (joined(made[0][1]),) if made[0][1] else ()

    packed = uploads.packed()
    given = [Given(packed, tuple(packed.shape))]
    for states, rows in uploads.states:
        given.append(Given(states, (rows, *states.shape[1:]), last=True))
    recorded_as = (*key, ref(target.model), target.vocab_size, uploads.shapes)
    found = memory.recorder.run(memory, recorded_as, function, given)
    if found is None:
        return _read(*draft())
    if made:
        memory.drafts[recorded_as] = made[0]
    kept, pending = memory.drafts[recorded_as]
    return kept, read_joined(found[0], pending) if found else []


def _read(kept: Kept, pending: list[Tensor]) -> tuple[Kept, list[Tensor]]:
    return kept, to_host(*pending) if pending else []
