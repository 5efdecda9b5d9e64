"""The user's functions, named as MODULE:FUNCTION; one that makes a plan is called as each process of a job would call it."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import typer

from headrace.dataset import Dataset
from headrace.errors import FailedPreconditionError, HeadraceError

__all__ = ["built", "called", "function_named", "kind_of", "told"]

_OURS: Final = str(Path(__file__).parents[1])
_RANK_VARIABLES: Final = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def function_named(target: str) -> Callable[..., Any]:
    """Returns the function that ``module:function`` or ``file.py:function`` names; of a dataset in a module one that runs the module anew.

    Raises:
        typer.BadParameter: there is no such module or function.
    """
    name, _, function = target.rpartition(":")
    if not name or not function:
        raise typer.BadParameter(
            f"{target!r} names no function: write MODULE:FUNCTION, as in train:input_fn or train.py:input_fn"
        )
    module = _module(name)
    found = getattr(module, function, None)
    if found is None:
        near = difflib.get_close_matches(
            function, [key for key, value in vars(module).items() if callable(value) or isinstance(value, Dataset)], n=1
        )
        hint = f": did you mean {name}:{near[0]}?" if near else ""
        raise typer.BadParameter(f"{name} has no function {function!r}{hint}")
    if isinstance(found, Dataset):
        return _made_by(module, function)
    if not callable(found):
        raise typer.BadParameter(f"{target} is no function, but {kind_of(found)}")
    return found  # type: ignore[no-any-return] # whatever the user wrote


def _made_by(module: ModuleType, name: str) -> Callable[[], Any]:
    """Returns what runs a module once more and returns what it then has under a name: a plan that nobody has begun an epoch of."""
    spec = module.__spec__
    assert spec is not None  # of a module that was imported
    assert spec.loader is not None  # as above
    loader = spec.loader

    def made() -> Any:
        again = importlib.util.module_from_spec(spec)
        loader.exec_module(again)
        return getattr(again, name)

    return made


def _module(name: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as python -m does
    try:
        return _module_in_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
            raise _raised(f"importing {name}", missing) from missing
        raise typer.BadParameter(f"there is no module {missing.name!r} in {folder} or on Python's path") from None
    except Exception as error:
        if isinstance(error, typer.TyperException):
            raise
        raise _raised(f"importing {name}", error) from error


def _module_in_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise typer.BadParameter(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # where dataclasses that are defined in it look
    spec.loader.exec_module(module)
    return module


def built(function: Callable[[], Any], target: str, rank: int = 0, ranks: int = 1) -> Dataset:
    """Returns the dataset that the function makes in a process which is this rank.

    Raises:
        typer.BadParameter: it returned something else.
        FailedPreconditionError: it raised.
    """
    with _as_rank(rank, ranks):
        dataset = called(function, target)
    if not isinstance(dataset, Dataset):
        raise typer.BadParameter(f"{target} must return a headrace Dataset, but returned {kind_of(dataset)}")
    return dataset


def called(function: Callable[[], Any], target: str) -> Any:
    """Returns what the function returns.

    Raises:
        FailedPreconditionError: it raised.
    """
    return told(function, f"{target}()")


def told(function: Callable[[], Any], what: str) -> Any:
    """Returns what a function returns, which has code of the user's run.

    Raises:
        FailedPreconditionError: that raised, which is said of ``what``.
    """
    try:
        return function()
    except HeadraceError:
        raise
    except Exception as error:
        raise _raised(what, error) from error


@contextlib.contextmanager
def _as_rank(rank: int, ranks: int) -> Iterator[None]:
    """Sets what launchers tell a process of its rank."""
    before = {name: os.environ.get(name) for name in _RANK_VARIABLES}
    os.environ.update(zip(_RANK_VARIABLES, map(str, (rank, ranks, rank, ranks)), strict=True))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def kind_of(value: object) -> str:
    """Returns what a value is, in words."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def _raised(what: str, error: Exception) -> FailedPreconditionError:
    """Makes the error of the user's code, with the line that raised it."""
    # Where the user called headrace, if that raised it.
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith((_OURS, "<"))
    ]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return FailedPreconditionError(f"{what} raised {type(error).__name__}: {error}{place}")
