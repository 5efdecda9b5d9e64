"""Elements as JAX's arrays, put on a device or sharded over several while the step computes.

A sharding over devices of several processes makes one global array of what each of them has: its rows are those of the first process,
then those of the second, as the devices lie in the sharding. No process talks to another for that.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Final

import numpy as np

from headrace.elements.structure import Element
from headrace.errors import InvalidArgumentError, MissingExtraError
from headrace.feed.feeding import Feed
from headrace.feed.leaves import made_of_arrays
from headrace.log import LOG
from headrace.plan.buffering import options_of
from headrace.plan.dealt import dealing_of
from headrace.ranks import current

__all__ = ["JaxFeed", "JaxTransfer", "jax_transfer"]

_STAGE: Final = "to_jax"
_REMEDY: Final = 'jax.config.update("jax_enable_x64", True) keeps 64 bits'


def jax_transfer(device: Any, sharding: Any) -> Any:
    """Returns what makes the transfer of one epoch.

    Raises:
        MissingExtraError: JAX is not installed.
        InvalidArgumentError: a device and a sharding at once, or what is neither.
    """
    try:
        import jax
    except ImportError:
        raise MissingExtraError("to_jax needs: pip install 'headrace[jax]'") from None
    if device is not None and sharding is not None:
        raise InvalidArgumentError("give a device or a sharding, not both", stage=_STAGE)
    if sharding is not None and not isinstance(sharding, jax.sharding.Sharding):
        raise InvalidArgumentError(f"sharding must be a jax.sharding.Sharding, not {sharding!r}", stage=_STAGE)
    if device is not None and not isinstance(device, jax.Device):
        raise InvalidArgumentError(
            f"device must be a jax.Device, such as jax.devices()[0], not {device!r}", stage=_STAGE
        )
    bits = _Bits()
    return lambda: JaxTransfer(device if sharding is None else sharding, bits)


class JaxFeed(Feed):
    """A dataset as JAX's arrays."""

    def _new_transfer(self) -> JaxTransfer:
        """Returns the transfer of one epoch, which knows how many ranks' rows a global array has."""
        transfer: JaxTransfer = super()._new_transfer()
        if dealing_of(self._plan) is not None:
            options = options_of(self._plan)
            transfer.ranks = current(options.rank, options.world_size).world_size
        return transfer


class JaxTransfer:
    """Transfers elements with ``jax.device_put``; to devices of several processes, each process its rows of a global array.

    Attributes:
        ranks: how many have rows of a batch; None where nothing tells.
    """

    takes_time = True

    def __init__(self, place: Any, bits: _Bits) -> None:
        self._place = place
        self._bits = bits
        self._copies_s: deque[float] = deque(maxlen=1000)
        self.ranks: int | None = None
        self._is_global = place is not None and not getattr(place, "is_fully_addressable", True)

    def begin(self, element: Element) -> Any:
        """Puts the arrays on their devices, and waits until they are there: in the feed's thread, and not in the loop's."""
        import jax

        start = time.perf_counter()
        arrays: list[Any] = []

        def put(array: Any) -> Any:
            if isinstance(array, jax.Array):
                arrays.append(array if self._is_global else jax.device_put(array, self._place))
                return arrays[-1]
            if not array.dtype.isnative:
                array = array.astype(array.dtype.newbyteorder("="))
            kept = jax.dtypes.canonicalize_dtype(array.dtype)
            self._bits.check(array, kept)
            try:
                arrays.append(
                    self._global(array.astype(kept, copy=False))
                    if self._is_global
                    else jax.device_put(array, self._place)
                )
            except ValueError as error:
                raise InvalidArgumentError(f"an array of shape {array.shape}: {error}", stage=_STAGE) from error
            return arrays[-1]

        begun = made_of_arrays(element, put, own=jax.Array, stage=_STAGE)
        jax.block_until_ready(arrays)
        self._copies_s.append(time.perf_counter() - start)
        return begun

    def _global(self, rows: np.ndarray) -> Any:
        """Returns the array of all processes, of this one's rows."""
        import jax

        array = jax.make_array_from_process_local_data(self._place, rows)
        if self.ranks is not None and rows.ndim and array.shape[0] != len(rows) * self.ranks:
            raise ValueError(
                f"the sharding makes {array.shape[0]} rows of the {len(rows)} that each of {self.ranks} ranks has: its first axis must "
                "be over the processes as the ranks are; where several processes share rows, give them one rank by Options(rank=, world_size=)"
            )
        return array

    def finish(self, begun: Any) -> Any:
        """Does nothing: nothing is left to be done."""
        return begun

    def copies_s(self) -> list[float]:
        """Returns how long each element took to be on its devices."""
        return [self._copies_s.popleft() for _ in range(len(self._copies_s))]


class _Bits:
    """Checks what JAX makes of 64-bit numbers in a feed: it keeps 32 bits unless told otherwise."""

    def __init__(self) -> None:
        self._told = False

    def check(self, array: np.ndarray, kept: np.dtype[Any]) -> None:
        """Raises ValueError where JAX would make other numbers of an array's; where it rounds them, says so once a feed."""
        if array.dtype == kept or array.dtype.kind not in "iufc":
            return
        if not _fits(array, kept):
            raise ValueError(f"it has numbers that do not fit {kept}, which JAX makes of it: {_REMEDY}")
        if (
            not self._told
            and array.dtype.kind in "fc"
            and not np.array_equal(array.astype(kept), array, equal_nan=True)
        ):
            self._told = True
            message = (
                "to_jax: JAX rounds numbers of %s to %s (said once): %s; a map that gives %s says that it is meant"
            )
            LOG.warning(message, array.dtype, kept, _REMEDY, kept)


def _fits(array: np.ndarray, kept: np.dtype[Any]) -> bool:
    if array.dtype.kind == "c":
        half = np.empty(0, kept).real.dtype
        return _fits(array.real, half) and _fits(array.imag, half)
    if array.dtype.kind == "f":
        return bool(np.abs(array[np.isfinite(array)]).max(initial=0) <= np.finfo(kept).max)
    limits = np.iinfo(kept)
    return not array.size or (int(array.min()) >= limits.min and int(array.max()) <= limits.max)
