"""The ``headrace`` command: what a person types, and nothing that the library needs.

``main`` is the entry point of the console script and of ``python -m headrace``.
"""

from __future__ import annotations

from headrace.cli.app import main

__all__ = ["main"]
