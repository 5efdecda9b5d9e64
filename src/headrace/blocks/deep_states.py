"""States of deep plans, in pieces that anything can read and write that goes through JSON.

A state mirrors its plan: each operation's state holds that of what it reads. Readers and writers of JSON call themselves
for each level, on the stack of C, and refuse or crash where the levels are thousands. So of a deep tree only the first
levels are written where they belong, and each subtree below them by itself, with the place where it was cut off.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

__all__ = ["in_pieces", "is_deep", "whole"]

# With what a user's own generators save inside, far from the 1,000 levels that JSON is read and written with anywhere.
_LEVELS: Final = 100
_CONTAINERS: Final = (dict, list, tuple)
# The level of a place, its key there, and the path of what holds it.
_Path: TypeAlias = "tuple[int, Any, _Path] | None"


def in_pieces(tree: Any) -> tuple[Any, list[Any]]:
    """Cuts off what lies deeper than some levels.

    Returns:
        An equal tree without that, and a list of what was cut off: each as the index of the piece that it was cut from, the
        keys that lead to its place there, and itself. Piece 0 is the tree.
    """
    if not is_deep(tree):
        return tree, []
    pieces: list[list[Any]] = [[0, [], tree]]
    for index, piece in enumerate(pieces):  # which grows meanwhile
        piece[2] = _cut(piece[2], index, pieces)
    return pieces[0][2], pieces[1:]


def is_deep(tree: Any) -> bool:
    """Returns whether it has more levels than are written where they belong."""
    containers: list[Any] = [tree] if isinstance(tree, _CONTAINERS) else []
    for _ in range(_LEVELS + 1):
        containers = [
            inside
            for each in containers
            for inside in (each.values() if isinstance(each, dict) else each)
            if isinstance(inside, _CONTAINERS)
        ]
        if not containers:
            return False
    return True


def _cut(tree: Any, index: int, pieces: list[list[Any]]) -> Any:
    """Copies the first levels of the tree; the rest is added to the pieces."""
    root: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any, _Path]] = [(root, 0, tree, None)]
    while waiting:
        holder, key, value, path = waiting.pop()
        if not isinstance(value, (dict, list, tuple)):
            holder[key] = value
        elif path is not None and path[0] == _LEVELS:
            holder[key] = None
            pieces.append([index, _keys(path), value])
        else:
            level = 1 if path is None else path[0] + 1
            copy: Any = dict.fromkeys(value) if isinstance(value, dict) else [None] * len(value)
            holder[key] = copy
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(copy, inside, item, (level, inside, path)) for inside, item in items]
    return root[0]


def _keys(path: _Path) -> list[Any]:
    keys = []
    while path is not None:
        _, key, path = path
        keys.append(key)
    return keys[::-1]


def whole(tree: Any, pieces: list[Any]) -> Any:
    """Puts the pieces that ``in_pieces`` made together again."""
    trees = [tree]
    for index, path, piece in pieces:
        holder = trees[index]
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = piece
        trees.append(piece)
    return tree
