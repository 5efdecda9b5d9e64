"""WebDataset shards: tar archives in which consecutive files of one key are one element.

    0001.jpg 0001.cls | 0002.jpg 0002.cls | …      → {"__key__": "0001", "__url__": "shard.tar", "jpg": b"…", "cls": b"3"}

A key is a file's path up to the first dot of its base name, and what is behind that dot, in small letters, is its name in
the element. Folders, and files that have no such dot, are passed over.

What always holds, beside the promise of ``RecordReader``:
- An element is whole: a key with a file that cannot be read (a link, a sparse file, one extension twice) is one bad
  record, not an element that lacks something. Where an archive breaks off, so does the key before the break.
- Behind a corrupt header nobody knows where the next one is, or whose file was lost: the archive is then at its end.

The "line" of an element is its number, from 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from headrace.errors import HeadraceError, InvalidArgumentError, ResourceExhaustedError
from headrace.io.block_reader import DEFAULT_BUFFER_BYTES
from headrace.io.compression import checked_compression_type
from headrace.io.files import path_of
from headrace.io.reader import Chunk, Place
from headrace.io.tar_header import BLOCK_BYTES
from headrace.io.tar_members import Member, TarMembers, split_name
from headrace.structure import object_array

__all__ = ["MAX_ELEMENT_BYTES", "TarReader"]

# Clips of video have hundreds of megabytes; what is longer belongs into a file of its own.
MAX_ELEMENT_BYTES: Final = 1 << 30


class TarReader:
    """Reads the elements of one archive: a ``RecordReader`` with one component, an object array of dicts.

    Args:
        path: the file, local or with ``://``.
        compression_type: None, "", or a compression's name.
        buffer_size: bytes to read at once, or None for a good size.
        place: where to begin.
        max_element_bytes: the longest element that is read, headers included.

    Raises:
        InvalidArgumentError: when an argument does not fit. The file is not touched before the first ``read``.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> from headrace.io.tar import TarReader
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
        place: Place | None = None,
        max_element_bytes: int = MAX_ELEMENT_BYTES,
    ) -> None:
        self._path = path_of(path)
        self._compression_type = checked_compression_type(compression_type)
        self._buffer_size = DEFAULT_BUFFER_BYTES if buffer_size is None else buffer_size
        self._max_element_bytes = max_element_bytes
        if self._buffer_size < 1 or max_element_bytes < 1:
            raise InvalidArgumentError("buffer_size and max_element_bytes are at least 1")
        self._place = place or Place()
        self._closed = self._place.ended
        self._members: TarMembers | None = None
        self._next: _Named | None = None  # the first file of the next key
        self._nbytes = 0  # of the element that is gathered, headers included
        self._fault: tuple[HeadraceError, Place] | None = None  # of the next record, and the place behind it

    @property
    def path(self) -> str:
        """The file, as the caller named it."""
        return self._path

    @property
    def place(self) -> Place:
        """Where the next record that ``read`` returns begins."""
        return self._place

    def read(self, max_records: int) -> Chunk | None:
        """The next 1 to ``max_records`` elements, or None at the end of the file.

        Raises:
            HeadraceError: for the next record, or the file; the next call goes on behind it.
        """
        if max_records < 1:
            raise InvalidArgumentError(f"max_records is at least 1, and not {max_records}")
        place, elements, nbytes = self._place, list[dict[str, Any]](), 0
        # A buffer of elements is enough: who asks for more knows their number, not their size.
        while len(elements) < max_records and nbytes < self._buffer_size:
            element = self._element()
            if element is None:
                break
            elements.append(element)
            nbytes += self._nbytes
        if elements:
            lines = range(place.line, place.line + len(elements))
            return Chunk(arrays=(object_array(elements),), matrix=None, place=place, lines=lines)
        if self._fault is not None:
            error, self._place = self._fault
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
        """The next element; None at the end, or where ``_fault`` says what is wrong with it."""
        if self._closed or self._fault is not None:
            return None
        was_open = self._members is not None
        try:
            return self._gathered(self._opened())
        except HeadraceError as error:
            was_open = was_open or self._members is not None
            self.close()
            told = error.located(stage=None, origin=self._origin) if was_open else error
            self._fault = told, replace(self._place, ended=True)
            return None

    def _opened(self) -> TarMembers:
        if self._members is None:
            self._members = TarMembers(self._path, self._compression_type, self._buffer_size, self._place.offset)
            self._next = _next_named(self._members)
        return self._members

    def _gathered(self, members: TarMembers) -> dict[str, Any] | None:
        """The files of the next key; reads the headers of the key behind it, as nothing else says that it is whole."""
        if self._next is None:
            members.drain()
            self.close()
            return None
        key, problem = self._next.key, None
        element: dict[str, Any] = {"__key__": key, "__url__": self._path}
        self._nbytes = 0
        while self._next is not None and self._next.key == key:
            problem = problem or self._add(element, self._next, members)
            self._next = _next_named(members)
        offset = members.offset if self._next is None else self._next.member.offset
        after = Place(offset, self._place.line + 1, self._place.record + 1)
        if problem is not None:
            self._fault = problem.located(stage=None, origin=self._origin), after
            return None
        self._place = after
        return element

    def _add(self, element: dict[str, Any], file: _Named, members: TarMembers) -> HeadraceError | None:
        """Adds a file to its element, or says why it cannot be."""
        header = file.member.header
        if not header.is_plain:
            return InvalidArgumentError(
                f"{header.name} is {header.kind}, and archives are read in order, once: write it as a plain file "
                "(GNU tar: --dereference --hard-dereference, without --sparse)"
            )
        if file.extension in element:
            return InvalidArgumentError(
                f"key {file.key!r} has two files {file.extension!r}: {header.name} is the second"
            )
        self._nbytes += BLOCK_BYTES + header.nbytes
        if self._nbytes > self._max_element_bytes:
            return ResourceExhaustedError(
                f"key {file.key!r} has {self._nbytes} bytes or more, and the limit is {self._max_element_bytes}; it is "
                "passed over"
            )
        element[file.extension] = members.content(file.member)
        return None

    @property
    def _origin(self) -> str:
        return f"{self._path}:{self._place.line}"


@dataclass(frozen=True, slots=True)
class _Named:
    """A file that belongs to an element."""

    key: str
    extension: str
    member: Member


def _next_named(members: TarMembers) -> _Named | None:
    while (member := members.next()) is not None:
        names = split_name(member.header.name)
        if names is not None and not member.header.is_folder:
            return _Named(*names, member)
    return None
