"""Elements tied together from their leaves: for tuples and dicts, one comprehension for each structure, compiled once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import optree

__all__ = ["tied_rows"]

_Builder = Callable[[Sequence[Sequence[Any]]], list[Any]]

# Python's parser takes no more than two hundred brackets inside each other, and a wide structure is compiled for long.
_MOST_LEAVES: Final = 256
_MOST_NODES: Final = _MOST_LEAVES + 64


def tied_rows(treedef: optree.PyTreeSpec, columns: Sequence[list[Any]], count: int) -> list[Any]:
    """Returns ``count`` rows of that structure, given their leaves, a list for each leaf.

    Dicts have their keys in the order in which the structure was written first.
    """
    if treedef.is_leaf():
        return columns[0]
    if columns and treedef.type is tuple and treedef.num_nodes == len(columns) + 1:  # one node besides its leaves
        return list(zip(*columns, strict=True))
    build = _known_builder(treedef)
    return build(columns) if build is not None else _tied_one_by_one(treedef, columns, count)


def _tied_one_by_one(treedef: optree.PyTreeSpec, columns: Sequence[list[Any]], count: int) -> list[Any]:
    children, start = [], 0
    for child in treedef.children():
        children.append(tied_rows(child, columns[start : start + child.num_leaves], count))
        start += child.num_leaves
    if not children:
        return [optree.tree_unflatten(treedef, ()) for _ in range(count)]
    if treedef.type is tuple:
        return list(zip(*children, strict=True))
    if treedef.type is dict:
        names = treedef.entries()
        order = list(optree.tree_unflatten(treedef, range(treedef.num_leaves)))  # as the first one was written
        children = [children[names.index(name)] for name in order]
        return [dict(zip(order, row, strict=True)) for row in zip(*children, strict=True)]
    one_level = treedef.one_level()
    assert one_level is not None  # only a leaf has none
    return [optree.tree_unflatten(one_level, row) for row in zip(*children, strict=True)]


# The latest structures, each with what builds it: structures that are equal may have their keys in another order, so they are
# known by what they are, and kept for as long.
_known: dict[int, tuple[optree.PyTreeSpec, _Builder | None]] = {}
_MOST_KNOWN: Final = 256


def _known_builder(treedef: optree.PyTreeSpec) -> _Builder | None:
    known = _known.get(id(treedef))
    if known is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        known = _known[id(treedef)] = (treedef, _builder(treedef))
    return known[1]


def _builder(treedef: optree.PyTreeSpec) -> _Builder | None:
    """Returns what makes rows of columns of leaves, one column a leaf; None where it is not made of tuples and dicts alone."""
    leaves = treedef.num_leaves
    if not 0 < leaves <= _MOST_LEAVES or treedef.num_nodes > _MOST_NODES or not _is_plain(treedef):
        return None
    names = [f"c{number}" for number in range(leaves)]
    expression = _expression(optree.tree_unflatten(treedef, names))
    return None if expression is None else _compiled(expression, leaves)


@functools.lru_cache(maxsize=256)
def _is_plain(treedef: optree.PyTreeSpec) -> bool:
    if treedef.is_leaf():
        return True
    return treedef.type in (tuple, dict) and all(map(_is_plain, treedef.children()))


def _expression(template: Any) -> str | None:
    """Returns the code that makes a row, given one whose leaves are names; None where a key has no plain text."""
    if type(template) is str:
        return template
    if type(template) is dict and any(type(key) is not str for key in template):
        return None
    parts = [_expression(part) for part in (template.values() if type(template) is dict else template)]
    if any(part is None for part in parts):
        return None
    if type(template) is tuple:
        return f"({''.join(f'{part},' for part in parts)})"
    return f"{{{''.join(f'{key!r}:{part},' for key, part in zip(template, parts, strict=True))}}}"


@functools.lru_cache(maxsize=256)
def _compiled(expression: str, leaves: int) -> _Builder:
    names = "".join(f"c{number}," for number in range(leaves))
    source = f"lambda columns: [{expression} for {names} in zip(*columns, strict=True)]"
    builder: _Builder = eval(source, {"__builtins__": {"zip": zip}})  # noqa: S307 - keys stand in it as literals, no other text
    return builder
