"""Elements as PyTorch's tensors: shared with NumPy on the CPU; through pinned memory and a stream of their own on CUDA.

On CUDA a batch takes three steps, and none of them is the training loop's: it is copied into pinned memory that is
used again and again, sent to the device by a side stream while the step computes, and handed over with an event that the
loop's stream waits for. The host never waits for the device, and the device never waits for the host, as long as data
comes fast enough. Where batches are made in memory that headrace itself uses again and again, that is pinned, and the first step falls away.
"""

from __future__ import annotations

import functools
from collections import deque
from contextlib import suppress
from typing import Any, Final

import numpy as np

from headrace.elements.structure import Element, flatten, unflatten
from headrace.errors import InvalidArgumentError, MissingExtraError
from headrace.feed.leaves import made_of_arrays
from headrace.feed.page_locks import home_of, is_locked
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


class _Lent:
    """Lends an array's memory, as one that may be written to: PyTorch has no tensors that are read-only."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        shown = array.__array_interface__
        self.__array_interface__ = {**shown, "data": (shown["data"][0], False)}


def as_tensor(array: np.ndarray, *, is_read: bool = False) -> Any:
    """Returns a tensor on the array's memory; on a copy of it where the array may not be written to, unless the caller only reads."""
    import torch

    name = array.dtype.name
    # ml_dtypes': the bytes are the same.
    if name == "bfloat16" or (name.startswith("float8_") and hasattr(torch, name)):
        return as_tensor(array.view(f"u{array.itemsize}"), is_read=is_read).view(getattr(torch, name))
    if is_read and not array.flags.writeable and array.dtype.kind in "biufc":
        array = np.asarray(_Lent(array))
    if not array.flags.writeable or any(stride < 0 or stride % (array.itemsize or 1) for stride in array.strides):
        array = array.copy()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # C's long long, which is int64 by another name: what NumPy makes of an int beyond int64.
    if array.dtype.char in "qQ":
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
    """Pinned memory from which the tensors of a batch are sent: where they lie, or buffers that are used in turns.

    A buffer is written again when its copy has left it, and the memory in which a batch lies is held so long.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._turn = 0
        self._buffers: list[dict[int, Any]] = [{} for _ in range(slots)]
        self._left: list[Any] = [None] * slots
        self._held: deque[tuple[Any, list[Any]]] = deque()
        self._sending: list[Any] = []

    def begin(self) -> None:
        """Begins with a batch; waits until the last copy from the buffers whose turn it is has left them."""
        event = self._left[self._turn]
        if event is not None:
            event.synchronize()
        while self._held and self._held[0][0].query():
            self._held.popleft()

    def pinned(self, leaf: Any, number: int) -> Any:
        """Returns a tensor in pinned memory with what a leaf holds, an array or a tensor; it is the batch's one with this number."""
        if not isinstance(leaf, np.ndarray):
            return self._buffer(number, leaf.shape, leaf.dtype).copy_(leaf)
        home = home_of(leaf)
        if home is not None and is_locked(home):
            self._sending.append(leaf)
            return as_tensor(leaf)
        tensor = as_tensor(leaf, is_read=True)
        return self._buffer(number, tensor.shape, tensor.dtype).copy_(tensor)

    def _buffer(self, number: int, shape: Any, dtype: Any) -> Any:
        import torch

        buffers = self._buffers[self._turn]
        found = buffers.get(number)
        if found is None or found.shape != shape or found.dtype != dtype:
            # Batches that differ in size would pile up: of each place the newest shape stays.
            found = buffers[number] = torch.empty(shape, dtype=dtype, pin_memory=True)
        return found

    def sent(self, event: Any) -> None:
        """Notes that the batch's copies have begun, and have left it when the event is reached."""
        if self._sending:
            self._held.append((event, self._sending))
            self._sending = []
        self._left[self._turn] = event
        self._turn = (self._turn + 1) % self._slots

    def __del__(self) -> None:
        for event, _ in self._held:
            with suppress(Exception):  # at the interpreter's exit the device is gone before
                event.synchronize()


class CudaTransfer:
    """Transfers elements to a CUDA device, on a stream of its own."""

    takes_time = True

    def __init__(self, device: Any, dtype: Any, *, pin_memory: bool, slots: int) -> None:
        import torch

        # With its number: PyTorch looks for the current one each time, and each thread has its own.
        self._device = torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
        self._dtype = dtype
        self._stream = torch.cuda.Stream(self._device)
        self._pinned = _PinnedMemory(slots) if pin_memory else None
        # Of each copy its two events, and not its batch: the GPU has no room for those of a second.
        self._timed: deque[tuple[Any, Any]] = deque(maxlen=1000)

    def begin(self, element: Element) -> _Sent:
        """Copies into pinned memory, and starts the copy to the device."""
        import torch

        tensors: list[Any] = []

        def send(leaf: Any) -> Any:
            if not isinstance(leaf, np.ndarray):
                leaf = leaf.detach()
                if leaf.device.type != "cpu" or leaf.layout is not torch.strided:
                    return leaf  # who put it where it is knows when it is there
            tensors.append(self._to_device(leaf, len(tensors)))
            return tensors[-1]

        if self._pinned is not None:
            self._pinned.begin()
        with torch.cuda.device(self._device):
            outside = torch.cuda.current_stream(self._device)
            # As torch.cuda.stream() does, which costs as much as a copy of some megabytes.
            torch.cuda.set_stream(self._stream)
            try:
                began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                began.record(self._stream)
                leaves, treedef = flatten(made_of_arrays(element, send, own=torch.Tensor, stage=_STAGE))
                ended.record(self._stream)
            finally:
                torch.cuda.set_stream(outside)
        if self._pinned is not None:
            self._pinned.sent(ended)
        return _Sent(leaves, treedef, tensors, began, ended)

    def _to_device(self, leaf: Any, number: int) -> Any:
        if self._pinned is not None:
            tensor = self._pinned.pinned(leaf, number)
        else:
            tensor = as_tensor(leaf) if isinstance(leaf, np.ndarray) else leaf
        wanted = self._dtype if self._dtype is not None and tensor.is_floating_point() else tensor.dtype
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
