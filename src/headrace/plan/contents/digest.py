"""A digest that takes in any values, and notes what it took in, a line each.

What always holds.
- Two values with equal digests are equal as far as Python can tell: with their types, the code of these, and what lies
  hidden in them. What nobody can see is refused by name.
- A digest depends on no address, no process, and no order of hashing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn

from headrace.errors import InvalidArgumentError
from headrace.frozen import mutable
from headrace.io.files import version_of
from headrace.plan.contents.installed import is_installed_class, name_of_class

__all__ = ["Line", "ValueDigest", "take_in"]

# Values of exactly these types are what they look like.
_PLAIN: Final = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented)})
# They hold others and cannot be changed: whether two are one object depends on the compiler.
_UNIDENTIFIED: Final = frozenset({tuple, frozenset})
# A container with more is one line.
_MOST_LINES: Final = 100
_LONGEST_PATH: Final = 4096


@mutable
class Line:
    """What one value adds: how deep it stands, what it is called, what it is, and its digest."""

    depth: int
    label: str
    shown: str = ""
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.digest}  {'  ' * self.depth}{self.label}{f' = {self.shown}' if self.shown else ''}"


@functools.singledispatch
def take_in(value: Any, digest: ValueDigest) -> None:
    """Takes in an object that was not met before, whose type is taken in already."""
    raise NotImplementedError  # ``instances`` knows what to do with any object


class ValueDigest:
    """A digest that takes in any values.

    Args:
        special: types that the caller knows better, and what to take in instead of such a value.

    Attributes:
        lines: what was taken in, the whole before its parts.
    """

    def __init__(self, special: Mapping[type, Callable[[Any], Any]] | None = None) -> None:
        self._hashes = [hashlib.sha256(f"{sys.implementation.cache_tag}".encode())]
        self._special = special or {}
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # an address says who somebody is only as long as they live
        self._files: dict[str | bytes, bool] = {}
        self._names: dict[type, tuple[str, ...]] = {}  # of installed types; empty for others
        self._labels: list[str] = []
        self._quiet = 0
        self.lines: list[Line] = []

    def hexdigest(self) -> str:
        """Returns 32 hexadecimal digits."""
        return self._hashes[0].hexdigest()[:32]

    def word(self, *words: object) -> None:
        """Takes in words, each as the text that it is."""
        for word in words:
            text = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self._hashes[-1].update(b"%d:%b" % (len(text), text))

    def memory(self, content: Any) -> None:
        """Takes in a buffer of bytes."""
        self.word(len(content))
        self._hashes[-1].update(content)

    @contextlib.contextmanager
    def line(self, label: str, shown: str = "", *, counts: bool = True) -> Iterator[None]:
        """Makes one line of all that is taken in within, which stands below it; the label counts as well, unless said otherwise."""
        line = Line(len(self._hashes) - 1, label, shown)
        if not self._quiet:
            self.lines.append(line)
        self._labels.append(label)
        self._hashes.append(hashlib.sha256(label.encode("utf-8", "surrogatepass") if counts else b""))
        try:
            yield
        finally:
            digest = self._hashes.pop().hexdigest()
            self._labels.pop()
        line.digest = digest[:12]
        self.word(digest)

    def named(self, label: str, value: Any) -> None:
        """Takes in a value that has a name, as a line."""
        with self.line(label, "" if self._quiet else _shown(value)):
            self.add(value)

    def items(self, values: Iterable[Any], count: int) -> None:
        """Takes in what a container holds."""
        self.word(count)
        self._quiet += count > _MOST_LINES
        for value in values:
            self.add(value)
        self._quiet -= count > _MOST_LINES

    def unordered(self, values: Iterable[Any]) -> None:
        """Takes in what has no order: sorted by the digest of each."""
        found = list(values)
        if all(type(value) in _PLAIN for value in found):
            self.items(sorted(found, key=lambda value: (type(value).__name__, _worded(value))), len(found))
        else:
            digests = sorted(map(self._alone, found))
            self.word(len(digests), *digests)

    def _alone(self, value: Any) -> str:
        """Returns the digest of a value by itself, which leaves no trace."""
        seen, self._seen = self._seen, dict(self._seen) if type(value) not in _PLAIN else self._seen
        self._hashes.append(hashlib.sha256())
        self._quiet += 1
        try:
            self.add(value)
        finally:
            self._quiet -= 1
            self._seen = seen
            found = self._hashes.pop().hexdigest()
        return found

    def add(self, value: Any) -> None:
        """Takes in a value.

        Raises:
            InvalidArgumentError: it holds something that cannot be seen; that is named.
        """
        kind = type(value)
        if kind in _PLAIN:
            self.word(kind.__name__, _worded(value))
            if kind is str or kind is bytes:
                self.file(value)
        elif id(value) in self._seen:
            self.word("again", self._seen[id(value)])
        else:
            if kind not in _UNIDENTIFIED:
                self._seen[id(value)] = len(self._seen)
                self._alive.append(value)
            self._add_object(value, kind)

    def _add_object(self, value: Any, kind: type) -> None:
        for known, stand_in in self._special.items():
            if issubclass(kind, known):  # what an object answers itself proves nothing
                self.add(stand_in(value))
                return
        self.kind(kind)
        own = getattr(kind, "__headrace_fingerprint__", None)
        if own is not None:  # also of a kind of list or dict: nothing else of it counts
            self.add(own(value))
        else:
            take_in(value, self)

    def kind(self, kind: type) -> None:
        """Takes in of which type a value is: one of one's own whole."""
        if kind not in self._names:
            self._names[kind] = name_of_class(kind) if is_installed_class(kind) else ()
        if self._names[kind]:
            self.word(*self._names[kind])
        else:
            self.named(f"class {kind.__qualname__}", kind)

    def file(self, text: str | bytes) -> None:
        """Takes in the version of the file that a text names, if it names one."""
        if self._is_file(text):
            name = os.fsdecode(text)
            size, written = version_of(name)
            with self.line(f"file {name}", f"{size:,} bytes, {written}"):
                self.word(size, written)

    def _is_file(self, text: str | bytes) -> bool:
        if not text or len(text) > _LONGEST_PATH or ("\n" if isinstance(text, str) else b"\n") in text:  # type: ignore[operator]  # each in its own
            return False
        if text not in self._files:
            try:
                self._files[text] = os.path.isfile(text)  # noqa: PTH113 - bytes as well
            except ValueError:  # with a NUL
                self._files[text] = False
        return self._files[text]

    def refuse(self, what: str) -> NoReturn:
        """Raises the error that something cannot be seen.

        Raises:
            InvalidArgumentError: always; it says where the thing stands.
        """
        where = ": ".join(self._labels)
        raise InvalidArgumentError(
            f"{where}{' ' if where else ''}{what}: pass key='…' with a text that you change when the elements change, or give "
            "the class a __headrace_fingerprint__() that returns what its objects depend on"
        )


def _worded(value: Any) -> str:
    """Returns a plain value as a text; the decimal digits of large numbers are bounded."""
    return hex(value) if type(value) is int else repr(value)


def _shown(value: Any) -> str:
    kind = type(value)
    text = repr(value) if kind in _PLAIN and not (kind is int and value.bit_length() > 200) else kind.__qualname__
    return text if len(text) <= 60 else f"{text[:57]}..."
