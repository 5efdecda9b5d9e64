"""The cases, a file for a family of operations."""

from __future__ import annotations

from typing import Final

from idioms.case import Case
from idioms.cases import (
    batching,
    chains,
    choosing,
    examples,
    files,
    inside,
    nesting,
    programs,
    small_files,
    sources,
    stateful,
)

CASES: Final[tuple[Case, ...]] = (
    *sources.CASES,
    *chains.CASES,
    *choosing.CASES,
    *batching.CASES,
    *nesting.CASES,
    *inside.CASES,
    *stateful.CASES,
    *files.CASES,
    *small_files.CASES,
    *examples.CASES,
    *programs.CASES,
)


def find_case(name: str) -> Case:
    """The case of a name."""
    return next(case for case in CASES if case.name == name)
