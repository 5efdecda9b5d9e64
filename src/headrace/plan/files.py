"""The plan node of the records of files."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.file_format import FileFormat
from headrace.plan.node import Node, Spec

__all__ = ["Files"]


@frozen(kw_only=True, eq=False)
class Files(Node):
    """The records of files, one file after the other."""

    op: ClassVar[str] = "files"
    changeable: ClassVar[str | None] = "paths"
    paths: tuple[str, ...]
    format: FileFormat
    on_error: str = "raise"

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise InvalidArgumentError(f"on_error must be 'raise' or 'skip', not {self.on_error!r}", stage=self.label)

    @property
    def skips(self) -> bool:
        """Whether records that cannot be read are skipped."""
        return self.on_error == "skip"

    def _spec(self) -> Spec:
        """Returns what the format says."""
        return self.format.spec()

    def parameters(self) -> dict[str, Any]:
        """Returns the files and how they are read."""
        on_error = {"on_error": self.on_error} if self.skips else {}
        return {"paths": list(self.paths), **self.format.parameters(), **on_error}

    @property
    def label(self) -> str:
        """The format's name."""
        return f"{self.format.op} '{self.name}'" if self.name else self.format.op
