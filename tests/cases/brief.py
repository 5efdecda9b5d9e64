"""What a second run of the tests, beside other packages, has of them: all that knows one of those packages, and a case of each other test."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pytest

__all__ = ["left_out_of_a_brief_run"]

# What the second run of .ci/run has beside the first, as tests name it.
_PACKAGES = re.compile("torch|jax|tensorflow|lightning")


def left_out_of_a_brief_run(items: list[pytest.Item]) -> set[pytest.Item]:
    """Returns all cases but the middle one of each test that names no package, nor uses anything in its file that does."""
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault((item.path, item.nodeid.partition("[")[0]), []).append(item)
    return {
        item
        for (path, name), found in cases.items()
        if not _names_a_package(path, name.rpartition("::")[2])
        for item in found
        if item is not found[len(found) // 2]
    }


class _Definition(NamedTuple):
    """What a file defines: its text, and the names in it, those of fixtures that it asks for among them."""

    text: str
    uses: set[str]


def _names_a_package(path: Path, test: str) -> bool:
    defined = _definitions(path)
    if test not in defined:  # the example of a docstring
        return bool(_PACKAGES.search(path.read_text(encoding="utf-8")))
    seen, ahead = {test}, [test]
    while ahead:
        for definition in defined.get(ahead.pop(), ()):
            if _PACKAGES.search(definition.text):
                return True
            ahead += definition.uses - seen
            seen |= definition.uses
    return False


@functools.cache
def _definitions(path: Path) -> dict[str, list[_Definition]]:
    """Returns by name what a file of Python defines with it; nothing of another file."""
    if path.suffix != ".py":
        return {}
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found: dict[str, list[_Definition]] = defaultdict(list)
    for statement in ast.parse(text).body:
        nodes = list(ast.walk(statement))
        begin = min(node.lineno for node in nodes if hasattr(node, "lineno"))  # its decorators stand before it
        definition = _Definition(
            "\n".join(lines[begin - 1 : statement.end_lineno]),
            {node.id for node in nodes if isinstance(node, ast.Name)}
            | {node.arg for node in nodes if isinstance(node, ast.arg)},
        )
        for name in _names_of(statement, nodes):
            found[name].append(definition)
    return found


def _names_of(statement: ast.stmt, nodes: list[ast.AST]) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
