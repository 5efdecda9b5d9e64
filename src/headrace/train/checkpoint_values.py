"""A job's state in three files, without a pickle: its shape as JSON, its arrays as NumPy's ``.npz``, and their checksums.

Dicts, lists, tuples, None, numbers, texts and bytes are as they were, and so are ``OrderedDict``, ``Counter``, a
``defaultdict`` of a built-in type, and named tuples. Arrays of NumPy's, PyTorch's and JAX's come back as what they were, bit for bit, on
the CPU (``checkpoint_arrays.py``). Anything else is refused by name, when it is written.

What always holds: the checksums are written last, so a folder that has them was written to its end; and what is read runs
nothing: no module is imported because a file names it, and a class is built of its fields alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.elements.record_classes import is_named_tuple_class, made_of_fields
from headrace.elements.structure import flatten, normalize, unflatten
from headrace.errors import DataLossError, FailedPreconditionError, InvalidArgumentError
from headrace.io.elements.structure import structure_from_json, structure_to_json
from headrace.train.checkpoint_arrays import described_array, restored_array

__all__ = ["read_values", "write_values"]

_PLAIN: Final = (bool, int, str, type(None))
_KEYS: Final = (str, int, bool, float, type(None))
_SHAPE_FILE: Final = "state.json"
_ARRAYS_FILE: Final = "state.npz"
_MANIFEST_FILE: Final = "manifest.json"
_FACTORIES: Final[dict[str, Any]] = {
    kind.__name__: kind for kind in (int, float, complex, bool, str, list, dict, set, tuple)
}


def write_values(folder: Path, value: Any, names: Mapping[str, str] | None = None) -> None:
    """Writes a state into a folder.

    Args:
        folder: where; it is there.
        value: the state.
        names: how errors call the parts of a dict; by default the whole is the trainer's state.

    Raises:
        InvalidArgumentError: something in it has no place in a file; it is named.
    """
    arrays: list[np.ndarray] = []
    try:
        if names is None:
            shape = _encoded(value, arrays, "the trainer's state")
        else:
            shape = {"dict": [[key, _encoded(part, arrays, names[key])] for key, part in value.items()]}
    except RecursionError as error:
        raise InvalidArgumentError("the state contains itself, or is too deep for a checkpoint") from error
    (folder / _SHAPE_FILE).write_text(json.dumps(shape))
    np.savez(folder / _ARRAYS_FILE, *arrays)
    manifest = {"files": {name: _checksum(folder / name) for name in (_SHAPE_FILE, _ARRAYS_FILE)}}
    (folder / _MANIFEST_FILE).write_text(json.dumps(manifest))


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        # The fastest of the good ones where the processor has it.
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- writing


def _encoded(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    def keep(array: np.ndarray) -> int:
        arrays.append(array)
        return len(arrays) - 1

    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return {"float": value.hex()}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return _encoded_dict(value, arrays, where)
    if kind in (list, tuple) or is_named_tuple_class(kind):
        parts = [_encoded(part, arrays, f"{where}[{number}]") for number, part in enumerate(value)]
        return (
            {kind.__name__: parts} if kind in (list, tuple) else {"named": _structure_of(kind, where), "parts": parts}
        )
    described = described_array(value, keep, where)
    if described is None:
        raise InvalidArgumentError(f"{where} is of type {kind.__name__}, which a checkpoint cannot hold")
    return {"leaf": described}


def _encoded_dict(value: dict[Any, Any], arrays: list[np.ndarray], where: str) -> Any:
    items = [[_key(key, where), _encoded(part, arrays, f"{where}[{key!r}]")] for key, part in value.items()]
    match value:
        case defaultdict():
            name = getattr(value.default_factory, "__name__", None)
            if type(value) is defaultdict and (
                value.default_factory is None or _FACTORIES.get(str(name)) is value.default_factory
            ):
                return {"dict": items, "class": "defaultdict", "factory": name}
        case OrderedDict() if type(value) is OrderedDict:
            return {"dict": items, "class": "OrderedDict"}
        case Counter() if type(value) is Counter:
            return {"dict": items, "class": "Counter"}
        case _ if type(value) is dict:
            return {"dict": items}
    kind = type(value).__name__
    raise InvalidArgumentError(
        f"{where} is of type {kind}, a kind of dict that a checkpoint cannot hold: give dict(…) of it"
    )


def _key(key: Any, where: str) -> Any:
    if type(key) not in _KEYS:
        raise InvalidArgumentError(f"{where} has the key {key!r}: keys must be texts or numbers")
    return key


def _structure_of(kind: type, where: str) -> Any:
    """Returns the class and the fields of a named tuple, as plain data."""
    try:
        return structure_to_json(flatten(normalize(made_of_fields(kind, range(len(kind._fields)))))[1])  # type: ignore[attr-defined]  # a named tuple has them
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{where}: {error.reason}") from None


# ---- reading


def read_values(folder: Path) -> Any:
    """Returns the state that ``write_values`` wrote. Nothing is unpickled, and no module is imported because a file names it.

    Raises:
        FailedPreconditionError: it has a framework's arrays, or named tuples of a module, that the program has not imported.
        DataLossError: a file is missing or damaged.
    """
    try:
        _check_files(folder)
        with np.load(folder / _ARRAYS_FILE, allow_pickle=False) as arrays:
            return _decoded(json.loads((folder / _SHAPE_FILE).read_text()), arrays)
    except FailedPreconditionError:
        raise
    # Whatever a library says of what is no file of its own.
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RuntimeError,
        zipfile.BadZipFile,
    ) as error:
        raise DataLossError(f"{folder}: the state cannot be read: {error}") from error


def _check_files(folder: Path) -> None:
    path = folder / _MANIFEST_FILE
    try:
        checksums = json.loads(path.read_text())["files"]
        known = {name: checksums[name] for name in (_SHAPE_FILE, _ARRAYS_FILE)}
    except FileNotFoundError:
        raise DataLossError(f"it has no {_MANIFEST_FILE}, so it was not written to its end") from None
    except (ValueError, LookupError, TypeError) as error:
        raise DataLossError(f"{path.name} is damaged") from error
    for name, checksum in known.items():
        if _checksum(folder / name) != checksum:
            raise DataLossError(f"{name} is not what was written: its checksum differs")


def _decoded(data: Any, arrays: Any) -> Any:
    match data:
        case {"float": text}:
            return float.fromhex(text)
        case {"complex": [real, imaginary]}:
            return complex(float.fromhex(real), float.fromhex(imaginary))
        case {"bytes": text}:
            return base64.b64decode(text)
        case {"dict": items}:
            return _decoded_dict({key: _decoded(part, arrays) for key, part in items}, data)
        case {"list": parts}:
            return [_decoded(part, arrays) for part in parts]
        case {"tuple": parts}:
            return tuple(_decoded(part, arrays) for part in parts)
        case {"named": structure, "parts": parts}:
            return unflatten(structure_from_json(structure), [_decoded(part, arrays) for part in parts])
        case {"leaf": about}:
            return restored_array(about, lambda number: arrays[f"arr_{number}"])
    if type(data) not in _PLAIN:
        raise ValueError(f"{data!a:.100} is no value")
    return data


def _decoded_dict(items: dict[Any, Any], data: dict[str, Any]) -> Any:
    match data.get("class"):
        case None:
            return items
        case "OrderedDict":
            return OrderedDict(items)
        case "Counter":
            return Counter(items)
        case "defaultdict":
            return defaultdict(None if data["factory"] is None else _FACTORIES[data["factory"]], items)
    raise ValueError(f"{data['class']!r:.100} is no kind of dict")
