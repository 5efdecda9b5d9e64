"""A line of JSON as a dict, as Python's own json reads it.

Where that leaves things open, this is what holds: NaN, Infinity and -Infinity are numbers; a number too large for a
float64, or a whole one of more than 4,300 digits, is infinite; of two equal keys the last counts. A record is an
object, nested at most 200 deep, and its text has a form in UTF-8 (no half of a surrogate pair).
"""

from __future__ import annotations

import json
import json.scanner
import re
from typing import Any, Final

from headrace.errors import InvalidArgumentError

__all__ = ["MAX_DEPTH", "object_of_line"]

# Far beyond what anybody writes, far below where Python's own limit on recursion may lie.
MAX_DEPTH: Final = 200
# Python refuses to convert longer ones, which takes time in the square of their length.
_MAX_DIGITS: Final = 4_300


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_scan: Final = json.scanner.make_scanner(json.JSONDecoder())  # type: ignore[arg-type]  # what it takes is wrong in typeshed
_LONG_NUMBERS: Final = json.JSONDecoder(parse_int=_int)
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def object_of_line(line: str) -> dict[str, Any]:
    """Returns the object that a line holds.

    Raises:
        InvalidArgumentError: it is no JSON, which column is told; or no object, or nested too deep.

    Example:
        >>> from headrace.io.json_lines.objects import object_of_line
        >>> object_of_line('{"id": 7, "tags": ["a", null]}')
        {'id': 7, 'tags': ['a', None]}
    """
    if line.count("[") + line.count("{") > MAX_DEPTH:
        _check_depth(line)
    value = _value(line)
    if type(value) is not dict:
        raise InvalidArgumentError(f"a record is a JSON object, and this is {_kind(value)}")
    if "\\u" in line and _SURROGATE.search(line):
        _check_text(value)
    return value


def _value(line: str) -> Any:
    try:
        value, end = _scan(line, 0)
        if end == len(line):
            return value
    except (StopIteration, ValueError):
        pass  # said properly below
    try:
        return _LONG_NUMBERS.decode(line.strip(" \t\r"))
    except json.JSONDecodeError as error:
        indent = len(line) - len(line.lstrip(" \t\r"))
        raise InvalidArgumentError(f"no JSON, column {indent + error.pos + 1}: {error.msg}") from None


def _check_depth(line: str) -> None:
    depth = 0
    for at, character in enumerate(_STRING.sub(lambda found: "_" * len(found[0]), line)):
        if character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        if depth > MAX_DEPTH:
            raise InvalidArgumentError(f"column {at + 1}: nested more than {MAX_DEPTH} deep")


def _check_text(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"text with half of a surrogate pair ({error.object[error.start]!r}) has no form in UTF-8"
        ) from None


def _kind(value: Any) -> str:
    return {list: "an array", str: "a string", bool: "a bool", type(None): "null"}.get(type(value), "a number")
