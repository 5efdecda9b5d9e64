"""What arrays are: their numbers, with shape and dtype; of PyTorch, JAX and TensorFlow as well, none of which is imported to find out."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from headrace.plan.contents.digest import ValueDigest, take_in
from headrace.plan.contents.state import add_state

__all__ = ["add_tensor"]


@take_in.register(np.ndarray)
@take_in.register(np.generic)
def _array(value: np.ndarray | np.generic, digest: ValueDigest) -> None:
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(value, masked.MaskedArray):
        _add_values(np.asarray(value.data), digest)
        _add_values(masked.getmaskarray(value), digest)
        digest.items((value.fill_value, value.hardmask), 2)
        add_state(value, digest, without=("_mask", "_data", "_fill_value", "_sharedmask", "_basedict"))
        return
    _add_values(np.asarray(value), digest)
    if not isinstance(value, np.memmap | np.generic):
        add_state(value, digest)


def _add_values(array: np.ndarray, digest: ValueDigest) -> None:
    digest.word(array.shape, array.flags.c_contiguous, array.flags.f_contiguous)
    digest.add(array.dtype)
    if array.dtype.names is not None:
        for name in array.dtype.names:  # what lies between the fields is nobody's
            _add_values(array[name], digest)
    elif array.dtype.kind in "OT":
        digest.items(array.ravel().tolist(), array.size)
    elif array.size and array.dtype.itemsize:
        digest.memory(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        if array.dtype.kind in "SU":
            for text in sorted(set(array.ravel().tolist())):
                digest.file(text)


def add_tensor(value: Any, digest: ValueDigest) -> bool:
    """Takes in a tensor of another library's by its values; False for what is none."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        _add_torch(torch, value, digest)
    elif jax is not None and isinstance(value, getattr(jax, "Array", ())):
        _add_jax(jax, value, digest)
    elif _is_tensorflow(type(value)) and callable(getattr(value, "numpy", None)):
        _add_tensorflow(value, digest)
        if callable(getattr(value, "assign", None)):
            return True  # of a variable the handle is left, which is one of this process
    else:
        return False
    add_state(value, digest)
    return True


def _is_tensorflow(kind: type) -> bool:
    return any(base.__module__.startswith("tensorflow.") for base in kind.__mro__)


def _add_torch(torch: Any, value: Any, digest: ValueDigest) -> None:
    digest.word(value.dtype, value.device, tuple(value.shape), value.requires_grad, value.layout)
    if value.layout is not torch.strided or value.device.type == "meta" or value.is_quantized:
        digest.refuse(f"is a tensor on {value.device} with layout {value.layout}, whose values have no fingerprint")
    digest.word(value.stride(), value.is_conj(), value.is_neg())
    plain = value.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    digest.memory(plain.view(torch.uint8).numpy().data if plain.numel() else b"")


def _add_jax(jax: Any, value: Any, digest: ValueDigest) -> None:
    digest.word(value.dtype, value.shape)
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    try:
        digest.add(np.asarray(value))
    except Exception as error:  # noqa: BLE001 - traced, deleted, or on another machine
        digest.refuse(f"is an array of JAX's whose values cannot be read ({error}), which has no fingerprint")


def _add_tensorflow(value: Any, digest: ValueDigest) -> None:
    try:
        values = value.numpy()
    except Exception as error:  # noqa: BLE001 - a handle, a value of a graph, or on a device that is gone
        message = f"is a {type(value).__name__} of TensorFlow's whose values cannot be read ({error}), which has no fingerprint"
        digest.refuse(message)
    digest.word(value.dtype.name)
    digest.add(values)
