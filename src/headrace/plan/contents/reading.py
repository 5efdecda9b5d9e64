"""What a function's byte code reads: names with the attributes that are asked of them, modules that it imports, texts.

It is read, not run. A name that is used in any other way than to ask it for an attribute has an empty chain among its
uses: what becomes of it then, nobody can see.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import types
from collections.abc import Iterator
from typing import Any, Final

from headrace.frozen import frozen, mutable

__all__ = ["Chain", "Import", "Reading", "constants_of", "reading_of"]

Chain = tuple[str, ...]

_GLOBAL: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_LOCAL: Final = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "STORE_FAST_LOAD_FAST")
_CELL: Final = frozenset({"LOAD_FAST_AND_CLEAR"})  # sets aside what a comprehension's variable hides
_ATTRIBUTE: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_NO_STEP: Final = frozenset({"EXTENDED_ARG", "NOP", "CACHE", "RESUME"})
# Between an import and the name that it is given.
_OF_IMPORT: Final = frozenset({"IMPORT_FROM", "SWAP", "ROT_TWO", "POP_TOP", "COPY"})


@frozen
class Import:
    """An import within a function.

    Attributes:
        module: as it is written.
        level: how many dots stand before it.
        names: those that are taken from it, as ``(theirs, ours)``; ours is None where it is not kept under a name.
        bound: the name of the module itself, if it is given one.
        is_root: whether that name is the first package of ``a.b.c``, not ``c``.
    """

    module: str
    level: int
    names: tuple[tuple[str, str | None], ...]
    bound: str | None
    is_root: bool


@mutable
class Reading:
    """What a function and those inside it read."""

    globals: dict[str, set[Chain]] = dataclasses.field(default_factory=dict)
    locals: dict[str, set[Chain]] = dataclasses.field(default_factory=dict)
    imports: list[Import] = dataclasses.field(default_factory=list)

    def uses(self, name: str) -> set[Chain]:
        """Returns what is asked of a name, wherever it stands."""
        return self.globals.get(name, set()) | self.locals.get(name, set())


# What a program's datasets have in common is read once for all of them; code is what it is.
@functools.lru_cache(maxsize=1024)
def reading_of(code: types.CodeType) -> Reading:
    """Returns what a function's code reads, which is not to be changed."""
    reading = Reading()
    for each in _codes(code):
        steps = [step for step in dis.get_instructions(each) if step.opname not in _NO_STEP]
        for place, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                reading.imports.append(_import(steps, place))
            elif step.opname in _GLOBAL:
                reading.globals.setdefault(str(step.argval), set()).add(_chain(steps, place))
            elif step.opname.startswith(_LOCAL) and step.opname not in _CELL:
                _note_local(reading, each, steps, place)
    return reading


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _note_local(reading: Reading, code: types.CodeType, steps: list[dis.Instruction], place: int) -> None:
    step = steps[place]
    names = list(map(str, step.argval if isinstance(step.argval, tuple) else (step.argval,)))
    if step.opname.startswith("STORE_FAST"):
        del names[0]
    for number, name in enumerate(names):
        if "FAST" in step.opname and name in (*code.co_cellvars, *code.co_freevars):
            continue  # the cell itself, for a function inside, which is read as well
        chain = _chain(steps, place) if number == len(names) - 1 else ()
        reading.locals.setdefault(name, set()).add(chain)


def _chain(steps: list[dis.Instruction], place: int) -> Chain:
    names = []
    for step in steps[place + 1 :]:
        if step.opname not in _ATTRIBUTE:
            break
        names.append(str(step.argval))
    return tuple(names)


def _import(steps: list[dis.Instruction], place: int) -> Import:
    level, taken = (steps[place - 2].argval, steps[place - 1].argval)
    pairs: list[tuple[str, str | None]] = []
    stored: str | None = None
    for step in steps[place + 1 :]:
        if step.opname == "IMPORT_FROM":
            pairs.append((str(step.argval), None))
        elif step.opname.startswith("STORE_") and not step.opname.startswith(("STORE_ATTR", "STORE_SUBSCR")):
            name = step.argval[0] if isinstance(step.argval, tuple) else step.argval
            stored = str(name)
            if pairs and taken:
                pairs[-1] = (pairs[-1][0], stored)
            if not taken or isinstance(step.argval, tuple):
                break
        elif step.opname not in _OF_IMPORT:
            break
    if taken:
        missing = [(str(name), None) for name in taken if name not in {theirs for theirs, _ in pairs}]
        return Import(str(steps[place].argval), int(level), (*pairs, *missing), None, is_root=False)
    return Import(str(steps[place].argval), int(level), (), stored, is_root=not pairs)


def constants_of(code: types.CodeType) -> Iterator[Any]:
    """Yields the constants of a function and of those inside it; tuples and sets one by one."""
    for each in _codes(code):
        for constant in each.co_consts:
            yield from _parts(constant)


def _parts(constant: Any) -> Iterator[Any]:
    if isinstance(constant, tuple | frozenset):
        for part in constant:
            yield from _parts(part)
    elif not isinstance(constant, types.CodeType):
        yield constant
