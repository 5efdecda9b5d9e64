"""A trace of what every thread did, to be looked at in Perfetto or Chrome."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from headrace.errors import FailedPreconditionError
from headrace.log import LOG
from headrace.observe.recorder import Recorder

__all__ = ["trace"]


class trace:  # noqa: N801 - used as a function, in a with statement
    """Writes what the threads of all pipelines of this process do to a file, for as long as its ``with`` block runs.

    The file opens in https://ui.perfetto.dev, which sends it nowhere, or in ``chrome://tracing``. Each thread has a line: what
    a stage did, of how many elements; what workers did; and in the thread that takes the elements, its waits and its steps. Arrows lead from
    where a block was made to where it was taken. Of a process beside this one (``executor="subprocess"``) it shows what this side
    does; a worker that waits for a process is shown as working.

    The latest million events are kept, which is a minute of a busy pipeline; the log says how many were left out.

    Args:
        path: the file to write, compressed where it ends in ``.gz``. It is written beside, and then renamed.

    Raises:
        FailedPreconditionError: another trace is being made.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with hr.trace(folder / "trace.json"):
        ...     total = sum(hr.Dataset.range(1000).map(lambda x: x + 1, num_parallel_calls=2))
        >>> "traceEvents" in (folder / "trace.json").read_text()
        True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._recorder = Recorder()

    def __enter__(self) -> Self:
        if Recorder.active is not None:
            raise FailedPreconditionError("another trace is being made: end its with block first")
        if not self._path.absolute().parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self._path.absolute().parent} to write the trace to")
        Recorder.active = self._recorder
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        Recorder.active = None
        if self._recorder.dropped:
            LOG.warning("the trace %s has no room for its first %s events", self._path, f"{self._recorder.dropped:,}")
        _write(self._path, self._recorder)


def _write(path: Path, recorder: Recorder) -> None:
    import json  # what programs without a trace do not wait for

    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _opened(beside, is_compressed=path.suffix == ".gz") as file:
            file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
            for number, event in enumerate(recorder.events()):
                file.write(f"{',' if number else ''}{json.dumps(event)}\n")
            file.write("]}\n")
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _opened(path: Path, *, is_compressed: bool) -> IO[str]:
    if not is_compressed:
        return path.open("w", encoding="utf-8")
    import gzip  # as above

    return gzip.open(path, "wt", encoding="utf-8")
