"""Arrays of NumPy's, PyTorch's and JAX's as NumPy's own arrays with a description, and back, bit for bit.

What always holds: what is written comes back with its dtype, its shape and its bits, on the CPU, or is refused with the
place where it stands. NumPy's format has no name for bfloat16, float8 or int4 and would call them void: their bits are
kept, and the name is kept beside them. A framework is used when the program has imported it, and never imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.errors import FailedPreconditionError, InvalidArgumentError

__all__ = ["described_array", "restored_array"]

Keep = Callable[[np.ndarray], int]
Kept = Callable[[int], np.ndarray]

# Where bits are kept instead of values: an integer of as many bytes.
_TORCH_BITS: Final = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
_NUMPY_BITS: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def described_array(value: Any, keep: Keep, where: str) -> dict[str, Any] | None:
    """Returns what a file needs to know of an array; None where the value is none.

    Args:
        value: anything.
        keep: keeps an array, and returns its number.
        where: the place of the value, for the error.

    Raises:
        InvalidArgumentError: it is an array that a checkpoint cannot hold.
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    try:
        if type(value) is np.ma.MaskedArray:
            return _masked(value, keep, where)
        if isinstance(value, np.ndarray | np.generic):
            return _numpys(value, keep, where)
        if torch is not None and isinstance(value, torch.Tensor):
            return _torchs(value, keep, where, torch)
        if jax is not None and isinstance(value, jax.Array):
            return _jaxs(value, keep, where, jax)
    except InvalidArgumentError:
        raise
    except Exception as error:  # of a framework: freed memory, another process's part, a value that is being traced
        raise _refused(value, where, f": {type(error).__name__}: {str(error).partition('. ')[0]}") from error
    return None


def _refused(value: Any, where: str, why: str = "") -> InvalidArgumentError:
    kind, dtype = type(value).__name__, getattr(value, "dtype", None)
    said = kind if dtype is None else f"{kind} and dtype {dtype}"
    return InvalidArgumentError(f"{where} is of type {said}, which a checkpoint cannot hold{why}")


# ---- NumPy's


def _numpys(value: Any, keep: Keep, where: str) -> dict[str, Any]:
    scalar = isinstance(value, np.generic)
    if not scalar and type(value) not in (np.ndarray, np.memmap):
        raise _refused(value, where, ": give a plain array, as np.asarray makes it")
    array = np.asarray(value)
    return {**_bits(array, keep, value, where), "of": "scalar" if scalar else "numpy"}


def _bits(array: np.ndarray, keep: Keep, value: Any, where: str) -> dict[str, Any]:
    """Returns an array under its dtype, or the bits of one whose dtype is another library's, with its name."""
    dtype = array.dtype
    if dtype.isbuiltin == 2:  # it was registered with NumPy
        if _dtype_of_ml_dtypes(dtype.name) != dtype:
            raise _refused(value, where)
        return {"array": keep(array.view(_NUMPY_BITS[dtype.itemsize])), "dtype": dtype.name}
    if dtype.hasobject or np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype)) != dtype:
        raise _refused(value, where)
    return {"array": keep(array)}


def _dtype_of_ml_dtypes(name: Any) -> np.dtype[Any] | None:
    library = sys.modules.get("ml_dtypes")
    kind = None if library is None else vars(library).get(name)  # getattr may run code of the module's
    return np.dtype(kind) if isinstance(kind, type) and issubclass(kind, np.generic) else None


def _masked(value: Any, keep: Keep, where: str) -> dict[str, Any]:
    fill = value._fill_value  # noqa: SLF001 - fill_value would set a default, which is not there yet
    return {
        "of": "masked",
        "data": _numpys(np.asarray(value.data), keep, where),
        "mask": None if value.mask is np.ma.nomask else keep(np.asarray(value.mask)),
        "fill": None if fill is None else _numpys(np.asarray(fill), keep, where),
        "hard": bool(value.hardmask),
    }


# ---- PyTorch's


def _torchs(value: Any, keep: Keep, where: str, torch: Any) -> dict[str, Any]:
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.is_quantized or value.is_nested or value.is_meta:
        raise _refused(value, where)
    tensor = value.detach()
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.cpu()
        return {
            "of": "sparse",
            "indices": _torchs(tensor._indices(), keep, where, torch),  # noqa: SLF001 - the public ones want it coalesced
            "values": _torchs(tensor._values(), keep, where, torch),  # noqa: SLF001
            "size": list(tensor.shape),
            "coalesced": tensor.is_coalesced(),
        }
    if tensor.layout is not torch.strided:
        raise _refused(value, where, f": its layout is {tensor.layout}; give it as sparse_coo, or dense")
    tensor = tensor.resolve_conj().resolve_neg().cpu().contiguous()
    return {
        "array": keep(_bits_of_tensor(tensor, torch)),
        "of": "torch",
        "dtype": str(tensor.dtype).removeprefix("torch."),
    }


def _bits_of_tensor(tensor: Any, torch: Any) -> np.ndarray:
    array: np.ndarray
    try:
        array = tensor.numpy()
    except TypeError:  # NumPy has no such dtype
        array = tensor.view(getattr(torch, _TORCH_BITS[tensor.element_size()])).numpy()
    return array


# ---- JAX's


def _jaxs(value: Any, keep: Keep, where: str, jax: Any) -> dict[str, Any]:
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        implementation = jax.random.key_impl(value)
        if not isinstance(implementation, str):
            raise _refused(value, where, ": its kind of random numbers has no name")
        return {"array": keep(np.asarray(jax.random.key_data(value))), "of": "key", "dtype": implementation}
    about = _bits(np.asarray(value), keep, value, where)
    # A number that Python's own began as takes on the dtype of what it meets: that is part of it.
    return {**about, "of": "jax", "weak": bool(value.weak_type) and value.ndim == 0}


# ---- back


def restored_array(about: dict[str, Any], kept: Kept) -> Any:
    """Returns the array that ``described_array`` described.

    Args:
        about: what it said.
        kept: the array of a number.

    Raises:
        FailedPreconditionError: it is a framework's that the program has not imported, or that is set up in another way.
        ValueError: it is no description.
    """
    match about["of"]:
        case "numpy":
            return _values(about, kept)
        case "scalar":
            return _values(about, kept)[()]
        case "masked":
            return _restored_mask(about, kept)
        case "torch" | "sparse" as kind:
            torch = _imported("torch")
            return _restored_tensor(about, kept, torch) if kind == "torch" else _restored_sparse(about, kept, torch)
        case "jax":
            return _restored_jax(about, kept, _imported("jax"))
        case "key":
            return _imported("jax").random.wrap_key_data(_values({"array": about["array"]}, kept), impl=about["dtype"])
    raise ValueError(f"{about['of']!r:.100} is no kind of array")


def _imported(name: str) -> Any:
    if name not in sys.modules:
        raise FailedPreconditionError(f"the checkpoint holds arrays of {name}'s: import {name} before it is read")
    return sys.modules[name]


def _values(about: dict[str, Any], kept: Kept) -> np.ndarray:
    array, name = kept(about["array"]), about.get("dtype")
    if name is None:
        return array
    _imported("ml_dtypes")
    dtype = _dtype_of_ml_dtypes(name)
    if dtype is None:
        raise ValueError(f"{name!r:.100} is no dtype")
    return array.view(dtype)


def _restored_mask(about: dict[str, Any], kept: Kept) -> Any:
    data = _values(about["data"], kept)
    mask = np.ma.nomask if about["mask"] is None else kept(about["mask"])
    fill: Any = None if about["fill"] is None else _values(about["fill"], kept)[()]
    return np.ma.MaskedArray(data, mask, fill_value=fill, hard_mask=bool(about["hard"]))


def _restored_tensor(about: dict[str, Any], kept: Kept, torch: Any) -> Any:
    array, dtype = kept(about["array"]), vars(torch).get(about["dtype"])  # getattr may import
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{about['dtype']!r:.100} is no dtype of PyTorch's")  # noqa: TRY004 - the file's fault
    # A copy lies where PyTorch lays its own tensors: some kernels choose their way by how memory is aligned.
    tensor = torch.from_numpy(array).clone()
    return tensor if tensor.dtype == dtype else tensor.view(dtype)


def _restored_sparse(about: dict[str, Any], kept: Kept, torch: Any) -> Any:
    indices, values = (_restored_tensor(about[name], kept, torch) for name in ("indices", "values"))
    size, is_coalesced = about["size"], bool(about["coalesced"])
    # PyTorch believes indices unless it is asked to look: those of a damaged file would lead it out of its memory.
    return torch.sparse_coo_tensor(indices, values, size, is_coalesced=is_coalesced, check_invariants=True)


def _restored_jax(about: dict[str, Any], kept: Kept, jax: Any) -> Any:
    array = _values(about, kept)
    if about["weak"]:
        made = jax.numpy.asarray(array.item())
        if made.dtype == array.dtype:
            return made
    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        raise FailedPreconditionError(
            f"the checkpoint holds an array of JAX's of dtype {array.dtype}, which JAX would round: "
            'set jax.config.update("jax_enable_x64", True), as it was when it was written'
        )
    return jax.numpy.asarray(array)
