"""Elements of tar archives: WebDataset's shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.arguments import AUTOTUNE, check_flag
from headrace.dataset.dataset import Dataset
from headrace.dataset.formats.files import of_files
from headrace.dataset.formats.tar_handlers import AUTO
from headrace.errors import InvalidArgumentError
from headrace.io.tar.format import TarFiles
from headrace.plan.tar_handlers import Handler, Handlers, TarHandlers

__all__ = ["TarDataset"]


class TarDataset(Dataset):
    """The elements of WebDataset shards: consecutive files of one key are one dict, shard after shard.

    A key is a file's path up to the first dot of its base name, and what is after that dot, in small letters, is its name
    in the dict; ``"__key__"`` is the key, and ``"__url__"`` the shard. A key whose files do not all come whole is an error.

    Args:
        filenames: a path (``str``, ``bytes`` or ``pathlib``), several in a list or an array, or a dataset of paths.
        handlers: what makes values of the files' bytes, by extension, such as ``{"jpg": hr.io.decode_jpeg, "cls": int}``;
            one for ``png`` is for ``seg.png`` as well. ``"auto"`` knows the usual ones: text, classes, JSON, NumPy,
            images and WAV. None leaves bytes as they are, for a ``map`` of your own.
        num_parallel_reads: how many shards are read at once, their elements interleaved, with the handlers at work beside
            each other; None reads one after the other, in one thread.
        compression_type: the compression of the shards; None for none.
        name: what the operation is called in messages and statistics.
        on_error: ``"raise"`` gives the error of an element in its place; ``"skip"`` leaves elements and shards out that
            cannot be read, or whose handler fails, counts and logs them (``Options(max_failures=)`` bounds how many).
        random_access: whether elements are read by index, so that a shuffle is one of all elements, and moves indices
            only. The shards are named and uncompressed; where their elements lie is written beside each when it is first
            asked for (``hr.io.build_index``), and ``num_parallel_reads`` is how many elements are read at once.

    Raises:
        InvalidArgumentError: an unknown compression, or arguments that exclude each other; or, while iterating, in place
            of a key with a link or a sparse file, or with two files of one extension.
        NotFoundError: while iterating, a shard that is not there.
        DataLossError: while iterating, a shard that was cut short or is corrupt; at which byte is said.
        DataError: while iterating, in place of an element on which a handler failed.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shard-0000.tar"
        >>> with hr.io.TarWriter(path) as writer:
        ...     writer.write({"__key__": "0001", "txt": "a cat", "cls": 3})
        ...     writer.write({"__key__": "0002", "txt": "a dog", "cls": 5})
        >>> for element in hr.TarDataset(path, handlers={"txt": bytes.decode, "cls": int}):
        ...     print(element["__key__"], element["txt"], element["cls"])
        0001 a cat 3
        0002 a dog 5
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        handlers: Mapping[str, Handler] | str | None = None,
        num_parallel_reads: int | None = None,
        compression_type: str | None = None,
        name: str | None = None,
        *,
        on_error: str = "raise",
        random_access: bool = False,
    ) -> None:
        random_access = check_flag(random_access, field="random_access", stage="TarDataset")
        tar = TarFiles(compression_type=compression_type)
        plan = of_files(
            filenames,
            tar,
            num_parallel_reads=num_parallel_reads,
            on_error=on_error,
            name=name,
            indexed="tar" if random_access else None,
        )
        calls = num_parallel_reads if random_access or num_parallel_reads is None else AUTOTUNE
        chosen = _chosen(handlers)
        if chosen is not None:
            plan = TarHandlers(input=plan, function=chosen, num_parallel_calls=calls, on_error=on_error, name=name)
        super().__init__(plan)


def _chosen(handlers: Mapping[str, Handler] | str | None) -> Handlers | None:
    if isinstance(handlers, str):
        if handlers != "auto":
            raise InvalidArgumentError(f"handlers are a dict by extension, 'auto' or None, and not {handlers!r}")
        return Handlers(AUTO)
    return None if handlers is None else Handlers(handlers)
