"""A trainer's state in two files, without a pickle: its shape as JSON, its arrays and tensors as NumPy's ``.npz``.

Dicts, lists, tuples, None, numbers and texts are as they were; arrays of NumPy's, PyTorch's and JAX's come back as what
they were, bit for bit, on the CPU. Anything else is refused by name.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

__all__ = ["read_values", "write_values"]

_PLAIN: Final = (bool, int, float, str, type(None))
_SHAPE_FILE: Final = "state.json"
_ARRAYS_FILE: Final = "state.npz"


def write_values(folder: Path, value: Any) -> None:
    """Writes a state into a folder.

    Raises:
        InvalidArgumentError: something in it has no place in a file; it is named.
    """
    arrays: list[np.ndarray] = []
    shape = _encoded(value, arrays, "the trainer's state")
    (folder / _SHAPE_FILE).write_text(json.dumps(shape))
    np.savez(folder / _ARRAYS_FILE, *arrays)


def _encoded(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value if kind is not float else {"float": value.hex()}
    if isinstance(value, dict):
        return {
            "dict": [[_key(key, where), _encoded(part, arrays, f"{where}[{key!r}]")] for key, part in value.items()]
        }
    if kind in (list, tuple):
        parts = [_encoded(part, arrays, f"{where}[{number}]") for number, part in enumerate(value)]
        return {kind.__name__: parts}
    origin = kind.__module__.partition(".")[0]
    if origin in {"torch", "jax", "jaxlib"}:
        return _encoded_tensor(value, arrays, origin, where)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1, "of": "scalar" if isinstance(value, np.generic) else "numpy"}
    raise InvalidArgumentError(f"{where} is of type {kind.__name__}, which a checkpoint cannot hold")


def _key(key: Any, where: str) -> Any:
    if type(key) not in (str, int):
        raise InvalidArgumentError(f"{where} has the key {key!r}: keys must be texts or ints")
    return key


def _encoded_tensor(value: Any, arrays: list[np.ndarray], origin: str, where: str) -> Any:
    if not hasattr(value, "dtype"):
        raise InvalidArgumentError(f"{where} is of type {type(value).__name__}, which a checkpoint cannot hold")
    name = str(value.dtype).removeprefix("torch.")
    if origin == "torch":
        tensor = value.detach().cpu().contiguous()
        array = _bits(tensor) if name == "bfloat16" else tensor.numpy()
    else:
        array = np.asarray(value)
        array = array.view(np.uint16) if name == "bfloat16" else array
    arrays.append(array)
    return {"array": len(arrays) - 1, "of": "jax" if origin == "jaxlib" else origin, "dtype": name}


def _bits(tensor: Any) -> np.ndarray:
    import torch

    bits: np.ndarray = tensor.view(torch.int16).numpy().view(np.uint16)
    return bits


def read_values(folder: Path) -> Any:
    """The state that ``write_values`` wrote. Nothing is unpickled, and no module is imported because a file names it.

    Raises:
        FailedPreconditionError: it has a framework's arrays, and the program has not imported that framework.
        DataLossError: a file is missing or broken.
    """
    try:
        with np.load(folder / _ARRAYS_FILE, allow_pickle=False) as arrays:
            return _decoded(json.loads((folder / _SHAPE_FILE).read_text()), arrays)
    except FailedPreconditionError:
        raise
    except (OSError, EOFError, ValueError, LookupError, TypeError, RecursionError, zipfile.BadZipFile) as error:
        raise DataLossError(f"{folder}: the trainer's state cannot be read: {error}") from error


def _decoded(data: Any, arrays: Any) -> Any:
    match data:
        case {"float": text}:
            return float.fromhex(text)
        case {"dict": items}:
            return {key: _decoded(part, arrays) for key, part in items}
        case {"list": parts}:
            return [_decoded(part, arrays) for part in parts]
        case {"tuple": parts}:
            return tuple(_decoded(part, arrays) for part in parts)
        case {"array": number, "of": kind}:
            return _restored(arrays[f"arr_{number}"], kind, data.get("dtype"))
    return data


def _restored(array: np.ndarray, kind: str, dtype: str | None) -> Any:
    if kind in ("torch", "jax") and kind not in sys.modules:
        raise FailedPreconditionError(f"the checkpoint holds arrays of {kind}'s: import {kind} before it is read")
    if kind == "torch":
        import torch

        if dtype == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)
    if kind == "jax":
        import jax.numpy as jnp

        return jnp.asarray(array.view(jnp.bfloat16) if dtype == "bfloat16" else array)
    return array[()] if kind == "scalar" else array
