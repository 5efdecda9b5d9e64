"""Objects of JSON Lines files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.files import of_files
from headrace.io.json_lines.fields import JsonFields
from headrace.io.json_lines.format import JsonLinesFiles

__all__ = ["JsonLinesDataset"]


class JsonLinesDataset(Dataset):
    r"""The objects of files with a JSON object a line, as dicts, file after file. Blank lines are passed over.

    Without ``record_defaults`` an element is its object as Python's ``json`` reads it, with lists as arrays: a key that is
    missing is missing, ``null`` is None, and nothing says that two elements are alike. With it, an element has just these
    fields, all of them, each of its type; a missing field or ``null`` is its default. That is also the fast
    way: flat fields are parsed a block at a time.

    Args:
        filenames: a path (``str``, ``bytes`` or ``pathlib``), several in a list or an array, or a dataset of paths.
        compression_type: ``None`` for none, ``"GZIP"``, ``"ZLIB"``, ``"BZ2"``, ``"XZ"``, ``"ZSTD"`` or ``"LZ4"``;
            ``"INFER"`` goes by each file's suffix.
        buffer_size: how many bytes are read at once; None and 0 are the default, two megabytes.
        num_parallel_reads: how many files are read at once, their records interleaved; None reads one after the other.
        name: what the operation is called in messages and statistics.
        record_defaults: the fields to be read, as a dict with an entry for each key; a dict in it stands for an inner
            object. A value is the default and gives the type (a Python float is float32, an int is int32, as in
            ``CsvDataset``; a NumPy scalar keeps its type), an array is the default of an array of its shape. A type
            (``np.int64``, ``str``) or ``hr.TensorSpec`` is a field that must be there;
            ``hr.TensorSpec((None,), np.int32)`` is a list of any length.
        on_error: ``"raise"`` gives the error of a line in its place; ``"skip"`` leaves lines and files out that cannot be
            read, counts and logs them (``Options(max_failures=)`` bounds how many).

    Raises:
        InvalidArgumentError: arguments that do not fit; or, while iterating, in place of each line that is no JSON object, or
            has a missing or wrong field: file, line, and column or field are named.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, a compressed file that is truncated or corrupt.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> _ = path.write_text('{"id": 1, "text": "a"}\n{"id": 2, "text": null}\n')
        >>> list(hr.JsonLinesDataset(path))
        [{'id': 1, 'text': 'a'}, {'id': 2, 'text': None}]
        >>> list(hr.JsonLinesDataset(path, record_defaults={"text": "none"}).batch(2))
        [{'text': array(['a', 'none'], dtype=object)}]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        record_defaults: Mapping[str, Any] | None = None,
        on_error: str = "raise",
    ) -> None:
        files = JsonLinesFiles(
            fields=None if record_defaults is None else JsonFields.of(record_defaults),
            compression_type=compression_type,
            buffer_size=buffer_size,
        )
        plan = of_files(filenames, files, num_parallel_reads=num_parallel_reads, on_error=on_error, name=name)
        super().__init__(plan)
