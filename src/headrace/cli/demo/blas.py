"""One thread for NumPy's linear algebra.

A matrix product of the demo's size gains little from a second thread, which then fights with the threads that read the
files: on two cores a step took ten times as long at times. One thread makes the figures steady and the ways comparable.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from importlib import import_module

__all__ = ["compute_on_one_thread"]

# The name differs with who built NumPy: its own wheels, then the distributions.
_SETTERS = ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "openblas_set_num_threads")


def compute_on_one_thread() -> bool:
    """Limits NumPy's OpenBLAS to one thread in this process.

    Returns:
        Whether it could be done; another library than OpenBLAS is left as it is.

    Example:
        >>> isinstance(compute_on_one_thread(), bool)
        True
    """
    # NumPy has no call for it. Its compiled module is linked to the library, so the symbol is found through it.
    with suppress(ImportError, OSError, AttributeError):
        library = ctypes.CDLL(str(import_module("numpy._core._multiarray_umath").__file__))
        for name in _SETTERS:
            if hasattr(library, name):
                getattr(library, name)(ctypes.c_int(1))
                return True
    return False
