"""Whether the arrays of a checkpoint fit a model: by path, shape and dtype, before anything is changed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from headrace.errors import FailedPreconditionError

__all__ = ["check_arrays", "described"]

_SHOWN: Final = 5


_KINDS: Final = {"b": "bool", "i": "int", "u": "int", "c": "complex"}


def described(value: Any, like: Any = None) -> str:
    """Returns the shape and dtype of an array, and the kind of anything else.

    Args:
        value: what is described.
        like: what it is compared with. A number of Python's own is what it becomes at a framework's first step: an array
            without axes, of its kind.
    """
    if _is_number(value) or (_is_number(like) and getattr(value, "shape", None) == ()):
        return f"a number ({_kind_of(value)})"
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return f"a {type(value).__name__}"
    return f"shape {tuple(value.shape)}, dtype {str(value.dtype).removeprefix('torch.')}"


def _is_number(value: Any) -> bool:
    jax = sys.modules.get("jax")
    is_array = jax is not None and isinstance(value, jax.Array)
    is_weak = is_array and value.ndim == 0 and getattr(value, "weak_type", False)  # a typed random key has none
    return is_weak or type(value) in (bool, int, float, complex)


def _kind_of(value: Any) -> str:
    return _KINDS.get(value.dtype.kind, "float") if hasattr(value, "dtype") else type(value).__name__


def check_arrays(found: Mapping[str, str], wanted: Mapping[str, str], what: str) -> None:
    """Compares what a checkpoint holds with what a model has.

    Args:
        found: of the checkpoint: a description by path.
        wanted: of the model.
        what: how the error calls it.

    Raises:
        FailedPreconditionError: they differ.
    """
    if found == wanted:
        return
    differences = [
        f"{path}: {found.get(path, 'not there')} in the checkpoint, {wanted.get(path, 'not there')} in this trainer"
        for path in [*found, *(path for path in wanted if path not in found)]
        if found.get(path) != wanted.get(path)
    ]
    more = f"; and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
    raise FailedPreconditionError(
        f"the checkpoint is of another model; its {what} differs: {'; '.join(differences[:_SHOWN])}{more}. "
        "Build the model that it was, or name another model_dir"
    )
