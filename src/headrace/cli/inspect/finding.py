"""Reads a file through, and says what was found: how many elements of which kind, the first of them, and what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.cli.inspect.kinds import kind_of
from headrace.dataset import Dataset
from headrace.elements.leaf_specs import spec_of
from headrace.elements.structure import Element, flatten, paths_of
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import HeadraceError
from headrace.frozen import mutable
from headrace.io.files import version_of
from headrace.plan.options import Options

__all__ = ["Finding", "found_in", "shown"]

_WIDEST = 60


@mutable
class Finding:
    """What was found in one file.

    Attributes:
        path: the file.
        format: its kind; None where that is unknown.
        compression: how it is compressed, "" for not.
        size: its bytes.
        facts: what its kind alone knows.
        schema: each component's name and what it is.
        count: how many elements were read.
        whole: whether all of them were.
        first: the first elements, in words.
        problems: what was wrong, in the order of the file, as far as it is told.
        failures: how many problems there were.
    """

    path: str
    format: str | None = None
    compression: str = ""
    size: int | None = None
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    schema: dict[str, str] = dataclasses.field(default_factory=dict)
    count: int = 0
    whole: bool = False
    first: list[str] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    failures: int = 0

    def fail(self, error: HeadraceError, most: int) -> None:
        """Counts one problem more."""
        self.failures += 1
        if len(self.problems) < most:
            self.problems.append(str(error))


def found_in(path: str, *, wanted: str | None, elements: int, problems: int, quick: bool) -> Finding:
    """Reads one file.

    Args:
        path: of the file.
        wanted: what kind of file it is to be; None finds out.
        elements: how many elements are shown.
        problems: how many problems are told.
        quick: whether only what is shown is read.
    """
    finding = Finding(path)
    try:
        finding.size = version_of(path)[0]
        kind, finding.compression = kind_of(path, wanted)
        finding.format = kind.title
        dataset, facts = kind.open(path, finding.compression)
        finding.facts = {name: fact for name, fact in facts.items() if fact is not None}
    except HeadraceError as error:
        finding.fail(error, problems)
        return finding
    names = finding.facts.pop("names", None)
    try:
        _read(finding, dataset.take(elements) if quick else dataset, elements, problems)
        finding.whole = not quick
    except HeadraceError as error:  # of the file, before any element
        finding.fail(error, problems)
    if names is not None and len(names) == len(finding.schema):
        finding.schema = dict(zip(names, finding.schema.values(), strict=True))
    return finding


def _read(finding: Finding, dataset: Dataset, elements: int, problems: int) -> None:
    for given in _elements_and_errors(dataset):
        if isinstance(given, HeadraceError):
            finding.fail(given, problems)
            continue
        if not finding.count:
            finding.schema = _schema(dataset.element_spec, given)
        finding.count += 1
        if len(finding.first) < elements:
            finding.first.append(shown(given))
    if not finding.count and not finding.failures and dataset.element_spec is not None:
        finding.schema = _schema(dataset.element_spec, None)


def _elements_and_errors(dataset: Dataset) -> Iterator[Element | HeadraceError]:
    with iter(dataset.with_options(Options(num_workers=1))) as iterator:
        while True:
            try:
                yield next(iterator)
            except StopIteration:
                return
            except HeadraceError as error:
                yield error


def _schema(spec: Any, element: Element) -> dict[str, str]:
    """Returns each component's name and what it is: as the format knows it, or else as the first element has it."""
    leaves, treedef = flatten(spec_of(element) if spec is None else spec)
    names = [".".join(part.strip("[]'") for part in path.split("][")) for path in paths_of(treedef)]
    return {name or "element": _leaf_words(leaf) for name, leaf in zip(names, leaves, strict=True)}


def _leaf_words(leaf: TensorSpec) -> str:
    dtype = leaf.dtype.name if isinstance(leaf.dtype, np.dtype) else leaf.dtype.__name__
    shape = "of any shape" if leaf.shape is None else str(["any" if size is None else size for size in leaf.shape])
    return dtype if leaf.shape == () else f"{dtype} {shape}".replace("'", "")


def shown(element: Element) -> str:
    """Returns an element in a line."""
    if isinstance(element, dict):
        return "{" + ", ".join(f"{name}: {shown(part)}" for name, part in element.items()) + "}"
    if isinstance(element, tuple):
        return "(" + ", ".join(map(shown, element)) + ")"
    if isinstance(element, np.ndarray) and element.size > 8:
        return f"{element.dtype} array of shape {list(element.shape)}"
    words = repr(element.tolist()) if isinstance(element, np.ndarray) else repr(element)
    return (
        words
        if len(words) <= _WIDEST
        else f"{words[:_WIDEST]}… ({len(element) if hasattr(element, '__len__') else 1:,})"
    )
