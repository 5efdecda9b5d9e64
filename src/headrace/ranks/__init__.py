"""Which of a job's processes this one is, and what they tell each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headrace.ranks.here import current
    from headrace.ranks.rank import Rank

__all__ = ["Rank", "current"]

# Imported when it is first used: most programs are no job, and ask only for their part of the machine.
_LATER: Final = {"Rank": "rank", "current": "here"}


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

    def __getattr__(name: str) -> object:
        if name in _LATER:
            import importlib

            return getattr(importlib.import_module(f"headrace.ranks.{_LATER[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
