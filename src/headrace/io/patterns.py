r"""Patterns of file names, as TensorFlow reads them, for Python's ``glob``.

They differ in two things: ``[^a]`` is any character but ``a`` (Python knows ``[!a]`` alone), and a backslash takes the
character after it as it is, also within brackets. On Windows, a backslash is between folders, there as here.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["pythons_pattern"]

_WILDCARDS: Final = frozenset("*?[")


def pythons_pattern(pattern: str) -> str:
    r"""Returns the pattern that means to Python's ``glob`` what this one means to TensorFlow.

    Example:
        >>> from headrace.io.patterns import pythons_pattern
        >>> pythons_pattern(r"a/[^b]\[1\]*.csv")
        'a/[!b][[]1]*.csv'
    """
    if os.sep == "\\":
        return pattern.replace("[^", "[!")
    made, at = [], 0
    while at < len(pattern):
        if pattern[at] == "\\" and at + 1 < len(pattern):
            made.append(_literal(pattern[at + 1]))
            at += 2
        elif pattern[at] == "[" and (found := _brackets(pattern, at)) is not None:
            text, at = found
            made.append(text)
        else:
            made.append(pattern[at])
            at += 1
    return "".join(made)


def _literal(character: str) -> str:
    return f"[{character}]" if character in _WILDCARDS else character


def _brackets(pattern: str, begin: int) -> tuple[str, int] | None:
    """Returns the brackets that open there, and where they end; None where they do not close."""
    at = begin + 1
    is_negated = pattern[at : at + 1] in ("^", "!")
    at += is_negated
    plain: list[str] = []  # single characters, some of them escaped
    ranges: list[str] = []
    first = at
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        character, at = _character(pattern, at)
        is_range = pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]")
        if is_range:
            last, at = _character(pattern, at + 1)
            ranges.append(f"{character}-{last}")
        else:
            plain.append(character)
    if at >= len(pattern):
        return None
    return _written(plain, ranges, is_negated=is_negated), at + 1


def _character(pattern: str, at: int) -> tuple[str, int]:
    """Returns a character within brackets, and where the next one is."""
    if pattern[at] == "\\" and at + 1 < len(pattern):
        return pattern[at + 1], at + 2
    return pattern[at], at + 1


def _written(plain: list[str], ranges: list[str], *, is_negated: bool) -> str:
    # To Python, "]" is itself in the first place, "-" in the last, and "!" in any but the first.
    first = ["]"] * ("]" in plain)
    last = ["!"] * ("!" in plain) + ["-"] * ("-" in plain)
    members = [*first, *(one for one in plain if one not in "]!-"), *ranges, *last]
    if not is_negated and members == ["!"]:
        return "!"
    if not is_negated and members == ["!", "-"]:
        members = ["-", "!"]
    return f"[{'!' if is_negated else ''}{''.join(members)}]"
