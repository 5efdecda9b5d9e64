"""What the datasets of columns in files have in common: which columns and rows are wanted, in order or by index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headrace.arguments import check_flag
from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.files import of_files
from headrace.elements.structure import flatten
from headrace.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from headrace.io.columnar.wanted import Expected, Selection, checked_columns, checked_filters
from headrace.io.file_format import FileFormat
from headrace.io.files import paths_of_files
from headrace.plan.by_number import Source
from headrace.plan.node import Node

__all__ = ["of_columns"]

# This many files may be unreadable before the search for what the columns are is given up.
_MOST_UNREADABLE: Final = 8


def of_columns(
    filenames: Any,
    file_format: Callable[..., FileFormat],
    open_groups: Callable[[str, Selection], Any],
    *,
    columns: Sequence[str] | None,
    filters: Any,
    record_defaults: Mapping[str, Any] | None,
    num_parallel_reads: int | None,
    random_access: bool,
    cache_bytes: int | None,
    on_error: str,
    name: str | None,
) -> Node:
    """Returns the plan of the rows of files that are named, or that a dataset names; by index for ``random_access``.

    ``file_format`` makes the description of the files, given a ``selection``; ``open_groups`` opens a file for its columns.
    """
    selection = Selection(
        columns=checked_columns(columns),
        filters=checked_filters(filters),
        record_defaults=dict(record_defaults or {}),
    )
    random_access = check_flag(random_access, field="random_access", stage=file_format(selection=selection).op)
    if isinstance(filenames, Dataset):
        if random_access:
            raise InvalidArgumentError("random_access needs the names of the files, and not a dataset of them")
        paths: Any = filenames
    else:
        paths = tuple(paths_of_files(filenames, stage=file_format(selection=selection).op))
        selection = _expecting(paths, selection, open_groups)
    files = file_format(selection=selection)
    if random_access:
        rows = _by_number(paths, selection, open_groups, on_error=on_error, cache_bytes=cache_bytes)
        return Source.of(rows, num_parallel_calls=num_parallel_reads, known_spec=files.spec(), name=name or files.op)
    if cache_bytes is not None:
        raise InvalidArgumentError("cache_bytes is for random_access=True: what is read in order is not kept")
    return of_files(paths, files, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name)


def _expecting(paths: tuple[str, ...], selection: Selection, open_groups: Callable[..., Any]) -> Selection:
    """Returns what is wanted, where the first file that can be read says what the columns are.

    Files that cannot be read have their errors in their places, when the dataset is iterated over.
    """
    for path in paths[:_MOST_UNREADABLE]:
        try:
            groups = open_groups(path, selection)
        except (NotFoundError, DataLossError, FailedPreconditionError):
            continue
        groups.close()
        return Selection(
            columns=selection.columns,
            filters=selection.filters,
            record_defaults=selection.record_defaults,
            expected=Expected(path, groups.selection.spec),
        )
    return selection


def _by_number(
    paths: tuple[str, ...],
    selection: Selection,
    open_groups: Callable[..., Any],
    *,
    on_error: str,
    cache_bytes: int | None,
) -> Any:
    from headrace.io.columnar.rows import CACHE_BYTES, rows_by_number

    if selection.filters is not None:
        raise InvalidArgumentError("random_access cannot count the rows that filters choose; use .filter after it")
    if on_error != "raise":
        raise InvalidArgumentError("random_access numbers all rows; leave bad ones out with .ignore_errors() after it")
    leaves = [] if selection.expected is None else flatten(dict(selection.expected.spec))[0]
    is_ragged = any(None in (leaf.shape or ()) for leaf in leaves)
    bound = CACHE_BYTES if cache_bytes is None else cache_bytes
    return rows_by_number(paths, open_groups, selection, bound, is_ragged=is_ragged)
