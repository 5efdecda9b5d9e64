"""What a dataset's elements depend on, in 32 digits: operations, arguments, functions, data, and the files read.

``fingerprint`` of ``plan.fingerprint`` tells whether a saved state fits a plan, and lets a job with a mended function
resume. This one tells whether elements that were kept are still those that the plan would make: anything that could
change one of them counts, and what only makes a plan faster does not. Files count with their sizes and the times of their
last change: those that a format reads, and those that texts in ``from_tensors``, ``from_tensor_slices`` and
``list_files`` name.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.errors import HeadraceError, InvalidArgumentError, NotFoundError
from headrace.io.files import version_of
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.code_fingerprint import ValueDigest
from headrace.plan.node import HasPlan, Node
from headrace.plan.options import Options
from headrace.plan.randomness import Randomness
from headrace.plan.sources import FromTensors, FromTensorSlices
from headrace.structure import TreeDef, flatten

__all__ = ["content_fingerprint"]

_SILENT: Final = (Cache, Prefetch, WithOptions)


def content_fingerprint(plan: Node) -> str:
    """The fingerprint of a plan's elements.

    Raises:
        InvalidArgumentError: something that they depend on has no fingerprint; the operation and the value are named.
        NotFoundError: a file that is read is not there.
    """
    digest = ValueDigest(
        {
            Randomness: _seed,
            TreeDef: str,
            HasPlan: lambda dataset: content_fingerprint(dataset.__headrace_plan__()),
            Options: str,
        }
    )
    _add(digest, plan)
    return digest.hexdigest()


def _seed(randomness: Randomness) -> Any:
    """Its seed; without one every dataset is in another order, and which of them was kept does not matter."""
    return ("seed", randomness.seed)


def _add(digest: ValueDigest, node: Node) -> None:
    if isinstance(node, _SILENT):
        _add(digest, node.inputs[0])
        return
    digest.add(type(node).__qualname__, node.label)
    for child in node.inputs:
        _add(digest, child)
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if field.name in ("name", "operation") or field.name in node.tuning or _is_plan(value):
            continue
        digest.add(field.name, node.label)
        digest.add(_paths_with_versions(node, value) if field.name == "paths" else value, node.label)
    if isinstance(node, FromTensors | FromTensorSlices):
        contents = node.element if isinstance(node, FromTensors) else node.columns
        digest.add(_texts_that_name_files(contents), node.label)


def _is_plan(value: Any) -> bool:
    """Whether a field holds what the node reads, which is taken in as its inputs."""
    return isinstance(value, Node) or (
        isinstance(value, tuple) and bool(value) and all(isinstance(v, Node) for v in value)
    )


def _paths_with_versions(node: Node, paths: Any) -> list[Any]:
    """Each file with its size and the time of its last change."""
    versions: list[Any] = []
    for path in paths:
        try:
            versions.append((path, version_of(path)))
        except NotFoundError:
            raise
        except HeadraceError as error:
            message = f"{node.label}: {path} has no size and time to go by ({error.reason}): pass key='…'"
            raise InvalidArgumentError(message) from error
    return versions


def _texts_that_name_files(value: Any) -> list[Any]:
    """The versions of the files that the texts in a source name, as far as they do."""
    arrays = [
        leaf
        for leaf in flatten(value)[0]
        if isinstance(leaf, str) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "O")
    ]
    texts = [text for array in arrays for text in np.ravel(np.asarray(array, dtype=object)).tolist()]
    return [(text, version_of(text)) for text in texts if isinstance(text, str) and _is_file(text)]


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (ValueError, OSError):  # with a NUL, or too long: it names nothing
        return False
