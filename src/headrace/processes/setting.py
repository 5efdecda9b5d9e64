"""What a program may change while a process of its own is there: where modules are found, the environment, what is logged and warned of."""

from __future__ import annotations

import os
import sys
from typing import Final, NamedTuple

from headrace.plan.depth import limit_beside_plans
from headrace.processes.reloads import Reloads
from headrace.processes.warning_filters import Filter, filters_now, make_filters

__all__ = ["Changes", "Setting"]

_NO_LEVEL: Final = 0  # logging.NOTSET, of a logger that asks the one above it
_RELOADS: Final = Reloads()


class Setting(NamedTuple):
    """Where a program stands at a moment.

    Attributes:
        path: where modules are looked for.
        folder: the current one; None where it is there no more.
        variables: of the environment, as the system has them.
        depth: how deep functions may call one another; plans make room for themselves wherever they are.
        levels: from which on each logger logs that has a level of its own, by its name.
        filters: of warnings.
        reloads: which of the program's modules are there, a number: no process that has begun can be told of another.
    """

    path: tuple[str, ...]
    folder: str | None
    variables: frozenset[tuple[bytes, bytes]]
    depth: int
    levels: frozenset[tuple[str, int]]
    filters: tuple[Filter, ...]
    reloads: int

    @classmethod
    def now(cls) -> Setting:
        """Returns that of this process."""
        try:
            folder = os.getcwd()  # noqa: PTH109 - a text is sent
        except FileNotFoundError:
            folder = None
        # Each run compares them: to make texts of all took a fifth of what begins one in the trainer.
        variables = frozenset(os.environ._data.items())  # type: ignore[attr-defined]  # noqa: SLF001 - no other way has the bytes
        return cls(
            tuple(sys.path), folder, variables, limit_beside_plans(), _levels(), filters_now(), _RELOADS.number()
        )

    def changes_since(self, before: Setting) -> Changes:
        """Returns what is not as it was."""
        return Changes(
            None if self.path == before.path else self.path,
            None if self.folder == before.folder else self.folder,
            {
                **{os.fsdecode(name): None for name, _ in before.variables - self.variables},
                **{os.fsdecode(name): os.fsdecode(value) for name, value in self.variables - before.variables},
            },
            None if self.depth == before.depth else self.depth,
            {
                **{name: _NO_LEVEL for name, _ in before.levels - self.levels},
                **dict(self.levels - before.levels),
            },
            None if self.filters == before.filters else self.filters,
        )

    def from_the_start(self) -> Changes:
        """Returns what a process is told that has just begun, with the variables of this one."""
        return Changes(self.path, self.folder, {}, self.depth, dict(self.levels), self.filters)


class Changes(NamedTuple):
    """What has changed of it; None is as it was.

    Attributes:
        path: where modules are looked for.
        folder: the current one.
        variables: those of the environment that have changed, and None for each that is no more.
        depth: how deep functions may call one another.
        levels: those of loggers that have changed.
        filters: of warnings.
        reloads: which of the program's modules are there, a number: no process that has begun can be told of another.
    """

    path: tuple[str, ...] | None
    folder: str | None
    variables: dict[str, str | None]
    depth: int | None
    levels: dict[str, int]
    filters: tuple[Filter, ...] | None

    def make(self) -> None:
        """Makes them in this process; what its functions changed besides stays."""
        if self.depth is not None:
            sys.setrecursionlimit(self.depth)
        if self.path is not None:
            sys.path[:] = self.path
        for name, value in self.variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if self.folder is not None:
            os.chdir(self.folder)
        if self.filters is not None:
            make_filters(self.filters)
        if self.levels:
            import logging

            for name, level in self.levels.items():
                logging.getLogger(name).setLevel(level)


def _levels() -> frozenset[tuple[str, int]]:
    logging = sys.modules.get("logging")
    if logging is None:  # it need not be imported to begin, and has nothing but its defaults
        return frozenset()
    root = logging.getLogger()
    known = (one for one in root.manager.loggerDict.copy().values() if isinstance(one, logging.Logger))
    return frozenset(((root.name, root.level), *((one.name, one.level) for one in known if one.level != _NO_LEVEL)))
