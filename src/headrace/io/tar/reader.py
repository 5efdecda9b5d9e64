"""Reads WebDataset shards in order: tar archives in which consecutive files of one key are one element.

What is an element, and what is wrong with one, stands in ``tar.elements``. Behind a corrupt header nobody knows where the
next one is, or whose file was lost: the archive is then at its end.

The "line" of an element is its number, from 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.elements.structure import object_array
from headrace.errors import DataLossError, HeadraceError
from headrace.io.reader import Chunk, RecordPosition
from headrace.io.stream_reader import MAX_RECORD_BYTES, StreamReader
from headrace.io.tar.elements import ElementRun, reaches
from headrace.io.tar.members import TarMembers

__all__ = ["TarReader"]


class TarReader(StreamReader):
    """Reads the elements of one archive: a ``RecordReader`` with one component, an object array of dicts.

    Args:
        path: the file, local or with ``://``.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        position: where to begin.
        max_element_bytes: the longest element that is read, headers included.

    Raises:
        InvalidArgumentError: when an argument does not fit. The file is not touched before the first ``read``.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> from headrace.io.tar.reader import TarReader
        >>> path = str(pathlib.Path(tempfile.mkdtemp(), "a.tar"))
        >>> with hr.io.TarWriter(path) as writer:
        ...     writer.write({"__key__": "0001", "cls": 3, "txt": "a cat"})
        >>> (element,) = TarReader(path).read(max_records=10).columns[0]
        >>> element["cls"], element["txt"]
        (b'3', b'a cat')
    """

    def __init__(
        self,
        path: str,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        position: RecordPosition | None = None,
        max_element_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(
            path, compression_type=compression_type, buffer_size=buffer_size, max_record_bytes=max_element_bytes
        )
        self._position = position or RecordPosition()
        self._began = self._position
        self._closed = self._position.ended
        self._members: TarMembers | None = None
        self._run: ElementRun | None = None
        self._fault: tuple[HeadraceError, RecordPosition] | None = None  # of the next record, and the position after it

    @property
    def position(self) -> RecordPosition:
        """Where the next record that ``read`` returns begins."""
        return self._position

    def _read(self, max_records: int) -> Chunk | None:
        position, elements, nbytes = self._position, list[dict[str, Any]](), 0
        # A buffer of elements is enough: who asks for more knows their number, not their size.
        while len(elements) < max_records and nbytes < self._buffer_size:
            element = self._element()
            if element is None:
                break
            elements.append(element)
            nbytes += sum(map(len, element.values()))
        if elements:
            lines = range(position.line, position.line + len(elements))
            return Chunk(arrays=(object_array(elements),), matrix=None, position=position, lines=lines)
        if self._fault is not None:
            error, self._position = self._fault
            self._fault = None
            raise error
        return None

    def close(self) -> None:
        """Closes the file; ``read`` then returns None. May be called twice."""
        self._closed = True
        self._fault = None
        if self._members is not None:
            self._members.close()

    # --- one element --------------------------------------------------------------------------------------------

    def _element(self) -> dict[str, Any] | None:
        """Returns the next element; None at the end, or where ``_fault`` says what is wrong with it."""
        if self._closed or self._fault is not None:
            return None
        position = self._position
        try:
            run = self._opened()
            given = run.next()
            if given is None:
                # Where reading went on, zeros may also be what stands after an end that was before.
                if (
                    position == self._began
                    and position.offset
                    and not reaches(self._path, self._compression_type, position.offset)
                ):
                    raise DataLossError(
                        f"the archive ends before byte {position.offset}, and reading is to go on there: it has changed"
                    )
                run.members.drain()
                self.close()
                return None
        except HeadraceError as error:
            told = error if self._run is None and self._members is None else self._at_line(error, position.line)
            self.close()
            self._fault = told, replace(position, ended=True)
            return None
        after = RecordPosition(run.offset, position.line + 1, position.record + 1)
        if isinstance(given, HeadraceError):
            self._fault = self._at_line(given, position.line), after
            return None
        self._position = after
        return given

    def _opened(self) -> ElementRun:
        if self._run is None:
            self._members = TarMembers(self._path, self._compression_type, self._buffer_size, self._position.offset)
            self._run = ElementRun(self._members, self._path, self._max_record_bytes)
        return self._run
