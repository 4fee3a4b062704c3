"""A simulated CUDA device: CPU tensors that report `cuda:0` and obey a GPU's rules.

It refuses what CUDA refuses (two devices in one op, a device index into a host tensor, `.numpy()`),
and counts synchronisations and transfers between host and device. No C++ code is involved, so it
runs with a torch that was built without CUDA. Not simulated: rounding of CUDA kernels,
dtypes that a kernel lacks, streams, timing.

Two modes share the work. `DeviceMode` handles device arguments and attributes (`.device`, `.to`,
`device=`); `Ops` handles every op below, also those inside a composite one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from specviz.models import graphs

aten = torch.ops.aten
HOST, DEVICE = torch.device("cpu"), torch.device("cuda", 0)
# Memory without values: nothing is launched for it.
EMPTY = {aten.empty, aten.new_empty, aten.empty_like, aten.empty_strided, aten.new_empty_strided}
INDEX = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_, aten._unsafe_index}
TAKES_SCALARS = {aten.fill_, aten.masked_fill, aten.masked_fill_, aten.copy_}  # as in x[i] = 0.0
WHOLE = {aten.scaled_dot_product_attention, aten.rms_norm}  # one kernel on CUDA, so not decomposed
ANSWERS = {
    Tensor.device.__get__: DEVICE,
    Tensor.is_cuda.__get__: True,
    Tensor.is_cpu.__get__: False,
}


class Cuda(Tensor):
    """A tensor that reports the device cuda:0."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class DeviceLog:
    """Counts of device operations so far.

    counts: launches (ops that start a kernel), reads (the host waits for a value), uploads (values
    of the host go to the device), waits (reads, and uploads without non_blocking), late
    (asynchronous copies to the host).
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.late: list[tuple[Tensor, Tensor]] = []  # each copy in progress, and its source

    def note(self, kind: str, waits: bool = True) -> None:
        """Count a synchronisation or transfer."""
        if waits:
            self.arrive()
        self.counts[kind] += 1
        self.counts["waits"] += waits

    def leave(self, tensor: Tensor) -> Tensor:
        """Start an asynchronous copy to the host, which holds garbage until the next wait."""
        self.counts["late"] += 1
        copy = torch.full_like(tensor, torch.nan if tensor.is_floating_point() else -1)
        self.late.append((copy, tensor))
        return copy

    def arrive(self) -> None:
        """Finish all pending copies, since the host waited."""
        with torch.inference_mode():
            for copy, tensor in self.late:
                copy.copy_(tensor)
        self.late.clear()


class DeviceMode(TorchFunctionMode):
    """Intercepts device queries in Python. making: the running op creates a device tensor."""

    def __init__(self, device_log: DeviceLog) -> None:
        self.device_log = device_log
        self.making = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = dict(kwargs or {}), getattr(func, "__name__", "")
        ours = bool(args) and isinstance(args[0], Cuda)
        if ours and func in ANSWERS:
            return ANSWERS[func]
        if name in ("to", "cpu", "cuda") and args and isinstance(args[0], Tensor):
            return self._moved(name, *args, **kwargs)
        if ours and name == "tolist":
            self.device_log.note("reads")
            return args[0].as_subclass(Tensor).tolist()
        if ours and name in ("numpy", "__array__"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        device = kwargs.get("device")
        if device is None or torch.device(device).type != "cuda" or name == "_parse_to":
            return func(*args, **kwargs)
        return self._made(func, name, args, kwargs | {"device": HOST})

    def _made(self, func: Any, name: str, args: Any, kwargs: Any) -> Tensor:
        """Create a tensor on the device, from host values or by a fill op."""
        of_host = name in ("tensor", "as_tensor")
        self.making = not of_host
        try:
            made = func(*args, **kwargs)
        finally:
            self.making = False
        if of_host:
            self.device_log.note("uploads")
        return made.as_subclass(Cuda)

    def _moved(self, name: str, tensor: Tensor, *rest: Any, **kwargs: Any) -> Tensor:
        """Implement `.to`, `.cpu`, `.cuda`: convert the dtype first, then move if requested."""
        here = DEVICE if isinstance(tensor, Cuda) else HOST
        goal, dtype = {"cpu": HOST, "cuda": DEVICE}.get(name, here), tensor.dtype
        for said in [*rest, *kwargs.values()] if name == "to" else ():
            if isinstance(said, Tensor):
                goal, dtype = DEVICE if isinstance(said, Cuda) else said.device, said.dtype
            elif isinstance(said, torch.dtype):
                dtype = said
            elif isinstance(said, str | torch.device):
                goal = torch.device(said)
        if goal.type not in ("cpu", "cuda"):
            return getattr(tensor, name)(*rest, **kwargs)
        made = tensor.to(dtype) if dtype != tensor.dtype else tensor
        if goal.type == here.type:
            return made
        up, late = goal.type == "cuda", bool(kwargs.get("non_blocking"))
        if late and not up:
            return self.device_log.leave(made.as_subclass(Tensor))
        self.device_log.note("uploads" if up else "reads", not late)
        return made.as_subclass(Tensor).clone().as_subclass(Cuda if up else Tensor)


class Ops(TorchDispatchMode):
    """Intercepts every op: refuses mixed devices as CUDA does, marks device tensors, and counts."""

    def __init__(self, device_mode: DeviceMode) -> None:
        super().__init__()
        self.device_mode = device_mode
        self.device_log = device_mode.device_log

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, op = kwargs or {}, func.overloadpacket
        tensors = list(_tensors((args, kwargs)))
        if not (self.device_mode.making or any(isinstance(each, Cuda) for each in tensors)):
            return func(*args, **kwargs)
        if op not in WHOLE:
            with self:  # a composite op is decomposed, and each of its parts is handled as an op
                if (out := func.decompose(*args, **kwargs)) is not NotImplemented:
                    return out
        if func.namespace not in ("aten", "prim", "prims"):
            raise NotImplementedError(f"Could not run '{func}' with arguments of the CUDA backend")
        if not self.device_mode.making:
            self._check(func, op, args, [each for each in tensors if not isinstance(each, Cuda)])
        out = func(*args, **kwargs)
        self._count(func, op, args, tensors, out)
        if func._schema.is_mutable:
            return out
        return _marked(out)

    def _count(self, func: Any, op: Any, args: Any, tensors: list[Tensor], out: Any) -> None:
        """Count a launch if an op writes a result, and a read if the host needs a value."""
        made = list(_tensors(out))
        new = {_memory(each) for each in made} - {_memory(each) for each in tensors}
        self.device_log.counts["launches"] += (
            (bool(new) or func._schema.is_mutable)
            and op not in EMPTY
            and any(each.numel() for each in made)
        )
        chosen = op in INDEX and any(
            each.dtype == torch.bool for each in _tensors(args[1])
        )  # the host needs the number of true values of a boolean index
        shaped = torch.Tag.dynamic_output_shape in func.tags and op not in INDEX
        valued = not made and not isinstance(
            out, list
        )  # a split of an empty tensor is an empty list
        if chosen or shaped or valued or torch.Tag.data_dependent_output in func.tags:
            self.device_log.note("reads")

    def _check(self, func: Any, op: Any, args: Any, others: list[Tensor]) -> None:
        """Allow the host tensors that CUDA accepts: scalars in pointwise ops, indices, copies."""
        scalars = all(each.dim() == 0 for each in others)
        if not others or (scalars and (torch.Tag.pointwise in func.tags or op in TAKES_SCALARS)):
            return
        if op is aten.copy_:
            waits = not (len(args) > 2 and args[2])
            if args[0].numel():  # nothing is copied for an empty tensor
                self.device_log.note("uploads" if isinstance(args[0], Cuda) else "reads", waits)
            return
        if op in INDEX and others[0] is not args[0]:
            indices = [each for each in others if any(each is i for i in _tensors(args[1]))]
            for _ in indices:
                self.device_log.note("uploads")
            others = [each for each in others if each.dim() and not any(each is i for i in indices)]
        if others:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found cuda:0 and cpu in {func}"
            )


def _tensors(given: Any) -> Iterator[Tensor]:
    """Return the tensors among an op's arguments or results, in order, also from flat lists."""
    if isinstance(given, Tensor):
        yield given
    elif isinstance(given, list | tuple | dict):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _tensors(each)


def _marked(out: Any) -> Any:
    """Return an op's results with their tensors marked as on the device."""
    if isinstance(out, Tensor):
        return out.as_subclass(Cuda)
    return type(out)(map(_marked, out)) if isinstance(out, list | tuple) else out


def _memory(tensor: Tensor) -> int:
    """Return the address of a tensor's memory."""
    return tensor.untyped_storage().data_ptr()


ACTIVE: list[DeviceLog] = [DeviceLog()]  # the last one counts now


class Tape(TorchDispatchMode):
    """Keeps the ops of a function with their tensors, as a recording does, and repeats them."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.ops.append((func, args, kwargs or {}, out))
        return out

    @torch.inference_mode()
    def replay(self) -> None:
        """Compute every result again, at its address; the simulation has checked these ops."""
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            for func, args, kwargs, out in self.ops:
                again = func(*args, **kwargs)
                for own, new in zip(_tensors(out), _tensors(again), strict=True):
                    if own.data_ptr() != new.data_ptr():
                        own.copy_(new)


def imitate_graph(function: Any, inputs: Any) -> tuple[tuple[Tensor, ...], Any]:
    """Imitate `graphs.record_graph`: a replay repeats the ops, as one launch.

    The function must not make the host wait, since a recording then fails on CUDA.
    """

    def uncounted(work: Any) -> Any:
        counts = ACTIVE[-1].counts
        before = Counter(counts)
        made = work()
        synchronised = [counts[kind] - before[kind] for kind in ("waits", "uploads")]
        counts.clear()
        counts.update(before)
        return made, synchronised

    # As a recording begins: what is uploaded once is uploaded here.
    uncounted(lambda: function(*inputs))
    with Tape() as tape:
        outputs, synchronised = uncounted(lambda: function(*inputs))
    assert synchronised == [0, 0], "the host takes part in a graph"

    def replay() -> None:
        tape.replay()
        ACTIVE[-1].counts["launches"] += 1

    replay()
    return outputs, replay


def refuse_graph(function: Any, inputs: Any) -> Any:
    """Fail where `graphs.record_graph` would record, as on a full device."""
    raise RuntimeError("out of memory")


@contextmanager
def pretended() -> Iterator[DeviceLog]:
    """Give torch one CUDA device within this context, in this thread."""
    device_log = DeviceLog()
    device_mode = DeviceMode(device_log)
    answers = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "is_bf16_supported": True,
        "get_device_name": "a pretended GPU",
        "get_device_capability": (9, 0),
        "device": nullcontext(),
    }
    overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # or .to keeps their class
    with ExitStack() as stack:
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, overwrites)
        for name, answer in answers.items():
            stack.enter_context(
                patch.object(torch.cuda, name, lambda *_, _says=answer, **__: _says)
            )
        stream = SimpleNamespace(synchronize=device_log.arrive)
        stack.enter_context(patch.object(torch.cuda, "current_stream", lambda *_: stream))
        ACTIVE.append(device_log)
        stack.callback(ACTIVE.remove, device_log)
        stack.enter_context(patch.object(graphs, "record_graph", imitate_graph))
        stack.enter_context(Ops(device_mode))
        stack.enter_context(device_mode)
        yield device_log
