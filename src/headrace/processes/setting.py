"""What a program may change while a process of its own is there: where modules and files are looked for, the environment."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from headrace.plan.depth import limit_beside_plans

__all__ = ["Changes", "Setting"]


class Setting(NamedTuple):
    """Where a program stands at a moment.

    Attributes:
        path: where modules are looked for.
        folder: the current one; None where it is there no more.
        variables: of the environment, as the system has them.
        depth: how deep functions may call one another; plans make room for themselves wherever they are.
    """

    path: tuple[str, ...]
    folder: str | None
    variables: frozenset[tuple[bytes, bytes]]
    depth: int

    @classmethod
    def now(cls) -> Setting:
        """Returns that of this process."""
        try:
            folder = os.getcwd()  # noqa: PTH109 - a text is sent
        except FileNotFoundError:
            folder = None
        # Each run compares them: to make texts of all took a fifth of what begins one in the trainer.
        variables = frozenset(os.environ._data.items())  # type: ignore[attr-defined]  # noqa: SLF001 - no other way has the bytes
        return cls(tuple(sys.path), folder, variables, limit_beside_plans())

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
        )


class Changes(NamedTuple):
    """What has changed of it; None is as it was.

    Attributes:
        path: where modules are looked for.
        folder: the current one.
        variables: those of the environment that have changed, and None for each that is no more.
        depth: how deep functions may call one another.
    """

    path: tuple[str, ...] | None
    folder: str | None
    variables: dict[str, str | None]
    depth: int | None

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
