"""Elements as PyTorch's tensors: shared with NumPy on the CPU; through pinned memory and a stream of their own on CUDA.

On CUDA a batch takes three steps, and none of them is the training loop's: it is copied into pinned memory that is
used again and again, sent to the device by a side stream while the step computes, and handed over with an event that the
loop's stream waits for. The host never waits for the device, and the device never waits for the host, as long as data
comes fast enough.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import Any, Final

import numpy as np

from headrace.elements.structure import Element, flatten, unflatten
from headrace.errors import InvalidArgumentError, MissingExtraError
from headrace.feed.leaves import made_of_arrays
from headrace.frozen import mutable

__all__ = ["CudaTransfer", "TorchTransfer", "torch_transfer"]

_STAGE: Final = "to_torch"


def torch_transfer(device: Any, dtype: Any, pin_memory: bool | str, buffer_size: int) -> Any:
    """Returns what makes the transfer of one epoch.

    Raises:
        MissingExtraError: PyTorch is not installed.
        InvalidArgumentError: there is no such device here, or an argument does not fit.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtraError("to_torch needs: pip install 'headrace[torch]'") from None
    if pin_memory not in (True, False, "auto"):
        raise InvalidArgumentError(f"pin_memory must be True, False or 'auto', not {pin_memory!r}", stage=_STAGE)
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise InvalidArgumentError(f"dtype must be a torch.dtype, not {dtype!r}", stage=_STAGE)
    try:
        place = torch.device("cpu" if device is None else device)
    except RuntimeError as error:
        raise InvalidArgumentError(f"{device!r} is no device that PyTorch knows: {error}", stage=_STAGE) from error
    if place.type != "cuda":
        pinned = pin_memory is True
        if pinned and not torch.cuda.is_available():
            raise InvalidArgumentError("pin_memory=True needs CUDA, and there is none here", stage=_STAGE)
        return functools.partial(TorchTransfer, place, dtype, pin_memory=pinned)
    if not torch.cuda.is_available():
        raise InvalidArgumentError(f"device={device!r}: there is no CUDA device here", stage=_STAGE)
    if place.index is not None and place.index >= torch.cuda.device_count():
        raise InvalidArgumentError(
            f"device={device!r}: there are {torch.cuda.device_count()} CUDA devices here, counted from 0", stage=_STAGE
        )
    return functools.partial(CudaTransfer, place, dtype, pin_memory=pin_memory is not False, slots=buffer_size + 2)


def as_tensor(array: np.ndarray) -> Any:
    """Returns a tensor on the array's memory; on a copy of it where the array may not be written to."""
    import torch

    name = array.dtype.name
    if name == "bfloat16" or (
        name.startswith("float8_") and hasattr(torch, name)
    ):  # ml_dtypes': the bytes are the same
        return as_tensor(array.view(f"u{array.itemsize}")).view(getattr(torch, name))
    if not array.flags.writeable or any(stride < 0 or stride % (array.itemsize or 1) for stride in array.strides):
        array = array.copy()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if (
        array.dtype.char in "qQ"
    ):  # C's long long, which is int64 by another name: what NumPy makes of an int beyond int64
        array = array.view(array.dtype.str)
    return torch.from_numpy(array)


class TorchTransfer:
    """Transfers elements to the CPU's memory, where nothing is copied; or to a device that has no streams of its own."""

    def __init__(self, device: Any, dtype: Any, *, pin_memory: bool = False) -> None:
        self._device = device
        self._dtype = dtype
        self._pin_memory = pin_memory

    @property
    def takes_time(self) -> bool:
        """Only a copy does."""
        return self._pin_memory or self._device.type != "cpu"

    def begin(self, element: Element) -> Any:
        """Returns the element's tensors."""
        import torch

        return made_of_arrays(element, self._tensor, own=torch.Tensor, stage=_STAGE)

    def _tensor(self, array: Any) -> Any:
        tensor = as_tensor(array) if isinstance(array, np.ndarray) else array
        wanted = self._dtype if self._dtype is not None and tensor.is_floating_point() else tensor.dtype
        tensor = tensor.to(self._device, wanted)
        return tensor.pin_memory() if self._pin_memory else tensor

    def finish(self, begun: Any) -> Any:
        """Does nothing: nothing is left to be done."""
        return begun

    def copies_s(self) -> list[float]:
        """Returns nothing: no copy took time."""
        return []


@mutable
class _Sent:
    """A batch on its way: its leaves, the tensors among them, and when the copy began and ended on the device."""

    leaves: list[Any]
    treedef: Any
    tensors: list[Any]
    began: Any
    ended: Any


class _PinnedMemory:
    """Pinned buffers for the tensors of a batch, used in turns: one is written again when its copy has left it."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._turn = 0
        self._buffers: list[dict[tuple[int, Any, Any], Any]] = [{} for _ in range(slots)]
        self._left: list[Any] = [None] * slots

    def next_slot(self) -> dict[tuple[int, Any, Any], Any]:
        """Returns the slot whose turn it is; waits until its last copy has left it."""
        event = self._left[self._turn]
        if event is not None:
            event.synchronize()
        return self._buffers[self._turn]

    def sent(self, event: Any) -> None:
        """Notes that the slot's copy has begun, and has left it when the event is reached."""
        self._left[self._turn] = event
        self._turn = (self._turn + 1) % self._slots


class CudaTransfer:
    """Transfers elements to a CUDA device, on a stream of its own."""

    takes_time = True

    def __init__(self, device: Any, dtype: Any, *, pin_memory: bool, slots: int) -> None:
        import torch

        self._device = device
        self._dtype = dtype
        self._stream = torch.cuda.Stream(device)
        self._pinned = _PinnedMemory(slots) if pin_memory else None
        # Of each copy its two events, and not its batch: the GPU has no room for those of a second.
        self._timed: deque[tuple[Any, Any]] = deque(maxlen=1000)

    def begin(self, element: Element) -> _Sent:
        """Copies into pinned memory, and starts the copy to the device."""
        import torch

        tensors: list[Any] = []

        def send(array: Any) -> Any:
            tensor = as_tensor(array) if isinstance(array, np.ndarray) else array.detach()
            if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
                return array  # who put it where it is knows when it is there
            tensors.append(self._to_device(tensor, len(tensors), slot))
            return tensors[-1]

        slot = self._pinned.next_slot() if self._pinned is not None else None
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            began.record(self._stream)
            leaves, treedef = flatten(made_of_arrays(element, send, own=torch.Tensor, stage=_STAGE))
            ended.record(self._stream)
        if self._pinned is not None:
            self._pinned.sent(ended)
        return _Sent(leaves, treedef, tensors, began, ended)

    def _to_device(self, tensor: Any, number: int, slot: dict[tuple[int, Any, Any], Any] | None) -> Any:
        import torch

        wanted = self._dtype if self._dtype is not None and tensor.is_floating_point() else tensor.dtype
        if slot is not None:
            key = (number, tuple(tensor.shape), tensor.dtype)
            if key not in slot:
                # Batches that differ in size from the last ones at this place would pile up: the newest shape stays.
                for other in [found for found in slot if found[0] == number]:
                    del slot[other]
                slot[key] = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            tensor = slot[key].copy_(tensor)
        return tensor.to(self._device, non_blocking=True).to(wanted)

    def finish(self, begun: _Sent) -> Any:
        """Returns the tensors, in the order of the stream on which the caller computes."""
        import torch

        current = torch.cuda.current_stream(self._device)
        current.wait_event(begun.ended)
        for tensor in begun.tensors:
            tensor.record_stream(current)  # its memory is not given away before the step has used it
        self._timed.append((begun.began, begun.ended))
        return unflatten(begun.treedef, begun.leaves)

    def copies_s(self) -> list[float]:
        """Returns how long the copies took on the device."""
        found = []
        while self._timed and self._timed[0][1].query():
            began, ended = self._timed.popleft()
            found.append(began.elapsed_time(ended) / 1e3)
        return found
