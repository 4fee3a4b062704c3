"""Record a function of tensors as a CUDA graph, which one call of the driver then launches.

A pass of a small model is some hundred kernels. Starting them one by one takes the host longer than
the GPU needs to compute them; a graph is started at once. Its inputs and outputs stay at the same
addresses, so values are copied into the inputs before each launch, and the outputs are copied
before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Function = Callable[..., tuple[Tensor, ...]]
# Computes the function's outputs again, from the values that its inputs have now.
Replay = Callable[[], object]


def record_graph(function: Function, inputs: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], Replay]:
    """Run a function once, then record it.

    The device's other streams and other threads may work meanwhile.

    Args:
        function: Must not synchronise, and must give the same result if it runs twice.
        inputs: Tensors on the device, at their final addresses and with the values of the first
            run.

    Returns:
        The outputs, which are valid until the next replay, and a function that replays.

    Raises:
        RuntimeError: This torch cannot record graphs, or memory ran out.
    """
    graph = torch.cuda.CUDAGraph()
    before = torch.cuda.current_stream()
    aside = torch.cuda.Stream()
    aside.wait_stream(before)
    with torch.cuda.stream(aside):  # kernels are loaded here, which a recording does not allow
        function(*inputs)
    before.wait_stream(aside)
    # Another thread may load a model meanwhile, whose calls must not invalidate the recording.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        outputs = function(*inputs)
    graph.replay()
    return outputs, graph.replay
