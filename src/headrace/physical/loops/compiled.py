"""What the texts of loops have names for, and the functions that they become."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.elements.function_results import copied_result, owned
from headrace.elements.leaf_arrays import without_fixed_texts
from headrace.elements.ownership import copied, read_only
from headrace.elements.structure import array_of_list
from headrace.physical.loops.form_owners import ids_of
from headrace.physical.loops.forms import PLAIN, is_plain_list
from headrace.semantics.calls import is_true, packed

__all__ = ["compiled"]

_GLOBALS: Final = {
    "all_plain": PLAIN.issuperset,
    "copied": copied,
    "copied_result": copied_result,
    "ids_of": ids_of,
    "islice": itertools.islice,
    "listed": array_of_list,
    "ndarray": np.ndarray,
    "new_object": object.__new__,
    "new_tuple": tuple.__new__,
    "own": owned,
    "plain": PLAIN,
    "plain_list": is_plain_list,
    "read_only": read_only,
    "refs": sys.getrefcount,
    "repeat": itertools.repeat,
    "settle": packed,
    "truth": is_true,
    "of_texts": without_fixed_texts,
}
_LOOP_FILE: Final = os.path.join(os.path.dirname(__file__), "<loop>")  # noqa: PTH118, PTH120 - no I/O, and a program waits for no pathlib


def compiled(text: str) -> Callable[..., Any]:
    """Returns the function ``loop`` that a generated text defines."""
    scope: dict[str, Any] = dict(_GLOBALS)
    # A name in our folder, by which reports of stalls tell our frames from the user's; no file has it.
    exec(compile(text, _LOOP_FILE, "exec"), scope)  # noqa: S102 - keys of dicts stand in it as literals, nothing else of the user's
    function: Callable[..., Any] = scope["loop"]
    return function
