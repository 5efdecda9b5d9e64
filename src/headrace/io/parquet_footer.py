"""Whether a Parquet file's footer says of each column chunk the type that its schema says of the column.

pyarrow's dataset layer ends the process where it does not, when it looks at a chunk's statistics; so this is looked at
before. The footer is Thrift in its compact protocol, a tree of structs of numbered fields; what Parquet's fields mean
is in the format's ``parquet.thrift``.

What always holds: a hostile footer takes no more steps than it has bytes, and no deeper recursion than ``_MOST_DEPTH``.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.errors import DataLossError

__all__ = ["check_column_types"]

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 1, 2, 3, 7, 8, 9, 10, 11, 12, 13
_MARK: Final = b"PAR1"
_MOST_DEPTH: Final = 32
# Of FileMetaData, SchemaElement, RowGroup, ColumnChunk and ColumnMetaData.
_SCHEMA, _ROW_GROUPS, _TYPE, _CHILDREN, _CHUNKS, _CHUNK_META = 2, 4, 1, 5, 1, 3


def check_column_types(path: str, source: Any) -> None:
    """Compares the types of all column chunks with the schema's.

    Args:
        path: how messages call the file.
        source: the open file; it is left anywhere.

    Raises:
        DataLossError: one differs, or the footer is no footer.
    """
    size = source.size()
    source.seek(max(0, size - 8))
    tail = source.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MARK or length + 8 > size:
        raise DataLossError(f"{path}: there is no Parquet footer at its end")
    source.seek(size - 8 - length)
    try:
        _check(_Thrift(source.read(length)).struct(0))
    except (IndexError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataLossError(f"{path}: its footer is corrupt: {error}") from error


def _check(footer: dict[int, Any]) -> None:
    types = [element.get(_TYPE) for element in footer[_SCHEMA] if not element.get(_CHILDREN)]
    for number, group in enumerate(footer.get(_ROW_GROUPS, ())):
        found = [chunk[_CHUNK_META].get(_TYPE) for chunk in group[_CHUNKS]]
        if found != types:
            raise ValueError(f"row group {number} has columns of the types {found}, and the schema says {types}")


class _Thrift:
    """Reads values of the compact protocol, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """The fields of a struct by their numbers."""
        if depth > _MOST_DEPTH:
            raise ValueError("it is nested too deep")
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            # A field that is true or false has no bytes of its own.
            fields[field] = kind == _TRUE if kind in {_TRUE, _FALSE} else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in {_TRUE, _FALSE, _BYTE}:
            return self._byte()
        if kind < _DOUBLE:
            return self._signed()
        if kind in {_DOUBLE, _UUID}:
            return self._bytes(8 if kind == _DOUBLE else 16)
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind in {_LIST, _SET}:
            head = self._byte()
            count = self._unsigned() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, depth + 1) for _ in self._counted(count)]
        if kind == _MAP:
            count = self._unsigned()
            kinds = self._byte() if count else 0
            return [
                (self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in self._counted(count)
            ]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"there is no kind {kind} of values")

    def _counted(self, count: int) -> range:
        if count > len(self._data) - self._at:  # each takes a byte at least
            raise ValueError(f"a list of {count} values does not fit into it")
        return range(count)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise ValueError(f"a text of {count} bytes does not fit into it")
        self._at += count
        return self._data[self._at - count : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number has too many digits")
        return value | byte << shift

    def _signed(self) -> int:
        coded = self._unsigned()
        return coded >> 1 ^ -(coded & 1)
