"""Elements that came together and could not be made again where they came: sent once more, each by itself, so that only those fail whose classes fail.

A class may say how its objects are pickled and fail to make them of that: nobody knows before it has failed, and to ask of each element would cost all others.
"""

from __future__ import annotations

import pickle
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.payload import Rows
from headrace.elements.structure import Element, flatten, normalize, paths_of
from headrace.errors import HeadraceError, InvalidArgumentError, said
from headrace.processes.parcels import to_bytes

__all__ = ["Alone", "UnmadeError", "received_alone", "sent_alone", "unmade"]

_PLAIN: Final = frozenset({bool, int, float, complex, str, bytes, bytearray, type(None), np.ndarray})


class UnmadeError(HeadraceError, ValueError):
    """Elements that came could not be made again."""


class Alone(NamedTuple):
    """An element that is sent by itself.

    Attributes:
        body: it, pickled.
        suspect: which part of it cannot be made again, in words.
        origin: where it came from, in words.
    """

    body: bytes
    suspect: str
    origin: str


def sent_alone(block: Block) -> list[Alone]:
    """Returns elements that were sent before, each by itself."""
    return [
        Alone(to_bytes(element), _suspect(element), block.origin.describe(index))
        for index, element in enumerate(block.payload.rows())
    ]


def received_alone(sent: Alone, stage: str | None) -> Rows | InvalidArgumentError:
    """Returns an element again, or why it cannot be had here."""
    try:
        return Rows([normalize(pickle.loads(sent.body))])
    except Exception as error:  # noqa: BLE001 - a class may say anything that cannot be made again
        failed = InvalidArgumentError(
            _words(sent.suspect, error, "the trainer's process"), stage=stage, origin=sent.origin
        )
        failed.__cause__ = error
        return failed


def unmade(element: Element, refusal: UnmadeError, where: str) -> str:
    """Says which part of an element could not be made again elsewhere, and why not."""
    return _words(_suspect(element), refusal.__cause__ or refusal, where)


def _suspect(element: Element) -> str:
    """Names the one component that cannot be made of its pickle, as far as that can be told here."""
    leaves, treedef = flatten(element)
    strange = [
        (path, leaf)
        for path, leaf in zip(paths_of(treedef), leaves, strict=True)
        if type(leaf) not in _PLAIN and not isinstance(leaf, np.generic)
    ]
    found = strange if len(strange) == 1 else [(path, leaf) for path, leaf in strange if not _is_made_again(leaf)]
    if len(found) != 1:
        return "it"
    ((path, leaf),) = found
    return f"{f'its component {path}' if path else 'it'}, of type {type(leaf).__name__},"


def _is_made_again(leaf: Any) -> bool:
    try:
        pickle.loads(to_bytes(leaf))
    except Exception:  # noqa: BLE001 - as above
        return False
    return True


def _words(suspect: str, error: BaseException, where: str) -> str:
    return (
        f"{suspect} can be pickled, and cannot be made again in {where}: {type(error).__name__}: {said(error)}. Mend its "
        "__reduce__ or __setstate__, or a __getattr__ that counts on attributes; or leave out executor="
    )
